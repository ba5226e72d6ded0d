//! Choosing tracks by what they are: `codec=avc1;height<=720;bitrate<3000000;language=en,de`. A condition on something
//! that a kind of track does not have (the height of audio) leaves that kind alone: bitrates and heights choose among
//! video, and a codec among the kind of track that it belongs to.

use thiserror::Error;

use crate::index::{TrackInfo, TrackKind};

use super::{Presentation, Rendition};

/// Bytes of a filter, at most.
const MAX_FILTER_BYTES: usize = 512;

/// Conditions that tracks have to meet, all of them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    /// Codec strings begin with one of these.
    Codec(Vec<String>),
    /// Languages, or what they begin with up to a hyphen.
    Language(Vec<String>),
    Number(Quantity, Comparison, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Height,
    Bitrate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
}

/// An invalid filter, or one that no track matches.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FilterError {
    /// Too long.
    #[error("the filter has {length} bytes; the maximum is {MAX_FILTER_BYTES}")]
    TooLong {
        /// Bytes given.
        length: usize,
    },
    /// A condition that cannot be read.
    #[error(
        "'{}' is not a filter condition; write conditions like codec=avc1, height<=720, bitrate<3000000 or language=en,de, with ';' between them",
        condition.escape_debug()
    )]
    Condition {
        /// What was given.
        condition: String,
    },
    /// No track meets it.
    #[error("no track matches the filter")]
    NothingLeft,
}

impl Filter {
    /// Reads conditions with semicolons between them.
    ///
    /// # Errors
    ///
    /// Texts above 512 bytes, and conditions of another form.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        if text.len() > MAX_FILTER_BYTES {
            return Err(FilterError::TooLong { length: text.len() });
        }
        let conditions = text
            .split(';')
            .filter(|condition| !condition.is_empty())
            .map(|condition| {
                parse_condition(condition).ok_or_else(|| FilterError::Condition {
                    condition: condition.to_owned(),
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Filter { conditions })
    }

    fn admits(&self, rendition: &Rendition) -> bool {
        self.conditions
            .iter()
            .all(|condition| condition.admits(rendition))
    }
}

fn parse_condition(text: &str) -> Option<Condition> {
    let at = text.find(['<', '>', '='])?;
    let (name, rest) = text.split_at(at);
    let (comparison, value) = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Below),
        (">", Comparison::Above),
        ("=", Comparison::Equal),
    ]
    .into_iter()
    .find_map(|(sign, comparison)| Some((comparison, rest.strip_prefix(sign)?)))?;
    let list = || {
        let values: Vec<String> = value.split(',').map(str::to_ascii_lowercase).collect();
        let whole = comparison == Comparison::Equal && values.iter().all(|value| !value.is_empty());
        whole.then_some(values)
    };
    let number = || {
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        value.parse().ok().filter(|_| digits)
    };
    match name {
        "codec" => list().map(Condition::Codec),
        "language" => list().map(Condition::Language),
        "height" => Some(Condition::Number(Quantity::Height, comparison, number()?)),
        "bitrate" => Some(Condition::Number(Quantity::Bitrate, comparison, number()?)),
        _ => None,
    }
}

impl Condition {
    fn admits(&self, rendition: &Rendition) -> bool {
        let info = &rendition.info;
        match self {
            Condition::Codec(codecs) => {
                let kinds = codecs.iter().map(|codec| kind_of(codec));
                let concerned = kinds.flatten().any(|kind| kind == info.kind);
                let codec = info.codec.to_ascii_lowercase();
                !concerned || codecs.iter().any(|wanted| codec.starts_with(wanted))
            }
            Condition::Language(languages) => is_spoken(languages, rendition.language.as_deref()),
            Condition::Number(quantity, comparison, limit) => {
                quantity.of(info).is_none_or(|value| match comparison {
                    Comparison::AtMost => value <= *limit,
                    Comparison::Below => value < *limit,
                    Comparison::AtLeast => value >= *limit,
                    Comparison::Above => value > *limit,
                    Comparison::Equal => value == *limit,
                })
            }
        }
    }
}

impl Quantity {
    fn of(self, info: &TrackInfo) -> Option<u64> {
        let video = info.video()?;
        Some(match self {
            Quantity::Height => video.height.into(),
            Quantity::Bitrate => info.average_bitrate,
        })
    }
}

/// Whether what has this language is asked for: by the whole of its tag or by what that begins with up to a hyphen, in
/// either case. What has no language always is.
fn is_spoken(languages: &[String], language: Option<&str>) -> bool {
    language.is_none_or(|language| {
        let primary = language.split('-').next().unwrap_or_default();
        let is_it =
            |wanted: &str| wanted.eq_ignore_ascii_case(language) || wanted.eq_ignore_ascii_case(primary);
        languages.iter().any(|wanted| is_it(wanted))
    })
}

/// The kind of track that a codec belongs to.
fn kind_of(codec: &str) -> Option<TrackKind> {
    const VIDEO: [&str; 3] = ["av", "hvc", "hev"];
    const AUDIO: [&str; 4] = ["mp4a", "opus", "ac-3", "ec-3"];
    if VIDEO.iter().any(|start| codec.starts_with(start)) {
        return Some(TrackKind::Video);
    }
    let is_audio = AUDIO.iter().any(|start| codec.starts_with(start));
    is_audio.then_some(TrackKind::Audio)
}

