//! Hosts over SSH, by the `ssh` program: keys, ports and jump hosts are those of the user's own configuration. It knows
//! commands on hosts, not which tests are made or why.
//!
//! Everything on a host is in one folder of its own, which only its user can read; the token never stands on a command
//! line. The agent ends by itself at a deadline, also when nobody comes back to end it.

mod caller;
mod scripts;
mod testbed;

use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_record::MeshTest;

use crate::estimate::TestShape;
use crate::fault::shown;
use crate::filter::Over;
use crate::hosts::Host;
use crate::process::{Finished, Input, Output};
use crate::programs::Programs;
use crate::rounds::Pair;
use crate::run::{Fault, FaultKind, Ready};
use weir_record::CloudFacts;

pub use caller::Caller;
pub use testbed::{RunningPart, TestbedFolder, end_parts};

/// Time for a short command on a host.
const SHORT: Duration = Duration::from_secs(30);
/// Time of a machine's first start.
const FIRST_START: Duration = Duration::from_secs(600);
/// Time to copy the program.
const COPY: Duration = Duration::from_secs(300);
/// Time that a test may take beyond what it plans.
const SLACK: Duration = Duration::from_secs(40);
/// Least that a host's agent lives.
const LEAST_LIFE_S: u64 = 900;

/// What is copied and started.
#[derive(Clone, Debug)]
pub struct SshExecutor<'r> {
    /// The hosts, by their numbers in pairs.
    pub hosts: &'r [Host],
    /// The programs to copy.
    pub programs: Programs,
    /// What the agents and the clients prove to each other.
    pub token: String,
    /// Word in the names of the folders: letters and digits.
    pub folder: String,
    /// When agents end by themselves, seconds from their start.
    pub life_s: u64,
    /// Set to end commands that run, at once.
    pub kill: &'r AtomicBool,
    /// The program to call instead of `ssh`.
    pub ssh: String,
}

impl SshExecutor<'_> {
    /// Folder on a host; hosts may share a file system.
    fn folder(&self, host: usize) -> String {
        format!("/tmp/weir-mesh-{}-{host}", self.folder)
    }

    fn weir(&self, host: usize) -> String {
        match &self.hosts[host].weir {
            Some(path) => path.clone(),
            None => format!("{}/weir", self.folder(host)),
        }
    }

    fn call(&self, host: usize, script: &str, input: Input<'_>, limit: Duration) -> Result<String, Fault> {
        self.call_into(host, script, input, Output::Text, limit)
    }

    fn call_into(
        &self,
        host: usize,
        script: &str,
        input: Input<'_>,
        output: Output<'_>,
        limit: Duration,
    ) -> Result<String, Fault> {
        self.caller()
            .call(&self.hosts[host], script, input, output, limit)
    }

    fn caller(&self) -> Caller<'_> {
        Caller {
            ssh: &self.ssh,
            kill: self.kill,
        }
    }

    /// A fault of a test, named after the host whose agent could not be reached, where it is that.
    fn by_agent(&self, to: usize, fault: Fault) -> Fault {
        let message = match fault.kind {
            FaultKind::Agent => format!(
                "{}: cannot reach its agent from {}",
                self.hosts[to].name, fault.message
            ),
            _ => fault.message,
        };
        Fault { message, ..fault }
    }

    /// Where the agent of a host listens for the others.
    fn agent(&self, host: usize, over: Over) -> String {
        let (address, port) = (self.hosts[host].address(over), self.hosts[host].agent_port);
        if address.contains(':') {
            format!("[{address}]:{port}")
        } else {
            format!("{address}:{port}")
        }
    }
}

fn not_started(ssh: &str, error: &std::io::Error) -> Fault {
    Fault {
        kind: FaultKind::Unreachable,
        message: format!("cannot start '{ssh}': {error}; install the OpenSSH client, or name it with --ssh"),
    }
}

/// Whether the program for SSH can be started: where it is missing that is said once, and not for each host.
///
/// # Errors
/// When it cannot.
pub fn check_program(ssh: &str) -> Result<(), Fault> {
    let mut command = std::process::Command::new(ssh);
    command
        .arg("-V")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Its version does not matter, nor does what another program in its place makes of the option.
    command
        .status()
        .map(drop)
        .map_err(|error| not_started(ssh, &error))
}

