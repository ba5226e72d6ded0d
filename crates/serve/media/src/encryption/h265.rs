//! Where the slice segment data of H.265 begins: parameter sets and slice segment headers, read as far as that takes
//! (ITU-T H.265, 7.3). It must not know how samples are encrypted.

mod pictures;
mod sequence;

use std::collections::BTreeMap;

use super::bits::NalBits;
use super::error::UnitError;

use pictures::{Picture, read_picture};
use sequence::{ReferenceSet, Sequence, bits_of, read_reference_set, read_sequence};

/// Types of NAL units (table 7-1).
const SEQUENCE_PARAMETERS: u32 = 33;
const PICTURE_PARAMETERS: u32 = 34;

/// The parameter sets that have been seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters {
    sequences: BTreeMap<u32, Sequence>,
    pictures: BTreeMap<u32, Picture>,
}

/// What the first fields of a slice segment's header tell.
#[derive(Clone, Copy)]
struct SliceHead<'p> {
    nal_type: u32,
    picture: &'p Picture,
    sequence: &'p Sequence,
}

/// Table 7-7.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SliceKind {
    B,
    P,
    I,
}

impl Parameters {
    /// Takes in a NAL unit. If it is a slice segment: how many of its bytes, its header included, stand before the
    /// data.
    pub(super) fn clear_bytes(&mut self, nal: &[u8]) -> Result<Option<usize>, UnitError> {
        let mut bits = NalBits::new(nal);
        bits.flag()?;
        let nal_type = bits.bits(6)?;
        let layer = bits.bits(6)?;
        bits.skip(3)?;
        match nal_type {
            // Parameter sets of other layers have the same identifiers and another syntax.
            SEQUENCE_PARAMETERS | PICTURE_PARAMETERS if layer > 0 => Ok(None),
            SEQUENCE_PARAMETERS => {
                let (id, sequence) = read_sequence(&mut bits)?;
                self.sequences.insert(id, sequence);
                Ok(None)
            }
            PICTURE_PARAMETERS => {
                let (id, picture) = read_picture(&mut bits)?;
                self.pictures.insert(id, picture);
                Ok(None)
            }
            0..=31 if layer > 0 => Err(UnitError::Unsupported { what: "layers" }),
            0..=9 | 16..=21 => {
                self.read_slice(&mut bits, nal_type)?;
                Ok(Some(bits.bytes_read()))
            }
            10..=15 | 22..=31 => Err(UnitError::Unsupported {
                what: "reserved types of slices",
            }),
            _ => Ok(None),
        }
    }

    /// `slice_segment_header` (7.3.6.1).
    fn read_slice(&self, bits: &mut NalBits<'_>, nal_type: u32) -> Result<(), UnitError> {
        let is_first = bits.flag()?;
        if (16..=23).contains(&nal_type) {
            bits.flag()?;
        }
        let picture = bits.ue()?;
        let picture = self.pictures.get(&picture).ok_or(UnitError::Missing {
            what: "picture parameter set",
        })?;
        let sequence = self.sequences.get(&picture.sequence).ok_or(UnitError::Missing {
            what: "sequence parameter set",
        })?;
        let mut dependent = false;
        if !is_first {
            dependent = picture.dependent_slices && bits.flag()?;
            bits.skip(sequence.address_bits)?;
        }
        if !dependent {
            let head = SliceHead {
                nal_type,
                picture,
                sequence,
            };
            head.skip_independent(bits)?;
        }
        if picture.entry_points {
            skip_entry_points(bits)?;
        }
        if picture.header_extension {
            let length = bits.ue_up_to(256, "slice_segment_header_extension_length")?;
            bits.skip(8 * length)?;
        }
        // byte_alignment(): a one, and zeros up to the end of the byte, which is counted whole.
        if !bits.flag()? {
            return Err(UnitError::Range {
                field: "alignment_bit_equal_to_one",
            });
        }
        Ok(())
    }
}

fn skip_entry_points(bits: &mut NalBits<'_>) -> Result<(), UnitError> {
    // 440 tiles of 135 rows each at level 6.2 (annex A).
    let count = bits.ue_up_to(440 * 135, "num_entry_point_offsets")?;
    if count > 0 {
        let length = bits.ue_up_to(31, "offset_len_minus1")? + 1;
        for _ in 0..count {
            bits.skip(length)?;
        }
    }
    Ok(())
}

