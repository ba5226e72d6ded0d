//! A track whose segments are encrypted: which bytes of each sample, with which initialization vector, and the segments
//! that come of it. It must not know who asks for them.

use std::ops::Range;

use super::boxes::{
    Auxiliary, IV_BYTES, SampleInformation, protected_entry, room_bytes, whole_samples_bytes,
};
use super::cipher::{BLOCK, Cipher, encrypt_whole};
use super::error::{EncryptionError, MOST_SAMPLES};
use super::protection::{Protection, Pssh, Scheme};
use super::streamed::{PayloadCipher, StreamedSegment, Vectors};
use super::subsample::Subsample;
use super::units::VideoFormat;
use crate::index::{TrackIndex, TrackKind};
use crate::package::{
    MediaSegment, SingleFile, init_segment, init_segment_with, media_segment, media_segment_length,
    media_segment_with,
};
use crate::segments::TrackSegments;

/// Bits of an initialization vector that count samples.
const SAMPLE_BITS: u32 = MOST_SAMPLES.ilog2();

/// What tells the samples of a track from those of all other tracks under the same key, in 40 bits: the upper part of
/// the initialization vectors of `cenc`. It has to change with the track's media.
///
/// An initialization vector of `cenc` is these 40 bits and behind them the sample's number in 24 bits; the other eight
/// bytes of the counter count blocks from 0. So no two samples of a track are encrypted with the same counter, and
/// those of two tracks only if their 40 bits are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TrackNonce(u64);

impl TrackNonce {
    /// Of the lowest 40 bits of a hash.
    pub fn from_hash(hash: u64) -> Self {
        TrackNonce(hash & ((1 << 40) - 1))
    }

    fn iv(self, sample: u32) -> Result<[u8; IV_BYTES], EncryptionError> {
        if sample >= MOST_SAMPLES {
            return Err(EncryptionError::TooManySamples { number: sample });
        }
        Ok((self.0 << SAMPLE_BITS | u64::from(sample)).to_be_bytes())
    }
}

/// Which bytes of a sample are encrypted.
enum Layout {
    /// Segments as wholes, headers too.
    Segments,
    /// Samples as wholes.
    Samples,
    /// Of each sample what its codec lets be.
    Slices(VideoFormat),
}

/// Makes the segments of a track.
pub struct TrackEncryptor<'t> {
    track: &'t TrackIndex,
    protection: &'t Protection,
    nonce: TrackNonce,
    layout: Layout,
}

impl<'t> TrackEncryptor<'t> {
    /// For one track.
    ///
    /// # Errors
    ///
    /// Video of which it is not known here what has to stay clear, and sample entries that cannot be read.
    pub fn new(
        track: &'t TrackIndex,
        protection: &'t Protection,
        nonce: TrackNonce,
    ) -> Result<Self, EncryptionError> {
        let scheme = protection.announcement.scheme;
        let codec = || track.info().codec.clone();
        let layout = match (scheme, track.info().kind) {
            (Scheme::Aes128, _) => Layout::Segments,
            (_, TrackKind::Audio) => Layout::Samples,
            (_, TrackKind::Video) => {
                let format = VideoFormat::of_sample_entry(&track.head().sample_entry, &codec())?;
                let format = format.ok_or_else(|| EncryptionError::Codec {
                    codec: codec(),
                    scheme,
                })?;
                Layout::Slices(format)
            }
        };
        Ok(TrackEncryptor {
            track,
            protection,
            nonce,
            layout,
        })
    }

    /// The initialization segment, encrypted itself by AES-128 alone.
    ///
    /// # Errors
    ///
    /// Sample entries that cannot be read.
    pub fn init_segment(&self) -> Result<Vec<u8>, EncryptionError> {
        let announcement = &self.protection.announcement;
        if let Layout::Segments = self.layout {
            let clear = init_segment(self.track);
            return Ok(encrypt_whole(&self.protection.key, &announcement.iv, clear));
        }
        let head = self.track.head();
        let entry = protected_entry(&head.sample_entry, self.track.info().kind, announcement)?;
        let systems = announcement.systems.iter().map(Pssh::bytes);
        Ok(init_segment_with(self.track, &entry, systems))
    }

