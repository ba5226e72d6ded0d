//! Which titles there are among the files of a storage. It must not know how they were found, nor what is in them.

use std::collections::BTreeSet;

use super::made_of::is_media;
use crate::path::ObjectPath;

/// Files that are looked at.
pub const MOST_FILES: usize = 10_000;
/// Titles that are listed.
const MOST: usize = 1000;

/// The titles that these files make: folders with media files in them, and media files that lie in no folder.
pub fn titles(files: impl Iterator<Item = ObjectPath>) -> Vec<ObjectPath> {
    let media = files.filter(is_media);
    let titles: BTreeSet<_> = media.map(|file| file.folder().unwrap_or(file)).collect();
    titles.into_iter().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(files: &[&str]) -> Vec<String> {
        let files = files.iter().map(|file| ObjectPath::new(file).expect("a path"));
        let titles = titles(files);
        titles.iter().map(|title| title.as_str().to_owned()).collect()
    }

    #[test]
    fn folders_with_media_and_single_files_are_titles() {
        let files = [
            "sita/1080p.mp4",
            "sita/sound.m4a",
            "sita/de.vtt",
            "series/one/v.cmfv",
            "series/two/v.CMFV",
            "notes/readme.txt",
            "clip.mov",
            "alone.vtt",
        ];
        assert_eq!(listed(&files), ["clip.mov", "series/one", "series/two", "sita"]);
        assert!(listed(&[]).is_empty());
    }
}
