//! A folder on a host for its part of a testbed: with the program, titles and what the part writes; a part that is spoken to over
//! its standard input and output; and what ends and removes parts whose runner is gone. It does not know what is said to a part.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::{COPY, Caller, arguments, bring, not_started, scripts, shown_long};
use crate::fault::shown;
use crate::hosts::Host;
use crate::process::{Input, Output};
use crate::programs::Programs;
use crate::run::{Fault, FaultKind};

/// Time to copy a title.
const COPY_TITLE: Duration = Duration::from_secs(3600);
/// Time to end a part and to remove what it left.
const REMOVE: Duration = Duration::from_secs(120);

/// A folder of our own on a host.
#[derive(Clone, Debug)]
pub struct TestbedFolder<'r> {
    host: &'r Host,
    caller: Caller<'r>,
    path: String,
    weir: String,
}

/// A part that runs on a host, as the process of `ssh` here.
#[derive(Debug)]
pub struct RunningPart {
    /// The process.
    pub child: Child,
    /// Standard input of the part, which ends it when it is closed.
    pub input: ChildStdin,
    /// Its standard output.
    pub output: ChildStdout,
    /// Its standard error, and what `ssh` says.
    pub errors: ChildStderr,
}

/// Path of the folder with this identifier.
fn path_of(id: &str) -> String {
    format!("/tmp/weir-testbed-{id}")
}

impl<'r> TestbedFolder<'r> {
    /// Makes the folder, which nobody else may read, and brings the program there. `id` is unique to run and host, and of letters,
    /// digits and `-`: hosts may share a file system.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn make(host: &'r Host, id: &str, programs: &Programs, caller: Caller<'r>) -> Result<Self, Fault> {
        let path = path_of(id);
        bring(caller, host, &path, programs)?;
        let weir = host.weir.clone().unwrap_or_else(|| format!("{path}/weir"));
        Ok(TestbedFolder {
            host,
            caller,
            path,
            weir,
        })
    }

    /// The same, called by another.
    #[must_use]
    pub fn called_by(self, caller: Caller<'r>) -> Self {
        TestbedFolder { caller, ..self }
    }

    /// Its path on the host.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Copies what is called `name` in a folder here, a file or a folder, into the folder `into` below this one.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn copy(&self, folder: &Path, name: &str, into: &str) -> Result<(), Fault> {
        let failed = |problem: String| Fault {
            kind: FaultKind::Test,
            message: format!("{}: cannot copy {name} to it: {problem}", self.host.name),
        };
        let mut archive = Command::new("tar");
        archive.arg("-C").arg(folder).args(["-cf", "-", "--", name]);
        archive
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut archive = archive.spawn().map_err(|error| failed(format!("tar: {error}")))?;
        let input = archive
            .stdout
            .take()
            .map_or(Input::None, |stream| Input::Stream(stream.into()));
        let script = scripts::unpack(&self.path, into);
        let copied = self
            .caller
            .call(self.host, &script, input, Output::Text, COPY_TITLE);
        // It ends when nobody reads it any more.
        let archived = archive.wait().map_err(|error| failed(error.to_string()))?;
        copied?;
        match archived.success() {
            true => Ok(()),
            false => Err(failed(format!("tar: {archived}"))),
        }
    }

    /// Copies a file of the host here, to one that is not there yet.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn fetch(&self, file: &str, into: &Path) -> Result<(), Fault> {
        let script = format!("cat {}", scripts::quoted(file));
        let fetched = self
            .caller
            .call(self.host, &script, Input::None, Output::File(into), COPY);
        fetched.map(drop)
    }

    /// Starts the program there with these arguments in the folder, and leaves its standard input, output and error as pipes. When
    /// it ends with status 0, the folder is removed.
    ///
    /// # Errors
    /// When the program for SSH does not start.
    pub fn start(&self, with: &[&str]) -> Result<RunningPart, Fault> {
        let script = scripts::part(&self.path, &self.weir, with);
        let mut child = Command::new(self.caller.ssh)
            .args(arguments(self.host, &script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for us, who end the part.
            .process_group(0)
            .spawn()
            .map_err(|error| not_started(self.caller.ssh, &error))?;
        match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(input), Some(output), Some(errors)) => Ok(RunningPart {
                child,
                input,
                output,
                errors,
            }),
            _ => Err(Fault {
                kind: FaultKind::Unreachable,
                message: format!("{}: {} has no pipes", self.host.name, self.caller.ssh),
            }),
        }
    }
}

/// Ends the parts of these identifiers on a host, and removes their folders, and those of all other parts that run no more. With
/// `all`, those that run are ended as well. `clean` are the arguments by which the program removes what a part left. Returns the
/// folders.
///
/// # Errors
/// When the host cannot be reached, or something cannot be removed.
pub fn end_parts(
    host: &Host,
    ids: &[String],
    all: bool,
    clean: &[&str],
    caller: Caller<'_>,
) -> Result<Vec<String>, Fault> {
    let script = scripts::end_parts(&path_of(""), ids, all, host.weir.as_deref(), clean);
    let said = caller.call(host, &script, Input::None, Output::Text, REMOVE)?;
    let left = said.lines().find_map(|line| line.strip_prefix("left: "));
    match left {
        Some(left) => Err(Fault {
            kind: FaultKind::Test,
            message: format!("{}: cannot remove {}", host.name, shown_long(left)),
        }),
        None => Ok(said.lines().take(1000).map(shown).collect()),
    }
}
