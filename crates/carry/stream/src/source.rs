//! Sources of frames: a file, a pipe or a test pattern, read and packed by a thread of its own, a few frames ahead.
//! It must not know receivers.
//!
//! Before the stream begins, only the first bytes are read, which contain the format.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::time::Duration;

use bytes::BytesMut;
use weir_net::{clock, pipe};
use weir_units::FrameRate;
use weir_video::{FrameReadError, FrameReader, Next, PixelFormat, Repacker, TestPattern, VideoFormat};
use xxhash_rust::xxh3::xxh3_64;

use crate::StreamError;

/// Number of frames read ahead.
const AHEAD: usize = 2;

/// The input.
#[derive(Clone, Debug)]
pub enum Input {
    /// A test pattern.
    Pattern(VideoFormat),
    /// Standard input.
    Standard,
    /// A file, or a FIFO.
    Path(PathBuf),
}

/// How frames are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbering {
    /// From 0 on.
    #[default]
    Count,
    /// By the time at which a frame was read, so that several senders of one live source use the same numbers.
    Clock,
}

/// What to read, and how.
#[derive(Clone, Debug)]
pub struct SourceConfig {
    /// The input.
    pub input: Input,
    /// Format of raw frames; for Y4M only the frame rate is used, where the file has none.
    pub format: Option<VideoFormat>,
    /// Packing to send in; as read if none.
    pub packing: Option<PixelFormat>,
    /// How frames are numbered.
    pub numbering: Numbering,
    /// Maximum number of frames.
    pub most_frames: Option<u64>,
}

impl SourceConfig {
    /// Checks that the input exists.
    ///
    /// # Errors
    /// When it does not exist, or cannot be an input.
    pub fn check(&self) -> Result<(), StreamError> {
        open(&self.input).map(drop)
    }

    /// Whether the input has a clock of its own, as a camera behind a pipe has, and files do not.
    pub fn is_live(&self) -> bool {
        match &self.input {
            Input::Pattern(_) => false,
            Input::Standard => {
                // An input without metadata counts as a pipe.
                let stdin = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
                !stdin.is_ok_and(|fd| File::from(fd).metadata().is_ok_and(|it| it.is_file()))
            }
            Input::Path(path) => path.metadata().is_ok_and(|it| it.file_type().is_fifo()),
        }
    }
}

/// A frame that was read.
#[derive(Debug)]
pub struct SourceFrame {
    /// Its number (wraps).
    pub number: u32,
    /// Media time, nanoseconds: after the first frame's, or after that of number 0 if frames are numbered by the clock.
    pub timestamp_ns: u64,
    /// Its bytes, packed as they are sent.
    pub bytes: BytesMut,
    /// Their hash (XXH3, 64 bits), if one is wanted.
    pub hash: Option<u64>,
}

/// The next item of a source.
#[derive(Debug)]
pub enum FromSource {
    /// The format of the following frames.
    Format(VideoFormat),
    /// A frame.
    Frame(SourceFrame),
    /// The end; with an error if it failed.
    End(Option<StreamError>),
}

/// The frames, read by a thread.
#[derive(Debug)]
pub struct Source {
    frames: Receiver<FromSource>,
    spare: Sender<BytesMut>,
    begin: Option<Sender<()>>,
    hashing: Arc<AtomicBool>,
}

impl Source {
    /// Starts the thread, which opens the input and determines its format, and then waits for [`Source::begin`].
    ///
    /// # Errors
    /// When there is no such input, or the arguments contradict each other.
    pub fn start(config: SourceConfig) -> Result<Self, StreamError> {
        let opened = open(&config.input)?;
        let (to_frames, frames) = sync_channel(AHEAD);
        let (spare, from_spare) = channel();
        let (begin, begun) = channel();
        let hashing = Arc::new(AtomicBool::new(false));
        let reading = SourceReader {
            out: to_frames,
            spare: from_spare,
            begun,
            hashing: hashing.clone(),
            count: 0,
            next: 0,
            config,
        };
        std::thread::Builder::new()
            .name("source".into())
            .spawn(move || reading.run(opened))
            .map_err(|error| StreamError::thread(&error))?;
        Ok(Source {
            frames,
            spare,
            begin: Some(begin),
            hashing,
        })
    }

    /// Starts to read frames.
    pub fn begin(&mut self) {
        if let Some(begin) = self.begin.take() {
            // A thread that has ended has sent its error.
            let _ = begin.send(());
        }
    }

    /// Whether reading has started.
    pub fn has_begun(&self) -> bool {
        self.begin.is_none()
    }

    /// Whether hashes are wanted.
    pub fn set_hashing(&self, wanted: bool) {
        self.hashing.store(wanted, Ordering::Relaxed);
    }

    /// The next item, if it is ready.
    pub fn try_next(&self) -> Option<FromSource> {
        match self.frames.try_recv() {
            Ok(next) => Some(next),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(broke_off()),
        }
    }

