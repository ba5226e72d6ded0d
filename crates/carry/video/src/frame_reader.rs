//! Whole frames out of a stream of bytes: Y4M, recognised by its first word, or raw frames of a format that the caller
//! knows. It must not know whether the bytes come from a file, a pipe or a test, and does not wait for anything but its
//! input.

use std::io::{self, Read};

use weir_units::FrameRate;

use super::quoted::quoted_bytes;
use super::y4m::{FRAME, MAX_Y4M_LINE_BYTES, STREAM, begins_with, parse_y4m_header};
use super::{FrameReadError, VideoFormat, Y4mError};

/// What came next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A frame, which the buffer now holds.
    Frame,
    /// The stream says that from here on its frames have another format: [`FrameReader::format`] is now this one, and the
    /// next call takes a buffer of its length. Nothing has been written into the buffer.
    FormatChanged(VideoFormat),
    /// The input ended behind a whole frame.
    End,
}

/// Reads frames one by one into the caller's buffer, without one of its own.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: R,
    format: VideoFormat,
    /// For Y4M that does not know its frame rate.
    unknown_rate: Option<FrameRate>,
    y4m: bool,
    /// Read while looking for Y4M, and part of the first raw frames.
    ahead: Vec<u8>,
    /// The Y4M line being read; whole when it ends with a line feed.
    line: Vec<u8>,
    /// The line before the frame has been read, or there is none.
    in_frame: bool,
    /// Bytes of this frame that the caller's buffer holds.
    filled: usize,
    frames: u64,
}

impl<R: Read> FrameReader<R> {
    /// Looks at the first bytes of `input`: Y4M says its format itself, anything else is frames of `format`. Where the
    /// input is Y4M, `format` gives at most the frame rate, if the header does not know it; compare [`Self::format`]
    /// with what was expected. This waits for the first bytes: unlike [`Self::read_frame`] it cannot be repeated after an
    /// error that passes, such as `WouldBlock`.
    ///
    /// # Errors
    ///
    /// Input that cannot be read, broken Y4M headers, and no Y4M where `format` is none.
    pub fn open(input: R, format: Option<VideoFormat>) -> Result<Self, FrameReadError> {
        let unknown_rate = format.map(VideoFormat::frame_rate);
        let mut start = Start {
            input,
            bytes: Vec::new(),
        };
        if start.is_y4m()? {
            let Start { mut input, mut bytes } = start;
            if !read_line(&mut input, &mut bytes)? {
                return Err(ended_in_header(&bytes));
            }
            let format = parse_y4m_header(without_line_feed(&bytes), unknown_rate)?;
            bytes.clear();
            return Ok(FrameReader {
                unknown_rate,
                y4m: true,
                line: bytes,
                in_frame: false,
                ..Self::raw(input, format)
            });
        }
        match format {
            Some(format) => Ok(FrameReader {
                ahead: start.bytes,
                ..Self::raw(start.input, format)
            }),
            None if start.bytes.is_empty() => Err(FrameReadError::Empty),
            None => Err(FrameReadError::FormatNeeded),
        }
    }

    /// Frames of `format`, whatever they begin with. Reads nothing yet.
    pub fn raw(input: R, format: VideoFormat) -> Self {
        FrameReader {
            input,
            format,
            unknown_rate: None,
            y4m: false,
            ahead: Vec::new(),
            line: Vec::new(),
            in_frame: true,
            filled: 0,
            frames: 0,
        }
    }

    /// The format of the next frame.
    pub fn format(&self) -> VideoFormat {
        self.format
    }

    /// Whether the input is Y4M.
    pub fn is_y4m(&self) -> bool {
        self.y4m
    }

