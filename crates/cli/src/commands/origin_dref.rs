//! `weir origin dref`: writes the index of a media file as an MP4 that references it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::args::{DrefArgs, GlobalOptions};
use serde_json::json;
use weir_media::index::{FileIndex, IndexBuilder, Step};
use weir_media::package::{reference_movie, reference_url};

use super::Failure;
use super::output::{print, say};

/// Writes a dref MP4.
pub fn run(args: &DrefArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let file = &args.file;
    let output = args
        .output
        .clone()
        .unwrap_or_else(|| file.with_extension("dref.mp4"));
    let (index, url, bytes) = write(file, &output)?;
    for track in index.passed_over.iter().filter(|_| !global.quiet) {
        say(&format!(
            "weir origin dref: track {} is omitted: {}",
            track.track_id, track.why
        ));
    }
    if global.json {
        let line = json!({
            "file": file.display().to_string(),
            "output": output.display().to_string(),
            "url": url,
            "tracks": index.tracks.len(),
            "bytes": bytes,
        });
        return print(&format!("{line}\n"));
    }
    print(&format!("{}\n", output.display()))
}

/// Writes the dref MP4 of a file; returns the file's index, its URL in the dref MP4, and the size of that, bytes.
pub fn write(file: &Path, output: &Path) -> Result<(FileIndex, String, usize), Failure> {
    let url = url_from(output, file)?;
    let index = read_index(file)?;
    if let Some(media) = &index.media {
        return Err(Failure::usage(format!(
            "{} contains no media but references {media}; name that file",
            file.display()
        )));
    }
    if index.tracks.iter().any(|track| track.protection().is_some()) {
        return Err(Failure::usage(format!(
            "{} has encrypted tracks, which a dref MP4 cannot describe; name a file with clear media",
            file.display()
        )));
    }
    let movie = reference_movie(&index, &url);
    std::fs::write(output, &movie)
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", output.display())))?;
    Ok((index, url, movie.len()))
}

/// The path of `file` relative to `output`: in the same folder or below, since titles may read only there.
fn url_from(output: &Path, file: &Path) -> Result<String, Failure> {
    let folder = match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let real = |path: &Path| -> Result<PathBuf, Failure> {
        path.canonicalize()
            .map_err(|error| Failure::environment(format!("cannot find {}: {error}", path.display())))
    };
    let (folder, file) = (real(folder)?, real(file)?);
    let below = file.strip_prefix(&folder).ok().and_then(Path::to_str);
    below.map(reference_url).ok_or_else(|| {
        Failure::usage(format!(
            "{} is not below {}; write the dref MP4 to the folder of the media file, or to one above it",
            file.display(),
            folder.display()
        ))
    })
}

/// Reads the index of a media file.
pub fn read_index(path: &Path) -> Result<FileIndex, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::environment(format!("cannot read {}: {error}", path.display()))
    };
    let mut file = File::open(path).map_err(|error| failed(&error))?;
    let length = file.metadata().map_err(|error| failed(&error))?.len();
    let mut builder = IndexBuilder::new(length);
    loop {
        let range = match builder.step().map_err(|error| failed(&error))? {
            Step::Done(index) => return Ok(index),
            Step::Read(range) => range,
        };
        file.seek(SeekFrom::Start(range.start))
            .map_err(|error| failed(&error))?;
        let mut bytes = Vec::new();
        let read = (&file).take(range.end - range.start).read_to_end(&mut bytes);
        if read.map_err(|error| failed(&error))? == 0 {
            return Err(failed(&"it was truncated while being read"));
        }
        builder.give(range.start, &bytes);
    }
}