    /// The next item, if it is ready within `limit`.
    pub fn next_within(&self, limit: Duration) -> Option<FromSource> {
        match self.frames.recv_timeout(limit) {
            Ok(next) => Some(next),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(broke_off()),
        }
    }

    /// Takes the buffer of a frame for reuse.
    pub fn recycle(&self, bytes: BytesMut) {
        // The reading thread has ended: free the memory.
        let _ = self.spare.send(bytes);
    }
}

fn broke_off() -> FromSource {
    FromSource::End(Some(StreamError::Internal("the reading thread failed".into())))
}

/// Opens what can be opened without waiting; a FIFO is opened by the thread.
fn open(input: &Input) -> Result<Option<File>, StreamError> {
    match input {
        Input::Pattern(_) => Ok(None),
        Input::Standard if io::stdin().is_terminal() => Err(StreamError::Parameters(
            "there is no video on standard input, which is a terminal; pipe raw frames or Y4M into it, name a file, or use --test-pattern"
                .into(),
        )),
        Input::Standard => Ok(None),
        Input::Path(path) => {
            let fail = |source| StreamError::OpenInput {
                path: path.clone(),
                source,
            };
            let metadata = path.metadata().map_err(fail)?;
            if metadata.is_dir() {
                return Err(fail(io::Error::other("it is a directory")));
            }
            if metadata.file_type().is_fifo() {
                return Ok(None);
            }
            File::open(path).map(Some).map_err(fail)
        }
    }
}

struct SourceReader {
    config: SourceConfig,
    out: SyncSender<FromSource>,
    spare: Receiver<BytesMut>,
    begun: Receiver<()>,
    hashing: Arc<AtomicBool>,
    /// Frames so far.
    count: u64,
    /// Lower bound of the next frame's number.
    next: u64,
}

/// The other end of the channel is closed.
struct Unwanted;

type Step = Result<(), Unwanted>;

impl SourceReader {
    fn run(mut self, opened: Option<File>) {
        let ended = match self.config.input.clone() {
            Input::Pattern(format) => self.pattern(format),
            Input::Standard => self.stream(io::stdin().lock(), None),
            Input::Path(path) => match opened.map_or_else(|| File::open(&path), Ok) {
                Ok(file) => self.stream(&file, Some(&file)),
                Err(source) => Ok(Some(StreamError::OpenInput { path, source })),
            },
        };
        if let Ok(error) = ended {
            // The receiver of the channel is gone.
            let _ = self.out.send(FromSource::End(error));
        }
    }

    fn say(&self, what: FromSource) -> Step {
        self.out.send(what).map_err(|_| Unwanted)
    }

    fn wait_for_begin(&self) -> Step {
        self.begun.recv().map_err(|_| Unwanted)
    }

    fn is_over(&self) -> bool {
        self.config.most_frames.is_some_and(|most| self.count >= most)
    }

    fn buffer(&self, bytes: usize) -> BytesMut {
        let mut buffer = self.spare.try_recv().unwrap_or_default();
        buffer.resize(bytes, 0);
        buffer
    }

    /// The number of a frame that is read now.
    fn number(&self, rate: FrameRate) -> u64 {
        match self.config.numbering {
            Numbering::Count => self.next,
            // A slow source skips numbers, and a fast one does not repeat them.
            Numbering::Clock => rate.whole_frames_in(clock::unix_ns()).max(self.next),
        }
    }

    fn frame(&mut self, rate: FrameRate, number: u64, bytes: BytesMut) -> Step {
        self.count += 1;
        self.next = number + 1;
        let hash = self.hashing.load(Ordering::Relaxed).then(|| xxh3_64(&bytes));
        self.say(FromSource::Frame(SourceFrame {
            number: number as u32,
            // Numbers of frames begin at 0, or are the same at all senders.
            timestamp_ns: rate.start_ns(number),
            bytes,
            hash,
        }))
    }

    fn pattern(&mut self, format: VideoFormat) -> Result<Option<StreamError>, Unwanted> {
        let mut pattern = match TestPattern::new(format) {
            Ok(pattern) => pattern,
            Err(error) => return Ok(Some(error.into())),
        };
        self.say(FromSource::Format(format))?;
        self.wait_for_begin()?;
        while !self.is_over() {
            let mut bytes = self.buffer(format.frame_bytes());
            // Two senders with the same number send the same frame.
            let number = self.number(format.frame_rate());
            if let Err(error) = pattern.render(number, &mut bytes) {
                return Ok(Some(error.into()));
            }
            self.frame(format.frame_rate(), number, bytes)?;
        }
        Ok(None)
    }

