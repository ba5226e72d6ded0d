//! Samples that come encrypted: no file may panic the decryption of its segments, which changes protected bytes alone, and refuses
//! in one line. In counter mode the same key gives back what it was given.
//!
//! Input: a byte of the key, then the file.

use std::ops::Range;

use super::mp4::build;
use crate::checks::{in_a_line, planned};
use weir_media::encryption::{ContentKey, decrypt_samples};
use weir_media::index::{SourceScheme, TrackIndex};
use weir_media::package::media_segment;

/// Bytes of a refusal.
const LONGEST: usize = 600;

/// The bytes of these samples that are not protected stay as they are.
fn clear_bytes_stay(track: &TrackIndex, samples: Range<u32>, before: &[u8], after: &[u8]) {
    let mut at = 0;
    for sample in track.samples().range(samples) {
        let own = track.protection().and_then(|table| table.sample(sample.number));
        let mut place = at;
        for (clear, protected) in own.expect("encryption data").subsamples() {
            let end = place + usize::from(clear);
            assert_eq!(before[place..end], after[place..end], "sample {}", sample.number);
            place = end + protected as usize;
        }
        at += sample.size as usize;
    }
}

fn segment(track: &TrackIndex, samples: Range<u32>, given: &[u8], key: &ContentKey) {
    let decrypted = |bytes: &[u8], key: &ContentKey| {
        let mut bytes = bytes.to_vec();
        decrypt_samples(track, samples.clone(), key, &mut bytes).map(|()| bytes)
    };
    let clear = match decrypted(given, key) {
        Ok(clear) => clear,
        Err(error) => return in_a_line(error, LONGEST),
    };
    clear_bytes_stay(track, samples.clone(), given, &clear);
    let protection = track.protection().expect("an encrypted track");
    if protection.source().scheme == SourceScheme::Cenc {
        assert_eq!(decrypted(&clear, key).as_deref(), Ok(given));
    }
    // Of another length, they are not these samples.
    let longer = [given, b"x"].concat();
    in_a_line(decrypted(&longer, key).expect_err("a byte too many"), LONGEST);
}

pub fn run(input: &[u8]) {
    let Some((key, file)) = input.split_first() else {
        return;
    };
    let Ok(index) = build(file, 0) else { return };
    if index.media.is_some() {
        return;
    }
    let Ok(tracks) = planned(&index) else { return };
    let key = ContentKey::new([*key; 16]);
    for (track, segments) in &tracks {
        if track.protection().is_none() {
            continue;
        }
        for planned in segments.segments.iter().take(64) {
            let Ok(made) = media_segment(track, planned.samples.clone(), 1) else {
                panic!("a planned segment is not packaged");
            };
            let piece = |piece: &Range<u64>| &file[piece.start as usize..piece.end as usize];
            let given: Vec<u8> = made.pieces.iter().flat_map(piece).copied().collect();
            segment(track, planned.samples.clone(), &given, &key);
        }
    }
}
