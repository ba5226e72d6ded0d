//! Samples of a track that comes encrypted, decrypted in place. It must not know where the key comes from, nor what is made of
//! the samples.

use std::ops::Range;

use super::cipher::Cipher;
use super::content_key::ContentKey;
use super::error::EncryptionError;
use crate::index::{SampleProtection, SourceProtection, SourceScheme, TrackIndex};

/// Decrypts consecutive samples of a track, one behind the other; clear ones if the track is clear.
///
/// # Errors
/// A payload that is not theirs, and encryption data that does not fit the samples.
pub fn decrypt_samples(
    track: &TrackIndex,
    samples: Range<u32>,
    key: &ContentKey,
    payload: &mut [u8],
) -> Result<(), EncryptionError> {
    let Some(protection) = track.protection() else {
        return Ok(());
    };
    let given = payload.len() as u64;
    let wanted: u64 = track
        .samples()
        .range(samples.clone())
        .map(|sample| u64::from(sample.size))
        .sum();
    if given != wanted {
        return Err(EncryptionError::Payload { given, wanted });
    }
    let cipher = Cipher::new(key);
    let mut rest = payload;
    for sample in track.samples().range(samples) {
        let (bytes, behind) = rest
            .split_at_mut_checked(sample.size as usize)
            .unwrap_or_default();
        rest = behind;
        let number = sample.number;
        let wrong = EncryptionError::Source { number };
        let own = protection.sample(number).ok_or_else(|| wrong.clone())?;
        decrypt_sample(&cipher, protection.source(), own, bytes).ok_or(wrong)?;
    }
    Ok(())
}

/// Nothing if its subsamples are not its bytes.
fn decrypt_sample(
    cipher: &Cipher,
    source: &SourceProtection,
    own: SampleProtection<'_>,
    bytes: &mut [u8],
) -> Option<()> {
    let mut counting = cipher.counter_from(own.iv);
    let mut decrypt = |protected: &mut [u8]| match source.scheme {
        SourceScheme::Cenc => counting(protected),
        SourceScheme::Cbcs => cipher.unchain(own.iv, source.pattern, protected),
    };
    if own.subsamples().len() == 0 {
        decrypt(bytes);
        return Some(());
    }
    let mut rest = bytes;
    for (clear, protected) in own.subsamples() {
        let (_, behind) = rest.split_at_mut_checked(clear.into())?;
        let (protected, behind) = behind.split_at_mut_checked(protected as usize)?;
        decrypt(protected);
        rest = behind;
    }
    rest.is_empty().then_some(())
}
