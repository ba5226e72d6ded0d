//! Events of a stream.

use serde::Serialize;
use weir_record::{MediaEvent, Record};

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The other end is connected.
    Connected,
    /// The other end is gone.
    Disconnected,
    /// A sender is connected again.
    Restarted,
    /// The format of the frames changes.
    Format,
    /// The stream has ended.
    Ended,
    /// The output switches to another sender.
    Switched,
    /// The circuit breaker has stopped the stream.
    Stopped,
    /// The reader of the output is slower than the stream.
    SlowReader,
    /// A connection was refused.
    Refused,
}

impl EventKind {
    /// Its name, in the store and for commands.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Connected => "connected",
            EventKind::Disconnected => "disconnected",
            EventKind::Restarted => "restarted",
            EventKind::Format => "format",
            EventKind::Ended => "ended",
            EventKind::Switched => "switched",
            EventKind::Stopped => "stopped",
            EventKind::SlowReader => "slow_reader",
            EventKind::Refused => "refused",
        }
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Time, Unix nanoseconds.
    pub unix_ns: u64,
    /// Its sender, counted from 0 in the order of the command line.
    pub sender: Option<u16>,
    /// Its kind.
    pub event: EventKind,
    /// Details for the user.
    pub detail: String,
}

impl Event {
    /// An event at the present time.
    pub(crate) fn now(sender: Option<u16>, event: EventKind, detail: impl Into<String>) -> Self {
        Event {
            unix_ns: weir_net::clock::unix_ns(),
            sender,
            event,
            detail: detail.into(),
        }
    }

    /// The record for the store.
    pub(crate) fn record(&self) -> Record {
        Record::MediaEvent(MediaEvent {
            unix_ns: self.unix_ns,
            sender: self.sender,
            event: self.event.as_str().to_owned(),
            detail: self.detail.clone(),
        })
    }
}
