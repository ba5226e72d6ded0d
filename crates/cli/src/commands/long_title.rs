//! Long titles for load, generated once by ffmpeg into a permanent folder. Video has B-frames and a constant bit
//! rate, or that of a film; each track is in its own file, and a manifest names both.

use std::fs;
use std::path::Path;

use crate::units::{Rate, TimeSpan};
use weir_measure::Stop;

use super::Failure;
use super::demo_title::{Made, run_ffmpeg};
use super::film_sizes::{FilmSizes, fill};
use super::output::say;

/// Encoded seconds; longer titles repeat them.
const CLIP: u64 = 60;
/// Frames per second, and frames from one sync sample to the next: 2 s.
const FRAMES: u32 = 24;
const SYNC: u32 = 48;
/// Names the files of a title.
pub const MANIFEST: &str = "title.toml";
/// Marker of a complete title.
const WHOLE: &str = "whole";

/// What a title is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Mean rate of its video.
    pub video: Rate,
    /// Rate of its audio.
    pub audio: Rate,
    /// How long it plays.
    pub duration: TimeSpan,
    /// The film whose bit rate its video follows; none for a constant rate.
    pub film: Option<FilmSizes>,
}

impl Shape {
    /// The folder of the title.
    pub fn name(&self) -> String {
        let word = |rate: Rate| rate.to_string().trim_end_matches("bit/s").to_owned();
        let film = self
            .film
            .as_ref()
            .map_or(String::new(), |film| format!("-{}", film.name));
        format!(
            "{}-{}-{}{film}",
            word(self.video),
            word(self.audio),
            self.duration
        )
    }
}

/// Generates a title in its folder below `folder`, unless it is there. `who` says so on standard error; none is quiet.
pub fn make(folder: &Path, shape: &Shape, who: Option<&str>, stop: &Stop) -> Result<Made, Failure> {
    let title = folder.join(shape.name());
    if title.join(WHOLE).exists() {
        return Ok(Made::Whole);
    }
    if let Some(who) = who {
        say(&format!(
            "{who}: generating a title of {} with video of {} in {}",
            shape.duration,
            shape.video,
            title.display()
        ));
    }
    make_title(&title, shape, stop)
}

fn make_title(title: &Path, shape: &Shape, stop: &Stop) -> Result<Made, Failure> {
    let failed = |what: &str, error: std::io::Error| {
        Failure::environment(format!("cannot {what} {}: {error}", title.display()))
    };
    // An interrupted run may have left an incomplete title.
    match fs::remove_dir_all(title) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed("remove", error)),
        _ => {}
    }
    fs::create_dir_all(title).map_err(|error| failed("create the folder", error))?;
    let seconds = shape.duration.0.div_ceil(1_000_000_000);
    for (kind, options) in [
        ("video", pictures(shape, seconds)),
        ("audio", sound(shape.audio, seconds)),
    ] {
        let (clip, whole) = (
            title.join(format!("clip-{kind}.mp4")),
            title.join(format!("{kind}.mp4")),
        );
        let (clip, whole) = (
            clip.to_string_lossy().into_owned(),
            whole.to_string_lossy().into_owned(),
        );
        let quietly = "-nostdin -loglevel error -y";
        let encode = [words(quietly), options, vec![clip.clone()]].concat();
        let repeat = [
            words(quietly),
            words("-stream_loop -1 -i"),
            vec![clip.clone(), "-t".to_owned(), seconds.to_string()],
            words("-c copy -movflags +faststart"),
            vec![whole],
        ]
        .concat();
        for arguments in [encode, repeat] {
            if run_ffmpeg(&arguments, || stop.is_set())? == Made::Stopped {
                return Ok(Made::Stopped);
            }
        }
        fs::remove_file(&clip).map_err(|error| failed("remove a clip from", error))?;
    }
    if let Some(film) = &shape.film {
        let (encoded, video) = (title.join("encoded.mp4"), title.join("video.mp4"));
        fs::rename(&video, &encoded).map_err(|error| failed("rename the video of", error))?;
        fill(&encoded, &video, film, shape.video)?;
        fs::remove_file(&encoded).map_err(|error| failed("remove the encoded video from", error))?;
    }
    let manifest = "[[track]]\nfile = \"video.mp4\"\n\n[[track]]\nfile = \"audio.mp4\"\n";
    fs::write(title.join(MANIFEST), manifest)
        .and_then(|()| fs::write(title.join(WHOLE), ""))
        .map_err(|error| failed("write to", error))?;
    Ok(Made::Whole)
}

fn pictures(shape: &Shape, seconds: u64) -> Vec<String> {
    // What fills a constant rate up would be a part of what a film fills up.
    let (rate, constant) = match &shape.film {
        None => (shape.video.0, "-x264-params nal-hrd=cbr"),
        Some(film) => (film.encoded(shape.video).0, ""),
    };
    words(&format!(
        "-f lavfi -i testsrc2=size=320x180:rate={FRAMES}:duration={},noise=alls=60:allf=t -c:v libx264 -preset ultrafast \
         -bf 2 -g {SYNC} -keyint_min {SYNC} -sc_threshold 0 -pix_fmt yuv420p -b:v {rate} -minrate {rate} -maxrate {rate} \
         -bufsize {rate} {constant}",
        CLIP.min(seconds)
    ))
}

fn sound(rate: Rate, seconds: u64) -> Vec<String> {
    words(&format!(
        "-f lavfi -i anoisesrc=sample_rate=48000:amplitude=0.5:duration={} -ac 2 -c:a aac -b:a {}",
        CLIP.min(seconds),
        rate.0
    ))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
