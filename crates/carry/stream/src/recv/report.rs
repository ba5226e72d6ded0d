//! What the receiving thread and the output thread report to the session.

use weir_record::Record;
use weir_stream_proto::ReceiverEvent;

/// Messages from a thread.
#[derive(Debug)]
pub(super) enum Report {
    Records(Vec<Record>),
    /// A sender's number on the command line, and the event.
    Event(Option<u16>, ReceiverEvent),
}
