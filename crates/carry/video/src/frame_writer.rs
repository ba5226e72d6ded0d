//! Whole frames into a stream of bytes, raw or as Y4M. It must not know where they go.

use std::io::Write;

use super::{FrameWriteError, VideoFormat, y4m_header};

/// Writes frames one by one. It has no buffer of its own: a frame is one large write.
#[derive(Debug)]
pub struct FrameWriter<W> {
    output: W,
    format: VideoFormat,
    /// The line before the first frame, until it is written.
    header: Option<String>,
    /// The line before each frame.
    frame_header: &'static [u8],
}

impl<W: Write> FrameWriter<W> {
    /// Frames and nothing else.
    pub fn raw(output: W, format: VideoFormat) -> Self {
        FrameWriter {
            output,
            format,
            header: None,
            frame_header: b"",
        }
    }

    /// Y4M. The header is written with the first frame, or when a stream without frames is flushed.
    ///
    /// # Errors
    ///
    /// Pixels for which Y4M has no name.
    pub fn y4m(output: W, format: VideoFormat) -> Result<Self, FrameWriteError> {
        Ok(FrameWriter {
            output,
            format,
            header: Some(y4m_header(format)? + "\n"),
            frame_header: b"FRAME\n",
        })
    }

    /// The format of the frames.
    pub fn format(&self) -> VideoFormat {
        self.format
    }

    /// Writes one frame. After an error the output may have a part of it.
    ///
    /// # Errors
    ///
    /// Output that cannot be written, and bytes that are not one frame.
    pub fn write_frame(&mut self, frame: &[u8]) -> Result<(), FrameWriteError> {
        let frame_bytes = self.format.frame_bytes();
        if frame.len() != frame_bytes {
            return Err(FrameWriteError::Length {
                given: frame.len(),
                frame_bytes,
            });
        }
        self.write_header()?;
        self.output.write_all(self.frame_header)?;
        self.output.write_all(frame)?;
        Ok(())
    }

    fn write_header(&mut self) -> Result<(), FrameWriteError> {
        if let Some(header) = self.header.take() {
            self.output.write_all(header.as_bytes())?;
        }
        Ok(())
    }

    /// Flushes the output; a stream without frames gets its header.
    ///
    /// # Errors
    ///
    /// Output that cannot be written.
    pub fn flush(&mut self) -> Result<(), FrameWriteError> {
        self.write_header()?;
        Ok(self.output.flush()?)
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.output
    }
}
