//! Video of a generated title with the bit rate of a real film: each group of pictures has as many bytes as the film has in the
//! time of it. It must not know how the video was encoded, or who plays it.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use weir_media::index::Sample;
use weir_media::package::{LEAST_FILLER, filler, padded_head};
use weir_net::bounded_file;
use weir_player::recorded::Film;

use super::Failure;
use super::origin_dref::read_index;
use crate::units::Rate;

/// Longest file of sizes, bytes.
const MOST_BYTES: u64 = 16 << 20;
/// Share of the film's least rate that the video is encoded with before it is filled up.
const ENCODED: f64 = 0.4;

/// How the bit rate of a film changes over time, repeated for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmSizes {
    /// Names the film and its content, for a folder.
    pub name: String,
    segment_s: f64,
    /// Bytes of each segment of the rung, as shares of their mean.
    shares: Vec<f64>,
}

impl FilmSizes {
    /// Of the rung of a film whose rate is nearest to `rate`.
    pub fn read(path: &Path, rate: Rate) -> Result<Self, String> {
        let bytes = bounded_file::read(path, MOST_BYTES).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&bytes);
        let film = Film::read(&text).map_err(|error| error.to_string())?;
        let away = |rung: usize| film.rungs[rung].0.abs_diff(rate.0);
        let rung = (0..film.rungs.len()).min_by_key(|rung| away(*rung)).unwrap_or(0);
        let bytes = film.bytes.iter().map(|sizes| sizes[rung] as f64);
        let mean = bytes.clone().sum::<f64>() / film.bytes.len() as f64;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(FilmSizes {
            name: format!("{stem}-{:08x}", hasher.finish() as u32),
            segment_s: film.segment.as_secs_f64(),
            shares: bytes.map(|bytes| bytes / mean).collect(),
        })
    }

    /// The rate with which video of this mean rate is encoded, before it is filled up.
    pub fn encoded(&self, mean: Rate) -> Rate {
        let least = self.shares.iter().copied().fold(1.0, f64::min);
        Rate((mean.0 as f64 * least * ENCODED) as u64)
    }

    /// Bytes of the film up to a moment, of which a second has one on average.
    fn bytes_until(&self, seconds: f64) -> f64 {
        let whole = (seconds / self.segment_s).floor();
        let of = |segment: usize| self.shares[segment % self.shares.len()];
        let before: f64 = (0..whole as usize).map(of).sum();
        (before + (seconds / self.segment_s - whole) * of(whole as usize)) * self.segment_s
    }

    /// Bytes of each sample, so that every group of pictures has what the film has at its time, with this mean rate. A group that
    /// is longer than that stays as it is, and later ones are shorter.
    fn lengths(&self, samples: &[Sample], timescale: u32, mean: Rate) -> Vec<u32> {
        let at = |sample: &Sample| sample.decode_time as f64 / f64::from(timescale);
        let wanted = |end: f64| (self.bytes_until(end) * mean.0 as f64 / 8.0).round() as u64;
        let mut lengths = Vec::with_capacity(samples.len());
        let mut total = 0;
        for group in samples.chunk_by(|_, next| !next.sync) {
            let end = group.last().map_or(0.0, |last| {
                at(last) + f64::from(last.duration) / f64::from(timescale)
            });
            let bytes: u64 = group.iter().map(|sample| u64::from(sample.size)).sum();
            let more = wanted(end).saturating_sub(total + bytes);
            let filled = filled(group, bytes, more);
            total += filled.iter().map(|length| u64::from(*length)).sum::<u64>();
            lengths.extend(filled);
        }
        lengths
    }
}

/// Divides `more` bytes among samples of `bytes` together, by what they have; the first gets what is left.
fn filled(group: &[Sample], bytes: u64, more: u64) -> Vec<u32> {
    let share = |sample: &Sample| {
        let share = u128::from(more) * u128::from(sample.size) / u128::from(bytes.max(1));
        u32::try_from(share).unwrap_or(u32::MAX)
    };
    let as_filler = |length: u32| if length < LEAST_FILLER { 0 } else { length };
    let mut fillers: Vec<u32> = group.iter().map(|sample| as_filler(share(sample))).collect();
    let rest = more
        - fillers
            .iter()
            .map(|length| u64::from(*length))
            .sum::<u64>()
            .min(more);
    if let Some(first) = fillers.first_mut() {
        *first = as_filler(first.saturating_add(u32::try_from(rest).unwrap_or(u32::MAX)));
    }
    let samples = group.iter().zip(fillers);
    samples
        .map(|(sample, filler)| sample.size.saturating_add(filler))
        .collect()
}

