//! What a title is made of, as its owner describes it: a manifest of Weir's own (`title.toml`, `title.json`) or a
//! server manifest in SMIL (`.ism`). It reads text and says which files and tracks are meant. It must not know whether
//! they are there, nor where.

mod own;
mod smil;

use serde::Deserialize;
use thiserror::Error;
use weir_units::TimeSpan;

use crate::index::TrackKind;
use crate::presentation::{MAX_NAME_BYTES, is_name};

/// Bytes of a manifest, at most.
pub const MOST_MANIFEST_BYTES: u64 = 256 << 10;
/// Tracks of a title, and subtitles of one, at most.
const MOST_ENTRIES: usize = 256;
const MOST_FILE_BYTES: usize = 1024;
const MOST_LABEL_BYTES: usize = 128;
/// What RFC 5646 (4.4.1) asks to make room for.
const MOST_LANGUAGE_BYTES: usize = 35;
const MOST_ROLES: usize = 8;
/// Characters of a message about a text that others wrote.
const MOST_MESSAGE: usize = 400;

/// How a manifest is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestForm {
    /// Weir's own, as TOML.
    Toml,
    /// Weir's own, as JSON: the same keys.
    Json,
    /// SMIL 2.0, as origins of others write it.
    Smil,
}

impl ManifestForm {
    /// By the ending of a file's name, without the dot.
    pub fn of_ending(ending: &str) -> Option<ManifestForm> {
        match ending.to_ascii_lowercase().as_str() {
            "toml" => Some(ManifestForm::Toml),
            "json" => Some(ManifestForm::Json),
            "ism" => Some(ManifestForm::Smil),
            _ => None,
        }
    }
}

/// A manifest that says nothing that can be followed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// Longer than the limit.
    #[error("it has {bytes} bytes; the maximum is {MOST_MANIFEST_BYTES}")]
    Long {
        /// Its bytes.
        bytes: usize,
    },
    /// Another encoding.
    #[error("it is not valid UTF-8")]
    Encoding,
    /// No TOML, JSON or XML, or not with the keys that there are.
    #[error("{0}")]
    Syntax(String),
    /// A value that cannot be.
    #[error("{place}: {why}")]
    Value {
        /// Which, such as `track 2, language`.
        place: String,
        /// What would be right.
        why: String,
    },
    /// More tracks or subtitles than the limit.
    #[error("it names more than {MOST_ENTRIES} {what}")]
    TooMany {
        /// Tracks or subtitles.
        what: &'static str,
    },
    /// Nothing to play.
    #[error("it names neither video nor audio")]
    Empty,
}

/// A track, or all tracks of a kind, of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackEntry {
    /// The file, relative to the manifest's own folder.
    pub file: String,
    /// Only tracks of this kind.
    pub kind: Option<TrackKind>,
    /// Only the track with this identifier.
    #[serde(rename = "track")]
    pub track_id: Option<u32>,
    /// What it is called in addresses.
    pub name: Option<String>,
    /// Language after BCP 47, in place of the file's own.
    pub language: Option<String>,
    /// What a viewer reads in a menu.
    pub label: Option<String>,
    /// Roles of DASH.
    #[serde(default)]
    pub roles: Vec<String>,
    /// It is chosen if the viewer chooses nothing.
    #[serde(default)]
    pub default: bool,
}

/// Subtitles as a WebVTT file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubtitlesEntry {
    /// The file, relative to the manifest's own folder.
    pub file: String,
    /// What they are called in addresses.
    pub name: Option<String>,
    /// Language after BCP 47.
    pub language: Option<String>,
    /// What a viewer reads in a menu.
    pub label: Option<String>,
    /// Roles of DASH.
    #[serde(default)]
    pub roles: Vec<String>,
    /// They are shown if the viewer chooses nothing.
    #[serde(default)]
    pub default: bool,
}

/// The part of a title that is offered, in nanoseconds of its own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clip {
    /// Where it begins.
    pub start: u64,
    /// Where it ends; the title's end if none.
    pub end: Option<u64>,
}

/// What a title is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TitleManifest {
    /// At least one.
    pub tracks: Vec<TrackEntry>,
    /// Any number.
    pub subtitles: Vec<SubtitlesEntry>,
    /// All of it if none.
    pub clip: Option<Clip>,
    /// What is named and cannot be offered, and why; one line each.
    pub passed_over: Vec<String>,
}

