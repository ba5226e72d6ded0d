//! Sequence parameter sets of H.265 (7.3.2.2), and the sets of reference pictures in them (7.3.7).

use super::super::bits::NalBits;
use super::super::error::UnitError;

/// Profiles of screen content coding (annex A.3.7), whose slice headers have more fields.
const SCREEN_CONTENT: [u32; 2] = [9, 11];

/// What of a sequence parameter set slice segment headers depend on.
#[derive(Clone, Debug)]
pub(in super::super) struct Sequence {
    pub separate_colour_planes: bool,
    /// 0 if there is no chroma, or it is coded like luma.
    pub chroma_array_type: u32,
    /// Of the low part of the picture order count.
    pub order_bits: u32,
    /// Of the address of a slice segment.
    pub address_bits: u32,
    pub adaptive_offset: bool,
    pub reference_sets: Vec<ReferenceSet>,
    /// Whether the current picture uses each of the long-term pictures; none if there are no such pictures.
    pub long_term: Option<Vec<bool>>,
    pub temporal_prediction: bool,
}

/// A set of short-term reference pictures: distances to the current one, and whether it uses them.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct ReferenceSet {
    before: Vec<(i32, bool)>,
    after: Vec<(i32, bool)>,
}

impl ReferenceSet {
    /// How many pictures the current one uses.
    pub fn used(&self) -> u32 {
        let all = self.before.iter().chain(&self.after);
        u32::try_from(all.filter(|(_, used)| *used).count()).unwrap_or(u32::MAX)
    }

    fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

/// Pictures in a set, at most: `sps_max_dec_pic_buffering_minus1` is below 16.
const MOST_PICTURES: u32 = 16;

/// The parameters and their identifier.
pub(super) fn read_sequence(bits: &mut NalBits<'_>) -> Result<(u32, Sequence), UnitError> {
    bits.skip(4)?;
    let sub_layers = bits.bits(3)?;
    bits.flag()?;
    skip_profile(bits, sub_layers)?;
    let id = bits.ue_up_to(15, "sps_seq_parameter_set_id")?;
    let chroma_format = bits.ue_up_to(3, "chroma_format_idc")?;
    let separate_colour_planes = chroma_format == 3 && bits.flag()?;
    let (width, height) = (bits.ue()?, bits.ue()?);
    if bits.flag()? {
        bits.skip_codes(4)?;
    }
    // Bit depths.
    bits.skip_codes(2)?;
    let order_bits = bits.ue_up_to(12, "log2_max_pic_order_cnt_lsb_minus4")? + 4;
    let told = if bits.flag()? { sub_layers + 1 } else { 1 };
    bits.skip_codes(3 * told)?;
    let smallest = bits.ue_up_to(3, "log2_min_luma_coding_block_size_minus3")? + 3;
    let block = smallest + bits.ue_up_to(3, "log2_diff_max_min_luma_coding_block_size")?;
    bits.skip_codes(4)?;
    if bits.flag()? && bits.flag()? {
        skip_scaling_lists(bits)?;
    }
    bits.flag()?;
    let adaptive_offset = bits.flag()?;
    if bits.flag()? {
        bits.skip(8)?;
        bits.skip_codes(2)?;
        bits.flag()?;
    }
    let count = bits.ue_up_to(64, "num_short_term_ref_pic_sets")?;
    let mut reference_sets = Vec::new();
    for _ in 0..count {
        let set = read_reference_set(bits, &reference_sets, false)?;
        reference_sets.push(set);
    }
    let long_term = if bits.flag()? {
        Some(read_long_term(bits, order_bits)?)
    } else {
        None
    };
    let sequence = Sequence {
        separate_colour_planes,
        chroma_array_type: if separate_colour_planes { 0 } else { chroma_format },
        order_bits,
        address_bits: address_bits(width, height, block)?,
        adaptive_offset,
        reference_sets,
        long_term,
        temporal_prediction: bits.flag()?,
    };
    Ok((id, sequence))
}

/// Bits of the address of a coding tree block of that size (its binary logarithm).
fn address_bits(width: u32, height: u32, block: u32) -> Result<u32, UnitError> {
    let blocks = |length: u32| u64::from(length).div_ceil(1 << block);
    let all = blocks(width) * blocks(height);
    // Level 6.2 allows pictures of 2^27 samples at most, of blocks of 64 at least.
    let all = u32::try_from(all).ok().filter(|all| *all <= 1 << 27);
    all.map(bits_of).ok_or(UnitError::Range {
        field: "pic_width_in_luma_samples",
    })
}

/// `profile_tier_level` (7.3.3).
fn skip_profile(bits: &mut NalBits<'_>, sub_layers: u32) -> Result<(), UnitError> {
    bits.skip(3)?;
    if SCREEN_CONTENT.contains(&bits.bits(5)?) {
        return Err(UnitError::Unsupported {
            what: "screen content coding",
        });
    }
    bits.skip(80 + 8)?;
    let mut told = 0;
    for _ in 0..sub_layers {
        let (profile, level) = (bits.flag()?, bits.flag()?);
        told += 88 * u32::from(profile) + 8 * u32::from(level);
    }
    if sub_layers > 0 {
        bits.skip(2 * (8 - sub_layers))?;
    }
    bits.skip(told)
}

/// `scaling_list_data` (7.3.4).
pub(super) fn skip_scaling_lists(bits: &mut NalBits<'_>) -> Result<(), UnitError> {
    for size in 0..4_u32 {
        let lists = if size == 3 { 2 } else { 6 };
        for _ in 0..lists {
            if !bits.flag()? {
                bits.ue()?;
                continue;
            }
            if size > 1 {
                bits.se()?;
            }
            bits.skip_codes((1 << (4 + 2 * size)).min(64))?;
        }
    }
    Ok(())
}

fn read_long_term(bits: &mut NalBits<'_>, order_bits: u32) -> Result<Vec<bool>, UnitError> {
    let count = bits.ue_up_to(32, "num_long_term_ref_pics_sps")?;
    let mut all = Vec::new();
    for _ in 0..count {
        bits.skip(order_bits)?;
        all.push(bits.flag()?);
    }
    Ok(all)
}

/// `st_ref_pic_set` (7.3.7); `known` are those before it in the sequence parameter set, `in_slice` says that it stands
/// in a slice segment header.
pub(super) fn read_reference_set(
    bits: &mut NalBits<'_>,
    known: &[ReferenceSet],
    in_slice: bool,
) -> Result<ReferenceSet, UnitError> {
    if !known.is_empty() && bits.flag()? {
        return read_predicted_set(bits, known, in_slice);
    }
    let before = bits.ue_up_to(MOST_PICTURES, "num_negative_pics")?;
    let after = bits.ue_up_to(MOST_PICTURES, "num_positive_pics")?;
    Ok(ReferenceSet {
        before: read_distances(bits, before, -1)?,
        after: read_distances(bits, after, 1)?,
    })
}

fn read_distances(bits: &mut NalBits<'_>, count: u32, sign: i32) -> Result<Vec<(i32, bool)>, UnitError> {
    let mut distance = 0_i32;
    let mut all = Vec::new();
    for _ in 0..count {
        let step = bits.ue_up_to(0x7fff, "delta_poc_minus1")? + 1;
        distance += sign * step.cast_signed();
        all.push((distance, bits.flag()?));
    }
    Ok(all)
}

/// A set coded as the difference from another set (7-61, 7-62).
fn read_predicted_set(
    bits: &mut NalBits<'_>,
    known: &[ReferenceSet],
    in_slice: bool,
) -> Result<ReferenceSet, UnitError> {
    let back = if in_slice { bits.ue()? } else { 0 };
    let from = known.len().checked_sub(1 + back as usize);
    let from = from.and_then(|place| known.get(place)).ok_or(UnitError::Range {
        field: "delta_idx_minus1",
    })?;
    let is_negative = bits.flag()?;
    let size = (bits.ue_up_to(0x7fff, "abs_delta_rps_minus1")? + 1).cast_signed();
    let shift = if is_negative { -size } else { size };
    // Of each picture of the other set, and of the picture of that set itself: whether it is used, and whether it is
    // kept.
    let mut told = Vec::new();
    for _ in 0..=from.len() {
        let used = bits.flag()?;
        let kept = used || bits.flag()?;
        told.push((used, kept));
    }
    let all = from
        .before
        .iter()
        .chain(&from.after)
        .map(|(distance, _)| *distance);
    // Itself comes last in the list, at distance 0.
    let moved = all.chain([0]).zip(told);
    let mut set = ReferenceSet::default();
    for (distance, (used, kept)) in moved {
        let distance = distance + shift;
        match distance.signum() {
            -1 if kept => set.before.push((distance, used)),
            1 if kept => set.after.push((distance, used)),
            _ => {}
        }
    }
    set.before.sort_by_key(|(distance, _)| -distance);
    set.after.sort_by_key(|(distance, _)| *distance);
    if set.before.len().max(set.after.len()) > MOST_PICTURES as usize {
        return Err(UnitError::Range {
            field: "NumDeltaPocs",
        });
    }
    Ok(set)
}

/// Bits that `count` values take: `Ceil(Log2(count))`.
pub(super) fn bits_of(count: u32) -> u32 {
    count.max(1).next_power_of_two().trailing_zeros()
}
