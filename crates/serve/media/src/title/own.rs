//! Weir's own manifest of a title, as TOML or JSON. The keys are those of the structures here; others are errors.

use serde::Deserialize;

use super::{ManifestError, SubtitlesEntry, TitleManifest, TrackEntry, clip, one_line};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    track: Vec<TrackEntry>,
    #[serde(default)]
    subtitles: Vec<SubtitlesEntry>,
    clip: Option<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    start: Option<String>,
    end: Option<String>,
}

pub(super) fn from_toml(text: &str) -> Result<TitleManifest, ManifestError> {
    let document: Result<Document, toml::de::Error> = toml::from_str(text);
    read(document.map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        ManifestError::Syntax(one_line(&format!("line {line}: {}", error.message())))
    })?)
}

pub(super) fn from_json(text: &str) -> Result<TitleManifest, ManifestError> {
    let document: Result<Document, serde_json::Error> = serde_json::from_str(text);
    read(document.map_err(|error| ManifestError::Syntax(one_line(&error.to_string())))?)
}

fn read(document: Document) -> Result<TitleManifest, ManifestError> {
    let clip = document
        .clip
        .map(|span| clip(span.start.as_deref(), span.end.as_deref()));
    Ok(TitleManifest {
        tracks: document.track,
        subtitles: document.subtitles,
        clip: clip.transpose()?,
        passed_over: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Clip, ManifestForm};
    use super::*;
    use crate::index::TrackKind;

    const TOML: &str = r#"
        [clip]
        start = "12.5s"
        end = "1min30s"

        [[track]]
        file = "1080p.mp4"

        [[track]]
        file = "sound/all.mp4"
        kind = "audio"
        track = 3
        name = "english"
        language = "en-GB"
        label = "English"
        roles = ["main", "description"]
        default = true

        [[subtitles]]
        file = "de.vtt"
        language = "de"
        label = "Deutsch"
    "#;

    const JSON: &str = r#"{
        "clip": {"start": "12.5s", "end": "1min30s"},
        "track": [
            {"file": "1080p.mp4"},
            {"file": "sound/all.mp4", "kind": "audio", "track": 3, "name": "english", "language": "en-GB",
             "label": "English", "roles": ["main", "description"], "default": true}
        ],
        "subtitles": [{"file": "de.vtt", "language": "de", "label": "Deutsch"}]
    }"#;

    fn toml(text: &str) -> Result<TitleManifest, ManifestError> {
        TitleManifest::parse(text.as_bytes(), ManifestForm::Toml)
    }

    #[test]
    fn both_forms_say_the_same() {
        let manifest = toml(TOML).expect("a manifest");
        let as_json = TitleManifest::parse(JSON.as_bytes(), ManifestForm::Json);
        assert_eq!(as_json, Ok(manifest.clone()));
        assert_eq!(
            manifest.clip,
            Some(Clip {
                start: 12_500_000_000,
                end: Some(90_000_000_000)
            })
        );
        assert_eq!(
            manifest.tracks[1],
            TrackEntry {
                file: "sound/all.mp4".to_owned(),
                kind: Some(TrackKind::Audio),
                track_id: Some(3),
                name: Some("english".to_owned()),
                language: Some("en-GB".to_owned()),
                label: Some("English".to_owned()),
                roles: vec!["main".to_owned(), "description".to_owned()],
                default: true,
            }
        );
        assert_eq!(manifest.subtitles[0].language.as_deref(), Some("de"));
    }

    #[test]
    fn what_cannot_be_is_said_with_its_place() {
        for (text, part) in [
            ("", "names neither video nor audio"),
            ("[[track]]\n", "line 1: missing field `file`"),
            ("[[track]]\nfile = 3\n", "line 2"),
            (
                "\n[[track]]\nfile = 'a.mp4'\nlang = 'en'\n",
                "line 4: unknown field `lang`",
            ),
            ("clips = 1\n", "unknown field `clips`"),
            ("[[track]]\nfile = ''", "track 1, file: write the path"),
            (
                "[[track]]\nfile = 'https://a/b.mp4'",
                "track 1, file: only files in the folder of the manifest",
            ),
            (
                "[[track]]\nfile = 'a'\nname = 'a/b'",
                "track 1, name: write 1 to 64",
            ),
            (
                "[[track]]\nfile = 'a'\nlanguage = 'no language'",
                "track 1, language",
            ),
            ("[[track]]\nfile = 'a'\nlabel = ''", "track 1, label"),
            ("[[track]]\nfile = 'a'\nroles = ['a b']", "track 1, roles"),
            ("[[track]]\nfile = 'a'\nkind = 'text'", "unknown variant `text`"),
            ("[[track]]\nfile = 'a'\ntrack = -1", "line 3"),
            ("[clip]\nstart = '5'\n[[track]]\nfile = 'a'", "clip, start: "),
            (
                "[clip]\nstart = '5s'\nend = '5s'\n[[track]]\nfile = 'a'",
                "clip, end: it must be after the start",
            ),
            ("[[track]\nfile", "line 1"),
        ] {
            let error = toml(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text:?}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
        let many = "[[track]]\nfile = 'a.mp4'\n".repeat(257);
        assert_eq!(toml(&many), Err(ManifestError::TooMany { what: "tracks" }));
        let long = format!("{many}{}", " ".repeat(256 << 10));
        assert!(matches!(toml(&long), Err(ManifestError::Long { .. })));
        let deep = "[".repeat(100_000);
        assert!(TitleManifest::parse(deep.as_bytes(), ManifestForm::Json).is_err());
        assert!(toml(&format!("a = {deep}")).is_err());
        let latin = TitleManifest::parse(b"\xe4", ManifestForm::Toml);
        assert_eq!(latin, Err(ManifestError::Encoding));
    }
}
