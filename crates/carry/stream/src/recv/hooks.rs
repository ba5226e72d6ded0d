//! Hooks for events: run a command, or post to an HTTP address. A thread runs them one after the other, so that a hook
//! that hangs delays only later hooks.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{Event, StreamError};

/// Maximum number of events that wait for hooks; more are dropped here, but are in the results store.
const WAITING: usize = 64;
/// Time limit of a hook.
const LIMIT: Duration = Duration::from_secs(10);
/// Time limit of all hooks that remain when the run ends, together.
const LAST: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(10);

/// Where to send events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A command for `sh -c`.
    Command(String),
    /// An `http://` or `https://` address.
    Webhook(String),
}

impl FromStr for Hook {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_address = text.starts_with("http://") || text.starts_with("https://");
        Ok(if is_address {
            Hook::Webhook(text.to_owned())
        } else {
            Hook::Command(text.to_owned())
        })
    }
}

/// The thread that runs hooks. Dropping it waits for running hooks, within limits.
pub(super) struct Hooks {
    events: Option<SyncSender<Event>>,
    thread: Option<JoinHandle<()>>,
}

impl Hooks {
    /// Starts the thread if there are hooks.
    pub(super) fn start(hooks: &[Hook]) -> Result<Self, StreamError> {
        if hooks.is_empty() {
            return Ok(Hooks {
                events: None,
                thread: None,
            });
        }
        let (events, waiting) = sync_channel(WAITING);
        let hooks = hooks.to_vec();
        let thread = std::thread::Builder::new()
            .name("hooks".into())
            .spawn(move || tell_all(&hooks, &waiting))
            .map_err(|error| StreamError::thread(&error))?;
        Ok(Hooks {
            events: Some(events),
            thread: Some(thread),
        })
    }

    /// Queues an event.
    pub(super) fn tell(&self, event: &Event) {
        if let Some(events) = &self.events
            && events.try_send(event.clone()).is_err()
        {
            tracing::warn!(detail = event.detail, "hooks are too slow: an event was dropped");
        }
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        self.events = None;
        let deadline = Instant::now() + LAST;
        if let Some(thread) = self.thread.take() {
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(NAP);
            }
        }
    }
}

fn tell_all(hooks: &[Hook], events: &Receiver<Event>) {
    for event in events {
        // An event is plain data, which always serialises.
        let json = serde_json::to_string(&event).unwrap_or_default();
        for hook in hooks {
            let told = match hook {
                Hook::Command(command) => run(command, &event, &json),
                Hook::Webhook(url) => post(url, &json),
            };
            if let Err(reason) = told {
                tracing::warn!(?hook, reason, "a hook failed");
            }
        }
    }
}

fn post(url: &str, json: &str) -> Result<(), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(LIMIT))
        .build()
        .into();
    let posted = agent
        .post(url)
        .header("content-type", "application/json")
        .send(json);
    posted.map(drop).map_err(|error| error.to_string())
}

fn run(command: &str, event: &Event, json: &str) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("WEIR_EVENT", event.event.as_str())
        .env(
            "WEIR_SENDER",
            event.sender.map_or(String::new(), |sender| sender.to_string()),
        )
        .env("WEIR_DETAIL", &event.detail)
        .stdin(Stdio::piped())
        // Standard output may carry the video.
        .stdout(Stdio::null())
        .spawn()
        .map_err(text)?;
    if let Some(mut input) = child.stdin.take() {
        // An event is shorter than a pipe holds; a command need not read it.
        input.write_all(json.as_bytes()).ok();
    }
    wait(&mut child)
}

fn wait(child: &mut Child) -> Result<(), String> {
    let deadline = Instant::now() + LIMIT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if Instant::now() > deadline => {
                // Kill it and wait, so that no zombie remains.
                child.kill().ok();
                child.wait().ok();
                return Err(format!("not finished within {} s", LIMIT.as_secs()));
            }
            Ok(None) => std::thread::sleep(NAP),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::net::TcpListener;

    use super::*;
    use crate::EventKind;

    #[test]
    fn commands_and_addresses_are_told() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let folder = std::env::temp_dir().join(format!("weir-hook-{}", std::process::id()));
        let command = format!("(echo $WEIR_EVENT-$WEIR_SENDER; cat) > {}", folder.display());
        let hooks = [command.parse().expect("a hook"), url.parse().expect("a hook")];
        assert!(matches!(&hooks, [Hook::Command(_), Hook::Webhook(_)]));
        let posted = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a connection");
            let mut stream = BufReader::new(stream);
            let (mut length, mut line) = (0, String::new());
            loop {
                line.clear();
                stream.read_line(&mut line).expect("a line");
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("a body");
            stream
                .get_mut()
                .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
                .expect("an answer");
            String::from_utf8(body).expect("text")
        });
        let event = Event::now(Some(1), EventKind::Switched, "it's \"quoted\"");
        let running = Hooks::start(&hooks).expect("hooks");
        running.tell(&event);
        drop(running);
        let json: serde_json::Value = serde_json::from_str(&posted.join().expect("posted")).expect("JSON");
        assert_eq!(json["event"], "switched");
        assert_eq!(json["sender"], 1);
        assert_eq!(json["detail"], "it's \"quoted\"");
        let written = std::fs::read_to_string(&folder).expect("the command's file");
        std::fs::remove_file(&folder).expect("removed");
        let (first, rest) = written.split_once('\n').expect("lines");
        assert_eq!(first, "switched-1");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(rest).expect("JSON"),
            json
        );
    }
}
