//! What the receiving thread and the output thread report to the session.

use weir_record::Record;
use weir_stream_proto::{ReceiverEvent, SwitchReason};

/// Messages from a thread.
#[derive(Debug)]
pub(super) enum Report {
    Records(Vec<Record>),
    /// A sender's number on the command line, and the event.
    Event(Option<u16>, ReceiverEvent),
}

/// Why the output switches to another sender.
pub(super) fn because(why: SwitchReason) -> &'static str {
    match why {
        SwitchReason::Silence => "no packets from the other sender",
        SwitchReason::Unrepaired => "residual loss of the other sender too high",
        SwitchReason::Removed => "the other sender disconnected",
        SwitchReason::Back => "it is preferred, and stable again",
    }
}
