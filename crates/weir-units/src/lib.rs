//! Quantities as people write them on a command line and read them in a table. Parsing is exact: what cannot be
//! kept without rounding is refused, and every refusal shows the form that would have been right. It must not know
//! which option a quantity belongs to.
//!
//! `Display` of each type gives the form that its parser reads back to the very same value; the `format_` functions
//! round for reading.

mod bytes;
mod decimal;
mod error;
mod frame_rate;
mod print;
mod queue_size;
mod rate;
mod reorder_depth;
mod share;
mod spans;
mod time;

pub use bytes::ByteCount;
pub use error::UnitError;
pub use frame_rate::FrameRate;
pub use print::{
    format_bytes, format_count, format_duration, format_percent, format_rate, format_signed_duration,
};
pub use queue_size::QueueSize;
pub use rate::{Rate, RateOrMax};
pub use reorder_depth::ReorderDepth;
pub use share::Share;
pub use spans::{CountSpan, LengthSpan, PortRange, parse_length};
pub use time::TimeSpan;

#[cfg(test)]
mod tests;
