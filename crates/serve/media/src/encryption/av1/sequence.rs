//! The sequence header of AV1 (5.5): what of it says how frame headers are to be read. It must not know what frames are.

use super::bits::ObuBits;
use crate::encryption::error::UnitError;

/// What a sequence header says about frame headers.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// A still picture with the shortest headers.
    pub is_reduced: bool,
    pub decoder_model: Option<DecoderModel>,
    pub operating_points: Vec<OperatingPoint>,
    /// Bits of a frame's width and height where it says them itself.
    pub size_bits: (u32, u32),
    /// Width and height in pixels of frames that say none.
    pub size: (u32, u32),
    pub frame_ids: Option<FrameIds>,
    /// Superblocks have 128 pixels in each direction, not 64.
    pub large_superblocks: bool,
    pub tools: Tools,
    pub superres: bool,
    pub cdef: bool,
    pub restoration: bool,
    pub colour: Colour,
    pub film_grain: bool,
}

/// What the decoder model adds to frame headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecoderModel {
    delay_bits: u32,
    pub removal_time_bits: u32,
    pub presentation_time_bits: u32,
    /// Frames come at regular times, so that they need not say theirs.
    pub is_regular: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct OperatingPoint {
    /// `operating_point_idc`: the layers in it.
    pub layers: u32,
    pub has_decoder_model: bool,
}

/// Lengths in bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameIds {
    pub length: u32,
    pub delta_length: u32,
}

/// Something that is so in all frames or in none, or that each frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Always(bool),
    EachFrame,
}

impl Choice {
    fn read(bits: &mut ObuBits<'_>) -> Result<Self, UnitError> {
        Ok(match bits.flag()? {
            true => Choice::EachFrame,
            false => Choice::Always(bits.flag()?),
        })
    }

