//! A title that is as large as its rungs say and shows nothing: an MPD, and for every rung one file of noise in a box of media
//! data (ISO/IEC 14496-12, 8.1.1), which all its segments are links to. Nobody decodes what a lab plays; that its bytes come
//! is all that counts. It must not know who serves it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use thiserror::Error;

use super::scenario::Media;

/// Where the MPD of the title lies below its folder. The name is not one that an origin makes manifests under.
pub const MANIFEST: &str = "title/stored.mpd";
/// The folder of the title.
const FOLDER: &str = "title";

/// A file of the title could not be written.
#[derive(Debug, Error)]
#[error("cannot write {path} of the title that the lab plays: {error}")]
pub struct MediaError {
    path: PathBuf,
    error: io::Error,
}

/// Writes a title that lasts at least so long into a folder that is there.
///
/// # Errors
/// When a file cannot be written.
pub fn write_title(media: &Media, seconds: u64, folder: &Path) -> Result<(), MediaError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| MediaError { path, error }
    };
    let title = folder.join(FOLDER);
    fs::create_dir(&title).map_err(at(&title))?;
    let segments = segments(media, seconds);
    for rung in 0..media.rungs.len() {
        let first = title.join(name(rung, 1));
        write_segment(&first, media.segment_bytes(rung), rung as u64).map_err(at(&first))?;
        for number in 2..=segments {
            let link = title.join(name(rung, number));
            fs::hard_link(&first, &link).map_err(at(&link))?;
        }
    }
    let manifest = folder.join(MANIFEST);
    fs::write(&manifest, mpd(media, segments)).map_err(at(&manifest))
}

fn segments(media: &Media, seconds: u64) -> u64 {
    let time = u128::from(seconds.max(1)) * 1_000_000_000;
    u64::try_from(time.div_ceil(u128::from(media.segment.0.max(1)))).unwrap_or(u64::MAX)
}

fn name(rung: usize, number: u64) -> String {
    format!("rung{rung}-{number}.m4s")
}

/// A `mdat` box of exactly `bytes` bytes, of noise that nothing compresses.
fn write_segment(path: &Path, bytes: u64, seed: u64) -> io::Result<()> {
    const HEADER: u64 = 8;
    let mut file = BufWriter::new(File::create_new(path)?);
    // Rungs are bounded so that this holds; a longer box would need another form.
    let size = u32::try_from(bytes).map_err(io::Error::other)?;
    file.write_all(&size.to_be_bytes())?;
    file.write_all(b"mdat")?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut block = [0; 4096];
    let mut left = bytes.saturating_sub(HEADER);
    while left > 0 {
        random.fill_bytes(&mut block);
        let length = left.min(block.len() as u64);
        file.write_all(&block[..length as usize])?;
        left -= length;
    }
    file.flush()
}

fn mpd(media: &Media, segments: u64) -> String {
    let nanoseconds = u128::from(segments) * u128::from(media.segment.0);
    let seconds = nanoseconds as f64 / 1e9;
    let duration = media.segment.0 / 1_000;
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" \
         profiles=\"urn:mpeg:dash:profile:isoff-main:2011\" type=\"static\" mediaPresentationDuration=\"PT{seconds:.6}S\" \
         minBufferTime=\"PT2S\">\n <Period>\n  <AdaptationSet contentType=\"video\" mimeType=\"video/mp4\" codecs=\"avc1.64001f\">\n"
    );
    for (rung, rate) in media.rungs.iter().enumerate() {
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "   <Representation id=\"rung{rung}\" bandwidth=\"{}\">\n    <SegmentTemplate timescale=\"1000000\" \
             duration=\"{duration}\" startNumber=\"1\" media=\"$RepresentationID$-$Number$.m4s\"/>\n   </Representation>",
            rate.0
        );
    }
    text.push_str("  </AdaptationSet>\n </Period>\n</MPD>\n");
    text
}

#[cfg(test)]
mod tests {
    use weir_units::{Rate, TimeSpan};

    use super::*;

    #[test]
    fn a_title_is_as_large_as_its_rungs_say() {
        let folder = tempfile::tempdir().unwrap();
        let media = Media {
            rungs: vec![Rate(100_000), Rate(800_000)],
            segment: TimeSpan(2_000_000_000),
        };
        write_title(&media, 7, folder.path()).unwrap();
        for (rung, bytes) in [(0, 25_000), (1, 200_000)] {
            for number in 1..=4 {
                let segment = fs::read(folder.path().join(FOLDER).join(name(rung, number))).unwrap();
                assert_eq!(segment.len(), bytes);
                assert_eq!(
                    segment[..8],
                    [&(bytes as u32).to_be_bytes()[..], b"mdat"].concat()
                );
            }
            assert!(!folder.path().join(FOLDER).join(name(rung, 5)).exists());
        }
        let text = fs::read_to_string(folder.path().join(MANIFEST)).unwrap();
        assert!(
            text.contains("PT8.000000S") && text.contains("bandwidth=\"800000\""),
            "{text}"
        );
        // A second one there says which file is in its way.
        let error = write_title(&media, 7, folder.path()).unwrap_err().to_string();
        assert!(error.contains("title") && error.lines().count() == 1, "{error}");
    }
}