impl TitleManifest {
    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// Text of another form, too long, with keys that are not known, or values that cannot be; each in one line.
    pub fn parse(bytes: &[u8], form: ManifestForm) -> Result<TitleManifest, ManifestError> {
        if bytes.len() as u64 > MOST_MANIFEST_BYTES {
            return Err(ManifestError::Long { bytes: bytes.len() });
        }
        let text = str::from_utf8(bytes).map_err(|_| ManifestError::Encoding)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let manifest = match form {
            ManifestForm::Toml => own::from_toml(text)?,
            ManifestForm::Json => own::from_json(text)?,
            ManifestForm::Smil => smil::from_smil(text)?,
        };
        manifest.check()?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), ManifestError> {
        if self.tracks.is_empty() {
            return Err(ManifestError::Empty);
        }
        for (count, what) in [
            (self.tracks.len(), "tracks"),
            (self.subtitles.len(), "subtitle files"),
        ] {
            if count > MOST_ENTRIES {
                return Err(ManifestError::TooMany { what });
            }
        }
        for (number, track) in self.tracks.iter().enumerate() {
            let place = format!("track {}", number + 1);
            check_file(&place, &track.file)?;
            check_texts(&place, &track.name, &track.language, &track.label, &track.roles)?;
        }
        for (number, text) in self.subtitles.iter().enumerate() {
            let place = format!("subtitles {}", number + 1);
            check_file(&place, &text.file)?;
            check_texts(&place, &text.name, &text.language, &text.label, &text.roles)?;
        }
        Ok(())
    }
}

fn wrong(place: &str, key: &str, why: impl Into<String>) -> ManifestError {
    ManifestError::Value {
        place: format!("{place}, {key}"),
        why: why.into(),
    }
}

fn check_file(place: &str, file: &str) -> Result<(), ManifestError> {
    if file.is_empty() || file.len() > MOST_FILE_BYTES || file.contains(char::is_control) {
        let why = format!("write the path of a file of 1 to {MOST_FILE_BYTES} bytes");
        return Err(wrong(place, "file", why));
    }
    if file.contains("://") {
        let why = "only files in the folder of the manifest or below it can be named, not URLs";
        return Err(wrong(place, "file", why));
    }
    Ok(())
}

fn check_texts(
    place: &str,
    name: &Option<String>,
    language: &Option<String>,
    label: &Option<String>,
    roles: &[String],
) -> Result<(), ManifestError> {
    if name.as_ref().is_some_and(|name| !is_name(name)) {
        let why = format!("write 1 to {MAX_NAME_BYTES} letters, digits, '-' and '_'");
        return Err(wrong(place, "name", why));
    }
    if language.as_ref().is_some_and(|language| !is_tag(language)) {
        return Err(wrong(
            place,
            "language",
            "write a BCP 47 language tag, such as en or pt-BR",
        ));
    }
    let is_label =
        |label: &String| (1..=MOST_LABEL_BYTES).contains(&label.len()) && !label.contains(char::is_control);
    if label.as_ref().is_some_and(|label| !is_label(label)) {
        let why = format!("write 1 to {MOST_LABEL_BYTES} bytes on one line");
        return Err(wrong(place, "label", why));
    }
    if roles.len() > MOST_ROLES || !roles.iter().all(|role| is_name(role)) {
        let why = format!("write at most {MOST_ROLES} DASH roles, such as main, commentary or caption");
        return Err(wrong(place, "roles", why));
    }
    Ok(())
}

/// Whether this looks like a language tag: parts of letters and digits, joined by `-`.
fn is_tag(tag: &str) -> bool {
    let is_part =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    tag.len() <= MOST_LANGUAGE_BYTES && tag.split('-').all(is_part)
}

/// A clip from `start` to `end`, as they are written.
fn clip(start: Option<&str>, end: Option<&str>) -> Result<Clip, ManifestError> {
    let time = |key: &str, text: &str| {
        let time: Result<TimeSpan, _> = text.parse();
        time.map(|time| time.0)
            .map_err(|error| wrong("clip", key, one_line(&error.to_string())))
    };
    let start = start.map_or(Ok(0), |text| time("start", text))?;
    let end = end.map(|text| time("end", text)).transpose()?;
    if end.is_some_and(|end| end <= start) {
        return Err(wrong("clip", "end", "it must be after the start"));
    }
    Ok(Clip { start, end })
}

/// A message that may quote what somebody else wrote, as one line of bounded length.
fn one_line(message: &str) -> String {
    let plain = message.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = plain.take(MOST_MESSAGE).collect();
    line.truncate(line.trim_end().len());
    line
}
