//! `weir lab link`: links that stay up until they are taken down.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use crate::args::{End, GlobalOptions, LinkCommand, LinkOptions};
use serde_json::json;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use weir_lab::{Host, LinkName, LinkState, Registry, carry, spawn_on};
use weir_link::{LinkSpec, describe};
use weir_net::confine::may_make_networks;
use weir_net::host::LAB_LINK_VARIABLE;
use weir_net::namespace::NetworkNamespace;
use weir_net::process::{discard_output, lead_session};
use weir_net::signals::Signals;

use super::{Failure, cannot_start, exit_code, print, user_command};
use crate::commands::tables;

/// Line that the process of a link prints when the link is up.
const READY: &str = "ready";
/// Maximum length of a link description on standard input, in bytes.
const MOST_SPEC_BYTES: u64 = 64 << 20;

/// Runs the subcommand.
pub fn run(command: &LinkCommand, global: &GlobalOptions) -> Result<ExitCode, Failure> {
    let done = |result: Result<(), Failure>| result.map(|()| ExitCode::SUCCESS);
    match command {
        LinkCommand::Up(args) => done(up(&args.link, &args.name.parse()?, global)),
        LinkCommand::Down { name } => done(down(name.as_deref(), global)),
        LinkCommand::Show { name } => done(show(name.as_deref(), global)),
        LinkCommand::Shell { host, name, command } => shell(*host, name.as_deref(), command),
        LinkCommand::Carry { name } => done(carry_from_input(name.parse()?)),
    }
}

fn need_root(what: &str) -> Result<(), Failure> {
    if may_make_networks() {
        return Ok(());
    }
    Err(Failure::environment(format!(
        "'weir lab link {what}' needs root; run it with sudo, or use 'weir lab run', which does not need root"
    )))
}

fn up(options: &LinkOptions, name: &LinkName, global: &GlobalOptions) -> Result<(), Failure> {
    let spec = super::spec(options)?;
    need_root("up")?;
    let registry = Registry::default();
    // Removes what a crash has left under the same name.
    if registry.get(name)?.is_none_or(|state| !state.is_alive()) {
        registry.remove(name)?;
    }
    start_carrier(name, &spec)?;
    let state = find_alive(&registry, name)?;
    if global.json {
        return print(&format!("{}\n", json(&state)));
    }
    if global.quiet {
        return Ok(());
    }
    print(&format!(
        "link {name} is up, carried by process {}\n{}",
        state.pid,
        tables::where_to_attach(&state)
    ))
}

/// Starts the process in the background and waits until it prints that it is ready, or an error.
fn start_carrier(name: &LinkName, spec: &LinkSpec) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::environment(format!("cannot start the link: {error}"));
    let text = serde_json::to_vec(spec).map_err(|error| failed(error.into()))?;
    let own = std::env::current_exe().map_err(failed)?;
    let mut carrier = Command::new(own)
        .args(["lab", "link", "carry", &name.to_string()])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = carrier.stdin.take() {
        // A process that has ended has printed its error.
        let _ = input.write_all(&text);
    }
    let mut line = String::new();
    if let Some(output) = carrier.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(failed)?;
    }
    match line.trim_end() {
        READY => Ok(()),
        "" => Err(Failure::environment(
            "cannot start the link: its process exited without a message",
        )),
        why if why.starts_with(TAKEN) => Err(Failure::usage(&why[TAKEN.len()..])),
        why => Err(Failure::environment(why)),
    }
}

/// Prefix of an error that other arguments avoid.
const TAKEN: &str = "usage: ";

/// The background process. Its only line of output reports whether it started.
fn carry_from_input(name: LinkName) -> Result<(), Failure> {
    let carried = carry_until_told(name);
    if let Err(failure) = &carried {
        let taken = failure.status == crate::commands::Status::Usage;
        print(&format!(
            "{}{}\n",
            if taken { TAKEN } else { "" },
            failure.message
        ))?;
    }
    carried
}

