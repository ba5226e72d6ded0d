//! Another host as one that holds tasks: its part, asked by messages. It must not know how they get there.

use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::error::{TestbedError, one_line};
use crate::host::{Ending, Host, Output, Started};
use crate::measured::Sample;
use crate::part::{Part, Reply, Request, messages, write};

/// Maximum time for a reply.
const REPLY: Duration = Duration::from_secs(60);
/// Maximum time for a part to end its processes and to remove what it made: some of them may be slow to end, one after the other.
const END: Duration = Duration::from_secs(600);

/// How a part on another host is reached. When it is dropped, the part's standard input ends, and the part with it.
pub trait Session {
    /// Copies a file of the host to one here that is not there yet.
    ///
    /// # Errors
    /// Why not, in a line.
    fn fetch(&mut self, file: &Path, into: &Path) -> Result<(), String>;

    /// Why the part does not reply any more, in a line; called once.
    fn last_words(&mut self) -> String;
}

/// Another host.
pub struct RemoteHost<'s> {
    name: String,
    part: Part,
    /// Folder here for the databases of its sinks.
    folder: PathBuf,
    requests: Box<dyn Write + Send>,
    replies: Receiver<std::io::Result<Reply>>,
    session: Box<dyn Session + 's>,
    /// Why it does not reply any more.
    lost: Option<String>,
}

impl<'s> RemoteHost<'s> {
    /// The host of this name, with its part; `folder` is where the databases of its sinks are copied to.
    pub fn new(
        name: &str,
        part: Part,
        folder: &Path,
        (requests, replies): (impl Write + Send + 'static, impl Read + Send + 'static),
        session: Box<dyn Session + 's>,
    ) -> Self {
        RemoteHost {
            name: name.to_owned(),
            part,
            folder: folder.to_owned(),
            requests: Box::new(requests),
            replies: messages(BufReader::new(replies)),
            session,
            lost: None,
        }
    }

    fn failed(&self, problem: &str) -> TestbedError {
        TestbedError::Failed(format!("host {}: {}", self.name, one_line(problem)))
    }

    fn lost(&self, problem: &str) -> TestbedError {
        TestbedError::Lost {
            host: self.name.clone(),
            problem: one_line(problem),
        }
    }

    fn ask(&mut self, request: &Request, limit: Duration) -> Result<Reply, TestbedError> {
        if let Some(problem) = &self.lost {
            return Err(self.lost(problem));
        }
        let reply = match write(&mut self.requests, request) {
            Ok(()) => self.replies.recv_timeout(limit),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        let problem = match reply {
            Ok(Ok(Reply::Failed(problem))) => return Err(self.failed(&problem)),
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) => format!("its reply is none: {error}"),
            Err(RecvTimeoutError::Timeout) => format!("no reply within {} s", limit.as_secs()),
            Err(RecvTimeoutError::Disconnected) => self.session.last_words(),
        };
        let error = self.lost(&problem);
        self.lost = Some(problem);
        Err(error)
    }

    /// A reply of another kind than the request's, or of another length than its tasks.
    fn other(&mut self) -> TestbedError {
        let problem = "its reply is one to something else; is it another version of weir?".to_owned();
        let error = self.lost(&problem);
        self.lost = Some(problem);
        error
    }

    /// A reply for each of its tasks.
    fn each<T>(&mut self, reply: Option<Vec<T>>) -> Result<Vec<T>, TestbedError> {
        reply
            .filter(|all| all.len() == self.part.tasks.len())
            .ok_or_else(|| self.other())
    }
}

impl Host for RemoteHost<'_> {
    fn set_up(&mut self) -> Result<Vec<Vec<usize>>, TestbedError> {
        let request = Request::SetUp(Box::new(self.part.clone()));
        let cores = match self.ask(&request, REPLY)? {
            Reply::Cores(cores) => Some(cores),
            _ => None,
        };
        self.each(cores)
    }

    fn start(&mut self, task: usize) -> Result<Option<Started>, TestbedError> {
        match self.ask(&Request::Start { task }, REPLY)? {
            Reply::Started(started) => Ok(started),
            _ => Err(self.other()),
        }
    }

    fn is_listening(&mut self, task: usize) -> Result<bool, TestbedError> {
        match self.ask(&Request::IsListening { task }, REPLY)? {
            Reply::IsListening(is) => Ok(is),
            _ => Err(self.other()),
        }
    }

    fn endings(&mut self) -> Result<Vec<Option<Ending>>, TestbedError> {
        let endings = match self.ask(&Request::Endings, REPLY)? {
            Reply::Endings(endings) => Some(endings),
            _ => None,
        };
        self.each(endings)
    }

    fn sample(&mut self, own: bool) -> Result<Vec<Sample>, TestbedError> {
        let samples = match self.ask(&Request::Sample { own }, REPLY)? {
            Reply::Samples(samples) => Some(samples),
            _ => None,
        };
        self.each(samples)
    }

    fn end_sinks(&mut self) -> Result<(), TestbedError> {
        self.ask(&Request::EndSinks, REPLY).map(drop)
    }

    fn output(&mut self, task: usize) -> Result<Output, TestbedError> {
        let Reply::Output(mut output) = self.ask(&Request::Output { task }, REPLY)? else {
            return Err(self.other());
        };
        if let Some(there) = output.database.take() {
            let here = self
                .folder
                .join(format!("{}.db", self.part.workflow.tasks[task].name));
            if !here.exists() {
                let fetched = self.session.fetch(&there, &here);
                fetched.map_err(|problem| self.failed(&problem))?;
            }
            output.database = Some(here);
        }
        Ok(output)
    }

    fn take_down(&mut self) -> Result<(), TestbedError> {
        self.ask(&Request::TakeDown, END).map(drop)
    }
}
