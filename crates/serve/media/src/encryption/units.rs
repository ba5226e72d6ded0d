//! Samples of video as runs of clear and of protected bytes (ISO/IEC 23001-7, 9.5.2), whatever the codec. It must not know
//! how the protected ones are encrypted.

use super::av1::Obus;
use super::error::{EncryptionError, UnitError};
use super::nal::NalFormat;
use super::protection::Scheme;
use super::subsample::Subsample;
use crate::bmff::Boxes;

/// Fields of a VisualSampleEntry before its boxes (ISO/IEC 14496-12, 12.1.3).
const VISUAL_FIELDS: usize = 78;

/// How the samples of a track are made of NAL units or of OBUs, and what has been read of them.
#[derive(Clone, Debug)]
pub struct VideoFormat(Units);

#[derive(Clone, Debug)]
enum Units {
    Nal(NalFormat),
    Av1(Box<Obus>),
}

impl VideoFormat {
    /// As the sample entry says it, which is the whole box; none if that is of another codec. `codec` is what errors call it.
    ///
    /// # Errors
    ///
    /// Configurations, parameter sets and sequence headers that cannot be read.
    pub fn of_sample_entry(entry: &[u8], codec: &str) -> Result<Option<Self>, EncryptionError> {
        let Some(entry) = Boxes::new(entry, 0).next().transpose()? else {
            return Ok(None);
        };
        let configuration = |kind| entry.children_behind(VISUAL_FIELDS).find_kind(kind);
        let units = match &entry.kind.0 {
            b"avc1" | b"avc3" => {
                configuration(b"avcC")?.map(|found| NalFormat::h264(&found, codec).map(Units::Nal))
            }
            b"hvc1" | b"hev1" => {
                configuration(b"hvcC")?.map(|found| NalFormat::h265(&found, codec).map(Units::Nal))
            }
            b"av01" => configuration(b"av1C")?
                .map(|found| Ok(Units::Av1(Box::new(Obus::of_configuration(&found, codec)?)))),
            _ => None,
        };
        Ok(units.transpose()?.map(VideoFormat))
    }

    /// What of a sample is protected by this scheme. Samples come in decoding order from a sync sample on: what headers say
    /// counts for later ones too.
    ///
    /// # Errors
    ///
    /// Units that do not add up, and headers that cannot be read.
    pub fn subsamples(&mut self, sample: &[u8], scheme: Scheme) -> Result<Vec<Subsample>, UnitError> {
        match &mut self.0 {
            Units::Nal(format) => format.subsamples(sample, scheme),
            Units::Av1(obus) => obus.subsamples(sample, scheme),
        }
    }
}