    /// As it is in the frame whose header is being read.
    pub(super) fn in_frame(self, bits: &mut ObuBits<'_>) -> Result<bool, UnitError> {
        match self {
            Choice::Always(is_so) => Ok(is_so),
            Choice::EachFrame => bits.flag(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Colour {
    pub monochrome: bool,
    /// Chroma is halved across and down.
    pub subsampling: (bool, bool),
    pub separate_uv_delta_q: bool,
}

/// `sequence_header_obu` (5.5.1).
pub(super) fn read_sequence(bits: &mut ObuBits<'_>) -> Result<Sequence, UnitError> {
    let profile = bits.bits(3)?;
    bits.flag()?;
    let is_reduced = bits.flag()?;
    let (decoder_model, operating_points) = if is_reduced {
        bits.skip(5)?;
        let only = OperatingPoint {
            layers: 0,
            has_decoder_model: false,
        };
        (None, vec![only])
    } else {
        read_timing(bits)?
    };
    let size_bits = (bits.bits(4)? + 1, bits.bits(4)? + 1);
    let size = (bits.bits(size_bits.0)? + 1, bits.bits(size_bits.1)? + 1);
    let mut frame_ids = None;
    if bits.flag_if(!is_reduced)? {
        let delta_length = bits.bits(4)? + 2;
        let length = bits.bits(3)? + delta_length + 1;
        frame_ids = Some(FrameIds { length, delta_length });
    }
    let large_superblocks = bits.flag()?;
    // enable_filter_intra, enable_intra_edge_filter
    bits.skip(2)?;
    let tools = if is_reduced {
        Tools::of_reduced()
    } else {
        Tools::read(bits)?
    };
    Ok(Sequence {
        is_reduced,
        decoder_model,
        operating_points,
        size_bits,
        size,
        frame_ids,
        large_superblocks,
        tools,
        superres: bits.flag()?,
        cdef: bits.flag()?,
        restoration: bits.flag()?,
        colour: read_colour(bits, profile)?,
        film_grain: bits.flag()?,
    })
}

/// Timing, decoder model and operating points.
fn read_timing(bits: &mut ObuBits<'_>) -> Result<(Option<DecoderModel>, Vec<OperatingPoint>), UnitError> {
    let mut decoder_model = None;
    if bits.flag()? {
        bits.skip(64)?;
        let is_regular = bits.flag()?;
        if is_regular {
            bits.skip_uvlc()?;
        }
        if bits.flag()? {
            let delay_bits = bits.bits(5)? + 1;
            bits.skip(32)?;
            decoder_model = Some(DecoderModel {
                delay_bits,
                removal_time_bits: bits.bits(5)? + 1,
                presentation_time_bits: bits.bits(5)? + 1,
                is_regular,
            });
        }
    }
    let has_display_delays = bits.flag()?;
    let count = bits.bits(5)? + 1;
    let mut points = Vec::new();
    for _ in 0..count {
        let layers = bits.bits(12)?;
        let level = bits.bits(5)?;
        // seq_tier
        bits.flag_if(level > 7)?;
        let mut has_decoder_model = false;
        if let Some(model) = &decoder_model {
            has_decoder_model = bits.flag()?;
            if has_decoder_model {
                bits.skip(2 * model.delay_bits + 1)?;
            }
        }
        if bits.flag_if(has_display_delays)? {
            bits.skip(4)?;
        }
        points.push(OperatingPoint {
            layers,
            has_decoder_model,
        });
    }
    Ok((decoder_model, points))
}

/// Tools of which still pictures with reduced headers have none.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    pub warped_motion: bool,
    /// None if frames have no order hints.
    pub order_hint_bits: Option<u32>,
    pub reference_motion: bool,
    pub screen_content: Choice,
    pub integer_motion: Choice,
}

impl Tools {
    fn of_reduced() -> Self {
        Tools {
            warped_motion: false,
            order_hint_bits: None,
            reference_motion: false,
            screen_content: Choice::EachFrame,
            integer_motion: Choice::EachFrame,
        }
    }

    fn read(bits: &mut ObuBits<'_>) -> Result<Self, UnitError> {
        // enable_interintra_compound, enable_masked_compound
        bits.skip(2)?;
        let warped_motion = bits.flag()?;
        // enable_dual_filter
        bits.skip(1)?;
        let has_order_hints = bits.flag()?;
        // enable_jnt_comp
        bits.flag_if(has_order_hints)?;
        let reference_motion = bits.flag_if(has_order_hints)?;
        let screen_content = Choice::read(bits)?;
        let integer_motion = match screen_content {
            Choice::Always(false) => Choice::EachFrame,
            _ => Choice::read(bits)?,
        };
        let order_hint_bits = match has_order_hints {
            true => Some(bits.bits(3)? + 1),
            false => None,
        };
        Ok(Tools {
            warped_motion,
            order_hint_bits,
            reference_motion,
            screen_content,
            integer_motion,
        })
    }
}

/// `color_config` (5.5.2).
fn read_colour(bits: &mut ObuBits<'_>, profile: u32) -> Result<Colour, UnitError> {
    let high_depth = bits.flag()?;
    let twelve_bits = bits.flag_if(profile == 2 && high_depth)?;
    let monochrome = bits.flag_if(profile != 1)?;
    let description = match bits.flag()? {
        true => [bits.bits(8)?, bits.bits(8)?, bits.bits(8)?],
        false => [2; 3],
    };
    if monochrome {
        // color_range
        bits.skip(1)?;
        return Ok(Colour {
            monochrome,
            subsampling: (true, true),
            separate_uv_delta_q: false,
        });
    }
    // BT.709, sRGB and identity: RGB.
    let subsampling = if description == [1, 13, 0] {
        (false, false)
    } else {
        bits.skip(1)?;
        let subsampling = match profile {
            0 => (true, true),
            1 => (false, false),
            _ if twelve_bits => {
                let across = bits.flag()?;
                (across, bits.flag_if(across)?)
            }
            _ => (true, false),
        };
        if subsampling == (true, true) {
            // chroma_sample_position
            bits.skip(2)?;
        }
        subsampling
    };
    Ok(Colour {
        monochrome,
        subsampling,
        separate_uv_delta_q: bits.flag()?,
    })
}
