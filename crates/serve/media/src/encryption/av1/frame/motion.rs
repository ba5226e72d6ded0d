//! Global motion of AV1 (5.9.24, 5.9.25, 7.20): how long it is depends on that of the frame that it refers to. It must not
//! know what it moves.

use crate::encryption::av1::bits::ObuBits;
use crate::encryption::error::UnitError;

/// References that a frame has.
pub(in crate::encryption::av1) const REFERENCES: usize = 7;
/// Fractional bits of a model's parameters.
const MODEL_BITS: u32 = 16;

/// The parameters of the motion against each reference.
pub(in crate::encryption::av1) type Motions = [[i32; 6]; REFERENCES];

/// No motion at all, which is what frames without a predecessor begin with.
pub(in crate::encryption::av1) const STILL: Motions =
    [[0, 0, 1 << MODEL_BITS, 0, 0, 1 << MODEL_BITS]; REFERENCES];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Model {
    Still,
    Translation,
    RotationAndZoom,
    Affine,
}

/// `global_motion_params` of a frame that is predicted from others. `before` are those of its primary reference.
pub(super) fn read_motions(
    bits: &mut ObuBits<'_>,
    before: &Motions,
    high_precision: bool,
) -> Result<Motions, UnitError> {
    let mut motions = STILL;
    for (motion, before) in motions.iter_mut().zip(before) {
        let model = read_model(bits)?;
        let mut read = |place: usize| read_parameter(bits, model, place, before[place], high_precision);
        if model >= Model::RotationAndZoom {
            motion[2] = read(2)?;
            motion[3] = read(3)?;
            if model == Model::Affine {
                motion[4] = read(4)?;
                motion[5] = read(5)?;
            } else {
                motion[4] = -motion[3];
                motion[5] = motion[2];
            }
        }
        if model >= Model::Translation {
            motion[0] = read(0)?;
            motion[1] = read(1)?;
        }
    }
    Ok(motions)
}

fn read_model(bits: &mut ObuBits<'_>) -> Result<Model, UnitError> {
    Ok(if !bits.flag()? {
        Model::Still
    } else if bits.flag()? {
        Model::RotationAndZoom
    } else if bits.flag()? {
        Model::Translation
    } else {
        Model::Affine
    })
}

/// `read_global_param`.
fn read_parameter(
    bits: &mut ObuBits<'_>,
    model: Model,
    place: usize,
    before: i32,
    high_precision: bool,
) -> Result<i32, UnitError> {
    let coarser = u32::from(!high_precision);
    let (magnitude_bits, precision) = match (place, model) {
        (0 | 1, Model::Translation) => (9 - coarser, 3 - coarser),
        (0 | 1, _) => (12, 6),
        _ => (12, 15),
    };
    let shift = MODEL_BITS - precision;
    let is_scale = place % 3 == 2;
    let one = if is_scale { 1 << precision } else { 0 };
    let most = 1 << magnitude_bits;
    let reference = (before >> shift) - one;
    let value = signed_with_reference(bits, -most, most + 1, reference)?;
    Ok((value << shift) + (one << shift))
}

/// `decode_signed_subexp_with_ref`: a number from `low` to below `high`, told by how far it is from another.
fn signed_with_reference(
    bits: &mut ObuBits<'_>,
    low: i32,
    high: i32,
    reference: i32,
) -> Result<i32, UnitError> {
    let (most, reference) = (high - low, (reference - low).clamp(0, high - low - 1));
    let value = read_subexponential(bits, most)?;
    let value = if reference << 1 <= most {
        recentred(reference, value)
    } else {
        most - 1 - recentred(most - 1 - reference, value)
    };
    Ok(value + low)
}

/// `decode_subexp`: a number below `most`.
fn read_subexponential(bits: &mut ObuBits<'_>, most: i32) -> Result<i32, UnitError> {
    let (mut steps, mut from) = (0, 0);
    loop {
        let width = if steps > 0 { 2 + steps } else { 3 };
        let room = 1 << width;
        if most <= from + 3 * room {
            return Ok(bits.ns((most - from).max(1).unsigned_abs())? as i32 + from);
        }
        if !bits.flag()? {
            return Ok(bits.bits(width)? as i32 + from);
        }
        steps += 1;
        from += room;
    }
}

/// `inverse_recenter`.
fn recentred(reference: i32, value: i32) -> i32 {
    if value > 2 * reference {
        value
    } else if value & 1 == 1 {
        reference - ((value + 1) >> 1)
    } else {
        reference + (value >> 1)
    }
}
