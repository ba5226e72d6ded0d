//! Parameter sets, slice headers and frame headers that are damaged: their reader gives an error or runs that add up, and
//! never panics. The seeds are those of the fuzz target of the same name.

use std::fs;

use proptest::prelude::*;
use weir_media::encryption::{Scheme, VideoFormat};

/// Sample entries and samples of several encoders' settings.
fn seeds() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fuzz/seeds/slice_headers");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Reads all samples; how many were read without an error.
fn read(input: &[u8]) -> usize {
    let scheme = if input[0] & 1 == 0 {
        Scheme::Cenc
    } else {
        Scheme::Cbcs
    };
    let length = u32::from_be_bytes(input[1..5].try_into().unwrap()) as usize;
    let Some((entry, mut rest)) = input[1..].split_at_checked(length) else {
        return 0;
    };
    let Ok(Some(mut format)) = VideoFormat::of_sample_entry(entry, "avc1.64001F") else {
        return 0;
    };
    let mut read = 0;
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = (u32::from_be_bytes(*length) as usize).min(behind.len());
        let (sample, behind) = behind.split_at(length);
        rest = behind;
        if let Ok(subsamples) = format.subsamples(sample, scheme) {
            let bytes = subsamples
                .iter()
                .map(|subsample| usize::from(subsample.clear) + subsample.protected as usize);
            assert_eq!(bytes.sum::<usize>(), sample.len());
            let is_aligned = subsamples.iter().all(|subsample| subsample.protected % 16 == 0);
            assert!(is_aligned || scheme == Scheme::Cbcs);
            read += 1;
        }
    }
    read
}

#[test]
fn seeds_are_read_whole() {
    for seed in seeds() {
        assert_eq!(read(&seed), 6);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn damage_is_an_error_or_adds_up(
        choice in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        kept in any::<prop::sample::Index>(),
    ) {
        let seeds = seeds();
        let mut input = choice.get(&seeds).clone();
        // Most of what matters stands in front.
        let reach = 1 + kept.index(input.len() - 1);
        for (place, value) in changes {
            let place = place.index(reach);
            input[place] = value;
        }
        read(&input);
    }
}
