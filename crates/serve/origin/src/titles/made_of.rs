//! What a title is made of: the media files and subtitles of a folder, a single file, or what a manifest names. It must
//! not know how indexes are read.

use std::sync::Arc;

use futures_util::future::try_join_all;
use weir_media::index::{FileIndex, TrackKind};
use weir_media::title::{Clip, MOST_MANIFEST_BYTES, ManifestForm, SubtitlesEntry, TitleManifest, TrackEntry};

use super::beside::{Beside, index_path};
use super::error::TitleError;
use crate::metrics::Kind;
use crate::path::ObjectPath;
use crate::storage::{Meta, Storage, StorageError};

/// How names of media files end.
const MEDIA: [&str; 8] = ["mp4", "m4v", "m4a", "mov", "cmfv", "cmfa", "ismv", "isma"];
/// Manifests of Weir's own in a folder, the first one that is there.
const OWN: [&str; 2] = ["title.toml", "title.json"];

/// A file and its version.
pub type FileVersion = (ObjectPath, Meta);

/// The files of a title as they are now.
#[derive(Debug)]
pub struct Files {
    /// Each once.
    pub media: Vec<MediaFile>,
    /// Each once.
    pub subtitles: Vec<FileVersion>,
    pub described: Option<Arc<Described>>,
}

/// A media file, and whether its index is stored beside it.
#[derive(Debug)]
pub struct MediaFile {
    pub path: ObjectPath,
    pub version: Meta,
    pub beside: Beside,
}

/// Content of a title's manifest.
#[derive(Debug)]
pub struct Described {
    pub path: ObjectPath,
    pub version: Meta,
    pub tracks: Vec<(ObjectPath, TrackEntry)>,
    pub subtitles: Vec<(ObjectPath, SubtitlesEntry)>,
    pub clip: Option<Clip>,
}

/// A media file and what it holds.
#[derive(Debug)]
pub struct Source {
    pub path: ObjectPath,
    /// Where the samples are: in that file, unless it refers to another.
    pub media: FileVersion,
    pub index: Arc<FileIndex>,
}

impl Source {
    /// The other file that has the samples.
    pub fn refers_to(&self) -> Option<&ObjectPath> {
        self.index.media.as_ref().map(|_| &self.media.0)
    }
}

impl Files {
    /// All of them, the manifest too.
    pub fn versions(&self) -> impl Iterator<Item = (&ObjectPath, &Meta)> {
        let media = self.media.iter().map(|file| (&file.path, &file.version));
        let subtitles = self.subtitles.iter().map(|(path, version)| (path, version));
        let described = self.described.iter().map(|one| (&one.path, &one.version));
        media.chain(subtitles).chain(described)
    }
}

/// Whether a file can have media in it.
pub fn is_media(path: &ObjectPath) -> bool {
    ending(path).is_some_and(|ending| MEDIA.iter().any(|media| ending.eq_ignore_ascii_case(media)))
}

/// Whether a file has subtitles in it.
fn is_subtitles(path: &ObjectPath) -> bool {
    ending(path).is_some_and(|ending| ending.eq_ignore_ascii_case("vtt"))
}

fn form(path: &ObjectPath) -> Option<ManifestForm> {
    ManifestForm::of_ending(ending(path)?)
}

fn ending(path: &ObjectPath) -> Option<&str> {
    path.name().rsplit_once('.').map(|(_, ending)| ending)
}

/// The file that a path relative to `from`'s folder names; nothing if that could lead out of the folder.
pub fn relative(from: &ObjectPath, path: &str) -> Option<ObjectPath> {
    match from.folder() {
        Some(folder) => folder.join(path).ok(),
        None => ObjectPath::new(path).ok(),
    }
}

/// The files of the title at a path. `known` is what was known of its manifest: it is not read again if it is the same.
pub async fn files(
    storage: &Storage,
    path: &ObjectPath,
    known: Option<&Arc<Described>>,
) -> Result<Files, TitleError> {
    if is_media(path) {
        let version = storage.head(Kind::Index, path).await?;
        let media = MediaFile {
            path: path.clone(),
            version,
            beside: Beside::Unknown,
        };
        return Ok(Files {
            media: vec![media],
            subtitles: Vec::new(),
            described: None,
        });
    }
    if let Some(form) = form(path) {
        let described = described(storage, path, form, None, known).await?;
        return named(storage, described, &[]).await;
    }
    let listed = storage.list(Kind::Index, path).await?;
    if let Some((manifest, version)) = manifest_of(path, &listed)?
        && let Some(form) = form(manifest)
    {
        let described = described(storage, manifest, form, Some(version), known).await?;
        return named(storage, described, &listed).await;
    }
    let media = media_in(&listed);
    if media.is_empty() {
        return Err(TitleError::Nothing { path: path.clone() });
    }
    let subtitles = listed.into_iter().filter(|(path, _)| is_subtitles(path));
    Ok(Files {
        media,
        subtitles: subtitles.collect(),
        described: None,
    })
}

