//! Reads a file's index in as few reads as it takes: says which bytes it wants next and is given them. It must not know
//! where they come from, and waits for nothing.
//!
//! It walks the boxes of the file's top level. The head of the file is read first; `mdat` is jumped over; `moov` is read at
//! once, wherever it is. Of a fragmented file every `moof` is read too, with the header behind it that says where the next
//! one is. How much is read ahead follows from how far apart the fragments lie. A `sidx` tells where they are, but not what
//! is in them: with one the walk needs no fewer reads, but they can be made side by side ([`IndexBuilder::read_ahead`]).

use std::ops::Range;

use crate::bmff::{BmffError, BoxHeader, Boxes, FourCc, Mp4Box};

use super::ahead::{Ahead, fragment_starts};
use super::error::IndexError;
use super::fragment::read_fragment;
use super::movie::{Movie, MovieLimits};
use super::track::FileIndex;

/// The first read: the head of a file, and all of its `moov` where that is small and in front.
const HEAD_BYTES: u64 = 64 << 10;
/// What is left behind an `mdat` is read at once up to this length: it is mostly a `moov`.
const TAIL_BYTES: u64 = 16 << 20;
/// The least that is read for a fragment.
const FRAGMENT_BYTES: u64 = 4 << 10;
/// Fragments that lie closer together than this are read several at a time, with their media.
const CLOSE_BYTES: u64 = 256 << 10;
/// So much at a time.
const AHEAD_BYTES: u64 = 1 << 20;
/// A longer `sidx` is passed over; it has at most 65,535 entries of 12 bytes.
const MOST_SIDX_BYTES: u64 = 1 << 20;

/// What is taken from a file at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a `moov`, all of which is in memory while it is read.
    pub movie_bytes: u64,
    /// Bytes of a `moof`.
    pub fragment_bytes: u64,
    /// Samples of a track.
    pub samples: u32,
    /// Tracks.
    pub tracks: usize,
    /// Boxes on the top level.
    pub boxes: u32,
}

impl Default for Limits {
    /// Enough for 19 hours of 60 frames a second.
    fn default() -> Self {
        Limits {
            movie_bytes: 64 << 20,
            fragment_bytes: 8 << 20,
            samples: 1 << 22,
            tracks: 64,
            boxes: 1 << 21,
        }
    }
}

/// What has to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read these bytes of the file and give them to [`IndexBuilder::give`].
    Read(Range<u64>),
    /// The index is complete.
    Done(FileIndex),
}

/// Builds the index of one file.
#[derive(Clone, Debug, Default)]
pub struct IndexBuilder {
    file_length: u64,
    limits: Limits,
    /// Bytes of the file from `window_start` on.
    window: Vec<u8>,
    window_start: u64,
    wanted: Range<u64>,
    /// Where the next box of the top level begins.
    at: u64,
    boxes: u32,
    movie: Option<Movie>,
    finished: bool,
    /// Where the last fragment began, and its length.
    last_fragment: Option<(u64, u64)>,
    /// From one fragment to the next.
    stride: Option<u64>,
    ahead: Ahead,
}

impl IndexBuilder {
    /// Of a file of this length, in bytes.
    pub fn new(file_length: u64) -> Self {
        Self::with_limits(file_length, Limits::default())
    }

    /// With limits of one's own.
    pub fn with_limits(file_length: u64, limits: Limits) -> Self {
        IndexBuilder {
            file_length,
            limits,
            ..IndexBuilder::default()
        }
    }

    /// Goes on as far as the bytes reach that were given. A range that is asked for is never empty and lies in the file.
    /// If fewer bytes of it are given, the rest is asked for again; a source that has no more bytes is for the caller to
    /// find out.
    ///
    /// # Errors
    ///
    /// Files that are no MP4, are cut off or damaged, hold more than the limits, or ask for what is not supported.
    pub fn step(&mut self) -> Result<Step, IndexError> {
        if self.finished {
            return Err(IndexError::Finished);
        }
        if self.file_length == 0 {
            return Err(IndexError::Empty);
        }
        loop {
            if self.is_complete() {
                self.finished = true;
                self.window = Vec::new();
                let movie = self.movie.take();
                let movie = movie.ok_or_else(|| IndexError::missing(b"moov", "the file"))?;
                return movie.finish(self.file_length).map(Step::Done);
            }
            if let Some(range) = self.walk()? {
                self.wanted = range.clone();
                return Ok(Step::Read(range));
            }
        }
    }

