//! The part of a workflow that another host holds, and what is said to it: requests and replies in turn, a line of JSON each, of a
//! bounded length. It must not know how the lines get there, nor how a host holds tasks.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::TestbedError;
use crate::filling::Served;
use crate::host::{Ending, Output, Started};
use crate::measured::Sample;
use crate::workflow::Workflow;

/// Maximum length of a line, bytes.
const MOST_LINE: u64 = 32 << 20;

/// What a host has to do of a workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Name of the testbed on the host.
    pub name: String,
    /// The whole workflow.
    pub workflow: Workflow,
    /// Tasks of the host, servers first.
    pub tasks: Vec<usize>,
    /// Content by the name of the task that serves it.
    pub contents: BTreeMap<String, Served>,
    /// TCP port at which clients on other hosts reach the tasks; none where there are none.
    pub port: Option<u16>,
    /// Hosts and ports of servers on other hosts, by the number of the connection.
    pub servers: BTreeMap<usize, (String, u16)>,
    /// What relays of this run prove to each other.
    pub secret: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    SetUp(Box<Part>),
    Start { task: usize },
    IsListening { task: usize },
    Endings,
    Sample { own: bool },
    EndSinks,
    Output { task: usize },
    TakeDown,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    /// Why not, in a line.
    Failed(String),
    /// Of each task.
    Cores(Vec<Vec<usize>>),
    Started(Option<Started>),
    IsListening(bool),
    Endings(Vec<Option<Ending>>),
    Samples(Vec<Sample>),
    Output(Output),
    Done,
}

/// Writes a message as a line.
pub(crate) fn write<T: Serialize>(output: &mut dyn Write, message: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Reads messages on a thread of its own, until the input ends or a line is no message.
pub(crate) fn messages<T: DeserializeOwned + Send + 'static>(
    mut input: impl BufRead + Send + 'static,
) -> Receiver<io::Result<T>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::spawn(move || {
        loop {
            let mut line = Vec::new();
            let message = match (&mut input).take(MOST_LINE).read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(_) => serde_json::from_slice(&line).map_err(io::Error::from),
                Err(error) => Err(error),
            };
            let is_last = message.is_err();
            if sender.send(message).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

impl Part {
    /// Refuses numbers of tasks and connections that the workflow does not have.
    pub(crate) fn check(&self) -> Result<(), TestbedError> {
        let Workflow {
            tasks, connections, ..
        } = &self.workflow;
        let ends = connections
            .iter()
            .flat_map(|connection| [connection.from, connection.to]);
        let known = ends
            .chain(self.tasks.iter().copied())
            .all(|task| task < tasks.len());
        match known && !self.tasks.is_empty() {
            true => Ok(()),
            false => Err(TestbedError::Document(
                "the part has tasks that its workflow does not have".to_owned(),
            )),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;
    use crate::function::Functions;

    /// The part of a host that has both tasks of a small workflow.
    pub(crate) fn part() -> Part {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("w.toml");
        let text = "name = 'w'\ndescription = 'd'\n[[task]]\nname = 'files'\nfunction = 'weir-source'\n\
                    [[task]]\nname = 'viewers'\nfunction = 'weir-sink'\n\
                    [[connection]]\nfrom = 'files'\nto = 'viewers'\ntypical-delay = 10\n";
        std::fs::write(&file, text).expect("a file");
        let (document, _) = crate::read(&file, &[]).expect("a document");
        let functions = Functions::built_in().expect("functions");
        Part {
            name: "4f2a-1".to_owned(),
            workflow: Workflow::of(&document, &functions, Path::new("")).expect("a workflow"),
            tasks: vec![0, 1],
            contents: BTreeMap::new(),
            port: None,
            servers: BTreeMap::new(),
            secret: "secret".to_owned(),
        }
    }

    #[test]
    fn messages_are_lines_of_a_bounded_length_and_what_is_none_ends_them() {
        let mut written = Vec::new();
        write(&mut written, &Request::SetUp(Box::new(part()))).expect("a line");
        write(&mut written, &Request::Start { task: 3 }).expect("a line");
        assert_eq!(written.iter().filter(|byte| **byte == b'\n').count(), 2);
        written.extend(b"{\"nonsense\": 1}\n");
        let read = messages::<Request>(io::Cursor::new(written));
        let next = || read.recv().expect("a message");
        assert!(matches!(next(), Ok(Request::SetUp(part)) if part.tasks == [0, 1]));
        assert!(matches!(next(), Ok(Request::Start { task: 3 })));
        assert!(next().is_err());
        assert!(read.recv().is_err(), "nothing follows");
    }

    #[test]
    fn a_part_with_tasks_that_are_not_there_is_refused() {
        assert!(part().check().is_ok());
        for tasks in [vec![2], vec![]] {
            assert!(Part { tasks, ..part() }.check().is_err());
        }
        let mut wrong = part();
        wrong.workflow.connections[0].to = 2;
        assert!(wrong.check().is_err());
    }
}
