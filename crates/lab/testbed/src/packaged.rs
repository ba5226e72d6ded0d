//! A title packaged ahead: the manifest and all segments that an origin makes of it, saved as files at their paths, so that a
//! plain HTTP server serves the same bytes. It must not know what they are for.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use url::Url;
use weir_load::manifest::{self, Media, UrlRange};

use crate::error::TestbedError;
use crate::own_origin::Origin;
use crate::plain_http::get;

/// Marker of a complete title.
const WHOLE: &str = "whole";
/// Maximum size of a segment, bytes.
const MOST_SEGMENT: u64 = 256 << 20;

/// Saves the title whose manifest is at `manifest` on an origin before `folder` into `into`, unless it is there. False if a stop
/// was asked for.
///
/// # Errors
/// When the origin does not start or serve it, or a file cannot be written.
pub fn package(
    folder: &Path,
    manifest: &str,
    segment: &str,
    into: &Path,
    stop: &dyn Fn() -> bool,
) -> Result<bool, TestbedError> {
    if into.join(WHOLE).is_file() {
        return Ok(true);
    }
    let failed = |error: &dyn std::fmt::Display| {
        TestbedError::Failed(format!("cannot package {manifest} ahead: {error}"))
    };
    let options = [format!("--segment={segment}"), "--quiet".to_owned()];
    let place = folder.display().to_string();
    let origin = Origin::start(&place, &options).map_err(|error| failed(&error))?;
    let url = Url::parse(&origin.url(manifest)).map_err(|error| failed(&error))?;
    let address = address(&url).ok_or_else(|| failed(&"the origin has no address"))?;
    let text = save(address, url.path(), manifest::MOST_BYTES as u64, into)?;
    for path in paths(&text, &url).map_err(|error| failed(&error))? {
        if stop() {
            return Ok(false);
        }
        save(address, &path, MOST_SEGMENT, into)?;
    }
    let whole = into.join(WHOLE);
    fs::write(&whole, "").map_err(TestbedError::file("write", whole))?;
    Ok(true)
}

fn address(url: &Url) -> Option<SocketAddr> {
    url.socket_addrs(|| None).ok()?.first().copied()
}

/// Paths of all that a manifest names.
fn paths(text: &[u8], url: &Url) -> Result<Vec<String>, String> {
    let presentation = manifest::read(text, url).map_err(|error| error.to_string())?;
    let sets = presentation.periods.iter().flat_map(|period| &period.sets);
    let mut paths = Vec::new();
    for rung in sets.flat_map(|set| &set.rungs) {
        let Media::Known(segments) = &rung.media else {
            return Err(format!("rung {} is one file, not segments", rung.id));
        };
        let places = segments
            .inits
            .iter()
            .chain(segments.list.iter().map(|segment| &segment.place));
        paths.extend(places.map(|place: &UrlRange| place.target.to_string()));
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Fetches a path and saves it in the same place below `into`.
fn save(address: SocketAddr, path: &str, most: u64, into: &Path) -> Result<Vec<u8>, TestbedError> {
    let file = file_of(path, into).ok_or_else(|| {
        TestbedError::Failed(format!(
            "cannot save {path} as a file: its path has escapes, '..' or a query"
        ))
    })?;
    let body = get(address, path, most)
        .map_err(|error| TestbedError::Failed(format!("cannot fetch {path} from the origin: {error}")))?;
    let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| fs::write(&file, &body))
        .map_err(TestbedError::file("write", file))?;
    Ok(body)
}

fn file_of(path: &str, into: &Path) -> Option<PathBuf> {
    let relative = path.trim_start_matches('/');
    let plain = !relative.is_empty() && !relative.contains(['%', '?', '#']);
    (plain && relative.split('/').all(|part| part != "..")).then(|| into.join(relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_below_the_folder() {
        let into = Path::new("/titles");
        assert_eq!(
            file_of("/film/1.m4s", into),
            Some(PathBuf::from("/titles/film/1.m4s"))
        );
        for wrong in ["/", "/../etc", "/a/../../b", "/a%2e", "/a?b"] {
            assert_eq!(file_of(wrong, into), None, "{wrong}");
        }
    }
}
