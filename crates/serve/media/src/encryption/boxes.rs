//! The boxes of common encryption (ISO/IEC 23001-7, clauses 7 and 8; ISO/IEC 14496-12, 8.7.8, 8.7.9 and 8.12):
//! protected sample entries, and the auxiliary information of samples. It must not know how that was found.

use super::cipher::PATTERN;
use super::error::{EncryptionError, UnitError};
use super::protection::{Announcement, Scheme};
use super::subsample::Subsample;
use crate::bmff::{BmffError, BoxWriter, Boxes};
use crate::index::TrackKind;

/// Bytes of an initialization vector of `cenc`.
pub(super) const IV_BYTES: usize = 8;
/// Of an entry of a sample's auxiliary information.
const SUBSAMPLE_BYTES: usize = 6;
/// Samples say the subsamples that they are made of (`senc`).
const HAS_SUBSAMPLES: u32 = 2;
/// Subsamples that there is room for where room is kept, for each sample: pictures of eight slices
/// or tiles, and some that are not shown beside them.
const ROOM_SUBSAMPLES: u64 = 12;
/// Bytes of `saiz`, `saio` and `senc` without their data per sample.
const BARE_BYTES: u64 = (12 + 1 + 4) + (12 + 4 + 4) + (12 + 4);
/// Of the header of a box.
const FREE_BYTES: u64 = 8;

/// Bytes that are enough for the auxiliary information of so many samples with subsamples, and for a box that fills
/// what is left; known before the samples are.
pub(super) fn room_bytes(samples: u64, has_vectors: bool) -> u64 {
    let iv = if has_vectors { IV_BYTES as u64 } else { 0 };
    let each = 1 + iv + 2 + SUBSAMPLE_BYTES as u64 * ROOM_SUBSAMPLES;
    BARE_BYTES + samples * each + FREE_BYTES
}

/// Bytes of the encryption data of `samples` samples without subsamples, each with its initialization vector.
pub(super) fn whole_samples_bytes(samples: u64) -> u64 {
    BARE_BYTES + samples * IV_BYTES as u64
}

/// The sample entry, which is the whole box, as that of protected samples.
pub(super) fn protected_entry(
    entry: &[u8],
    kind: TrackKind,
    announcement: &Announcement,
) -> Result<Vec<u8>, EncryptionError> {
    let entry = Boxes::new(entry, 0)
        .next()
        .ok_or(BmffError::Remainder { at: 0, left: 0 })??;
    let protected = match kind {
        TrackKind::Video => b"encv",
        TrackKind::Audio => b"enca",
    };
    let mut writer = BoxWriter::new();
    writer.nest(protected, |entry_box| {
        entry_box.bytes(entry.content);
        entry_box.nest(b"sinf", |sinf| {
            sinf.nest(b"frma", |frma| frma.bytes(&entry.kind.0));
            sinf.nest_full(b"schm", 0, 0, |schm| {
                schm.bytes(announcement.scheme.name().as_bytes());
                schm.u32(0x0001_0000);
            });
            sinf.nest(b"schi", |schi| write_defaults(schi, kind, announcement));
        });
    });
    Ok(writer.into_bytes())
}

/// `tenc` (8.2).
fn write_defaults(schi: &mut BoxWriter, kind: TrackKind, announcement: &Announcement) {
    let is_constant = announcement.scheme == Scheme::Cbcs;
    schi.nest_full(b"tenc", is_constant.into(), 0, |tenc| {
        let (encrypted, left_clear) = match (is_constant, kind) {
            (true, TrackKind::Video) => PATTERN,
            _ => (0, 0),
        };
        tenc.u8(0);
        tenc.u8(encrypted << 4 | left_clear);
        // Protected.
        tenc.u8(1);
        tenc.u8(if is_constant { 0 } else { IV_BYTES as u8 });
        tenc.bytes(&announcement.key_id.0);
        if is_constant {
            tenc.u8(16);
            tenc.bytes(&announcement.iv);
        }
    });
}

/// What players need to know of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SampleInformation {
    /// None if it is constant.
    pub iv: Option<[u8; IV_BYTES]>,
    /// None if the sample is protected as a whole.
    pub subsamples: Option<Vec<Subsample>>,
}

