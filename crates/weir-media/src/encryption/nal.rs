//! Samples of H.264 and H.265 as runs of clear and of protected bytes (ISO/IEC 23001-7, 9.5.2). It must not know how the
//! protected ones are encrypted.

use super::error::{EncryptionError, NalError};
use super::protection::Scheme;
use super::{h264, h265};
use crate::bmff::{Boxes, Fields};

/// Fields of a VisualSampleEntry before its boxes (ISO/IEC 14496-12, 12.1.3).
const VISUAL_FIELDS: usize = 78;
/// Bytes of a block of AES.
const BLOCK: usize = 16;
/// Clear bytes that one entry can tell.
const MOST_CLEAR: usize = u16::MAX as usize;

/// Bytes that stay clear, and behind them bytes that are protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subsample {
    /// Clear bytes.
    pub clear: u16,
    /// Protected bytes. Of those `cenc` encrypts each, and `cbcs` whole blocks by its pattern.
    pub protected: u32,
}

/// How the samples of a track are made of NAL units.
#[derive(Clone, Debug)]
pub struct NalFormat {
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
    fn clear_bytes(&mut self, nal: &[u8]) -> Result<Option<usize>, NalError> {
        match self {
            Parameters::H264(parameters) => parameters.clear_bytes(nal),
            Parameters::H265(parameters) => parameters.clear_bytes(nal),
        }
    }
}

impl NalFormat {
    /// As the sample entry says it, which is the whole box; none if that is of a codec without NAL units. `codec` is what
    /// errors call it.
    ///
    /// # Errors
    ///
    /// Configurations and parameter sets that cannot be read.
    pub fn of_sample_entry(entry: &[u8], codec: &str) -> Result<Option<Self>, EncryptionError> {
        let Some(entry) = Boxes::new(entry, 0).next().transpose()? else {
            return Ok(None);
        };
        let (kind, parameters) = match &entry.kind.0 {
            b"avc1" | b"avc3" => (b"avcC", Parameters::H264(h264::Parameters::default())),
            b"hvc1" | b"hev1" => (b"hvcC", Parameters::H265(h265::Parameters::default())),
            _ => return Ok(None),
        };
        let Some(configuration) = entry.children_behind(VISUAL_FIELDS).find_kind(kind)? else {
            return Ok(None);
        };
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
        Ok(Some(format))
    }

    /// What of a sample is protected by this scheme. Parameter sets in it count for this and later samples.
    ///
    /// # Errors
    ///
    /// NAL units that do not add up, and slice headers that cannot be read.
    pub fn subsamples(&mut self, sample: &[u8], scheme: Scheme) -> Result<Vec<Subsample>, NalError> {
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
    fn split_unit<'s>(&self, sample: &'s [u8]) -> Result<(&'s [u8], &'s [u8]), NalError> {
        let wrong = |length: u64| NalError::Length {
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

fn push(subsamples: &mut Vec<Subsample>, mut clear: usize, protected: usize) {
    while clear > MOST_CLEAR {
        subsamples.push(Subsample {
            clear: u16::MAX,
            protected: 0,
        });
        clear -= MOST_CLEAR;
    }
    subsamples.push(Subsample {
        clear: clear as u16,
        // A sample has less than 4 GiB.
        protected: protected as u32,
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_clear_runs_take_several_entries() {
        let mut subsamples = Vec::new();
        push(&mut subsamples, 2 * MOST_CLEAR + 1, 32);
        let told: Vec<(u16, u32)> = subsamples
            .iter()
            .map(|subsample| (subsample.clear, subsample.protected))
            .collect();
        assert_eq!(told, [(u16::MAX, 0), (u16::MAX, 0), (1, 32)]);
        subsamples.clear();
        push(&mut subsamples, MOST_CLEAR, 0);
        assert_eq!(subsamples.len(), 1);
    }
}
