//! Frame headers of AV1 (5.9.2): read from the first bit to the last, since only that tells where tile data begins, and what
//! later headers depend on is kept. It must not know how samples are encrypted.

mod filters;
mod grain;
mod kind;
mod motion;
mod references;
mod slots;
mod tiles;

use super::bits::ObuBits;
use super::sequence::Sequence;
use crate::encryption::error::UnitError;

use filters::{Filtered, Segments, read_quantization, read_segments, skip_filters, skip_reference_mode};
use grain::skip_film_grain;
use kind::FrameKind;
use motion::{REFERENCES, STILL, read_motions};
use references::{allow_skip_mode, named_by_two};
use slots::{Reference, SLOTS, Size};
use tiles::read_tiles;

pub(super) use tiles::Tiles;

/// `primary_ref_frame` of a frame that takes nothing from others.
const NO_PRIMARY: u32 = 7;

/// The frames that later ones may refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    slots: [Option<Reference>; SLOTS],
}

/// What follows a frame header.
pub(super) enum Header {
    /// An earlier frame is shown: no tiles.
    Shown,
    /// The tiles of a new frame.
    Tiles(Tiles),
}

/// The layers that an OBU is for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layers {
    pub temporal: u32,
    pub spatial: u32,
}

/// The first fields of a frame header.
struct Start {
    kind: FrameKind,
    is_shown: bool,
    is_showable: bool,
    /// `error_resilient_mode`
    is_resilient: bool,
}

/// Fields that later ones depend on.
struct Settings {
    screen_content: bool,
    integer_motion: bool,
    size_is_own: bool,
    order_hint: u32,
    primary: Option<usize>,
    keeps_tables: bool,
}

/// What only frames that are predicted from others say.
struct Prediction {
    slots: [usize; REFERENCES],
    high_precision: bool,
}

impl Frames {
    /// `uncompressed_header`.
    pub(super) fn read_header(
        &mut self,
        bits: &mut ObuBits<'_>,
        sequence: &Sequence,
        layers: Layers,
    ) -> Result<Header, UnitError> {
        let Some(start) = self.read_start(bits, sequence)? else {
            return Ok(Header::Shown);
        };
        if start.kind == FrameKind::Key && start.is_shown {
            self.slots = Default::default();
        }
        let settings = read_settings(bits, sequence, &start)?;
        skip_removal_times(bits, sequence, layers)?;
        let refreshed = match start.kind {
            FrameKind::Switch => 0xff,
            FrameKind::Key if start.is_shown => 0xff,
            _ => bits.bits(8)?,
        };
        if start.is_resilient && (!start.kind.is_intra() || refreshed != 0xff) {
            self.read_hints(bits, sequence)?;
        }
        let mut block_copies = false;
        let (size, prediction) = if start.kind.is_intra() {
            let size = read_size(bits, sequence, settings.size_is_own)?;
            skip_render_size(bits)?;
            block_copies = bits.flag_if(settings.screen_content && size.full_width == size.width)?;
            (size, None)
        } else {
            let (size, prediction) = self.read_prediction(bits, sequence, &start, &settings)?;
            (size, Some(prediction))
        };
        // disable_frame_end_update_cdf
        bits.flag_if(!sequence.is_reduced && settings.keeps_tables)?;
        let before = self.primary(&settings, prediction.as_ref())?;
        let tiles = read_tiles(bits, (size.width, size.height), sequence.large_superblocks)?;
        let quantization = read_quantization(bits, &sequence.colour)?;
        let segments = read_segments(bits, before.map(|before| &before.segments))?;
        quantization.skip_deltas(bits, block_copies)?;
        let filtered = Filtered {
            is_lossless: quantization.is_lossless(&segments),
            is_full_width: size.width == size.full_width,
            block_copies,
        };
        skip_filters(bits, sequence, &filtered)?;
        let skips = self.skip_mode_is_allowed(sequence, &settings, prediction.as_ref())?;
        skip_reference_mode(bits, start.kind, skips)?;
        // allow_warped_motion
        bits.flag_if(!start.kind.is_intra() && !start.is_resilient && sequence.tools.warped_motion)?;
        // reduced_tx_set
        bits.flag()?;
        let motions = match &prediction {
            None => STILL,
            Some(prediction) => {
                let before = before.map_or(&STILL, |before| &before.motions);
                read_motions(bits, before, prediction.high_precision)?
            }
        };
        if sequence.film_grain && (start.is_shown || start.is_showable) {
            skip_film_grain(bits, &sequence.colour, start.kind == FrameKind::Inter)?;
        }
        let kept = Reference {
            kind: start.kind,
            size,
            order_hint: settings.order_hint,
            motions,
            segments,
        };
        self.keep(refreshed, &kept);
        Ok(Header::Tiles(tiles))
    }

