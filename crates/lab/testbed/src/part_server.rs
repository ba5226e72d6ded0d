//! The part of a workflow on the host that holds it: requests answered in turn, until the runner needs it no more or is gone. It
//! must not know who the runner is, or where results go.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::error::TestbedError;
use crate::host::Host;
use crate::local_host::LocalHost;
use crate::part::{Part, Reply, Request, messages, write};
use crate::state::{Registry, TestbedState};
use crate::workflow::Capabilities;

/// Maximum time without a request once there are tasks, after which the runner counts as gone. Under load it asks every 50 ms.
const SILENCE: Duration = Duration::from_secs(600);
/// Interval at which a stop is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Holds a part on this host: serves requests until the last one, the end of the input, a stop, or silence, and takes down what is
/// there then. `weir` is the program.
///
/// # Errors
/// When something cannot be removed.
pub fn serve_part(
    input: impl BufRead + Send + 'static,
    output: &mut dyn Write,
    registry: &Registry,
    weir: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<(), TestbedError> {
    let mut open = |part: Part| -> Result<Box<dyn Host>, TestbedError> {
        part.check()?;
        let host = part
            .tasks
            .first()
            .and_then(|task| part.workflow.tasks[*task].host.as_deref());
        part.workflow.fits(host, Capabilities::of_this_host()?)?;
        part.workflow.programs_are_here(host)?;
        registry.claim(&TestbedState::begin(&part.name, &part.workflow, &part.tasks))?;
        Ok(Box::new(LocalHost::new(part, registry, weir)?))
    };
    serve(input, output, &mut open, stop)
}

/// The same with hosts that `open` makes of their part.
fn serve(
    input: impl BufRead + Send + 'static,
    output: &mut dyn Write,
    open: &mut dyn FnMut(Part) -> Result<Box<dyn Host>, TestbedError>,
    stop: &dyn Fn() -> bool,
) -> Result<(), TestbedError> {
    let requests = messages::<Request>(input);
    let mut host: Option<Box<dyn Host>> = None;
    let mut heard = Instant::now();
    while !stop() && (host.is_none() || heard.elapsed() < SILENCE) {
        let request = match requests.recv_timeout(TICK) {
            Ok(Ok(request)) => request,
            Err(RecvTimeoutError::Timeout) => continue,
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => break,
        };
        let is_last = matches!(request, Request::TakeDown);
        let reply = answer(request, &mut host, open);
        let is_done = is_last && matches!(reply, Reply::Done);
        heard = Instant::now();
        // Who is gone reads no reply.
        let is_read = write(output, &reply).is_ok();
        if is_done {
            return Ok(());
        }
        if !is_read {
            break;
        }
    }
    host.map_or(Ok(()), |mut host| host.take_down())
}

fn answer(
    request: Request,
    host: &mut Option<Box<dyn Host>>,
    open: &mut dyn FnMut(Part) -> Result<Box<dyn Host>, TestbedError>,
) -> Reply {
    let reply = match (request, host) {
        (Request::SetUp(part), host @ None) => open(*part)
            .and_then(|opened| host.insert(opened).set_up())
            .map(Reply::Cores),
        (Request::SetUp(_), Some(_)) => return Reply::Failed("it has a part already".to_owned()),
        (Request::TakeDown, None) => Ok(Reply::Done),
        (_, None) => return Reply::Failed("it has no part yet".to_owned()),
        (Request::Start { task }, Some(host)) => host.start(task).map(Reply::Started),
        (Request::IsListening { task }, Some(host)) => host.is_listening(task).map(Reply::IsListening),
        (Request::Endings, Some(host)) => host.endings().map(Reply::Endings),
        (Request::Sample { own }, Some(host)) => host.sample(own).map(Reply::Samples),
        (Request::EndSinks, Some(host)) => host.end_sinks().map(|()| Reply::Done),
        (Request::Output { task }, Some(host)) => host.output(task).map(Reply::Output),
        (Request::TakeDown, Some(host)) => host.take_down().map(|()| Reply::Done),
    };
    reply.unwrap_or_else(|error| Reply::Failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;
    use std::os::unix::net::UnixStream;
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex};
    use std::thread;

    use super::*;
    use crate::host::{Ending, Output, Started};
    use crate::measured::Sample;
    use crate::own_metrics::OwnCounts;
    use crate::part::tests::part;
    use crate::remote_host::{RemoteHost, Session};

    /// A host of two tasks that says what a test put into it, and notes what it was asked.
    #[derive(Clone, Default)]
    struct Noted(Arc<Mutex<Vec<String>>>);

    impl Noted {
        fn note(&self, what: String) {
            self.0.lock().expect("a list").push(what);
        }
    }

    fn sample() -> Sample {
        Sample {
            at_ns: u64::MAX,
            cpu_ns: 3,
            own: Some(OwnCounts {
                in_bytes: Some(1.5),
                out_bytes: None,
            }),
            ..Sample::default()
        }
    }

    fn output() -> Output {
        Output {
            printed: "{\"a\": \"\u{1f600}\\n\"}\n".to_owned(),
            log: "line\nlast".to_owned(),
            cache: None,
            database: Some(PathBuf::from("/there/sink.db")),
        }
    }

    impl Host for Noted {
        fn set_up(&mut self) -> Result<Vec<Vec<usize>>, TestbedError> {
            Ok(vec![vec![0, 1], vec![2]])
        }
        fn start(&mut self, task: usize) -> Result<Option<Started>, TestbedError> {
            if task > 1 {
                return Err(TestbedError::task("x", "command", "two\nlines"));
            }
            let start_ticks = Some(5);
            Ok(Some(Started { pid: 7, start_ticks }))
        }
        fn is_listening(&mut self, task: usize) -> Result<bool, TestbedError> {
            Ok(task == 0)
        }
        fn endings(&mut self) -> Result<Vec<Option<Ending>>, TestbedError> {
            let status = "signal: 9 (SIGKILL)".to_owned();
            Ok(vec![
                None,
                Some(Ending {
                    success: false,
                    status,
                }),
            ])
        }
        fn sample(&mut self, own: bool) -> Result<Vec<Sample>, TestbedError> {
            Ok(vec![sample(); if own { 2 } else { 1 }])
        }
        fn end_sinks(&mut self) -> Result<(), TestbedError> {
            self.note("end sinks".to_owned());
            Ok(())
        }
        fn output(&mut self, _task: usize) -> Result<Output, TestbedError> {
            Ok(output())
        }
        fn take_down(&mut self) -> Result<(), TestbedError> {
            self.note("take down".to_owned());
            Ok(())
        }
    }

    struct Files;

    impl Session for Files {
        fn fetch(&mut self, file: &Path, into: &Path) -> Result<(), String> {
            std::fs::write(into, file.display().to_string()).map_err(|error| error.to_string())
        }
        fn last_words(&mut self) -> String {
            "no route to host".to_owned()
        }
    }

    /// A runner's view of a part that runs on a thread.
    fn joined(
        noted: &Noted,
        folder: &Path,
    ) -> (RemoteHost<'static>, thread::JoinHandle<Result<(), TestbedError>>) {
        // As pipes, of which each ends alone.
        let (requests, asked) = UnixStream::pair().expect("a pair");
        let (replies, mut said) = UnixStream::pair().expect("a pair");
        let noted = noted.clone();
        let serving = thread::spawn(move || {
            let mut open = |part: Part| -> Result<Box<dyn Host>, TestbedError> {
                part.check()?;
                Ok(Box::new(noted.clone()))
            };
            serve(BufReader::new(asked), &mut said, &mut open, &|| false)
        });
        let host = RemoteHost::new("h1", part(), folder, (requests, replies), Box::new(Files));
        (host, serving)
    }

    #[test]
    fn a_remote_host_says_what_the_one_behind_it_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let noted = Noted::default();
        let (mut host, serving) = joined(&noted, folder.path());
        let early = host.endings().expect_err("no part yet").to_string();
        assert_eq!(early, "host h1: it has no part yet");
        assert_eq!(host.set_up().expect("cores"), [vec![0, 1], vec![2]]);
        let started = host.start(1).expect("a process").expect("a process");
        assert_eq!((started.pid, started.start_ticks), (7, Some(5)));
        assert_eq!(
            host.start(2).expect_err("refused").to_string(),
            "host h1: task x: command: two lines"
        );
        assert!(host.is_listening(0).expect("an answer") && !host.is_listening(1).expect("an answer"));
        assert_eq!(
            host.endings().expect("endings"),
            Noted::default().endings().expect("endings")
        );
        assert_eq!(host.sample(true).expect("samples"), [sample(), sample()]);
        let here = folder.path().join("viewers.db");
        let database = Some(here.clone());
        assert_eq!(
            host.output(1).expect("an output"),
            Output { database, ..output() }
        );
        assert_eq!(std::fs::read_to_string(here).expect("a file"), "/there/sink.db");
        host.end_sinks().expect("an answer");
        host.take_down().expect("an end");
        serving.join().expect("a thread").expect("an end");
        assert_eq!(*noted.0.lock().expect("a list"), ["end sinks", "take down"]);
        // It has ended, as one does whose network is gone.
        let lost = host.endings().expect_err("it has ended").to_string();
        assert!(lost.starts_with("host h1 is lost: no route to host"), "{lost}");
    }

    #[test]
    fn a_part_takes_down_its_tasks_when_nobody_needs_it_any_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let noted = Noted::default();
        let (mut host, serving) = joined(&noted, folder.path());
        host.set_up().expect("cores");
        // A reply that is not for all of its tasks is one of another version.
        let wrong = host.sample(false).expect_err("one sample of two").to_string();
        assert!(wrong.contains("another version"), "{wrong}");
        assert!(host.endings().is_err(), "it is lost from then on");
        drop(host);
        serving.join().expect("a thread").expect("an end");
        assert_eq!(*noted.0.lock().expect("a list"), ["take down"]);
    }

    #[test]
    fn what_is_no_request_ends_a_part() {
        for input in ["nonsense\n", "{\"start\": {\"task\": -1}}\n", ""] {
            let mut open =
                |_: Part| -> Result<Box<dyn Host>, TestbedError> { Ok(Box::new(Noted::default())) };
            let mut said = Vec::new();
            serve(input.as_bytes(), &mut said, &mut open, &|| false).expect("an end");
            assert!(said.is_empty(), "{input}");
        }
    }
}
