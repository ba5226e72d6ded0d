//! The index of a track and of a file: properties of a track, values derived from them, and its samples.

use serde::Deserialize;

use super::codec::{AudioInfo, MediaInfo, VideoInfo, read_entry};
use super::error::IndexError;
use super::protection::ProtectionTable;
use super::samples::{Sample, SampleTable};
use super::statistics::Statistics;

/// What a track carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrackKind {
    /// Pictures (handler `vide`).
    Video,
    /// Sound (handler `soun`).
    Audio,
}

/// How pictures are shown, as the track header says it (ISO/IEC 14496-12, 8.3.2): carried over as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Display {
    /// The transformation matrix: nine numbers in fixed point.
    pub matrix: [u8; 36],
    /// Width in pixels, 16.16.
    pub width: u32,
    /// Height in pixels, 16.16.
    pub height: u32,
}

/// What the headers of a track say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackHead {
    /// Its identifier in the source.
    pub track_id: u32,
    /// What it carries.
    pub kind: TrackKind,
    /// Units of its times in a second; above zero.
    pub timescale: u32,
    /// As BCP 47 or ISO 639-2 writes it; `und` where the file does not know.
    pub language: String,
    /// What the edit list adds to composition times, in units of the timescale, so that they become presentation times:
    /// the delay of an empty edit less the media time at which the media edit begins.
    pub presentation_shift: i64,
    /// From the track header.
    pub display: Display,
    /// The sample entry: the whole box, as it is of clear samples.
    pub sample_entry: Vec<u8>,
}

/// Properties of a track for manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackInfo {
    /// What it carries.
    pub kind: TrackKind,
    /// Codec string after RFC 6381, such as `avc1.64001F`.
    pub codec: String,
    /// As BCP 47 or ISO 639-2 writes it; `und` where the file does not know.
    pub language: String,
    /// Units of its times in a second; above zero.
    pub timescale: u32,
    /// Picture or sound.
    pub media: MediaInfo,
    /// Bits a second over the whole track.
    pub average_bitrate: u64,
    /// Bits a second in the densest second, counted in whole seconds of decode time.
    pub peak_bitrate: u64,
    /// Presentation time of the first sample that is shown, in units of the timescale; below zero where an edit list
    /// cuts it off.
    pub start: i64,
    /// Presentation time at which the last sample ends.
    pub end: i64,
}

impl TrackInfo {
    /// Of a video track.
    pub fn video(&self) -> Option<&VideoInfo> {
        match &self.media {
            MediaInfo::Video(video) => Some(video),
            MediaInfo::Audio(_) => None,
        }
    }

    /// Of an audio track.
    pub fn audio(&self) -> Option<&AudioInfo> {
        match &self.media {
            MediaInfo::Audio(audio) => Some(audio),
            MediaInfo::Video(_) => None,
        }
    }
}

/// One track: headers, samples, and what follows from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackIndex {
    head: TrackHead,
    info: TrackInfo,
    samples: SampleTable,
    protection: Option<ProtectionTable>,
}

impl TrackIndex {
    /// An index of these headers and samples.
    ///
    /// # Errors
    ///
    /// Sample entries that cannot be read, or whose codec is not known here; tracks without samples or timescale.
    pub(super) fn new(
        head: TrackHead,
        samples: SampleTable,
        protection: Option<ProtectionTable>,
    ) -> Result<Self, IndexError> {
        let place = format!("track {}", head.track_id);
        if head.timescale == 0 {
            return Err(IndexError::broken(place, "its timescale is zero"));
        }
        if samples.is_empty() {
            return Err(IndexError::broken(place, "it has no samples"));
        }
        if protection
            .as_ref()
            .is_some_and(|table| table.len() != samples.len() as usize)
        {
            return Err(IndexError::broken(
                place,
                "its encryption data is of other samples",
            ));
        }
        let (codec, mut media) = read_entry(&head.sample_entry, &place)?;
        let statistics = Statistics::of(&samples, head.timescale);
        if let MediaInfo::Video(video) = &mut media {
            video.frame_rate = statistics.frame_rate;
        }
        let fits = matches!(
            (head.kind, &media),
            (TrackKind::Video, MediaInfo::Video(_)) | (TrackKind::Audio, MediaInfo::Audio(_))
        );
        if !fits {
            return Err(IndexError::broken(place, "its handler does not match its codec"));
        }
        let info = TrackInfo {
            kind: head.kind,
            codec,
            language: head.language.clone(),
            timescale: head.timescale,
            media,
            average_bitrate: statistics.average_bitrate,
            peak_bitrate: statistics.peak_bitrate,
            start: statistics
                .composition_start
                .saturating_add(head.presentation_shift),
            end: statistics.composition_end.saturating_add(head.presentation_shift),
        };
        Ok(TrackIndex {
            head,
            info,
            samples,
            protection,
        })
    }

    /// What the headers say.
    pub fn head(&self) -> &TrackHead {
        &self.head
    }

    /// What manifests say.
    pub fn info(&self) -> &TrackInfo {
        &self.info
    }

    /// The samples in decoding order.
    pub fn samples(&self) -> &SampleTable {
        &self.samples
    }

    /// How the samples are encrypted in the file; none if they are clear.
    pub fn protection(&self) -> Option<&ProtectionTable> {
        self.protection.as_ref()
    }

    /// When a sample of this track is shown, in units of the timescale, on the timeline of the presentation.
    pub fn presentation_time(&self, sample: &Sample) -> i64 {
        sample
            .composition_time()
            .saturating_add(self.head.presentation_shift)
    }

    /// Bytes of memory that this index takes, without what the allocator adds.
    pub fn memory_bytes(&self) -> usize {
        let texts = self.head.language.len() * 2 + self.info.codec.len() + self.head.sample_entry.len();
        let protection = self.protection.as_ref().map_or(0, ProtectionTable::memory_bytes);
        size_of::<Self>() + texts + self.samples.memory_bytes() + protection
    }
}

/// A track of the file that is not served, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    /// Its identifier in the source.
    pub track_id: u32,
    /// One line.
    pub why: String,
}

/// The index of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileIndex {
    /// Length of the file that was indexed, in bytes.
    pub file_length: u64,
    /// Where the media are if not in that file, as its data references say it: this is then a dref MP4, and the
    /// positions of all samples count in that other file.
    pub media: Option<String>,
    /// The tracks that can be served, in the order of the file.
    pub tracks: Vec<TrackIndex>,
    /// The others.
    pub passed_over: Vec<PassedOver>,
}
