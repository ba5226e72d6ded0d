//! Delivers events to hooks. Each hook has a thread and a bounded queue, so that a hook that hangs delays no other and never
//! the caller; what does not fit the queue is dropped and counted. Troubles of a hook are said once, and their end once.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::Hook;

/// Maximum number of events that wait for a hook.
const WAITING: usize = 64;
/// The same of states: the next one says all that is in the one before.
const WAITING_STATES: usize = 1;
/// Time limit of a command.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);
/// Time limit of a request to a webhook.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
/// Pauses before the second and the third request.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// Time limit of what remains for all hooks when the run ends.
const LAST: Duration = Duration::from_secs(10);
const NAP: Duration = Duration::from_millis(10);

/// An event as hooks get it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The event as JSON: standard input of commands, body of requests. Shorter than a pipe holds, 64 KiB.
    pub json: String,
    /// Environment variables of commands, names and values.
    pub variables: Vec<(&'static str, String)>,
}

/// The queue of a hook.
#[derive(Debug)]
struct Queue {
    name: String,
    messages: SyncSender<Arc<Message>>,
    thread: JoinHandle<()>,
    trouble: Arc<Trouble>,
}

/// Events that were not delivered since the last one that was.
#[derive(Debug, Default)]
struct Trouble(AtomicU64);

impl Trouble {
    fn lost(&self, name: &str, reason: &str) {
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!("{name} {reason}; messages are lost until it takes one");
        }
    }

    fn is_over(&self, name: &str) {
        let lost = self.0.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::warn!("{name} takes messages again: {lost} were lost");
        }
    }
}

/// Hooks, and their threads. Dropping it waits for what is queued, 10 s at most.
#[derive(Debug)]
pub struct Deliveries {
    queues: Vec<Queue>,
    /// The run ends: no request is repeated.
    ending: Arc<AtomicBool>,
}

impl Deliveries {
    /// Starts a thread for each hook.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(hooks: &[Hook]) -> std::io::Result<Self> {
        Self::with_queues(hooks, WAITING)
    }

    /// The same for long messages that each say all of those before, as sums do: one waits for each hook.
    ///
    /// # Errors
    /// As of [`start`](Self::start).
    pub fn of_states(hooks: &[Hook]) -> std::io::Result<Self> {
        Self::with_queues(hooks, WAITING_STATES)
    }

    fn with_queues(hooks: &[Hook], waiting: usize) -> std::io::Result<Self> {
        let ending = Arc::<AtomicBool>::default();
        let queues = hooks
            .iter()
            .map(|hook| Queue::start(hook, waiting, ending.clone()));
        Ok(Deliveries {
            queues: queues.collect::<Result<_, _>>()?,
            ending,
        })
    }

    /// Queues an event for every hook. Never waits.
    pub fn deliver(&mut self, message: Message) {
        let message = Arc::new(message);
        for queue in &self.queues {
            queue.offer(message.clone());
        }
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + LAST;
        for Queue {
            name,
            messages,
            thread,
            trouble,
        } in self.queues.drain(..)
        {
            drop(messages);
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(NAP);
            }
            if !thread.is_finished() {
                tracing::warn!(
                    "{name} did not take the last messages within {} s",
                    LAST.as_secs()
                );
            }
            let lost = trouble.0.load(Ordering::Relaxed);
            if lost > 0 {
                tracing::warn!("{name}: {lost} messages were lost");
            }
        }
    }
}

impl Queue {
    fn start(hook: &Hook, waiting: usize, ending: Arc<AtomicBool>) -> std::io::Result<Self> {
        let (messages, waiting) = sync_channel(waiting);
        let (name, hook) = (hook.name(), hook.clone());
        let trouble = Arc::<Trouble>::default();
        let own = trouble.clone();
        let thread = std::thread::Builder::new()
            .name("hook".into())
            .spawn(move || deliver_all(&hook, &waiting, &ending, &own))?;
        Ok(Queue {
            name,
            messages,
            thread,
            trouble,
        })
    }

    fn offer(&self, message: Arc<Message>) {
        if self.messages.try_send(message).is_err() {
            self.trouble.lost(&self.name, "is too slow");
        }
    }
}

fn deliver_all(hook: &Hook, messages: &Receiver<Arc<Message>>, ending: &AtomicBool, trouble: &Trouble) {
    let (agent, name) = (agent(), hook.name());
    for message in messages {
        let delivered = match hook {
            Hook::Command(command) => spawn(command, &message)
                .map_err(|error| error.to_string())
                .and_then(|mut child| wait(&mut child, COMMAND_LIMIT)),
            Hook::Webhook(url) => post_again(&agent, url, &message.json, ending),
        };
        match delivered {
            Ok(()) => trouble.is_over(&name),
            Err(reason) => trouble.lost(&name, &format!("failed: {reason}")),
        }
    }
}

/// Requests go to the address that the user named, and to no other.
fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .timeout_global(Some(REQUEST_LIMIT))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .build()
        .into()
}

/// Posts until it succeeds, the receiver refuses, or the attempts are used up.
fn post_again(agent: &ureq::Agent, url: &str, json: &str, ending: &AtomicBool) -> Result<(), String> {
    let mut pauses = PAUSES.into_iter();
    loop {
        let (reason, may_pass) = match post(agent, url, json) {
            Ok(()) => return Ok(()),
            Err(failed) => failed,
        };
        let Some(pause) = pauses.next().filter(|_| may_pass) else {
            return Err(reason);
        };
        let again = Instant::now() + pause;
        while Instant::now() < again {
            if ending.load(Ordering::Relaxed) {
                return Err(reason);
            }
            std::thread::sleep(NAP);
        }
    }
}

/// Posts once; on failure the reason, and whether a repetition may succeed.
fn post(agent: &ureq::Agent, url: &str, json: &str) -> Result<(), (String, bool)> {
    let request = agent.post(url).header("content-type", "application/json");
    let status = match request.send(json) {
        Ok(response) => response.status(),
        Err(error) => return Err((error.to_string(), true)),
    };
    match status.as_u16() {
        200..=299 => Ok(()),
        300..=399 => Err((
            format!("it redirects (status {status}); give the URL of the webhook itself"),
            false,
        )),
        408 | 429 | 500..=599 => Err((format!("status {status}"), true)),
        _ => Err((format!("status {status}"), false)),
    }
}

fn spawn(command: &str, message: &Message) -> std::io::Result<Child> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .envs(message.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        // Standard output may carry the video.
        .stdout(Stdio::null())
        // So that its children end with it, and an interrupt of this program does not end it.
        .process_group(0)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A pipe holds it; a command need not read it.
        input.write_all(message.json.as_bytes()).ok();
    }
    Ok(child)
}

fn wait(child: &mut Child, limit: Duration) -> Result<(), String> {
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if Instant::now() > deadline => {
                // It has not been waited for: the number is still its own.
                if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                child.wait().ok();
                return Err(format!("killed after {} s", limit.as_secs_f64()));
            }
            Ok(None) => std::thread::sleep(NAP),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
#[path = "deliver_tests.rs"]
mod tests;
