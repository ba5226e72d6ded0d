//! `weir lab`: emulated networks on this host.

mod calibrate;
mod grid;
mod household_rows;
pub(super) mod households;
mod link;
mod measured;
mod neighbour;
mod pacing;
mod population;
mod profiles;
mod run;
mod scenario_text;
mod simulate;
mod supervise;
mod traps;
mod tune;
mod tune_check;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use crate::args::{GlobalOptions, LabCommand, LinkOptions};
use weir_lab::{Registry, StateError, StreamError};
use weir_link::{LinkFlags, LinkSpec, Profile};

use super::Failure;
use super::output::print;

/// Runs the subcommand.
pub fn run(command: &LabCommand, global: &GlobalOptions) -> Result<ExitCode, Failure> {
    let done = |result: Result<(), Failure>| result.map(|()| ExitCode::SUCCESS);
    match command {
        LabCommand::Run(args) => run::run(args, global),
        LabCommand::Calibrate(args) => calibrate::run(args, global),
        LabCommand::Pacing(args) => pacing::run(args, global),
        LabCommand::Population(args) => done(population::run(args, global)),
        LabCommand::Grid(args) => done(grid::run(args, global)),
        LabCommand::Tune(args) => match args.check {
            Some(run) => tune_check::run(run, args, global),
            None => done(tune::run(args, global)),
        },
        LabCommand::Traps(args) => done(traps::run(args, global)),
        LabCommand::Simulate(args) => done(simulate::run(args, global)),
        LabCommand::Link(command) => link::run(command, global),
        LabCommand::Neighbour(command) => done(neighbour::run(command, global)),
        LabCommand::Profiles { show } => done(profiles::run(show.as_deref(), global)),
        LabCommand::Clean { all } => done(clean(*all, global)),
    }
}

fn clean(all: bool, global: &GlobalOptions) -> Result<(), Failure> {
    let registry = Registry::default();
    let mut removed = registry.clean()?;
    if all {
        for name in registry.names()? {
            if let Some(state) = registry.get(&name)? {
                registry.end(&state)?;
                removed.push(name);
            }
        }
    }
    if global.json {
        return print(&format!("{}\n", serde_json::json!({ "removed": removed })));
    }
    if global.quiet {
        return Ok(());
    }
    let names: Vec<String> = removed.iter().map(ToString::to_string).collect();
    print(&match names.len() {
        0 => "nothing to remove\n".to_owned(),
        _ => format!("removed {}\n", names.join(", ")),
    })
}

/// The link that a command line describes.
fn spec(options: &LinkOptions) -> Result<LinkSpec, Failure> {
    let mut profile = match &options.base {
        Some(base) => Profile::open(base)?,
        None => Profile::clean(),
    };
    profile.apply(&LinkFlags {
        rate: options.rate.clone(),
        rtt: options.rtt.clone(),
        delay: options.delay.clone(),
        jitter: options.jitter.clone(),
        reorder: options.reorder,
        queue: options.queue.clone(),
        loss: options.loss.clone(),
        burst: options.burst.clone(),
        mtu: options.mtu,
        routes: options.routes,
        flow_rate: options.flow_rate.clone(),
        packet_rate: options.packet_rate,
        hide_five_tuple: options.hide_five_tuple,
        duplicate: options.duplicate.clone(),
        corrupt: options.corrupt.clone(),
        seed: options.seed,
        set: options.set.clone(),
    })?;
    Ok(profile.spec()?)
}

/// The user's command, in which `weir` is this program unless PATH has another.
fn user_command(words: &[OsString]) -> Result<Command, Failure> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| Failure::usage("COMMAND is missing; write it after '--'"))?;
    let own = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find the path of this program: {error}")))?;
    let found = in_path("weir");
    let mut command = match program == OsStr::new("weir") && !found {
        true => Command::new(&own),
        false => Command::new(program),
    };
    command.args(arguments);
    let folder = own.parent().filter(|folder| !found && folder.join("weir") == own);
    if let Some(path) = folder.and_then(path_with) {
        command.env("PATH", path);
    }
    Ok(command)
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// PATH with one more folder at its end.
fn path_with(folder: &Path) -> Option<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from(folder)]);
    std::env::join_paths(folders).ok()
}

/// The exit status that a shell would return.
fn exit_code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

fn cannot_start(words: &[OsString], error: &std::io::Error) -> Failure {
    let program = words
        .first()
        .map(|word| word.to_string_lossy())
        .unwrap_or_default();
    Failure::usage(format!("cannot run '{program}': {error}"))
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Taken(_) => Failure::usage(error.to_string()),
            _ => Failure::environment(error.to_string()),
        }
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::State(error) => error.into(),
            other => Failure::environment(other.to_string()),
        }
    }
}
