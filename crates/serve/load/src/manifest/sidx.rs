//! The index of segments in a file: the `sidx` box (ISO/IEC 14496-12, 8.16.3), and the segments that it makes.

use std::sync::Arc;

use weir_media::bmff::Boxes;

use super::{ManifestError, Segment, Segments, UrlRange, to_ns};

/// The segments of the `sidx` box in `bytes`. `index` is the range of those bytes, `init` that of the initialization
/// segment. References to other indexes are not followed.
///
/// # Errors
/// When the box is missing or damaged, or points to other indexes.
pub fn subsegments(
    bytes: &[u8],
    index: &UrlRange,
    init: Option<&UrlRange>,
) -> Result<Segments, ManifestError> {
    let damaged = |error: &dyn std::fmt::Display| ManifestError::Index(super::shortened(&error.to_string()));
    let (first, _) = index.range.unwrap_or((0, u64::MAX));
    let found = Boxes::new(bytes, first)
        .find_kind(b"sidx")
        .map_err(|error| damaged(&error))?;
    let sidx = found.ok_or(ManifestError::Missing("segment index (sidx)"))?;
    let read = || {
        let mut fields = sidx.fields();
        let (version, _) = fields.version_and_flags()?;
        let _reference = fields.u32()?;
        let timescale = fields.u32()?;
        let earliest = fields.by_version(version)?;
        let offset = fields.by_version(version)?;
        let _reserved = fields.u16()?;
        let count = fields.u16()?;
        let table = fields.table(u32::from(count), 12)?;
        Ok::<_, weir_media::bmff::BmffError>((timescale, earliest, offset, table))
    };
    let (timescale, earliest, offset, table) = read().map_err(|error| damaged(&error))?;
    let mut at = (sidx.at + sidx.whole.len() as u64)
        .checked_add(offset)
        .ok_or_else(|| damaged(&"an offset beyond the maximum file size"))?;
    let mut time = earliest;
    let mut segments = Segments {
        inits: init.into_iter().cloned().collect(),
        ..Segments::default()
    };
    let init = init.map(|_| 0);
    for entry in table.chunks_exact(12) {
        let word = |at: usize| u32::from_be_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
        let (reference, ticks) = (word(0), u64::from(word(4)));
        let size = u64::from(reference & 0x7fff_ffff);
        if reference >> 31 == 1 {
            return Err(damaged(&"it references other indexes"));
        }
        if size == 0 {
            return Err(damaged(&"a segment without bytes"));
        }
        let next = at
            .checked_add(size)
            .ok_or_else(|| damaged(&"an offset beyond the maximum file size"))?;
        segments.list.push(Segment {
            place: UrlRange {
                host: Arc::clone(&index.host),
                target: Arc::clone(&index.target),
                range: Some((at, next - 1)),
            },
            start_ns: to_ns(time.saturating_sub(earliest), u64::from(timescale)),
            duration_ns: to_ns(ticks, u64::from(timescale)),
            init,
            key: None,
            starts_anew: false,
        });
        at = next;
        time = time.saturating_add(ticks);
    }
    if segments.list.is_empty() {
        return Err(ManifestError::Missing("segments in its segment index (sidx)"));
    }
    Ok(segments)
}
