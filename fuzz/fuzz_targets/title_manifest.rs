//! Manifests of titles: no bytes may panic the reader in any of its forms; what it refuses it refuses in one short line, and
//! accepted manifests are within the limits.
//!
//! Input: a byte that chooses the form (TOML, JSON, SMIL), then the manifest.

use crate::checks::in_a_line;
use weir_media::package::{reference_url, referred_path};
use weir_media::title::{ManifestForm, TitleManifest};

pub fn run(input: &[u8]) {
    let Some((form, manifest)) = input.split_first() else {
        return;
    };
    let form = match form % 3 {
        0 => ManifestForm::Toml,
        1 => ManifestForm::Json,
        _ => ManifestForm::Smil,
    };
    match TitleManifest::parse(manifest, form) {
        Ok(title) => {
            assert!((1..=256).contains(&title.tracks.len()) && title.subtitles.len() <= 256);
            let files = title.tracks.iter().map(|track| &track.file);
            for file in files.chain(title.subtitles.iter().map(|text| &text.file)) {
                assert!((1..=1024).contains(&file.len()) && !file.contains(char::is_control));
                // A file that can be named is named by a URL too, but for what stands for the root or the folder itself.
                if !file.starts_with(['/', '.']) {
                    assert_eq!(referred_path(&reference_url(file)).as_ref(), Some(file));
                }
            }
            if let Some(clip) = title.clip {
                assert!(clip.end.is_none_or(|end| end > clip.start));
            }
            title.passed_over.iter().for_each(|line| in_a_line(line, 2000));
        }
        Err(error) => in_a_line(error, 2000),
    }
}
