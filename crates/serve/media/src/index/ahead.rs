//! Prefetch of fragments that a segment index (`sidx`, ISO/IEC 14496-12, 8.16.3) locates before the walk reaches them.
//! It saves time, not bytes: reads overlap. A wrong segment index costs useless reads only; the walk decides.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::bmff::{BmffError, Mp4Box};

/// Fragments that are remembered, at most.
const MOST_STARTS: usize = 1 << 17;
/// Bytes that are kept for the walk, at most.
const MOST_BYTES: usize = 16 << 20;

/// Where fragments begin, and what of them has come ahead.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    /// In ascending order.
    starts: Vec<u64>,
    /// Ranges that have been asked for, by their start.
    promised: BTreeMap<u64, u64>,
    pieces: BTreeMap<u64, Vec<u8>>,
    bytes: usize,
}

impl Ahead {
    /// Fragments begin at these places; those outside of the file or in front of others are passed over.
    pub(super) fn add(&mut self, starts: &[u64], file_length: u64) {
        for start in starts.iter().copied() {
            let is_next = self.starts.last().is_none_or(|last| *last < start);
            if is_next && start < file_length && self.starts.len() < MOST_STARTS {
                self.starts.push(start);
            }
        }
    }

    /// Up to `most` ranges of `length` bytes from the first fragment at or behind `from` on that has not been promised.
    pub(super) fn ranges(
        &mut self,
        most: usize,
        length: u64,
        from: u64,
        file_length: u64,
    ) -> Vec<Range<u64>> {
        let behind_promised = self.promised.last_key_value().map_or(0, |(_, end)| *end);
        let mut from = from.max(behind_promised);
        let mut ranges = Vec::new();
        let first = self.starts.partition_point(|start| *start < from);
        for start in self.starts.iter().skip(first).copied() {
            let promised: u64 = self.promised.iter().map(|(start, end)| end - start).sum();
            let room = (MOST_BYTES as u64).saturating_sub(promised);
            if ranges.len() >= most || length > room {
                break;
            }
            if start < from {
                continue;
            }
            let end = start.saturating_add(length).min(file_length);
            self.promised.insert(start, end);
            ranges.push(start..end);
            from = end;
        }
        ranges
    }

    /// Keeps bytes that have been promised; whether they have.
    pub(super) fn give(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let Some(end) = self.promised.get(&offset) else {
            return false;
        };
        let length = usize::try_from(end - offset).unwrap_or(usize::MAX);
        let kept = bytes.get(..length).unwrap_or(bytes);
        if self.pieces.contains_key(&offset) || self.bytes + kept.len() > MOST_BYTES {
            return true;
        }
        self.bytes += kept.len();
        self.pieces.insert(offset, kept.to_vec());
        true
    }

    /// Takes the piece that has the byte at this place, if there is one, and forgets those before it.
    pub(super) fn take(&mut self, at: u64) -> Option<(u64, Vec<u8>)> {
        let mut found = None;
        while let Some(entry) = self.pieces.first_entry().filter(|entry| *entry.key() <= at) {
            let (start, piece) = entry.remove_entry();
            self.bytes -= piece.len();
            found = Some((start, piece));
        }
        while self.promised.first_key_value().is_some_and(|(_, end)| *end <= at) {
            self.promised.pop_first();
        }
        found.filter(|(start, piece)| start + piece.len() as u64 > at)
    }
}

/// Where a segment index says that media begin. Its references to other indexes are left out: the walk meets those.
pub(super) fn fragment_starts(sidx: &Mp4Box<'_>) -> Result<Vec<u64>, BmffError> {
    let mut fields = sidx.fields();
    let (version, _) = fields.version_and_flags()?;
    fields.bytes(8)?;
    fields.by_version(version)?;
    let first_offset = fields.by_version(version)?;
    fields.u16()?;
    let count = fields.u16()?;
    // Offsets count from the end of the box.
    let mut start = (sidx.at + sidx.whole.len() as u64).saturating_add(first_offset);
    let mut starts = Vec::new();
    for _ in 0..count {
        let kind_and_size = fields.u32()?;
        fields.bytes(8)?;
        if kind_and_size >> 31 == 0 {
            starts.push(start);
        }
        start = start.saturating_add(u64::from(kind_and_size & 0x7fff_ffff));
    }
    Ok(starts)
}