fn carry_until_told(name: LinkName) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::environment(format!("cannot start the link: {error}"));
    let mut text = Vec::new();
    std::io::stdin()
        .lock()
        .take(MOST_SPEC_BYTES)
        .read_to_end(&mut text)
        .map_err(failed)?;
    let spec: LinkSpec = serde_json::from_slice(&text)
        .map_err(|error| Failure::usage(format!("cannot read a link from standard input: {error}")))?;
    spec.check().map_err(|error| Failure::usage(error.to_string()))?;
    // A session leader has left the terminal already.
    let _ = lead_session();
    let signals = Signals::take(&[SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
    let ready = |_: &LinkState| {
        // The waiting process may be gone; the link stays.
        let _ = print(&format!("{READY}\n"));
        // The reader of the pipe now sees its end.
        let _ = discard_output();
    };
    Ok(carry(&Registry::default(), name, spec, &signals, ready)?)
}

/// The link of that name, or the only link that is up.
fn find(registry: &Registry, name: Option<&str>) -> Result<LinkState, Failure> {
    if let Some(name) = name {
        return find_alive(registry, &name.parse()?);
    }
    let mut alive = Vec::new();
    for name in registry.names()? {
        alive.extend(registry.get(&name)?.filter(LinkState::is_alive));
    }
    match alive.len() {
        0 => Err(Failure::usage(
            "no link is up; create one with 'weir lab link up'",
        )),
        1 => Ok(alive.remove(0)),
        _ => {
            let names: Vec<String> = alive.iter().map(|state| state.name.to_string()).collect();
            Err(Failure::usage(format!(
                "several links are up; name one of: {}",
                names.join(", ")
            )))
        }
    }
}

fn find_alive(registry: &Registry, name: &LinkName) -> Result<LinkState, Failure> {
    match registry.get(name)? {
        Some(state) if state.is_alive() => Ok(state),
        Some(_) => Err(Failure::environment(format!(
            "the process of the link '{name}' is gone; remove the leftovers with 'weir lab clean'"
        ))),
        None => Err(Failure::usage(format!(
            "no link '{name}'; create it with 'weir lab link up --name {name}'"
        ))),
    }
}

fn down(name: Option<&str>, global: &GlobalOptions) -> Result<(), Failure> {
    let registry = Registry::default();
    let state = find(&registry, name)?;
    need_root("down")?;
    registry.end(&state)?;
    if global.json {
        return print(&format!("{}\n", json!({ "down": state.name })));
    }
    if global.quiet {
        return Ok(());
    }
    print(&format!("link {} is down\n", state.name))
}

fn show(name: Option<&str>, global: &GlobalOptions) -> Result<(), Failure> {
    let state = find(&Registry::default(), name)?;
    if global.json {
        return print(&format!("{}\n", json(&state)));
    }
    let words: String = describe(&state.spec)
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    print(&format!(
        "{words}\n{}\n{}",
        tables::account(&state.name.to_string(), &state.account),
        tables::where_to_attach(&state)
    ))
}

fn json(state: &LinkState) -> String {
    let mut object = crate::commands::run_store::json(state);
    object["in_words"] = describe(&state.spec).into();
    object.to_string()
}

fn shell(end: End, name: Option<&str>, words: &[OsString]) -> Result<ExitCode, Failure> {
    let registry = Registry::default();
    let state = find(&registry, name)?;
    need_root("shell")?;
    let host = match end {
        End::Near => Host::Near,
        End::Far => Host::Far,
    };
    let own_shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
    let words = if words.is_empty() {
        vec![own_shell]
    } else {
        words.to_vec()
    };
    // Registered before the thread that starts the command, so that signals arrive here.
    let signals = Signals::take(&[SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD])
        .map_err(|error| Failure::environment(format!("cannot handle signals: {error}")))?;
    let path = registry.namespace_file(&state.name, host);
    let namespace = NetworkNamespace::open(&path)
        .map_err(|error| Failure::environment(format!("cannot open {}: {error}", path.display())))?;
    let mut command = user_command(&words)?;
    command
        .env("WEIR_LAB_NEAR", state.near.ipv4.to_string())
        .env("WEIR_LAB_FAR", state.far.ipv4.to_string())
        .env(
            LAB_LINK_VARIABLE,
            format!("emulated {}", state.spec.fingerprint()),
        );
    let mut inmate = spawn_on(&namespace, command).map_err(|error| cannot_start(&words, &error))?;
    loop {
        if let Some(signal) = signals.wait(100)
            && signal.number != SIGCHLD
            && !signal.from_terminal
        {
            inmate.signal(signal.number);
        }
        let ended = inmate
            .wait_for(Duration::ZERO)
            .map_err(|error| Failure::environment(format!("cannot wait for the command: {error}")))?;
        if let Some(status) = ended {
            return Ok(exit_code(status));
        }
    }
}
