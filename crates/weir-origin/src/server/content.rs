//! What an answer is made of: bytes at hand, and ranges of stored objects that are sent as they arrive. It must not know
//! what they mean, nor who asked.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::app::App;
use crate::metrics::Kind;
use crate::path::ObjectPath;
use crate::storage::{Meta, Reading, StorageError};

/// A piece of an answer.
#[derive(Clone, Debug)]
pub enum Part {
    /// At hand.
    Bytes(Bytes),
    /// In storage.
    Stored(Stored),
}

/// Bytes of one version of an object: those in `keep`, which one read from the first to the last brings.
#[derive(Clone, Debug)]
pub struct Stored {
    pub path: ObjectPath,
    pub version: Meta,
    /// Ranges that are not empty, ascending, and do not overlap.
    pub keep: Vec<Range<u64>>,
}

/// An answer's body, whose length is known before it is read.
#[derive(Clone, Debug, Default)]
pub struct Content {
    parts: Vec<Part>,
}

impl Content {
    pub fn new(parts: Vec<Part>) -> Self {
        Content { parts }
    }

    /// Bytes in all.
    pub fn length(&self) -> u64 {
        self.parts.iter().map(Part::length).sum()
    }

    /// All of it, if nothing of it is in storage.
    pub fn at_hand(&self) -> Option<Bytes> {
        match self.parts.as_slice() {
            [] => Some(Bytes::new()),
            [Part::Bytes(bytes)] => Some(bytes.clone()),
            _ => None,
        }
    }

    /// Those bytes of it.
    pub fn slice(&self, wanted: &Range<u64>) -> Content {
        let mut from = 0;
        let mut parts = Vec::new();
        for part in &self.parts {
            let to = from + part.length();
            let within = wanted.start.clamp(from, to) - from..wanted.end.clamp(from, to) - from;
            if !within.is_empty() {
                parts.push(part.slice(&within));
            }
            from = to;
        }
        Content { parts }
    }
}

impl Part {
    fn length(&self) -> u64 {
        match self {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::Stored(stored) => stored.keep.iter().map(|range| range.end - range.start).sum(),
        }
    }

    fn slice(&self, wanted: &Range<u64>) -> Part {
        match self {
            // Lengths of bytes at hand fit.
            Part::Bytes(bytes) => Part::Bytes(bytes.slice(wanted.start as usize..wanted.end as usize)),
            Part::Stored(stored) => Part::Stored(Stored {
                keep: slice_ranges(&stored.keep, wanted),
                ..stored.clone()
            }),
        }
    }
}

/// The part of some ranges, put one after the other, that `wanted` counts.
fn slice_ranges(ranges: &[Range<u64>], wanted: &Range<u64>) -> Vec<Range<u64>> {
    let mut from = 0;
    let mut kept = Vec::new();
    for range in ranges {
        let to = from + (range.end - range.start);
        let (start, end) = (wanted.start.clamp(from, to), wanted.end.clamp(from, to));
        if start < end {
            kept.push(range.start + (start - from)..range.start + (end - from));
        }
        from = to;
    }
    kept
}

/// A content that is being read.
pub struct Flow {
    app: Arc<App>,
    kind: Kind,
    parts: VecDeque<Part>,
    ready: VecDeque<Bytes>,
    under_way: Option<Picking>,
}

impl Flow {
    /// Begins to read what is stored first, so that what is wrong with it is known before anything is answered.
    pub async fn begin(app: Arc<App>, kind: Kind, content: Content) -> Result<Self, StorageError> {
        let mut flow = Flow {
            app,
            kind,
            parts: content.parts.into(),
            ready: VecDeque::new(),
            under_way: None,
        };
        while flow.under_way.is_none() && flow.turn_to_next_part().await? {}
        Ok(flow)
    }

