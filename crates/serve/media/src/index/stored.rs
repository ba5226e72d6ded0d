//! An index as bytes, to be kept beside the media or in a cache. What is read may come from anybody: the checksum finds
//! damage, and every number is checked all the same.
//!
//! Bytes: `weirindx`, the version (32 bits), XXH3 of all that follows (64 bits), both with the lowest byte first; then
//! numbers as varints of seven bits a byte and texts as a length and UTF-8. What follows from the sample entry and the
//! samples is not stored but computed anew, so that it cannot contradict them.

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use super::columns::{read_varint, take, unzigzag, write_varint, zigzag};
use super::movie::is_language;
use super::protection::{ProtectionTable, SourceProtection, SourceScheme};
use super::samples::{MOST_TIME, SampleTable};
use super::track::{Display, FileIndex, PassedOver, TrackHead, TrackIndex, TrackKind};

/// The version that is written, and the only one that is read: an older index is built anew.
pub const INDEX_VERSION: u32 = 2;

const MAGIC: &[u8; 8] = b"weirindx";
/// Bytes of a block in the directory.
const BLOCK_BYTES: usize = 8 + 8 + 4;
const MOST_TRACKS: u64 = 1024;

/// Bytes that are no index, or not one for this program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoredIndexError {
    /// They begin otherwise.
    #[error("not a stored index")]
    NotAnIndex,
    /// Another version.
    #[error(
        "the stored index has version {found}, but this program reads version {INDEX_VERSION}; rebuild it"
    )]
    Version {
        /// What it says.
        found: u32,
    },
    /// Not what was written.
    #[error("the stored index is damaged: checksum mismatch")]
    Checksum,
    /// It contradicts itself.
    #[error("the stored index is damaged: {what}")]
    Broken {
        /// What is wrong.
        what: String,
    },
}

fn broken(what: impl Into<String>) -> StoredIndexError {
    StoredIndexError::Broken { what: what.into() }
}

