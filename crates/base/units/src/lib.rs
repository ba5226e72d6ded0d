//! Quantities as users write them on a command line and read them in a table. Parsing is exact: a value that would need
//! rounding is refused, and every error shows the right form. It must not know which option a quantity belongs to.
//!
//! `Display` of each type prints a form that its parser reads back to the same value; the `format_` functions
//! round for reading.

mod byte_span;
mod bytes;
mod decimal;
mod error;
mod format_name;
mod frame_rate;
mod print;
mod queue_size;
mod rate;
mod reorder_depth;
mod share;
mod spans;
mod time;
mod utc;

pub use byte_span::ByteSpan;
pub use bytes::ByteCount;
pub use error::UnitError;
pub use format_name::{FormatName, FormatNameError, PictureName, Sampling};
pub use frame_rate::FrameRate;
pub use print::{
    count_of, format_bytes, format_count, format_duration, format_percent, format_rate,
    format_signed_duration,
};
pub use queue_size::QueueSize;
pub use rate::{Rate, RateOrMax};
pub use reorder_depth::ReorderDepth;
pub use share::Share;
pub use spans::{CountSpan, LengthSpan, PortRange, parse_length};
pub use time::TimeSpan;
pub use utc::{UtcTime, format_utc};

#[cfg(test)]
mod tests;
