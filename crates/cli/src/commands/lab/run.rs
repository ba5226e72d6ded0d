//! `weir lab run`: two hosts, a link, an agent, a command, and the link's account at the end.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::args::{GlobalOptions, LabRunArgs, TOKEN_VARIABLE};
use serde::Serialize;
use signal_hook::consts::{SIGCHLD, SIGKILL, SIGTERM};
use weir_lab::{Account, FAR_IPV4, FAR_IPV6, Fitness, Host, Lab, NEAR_IPV4};
use weir_link::LinkSpec;
use weir_net::confine::{runs_as_root, show_own_processes};
use weir_net::host::{HostFacts, LAB_LINK_VARIABLE};
use weir_net::namespace::Inmate;
use weir_net::signals::Signals;
use weir_results::{Outcome, RunId};

use super::supervise::{self, PASSED_ON};
use super::{Failure, cannot_start, exit_code, spec, user_command};
use crate::commands::output::print;
use crate::commands::run_store::{Ended, OpenRun, RunStore, Stored, json, new_run};
use crate::commands::tables;

/// What the agent must have said by then.
const AGENT_PATIENCE: Duration = Duration::from_secs(10);
/// How long servers on the far host may take to end.
pub(super) const SERVER_PATIENCE: Duration = Duration::from_secs(3);

/// What the results store keeps of a run, and `--json` prints.
#[derive(Serialize)]
struct LabSummary<'a> {
    link: &'a str,
    fit: bool,
    unfit_because: Option<&'a str>,
    max_lateness_ns: u64,
    exit_status: Option<i32>,
    #[serde(flatten)]
    account: &'a Account,
}

/// What the results store keeps of how a run was asked for.
#[derive(Serialize)]
struct LabParameters<'a> {
    link: &'a LinkSpec,
    command: Vec<String>,
    far: Option<&'a str>,
    agent: bool,
    max_lateness_ns: u64,
}

/// Runs the command, inside namespaces of its own.
pub fn run(args: &LabRunArgs, global: &GlobalOptions) -> Result<ExitCode, Failure> {
    let spec = spec(&args.link)?;
    if !supervise::is_inside() {
        return supervise::run_inside();
    }
    // Only programs that look at other processes would notice.
    let _ = show_own_processes();
    let signals = Signals::take(&[&PASSED_ON[..], &[SIGCHLD]].concat())
        .map_err(|error| Failure::environment(format!("cannot handle signals: {error}")))?;
    let mut lab = Lab::start(&spec)?;
    let store = RunStore::open(&global.db)?;
    let parameters = LabParameters {
        link: &spec,
        command: args
            .command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        far: args.far.as_deref(),
        agent: !args.no_agent,
        max_lateness_ns: args.max_lateness.0,
    };
    let kept = store.begin(
        &new_run("lab", &spec.name, &parameters, &HostFacts::read(None)),
        "lab",
        true,
    )?;
    let ran = run_command(&mut lab, args, &spec, &signals, &kept);
    let stopped = lab.stop();
    report(args, global, &spec, &store, kept, ran, stopped)
}

/// Servers first, then the command to its end.
fn run_command(
    lab: &mut Lab,
    args: &LabRunArgs,
    link: &LinkSpec,
    signals: &Signals,
    kept: &OpenRun<'_>,
) -> Result<ExitStatus, Failure> {
    let token = new_token()?;
    let mut servers = Vec::new();
    if !args.no_agent {
        servers.push(start_agent(lab, &token)?);
    }
    if let Some(far) = &args.far {
        servers.push(start_far(lab, far, &token)?);
    }
    let mut command = user_command(&args.command)?;
    with_environment(&mut command, &token);
    command.env(LAB_LINK_VARIABLE, format!("emulated {}", link.fingerprint()));
    let near = lab
        .spawn(Host::Near, command)
        .map_err(|error| cannot_start(&args.command, &error))?;
    let status = wait(lab, near, signals, kept);
    for server in &servers {
        server.signal(SIGTERM);
    }
    for mut server in servers {
        // One that does not end by then is killed when it is dropped.
        let _ = server.wait_for(SERVER_PATIENCE);
    }
    status
}

/// Waits for the command's end, passes signals on, and records what the link tells.
fn wait(
    lab: &mut Lab,
    mut near: Inmate,
    signals: &Signals,
    kept: &OpenRun<'_>,
) -> Result<ExitStatus, Failure> {
    const TICK_MS: u32 = 100;
    let mut terminations = 0;
    loop {
        if let Some(signal) = signals.wait(TICK_MS)
            && PASSED_ON.contains(&signal.number)
            // The terminal's have reached the command already.
            && !signal.from_terminal
        {
            terminations += u32::from(signal.number == SIGTERM);
            near.signal(if terminations > 1 { SIGKILL } else { signal.number });
        }
        for row in lab.progress()? {
            weir_measure::Sink::record(kept, row);
        }
        let ended = near
            .try_wait()
            .map_err(|error| Failure::environment(format!("cannot wait for the command: {error}")))?;
        if let Some(status) = ended {
            return Ok(status);
        }
    }
}

