//! Samples of H.264 and H.265 as runs of clear and of protected bytes (ISO/IEC 23001-7, 9.5.2). It must not know how the
//! protected ones are encrypted.

use super::error::{EncryptionError, UnitError};
use super::protection::Scheme;
use super::subsample::{BLOCK, Subsample, push};
use super::{h264, h265};
use crate::bmff::{Fields, Mp4Box};

/// How the samples of a track are made of NAL units.
#[derive(Clone, Debug)]
pub(super) struct NalFormat {
    /// Of the length in front of a NAL unit, in bytes.
    length_bytes: usize,
    parameters: Parameters,
}

#[derive(Clone, Debug)]
enum Parameters {
    H264(h264::Parameters),
    H265(h265::Parameters),
}

impl Parameters {
    fn clear_bytes(&mut self, nal: &[u8]) -> Result<Option<usize>, UnitError> {
        match self {
            Parameters::H264(parameters) => parameters.clear_bytes(nal),
            Parameters::H265(parameters) => parameters.clear_bytes(nal),
        }
    }
}

impl NalFormat {
    /// Of H.264, as the configuration in a sample entry says (`avcC`).
    pub(super) fn h264(configuration: &Mp4Box<'_>, codec: &str) -> Result<Self, EncryptionError> {
        Self::of_configuration(
            Parameters::H264(h264::Parameters::default()),
            configuration,
            codec,
        )
    }

    /// Of H.265 (`hvcC`).
    pub(super) fn h265(configuration: &Mp4Box<'_>, codec: &str) -> Result<Self, EncryptionError> {
        Self::of_configuration(
            Parameters::H265(h265::Parameters::default()),
            configuration,
            codec,
        )
    }

    fn of_configuration(
        parameters: Parameters,
        configuration: &Mp4Box<'_>,
        codec: &str,
    ) -> Result<Self, EncryptionError> {
        let mut format = NalFormat {
            length_bytes: 4,
            parameters,
        };
        let mut fields = configuration.fields();
        let units = match format.parameters {
            Parameters::H264(_) => {
                fields.bytes(4)?;
                format.length_bytes = usize::from(fields.u8()? & 3) + 1;
                avc_parameter_sets(&mut fields)?
            }
            Parameters::H265(_) => {
                fields.bytes(21)?;
                format.length_bytes = usize::from(fields.u8()? & 3) + 1;
                hevc_parameter_sets(&mut fields)?
            }
        };
        for unit in units.iter().filter(|unit| !unit.is_empty()) {
            let taken = format.parameters.clear_bytes(unit);
            taken.map_err(|error| EncryptionError::Parameters {
                codec: codec.to_owned(),
                error,
            })?;
        }
        Ok(format)
    }

    /// What of a sample is protected by this scheme. Parameter sets in it count for this and later samples.
    pub(super) fn subsamples(&mut self, sample: &[u8], scheme: Scheme) -> Result<Vec<Subsample>, UnitError> {
        let mut subsamples = Vec::new();
        let mut clear = 0;
        let mut rest = sample;
        while !rest.is_empty() {
            let (unit, behind) = self.split_unit(rest)?;
            rest = behind;
            let before_data = match unit {
                [] => None,
                unit => self.parameters.clear_bytes(unit)?,
            };
            let protected = before_data.map_or(0, |before| unit.len().saturating_sub(before));
            // Blocks of CTR mode are not divided between the protected bytes of two slices.
            let protected = match scheme {
                Scheme::Cenc => protected / BLOCK * BLOCK,
                _ => protected,
            };
            clear += self.length_bytes + unit.len() - protected;
            if protected > 0 {
                push(&mut subsamples, clear, protected);
                clear = 0;
            }
        }
        if clear > 0 {
            push(&mut subsamples, clear, 0);
        }
        Ok(subsamples)
    }

    /// A NAL unit without its length, and what comes behind it.
    fn split_unit<'s>(&self, sample: &'s [u8]) -> Result<(&'s [u8], &'s [u8]), UnitError> {
        let wrong = |length: u64| UnitError::Length {
            length,
            room: sample.len().saturating_sub(self.length_bytes) as u64,
        };
        let (length, rest) = sample
            .split_at_checked(self.length_bytes)
            .ok_or_else(|| wrong(0))?;
        let length = length
            .iter()
            .fold(0_u64, |length, byte| length << 8 | u64::from(*byte));
        // Four bytes at most.
        rest.split_at_checked(length as usize)
            .ok_or_else(|| wrong(length))
    }
}

/// The parameter sets of an `avcC` box behind the size of lengths (ISO/IEC 14496-15, 5.3.3.1).
fn avc_parameter_sets<'b>(fields: &mut Fields<'b>) -> Result<Vec<&'b [u8]>, EncryptionError> {
    let mut units = Vec::new();
    for mask in [0x1f, 0xff] {
        let count = fields.u8()? & mask;
        for _ in 0..count {
            let length = fields.u16()?;
            units.push(fields.bytes(usize::from(length))?);
        }
    }
    Ok(units)
}

/// The parameter sets of an `hvcC` box behind the size of lengths (ISO/IEC 14496-15, 8.3.3.1).
fn hevc_parameter_sets<'b>(fields: &mut Fields<'b>) -> Result<Vec<&'b [u8]>, EncryptionError> {
    let mut units = Vec::new();
    let arrays = fields.u8()?;
    for _ in 0..arrays {
        fields.u8()?;
        let count = fields.u16()?;
        for _ in 0..count {
            let length = fields.u16()?;
            units.push(fields.bytes(usize::from(length))?);
        }
    }
    Ok(units)
}