    /// A media segment: headers and encrypted payload. `payload` is the clear payload: the pieces of [`media_segment`]
    /// for the same samples.
    ///
    /// # Errors
    ///
    /// Samples that the track does not have or that cannot be read, and a payload that is not theirs.
    pub fn media_segment(
        &self,
        samples: Range<u32>,
        sequence: u32,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, EncryptionError> {
        self.segment_with(samples, sequence, payload, Some)
    }

    /// The track as a single file, of which the layout is known without any sample. Segment `n` is what
    /// [`Self::segment_of_single_file`] gives for the samples of segment `n` and the sequence number `n + 1`, or
    /// [`Self::streamed_segment`] where that gives something.
    ///
    /// # Errors
    ///
    /// As [`SingleFile::new`] and [`Self::init_segment`].
    pub fn single_file(&self, segments: &TrackSegments) -> Result<SingleFile, EncryptionError> {
        let length = |samples: Range<u32>| {
            let count = samples.len() as u64;
            let clear = media_segment_length(self.track, samples)?;
            Ok(match (&self.layout, self.has_vectors()) {
                (Layout::Segments, _) => whole_length(clear),
                (Layout::Samples, true) => clear + whole_samples_bytes(count),
                (Layout::Samples, false) => clear,
                (Layout::Slices(_), has_vectors) => clear + room_bytes(count, has_vectors),
            })
        };
        SingleFile::laid_out(self.init_segment()?, self.track, segments, length)
    }

    /// [`Self::media_segment`] for a single file: encryption data of samples with subsamples has a length that is known
    /// in advance.
    ///
    /// # Errors
    ///
    /// As [`Self::media_segment`], and [`EncryptionError::NoRoom`].
    pub fn segment_of_single_file(
        &self,
        samples: Range<u32>,
        sequence: u32,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, EncryptionError> {
        let fill = |auxiliary: Auxiliary| auxiliary.filling_room(self.has_vectors());
        self.segment_with(samples, sequence, payload, fill)
    }

    /// Whether each sample has an initialization vector of its own.
    fn has_vectors(&self) -> bool {
        self.protection.announcement.scheme == Scheme::Cenc
    }

    /// `fitted` gives the encryption data of samples its required length, if possible.
    fn segment_with(
        &self,
        samples: Range<u32>,
        sequence: u32,
        mut payload: Vec<u8>,
        fitted: impl FnOnce(Auxiliary) -> Option<Auxiliary>,
    ) -> Result<Vec<u8>, EncryptionError> {
        let clear = media_segment(self.track, samples.clone(), sequence)?;
        let wanted = clear.length - clear.header.len() as u64;
        if payload.len() as u64 != wanted {
            return Err(EncryptionError::Payload {
                given: payload.len() as u64,
                wanted,
            });
        }
        let streamed = match &self.layout {
            Layout::Segments => self.whole_segment(samples, sequence)?,
            Layout::Samples => self.whole_samples(samples, sequence)?,
            Layout::Slices(format) => {
                let auxiliary = self.encrypt_slices(format.clone(), samples.clone(), &mut payload)?;
                let auxiliary = fitted(auxiliary).ok_or_else(|| EncryptionError::NoRoom {
                    samples: samples.clone(),
                })?;
                let mut whole = media_segment_with(self.track, samples, sequence, Some(&auxiliary))?.header;
                whole.append(&mut payload);
                return Ok(whole);
            }
        };
        let (header, mut cipher) = (streamed.segment.header, streamed.payload);
        Ok([header, cipher.push(&payload), cipher.finish()].concat())
    }

    /// The same for a payload that is encrypted while it arrives; nothing where headers tell what samples hold, so that
    /// all samples have to be there first: video with subsamples.
    ///
    /// # Errors
    ///
    /// Samples that the track does not have.
    pub fn streamed_segment(
        &self,
        samples: Range<u32>,
        sequence: u32,
    ) -> Result<Option<StreamedSegment>, EncryptionError> {
        match self.layout {
            Layout::Segments => self.whole_segment(samples, sequence).map(Some),
            Layout::Samples => self.whole_samples(samples, sequence).map(Some),
            Layout::Slices(_) => Ok(None),
        }
    }

    fn whole_segment(&self, samples: Range<u32>, sequence: u32) -> Result<StreamedSegment, EncryptionError> {
        let clear = media_segment(self.track, samples, sequence)?;
        let cipher = Cipher::new(&self.protection.key);
        let mut payload = PayloadCipher::whole(cipher, self.protection.announcement.iv);
        let segment = MediaSegment {
            header: payload.push(&clear.header),
            length: whole_length(clear.length),
            ..clear
        };
        Ok(StreamedSegment { segment, payload })
    }

    fn whole_samples(&self, samples: Range<u32>, sequence: u32) -> Result<StreamedSegment, EncryptionError> {
        // They are not more than a segment takes, if this can be made.
        let clear = media_segment(self.track, samples.clone(), sequence)?;
        let wanted = self.track.samples().range(samples.clone());
        let sizes = wanted.map(|sample| sample.size).collect();
        let announcement = &self.protection.announcement;
        let (segment, vectors) = match announcement.scheme {
            Scheme::Cenc => {
                let vectors = samples.clone().map(|number| self.nonce.iv(number));
                let vectors = vectors.collect::<Result<Vec<_>, _>>()?;
                let auxiliary = Auxiliary::of_whole_samples(&vectors);
                let segment = media_segment_with(self.track, samples, sequence, Some(&auxiliary))?;
                (segment, Vectors::Each(vectors))
            }
            // With one initialization vector for all, and samples protected as wholes, there is nothing to tell.
            _ => (clear, Vectors::Constant(announcement.iv)),
        };
        let cipher = Cipher::new(&self.protection.key);
        Ok(StreamedSegment {
            segment,
            payload: PayloadCipher::samples(cipher, vectors, sizes),
        })
    }

    /// Encrypts consecutive samples, and returns their encryption data.
    fn encrypt_slices(
        &self,
        mut format: VideoFormat,
        samples: Range<u32>,
        payload: &mut [u8],
    ) -> Result<Auxiliary, EncryptionError> {
        let cipher = Cipher::new(&self.protection.key);
        let scheme = self.protection.announcement.scheme;
        let (mut all, mut lengths) = (Vec::new(), Vec::new());
        let mut rest = payload;
        for sample in self.track.samples().range(samples) {
            let number = sample.number;
            let failed = |error| EncryptionError::Sample { number, error };
            // The sum of all sizes was compared with the payload.
            let (bytes, behind) = rest
                .split_at_mut_checked(sample.size as usize)
                .unwrap_or_default();
            rest = behind;
            let subsamples = format.subsamples(bytes, scheme).map_err(failed)?;
            let iv = match scheme {
                Scheme::Cenc => Some(self.nonce.iv(number)?),
                _ => None,
            };
            self.encrypt_sample(&cipher, iv, &subsamples, bytes);
            let information = SampleInformation {
                iv,
                subsamples: Some(subsamples),
            };
            lengths.push(information.length().map_err(failed)?);
            all.push(information);
        }
        Ok(Auxiliary::new(all, lengths))
    }

    fn encrypt_sample(
        &self,
        cipher: &Cipher,
        iv: Option<[u8; IV_BYTES]>,
        subsamples: &[Subsample],
        bytes: &mut [u8],
    ) {
        let mut count = iv.map(|iv| cipher.counter(iv));
        for range in protected_ranges(subsamples) {
            let Some(protected) = bytes.get_mut(range) else {
                continue;
            };
            match &mut count {
                Some(count) => count(protected),
                // The chain begins anew with each run (10.4.1).
                None => cipher.chain(&self.protection.announcement.iv, protected),
            }
        }
    }
}

/// Bytes of a segment that is encrypted as a whole: padding fills a block, or is one.
fn whole_length(clear: u64) -> u64 {
    (clear / BLOCK as u64 + 1) * BLOCK as u64
}

/// Where the protected bytes of a sample lie.
fn protected_ranges(subsamples: &[Subsample]) -> impl Iterator<Item = Range<usize>> + '_ {
    subsamples.iter().scan(0, |at, subsample| {
        let start = *at + usize::from(subsample.clear);
        *at = start + subsample.protected as usize;
        Some(start..*at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_samples_of_a_track_have_the_same_counter() {
        let nonce = TrackNonce::from_hash(0xffff_ff12_3456_789a);
        assert_eq!(nonce.iv(0).unwrap(), *b"\x12\x34\x56\x78\x9a\0\0\0");
        assert_eq!(
            nonce.iv(0x0001_0203).unwrap(),
            *b"\x12\x34\x56\x78\x9a\x01\x02\x03"
        );
        assert!(nonce.iv(MOST_SAMPLES - 1).is_ok());
        assert!(nonce.iv(MOST_SAMPLES).is_err());
    }
}