/// The command line after `ssh`.
fn arguments(host: &Host, script: &str) -> Vec<String> {
    let options = [
        // Nobody is there to answer a question, and a host that is gone must not hold a test up.
        "BatchMode=yes",
        "ConnectTimeout=10",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        "LogLevel=ERROR",
    ];
    let mut line: Vec<String> = options
        .iter()
        .flat_map(|option| ["-o".into(), (*option).to_owned()])
        .collect();
    line.push("-T".into());
    if let Some(port) = host.ssh_port {
        line.extend(["-p".into(), port.to_string()]);
    }
    if let Some(user) = &host.ssh_user {
        line.extend(["-l".into(), user.clone()]);
    }
    if let Some(key) = &host.ssh_key {
        line.extend(["-i".into(), key.clone()]);
    }
    line.extend(host.ssh_arguments.iter().cloned());
    line.extend(["--".into(), host.ssh_address.clone()]);
    // Whatever shell the user has there, this one runs the script.
    line.push(format!("sh -c {}", scripts::quoted(script)));
    line
}

/// What a command on a host printed, or what its end says.
fn judge(host: &str, finished: Finished, limit: Duration) -> Result<String, Fault> {
    let fault = |kind, message: String| {
        Err(Fault {
            kind,
            message: format!("{host}: {message}"),
        })
    };
    let (status, stdout, stderr) = match finished {
        Finished::Exit {
            status: 0, stdout, ..
        } => return Ok(stdout),
        Finished::Exit {
            status,
            stdout,
            stderr,
        } => (status, stdout, stderr),
        Finished::Killed => return fault(FaultKind::Interrupted, "interrupted".into()),
        Finished::Slow => {
            return fault(
                FaultKind::Slow,
                format!("no response within {} s; aborted", limit.as_secs()),
            );
        }
    };
    let last = stderr
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("");
    let said = shown_long(last);
    if status != 255 {
        let word = stdout.lines().find_map(|line| line.strip_prefix("fault: "));
        return match word {
            Some("agent") => fault(FaultKind::Agent, format!("the agent did not start: {said}")),
            Some("folder") => fault(FaultKind::Agent, format!("cannot create its folder: {said}")),
            _ if is_about_agent(&said) => {
                // It was started, so that the advice to start one helps nobody.
                let why = said.split("; start one").next().unwrap_or(&said);
                let why = why.strip_prefix("weir: ").unwrap_or(why);
                fault(
                    FaultKind::Agent,
                    format!("{why} (are the agent's ports open between the hosts?)"),
                )
            }
            _ => fault(
                FaultKind::Test,
                if said.is_empty() {
                    format!("exit status {status}")
                } else {
                    said
                },
            ),
        };
    }
    // 255 is ssh's own.
    let has = |text: &str| stderr.contains(text);
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        fault(
            FaultKind::HostKey,
            format!(
                "its host key differs from known_hosts: verify that it is the same host, then run 'ssh-keygen -R {host}'"
            ),
        )
    } else if has("Host key verification failed") {
        fault(
            FaultKind::HostKey,
            "its host key is unknown: connect once with ssh, or add it to known_hosts".into(),
        )
    } else if has("Permission denied") || has("Too many authentication failures") {
        fault(
            FaultKind::Denied,
            format!("{said}: check the user and the key, or load the key into ssh-agent"),
        )
    } else {
        fault(FaultKind::Unreachable, format!("ssh cannot reach it: {said}"))
    }
}

/// Whether `weir` on a host said that it could not get through to the other's agent.
fn is_about_agent(said: &str) -> bool {
    ["cannot reach an agent at", "no UDP packet came through"]
        .iter()
        .any(|words| said.contains(words))
}

/// A line from outside, with more of it than elsewhere.
fn shown_long(text: &str) -> String {
    let short: String = text.chars().take(300).flat_map(char::escape_debug).collect();
    short.replace("\\'", "'").replace("\\\"", "\"")
}

