//! Samples of AV1 as runs of clear and of protected bytes, as the Alliance for Open Media has it ("AV1 Codec ISO Media File
//! Format Binding" 1.3, 4.1): tiles are protected, by `cbcs` from their first byte on, by `cenc` as whole blocks of AES up to
//! their last; all else stays clear. It must not know how the protected bytes are encrypted.

mod bits;
mod frame;
mod sequence;

use super::error::{EncryptionError, UnitError};
use super::protection::Scheme;
use super::subsample::{BLOCK, Subsample, push};
use crate::bmff::Mp4Box;

use bits::ObuBits;
use frame::{Frames, Header, Layers, Tiles};
use sequence::{Sequence, read_sequence};

/// Bytes of `av1C` in front of its OBUs.
const CONFIGURATION_FIELDS: usize = 4;
/// Bytes of an OBU's size, at most (4.10.5).
const MOST_SIZE_BYTES: usize = 8;

/// Types of OBUs (6.2.2).
const SEQUENCE_HEADER: u8 = 1;
const TEMPORAL_DELIMITER: u8 = 2;
const FRAME_HEADER: u8 = 3;
const TILE_GROUP: u8 = 4;
const FRAME: u8 = 6;
const REDUNDANT_FRAME_HEADER: u8 = 7;
const TILE_LIST: u8 = 8;

/// What has been seen of a stream of AV1.
#[derive(Clone, Debug, Default)]
pub(super) struct Obus {
    sequence: Option<Sequence>,
    frames: Frames,
    /// Of the frame whose tile groups come.
    tiles: Option<Tiles>,
}

/// An OBU of a sample.
struct Obu<'s> {
    kind: u8,
    layers: Layers,
    payload: &'s [u8],
    /// Bytes in front of the payload.
    header: usize,
}

impl Obus {
    /// As the configuration in a sample entry says (`av1C`).
    pub(super) fn of_configuration(configuration: &Mp4Box<'_>, codec: &str) -> Result<Self, EncryptionError> {
        let mut obus = Obus::default();
        let mut fields = configuration.fields();
        fields.bytes(CONFIGURATION_FIELDS)?;
        let read = obus.read_sample(fields.rest(), |_, _| {});
        read.map_err(|error| EncryptionError::Parameters {
            codec: codec.to_owned(),
            error,
        })?;
        Ok(obus)
    }

    /// What of a sample is protected by this scheme.
    pub(super) fn subsamples(&mut self, sample: &[u8], scheme: Scheme) -> Result<Vec<Subsample>, UnitError> {
        let mut subsamples = Vec::new();
        let mut behind = 0;
        self.read_sample(sample, |at, length| {
            let protected = match scheme {
                Scheme::Cenc => length / BLOCK * BLOCK,
                _ => length,
            };
            if protected > 0 {
                push(&mut subsamples, at + length - protected - behind, protected);
                behind = at + length;
            }
        })?;
        if behind < sample.len() {
            push(&mut subsamples, sample.len() - behind, 0);
        }
        Ok(subsamples)
    }

    /// Reads all OBUs; tells where each tile begins and how long it is.
    fn read_sample(&mut self, sample: &[u8], mut tile: impl FnMut(usize, usize)) -> Result<(), UnitError> {
        let mut at = 0;
        while let Some(rest) = sample.get(at..).filter(|rest| !rest.is_empty()) {
            let obu = read_obu(rest)?;
            let payload_at = at + obu.header;
            for (start, length) in self.take(&obu)? {
                tile(payload_at + start, length);
            }
            at = payload_at + obu.payload.len();
        }
        Ok(())
    }

    /// Takes in an OBU: where in its payload tiles lie.
    fn take(&mut self, obu: &Obu<'_>) -> Result<Vec<(usize, usize)>, UnitError> {
        let mut bits = ObuBits::new(obu.payload);
        match obu.kind {
            SEQUENCE_HEADER => self.sequence = Some(read_sequence(&mut bits)?),
            TEMPORAL_DELIMITER => self.tiles = None,
            // Between the tile groups of a frame it is a copy of what has been read.
            FRAME_HEADER | REDUNDANT_FRAME_HEADER if self.tiles.is_some() => {}
            FRAME_HEADER => self.read_header(&mut bits, obu.layers)?,
            FRAME => {
                self.read_header(&mut bits, obu.layers)?;
                return self.read_tiles(obu.payload, bits.bytes_read());
            }
            TILE_GROUP => return self.read_tiles(obu.payload, 0),
            TILE_LIST => {
                return Err(UnitError::Unsupported { what: "tile lists" });
            }
            _ => {}
        }
        Ok(Vec::new())
    }

    fn read_header(&mut self, bits: &mut ObuBits<'_>, layers: Layers) -> Result<(), UnitError> {
        let sequence = self.sequence.as_ref().ok_or(UnitError::Missing {
            what: "sequence header",
        })?;
        self.tiles = match self.frames.read_header(bits, sequence, layers)? {
            Header::Shown => None,
            Header::Tiles(tiles) => Some(tiles),
        };
        Ok(())
    }

    /// The tiles of the group that begins there in a payload.
    fn read_tiles(&mut self, payload: &[u8], group_at: usize) -> Result<Vec<(usize, usize)>, UnitError> {
        let tiles = self.tiles.ok_or(UnitError::Missing { what: "frame header" })?;
        let group = payload.get(group_at..).unwrap_or_default();
        let (ranges, is_last) = tiles.of_group(group)?;
        if is_last {
            self.tiles = None;
        }
        let ranges = ranges.into_iter();
        Ok(ranges.map(|tile| (group_at + tile.start, tile.len())).collect())
    }
}

/// The first OBU of these bytes, which are not empty. Without a size of its own it takes all of them.
fn read_obu(bytes: &[u8]) -> Result<Obu<'_>, UnitError> {
    let byte = |place: usize| bytes.get(place).copied().ok_or(UnitError::Truncated);
    let first = byte(0)?;
    let (has_extension, has_size) = (first & 4 != 0, first & 2 != 0);
    let mut layers = Layers::default();
    let mut header = 1;
    if has_extension {
        let extension = byte(1)?;
        layers = Layers {
            temporal: u32::from(extension >> 5),
            spatial: u32::from(extension >> 3 & 3),
        };
        header += 1;
    }
    let mut size = bytes.len().saturating_sub(header) as u64;
    if has_size {
        // leb128(): seven bits of each byte, the lowest first.
        size = 0;
        for place in 0..=MOST_SIZE_BYTES {
            if place == MOST_SIZE_BYTES {
                return Err(UnitError::Range { field: "obu_size" });
            }
            let next = byte(header)?;
            header += 1;
            size |= u64::from(next & 0x7f) << (7 * place);
            if next & 0x80 == 0 {
                break;
            }
        }
    }
    let room = bytes.len() - header;
    let length = usize::try_from(size).ok().filter(|size| *size <= room);
    let length = length.ok_or(UnitError::Length {
        length: size,
        room: room as u64,
    })?;
    Ok(Obu {
        kind: first >> 3 & 15,
        layers,
        payload: bytes.get(header..header + length).unwrap_or_default(),
        header,
    })
}
