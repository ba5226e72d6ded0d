//! A program on one of the hosts, with its output.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use signal_hook::consts::SIGTERM;
use weir_lab::{Host, Lab};
use weir_net::namespace::Inmate;

use crate::commands::Failure;

/// Maximum time until a server prints its first line.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum time until a server ends.
const END_PATIENCE: Duration = Duration::from_secs(3);
/// Maximum number of bytes kept of a program's output.
const MOST_OUTPUT: u64 = 64 << 20;

/// A running program. It is killed when this is dropped.
pub struct Program {
    what: String,
    inmate: Inmate,
    first_line: mpsc::Receiver<String>,
    rest: mpsc::Receiver<String>,
}

/// This very program with these arguments.
pub fn weir(arguments: &[&str]) -> Result<Command, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find the path of this program: {error}")))?;
    let mut command = Command::new(own);
    command.args(arguments);
    Ok(command)
}

impl Program {
    /// Starts it; `what` is what messages call it.
    pub fn start(lab: &Lab, host: Host, what: &str, mut command: Command) -> Result<Self, Failure> {
        let failed = |why: &str| {
            Failure::environment(format!("cannot start {what} on the {} host: {why}", host.name()))
        };
        // Separate process groups: Ctrl-C goes to the lab, which ends them.
        command
            .env_remove("WEIR_LAB_INSIDE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0);
        let mut inmate = lab
            .spawn(host, command)
            .map_err(|error| failed(&error.to_string()))?;
        let output = inmate.take_stdout().ok_or_else(|| failed("it has no output"))?;
        let (said_first, first_line) = mpsc::channel();
        let (said_rest, rest) = mpsc::channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output.take(MOST_OUTPUT));
            let mut text = String::new();
            // Unreadable output is dropped, and the receiver may be gone.
            let _ = output.read_line(&mut text);
            let _ = said_first.send(text.clone());
            let _ = output.read_to_string(&mut text);
            let _ = said_rest.send(text);
        });
        Ok(Program {
            what: what.to_owned(),
            inmate,
            first_line,
            rest,
        })
    }

    /// Its name in messages.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Waits for its first line of output.
    pub fn wait_until_ready(&self) -> Result<(), Failure> {
        let why = match self.first_line.recv_timeout(PATIENCE) {
            Ok(line) if !line.is_empty() => return Ok(()),
            Ok(_) | Err(mpsc::RecvTimeoutError::Disconnected) => "it exited immediately",
            Err(mpsc::RecvTimeoutError::Timeout) => "it did not become ready in time",
        };
        Err(Failure::environment(format!("cannot start {}: {why}", self.what)))
    }

    /// Its exit status, if it has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Failure> {
        self.inmate
            .try_wait()
            .map_err(|error| Failure::environment(format!("cannot wait for {}: {error}", self.what)))
    }

    /// All its output, after it has ended.
    pub fn output(&self) -> String {
        self.rest.recv_timeout(END_PATIENCE).unwrap_or_default()
    }

    /// Asks a server to end, and waits briefly for it.
    pub fn end(mut self) {
        self.inmate.signal(SIGTERM);
        // A server that does not end in time is killed when dropped.
        let _ = self.inmate.wait_for(END_PATIENCE);
    }
}
