//! `weir doctor`: reads the facts of both hosts, probes the path between them, and mends kernel parameters.

use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use weir_control::Family;
use weir_measure::fitness::{self, Check, Fitness, Parameter, Probed};
use weir_measure::path_mtu::{self, MtuReport};
use weir_measure::{AgentAddress, MeasureError, Session, Sink, Stop};
use weir_net::host::HostFacts;
use weir_net::namespace::NetworkNamespace;
use weir_results::{Record, Side};

use crate::args::{DoctorArgs, GlobalOptions};

use super::output::{print, say};
use super::{Failure, Status, connect, run_store, tables};

/// Where `--fix` writes. It comes after the file of the packages, which has a lower number.
const SYSCTL_FILE: &str = "/etc/sysctl.d/90-weir.conf";
/// An address outside (TEST-NET-1), to find the interface that leads there. Nothing is sent to it.
const OUTSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// What is printed.
#[derive(Serialize)]
struct Found<'a> {
    target: Option<&'a str>,
    rate: u64,
    fitness: Fitness,
    checks: &'a [Check],
    /// The file that `--fix` wrote.
    written: Option<&'a str>,
}

/// Checks, mends and prints; the exit status is by the worst check.
pub fn run(args: &DoctorArgs, global: &GlobalOptions, stop: &Stop) -> Result<ExitCode, Failure> {
    let agent = args.host.as_ref().map(|host| address(host, args)).transpose()?;
    let peer = match &agent {
        Some(agent) => agent.resolve()?.ip(),
        None => OUTSIDE,
    };
    let read = || {
        let mut checks = fitness::check_host(&HostFacts::read(Some(peer)), Side::Local, args.rate);
        checks.push(fitness::check_real_time(may_run_in_real_time()));
        checks
    };
    let mut checks = read();
    let mut written = None;
    if args.fix && fix(&checks, args, global)? {
        written = Some(SYSCTL_FILE);
        checks = read();
    }
    let far = agent.map(|agent| far(&agent, args, stop)).transpose();
    // What this host needs is worth knowing, too, where the agent cannot be reached.
    checks.extend(far.as_ref().ok().cloned().flatten().unwrap_or_default());
    let found = Found {
        target: args.host.as_deref(),
        rate: args.rate.0,
        fitness: fitness::worst(&checks),
        checks: &checks,
        written,
    };
    if !global.json {
        print(&tables::checks(&checks))?;
    } else if far.is_ok() {
        print(&format!("{}\n", run_store::json(&found)))?;
    }
    far?;
    Ok(match found.fitness {
        Fitness::Good => ExitCode::SUCCESS,
        Fitness::Warning => ExitCode::from(Status::Crossed as u8),
        Fitness::Fault => ExitCode::from(Status::Environment as u8),
    })
}

/// Tries it on a thread that then ends.
fn may_run_in_real_time() -> bool {
    let tried = std::thread::spawn(|| weir_net::realtime::run_before_others().is_ok());
    tried.join().unwrap_or(false)
}

fn address(host: &str, args: &DoctorArgs) -> Result<AgentAddress, Failure> {
    Ok(AgentAddress {
        host: host.to_owned(),
        family: match (args.ipv4, args.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        },
        token: connect::token(args.token_file.as_deref())?,
    })
}

/// Takes no records: nothing is stored.
struct Nowhere;

impl Sink for Nowhere {
    fn record(&self, _: Record) {}
}

/// The checks of the agent's host, and of the path in both directions.
fn far(agent: &AgentAddress, args: &DoctorArgs, stop: &Stop) -> Result<Vec<Check>, Failure> {
    let mut session = Session::connect(agent)?;
    let mut checks = fitness::check_host(&session.remote_host, Side::Remote, args.rate);
    let probed = |from, report| fitness::check_path(&Probed { from, report });
    match path_mtu::run(&mut session, &Nowhere, stop) {
        Ok(found) => {
            checks.extend(probed(Side::Local, found.forward));
            checks.extend(probed(Side::Remote, found.reverse));
        }
        Err(MeasureError::Blocked { .. }) => checks.extend(probed(Side::Local, MtuReport::default())),
        Err(error) => return Err(error.into()),
    }
    Ok(checks)
}

/// Writes and applies the kernel parameters that are amiss; whether there were any, and the user agreed.
fn fix(checks: &[Check], args: &DoctorArgs, global: &GlobalOptions) -> Result<bool, Failure> {
    let mends = checks.iter().filter_map(|check| check.mend.as_ref());
    let changed: Vec<&Parameter> = mends.filter_map(|mend| mend.parameter.as_ref()).collect();
    if changed.is_empty() {
        return Ok(false);
    }
    let old = match fs::read_to_string(SYSCTL_FILE) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed("read", SYSCTL_FILE, &error)),
    };
    let new = fitness::sysctl_file(&old, &changed);
    if !args.yes || !global.quiet {
        say(&format!("{SYSCTL_FILE}:\n{}", new.trim_end()));
    }
    if !args.yes && !agrees()? {
        return Ok(false);
    }
    fs::write(SYSCTL_FILE, new).map_err(|error| failed("write", SYSCTL_FILE, &error))?;
    for Parameter { key, value } in changed {
        let file = format!("/proc/sys/{}", key.replace('.', "/"));
        apply(&file, &format!("{value}\n")).map_err(|error| failed("write", &file, &error))?;
    }
    Ok(true)
}

/// Writes a kernel parameter. Those of buffers are the host's: network namespaces show them, and do not let them be written.
fn apply(file: &str, value: &str) -> io::Result<()> {
    match fs::write(file, value) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let host = NetworkNamespace::open(Path::new("/proc/1/ns/net"))?;
            host.run(|| fs::write(file, value))?
        }
        done => done,
    }
}

fn failed(what: &str, file: &str, error: &io::Error) -> Failure {
    let next = match error.kind() {
        io::ErrorKind::PermissionDenied => "; run 'weir doctor --fix' as root, outside of containers",
        _ => "",
    };
    Failure::environment(format!("cannot {what} {file}: {error}{next}"))
}

fn agrees() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "--fix asks before it writes, but standard input is no terminal; add --yes to write without a question",
        ));
    }
    say("Write this file and apply it? [y/N]");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::environment(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