impl FileIndex {
    /// The index as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = Vec::new();
        write_varint(self.file_length, &mut body);
        body.push(u8::from(self.media.is_some()));
        write_text(self.media.as_deref().unwrap_or_default().as_bytes(), &mut body);
        write_varint(self.tracks.len() as u64, &mut body);
        for track in &self.tracks {
            write_track(track, &mut body);
        }
        write_varint(self.passed_over.len() as u64, &mut body);
        for track in &self.passed_over {
            write_varint(track.track_id.into(), &mut body);
            write_text(track.why.as_bytes(), &mut body);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(INDEX_VERSION.to_le_bytes());
        bytes.extend(xxh3_64(&body).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// Reads what [`FileIndex::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// Bytes of something else, of another version, damaged, or made to look like an index.
    pub fn from_bytes(bytes: &[u8]) -> Result<FileIndex, StoredIndexError> {
        let (magic, rest) = bytes.split_first_chunk().ok_or(StoredIndexError::NotAnIndex)?;
        if magic != MAGIC {
            return Err(StoredIndexError::NotAnIndex);
        }
        let cut_off = || broken("it is truncated");
        let (version, rest) = rest.split_first_chunk().ok_or_else(cut_off)?;
        let found = u32::from_le_bytes(*version);
        if found != INDEX_VERSION {
            return Err(StoredIndexError::Version { found });
        }
        let (checksum, body) = rest.split_first_chunk().ok_or_else(cut_off)?;
        if u64::from_le_bytes(*checksum) != xxh3_64(body) {
            return Err(StoredIndexError::Checksum);
        }
        read_body(body)
    }
}

fn read_body(mut body: &[u8]) -> Result<FileIndex, StoredIndexError> {
    let body = &mut body;
    let file_length = number(body)?;
    let is_elsewhere = byte(body)? != 0;
    let location = text(body)?;
    let media = is_elsewhere.then_some(location);
    let end = if media.is_some() { MOST_TIME } else { file_length };
    let count = number(body)?;
    if count > MOST_TRACKS {
        return Err(broken("it has too many tracks"));
    }
    let mut tracks = Vec::new();
    for _ in 0..count {
        tracks.push(read_track(body, end)?);
    }
    let count = number(body)?;
    if count > MOST_TRACKS {
        return Err(broken("it has too many tracks"));
    }
    let mut passed_over = Vec::new();
    for _ in 0..count {
        let track_id = small(body)?;
        let why = text(body)?;
        passed_over.push(PassedOver { track_id, why });
    }
    if !body.is_empty() {
        return Err(broken("it has trailing bytes"));
    }
    Ok(FileIndex {
        file_length,
        media,
        tracks,
        passed_over,
    })
}

fn write_text(text: &[u8], into: &mut Vec<u8>) {
    write_varint(text.len() as u64, into);
    into.extend_from_slice(text);
}

fn write_track(track: &TrackIndex, into: &mut Vec<u8>) {
    let head = track.head();
    write_varint(head.track_id.into(), into);
    into.push(match head.kind {
        TrackKind::Video => 0,
        TrackKind::Audio => 1,
    });
    write_varint(head.timescale.into(), into);
    write_text(head.language.as_bytes(), into);
    write_varint(zigzag(head.presentation_shift), into);
    into.extend_from_slice(&head.display.matrix);
    write_varint(head.display.width.into(), into);
    write_varint(head.display.height.into(), into);
    write_text(&head.sample_entry, into);
    write_varint(track.samples().len().into(), into);
    let (directory, columns) = track.samples().parts();
    for (decode_time, position, start) in directory {
        into.extend(decode_time.to_le_bytes());
        into.extend(position.to_le_bytes());
        into.extend(start.to_le_bytes());
    }
    write_text(columns, into);
    write_protection(track.protection(), into);
}

fn write_protection(protection: Option<&ProtectionTable>, into: &mut Vec<u8>) {
    let Some(table) = protection else {
        into.push(0);
        return;
    };
    let source = table.source();
    into.push(match source.scheme {
        SourceScheme::Cenc => 1,
        SourceScheme::Cbcs => 2,
    });
    into.extend(source.key_id);
    into.extend([source.pattern.0, source.pattern.1, source.iv_bytes]);
    into.extend(source.constant_iv);
    let (lengths, bytes) = table.parts();
    for length in lengths {
        write_varint(length.into(), into);
    }
    write_text(bytes, into);
}

fn read_protection(body: &mut &[u8], samples: u32) -> Result<Option<ProtectionTable>, StoredIndexError> {
    let scheme = match byte(body)? {
        0 => return Ok(None),
        1 => SourceScheme::Cenc,
        2 => SourceScheme::Cbcs,
        _ => return Err(broken("the encryption of a track is unknown")),
    };
    let mut source = SourceProtection {
        scheme,
        key_id: [0; 16],
        pattern: (0, 0),
        iv_bytes: 0,
        constant_iv: [0; 16],
    };
    source.key_id.copy_from_slice(bytes(body, 16)?);
    source.pattern = (byte(body)? & 0xf, byte(body)? & 0xf);
    source.iv_bytes = byte(body)?;
    source.constant_iv.copy_from_slice(bytes(body, 16)?);
    let mut lengths = Vec::new();
    for _ in 0..samples {
        lengths.push(small(body)?);
    }
    let data = counted(body)?.to_vec();
    let table = ProtectionTable::from_parts(source, lengths.into_iter(), data);
    let table = table.filter(|_| matches!(source.iv_bytes, 0 | 8 | 16));
    table
        .map(Some)
        .ok_or_else(|| broken("the encryption data of a track does not add up"))
}

fn read_track(body: &mut &[u8], end: u64) -> Result<TrackIndex, StoredIndexError> {
    let track_id = small(body)?;
    let kind = match byte(body)? {
        0 => TrackKind::Video,
        1 => TrackKind::Audio,
        _ => return Err(broken("a track is neither video nor audio")),
    };
    let timescale = small(body)?;
    let language = text(body)?;
    if !is_language(&language) {
        return Err(broken("the language of a track is invalid"));
    }
    let presentation_shift = unzigzag(number(body)?);
    if presentation_shift.unsigned_abs() >= 2 * MOST_TIME {
        return Err(broken("the edit of a track is too large"));
    }
    let mut matrix = [0; 36];
    matrix.copy_from_slice(bytes(body, 36)?);
    let display = Display {
        matrix,
        width: small(body)?,
        height: small(body)?,
    };
    let head = TrackHead {
        track_id,
        kind,
        timescale,
        language,
        presentation_shift,
        display,
        sample_entry: counted(body)?.to_vec(),
    };
    let samples = read_samples(body, end)?;
    let protection = read_protection(body, samples.len())?;
    TrackIndex::new(head, samples, protection).map_err(|error| broken(error.to_string()))
}

fn read_samples(body: &mut &[u8], end: u64) -> Result<SampleTable, StoredIndexError> {
    let count = small(body)?;
    let blocks = SampleTable::blocks_of(count);
    let directory: Vec<(u64, u64, u32)> = bytes(body, blocks.saturating_mul(BLOCK_BYTES))?
        .chunks_exact(BLOCK_BYTES)
        .map(|block| {
            let part = |from: usize, length: usize| {
                let part = block.iter().skip(from).take(length).rev();
                part.fold(0_u64, |value, byte| value << 8 | u64::from(*byte))
            };
            (part(0, 8), part(8, 8), part(16, 4) as u32)
        })
        .collect();
    let columns = counted(body)?;
    SampleTable::from_parts(count, &directory, columns, end)
        .ok_or_else(|| broken("a block of samples cannot be read"))
}

fn byte(body: &mut &[u8]) -> Result<u8, StoredIndexError> {
    Ok(bytes(body, 1)?.first().copied().unwrap_or(0))
}

fn bytes<'b>(body: &mut &'b [u8], count: usize) -> Result<&'b [u8], StoredIndexError> {
    take(body, count).ok_or_else(|| broken("it is truncated"))
}

fn number(body: &mut &[u8]) -> Result<u64, StoredIndexError> {
    read_varint(body).ok_or_else(|| broken("a number is truncated or too long"))
}

fn small(body: &mut &[u8]) -> Result<u32, StoredIndexError> {
    u32::try_from(number(body)?).map_err(|_| broken("a number is too large"))
}

fn counted<'b>(body: &mut &'b [u8]) -> Result<&'b [u8], StoredIndexError> {
    let length = number(body)?;
    bytes(body, usize::try_from(length).unwrap_or(usize::MAX))
}

fn text(body: &mut &[u8]) -> Result<String, StoredIndexError> {
    let text = str::from_utf8(counted(body)?).map_err(|_| broken("a text is not UTF-8"))?;
    if text.contains(char::is_control) {
        return Err(broken("a text has control characters"));
    }
    Ok(text.to_owned())
}
