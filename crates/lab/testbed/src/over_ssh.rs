//! Hosts of a testbed over SSH: the program and titles are copied to a folder there, in which a part runs. It must not know what a
//! part is asked.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use weir_mesh::filter::Over;
use weir_mesh::hosts::Host as Machine;
use weir_mesh::programs::Programs;
use weir_mesh::run::Fault;
use weir_mesh::run::threads::PREPARED_AT_ONCE;
use weir_mesh::ssh::{Caller, RunningPart, TestbedFolder, end_parts, on_all};

use crate::elsewhere::Elsewhere;
use crate::error::{TestbedError, one_line};
use crate::host::Host;
use crate::part::Part;
use crate::remote_host::{RemoteHost, Session};
use crate::state::PartStatus;

/// Arguments by which the program serves a part in its folder.
const PART: [&str; 2] = ["testbed", "part"];
/// Arguments by which it removes what a part left in its folder.
const CLEAN: [&str; 3] = ["testbed", "part", "--clean"];
/// Maximum time for `ssh` to end after its part.
const PATIENCE: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(20);
/// Maximum length of a line that `ssh` prints, bytes.
const MOST_LINE: u64 = 4096;

/// The hosts of a file.
pub struct OverSsh<'r> {
    /// The hosts.
    pub machines: &'r [Machine],
    /// The programs to copy.
    pub programs: &'r Programs,
    /// The program for SSH, as long as hosts are opened: an interrupt ends what is copied.
    pub opening: Caller<'r>,
    /// The same for what comes afterwards.
    pub caller: Caller<'r>,
    /// Word that no other run has: letters and digits.
    pub word: String,
    /// What relays prove to each other: random letters and digits.
    pub secret: String,
}

impl<'r> OverSsh<'r> {
    fn machine(&self, name: &str) -> Result<(usize, &'r Machine), TestbedError> {
        let known = self.machines.iter().enumerate();
        let found = known.into_iter().find(|(_, machine)| machine.name == name);
        found.ok_or_else(|| TestbedError::Failed(format!("no host is called '{name}'")))
    }
}

impl Elsewhere for OverSsh<'_> {
    fn names(&self) -> Vec<&str> {
        self.machines
            .iter()
            .map(|machine| machine.name.as_str())
            .collect()
    }

    fn id(&self, host: &str) -> Result<String, TestbedError> {
        let (number, _) = self.machine(host)?;
        Ok(format!("{}-{number}", self.word))
    }

    fn secret(&self) -> &str {
        &self.secret
    }

    fn address(&self, server: &str, client: Option<&str>) -> Result<(String, u16), TestbedError> {
        let (_, server) = self.machine(server)?;
        let client = client.map(|client| self.machine(client)).transpose()?;
        let shares_network =
            |client: &Machine| !client.network.is_empty() && client.network == server.network;
        let over = match client.is_some_and(|(_, client)| shares_network(client)) {
            true => Over::Private,
            false => Over::Public,
        };
        Ok((server.address(over).to_owned(), server.agent_port))
    }

    fn open(&self, host: &str, part: Part, folder: &Path) -> Result<Box<dyn Host + '_>, TestbedError> {
        let (_, machine) = self.machine(host)?;
        let id = part.name.clone();
        self.open_on(machine, part, folder).map_err(|fault| {
            // What is there by now. That it fails as well is no news.
            let _ = end_parts(machine, &[id], false, &CLEAN, self.caller);
            failed(fault)
        })
    }
}

impl<'r> OverSsh<'r> {
    fn open_on(
        &self,
        machine: &'r Machine,
        mut part: Part,
        folder: &Path,
    ) -> Result<Box<dyn Host + 'r>, Fault> {
        let there = TestbedFolder::make(machine, &part.name, self.programs, self.opening)?;
        for (task, served) in &mut part.contents {
            if served.is_on_host {
                continue;
            }
            // Its first part is the folder of the title, or its file.
            let title = served.manifest.split('/').next().unwrap_or_default();
            let into = format!("titles/{task}");
            there.copy(&served.folder, title, &into)?;
            served.folder = Path::new(there.path()).join(into);
        }
        let RunningPart {
            child,
            input,
            output,
            errors,
        } = there.start(&PART)?;
        let session = OpenSession {
            last_line: last_line(errors),
            child,
            there: there.called_by(self.caller),
        };
        let pipes = (input, output);
        let session = Box::new(session);
        Ok(Box::new(RemoteHost::new(
            &machine.name,
            part,
            folder,
            pipes,
            session,
        )))
    }
}

/// Removes from hosts what runs that were killed have left there: the parts that the registry knows, running or not, then all others
/// that run no more; with `all`, those that run as well. Returns hosts and folders, and what failed.
pub fn clean_hosts(
    machines: &[Machine],
    known: &[PartStatus],
    all: bool,
    caller: Caller<'_>,
) -> (Vec<(String, String)>, Vec<String>) {
    let numbers: Vec<usize> = (0..machines.len()).collect();
    let is_missing = |part: &&PartStatus| machines.iter().all(|machine| machine.name != part.host);
    let missing = known.iter().filter(is_missing);
    let mut failures: Vec<String> = missing
        .map(|part| format!("host {}: it is not in the hosts file", part.host))
        .collect();
    let mut removed = Vec::new();
    let ended = on_all(&numbers, PREPARED_AT_ONCE, |number| {
        let machine = &machines[number];
        let ids = known.iter().filter(|part| part.host == machine.name);
        let ids: Vec<String> = ids.map(|part| part.id.clone()).collect();
        end_parts(machine, &ids, all, &CLEAN, caller)
    });
    for (number, ended) in ended {
        match ended {
            Ok(folders) => {
                let name = &machines[number].name;
                removed.extend(folders.into_iter().map(|folder| (name.clone(), folder)));
            }
            Err(fault) => failures.push(format!("host {}", fault.message)),
        }
    }
    (removed, failures)
}

fn failed(fault: Fault) -> TestbedError {
    TestbedError::Failed(format!("host {}", fault.message))
}

/// A part that runs.
struct OpenSession<'r> {
    there: TestbedFolder<'r>,
    child: Child,
    /// What `ssh`, or the part, printed last.
    last_line: Receiver<String>,
}

impl Session for OpenSession<'_> {
    fn fetch(&mut self, file: &Path, into: &Path) -> Result<(), String> {
        let fetched = self.there.fetch(&file.display().to_string(), into);
        fetched.map_err(|fault| fault.message)
    }

    fn last_words(&mut self) -> String {
        match self.last_line.recv_timeout(PATIENCE) {
            Ok(line) if !line.is_empty() => line,
            _ => "its part ended".to_owned(),
        }
    }
}

impl Drop for OpenSession<'_> {
    fn drop(&mut self) {
        // Its standard input is closed by now, so that the part ends, and with it ssh.
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(TICK);
        }
    }
}

/// Reads on a thread of its own what is printed, and gives the last line that is not empty at the end.
fn last_line(errors: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let (mut errors, mut last) = (BufReader::new(errors), String::new());
        loop {
            let mut line = Vec::new();
            match (&mut errors).take(MOST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let line = one_line(&String::from_utf8_lossy(&line));
            if !line.is_empty() {
                last = line;
            }
        }
        // Nobody may wait for it.
        let _ = sender.send(last);
    });
    receiver
}
