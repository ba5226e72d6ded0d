//! Server manifests in SMIL 2.0 (`.ism`), as origins of others write them: a `switch` of `video`, `audio` and
//! `textstream` elements, each with the file (`src`), the track in it (`param` `trackID`), its language. Bitrates are
//! not read: they follow from the samples. What is not known is passed over, but for what would change what is played.
//! No entity is resolved but those of XML itself, and no document type is taken.

use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::{ManifestError, SubtitlesEntry, TitleManifest, TrackEntry, one_line};
use crate::index::TrackKind;
use crate::presentation::short_language;

/// Elements within each other, at most.
const MOST_DEPTH: usize = 32;

/// An element that names a file, until it ends.
struct Open {
    kind: Option<TrackKind>,
    depth: usize,
    src: Option<String>,
    language: Option<String>,
    track_id: Option<u32>,
    label: Option<String>,
}

pub(super) fn from_smil(text: &str) -> Result<TitleManifest, ManifestError> {
    let mut reader = Reader::from_str(text);
    let mut found = Found::default();
    loop {
        let event = reader.read_event().map_err(|error| {
            // A position lies within the text.
            let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
            let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
            ManifestError::Syntax(one_line(&format!("line {line}: {error}")))
        })?;
        match event {
            Event::Start(element) => {
                found.begin(&element)?;
            }
            Event::Empty(element) => {
                found.begin(&element)?;
                found.end();
            }
            Event::End(_) => found.end(),
            Event::DocType(_) => return Err(syntax("a document type declaration is not allowed")),
            Event::Eof if found.depth > 0 => return Err(syntax("it is truncated")),
            Event::Eof if !found.is_smil => return Err(syntax("it has no smil element")),
            Event::Eof => return Ok(found.manifest),
            _ => {}
        }
    }
}

fn syntax(what: impl Into<String>) -> ManifestError {
    ManifestError::Syntax(what.into())
}

#[derive(Default)]
struct Found {
    manifest: TitleManifest,
    depth: usize,
    is_smil: bool,
    open: Option<Open>,
}

impl Found {
    fn begin(&mut self, element: &BytesStart<'_>) -> Result<(), ManifestError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(syntax(format!("elements are nested more than {MOST_DEPTH} deep")));
        }
        let name = element.local_name();
        let name = name.as_ref();
        if self.depth == 1 {
            if name != b"smil" || self.is_smil {
                return Err(syntax("it is not a SMIL document: the root element must be smil"));
            }
            self.is_smil = true;
        }
        match name {
            b"video" => self.open(element, Some(TrackKind::Video)),
            b"audio" => self.open(element, Some(TrackKind::Audio)),
            b"textstream" => self.open(element, None),
            b"param" => self.parameter(element),
            b"seq" => Err(syntax(
                "seq (files played one after the other) is not supported; write one title per file",
            )),
            _ => Ok(()),
        }
    }

    fn open(&mut self, element: &BytesStart<'_>, kind: Option<TrackKind>) -> Result<(), ManifestError> {
        if self.open.is_some() {
            return Err(syntax("an element that names a file is nested in another"));
        }
        let mut open = Open {
            kind,
            depth: self.depth,
            src: None,
            language: None,
            track_id: None,
            label: None,
        };
        for attribute in attributes(element) {
            let (name, value) = attribute?;
            match name.as_str() {
                "src" => open.src = Some(value),
                "systemLanguage" | "system-language" => open.language = language(&value),
                "title" => open.label = Some(value).filter(|label| !label.is_empty()),
                "clipBegin" | "clipEnd" | "clip-begin" | "clip-end" => {
                    return Err(syntax(format!(
                        "{name} is not supported; write a title.toml with a clip"
                    )));
                }
                _ => {}
            }
        }
        self.open = Some(open);
        Ok(())
    }

    fn parameter(&mut self, element: &BytesStart<'_>) -> Result<(), ManifestError> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let (mut name, mut value) = (String::new(), String::new());
        for attribute in attributes(element) {
            match attribute? {
                (key, text) if key == "name" => name = text,
                (key, text) if key == "value" => value = text,
                _ => {}
            }
        }
        match name.as_str() {
            "trackID" => {
                let number = value.trim().parse();
                open.track_id = Some(number.map_err(|_| {
                    syntax(one_line(&format!("the trackID '{value}' is not a track number")))
                })?);
            }
            "systemLanguage" => open.language = language(&value),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) {
        let depth = self.depth;
        self.depth = depth.saturating_sub(1);
        if let Some(open) = self.open.take_if(|open| open.depth == depth) {
            self.close(open);
        }
    }

    fn close(&mut self, open: Open) {
        let Some(file) = open.src else {
            let what = "an element without a src is ignored";
            self.manifest.passed_over.push(what.to_owned());
            return;
        };
        if open.kind.is_some() {
            self.manifest.tracks.push(TrackEntry {
                file,
                kind: open.kind,
                track_id: open.track_id,
                language: open.language,
                label: open.label,
                ..TrackEntry::default()
            });
            return;
        }
        let ending = file.rsplit_once('.').map(|(_, ending)| ending);
        if !ending.is_some_and(|ending| ending.eq_ignore_ascii_case("vtt")) {
            let what = format!("the text of {file} is ignored: subtitles must be WebVTT files (.vtt)");
            self.manifest.passed_over.push(one_line(&what));
            return;
        }
        self.manifest.subtitles.push(SubtitlesEntry {
            file,
            language: open.language,
            label: open.label,
            ..SubtitlesEntry::default()
        });
    }
}

