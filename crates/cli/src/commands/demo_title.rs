//! The title of `weir origin demo`, generated with ffmpeg: video on three rungs, and audio and subtitles in two
//! languages, with a different tone for each. It must not know who plays it.

use std::fmt::Write;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::units::TimeSpan;

use super::Failure;

/// Height, width and bits per second of the rungs, the highest first.
const RUNGS: [(u32, u32, u32); 3] = [(720, 1280, 2_000_000), (480, 854, 1_000_000), (360, 640, 500_000)];
/// Frames per second, and frames from one sync sample to the next: 2 s, so that segments can begin there.
const FRAMES: u32 = 25;
const SYNC: u32 = 50;
/// Language codes of subtitles and of MP4, and the pitch in Hz that distinguishes the languages. Players list them by
/// file name; the first is the default.
const LANGUAGES: [(&str, &str, &str, u32); 2] = [("en", "eng", "english", 440), ("de", "deu", "german", 330)];
/// Seconds from one subtitle to the next.
const CUE: u64 = 2;
/// Interval at which a stop is polled.
const WAIT: Duration = Duration::from_millis(50);
/// Maximum number of bytes kept of ffmpeg's error output.
const COMPLAINTS: u64 = 64 << 10;

/// How the generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// The title is complete.
    Whole,
    /// It was interrupted.
    Stopped,
}

/// Generates the title in a folder, which it creates.
pub fn make_title(folder: &Path, duration: TimeSpan, stop: impl Fn() -> bool) -> Result<Made, Failure> {
    let seconds = duration.0.div_ceil(1_000_000_000);
    std::fs::create_dir(folder).map_err(|error| {
        Failure::environment(format!("cannot create the folder {}: {error}", folder.display()))
    })?;
    for (language, ..) in LANGUAGES {
        let file = folder.join(format!("{language}.vtt"));
        std::fs::write(&file, subtitles(language, seconds))
            .map_err(|error| Failure::environment(format!("cannot write {}: {error}", file.display())))?;
    }
    run_ffmpeg(&arguments(folder, seconds), stop)
}

/// Runs ffmpeg until it ends or a stop is requested.
pub fn run_ffmpeg(arguments: &[String], stop: impl Fn() -> bool) -> Result<Made, Failure> {
    let child = Command::new("ffmpeg")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::environment(cannot_start(&error)))?;
    wait(child, stop)
}

fn cannot_start(error: &std::io::Error) -> String {
    if error.kind() == ErrorKind::NotFound {
        return "cannot generate the title: ffmpeg is not installed; on Debian and Ubuntu 'apt-get install ffmpeg' \
                installs it"
            .to_owned();
    }
    format!("cannot start ffmpeg to generate the title: {error}")
}

fn wait(mut child: Child, stop: impl Fn() -> bool) -> Result<Made, Failure> {
    let failed = |error: std::io::Error| Failure::environment(format!("cannot wait for ffmpeg: {error}"));
    let complaints = child.stderr.take();
    let reader = thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(complaints) = complaints {
            // Output that cannot be read is left out of the message.
            let _ = complaints.take(COMPLAINTS).read_to_end(&mut said);
        }
        said
    });
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if stop() {
            // It may have ended already.
            let _ = child.kill();
            child.wait().map_err(failed)?;
            return Ok(Made::Stopped);
        }
        thread::sleep(WAIT);
    };
    // Ctrl-C reaches ffmpeg as well.
    if stop() {
        return Ok(Made::Stopped);
    }
    if status.success() {
        return Ok(Made::Whole);
    }
    let said = reader.join().unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let why = said.lines().rev().find(|line| !line.trim().is_empty());
    let why = why.unwrap_or("no error message");
    Err(Failure::environment(format!(
        "ffmpeg failed to generate the title ({status}): {}; it needs the encoders libx264 (H.264) and aac",
        why.trim()
    )))
}

/// Arguments of ffmpeg: all inputs, then one output per file.
fn arguments(folder: &Path, seconds: u64) -> Vec<String> {
    let (height, width, _) = RUNGS[0];
    let mut words: Vec<String> = words("-nostdin -loglevel error -n");
    let pictures = format!("testsrc2=size={width}x{height}:rate={FRAMES}:duration={seconds}");
    words.extend(["-f", "lavfi", "-i", &pictures].map(str::to_owned));
    for (.., pitch) in LANGUAGES {
        let tone = format!("sine=frequency={pitch}:beep_factor=4:sample_rate=48000:duration={seconds}");
        words.extend(["-f", "lavfi", "-i", &tone].map(str::to_owned));
    }
    words.extend(["-filter_complex".to_owned(), scaling()]);
    let file = |name: String| folder.join(name).to_string_lossy().into_owned();
    for (height, _, rate) in RUNGS {
        let buffer = rate * 2;
        words.extend(self::words(&format!(
            "-map [v{height}] -c:v libx264 -preset superfast -bf 2 -g {SYNC} -keyint_min {SYNC} -sc_threshold 0 \
             -pix_fmt yuv420p -b:v {rate} -maxrate {rate} -bufsize {buffer} -movflags +faststart"
        )));
        words.push(file(format!("video-{height}p.mp4")));
    }
    for (number, (_, code, name, _)) in LANGUAGES.iter().enumerate() {
        let input = number + 1;
        words.extend(self::words(&format!(
            "-map {input}:a -c:a aac -b:a 96k -ac 2 -metadata:s:a:0 language={code} -movflags +faststart"
        )));
        words.push(file(format!("sound-{name}.mp4")));
    }
    words
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn scaling() -> String {
    let mut text = format!("[0:v]split={}", RUNGS.len());
    for (height, _, _) in RUNGS {
        // Writing into a String cannot fail.
        let _ = write!(text, "[s{height}]");
    }
    for (height, width, _) in RUNGS {
        let _ = write!(text, ";[s{height}]scale={width}:{height},setsar=1[v{height}]");
    }
    text
}

/// A subtitle every two seconds with the time.
fn subtitles(language: &str, seconds: u64) -> String {
    let word = if language == "de" { "Sekunde" } else { "second" };
    let mut text = String::from("WEBVTT\n");
    for start in (0..seconds).step_by(CUE as usize) {
        let end = (start + CUE).min(seconds) - 1;
        let _ = write!(text, "\n00:{start:02}.000 --> 00:{end:02}.900\n{word} {start}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_follow_each_other_up_to_the_end() {
        let text = subtitles("de", 11);
        assert!(
            text.starts_with("WEBVTT\n\n00:00.000 --> 00:01.900\nSekunde 0\n\n00:02.000 --> 00:03.900\n")
        );
        assert!(text.ends_with("\n00:10.000 --> 00:10.900\nSekunde 10\n"));
        assert!(subtitles("en", 60).ends_with("00:58.000 --> 00:59.900\nsecond 58\n"));
    }

    #[test]
    fn rungs_are_scaled_from_one_picture() {
        assert_eq!(
            scaling(),
            "[0:v]split=3[s720][s480][s360];[s720]scale=1280:720,setsar=1[v720];\
             [s480]scale=854:480,setsar=1[v480];[s360]scale=640:360,setsar=1[v360]"
        );
    }
}
