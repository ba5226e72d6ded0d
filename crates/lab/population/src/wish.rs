//! What a user of a connection asks for next. It must not know who that is.

/// What is asked for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// These bytes, at this pace of payload, bits per second.
    Ask { bytes: u64, pace: Option<u64> },
    /// Nothing until this time; none: nothing any more.
    Wait(Option<u64>),
}
