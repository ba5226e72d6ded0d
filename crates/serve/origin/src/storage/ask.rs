//! What one request to storage asks, and what it is answered.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;

use super::fault::Fault;
use super::meta::Meta;

/// Bytes of one answer as they arrive.
pub(super) type ByteStream = BoxStream<'static, Result<Bytes, Fault>>;

/// Objects of a folder that are looked at: more belong to no title.
pub(super) const MOST_LISTED: usize = 10_000;

/// What one request to storage asks.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    Head,
    Range(Range<u64>),
}

/// What it was answered.
pub(super) struct Answer {
    pub meta: Meta,
    pub range: Range<u64>,
    /// Nothing for [`Ask::Head`].
    pub stream: Option<ByteStream>,
    pub endpoint: Arc<str>,
}
