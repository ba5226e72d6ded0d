//! Quantization, segments and filters in the frame headers of AV1 (5.9.12 to 5.9.20): passed over, but for what later
//! fields depend on, which is whether the frame is coded without loss. It must not know of other frames but their
//! segments.

use super::kind::FrameKind;
use crate::encryption::av1::bits::ObuBits;
use crate::encryption::av1::sequence::{Colour, Sequence};
use crate::encryption::error::UnitError;

/// Segments of a frame.
const SEGMENTS: usize = 8;
/// Of each feature of a segment, the bits of its value, and whether a sign comes before them.
const FEATURES: [(u32, bool); 8] = [
    (8, true),
    (6, true),
    (6, true),
    (6, true),
    (6, true),
    (3, false),
    (0, false),
    (0, false),
];

/// What each segment adds to the quantizer index (`SEG_LVL_ALT_Q`), if it adds anything.
pub(in crate::encryption::av1) type Segments = [Option<i32>; SEGMENTS];

/// `quantization_params`, as far as it matters.
pub(super) struct Quantization {
    base: u32,
    /// All differences from the base are 0.
    is_even: bool,
}

fn read_delta(bits: &mut ObuBits<'_>) -> Result<i32, UnitError> {
    if bits.flag()? { bits.su(7) } else { Ok(0) }
}

pub(super) fn read_quantization(bits: &mut ObuBits<'_>, colour: &Colour) -> Result<Quantization, UnitError> {
    let base = bits.bits(8)?;
    let mut is_even = read_delta(bits)? == 0;
    if !colour.monochrome {
        let differs = bits.flag_if(colour.separate_uv_delta_q)?;
        let planes = if differs { 2 } else { 1 };
        for _ in 0..2 * planes {
            is_even &= read_delta(bits)? == 0;
        }
    }
    if bits.flag()? {
        // qm_y and qm_u, and qm_v where present
        bits.skip(if colour.separate_uv_delta_q { 12 } else { 8 })?;
    }
    Ok(Quantization { base, is_even })
}

/// `segmentation_params`. `before` are the segments of the primary reference, if there is one.
pub(super) fn read_segments(
    bits: &mut ObuBits<'_>,
    before: Option<&Segments>,
) -> Result<Segments, UnitError> {
    if !bits.flag()? {
        return Ok(Segments::default());
    }
    if let Some(before) = before {
        // segmentation_temporal_update is present where the map is updated.
        let updates_map = bits.flag()?;
        bits.flag_if(updates_map)?;
        if !bits.flag()? {
            return Ok(*before);
        }
    }
    let mut segments = Segments::default();
    for segment in &mut segments {
        for (place, (width, is_signed)) in FEATURES.into_iter().enumerate() {
            if !bits.flag()? {
                continue;
            }
            let value = if is_signed {
                bits.su(width + 1)?
            } else {
                bits.bits(width)? as i32
            };
            if place == 0 {
                *segment = Some(value);
            }
        }
    }
    Ok(segments)
}

impl Quantization {
    /// `CodedLossless`.
    pub(super) fn is_lossless(&self, segments: &Segments) -> bool {
        let index = |added: &Option<i32>| (self.base as i32 + added.unwrap_or(0)).clamp(0, 255);
        self.is_even && segments.iter().all(|added| index(added) == 0)
    }

    /// `delta_q_params` and `delta_lf_params`.
    pub(super) fn skip_deltas(&self, bits: &mut ObuBits<'_>, block_copies: bool) -> Result<(), UnitError> {
        if !bits.flag_if(self.base > 0)? {
            return Ok(());
        }
        // delta_q_res
        bits.skip(2)?;
        if bits.flag_if(!block_copies)? {
            // delta_lf_res, delta_lf_multi
            bits.skip(3)?;
        }
        Ok(())
    }
}

/// What decides which filters a header speaks of.
pub(super) struct Filtered {
    pub is_lossless: bool,
    /// The frame is coded at its own width.
    pub is_full_width: bool,
    /// `allow_intrabc`
    pub block_copies: bool,
}

/// `loop_filter_params`, `cdef_params`, `lr_params` and `read_tx_mode`.
pub(super) fn skip_filters(
    bits: &mut ObuBits<'_>,
    sequence: &Sequence,
    filtered: &Filtered,
) -> Result<(), UnitError> {
    let monochrome = sequence.colour.monochrome;
    let is_bare = filtered.is_lossless || filtered.block_copies;
    if !is_bare {
        skip_loop_filter(bits, monochrome)?;
    }
    if !is_bare && sequence.cdef {
        // cdef_damping_minus_3
        bits.skip(2)?;
        let strengths = 1 << bits.bits(2)?;
        bits.skip(strengths * if monochrome { 6 } else { 12 })?;
    }
    let is_unchanged = filtered.is_lossless && filtered.is_full_width;
    if !is_unchanged && !filtered.block_copies && sequence.restoration {
        skip_restoration(bits, sequence)?;
    }
    // tx_mode_select
    bits.flag_if(!filtered.is_lossless)?;
    Ok(())
}

fn skip_loop_filter(bits: &mut ObuBits<'_>, monochrome: bool) -> Result<(), UnitError> {
    let is_on = bits.bits(12)? > 0;
    if is_on && !monochrome {
        bits.skip(12)?;
    }
    // loop_filter_sharpness
    bits.skip(3)?;
    if bits.flag()? && bits.flag()? {
        // Eight references and two modes.
        for _ in 0..10 {
            read_delta(bits)?;
        }
    }
    Ok(())
}

fn skip_restoration(bits: &mut ObuBits<'_>, sequence: &Sequence) -> Result<(), UnitError> {
    let luma = bits.bits(2)? > 0;
    let mut chroma = false;
    if !sequence.colour.monochrome {
        chroma = bits.bits(4)? > 0;
    }
    if !luma && !chroma {
        return Ok(());
    }
    // lr_unit_shift, and lr_unit_extra_shift with small superblocks
    if bits.flag()? && !sequence.large_superblocks {
        bits.skip(1)?;
    }
    bits.flag_if(chroma && sequence.colour.subsampling == (true, true))?;
    Ok(())
}

/// `frame_reference_mode` and `skip_mode_params`; `skips` says whether the references allow the latter.
pub(super) fn skip_reference_mode(
    bits: &mut ObuBits<'_>,
    kind: FrameKind,
    skips: bool,
) -> Result<(), UnitError> {
    let from_several = bits.flag_if(!kind.is_intra())?;
    // skip_mode_present
    bits.flag_if(from_several && skips)?;
    Ok(())
}