/// The manifest among the files of a folder: Weir's own before one of another's.
fn manifest_of<'l>(
    folder: &ObjectPath,
    listed: &'l [FileVersion],
) -> Result<Option<&'l FileVersion>, TitleError> {
    let own = OWN
        .iter()
        .find_map(|name| listed.iter().find(|(path, _)| path.name() == *name));
    if own.is_some() {
        return Ok(own);
    }
    let mut others = listed
        .iter()
        .filter(|(path, _)| form(path) == Some(ManifestForm::Smil));
    let first = others.next();
    if let (Some((first, _)), Some((second, _))) = (first, others.next()) {
        return Err(TitleError::Manifest {
            path: folder.clone(),
            why: format!(
                "it has several manifests; name one of them as the title, as in /{first}/manifest.mpd or /{second}/manifest.mpd"
            ),
        });
    }
    Ok(first)
}

/// The media files that are listed.
pub fn media_in(listed: &[FileVersion]) -> Vec<MediaFile> {
    let media = listed.iter().filter(|(path, _)| is_media(path));
    media
        .map(|(path, version)| MediaFile {
            path: path.clone(),
            version: version.clone(),
            beside: beside_in(listed, path),
        })
        .collect()
}

/// Whether the index of a file is listed beside it.
fn beside_in(listed: &[FileVersion], path: &ObjectPath) -> Beside {
    let Some(wanted) = index_path(path) else {
        return Beside::Absent;
    };
    // Listed in the order of names.
    match listed.binary_search_by(|(path, _)| path.cmp(&wanted)) {
        Ok(_) => Beside::There,
        Err(_) => Beside::Absent,
    }
}

async fn described(
    storage: &Storage,
    path: &ObjectPath,
    form: ManifestForm,
    listed: Option<&Meta>,
    known: Option<&Arc<Described>>,
) -> Result<Arc<Described>, TitleError> {
    if let Some(known) = known.filter(|known| known.path == *path) {
        let version = match listed {
            Some(version) => version.clone(),
            None => storage.head(Kind::Manifest, path).await?,
        };
        if version.is_same_version(&known.version) {
            return Ok(known.clone());
        }
    }
    // One byte more than is taken says that it is too long.
    let (version, bytes) = storage
        .read_whole(Kind::Manifest, path, 0..MOST_MANIFEST_BYTES + 1, None)
        .await?;
    let wrong = |why: String| TitleError::Manifest {
        path: path.clone(),
        why,
    };
    let manifest = TitleManifest::parse(&bytes, form).map_err(|error| wrong(error.to_string()))?;
    for what in &manifest.passed_over {
        tracing::warn!(%path, "{what}");
    }
    let of = |file: &str| {
        let name = file.escape_debug();
        let why = || {
            wrong(format!(
                "'{name}' is not the path of a file in its folder or below"
            ))
        };
        relative(path, file).ok_or_else(why)
    };
    let tracks = manifest.tracks.into_iter();
    let texts = manifest.subtitles.into_iter();
    Ok(Arc::new(Described {
        path: path.clone(),
        version,
        tracks: tracks
            .map(|entry| Ok((of(&entry.file)?, entry)))
            .collect::<Result<_, TitleError>>()?,
        subtitles: texts
            .map(|entry| Ok((of(&entry.file)?, entry)))
            .collect::<Result<_, TitleError>>()?,
        clip: manifest.clip,
    }))
}

/// The files that a manifest names. Those that are `listed` need not be asked for.
async fn named(
    storage: &Storage,
    described: Arc<Described>,
    listed: &[FileVersion],
) -> Result<Files, TitleError> {
    let version = async |path: &ObjectPath| {
        if let Some((_, version)) = listed.iter().find(|(listed, _)| listed == path) {
            return Ok(version.clone());
        }
        match storage.head(Kind::Index, path).await {
            Err(StorageError::NotFound { .. }) => Err(TitleError::Manifest {
                path: described.path.clone(),
                why: format!("it names {path}, which does not exist"),
            }),
            told => Ok(told?),
        }
    };
    let mut paths: Vec<&ObjectPath> = described.tracks.iter().map(|(path, _)| path).collect();
    let texts = described.subtitles.iter().map(|(path, _)| path);
    let mut texts: Vec<&ObjectPath> = texts.collect();
    for list in [&mut paths, &mut texts] {
        list.sort();
        list.dedup();
    }
    let media = try_join_all(paths.into_iter().map(async |path| {
        Ok::<_, TitleError>(MediaFile {
            path: path.clone(),
            version: version(path).await?,
            beside: if listed.is_empty() {
                Beside::Unknown
            } else {
                beside_in(listed, path)
            },
        })
    }));
    let media = media.await?;
    let texts = texts
        .into_iter()
        .map(async |path| Ok::<_, TitleError>((path.clone(), version(path).await?)));
    let subtitles = try_join_all(texts).await?;
    Ok(Files {
        media,
        subtitles,
        described: Some(described),
    })
}

impl Described {
    /// The file and what is said of it, of each entry, with what to call it in messages.
    pub fn entries(&self) -> impl Iterator<Item = (usize, &ObjectPath, &TrackEntry)> {
        let entries = self.tracks.iter().enumerate();
        entries.map(|(number, (path, entry))| (number + 1, path, entry))
    }
}

/// How a kind of track is called in messages.
pub fn kind_name(kind: Option<TrackKind>) -> &'static str {
    match kind {
        Some(TrackKind::Video) => "video track",
        Some(TrackKind::Audio) => "audio track",
        None => "track",
    }
}
