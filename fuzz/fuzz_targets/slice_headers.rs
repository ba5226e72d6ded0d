//! Parameter sets and slice headers of H.264 and H.265, sequence and frame headers of AV1: no bytes may panic their reader,
//! and its parts of a sample add up to the sample.
//!
//! Input: a byte (its lowest bit chooses the scheme), a sample entry, and the samples, each after its length in 32 bits.

use crate::checks::in_a_line;
use weir_media::encryption::{Scheme, VideoFormat};

pub fn run(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else {
        return;
    };
    let scheme = if choice & 1 == 0 {
        Scheme::Cenc
    } else {
        Scheme::Cbcs
    };
    let Some(length) = rest.first_chunk::<4>() else {
        return;
    };
    let Some((entry, mut rest)) = rest.split_at_checked(u32::from_be_bytes(*length) as usize) else {
        return;
    };
    let mut format = match VideoFormat::of_sample_entry(entry, "avc1.64001f") {
        Ok(Some(format)) => format,
        Ok(None) => return,
        Err(error) => return in_a_line(error, 600),
    };
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = (u32::from_be_bytes(*length) as usize).min(behind.len());
        let (sample, behind) = behind.split_at(length);
        rest = behind;
        let Ok(subsamples) = format.subsamples(sample, scheme) else {
            continue;
        };
        let bytes = subsamples
            .iter()
            .map(|subsample| usize::from(subsample.clear) + subsample.protected as usize);
        assert_eq!(bytes.sum::<usize>(), sample.len());
        if scheme == Scheme::Cenc {
            assert!(subsamples.iter().all(|subsample| subsample.protected % 16 == 0));
        }
    }
}