    /// Puts a frame into the slots whose bits are set.
    fn keep(&mut self, refreshed: u32, frame: &Reference) {
        for (place, slot) in self.slots.iter_mut().enumerate() {
            if refreshed >> place & 1 == 1 {
                *slot = Some(frame.clone());
            }
        }
    }

    fn at(&self, slot: usize) -> Result<&Reference, UnitError> {
        let found = self.slots.get(slot).and_then(Option::as_ref);
        found.ok_or(UnitError::Missing {
            what: "reference frame",
        })
    }

    /// None if an earlier frame is shown instead of a new one.
    fn read_start(
        &mut self,
        bits: &mut ObuBits<'_>,
        sequence: &Sequence,
    ) -> Result<Option<Start>, UnitError> {
        if sequence.is_reduced {
            return Ok(Some(Start {
                kind: FrameKind::Key,
                is_shown: true,
                is_showable: false,
                is_resilient: true,
            }));
        }
        let model = sequence.decoder_model.filter(|model| !model.is_regular);
        let presentation_bits = model.map_or(0, |model| model.presentation_time_bits);
        if bits.flag()? {
            let slot = bits.bits(3)? as usize;
            bits.skip(presentation_bits)?;
            bits.skip(sequence.frame_ids.map_or(0, |ids| ids.length))?;
            let shown = self.at(slot)?;
            if shown.kind == FrameKind::Key {
                let shown = shown.clone();
                self.keep(0xff, &shown);
            }
            return Ok(None);
        }
        let kind = match bits.bits(2)? {
            0 => FrameKind::Key,
            1 => FrameKind::Inter,
            2 => FrameKind::IntraOnly,
            _ => FrameKind::Switch,
        };
        let is_shown = bits.flag()?;
        let is_showable = if is_shown {
            bits.skip(presentation_bits)?;
            kind != FrameKind::Key
        } else {
            bits.flag()?
        };
        let is_resilient =
            kind == FrameKind::Switch || (kind == FrameKind::Key && is_shown) || bits.flag()?;
        Ok(Some(Start {
            kind,
            is_shown,
            is_showable,
            is_resilient,
        }))
    }

    /// The order hints of all slots. One that has another frame than the encoder thinks has lost it: a grey one is there
    /// then (7.20).
    fn read_hints(&mut self, bits: &mut ObuBits<'_>, sequence: &Sequence) -> Result<(), UnitError> {
        let Some(hint_bits) = sequence.tools.order_hint_bits else {
            return Ok(());
        };
        for slot in &mut self.slots {
            let order_hint = bits.bits(hint_bits)?;
            if slot.as_ref().is_some_and(|frame| frame.order_hint == order_hint) {
                continue;
            }
            let (width, height) = sequence.size;
            *slot = Some(Reference {
                kind: FrameKind::Inter,
                size: Size {
                    full_width: width,
                    width,
                    height,
                },
                order_hint,
                motions: STILL,
                segments: Segments::default(),
            });
        }
        Ok(())
    }

    /// References, size and motion of a frame that is predicted from others.
    fn read_prediction(
        &self,
        bits: &mut ObuBits<'_>,
        sequence: &Sequence,
        start: &Start,
        settings: &Settings,
    ) -> Result<(Size, Prediction), UnitError> {
        let slots = self.read_references(bits, sequence, settings.order_hint)?;
        let size = if settings.size_is_own && !start.is_resilient {
            self.read_size_of_references(bits, sequence, &slots)?
        } else {
            let size = read_size(bits, sequence, settings.size_is_own)?;
            skip_render_size(bits)?;
            size
        };
        let high_precision = bits.flag_if(!settings.integer_motion)?;
        if !bits.flag()? {
            // interpolation_filter
            bits.skip(2)?;
        }
        // is_motion_mode_switchable
        bits.flag()?;
        // use_ref_frame_mvs
        bits.flag_if(!start.is_resilient && sequence.tools.reference_motion)?;
        Ok((
            size,
            Prediction {
                slots,
                high_precision,
            },
        ))
    }

    fn read_references(
        &self,
        bits: &mut ObuBits<'_>,
        sequence: &Sequence,
        order_hint: u32,
    ) -> Result<[usize; REFERENCES], UnitError> {
        let mut named = None;
        if let Some(hint_bits) = sequence.tools.order_hint_bits
            && bits.flag()?
        {
            let two = (bits.bits(3)? as usize, bits.bits(3)? as usize);
            named = Some(named_by_two(&self.slots, hint_bits, order_hint, two)?);
        }
        let mut slots = named.unwrap_or_default();
        for slot in &mut slots {
            if named.is_none() {
                *slot = bits.bits(3)? as usize;
            }
            bits.skip(sequence.frame_ids.map_or(0, |ids| ids.delta_length))?;
        }
        Ok(slots)
    }