/// Names without their prefix, and values with XML's own entities resolved.
fn attributes<'e>(
    element: &'e BytesStart<'_>,
) -> impl Iterator<Item = Result<(String, String), ManifestError>> + 'e {
    element.attributes().map(|attribute| {
        let attribute = attribute.map_err(|error| syntax(one_line(&error.to_string())))?;
        let value = attribute
            .normalized_value(quick_xml::XmlVersion::Implicit1_0)
            .map_err(|error| syntax(one_line(&error.to_string())))?;
        let name = String::from_utf8_lossy(attribute.key.local_name().as_ref()).into_owned();
        Ok((name, value.into_owned()))
    })
}

/// Tags of ISO 639-2 become the shorter ones that manifests want; `und` and nothing say nothing.
fn language(value: &str) -> Option<String> {
    short_language(value.trim())
}

#[cfg(test)]
mod tests {
    use super::super::ManifestForm;
    use super::*;

    fn read(text: &str) -> Result<TitleManifest, ManifestError> {
        TitleManifest::parse(text.as_bytes(), ManifestForm::Smil)
    }

    /// As packagers write it: a namespace, a head that says nothing of media, parameters of all kinds.
    const SMIL: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<!-- of a packager -->
<smil xmlns="http://www.w3.org/2001/SMIL20/Language">
  <head>
    <meta name="clientManifestRelativePath" content="film.ismc" />
    <param name="trackID" value="9" />
  </head>
  <body>
    <switch>
      <video src="film-800k.ismv" systemBitrate="801337">
        <param name="systemBitrate" value="801337" valuetype="data" />
        <param name="trackID" value="2" valuetype="data" />
        <param name="trackName" value="video" valuetype="data" />
      </video>
      <video src="film-400k.ismv" systemBitrate="400000"/>
      <audio src="a &amp; b.isma" systemBitrate="64000" systemLanguage="eng" title="English">
        <param name="trackID" value="1" valuetype="data"></param>
      </audio>
      <textstream src="de.vtt" systemLanguage="ger"/>
      <textstream src="en.ismt" systemLanguage="eng"/>
    </switch>
  </body>
</smil>
"#;

    #[test]
    fn a_packagers_manifest_names_its_tracks() {
        let manifest = read(SMIL).expect("a manifest");
        let told: Vec<_> = manifest
            .tracks
            .iter()
            .map(|track| {
                (
                    track.file.as_str(),
                    track.kind,
                    track.track_id,
                    track.language.as_deref(),
                    track.label.as_deref(),
                )
            })
            .collect();
        let (video, audio) = (Some(TrackKind::Video), Some(TrackKind::Audio));
        assert_eq!(
            told,
            [
                ("film-800k.ismv", video, Some(2), None, None),
                ("film-400k.ismv", video, None, None, None),
                ("a & b.isma", audio, Some(1), Some("en"), Some("English")),
            ]
        );
        assert_eq!(manifest.subtitles.len(), 1);
        assert_eq!(manifest.subtitles[0].language.as_deref(), Some("de"));
        assert_eq!(manifest.passed_over.len(), 1);
        assert!(manifest.passed_over[0].contains("en.ismt"));
    }

    #[test]
    fn what_is_no_server_manifest_is_refused() {
        let body = |inside: &str| format!("<smil><body><switch>{inside}</switch></body></smil>");
        for (text, part) in [
            (String::new(), "no smil element"),
            ("<MPD/>".to_owned(), "not a SMIL document"),
            ("<smil/>".to_owned(), "neither video nor audio"),
            ("<smil/><smil/>".to_owned(), "not a SMIL document"),
            ("<smil><body>".to_owned(), "it is truncated"),
            ("<smil>\n<body></smil>".to_owned(), "line 2"),
            (
                format!("<!DOCTYPE a [<!ENTITY b 'c'>]>{}", body("<video src='&b;'/>")),
                "a document type declaration is not allowed",
            ),
            (body("<video src='&b;'/>"), "b"),
            (body("<video src='a' src='b'/>"), "duplicate"),
            (
                body("<video src='s3://b/a.mp4'/>"),
                "track 1, file: only files in the folder",
            ),
            (
                body("<video src='a'><param name='trackID' value='x'/></video>"),
                "'x' is not a track number",
            ),
            (
                body("<video src='a'><audio src='b'/></video>"),
                "nested in another",
            ),
            (
                body("<video src='a' clipBegin='npt=5s'/>"),
                "clipBegin is not supported",
            ),
            (body("<seq><video src='a'/></seq>"), "seq"),
            (
                body("<audio src='a' systemLanguage='no language'/>"),
                "track 1, language",
            ),
            (body(&"<a>".repeat(40)), "nested more than 32 deep"),
        ] {
            let error = read(&text).expect_err(&text).to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