    fn stream(&mut self, input: impl Read, file: Option<&File>) -> Result<Option<StreamError>, Unwanted> {
        // A larger pipe saves most context switches; not all kernels allow it.
        match file {
            Some(file) => pipe::enlarge(file),
            None => pipe::enlarge(&io::stdin()),
        }
        let failed = |frames, source| Ok(Some(StreamError::Input { frames, source }));
        let mut reader = match FrameReader::open(input, self.config.format) {
            Ok(reader) => reader,
            Err(FrameReadError::FormatNeeded) => {
                let reason = "the input is not Y4M and has no format header; give the format with --format, such as --format 1920x1080@59.94:yuv422p10le";
                return Ok(Some(StreamError::Parameters(reason.into())));
            }
            Err(error) => return failed(0, error),
        };
        let mut packer = match self.packer(reader.format()) {
            Ok(packer) => packer,
            Err(error) => return Ok(Some(error)),
        };
        self.say(FromSource::Format(packer.to()))?;
        self.wait_for_begin()?;
        let mut unpacked = BytesMut::new();
        while !self.is_over() {
            let format = reader.format();
            let repacks = packer.from() != packer.to();
            let mut bytes = if repacks {
                std::mem::take(&mut unpacked)
            } else {
                self.buffer(0)
            };
            bytes.resize(format.frame_bytes(), 0);
            match reader.read_frame(&mut bytes) {
                Ok(Next::Frame) if repacks => {
                    let mut packed = self.buffer(packer.to().frame_bytes());
                    if let Err(error) = packer.run(&bytes, &mut packed) {
                        return Ok(Some(error.into()));
                    }
                    unpacked = bytes;
                    self.frame(format.frame_rate(), self.number(format.frame_rate()), packed)?;
                }
                Ok(Next::Frame) => {
                    self.frame(format.frame_rate(), self.number(format.frame_rate()), bytes)?
                }
                Ok(Next::FormatChanged(format)) => {
                    packer = match self.packer(format) {
                        Ok(packer) => packer,
                        Err(error) => return Ok(Some(error)),
                    };
                    self.say(FromSource::Format(packer.to()))?;
                }
                Ok(Next::End) => return Ok(None),
                Err(error) => return failed(self.count, error),
            }
        }
        Ok(None)
    }

    fn packer(&self, format: VideoFormat) -> Result<Repacker, StreamError> {
        let to = self.config.packing.unwrap_or(format.pixels());
        Ok(Repacker::new(format, to)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(config: SourceConfig) -> Vec<FromSource> {
        let mut source = Source::start(config).expect("a source");
        source.set_hashing(true);
        source.begin();
        let mut all = Vec::new();
        loop {
            let next = source.next_within(Duration::from_secs(10)).expect("in time");
            let ended = matches!(next, FromSource::End(_));
            all.push(next);
            if ended {
                return all;
            }
        }
    }

    #[test]
    fn a_pattern_ends_after_its_frames() {
        let format: VideoFormat = "64x64@25:gray".parse().expect("a format");
        let all = read(SourceConfig {
            input: Input::Pattern(format),
            format: None,
            packing: None,
            numbering: Numbering::Count,
            most_frames: Some(3),
        });
        assert!(matches!(all[0], FromSource::Format(_)));
        let mut pattern = TestPattern::new(format).expect("a pattern");
        for (index, next) in all[1..4].iter().enumerate() {
            let FromSource::Frame(frame) = next else {
                panic!("a frame");
            };
            let mut expected = vec![0; format.frame_bytes()];
            pattern.render(index as u64, &mut expected).expect("a frame");
            assert_eq!(
                (frame.number as usize, frame.timestamp_ns),
                (index, index as u64 * 40_000_000)
            );
            assert_eq!(
                (&frame.bytes[..], frame.hash),
                (&expected[..], Some(xxh3_64(&expected)))
            );
        }
        assert!(matches!(all[4], FromSource::End(None)));
    }

    /// So that a frame has the same media time at all senders, whenever each began.
    #[test]
    fn media_time_follows_from_numbers_by_the_clock() {
        let all = read(SourceConfig {
            input: Input::Pattern("64x64@25:gray".parse().expect("a format")),
            format: None,
            packing: None,
            numbering: Numbering::Clock,
            most_frames: Some(3),
        });
        for next in &all[1..4] {
            let FromSource::Frame(frame) = next else {
                panic!("a frame");
            };
            // Frames of 40 ms since 1970; numbers wrap.
            assert_eq!(frame.timestamp_ns % 40_000_000, 0);
            assert_eq!((frame.timestamp_ns / 40_000_000) as u32, frame.number);
        }
    }

    #[test]
    fn what_cannot_be_opened_is_said_at_once() {
        let config = |path: &str| SourceConfig {
            input: Input::Path(path.into()),
            format: None,
            packing: None,
            numbering: Numbering::Count,
            most_frames: None,
        };
        for (path, said) in [("/nowhere/at/all", "No such file"), ("/tmp", "directory")] {
            let error = Source::start(config(path)).expect_err("an error").to_string();
            assert!(error.contains(path) && error.contains(said), "{error}");
        }
    }
}
