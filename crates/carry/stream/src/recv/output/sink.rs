//! The file, FIFO or standard output of the frames. It must not know the source of the frames.

use std::fs::File;
use std::io::{self, Stdout, Write};
use std::time::Duration;

use weir_control::Stop;
use weir_net::pipe;
use weir_video::{FrameWriteError, FrameWriter, PixelFormat, Repacker, VideoFormat};

use super::plan::{Form, OutputPlan, Target};
use crate::StreamError;

/// Why writing ended.
pub(super) enum WriteEnd {
    ReaderLeft,
    Stopped,
    Failed(StreamError),
}

/// The open output.
enum Opened {
    Standard(Stdout),
    File(File),
}

impl Write for Opened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Opened::Standard(out) => out.write(bytes),
            Opened::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Opened::Standard(out) => out.flush(),
            Opened::File(file) => file.flush(),
        }
    }
}

/// A sequence of frames of one format.
struct Stream {
    from: VideoFormat,
    packer: Repacker,
    writer: FrameWriter<Opened>,
}

pub(super) struct Sink {
    plan: OutputPlan,
    opened: Option<Opened>,
    stream: Option<Stream>,
    packed: Vec<u8>,
}

impl Sink {
    pub(super) fn new(plan: &OutputPlan) -> Self {
        Sink {
            plan: plan.clone(),
            opened: None,
            stream: None,
            packed: Vec::new(),
        }
    }

    /// Opens the output; waits for the reader of a FIFO.
    pub(super) fn open(&mut self, stop: &Stop) -> Result<(), WriteEnd> {
        let opened = match &self.plan.target {
            Target::Nowhere => return Ok(()),
            Target::Standard => {
                pipe::enlarge(&io::stdout());
                Opened::Standard(io::stdout())
            }
            Target::Path(path) => loop {
                match pipe::open_for_writing(path) {
                    Ok(Some(file)) => {
                        pipe::enlarge(&file);
                        break Opened::File(file);
                    }
                    Ok(None) if stop.is_set() => return Err(WriteEnd::Stopped),
                    Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                    Err(error) => return Err(self.failed(&error)),
                }
            },
        };
        self.opened = Some(opened);
        Ok(())
    }

    /// Writes a frame of this format.
    pub(super) fn write(&mut self, format: VideoFormat, frame: &[u8]) -> Result<(), WriteEnd> {
        if self.plan.target == Target::Nowhere {
            return Ok(());
        }
        if self.stream.as_ref().is_none_or(|stream| stream.from != format) {
            self.begin(format)?;
        }
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let bytes = if stream.packer.from() == stream.packer.to() {
            frame
        } else {
            self.packed.resize(stream.packer.to().frame_bytes(), 0);
            let packed = stream.packer.run(frame, &mut self.packed);
            packed.map_err(|error| WriteEnd::Failed(error.into()))?;
            &self.packed
        };
        let written = stream.writer.write_frame(bytes);
        written.map_err(|error| self.write_failed(&error))
    }

    /// Starts frames of another format; Y4M needs another header.
    fn begin(&mut self, format: VideoFormat) -> Result<(), WriteEnd> {
        let before = self.stream.take().map(|stream| stream.writer.into_inner());
        let Some(opened) = before.or_else(|| self.opened.take()) else {
            return Ok(());
        };
        let packing = self
            .plan
            .packing
            .unwrap_or(match (self.plan.form, format.pixels()) {
                // Y4M supports planar formats only.
                (Form::Y4m, PixelFormat::St2110 | PixelFormat::V210) => PixelFormat::Yuv422p10le,
                (Form::Y4m, PixelFormat::Uyvy422) => PixelFormat::Yuv422p,
                (_, pixels) => pixels,
            });
        let packer = Repacker::new(format, packing).map_err(|error| WriteEnd::Failed(error.into()))?;
        let writer = match self.plan.form {
            Form::Raw => FrameWriter::raw(opened, packer.to()),
            Form::Y4m => FrameWriter::y4m(opened, packer.to()).map_err(|error| self.write_failed(&error))?,
        };
        self.stream = Some(Stream {
            from: format,
            packer,
            writer,
        });
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), WriteEnd> {
        let flushed = match &mut self.stream {
            Some(stream) => stream.writer.flush(),
            None => Ok(()),
        };
        flushed.map_err(|error| self.write_failed(&error))
    }

    fn write_failed(&self, error: &FrameWriteError) -> WriteEnd {
        match error {
            FrameWriteError::Io(error) if error.kind() == io::ErrorKind::BrokenPipe => WriteEnd::ReaderLeft,
            error => self.failed(error),
        }
    }

    fn failed(&self, reason: &impl std::fmt::Display) -> WriteEnd {
        WriteEnd::Failed(StreamError::Output {
            output: match &self.plan.target {
                Target::Path(path) => path.display().to_string(),
                Target::Standard | Target::Nowhere => "standard output".into(),
            },
            reason: reason.to_string(),
        })
    }
}