    /// Ranges that [`Self::step`] will ask for later, at most so many, none twice: a caller that can read several at once
    /// reads them beside the one that was asked for, and gives them in any order. Up to 16 MiB are kept. Empty where the
    /// file does not say where its fragments are. What is not given is asked for when its turn comes.
    pub fn read_ahead(&mut self, most: usize) -> Vec<Range<u64>> {
        if self.finished || self.movie.as_ref().is_none_or(|movie| !movie.fragmented) {
            return Vec::new();
        }
        let from = self.wanted.end.max(self.window_end()).max(self.at);
        let length = self.ahead_bytes();
        self.ahead.ranges(most, length, from, self.file_length)
    }

    /// Takes bytes of the file from `offset` on; what was not asked for is not kept.
    pub fn give(&mut self, offset: u64, bytes: &[u8]) {
        let end = self.window_end();
        if offset != end || !self.wanted.contains(&offset) {
            self.ahead.give(offset, bytes);
            return;
        }
        let room = usize::try_from(self.wanted.end - end).unwrap_or(usize::MAX);
        self.window.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn window_end(&self) -> u64 {
        self.window_start + self.window.len() as u64
    }

    fn is_complete(&self) -> bool {
        let whole = self.movie.as_ref().is_some_and(|movie| !movie.fragmented);
        whole || self.at >= self.file_length
    }

    /// Reads the next box of the top level; what has to be read before that is possible.
    fn walk(&mut self) -> Result<Option<Range<u64>>, IndexError> {
        let room = self.file_length - self.at;
        let header_end = self.at + BoxHeader::MOST_BYTES.min(room);
        let Some(bytes) = self.bytes(self.at..header_end) else {
            if self.use_ahead(self.at) {
                return Ok(None);
            }
            let ahead = self.ahead_bytes();
            return Ok(Some(self.request(self.at..header_end, ahead)));
        };
        let header = BoxHeader::parse(bytes, self.at)?.ok_or(BmffError::Remainder {
            at: self.at,
            left: room,
        })?;
        if self.at == 0 && !begins_a_file(header.kind) {
            return Err(IndexError::NotMp4 { found: header.kind });
        }
        let length = header.length_within(self.at, room)?;
        let end = self.at + length;
        let limit = match &header.kind.0 {
            b"moov" => self.limits.movie_bytes,
            b"moof" => self.limits.fragment_bytes,
            b"sidx" if length <= MOST_SIDX_BYTES => MOST_SIDX_BYTES,
            _ => u64::MAX,
        };
        if limit < u64::MAX {
            if length > limit {
                return Err(IndexError::TooLarge {
                    what: format!("bytes of the {} box at byte {}", header.kind, self.at),
                    value: length,
                    limit,
                });
            }
            // The header behind it comes along.
            let wanted_end = (end + BoxHeader::MOST_BYTES).min(self.file_length);
            if self.bytes(self.at..end).is_none() {
                if self.use_ahead(self.at) {
                    return Ok(None);
                }
                return Ok(Some(self.request(self.at..wanted_end, 0)));
            }
            self.read_box(end)?;
        }
        self.boxes += 1;
        if self.boxes > self.limits.boxes {
            return Err(IndexError::TooLarge {
                what: "boxes on the top level".to_owned(),
                value: u64::from(self.boxes),
                limit: u64::from(self.limits.boxes),
            });
        }
        self.at = end;
        Ok(None)
    }

    /// Goes on with bytes that have come ahead, if they have this one.
    fn use_ahead(&mut self, at: u64) -> bool {
        let Some((start, piece)) = self.ahead.take(at) else {
            return false;
        };
        self.window = piece;
        self.window_start = start;
        true
    }

    /// Reads the `moov`, `moof` or `sidx` box that ends at `end` and is in the window.
    fn read_box(&mut self, end: u64) -> Result<(), IndexError> {
        let limits = MovieLimits {
            tracks: self.limits.tracks,
            samples: self.limits.samples,
            file_length: self.file_length,
        };
        let movie = self.movie.take();
        let Some(bytes) = self.bytes(self.at..end) else {
            return Ok(());
        };
        let Some(found) = Boxes::new(bytes, self.at).next().transpose()? else {
            return Ok(());
        };
        if found.kind.0 == *b"sidx" {
            // It is only of use to read ahead, so a damaged one does no harm.
            let starts = fragment_starts(&found).unwrap_or_default();
            self.ahead.add(&starts, self.file_length);
            self.movie = movie;
            return Ok(());
        }
        let is_fragment = found.kind.0 == *b"moof";
        self.movie = Some(read_into(movie, &found, limits)?);
        if is_fragment {
            if let Some((start, _)) = self.last_fragment {
                self.stride = Some(self.at - start);
            }
            self.last_fragment = Some((self.at, end - self.at));
        }
        Ok(())
    }

    /// How much to read for the next header and what may follow it.
    fn ahead_bytes(&self) -> u64 {
        match (self.at, &self.movie, self.stride) {
            (0, _, _) => HEAD_BYTES,
            (at, None, _) if self.file_length - at <= TAIL_BYTES => TAIL_BYTES,
            (_, None, _) => HEAD_BYTES,
            (_, Some(_), Some(..CLOSE_BYTES)) => AHEAD_BYTES,
            (_, Some(_), _) => {
                let last = self
                    .last_fragment
                    .map_or(2 * FRAGMENT_BYTES, |(_, length)| length);
                // Fragments differ by some samples; a little more than the last one had saves a second read.
                (last + last / 2)
                    .next_multiple_of(FRAGMENT_BYTES)
                    .min(AHEAD_BYTES)
            }
        }
    }

    fn bytes(&self, range: Range<u64>) -> Option<&[u8]> {
        let start = usize::try_from(range.start.checked_sub(self.window_start)?).ok()?;
        let end = usize::try_from(range.end.checked_sub(self.window_start)?).ok()?;
        self.window.get(start..end)
    }

    /// What to read so that this range is in the window, and `ahead` bytes from its start. What is there already is kept.
    fn request(&mut self, range: Range<u64>, ahead: u64) -> Range<u64> {
        let end = range
            .end
            .max(range.start.saturating_add(ahead))
            .min(self.file_length);
        let kept = (self.window_start..=self.window_end()).contains(&range.start);
        if kept {
            let passed = (range.start - self.window_start) as usize;
            self.window.drain(..passed.min(self.window.len()));
        } else {
            self.window.clear();
        }
        self.window_start = range.start;
        self.window_end()..end
    }
}

fn read_into(movie: Option<Movie>, found: &Mp4Box<'_>, limits: MovieLimits) -> Result<Movie, IndexError> {
    match (movie, found.kind.0 == *b"moof") {
        (None, false) => Movie::read(found, limits),
        (Some(mut movie), true) => {
            read_fragment(found, &mut movie)?;
            Ok(movie)
        }
        (None, true) => {
            let what = format!("a fragment at byte {} comes before any 'moov'", found.at);
            Err(IndexError::broken("the file", what))
        }
        (Some(_), false) => {
            let what = format!("a second 'moov' begins at byte {}", found.at);
            Err(IndexError::broken("the file", what))
        }
    }
}

/// Whether a file may begin with this box: by the standard `ftyp`; QuickTime's older files have none.
fn begins_a_file(kind: FourCc) -> bool {
    matches!(
        &kind.0,
        b"ftyp"
            | b"styp"
            | b"moov"
            | b"moof"
            | b"mdat"
            | b"free"
            | b"skip"
            | b"wide"
            | b"uuid"
            | b"pdin"
            | b"sidx"
    )
}