impl Presentation {
    /// The tracks that meet the filter, and the subtitles of the languages that it asks for.
    ///
    /// # Errors
    ///
    /// Filters that no video track meets where there are some, or no track at all.
    pub fn filter(&self, filter: &Filter) -> Result<Presentation, FilterError> {
        let mut kept = self.clone();
        kept.renditions.retain(|rendition| filter.admits(rendition));
        let wanted = |language: Option<&str>| {
            filter.conditions.iter().all(|condition| match condition {
                Condition::Language(languages) => is_spoken(languages, language),
                _ => true,
            })
        };
        kept.subtitles.retain(|text| wanted(text.language.as_deref()));
        let had_video = self.of_kind(TrackKind::Video).next().is_some();
        let has_video = kept.of_kind(TrackKind::Video).next().is_some();
        if kept.renditions.is_empty() || had_video && !has_video {
            return Err(FilterError::NothingLeft);
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::index::{AudioInfo, MediaInfo, VideoInfo};
    use crate::presentation::Subtitles;
    use crate::segments::TrackSegments;

    fn rendition(name: &str, language: &str, average_bitrate: u64, media: MediaInfo) -> Rendition {
        let (kind, codec) = match media {
            MediaInfo::Video(_) => (TrackKind::Video, "avc1.64001F"),
            MediaInfo::Audio(_) => (TrackKind::Audio, "mp4a.40.2"),
        };
        let info = TrackInfo {
            kind,
            codec: codec.to_owned(),
            language: language.to_owned(),
            timescale: 1000,
            media,
            average_bitrate,
            // Above what any filter of the tests asks for, so that only averages can meet it.
            peak_bitrate: 90_000_000,
            start: 0,
            end: 4000,
        };
        let segments = TrackSegments {
            timescale: 1000,
            segments: Vec::new(),
        };
        Rendition::new(name, info, Arc::new(segments))
    }

    fn video(name: &str, height: u16, average_bitrate: u64) -> Rendition {
        let picture = VideoInfo {
            width: height * 16 / 9,
            height,
            pixel_aspect: (1, 1),
            frame_rate: None,
        };
        rendition(name, "und", average_bitrate, MediaInfo::Video(picture))
    }

    fn audio(name: &str, language: &str) -> Rendition {
        let sound = AudioInfo {
            sample_rate: 48_000,
            channels: 2,
            channel_configuration: Some(2),
        };
        rendition(name, language, 4_000_000, MediaInfo::Audio(sound))
    }

    fn subtitles(name: &str, language: Option<&str>) -> Subtitles {
        Subtitles {
            name: name.to_owned(),
            language: language.map(str::to_owned),
            label: None,
            roles: Vec::new(),
            default: false,
        }
    }

    /// Names of what a filter leaves.
    fn left(filter: &str) -> Result<Vec<String>, FilterError> {
        let renditions = vec![
            video("low", 90, 1_000_000),
            video("middle", 360, 3_000_000),
            video("high", 720, 6_000_000),
            audio("en", "en-GB"),
            audio("de", "de"),
            audio("none", "und"),
        ];
        let texts = vec![
            subtitles("text-en", Some("en-GB")),
            subtitles("text-pt", Some("pt-BR")),
            subtitles("text-none", None),
        ];
        let presentation = Presentation::new(renditions, texts).expect("a presentation");
        let kept = presentation.filter(&Filter::parse(filter)?)?;
        let tracks = kept.renditions().iter().map(|rendition| rendition.name.clone());
        let texts = kept.subtitles().iter().map(|text| text.name.clone());
        Ok(tracks.chain(texts).collect())
    }

    fn names(names: &[&str]) -> Result<Vec<String>, FilterError> {
        Ok(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn filters_that_say_nothing_or_leave_nothing_are_refused() {
        for wrong in [
            "height",
            "height<=x",
            "height<=+1",
            "width=3",
            "codec<avc1",
            "codec=",
            "language=,de",
        ] {
            let error = left(wrong).expect_err(wrong).to_string();
            assert!(error.contains("not a filter condition"), "{error}");
        }
        assert_eq!(left("codec=av01"), Err(FilterError::NothingLeft));
    }

    #[test]
    fn bitrates_heights_and_codecs_choose_among_video() {
        const REST: [&str; 6] = ["en", "de", "none", "text-en", "text-pt", "text-none"];
        for (filter, videos) in [
            ("bitrate<3000000", &["low"][..]),
            ("bitrate<=3000000", &["low", "middle"]),
            ("bitrate=3000000", &["middle"]),
            ("bitrate>=3000000", &["middle", "high"]),
            ("bitrate>3000000", &["high"]),
            ("bitrate>=1000000;bitrate<6000000", &["low", "middle"]),
            ("height<=100", &["low"]),
            ("height>90", &["middle", "high"]),
            ("codec=avc1", &["low", "middle", "high"]),
            ("codec=avc1,mp4a", &["low", "middle", "high"]),
        ] {
            assert_eq!(left(filter), names(&[videos, &REST].concat()), "{filter}");
        }
    }

    #[test]
    fn tracks_and_subtitles_are_of_a_language_by_the_same_rule() {
        const VIDEO: [&str; 3] = ["low", "middle", "high"];
        for (filter, spoken) in [
            ("language=en", &["en", "none", "text-en", "text-none"][..]),
            ("language=EN-gb", &["en", "none", "text-en", "text-none"]),
            ("language=en-US", &["none", "text-none"]),
            ("language=pt", &["none", "text-pt", "text-none"]),
            ("language=de,pt-br", &["de", "none", "text-pt", "text-none"]),
        ] {
            assert_eq!(left(filter), names(&[&VIDEO, spoken].concat()), "{filter}");
        }
    }
}