impl SshExecutor<'_> {
    /// Brings the program to a host and starts an agent there.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn prepare(&self, host: usize) -> Result<Ready, Fault> {
        let folder = self.folder(host);
        let mut ready = bring(self.caller(), &self.hosts[host], &folder, &self.programs)?;
        let life = self.life_s.max(LEAST_LIFE_S);
        let script = scripts::start_agent(&folder, &self.weir(host), self.hosts[host].agent_port, life);
        let said = self.call(host, &script, Input::Bytes(self.token.as_bytes()), SHORT)?;
        ready.told = told_of(&said);
        Ok(ready)
    }

    /// Makes one test, from the first host to the second.
    ///
    /// # Errors
    /// What went wrong.
    pub fn test(&self, (from, to): Pair, over: Over, shape: &TestShape) -> Result<MeshTest, Fault> {
        let script = scripts::probe(&self.folder(from), &self.weir(from), &self.agent(to, over), shape);
        let limit = Duration::from_nanos(shape.duration_ns().saturating_mul(2)) + SLACK;
        let said = self
            .call(from, &script, Input::None, limit)
            .map_err(|fault| self.by_agent(to, fault))?;
        let line = said.lines().last().unwrap_or_default();
        serde_json::from_str(line).map_err(|error| Fault {
            kind: FaultKind::Test,
            message: format!(
                "{}: cannot parse the result of its weir ({error}); is it another version?",
                self.hosts[from].name
            ),
        })
    }

    /// Makes the whole survey of a pair, and brings the database with its runs to `into`, a file that is not there yet.
    ///
    /// # Errors
    /// What went wrong.
    pub fn survey(&self, (from, to): Pair, over: Over, shape: &TestShape, into: &Path) -> Result<(), Fault> {
        let script = scripts::survey(&self.folder(from), &self.weir(from), &self.agent(to, over), shape);
        let limit = Duration::from_nanos(shape.duration_ns().saturating_mul(3)) + SLACK;
        self.call_into(from, &script, Input::None, Output::File(into), limit)
            .map(drop)
            .map_err(|fault| self.by_agent(to, fault))
    }

    /// Ends the agent and removes everything.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn clean(&self, host: usize) -> Result<(), Fault> {
        self.call(host, &scripts::clean(&self.folder(host)), Input::None, SHORT)
            .map(drop)
    }
}

/// Makes a folder on a host, brings the program there unless the host has one, and returns what the host is.
fn bring(caller: Caller<'_>, host: &Host, folder: &str, programs: &Programs) -> Result<Ready, Fault> {
    let call = |script: &str, input, limit| caller.call(host, script, input, Output::Text, limit);
    let facts = call(&scripts::look(folder), Input::None, SHORT)?;
    let ready = ready_of(&facts, unix_seconds());
    if host.weir.is_none() {
        let program = programs.choose(&ready.system).map_err(|error| Fault {
            kind: FaultKind::Architecture,
            message: format!("{}: {error}", host.name),
        })?;
        call(&scripts::take_program(folder), Input::File(&program), COPY)?;
    }
    Ok(ready)
}

/// Whether a host answers, for one that is starting.
///
/// # Errors
/// When it does not, or lets nobody in.
pub fn reach(host: &Host, caller: Caller<'_>) -> Result<(), Fault> {
    caller
        .call(host, "true", Input::None, Output::Text, SHORT)
        .map(drop)
}

/// Waits until a machine has done what it does when it starts for the first time, such as to install packages.
///
/// # Errors
/// When it does not answer, or takes more than ten minutes.
pub fn settle(host: &Host, caller: Caller<'_>) -> Result<(), Fault> {
    caller
        .call(host, scripts::SETTLE, Input::None, Output::Text, FIRST_START)
        .map(drop)
}

/// Ends every agent of ours on a host, and removes all folders, whichever run they are of.
///
/// # Errors
/// When the host cannot be reached. Else the names of what was removed.
pub fn sweep(host: &Host, caller: Caller<'_>) -> Result<Vec<String>, Fault> {
    let said = caller.call(host, scripts::SWEEP, Input::None, Output::Text, SHORT)?;
    Ok(said.lines().take(1000).map(shown).collect())
}

/// Finds in the lines of [`scripts::look`] what is known of a host.
fn ready_of(facts: &str, now_s: i64) -> Ready {
    let field = |name: &str| {
        facts
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .map(str::trim)
    };
    // The third number is the most.
    let most = |name: &str| field(name)?.split_whitespace().nth(2)?.parse().ok();
    let clock: Option<i64> = field("clock").and_then(|text| text.parse().ok());
    Ready {
        system: field("system").unwrap_or_default().chars().take(100).collect(),
        receive_window_bytes: most("tcp_rmem"),
        send_window_bytes: most("tcp_wmem"),
        clock_ahead_s: clock.map_or(0, |clock| clock.saturating_sub(now_s)),
        told: None,
    }
}

/// What an agent's first line says that its cloud told the host; none for one of an older version.
fn told_of(said: &str) -> Option<CloudFacts> {
    let line: serde_json::Value = serde_json::from_str(said.lines().last()?).ok()?;
    serde_json::from_value(line.get("host")?.clone()).ok()
}

fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Runs `work` on several hosts at once, at most so many.
pub fn on_all<T: Send>(hosts: &[usize], most: usize, work: impl Fn(usize) -> T + Sync) -> Vec<(usize, T)> {
    let next = Mutex::new(hosts.iter());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..most.min(hosts.len()) {
            scope.spawn(|| {
                loop {
                    // A thread that broke off has left both as they were.
                    let host = next
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .next();
                    let Some(host) = host else { break };
                    let result = work(*host);
                    done.lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((*host, result));
                }
            });
        }
    });
    done.into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
