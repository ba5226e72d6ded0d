//! What happens to a stream besides packets.

use serde::Serialize;
use weir_results::{MediaEvent, Record};

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The other end is there.
    Connected,
    /// The other end is gone.
    Disconnected,
    /// A sender that was gone is there again.
    Restarted,
    /// Frames have another format from here on.
    Format,
    /// The stream has ended.
    Ended,
    /// Another sender's frames are taken from here on.
    Switched,
    /// The circuit breaker has stopped the stream.
    Stopped,
    /// The reader of the output does not take frames as fast as they come.
    SlowReader,
    /// Somebody was refused.
    Refused,
}

impl EventKind {
    /// The word for it, in the store as for commands.
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

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When, Unix nanoseconds.
    pub unix_ns: u64,
    /// Which sender it is about, counted from 0 in the order of the command line.
    pub sender: Option<u16>,
    /// What.
    pub event: EventKind,
    /// A sentence for people.
    pub detail: String,
}

impl Event {
    /// Happens now.
    pub(crate) fn now(sender: Option<u16>, event: EventKind, detail: impl Into<String>) -> Self {
        Event {
            unix_ns: weir_net::clock::unix_ns(),
            sender,
            event,
            detail: detail.into(),
        }
    }

    /// As the store keeps it.
    pub(crate) fn record(&self) -> Record {
        Record::MediaEvent(MediaEvent {
            unix_ns: self.unix_ns,
            sender: self.sender,
            event: self.event.as_str().to_owned(),
            detail: self.detail.clone(),
        })
    }
}