impl SampleInformation {
    /// Bytes that it takes; fails if they are more than a byte can count.
    pub(super) fn length(&self) -> Result<u8, UnitError> {
        let iv = self.iv.map_or(0, |iv| iv.len());
        let Some(subsamples) = &self.subsamples else {
            return Ok(iv as u8);
        };
        let length = iv + 2 + SUBSAMPLE_BYTES * subsamples.len();
        u8::try_from(length).map_err(|_| UnitError::TooManySubsamples {
            count: subsamples.len(),
            most: (usize::from(u8::MAX) - iv - 2) / SUBSAMPLE_BYTES,
        })
    }

    fn write(&self, senc: &mut BoxWriter) {
        if let Some(iv) = &self.iv {
            senc.bytes(iv);
        }
        if let Some(subsamples) = &self.subsamples {
            senc.u16(u16::try_from(subsamples.len()).unwrap_or(u16::MAX));
            for subsample in subsamples {
                senc.u16(subsample.clear);
                senc.u32(subsample.protected);
            }
        }
    }
}

/// The auxiliary information of a fragment's samples, of which there is at least one: all with subsamples, or none.
#[derive(Clone, Debug)]
pub(crate) struct Auxiliary {
    samples: Vec<SampleInformation>,
    lengths: Vec<u8>,
    /// Bytes of the box that fills the room which is kept for it, with its header; 0 if none is.
    filling: u64,
}

impl Auxiliary {
    /// Of these samples, in decoding order; `lengths` are theirs.
    pub(super) fn new(samples: Vec<SampleInformation>, lengths: Vec<u8>) -> Self {
        Auxiliary {
            samples,
            lengths,
            filling: 0,
        }
    }

    /// The same, but as long as [`room_bytes`] says, whatever it tells. Nothing if that is too short for it.
    pub(super) fn filling_room(self, has_vectors: bool) -> Option<Self> {
        let room = room_bytes(self.samples.len() as u64, has_vectors);
        let filling = room.checked_sub(self.length())?;
        (filling >= FREE_BYTES).then_some(Auxiliary { filling, ..self })
    }

    /// Bytes that it takes.
    fn length(&self) -> u64 {
        let table = if self.common_length().is_some() {
            0
        } else {
            self.lengths.len()
        };
        let all: u64 = self.lengths.iter().map(|length| u64::from(*length)).sum();
        BARE_BYTES + table as u64 + all
    }

    /// Bytes of encryption data per sample, if all samples have the same length.
    fn common_length(&self) -> Option<u8> {
        let first = self.lengths.first().copied().unwrap_or(0);
        self.lengths
            .iter()
            .all(|length| *length == first)
            .then_some(first)
    }

    /// Of samples that are protected as wholes, with these initialization vectors.
    pub(super) fn of_whole_samples(vectors: &[[u8; IV_BYTES]]) -> Self {
        let samples = vectors.iter().map(|iv| SampleInformation {
            iv: Some(*iv),
            subsamples: None,
        });
        Auxiliary {
            samples: samples.collect(),
            lengths: vec![IV_BYTES as u8; vectors.len()],
            filling: 0,
        }
    }

    /// Writes `saiz`, `saio` and `senc`, and what fills the room that is kept for them. `moof_at` is where the fragment
    /// begins, from which the offset counts.
    pub(crate) fn write(&self, traf: &mut BoxWriter, moof_at: usize) {
        let count = u32::try_from(self.samples.len()).unwrap_or(u32::MAX);
        let common = self.common_length();
        traf.nest_full(b"saiz", 0, 0, |saiz| {
            saiz.u8(common.unwrap_or(0));
            saiz.u32(count);
            if common.is_none() {
                saiz.bytes(&self.lengths);
            }
        });
        let mut offset_at = 0;
        traf.nest_full(b"saio", 0, 0, |saio| {
            saio.u32(1);
            offset_at = saio.position();
            saio.u32(0);
        });
        let has_subsamples = self.samples.iter().any(|sample| sample.subsamples.is_some());
        let flags = if has_subsamples { HAS_SUBSAMPLES } else { 0 };
        let mut information_at = 0;
        traf.nest_full(b"senc", 0, flags, |senc| {
            senc.u32(count);
            information_at = senc.position();
            for sample in &self.samples {
                sample.write(senc);
            }
        });
        let offset = u32::try_from(information_at - moof_at).unwrap_or(u32::MAX);
        traf.put_u32(offset_at, offset);
        if self.filling > 0 {
            // A segment's header is made in memory, so it fits.
            traf.nest(b"free", |free| free.zeros((self.filling - FREE_BYTES) as usize));
        }
    }
}
