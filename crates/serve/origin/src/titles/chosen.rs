//! Which tracks of its files a title offers, and what is said of them: all that there are, or those that its manifest
//! names, as it says. It must not know how they are cut or sent.

use std::collections::{HashMap, HashSet};

use weir_media::index::{TrackIndex, TrackKind};
use weir_media::presentation::{Subtitles, short_language};
use weir_media::title::TrackEntry;

use super::error::TitleError;
use super::made_of::{Described, FileVersion, Files, Source, kind_name};

/// A track in one of the sources.
pub struct Candidate<'s> {
    /// Its source, and its place there.
    pub place: (usize, usize),
    pub track: &'s TrackIndex,
    /// What is said of it in place of what its file says.
    pub look: TrackEntry,
}

/// Tracks that are offered: the densest video first, audio in the order of the manifest, or of the files.
pub fn candidates<'s>(
    sources: &'s [Source],
    described: Option<&Described>,
) -> Result<(Vec<Candidate<'s>>, Vec<Candidate<'s>>), TitleError> {
    let all = match described {
        Some(described) => named(sources, described)?,
        None => every(sources),
    };
    let is_video = |one: &Candidate<'_>| one.track.info().kind == TrackKind::Video;
    let (mut videos, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_video);
    videos.sort_by_key(|one| std::cmp::Reverse(one.track.info().average_bitrate));
    Ok((videos, others))
}

fn every(sources: &[Source]) -> Vec<Candidate<'_>> {
    let of_source = |(number, source): (usize, _)| tracks_in(number, source, &TrackEntry::default());
    sources.iter().enumerate().flat_map(of_source).collect()
}

/// The tracks of a source that an entry means.
fn tracks_in<'s>(number: usize, source: &'s Source, entry: &TrackEntry) -> Vec<Candidate<'s>> {
    let tracks = source.index.tracks.iter().enumerate();
    tracks
        .filter(|(_, track)| {
            let is_kind = entry.kind.is_none_or(|kind| track.info().kind == kind);
            is_kind && entry.track_id.is_none_or(|id| track.head().track_id == id)
        })
        .map(|(place, track)| Candidate {
            place: (number, place),
            track,
            look: entry.clone(),
        })
        .collect()
}

fn named<'s>(sources: &'s [Source], described: &Described) -> Result<Vec<Candidate<'s>>, TitleError> {
    let mut all = Vec::new();
    for (number, path, entry) in described.entries() {
        let wrong = |why: String| TitleError::Manifest {
            path: described.path.clone(),
            why: format!("track {number}: {why}"),
        };
        let found = sources
            .iter()
            .enumerate()
            .find(|(_, source)| source.path == *path);
        let tracks = found.map_or_else(Vec::new, |(place, source)| tracks_in(place, source, entry));
        let what = kind_name(entry.kind);
        if tracks.is_empty() {
            let id = entry.track_id.map(|id| format!(" with the number {id}"));
            let reasons = found.map_or_else(String::new, |(_, source)| {
                passed_over(std::slice::from_ref(source))
            });
            return Err(wrong(format!(
                "{path} has no playable {what}{}; {reasons}",
                id.unwrap_or_default()
            )));
        }
        if tracks.len() > 1 && entry.name.is_some() {
            let count = tracks.len();
            return Err(wrong(format!(
                "{path} has {count} tracks, which cannot share one name: select one with 'track' or 'kind'"
            )));
        }
        all.extend(tracks);
    }
    Ok(all)
}

/// What tracks are called in addresses: as the manifest says, else by kind and number.
pub fn names(letter: &str, candidates: &[Candidate<'_>]) -> Vec<String> {
    let given: HashSet<&String> = candidates
        .iter()
        .filter_map(|one| one.look.name.as_ref())
        .collect();
    let own = candidates.iter().enumerate().map(|(number, one)| {
        one.look.name.clone().unwrap_or_else(|| {
            let usual = format!("{letter}{}", number + 1);
            if given.contains(&usual) {
                format!("{letter}-{}", number + 1)
            } else {
                usual
            }
        })
    });
    own.collect()
}

pub fn tracks_of<'s>(candidates: &[Candidate<'s>]) -> Vec<&'s TrackIndex> {
    candidates.iter().map(|one| one.track).collect()
}

/// Why tracks are left out that there are.
pub fn passed_over(sources: &[Source]) -> String {
    let reasons = sources.iter().flat_map(|source| &source.index.passed_over);
    let reasons: Vec<&str> = reasons.map(|track| track.why.as_str()).take(3).collect();
    if reasons.is_empty() {
        return "its files have no such tracks".to_owned();
    }
    reasons.join("; ")
}

/// An MP4 may refer to media that were replaced by shorter ones.
pub fn check_reference(source: &Source) -> Result<(), TitleError> {
    let Some(url) = &source.index.media else {
        return Ok(());
    };
    let samples = source
        .index
        .tracks
        .iter()
        .flat_map(|track| track.samples().iter());
    let end = samples.map(|sample| sample.end()).max().unwrap_or(0);
    let length = source.media.1.length;
    if end <= length {
        return Ok(());
    }
    Err(TitleError::Reference {
        path: source.path.clone(),
        url: url.clone(),
        why: format!(
            "its samples extend to byte {end} of a file of {length} bytes; rewrite it with 'weir origin dref'"
        ),
    })
}

type SubtitleFiles = HashMap<String, FileVersion>;

/// Subtitles as the manifest says them; without one `de.vtt` and `film.de.vtt` are German.
pub fn offered_subtitles(files: &Files) -> (Vec<Subtitles>, SubtitleFiles) {
    let (mut offered, mut by_name) = (Vec::new(), HashMap::new());
    let mut offer = |text: Subtitles, file: &FileVersion| {
        by_name.insert(text.name.clone(), file.clone());
        offered.push(text);
    };
    let Some(described) = &files.described else {
        for (number, file) in files.subtitles.iter().enumerate() {
            offer(by_file_name(number, file), file);
        }
        return (offered, by_name);
    };
    let mut has_default = false;
    for (number, (path, entry)) in described.subtitles.iter().enumerate() {
        let Some(file) = files.subtitles.iter().find(|(own, _)| own == path) else {
            continue;
        };
        let text = Subtitles {
            name: entry.name.clone().unwrap_or_else(|| format!("s{}", number + 1)),
            language: entry.language.clone(),
            label: entry.label.clone(),
            roles: entry.roles.clone(),
            default: entry.default && !has_default,
        };
        has_default |= text.default;
        offer(text, file);
    }
    (offered, by_name)
}

fn by_file_name(number: usize, (path, _): &FileVersion) -> Subtitles {
    let stem = path.name().rsplit_once('.').map_or("", |(stem, _)| stem);
    let last = stem.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let language = (2..=3)
        .contains(&last.len())
        .then(|| short_language(&last))
        .flatten();
    Subtitles {
        name: format!("s{}", number + 1),
        label: language.is_none().then(|| stem.to_owned()),
        language,
        roles: Vec::new(),
        default: false,
    }
}
