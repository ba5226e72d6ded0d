//! Picture parameter sets of H.265 (7.3.2.3).

use super::super::bits::NalBits;
use super::super::error::UnitError;
use super::sequence::skip_scaling_lists;

/// What of a picture parameter set slice segment headers depend on.
#[derive(Clone, Debug)]
pub(in super::super) struct Picture {
    pub sequence: u32,
    pub dependent_slices: bool,
    pub output_flag: bool,
    pub extra_header_bits: u32,
    pub cabac_init: bool,
    pub references: [u32; 2],
    pub slice_chroma_offsets: bool,
    pub weighted: bool,
    pub weighted_bi: bool,
    /// Slices say where their tiles or rows begin.
    pub entry_points: bool,
    pub filter_across_slices: bool,
    pub deblocking_override: bool,
    pub deblocking_disabled: bool,
    pub lists_change: bool,
    pub header_extension: bool,
    pub chroma_offset_lists: bool,
}

/// The parameters and their identifier.
pub(super) fn read_picture(bits: &mut NalBits<'_>) -> Result<(u32, Picture), UnitError> {
    let id = bits.ue_up_to(63, "pps_pic_parameter_set_id")?;
    let sequence = bits.ue_up_to(15, "pps_seq_parameter_set_id")?;
    let dependent_slices = bits.flag()?;
    let output_flag = bits.flag()?;
    let extra_header_bits = bits.bits(3)?;
    bits.flag()?;
    let cabac_init = bits.flag()?;
    let references = [
        bits.ue_up_to(14, "num_ref_idx_l0_default_active_minus1")? + 1,
        bits.ue_up_to(14, "num_ref_idx_l1_default_active_minus1")? + 1,
    ];
    bits.se()?;
    bits.flag()?;
    let transform_skip = bits.flag()?;
    if bits.flag()? {
        bits.ue()?;
    }
    bits.se()?;
    bits.se()?;
    let slice_chroma_offsets = bits.flag()?;
    let weighted = bits.flag()?;
    let weighted_bi = bits.flag()?;
    bits.flag()?;
    let (tiles, rows) = (bits.flag()?, bits.flag()?);
    if tiles {
        skip_tiles(bits)?;
    }
    let filter_across_slices = bits.flag()?;
    let (deblocking_override, deblocking_disabled) = read_deblocking(bits)?;
    if bits.flag()? {
        skip_scaling_lists(bits)?;
    }
    let lists_change = bits.flag()?;
    bits.ue()?;
    let header_extension = bits.flag()?;
    let picture = Picture {
        sequence,
        dependent_slices,
        output_flag,
        extra_header_bits,
        cabac_init,
        references,
        slice_chroma_offsets,
        weighted,
        weighted_bi,
        entry_points: tiles || rows,
        filter_across_slices,
        deblocking_override,
        deblocking_disabled,
        lists_change,
        header_extension,
        chroma_offset_lists: read_extensions(bits, transform_skip)?,
    };
    Ok((id, picture))
}

fn skip_tiles(bits: &mut NalBits<'_>) -> Result<(), UnitError> {
    let columns = bits.ue_up_to(1 << 15, "num_tile_columns_minus1")?;
    let rows = bits.ue_up_to(1 << 15, "num_tile_rows_minus1")?;
    let is_uniform = bits.flag()?;
    if !is_uniform {
        for _ in 0..columns + rows {
            bits.ue()?;
        }
    }
    bits.flag()?;
    Ok(())
}

/// Whether slices may say otherwise, and whether the filter is off.
fn read_deblocking(bits: &mut NalBits<'_>) -> Result<(bool, bool), UnitError> {
    if !bits.flag()? {
        return Ok((false, false));
    }
    let (may_override, disabled) = (bits.flag()?, bits.flag()?);
    if !disabled {
        bits.se()?;
        bits.se()?;
    }
    Ok((may_override, disabled))
}

/// Whether slices have a flag of chroma offsets (`pps_range_extension`, 7.3.2.3.2).
fn read_extensions(bits: &mut NalBits<'_>, transform_skip: bool) -> Result<bool, UnitError> {
    if !bits.flag()? {
        return Ok(false);
    }
    let range = bits.flag()?;
    bits.skip(2)?;
    if bits.flag()? {
        return Err(UnitError::Unsupported {
            what: "screen content coding",
        });
    }
    bits.skip(4)?;
    if !range {
        return Ok(false);
    }
    if transform_skip {
        bits.ue()?;
    }
    bits.flag()?;
    bits.flag()
}
