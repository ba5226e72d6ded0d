//! Where the slice data of H.264 begins: parameter sets and slice headers, read as far as that takes (ITU-T H.264,
//! 7.3). It must not know how samples are encrypted.

use std::collections::BTreeMap;

use super::bits::NalBits;
use super::error::UnitError;

/// Types of NAL units (table 7-1).
const SLICE: u8 = 1;
const IDR_SLICE: u8 = 5;
const SEQUENCE_PARAMETERS: u8 = 7;
const PICTURE_PARAMETERS: u8 = 8;

/// Profiles whose sequence parameter sets say the chroma format (7.3.2.1.1).
const HIGH_PROFILES: [u32; 13] = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135];

/// What of a sequence parameter set slice headers depend on.
#[derive(Clone, Debug)]
struct Sequence {
    separate_colour_planes: bool,
    /// 0 if there is no chroma, or it is coded like luma.
    chroma_array_type: u32,
    frame_num_bits: u32,
    order: OrderCount,
    frames_only: bool,
}

/// `pic_order_cnt_type` and its dependent fields.
#[derive(Clone, Copy, Debug)]
enum OrderCount {
    Lsb { bits: u32 },
    Deltas { always_zero: bool },
    None,
}

/// What of a picture parameter set they depend on.
#[derive(Clone, Debug)]
struct Picture {
    sequence: u32,
    cabac: bool,
    order_in_frame: bool,
    references: [u32; 2],
    weighted: bool,
    weighted_bi: u32,
    deblocking_control: bool,
    redundant_count: bool,
}

/// The parameter sets that have been seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters {
    sequences: BTreeMap<u32, Sequence>,
    pictures: BTreeMap<u32, Picture>,
}

impl Parameters {
    /// Takes in a NAL unit. If it is a slice: how many of its bytes, its header included, stand before the slice data.
    pub(super) fn clear_bytes(&mut self, nal: &[u8]) -> Result<Option<usize>, UnitError> {
        let mut bits = NalBits::new(nal);
        let header = bits.bits(8)?;
        match (header & 0x1f) as u8 {
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
            kind @ (SLICE | IDR_SLICE) => {
                let reference = header >> 5 & 3 != 0;
                self.read_slice(&mut bits, kind == IDR_SLICE, reference)?;
                Ok(Some(bits.bytes_read()))
            }
            2..=4 => Err(UnitError::Unsupported {
                what: "data partitions",
            }),
            19..=21 => Err(UnitError::Unsupported {
                what: "auxiliary or layered slices",
            }),
            _ => Ok(None),
        }
    }

    /// `slice_header` (7.3.3).
    fn read_slice(&self, bits: &mut NalBits<'_>, idr: bool, reference: bool) -> Result<(), UnitError> {
        bits.ue()?;
        let kind = SliceKind::of(bits.ue_up_to(9, "slice_type")?);
        let picture = bits.ue()?;
        let picture = self.pictures.get(&picture).ok_or(UnitError::Missing {
            what: "picture parameter set",
        })?;
        let sequence = self.sequences.get(&picture.sequence).ok_or(UnitError::Missing {
            what: "sequence parameter set",
        })?;
        if sequence.separate_colour_planes {
            bits.skip(2)?;
        }
        bits.skip(sequence.frame_num_bits)?;
        let field = !sequence.frames_only && bits.flag()?;
        if field {
            bits.flag()?;
        }
        if idr {
            bits.ue()?;
        }
        skip_order_count(bits, sequence, picture.order_in_frame && !field)?;
        if picture.redundant_count {
            bits.ue()?;
        }
        if kind == SliceKind::B {
            bits.flag()?;
        }
        let references = read_reference_counts(bits, kind, picture)?;
        skip_list_changes(bits, kind)?;
        let weighted = match kind {
            SliceKind::P | SliceKind::SwitchingP => picture.weighted,
            SliceKind::B => picture.weighted_bi == 1,
            SliceKind::I | SliceKind::SwitchingI => false,
        };
        if weighted {
            skip_weights(bits, kind, references, sequence.chroma_array_type != 0)?;
        }
        if reference {
            skip_marking(bits, idr)?;
        }
        if picture.cabac && !matches!(kind, SliceKind::I | SliceKind::SwitchingI) {
            bits.ue_up_to(2, "cabac_init_idc")?;
        }
        bits.se()?;
        if kind == SliceKind::SwitchingP {
            bits.flag()?;
        }
        if matches!(kind, SliceKind::SwitchingP | SliceKind::SwitchingI) {
            bits.se()?;
        }
        if picture.deblocking_control && bits.ue_up_to(2, "disable_deblocking_filter_idc")? != 1 {
            bits.skip_codes(2)?;
        }
        Ok(())
    }
}

