//! A program on one of the hosts, with what it writes.

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

/// What a server must have said by then.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a server may take to end.
const END_PATIENCE: Duration = Duration::from_secs(3);
/// Most bytes of output that are kept.
const MOST_OUTPUT: u64 = 64 << 20;

/// A program that runs. It is killed when this is dropped.
pub struct Program {
    what: String,
    inmate: Inmate,
    first_line: mpsc::Receiver<String>,
    rest: mpsc::Receiver<String>,
}

/// This very program with these arguments.
pub fn weir(arguments: &[&str]) -> Result<Command, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("cannot find this program itself: {error}")))?;
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
        // Groups of their own: Ctrl-C is for the lab, which ends them.
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
            // What cannot be read is not told, and nobody may listen any more.
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

    /// What messages call it.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Waits until it has said its first line.
    pub fn wait_until_ready(&self) -> Result<(), Failure> {
        let why = match self.first_line.recv_timeout(PATIENCE) {
            Ok(line) if !line.is_empty() => return Ok(()),
            Ok(_) | Err(mpsc::RecvTimeoutError::Disconnected) => "it ended at once",
            Err(mpsc::RecvTimeoutError::Timeout) => "it did not say that it is ready",
        };
        Err(Failure::environment(format!("cannot start {}: {why}", self.what)))
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Failure> {
        self.inmate
            .try_wait()
            .map_err(|error| Failure::environment(format!("cannot wait for {}: {error}", self.what)))
    }

    /// All that it wrote, after it has ended.
    pub fn output(&self) -> String {
        self.rest.recv_timeout(END_PATIENCE).unwrap_or_default()
    }

    /// Tells a server to end, and waits a little for it.
    pub fn end(mut self) {
        self.inmate.signal(SIGTERM);
        // One that does not end by then is killed when it is dropped.
        let _ = self.inmate.wait_for(END_PATIENCE);
    }
}
