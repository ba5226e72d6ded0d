//! Film grain of AV1 (5.9.30), which is passed over. It must not know of the rest of the header.

use crate::encryption::av1::bits::ObuBits;
use crate::encryption::av1::sequence::Colour;
use crate::encryption::error::UnitError;

/// Points of a scaling function; how many there are.
fn skip_points(bits: &mut ObuBits<'_>) -> Result<u32, UnitError> {
    let count = bits.bits(4)?;
    bits.skip(16 * count)?;
    Ok(count)
}

/// `film_grain_params` of a frame that is shown. `may_be_of_another` where it may be that of a reference.
pub(super) fn skip_film_grain(
    bits: &mut ObuBits<'_>,
    colour: &Colour,
    may_be_of_another: bool,
) -> Result<(), UnitError> {
    if !bits.flag()? {
        return Ok(());
    }
    // grain_seed
    bits.skip(16)?;
    if may_be_of_another && !bits.flag()? {
        return bits.skip(3);
    }
    let luma = skip_points(bits)?;
    let from_luma = bits.flag_if(!colour.monochrome)?;
    let has_none = colour.monochrome || from_luma || (colour.subsampling == (true, true) && luma == 0);
    let chroma = match has_none {
        true => [0, 0],
        false => [skip_points(bits)?, skip_points(bits)?],
    };
    // grain_scaling_minus_8
    bits.skip(2)?;
    let lag = bits.bits(2)?;
    let coefficients = 2 * lag * (lag + 1);
    let mut chroma_coefficients = coefficients;
    if luma > 0 {
        chroma_coefficients += 1;
        bits.skip(8 * coefficients)?;
    }
    for points in chroma {
        if from_luma || points > 0 {
            bits.skip(8 * chroma_coefficients)?;
        }
    }
    // ar_coeff_shift_minus_6, grain_scale_shift
    bits.skip(4)?;
    for points in chroma {
        if points > 0 {
            bits.skip(8 + 8 + 9)?;
        }
    }
    // overlap_flag, clip_to_restricted_range
    bits.skip(2)
}