/// Table 7-6.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SliceKind {
    P,
    B,
    I,
    SwitchingP,
    SwitchingI,
}

impl SliceKind {
    fn of(slice_type: u32) -> Self {
        match slice_type % 5 {
            0 => SliceKind::P,
            1 => SliceKind::B,
            2 => SliceKind::I,
            3 => SliceKind::SwitchingP,
            _ => SliceKind::SwitchingI,
        }
    }
}

/// `seq_parameter_set_data` (7.3.2.1.1), and its identifier.
fn read_sequence(bits: &mut NalBits<'_>) -> Result<(u32, Sequence), UnitError> {
    let profile = bits.bits(8)?;
    bits.skip(16)?;
    let id = bits.ue_up_to(31, "seq_parameter_set_id")?;
    let mut chroma_format = 1;
    let mut separate_colour_planes = false;
    if HIGH_PROFILES.contains(&profile) {
        chroma_format = bits.ue_up_to(3, "chroma_format_idc")?;
        if chroma_format == 3 {
            separate_colour_planes = bits.flag()?;
        }
        // Bit depths, and a flag of lossless coding.
        bits.skip_codes(2)?;
        bits.flag()?;
        if bits.flag()? {
            let lists = if chroma_format == 3 { 12 } else { 8 };
            for list in 0..lists {
                if bits.flag()? {
                    skip_scaling_list(bits, if list < 6 { 16 } else { 64 })?;
                }
            }
        }
    }
    let frame_num_bits = bits.ue_up_to(12, "log2_max_frame_num_minus4")? + 4;
    let order = match bits.ue_up_to(2, "pic_order_cnt_type")? {
        0 => OrderCount::Lsb {
            bits: bits.ue_up_to(12, "log2_max_pic_order_cnt_lsb_minus4")? + 4,
        },
        1 => {
            let always_zero = bits.flag()?;
            bits.skip_codes(2)?;
            let cycle = bits.ue_up_to(255, "num_ref_frames_in_pic_order_cnt_cycle")?;
            bits.skip_codes(cycle)?;
            OrderCount::Deltas { always_zero }
        }
        _ => OrderCount::None,
    };
    // Reference frames, gaps, width and height.
    bits.ue()?;
    bits.flag()?;
    bits.skip_codes(2)?;
    let sequence = Sequence {
        separate_colour_planes,
        chroma_array_type: if separate_colour_planes { 0 } else { chroma_format },
        frame_num_bits,
        order,
        frames_only: bits.flag()?,
    };
    Ok((id, sequence))
}

/// `scaling_list` (7.3.2.1.1.1).
fn skip_scaling_list(bits: &mut NalBits<'_>, size: u32) -> Result<(), UnitError> {
    let (mut last, mut next) = (8_i32, 8_i32);
    for _ in 0..size {
        if next != 0 {
            next = last.wrapping_add(bits.se()?).rem_euclid(256);
        }
        if next != 0 {
            last = next;
        }
    }
    Ok(())
}