/// Writes the video of `from`, a movie of one H.264 track, to `to`, with the sizes of a film and this mean rate.
pub fn fill(from: &Path, to: &Path, sizes: &FilmSizes, mean: Rate) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::environment(format!(
            "cannot write {} with the sizes of a film: {error}",
            to.display()
        ))
    };
    let index = read_index(from)?;
    let [track] = &index.tracks[..] else {
        return Err(failed(&"the video has another number of tracks"));
    };
    let samples: Vec<Sample> = track.samples().iter().collect();
    let lengths = sizes.lengths(&samples, track.info().timescale, mean);
    let write = || -> std::io::Result<()> {
        let mut source = BufReader::new(File::open(from)?);
        let start = samples.first().map_or(0, |sample| sample.position);
        let mut head = Vec::new();
        (&mut source).take(start).read_to_end(&mut head)?;
        let head = padded_head(&head, track, &lengths).map_err(std::io::Error::other)?;
        let mut target = BufWriter::new(File::create(to)?);
        target.write_all(&head)?;
        for (sample, length) in samples.iter().zip(&lengths) {
            source.seek(SeekFrom::Start(sample.position))?;
            std::io::copy(&mut (&mut source).take(sample.size.into()), &mut target)?;
            target.write_all(&filler(length - sample.size))?;
        }
        target.flush()
    };
    write().map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(bits: &str) -> FilmSizes {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("film.json");
        std::fs::write(
            &path,
            format!(
                r#"{{"segment_duration_ms": 3000, "bitrates_kbps": [100, 1000], "segment_sizes_bits": {bits}}}"#
            ),
        )
        .expect("a file");
        FilmSizes::read(&path, Rate(900_000)).expect("a film")
    }

    /// Samples of 24 a second, a sync sample every two seconds.
    fn samples(count: u32, size: u32) -> Vec<Sample> {
        let sample = |number: u32| Sample {
            number,
            size,
            decode_time: number.into(),
            duration: 1,
            sync: number.is_multiple_of(48),
            ..Sample::default()
        };
        (0..count).map(sample).collect()
    }

    #[test]
    fn every_group_has_what_the_film_has_at_its_time() {
        // Of the upper rung 1, 3 and 2 Mbit in 3 s each, of a mean of 2: half, one and a half, and once the rate.
        let film = sizes("[[1, 1000000], [1, 3000000], [1, 2000000]]");
        assert_eq!(film.encoded(Rate(1_000_000)).0, 200_000);
        let all = samples(48 * 5, 100);
        let lengths = film.lengths(&all, 24, Rate(800_000));
        let groups: Vec<u32> = lengths.chunks(48).map(|group| group.iter().sum()).collect();
        // 100 kB a second: 2 s at a half; a second at a half and one at one and a half; 2 s of that; 2 s at once; a second of
        // that, and the film begins again.
        assert_eq!(groups, [100_000, 200_000, 300_000, 200_000, 150_000]);
        assert!(
            lengths
                .iter()
                .all(|length| *length >= 100 && (*length == 100 || *length >= 106))
        );
    }

    #[test]
    fn what_is_too_long_already_is_made_up_for() {
        let film = sizes("[[1, 1000000]]");
        let mut all = samples(48 * 3, 100);
        all[60].size = 300_000;
        let lengths = film.lengths(&all, 24, Rate(800_000));
        let groups: Vec<u32> = lengths.chunks(48).map(|group| group.iter().sum()).collect();
        assert_eq!(groups, [200_000, 304_700, 95_300]);
    }

    #[test]
    fn a_file_that_is_no_film_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("film.json");
        std::fs::write(&path, "{}").expect("a file");
        let said = FilmSizes::read(&path, Rate(1)).expect_err("refused");
        assert!(said.contains("segment_duration_ms"), "{said}");
    }
}