/// 256 random bits, as text.
pub(super) fn new_token() -> Result<String, Failure> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::environment(format!("cannot make a token for the agent: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn with_environment(command: &mut Command, token: &str) {
    command
        .env_remove("WEIR_LAB_INSIDE")
        .env(TOKEN_VARIABLE, token)
        .env("WEIR_LAB_NEAR", NEAR_IPV4.to_string())
        .env("WEIR_LAB_FAR", FAR_IPV4.to_string());
}

/// A server's processes are a group of their own: Ctrl-C is for the command, which may still need them.
fn as_server(command: &mut Command, token: &str) -> Result<(), Failure> {
    with_environment(command, token);
    command.process_group(0).stdin(Stdio::null());
    Ok(())
}

pub(super) fn start_agent(lab: &Lab, token: &str) -> Result<Inmate, Failure> {
    let failed = |why: &str| Failure::environment(format!("cannot start an agent on the far host: {why}"));
    let own = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
    let mut command = Command::new(own);
    command.args(["agent", "--json", "--quiet", "--listen", &FAR_IPV4.to_string()]);
    if lab.has_ipv6() {
        command.args(["--listen", &FAR_IPV6.to_string()]);
    }
    as_server(&mut command, token)?;
    command.stdout(Stdio::piped());
    let mut agent = lab
        .spawn(Host::Far, command)
        .map_err(|error| failed(&error.to_string()))?;
    let output = agent.take_stdout().ok_or_else(|| failed("it has no output"))?;
    let (said, hears) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        // Nobody listens any more when it took too long.
        let _ = said.send(read.is_ok_and(|length| length > 0));
    });
    match hears.recv_timeout(AGENT_PATIENCE) {
        Ok(true) => Ok(agent),
        Ok(false) => Err(failed("it ended at once")),
        Err(_) => Err(failed("it did not say that it is ready")),
    }
}

/// Its output goes to standard error: standard output is the command's.
fn start_far(lab: &Lab, shell_command: &str, token: &str) -> Result<Inmate, Failure> {
    let failed = |error: std::io::Error| {
        Failure::environment(format!("cannot run '{shell_command}' on the far host: {error}"))
    };
    let mut command = user_command(&["sh".into(), "-c".into(), shell_command.into()])?;
    as_server(&mut command, token)?;
    let errors = std::io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
    command.stdout(Stdio::from(errors));
    lab.spawn(Host::Far, command).map_err(failed)
}

/// Keeps the account, prints it, and decides the exit status.
fn report(
    args: &LabRunArgs,
    global: &GlobalOptions,
    spec: &LinkSpec,
    store: &RunStore,
    kept: OpenRun<'_>,
    ran: Result<ExitStatus, Failure>,
    stopped: Result<(Vec<weir_results::Record>, Account), weir_lab::LabError>,
) -> Result<ExitCode, Failure> {
    let id = kept.id();
    let (rows, account) = match stopped {
        Ok(stopped) => stopped,
        Err(error) => {
            let reason = ran
                .err()
                .map_or_else(|| error.to_string(), |failure| failure.message);
            kept.finish(&Ended::failed(&reason), &serde_json::Value::Null)?;
            return Err(error.into());
        }
    };
    for row in rows {
        weir_measure::Sink::record(&kept, row);
    }
    let unfit = match account.fitness(args.max_lateness.0) {
        Fitness::Fit => None,
        Fitness::Unfit(why) => Some(why),
    };
    let summary = LabSummary {
        link: &spec.name,
        fit: unfit.is_none(),
        unfit_because: unfit.as_deref(),
        max_lateness_ns: args.max_lateness.0,
        exit_status: ran.as_ref().ok().and_then(ExitStatus::code),
        account: &account,
    };
    let end = match &ran {
        Ok(_) => Ended::finished(),
        Err(failure) => Ended::failed(&failure.message),
    };
    let stored = kept.finish(&end, &json(&summary));
    let status = ran?;
    let notes = stored.as_ref().map(Stored::notes).unwrap_or_default();
    show(global, spec, store, id, end.outcome(), &summary, &notes)?;
    stored?;
    match unfit {
        Some(why) if status.success() && !args.allow_late => {
            Err(Failure::environment(unfit_message(&why, &account)))
        }
        Some(why) => {
            eprintln!("weir: warning: {}", unfit_message(&why, &account));
            Ok(exit_code(status))
        }
        None => Ok(exit_code(status)),
    }
}

fn unfit_message(why: &str, account: &Account) -> String {
    let what_to_do = if account.has_real_time_priority() {
        "stop other work on this host, or lower the rate ('weir lab calibrate' finds one)"
    } else if runs_as_root() {
        "allow real-time priority (ulimit -r), stop other work on this host, or lower the rate ('weir lab calibrate' finds one)"
    } else {
        "run it as root for real-time priority, stop other work on this host, or lower the rate ('weir lab calibrate' finds one)"
    };
    format!("the result is invalid: {why}; {what_to_do}")
}

fn show(
    global: &GlobalOptions,
    spec: &LinkSpec,
    store: &RunStore,
    id: RunId,
    outcome: Outcome,
    summary: &LabSummary<'_>,
    notes: &[String],
) -> Result<(), Failure> {
    if global.json {
        let mut object = json(summary);
        object["run"] = serde_json::json!({
            "id": id,
            "kind": "lab",
            "outcome": outcome.as_str(),
            "database": store.path().display().to_string(),
        });
        object["notes"] = notes.into();
        return print(&format!("{object}\n"));
    }
    if !global.quiet {
        let notes: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
        eprint!(
            "\n{}{notes}run {id} kept in {}\n",
            tables::account(&spec.name, summary.account),
            store.path().display()
        );
    }
    Ok(())
}