    /// The next bytes; nothing at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, StorageError>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(Ok(bytes));
            }
            match self.go_on().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.parts.clear();
                    self.under_way = None;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Takes more from what is read, or turns to the next part; says whether there was anything.
    async fn go_on(&mut self) -> Result<bool, StorageError> {
        let Some(picking) = self.under_way.as_mut() else {
            return self.turn_to_next_part().await;
        };
        if !picking.take(&mut self.ready).await? {
            self.under_way = None;
        }
        Ok(true)
    }

    async fn turn_to_next_part(&mut self) -> Result<bool, StorageError> {
        match self.parts.pop_front() {
            None => return Ok(false),
            Some(Part::Bytes(bytes)) => self.ready.push_back(bytes),
            Some(Part::Stored(stored)) => self.under_way = self.open(stored).await?,
        }
        Ok(true)
    }

    async fn open(&self, stored: Stored) -> Result<Option<Picking>, StorageError> {
        let Stored { path, version, keep } = stored;
        let (Some(first), Some(last)) = (keep.first(), keep.last()) else {
            return Ok(None);
        };
        let range = first.start..last.end;
        let position = range.start;
        let source = if self.app.caches(self.kind, range.end - range.start) {
            Source::Whole(Some(self.app.cached(self.kind, &path, &version, range).await?))
        } else {
            Source::Reading(self.app.storage.read(self.kind, &path, range, Some(&version)).await?)
        };
        Ok(Some(Picking {
            source,
            position,
            keep: keep.into(),
        }))
    }
}

enum Source {
    Reading(Reading),
    Whole(Option<Bytes>),
}

/// A read of which some ranges are kept.
struct Picking {
    source: Source,
    /// Of the next byte, in the object.
    position: u64,
    keep: VecDeque<Range<u64>>,
}

impl Picking {
    /// Takes the next bytes of the read and adds what is kept of them; says whether there were any.
    async fn take(&mut self, ready: &mut VecDeque<Bytes>) -> Result<bool, StorageError> {
        let piece = match &mut self.source {
            Source::Reading(reading) => reading.next().await.transpose()?,
            Source::Whole(bytes) => bytes.take(),
        };
        let Some(piece) = piece else { return Ok(false) };
        self.pick(&piece, ready);
        Ok(true)
    }

    fn pick(&mut self, piece: &Bytes, ready: &mut VecDeque<Bytes>) {
        let (from, to) = (self.position, self.position + piece.len() as u64);
        self.position = to;
        while let Some(range) = self.keep.front() {
            let (start, end) = (range.start.clamp(from, to), range.end.clamp(from, to));
            if start < end {
                ready.push_back(piece.slice((start - from) as usize..(end - from) as usize));
            }
            if range.end > to {
                return;
            }
            self.keep.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(keep: Vec<Range<u64>>) -> Part {
        Part::Stored(Stored {
            path: ObjectPath::new("a").expect("a path"),
            version: Meta {
                length: 1000,
                etag: None,
                modified: None,
            },
            keep,
        })
    }

    #[test]
    fn a_slice_goes_across_parts_and_ranges() {
        let content = Content::new(vec![
            Part::Bytes(Bytes::from_static(b"0123")),
            stored(vec![100..103, 110..112]),
            Part::Bytes(Bytes::from_static(b"9")),
        ]);
        assert_eq!(content.length(), 10);
        let told = |wanted: Range<u64>| {
            let sliced = content.slice(&wanted);
            assert_eq!(sliced.length(), wanted.end - wanted.start);
            sliced
                .parts
                .iter()
                .map(|part| match part {
                    Part::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    Part::Stored(stored) => format!("{:?}", stored.keep),
                })
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(told(0..10), "0123 [100..103, 110..112] 9");
        assert_eq!(told(3..8), "3 [100..103, 110..111]");
        assert_eq!(told(5..6), "[101..102]");
        assert_eq!(told(7..9), "[110..112]");
        assert_eq!(told(9..10), "9");
    }

    #[test]
    fn what_lies_between_the_kept_ranges_is_left_out() {
        let object: Vec<u8> = (0..100).collect();
        for piece_length in [1, 7, 30, 90] {
            let mut picking = Picking {
                source: Source::Whole(None),
                position: 10,
                keep: vec![10..20, 20..21, 40..45, 60..100].into(),
            };
            let mut ready = VecDeque::new();
            for piece in object[10..].chunks(piece_length) {
                picking.pick(&Bytes::copy_from_slice(piece), &mut ready);
            }
            let kept: Vec<u8> = ready.iter().flatten().copied().collect();
            let expected: Vec<u8> = (10..21).chain(40..45).chain(60..100).collect();
            assert_eq!(kept, expected, "pieces of {piece_length}");
            assert!(picking.keep.is_empty() && ready.iter().all(|bytes| !bytes.is_empty()));
        }
    }
}
