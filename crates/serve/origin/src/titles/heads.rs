//! What stands before the payload of media segments, and where the payload is: made of an index once, and kept as long as there
//! is room, since it takes longer to make than a small segment takes to send. It must not know who asks.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use weir_media::package::MediaSegment;

use crate::cache::MemoryCache;

/// A media segment without its payload.
#[derive(Debug)]
pub struct Head {
    /// `styp`, `moof` and the header of `mdat`.
    pub header: Bytes,
    /// Where in the media file the payload is, in this order.
    pub pieces: Vec<Range<u64>>,
}

impl From<MediaSegment> for Head {
    fn from(segment: MediaSegment) -> Self {
        Head {
            header: segment.header.into(),
            pieces: segment.pieces,
        }
    }
}

/// A segment: the version of its title, its track there, and when it begins.
pub type Place = (u64, (usize, usize), u64);

/// Heads of the segments of all titles.
#[derive(Debug)]
pub struct Heads(MemoryCache<Place, Arc<Head>>);

impl Heads {
    /// As many as fit in `memory` bytes.
    pub fn new(memory: u64) -> Self {
        Heads(MemoryCache::new(memory))
    }

    /// The head of the segment at that place, which `make` makes unless it is there.
    pub fn get<E>(
        &self,
        place: Place,
        make: impl FnOnce() -> Result<MediaSegment, E>,
    ) -> Result<Arc<Head>, E> {
        if let Some(head) = self.0.get(&place) {
            return Ok(head);
        }
        let head = Arc::new(Head::from(make()?));
        let bytes = head.header.len() + head.pieces.len() * size_of::<Range<u64>>() + size_of::<Head>();
        self.0.insert(place, head.clone(), bytes as u64);
        Ok(head)
    }
}