    /// Whole frames read so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Reads the next frame into `frame`, which has [`VideoFormat::frame_bytes`] of [`Self::format`]. If the input gives
    /// an error that passes, such as `WouldBlock`, the call can be repeated with the same buffer, and goes on where it
    /// was. `Interrupted` is tried again at once. A second Y4M header of the same format is passed over.
    ///
    /// # Errors
    ///
    /// Input that cannot be read or that ends inside a frame or a header, broken Y4M, and buffers of another length.
    pub fn read_frame(&mut self, frame: &mut [u8]) -> Result<Next, FrameReadError> {
        let frame_bytes = self.format.frame_bytes();
        if frame.len() != frame_bytes {
            return Err(FrameReadError::Buffer {
                given: frame.len(),
                frame_bytes,
            });
        }
        while !self.in_frame {
            if !read_line(&mut self.input, &mut self.line)? {
                return if self.line.is_empty() {
                    Ok(Next::End)
                } else {
                    Err(ended_in_header(&self.line))
                };
            }
            let line = without_line_feed(&self.line);
            if begins_with(line, FRAME) {
                self.in_frame = true;
            } else if begins_with(line, STREAM) {
                let format = parse_y4m_header(line, self.unknown_rate)?;
                self.line.clear();
                if format != self.format {
                    self.format = format;
                    return Ok(Next::FormatChanged(format));
                }
            } else {
                return Err(FrameReadError::Y4m(Y4mError::NotAFrame {
                    frame: self.frames,
                    found: quoted_bytes(line),
                }));
            }
        }
        self.fill(frame)
    }

    fn fill(&mut self, frame: &mut [u8]) -> Result<Next, FrameReadError> {
        let ahead = self.ahead.len().min(frame.len() - self.filled);
        frame[self.filled..self.filled + ahead].copy_from_slice(&self.ahead[..ahead]);
        self.ahead.drain(..ahead);
        self.filled += ahead;
        while self.filled < frame.len() {
            let read = read_some(&mut self.input, &mut frame[self.filled..])?;
            if read == 0 {
                return if self.filled == 0 && !self.y4m {
                    Ok(Next::End)
                } else {
                    Err(FrameReadError::EndedInFrame {
                        frame: self.frames,
                        read: self.filled,
                        of: frame.len(),
                    })
                };
            }
            self.filled += read;
        }
        self.frames += 1;
        self.filled = 0;
        self.line.clear();
        self.in_frame = !self.y4m;
        Ok(Next::Frame)
    }
}

/// An input of which the first bytes have been looked at.
struct Start<R> {
    input: R,
    bytes: Vec<u8>,
}

impl<R: Read> Start<R> {
    /// Stops at the first byte that Y4M would not have there.
    fn is_y4m(&mut self) -> io::Result<bool> {
        while self.bytes.len() < STREAM.len() && STREAM.starts_with(&self.bytes) {
            let mut more = [0; STREAM.len()];
            let missing = STREAM.len() - self.bytes.len();
            let read = read_some(&mut self.input, &mut more[..missing])?;
            if read == 0 {
                break;
            }
            self.bytes.extend(&more[..read]);
        }
        Ok(self.bytes == STREAM)
    }
}

/// Goes on reading a line until its line feed, and no byte further, or until it is clear that it is no line of Y4M.
/// Whether it got there; if not, the input has ended.
fn read_line(input: &mut impl Read, line: &mut Vec<u8>) -> Result<bool, FrameReadError> {
    // No line is shorter than that of a frame without parameters, so this much is safe to read at once. It is always
    // read before anything is decided, so that errors do not depend on how much an input gives at once.
    let shortest = FRAME.len() + 1;
    let strange = |line: &[u8]| {
        line.len() >= shortest && !line.starts_with(FRAME) && !line.starts_with(&STREAM[..shortest])
    };
    while line.len() < shortest || line.last() != Some(&b'\n') && !strange(line) {
        if line.len() > MAX_Y4M_LINE_BYTES {
            return Err(FrameReadError::Y4m(Y4mError::LineTooLong));
        }
        let mut more = [0; FRAME.len() + 1];
        let missing = shortest.saturating_sub(line.len()).max(1);
        let read = read_some(input, &mut more[..missing])?;
        if read == 0 {
            return Ok(false);
        }
        line.extend(&more[..read]);
    }
    Ok(true)
}

fn without_line_feed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

fn ended_in_header(line: &[u8]) -> FrameReadError {
    FrameReadError::EndedInHeader {
        line: quoted_bytes(line),
    }
}

fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