/// `pic_parameter_set_rbsp` (7.3.2.2) as far as needed, and its identifier.
fn read_picture(bits: &mut NalBits<'_>) -> Result<(u32, Picture), UnitError> {
    let id = bits.ue_up_to(255, "pic_parameter_set_id")?;
    let sequence = bits.ue_up_to(31, "seq_parameter_set_id")?;
    let cabac = bits.flag()?;
    let order_in_frame = bits.flag()?;
    if bits.ue()? > 0 {
        return Err(UnitError::Unsupported { what: "slice groups" });
    }
    let references = [
        bits.ue_up_to(31, "num_ref_idx_l0_default_active_minus1")? + 1,
        bits.ue_up_to(31, "num_ref_idx_l1_default_active_minus1")? + 1,
    ];
    let weighted = bits.flag()?;
    let weighted_bi = bits.bits(2)?;
    // Quantisers.
    bits.skip_codes(3)?;
    let deblocking_control = bits.flag()?;
    bits.flag()?;
    let picture = Picture {
        sequence,
        cabac,
        order_in_frame,
        references,
        weighted,
        weighted_bi,
        deblocking_control,
        redundant_count: bits.flag()?,
    };
    Ok((id, picture))
}

fn skip_order_count(bits: &mut NalBits<'_>, sequence: &Sequence, with_bottom: bool) -> Result<(), UnitError> {
    let deltas = match sequence.order {
        OrderCount::Lsb { bits: count } => {
            bits.skip(count)?;
            u32::from(with_bottom)
        }
        OrderCount::Deltas { always_zero: false } => 1 + u32::from(with_bottom),
        OrderCount::Deltas { always_zero: true } | OrderCount::None => 0,
    };
    bits.skip_codes(deltas)
}

/// Entries of the two lists of references.
fn read_reference_counts(
    bits: &mut NalBits<'_>,
    kind: SliceKind,
    picture: &Picture,
) -> Result<[u32; 2], UnitError> {
    let mut references = picture.references;
    if matches!(kind, SliceKind::P | SliceKind::SwitchingP | SliceKind::B) && bits.flag()? {
        references[0] = bits.ue_up_to(31, "num_ref_idx_l0_active_minus1")? + 1;
        if kind == SliceKind::B {
            references[1] = bits.ue_up_to(31, "num_ref_idx_l1_active_minus1")? + 1;
        }
    }
    Ok(references)
}

/// `ref_pic_list_modification` (7.3.3.1).
fn skip_list_changes(bits: &mut NalBits<'_>, kind: SliceKind) -> Result<(), UnitError> {
    let lists = match kind {
        SliceKind::I | SliceKind::SwitchingI => 0,
        SliceKind::P | SliceKind::SwitchingP => 1,
        SliceKind::B => 2,
    };
    for _ in 0..lists {
        if !bits.flag()? {
            continue;
        }
        while bits.ue_up_to(3, "modification_of_pic_nums_idc")? != 3 {
            bits.ue()?;
        }
    }
    Ok(())
}

/// `pred_weight_table` (7.3.3.2).
fn skip_weights(
    bits: &mut NalBits<'_>,
    kind: SliceKind,
    references: [u32; 2],
    chroma: bool,
) -> Result<(), UnitError> {
    bits.ue()?;
    if chroma {
        bits.ue()?;
    }
    let lists = if kind == SliceKind::B { 2 } else { 1 };
    for count in references.into_iter().take(lists) {
        for _ in 0..count {
            if bits.flag()? {
                bits.skip_codes(2)?;
            }
            if chroma && bits.flag()? {
                bits.skip_codes(4)?;
            }
        }
    }
    Ok(())
}

/// `dec_ref_pic_marking` (7.3.3.3).
fn skip_marking(bits: &mut NalBits<'_>, idr: bool) -> Result<(), UnitError> {
    if idr {
        return bits.skip(2);
    }
    if !bits.flag()? {
        return Ok(());
    }
    loop {
        let fields = match bits.ue_up_to(6, "memory_management_control_operation")? {
            0 => return Ok(()),
            5 => 0,
            3 => 2,
            _ => 1,
        };
        bits.skip_codes(fields)?;
    }
}