impl SliceHead<'_> {
    /// The fields that a dependent slice segment takes from the one before it.
    fn skip_independent(self, bits: &mut NalBits<'_>) -> Result<(), UnitError> {
        let SliceHead {
            nal_type,
            picture,
            sequence,
        } = self;
        bits.skip(picture.extra_header_bits)?;
        let kind = match bits.ue_up_to(2, "slice_type")? {
            0 => SliceKind::B,
            1 => SliceKind::P,
            _ => SliceKind::I,
        };
        if picture.output_flag {
            bits.flag()?;
        }
        if sequence.separate_colour_planes {
            bits.skip(2)?;
        }
        let is_idr = matches!(nal_type, 19 | 20);
        let mut references = 0;
        let mut temporal_prediction = false;
        if !is_idr {
            references = self.read_references(bits)?;
            temporal_prediction = sequence.temporal_prediction && bits.flag()?;
        }
        let mut is_filtered = false;
        if sequence.adaptive_offset {
            is_filtered = bits.flag()?;
            if sequence.chroma_array_type != 0 {
                is_filtered |= bits.flag()?;
            }
        }
        if kind != SliceKind::I {
            self.skip_prediction(bits, kind, references, temporal_prediction)?;
        }
        bits.se()?;
        if picture.slice_chroma_offsets {
            bits.skip_codes(2)?;
        }
        if picture.chroma_offset_lists {
            bits.flag()?;
        }
        is_filtered |= !self.read_deblocking_disabled(bits)?;
        if picture.filter_across_slices && is_filtered {
            bits.flag()?;
        }
        Ok(())
    }

    /// The reference pictures; how many of them the current picture may use (`NumPicTotalCurr`).
    fn read_references(self, bits: &mut NalBits<'_>) -> Result<u32, UnitError> {
        let sequence = self.sequence;
        bits.skip(sequence.order_bits)?;
        let sets = sequence.reference_sets.as_slice();
        let count = u32::try_from(sets.len()).unwrap_or(u32::MAX);
        let own;
        let set: &ReferenceSet = if bits.flag()? {
            let place = bits.bits(bits_of(count))?;
            sets.get(place as usize).ok_or(UnitError::Range {
                field: "short_term_ref_pic_set_idx",
            })?
        } else {
            own = read_reference_set(bits, sets, true)?;
            &own
        };
        let mut used = set.used();
        if let Some(long_term) = &sequence.long_term {
            let stored = u32::try_from(long_term.len()).unwrap_or(u32::MAX);
            let from_sequence = if stored > 0 {
                bits.ue_up_to(32, "num_long_term_sps")?
            } else {
                0
            };
            let of_its_own = bits.ue_up_to(32, "num_long_term_pics")?;
            for number in 0..from_sequence + of_its_own {
                let is_used = if number < from_sequence {
                    let place = bits.bits(bits_of(stored))?;
                    *long_term
                        .get(place as usize)
                        .ok_or(UnitError::Range { field: "lt_idx_sps" })?
                } else {
                    bits.skip(sequence.order_bits)?;
                    bits.flag()?
                };
                used += u32::from(is_used);
                if bits.flag()? {
                    bits.ue()?;
                }
            }
        }
        Ok(used)
    }

    /// Skips the prediction fields of P and B slices.
    fn skip_prediction(
        self,
        bits: &mut NalBits<'_>,
        kind: SliceKind,
        references: u32,
        temporal_prediction: bool,
    ) -> Result<(), UnitError> {
        let picture = self.picture;
        let lists = if kind == SliceKind::B { 2 } else { 1 };
        let mut counts = picture.references;
        if bits.flag()? {
            for count in counts.iter_mut().take(lists) {
                *count = bits.ue_up_to(14, "num_ref_idx_active_minus1")? + 1;
            }
        }
        if picture.lists_change && references > 1 {
            for count in counts.iter().take(lists) {
                if bits.flag()? {
                    bits.skip(count * bits_of(references))?;
                }
            }
        }
        if kind == SliceKind::B {
            bits.flag()?;
        }
        if picture.cabac_init {
            bits.flag()?;
        }
        if temporal_prediction {
            let from_first = kind != SliceKind::B || bits.flag()?;
            let [first, second] = counts;
            if (if from_first { first } else { second }) > 1 {
                bits.ue_up_to(14, "collocated_ref_idx")?;
            }
        }
        let weighted = match kind {
            SliceKind::B => picture.weighted_bi,
            _ => picture.weighted,
        };
        if weighted {
            skip_weights(bits, &counts[..lists], self.sequence.chroma_array_type != 0)?;
        }
        bits.ue_up_to(4, "five_minus_max_num_merge_cand")?;
        Ok(())
    }

    fn read_deblocking_disabled(self, bits: &mut NalBits<'_>) -> Result<bool, UnitError> {
        let picture = self.picture;
        if !(picture.deblocking_override && bits.flag()?) {
            return Ok(picture.deblocking_disabled);
        }
        let disabled = bits.flag()?;
        if !disabled {
            bits.skip_codes(2)?;
        }
        Ok(disabled)
    }
}

/// `pred_weight_table` (7.3.6.3). All references are other pictures, so that each has its flags.
fn skip_weights(bits: &mut NalBits<'_>, counts: &[u32], chroma: bool) -> Result<(), UnitError> {
    bits.ue()?;
    if chroma {
        bits.se()?;
    }
    for count in counts {
        let luma = flags(bits, *count)?;
        let chroma = if chroma { flags(bits, *count)? } else { 0 };
        for place in 0..*count {
            bits.skip_codes(2 * (luma >> place & 1) + 4 * (chroma >> place & 1))?;
        }
    }
    Ok(())
}

/// So many flags, the first one in the lowest bit.
fn flags(bits: &mut NalBits<'_>, count: u32) -> Result<u32, UnitError> {
    let mut all = 0;
    for place in 0..count {
        all |= u32::from(bits.flag()?) << place;
    }
    Ok(all)
}