    /// `frame_size_with_refs`.
    fn read_size_of_references(
        &self,
        bits: &mut ObuBits<'_>,
        sequence: &Sequence,
        slots: &[usize; REFERENCES],
    ) -> Result<Size, UnitError> {
        for slot in slots {
            if bits.flag()? {
                let Size {
                    full_width, height, ..
                } = self.at(*slot)?.size;
                return read_superres(bits, sequence, full_width, height);
            }
        }
        let size = read_size(bits, sequence, true)?;
        skip_render_size(bits)?;
        Ok(size)
    }

    /// The frame whose motion and segments count as those before.
    fn primary(
        &self,
        settings: &Settings,
        prediction: Option<&Prediction>,
    ) -> Result<Option<&Reference>, UnitError> {
        let slot = prediction.zip(settings.primary);
        let slot = slot.and_then(|(prediction, primary)| prediction.slots.get(primary));
        slot.map(|slot| self.at(*slot)).transpose()
    }

    fn skip_mode_is_allowed(
        &self,
        sequence: &Sequence,
        settings: &Settings,
        prediction: Option<&Prediction>,
    ) -> Result<bool, UnitError> {
        let (Some(prediction), Some(hint_bits)) = (prediction, sequence.tools.order_hint_bits) else {
            return Ok(false);
        };
        let mut hints = [0; REFERENCES];
        for (hint, slot) in hints.iter_mut().zip(prediction.slots) {
            *hint = self.at(slot)?.order_hint;
        }
        Ok(allow_skip_mode(&hints, hint_bits, settings.order_hint))
    }
}

fn read_settings(bits: &mut ObuBits<'_>, sequence: &Sequence, start: &Start) -> Result<Settings, UnitError> {
    let keeps_tables = !bits.flag()?;
    let screen_content = sequence.tools.screen_content.in_frame(bits)?;
    let integer_motion = screen_content && sequence.tools.integer_motion.in_frame(bits)?;
    bits.skip(sequence.frame_ids.map_or(0, |ids| ids.length))?;
    let size_is_own = start.kind == FrameKind::Switch || bits.flag_if(!sequence.is_reduced)?;
    let order_hint = bits.bits(sequence.tools.order_hint_bits.unwrap_or(0))?;
    let primary = if start.kind.is_intra() || start.is_resilient {
        NO_PRIMARY
    } else {
        bits.bits(3)?
    };
    Ok(Settings {
        screen_content,
        integer_motion,
        size_is_own,
        order_hint,
        primary: (primary != NO_PRIMARY).then_some(primary as usize),
        keeps_tables,
    })
}

/// `buffer_removal_time` of each operating point that the frame belongs to.
fn skip_removal_times(bits: &mut ObuBits<'_>, sequence: &Sequence, layers: Layers) -> Result<(), UnitError> {
    let Some(model) = sequence.decoder_model else {
        return Ok(());
    };
    if !bits.flag()? {
        return Ok(());
    }
    for point in &sequence.operating_points {
        let in_temporal = point.layers >> layers.temporal & 1 == 1;
        let in_spatial = point.layers >> (layers.spatial + 8) & 1 == 1;
        if point.has_decoder_model && (point.layers == 0 || (in_temporal && in_spatial)) {
            bits.skip(model.removal_time_bits)?;
        }
    }
    Ok(())
}

/// `frame_size`.
fn read_size(bits: &mut ObuBits<'_>, sequence: &Sequence, is_own: bool) -> Result<Size, UnitError> {
    let (width, height) = if is_own {
        let (width_bits, height_bits) = sequence.size_bits;
        (bits.bits(width_bits)? + 1, bits.bits(height_bits)? + 1)
    } else {
        sequence.size
    };
    read_superres(bits, sequence, width, height)
}

/// `superres_params`.
fn read_superres(
    bits: &mut ObuBits<'_>,
    sequence: &Sequence,
    full_width: u32,
    height: u32,
) -> Result<Size, UnitError> {
    let mut denominator = 8;
    if bits.flag_if(sequence.superres)? {
        denominator = bits.bits(3)? + 9;
    }
    Ok(Size {
        full_width,
        width: (full_width * 8 + denominator / 2) / denominator,
        height,
    })
}

fn skip_render_size(bits: &mut ObuBits<'_>) -> Result<(), UnitError> {
    if bits.flag()? {
        bits.skip(32)?;
    }
    Ok(())
}
