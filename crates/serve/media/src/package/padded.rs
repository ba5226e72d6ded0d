//! A movie of one H.264 track whose samples are longer than they were: each ends with filler data (Rec. ITU-T H.264, 7.3.2.7),
//! which decoders pass over. What stands before the media gets other sizes and places. It copies no media, and must not know
//! why samples have the lengths that they get.

use crate::bmff::{BmffError, Boxes, Mp4Box};
use crate::index::TrackIndex;

/// Bytes of the length of a NAL unit, of the header of an `mdat`, and of its type in that.
const NAL_LENGTH: usize = 4;
const MDAT_HEADER: usize = 8;
const MDAT: &[u8] = b"mdat";
/// A NAL unit of filler data: `nal_ref_idc` 0, `nal_unit_type` 12.
const FILLER: u8 = 0x0c;
/// A byte of filler, and the trailing bits behind the last.
const FF: u8 = 0xff;
const TRAILING: u8 = 0x80;

/// Filler data of fewer bytes than this does not exist: a length, a header and trailing bits.
pub const LEAST_FILLER: u32 = NAL_LENGTH as u32 + 2;

/// Why a movie cannot be written anew.
#[derive(Debug, thiserror::Error)]
pub enum PaddedError {
    /// Its boxes.
    #[error(transparent)]
    Boxes(#[from] BmffError),
    /// It has another form than `ftyp`, `moov` and `mdat` of one H.264 track, with a table of sizes and 32-bit offsets.
    #[error("it is no movie of one H.264 track with its index in front: {0}")]
    Form(&'static str),
    /// The media would be longer than 32 bits can say.
    #[error("it would be longer than 4 GiB")]
    TooLong,
}

/// Filler of this length in bytes, from [`LEAST_FILLER`] on; nothing for a shorter one.
#[must_use]
pub fn filler(length: u32) -> Vec<u8> {
    if length < LEAST_FILLER {
        return Vec::new();
    }
    let unit = length - NAL_LENGTH as u32;
    let mut bytes = unit.to_be_bytes().to_vec();
    bytes.push(FILLER);
    bytes.resize(length as usize - 1, FF);
    bytes.push(TRAILING);
    bytes
}

/// What stands before the media of a movie whose samples follow each other with these lengths in bytes. `head` is what stands
/// before the media now, and `track` its index.
///
/// # Errors
///
/// Another form of movie, and media of 4 GiB or more.
pub fn padded_head(head: &[u8], track: &TrackIndex, lengths: &[u32]) -> Result<Vec<u8>, PaddedError> {
    let samples: Vec<u64> = track.samples().iter().map(|sample| sample.position).collect();
    if samples.len() != lengths.len() || samples.first() != Some(&(head.len() as u64)) {
        return Err(PaddedError::Form("samples do not begin behind it"));
    }
    let mdat_at = head.len().saturating_sub(MDAT_HEADER);
    if head.get(mdat_at + NAL_LENGTH..) != Some(MDAT) {
        return Err(PaddedError::Form("mdat has another header"));
    }
    let mut positions = Vec::with_capacity(lengths.len());
    let mut end = head.len() as u64;
    for length in lengths {
        positions.push(u32::try_from(end).map_err(|_| PaddedError::TooLong)?);
        end += u64::from(*length);
    }
    let media = u32::try_from(end - mdat_at as u64).map_err(|_| PaddedError::TooLong)?;
    let tables = sample_tables(&head[..mdat_at])?;
    let mut written = head.to_vec();
    let mut put = |at: u64, value: u32| {
        // Places within the boxes that were just read.
        let at = at as usize;
        written[at..at + 4].copy_from_slice(&value.to_be_bytes());
    };
    put(mdat_at as u64, media);
    let sizes = one(&tables, b"stsz", "it has no table of sizes")?;
    let mut fields = sizes.fields();
    fields.version_and_flags()?;
    let (same, count) = (fields.u32()?, fields.u32()?);
    if same != 0 || count as usize != lengths.len() || fields.rest().len() < 4 * lengths.len() {
        return Err(PaddedError::Form("all samples are of one size"));
    }
    for (place, length) in (0..).zip(lengths) {
        put(sizes.content_at + 12 + 4 * place, *length);
    }
    let chunks = one(&tables, b"stco", "its offsets have 64 bits")?;
    for (place, chunk) in (0..).zip(chunks.entries(4)?.as_chunks::<4>().0) {
        let first = samples.binary_search(&u64::from(u32::from_be_bytes(*chunk)));
        let first = first.map_err(|_| PaddedError::Form("a chunk begins with no sample"))?;
        put(chunks.content_at + 8 + 4 * place, positions[first]);
    }
    Ok(written)
}

/// The tables of the one track.
fn sample_tables(movie: &[u8]) -> Result<Mp4Box<'_>, PaddedError> {
    let moov = Boxes::new(movie, 0).find_kind(b"moov")?;
    let moov = moov.ok_or(PaddedError::Form("moov is not in front"))?;
    let tracks: Vec<Mp4Box<'_>> = moov.children_of(b"trak").collect::<Result<_, _>>()?;
    let [track] = tracks[..] else {
        return Err(PaddedError::Form("it has several tracks"));
    };
    let mut inner = track;
    for kind in [b"mdia", b"minf", b"stbl"] {
        inner = one(&inner, kind, "a box of its track is missing")?;
    }
    let entries = one(&inner, b"stsd", "it has no sample entry")?;
    // A version and flags, and a number of entries.
    let is_h264 = entries.children_behind(8).next().transpose()?;
    match is_h264 {
        Some(entry) if entry.kind.0 == *b"avc1" => Ok(inner),
        _ => Err(PaddedError::Form("its samples are no H.264")),
    }
}

fn one<'m>(parent: &Mp4Box<'m>, kind: &[u8; 4], missing: &'static str) -> Result<Mp4Box<'m>, PaddedError> {
    parent.child(kind)?.ok_or(PaddedError::Form(missing))
}
