//! Streams of frames: no input may panic the reader; it never gives more bytes than there are, and gives the same whether
//! it reads them one by one or all at once. What is read as Y4M is the same when it is written and read again.
//!
//! Input: a byte with the read size, then the stream. Anything but Y4M is raw frames of 3 bytes.

use std::io::{self, Read};

use crate::checks::in_a_line;
use weir_units::FrameRate;
use weir_video::{FrameReadError, FrameReader, FrameWriter, Next, PixelFormat, VideoFormat};

/// Frames larger than the fuzzer can fill only cost memory.
const MOST_FRAME_BYTES: usize = 1 << 16;

struct Steps<'b>(&'b [u8], usize);

impl Read for Steps<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.1);
        self.0.read(&mut buffer[..length])
    }
}

/// Frames with their formats, and how the read ended.
type Content = (Vec<(VideoFormat, Vec<u8>)>, String);

fn read_all(input: impl Read, raw: VideoFormat) -> Content {
    let mut frames = Vec::new();
    let end = read_into(&mut frames, input, raw)
        .err()
        .map_or_else(String::new, |error| error.to_string());
    in_a_line(&end, 600);
    (frames, end)
}

fn read_into(
    frames: &mut Vec<(VideoFormat, Vec<u8>)>,
    input: impl Read,
    raw: VideoFormat,
) -> Result<(), FrameReadError> {
    let mut reader = FrameReader::open(input, Some(raw))?;
    while reader.format().frame_bytes() <= MOST_FRAME_BYTES {
        let format = reader.format();
        let mut frame = vec![0; format.frame_bytes()];
        match reader.read_frame(&mut frame)? {
            Next::Frame => frames.push((format, frame)),
            Next::FormatChanged(changed) => assert_ne!(changed, format),
            Next::End => break,
        }
    }
    Ok(())
}

pub fn run(input: &[u8]) {
    let Some((step, stream)) = input.split_first() else {
        return;
    };
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    let raw = VideoFormat::new(3, 1, rate, PixelFormat::Gray).expect("a small format");
    let content = read_all(stream, raw);
    assert_eq!(read_all(Steps(stream, usize::from(*step).max(1)), raw), content);
    let (frames, _) = content;
    let bytes: usize = frames.iter().map(|(_, frame)| frame.len()).sum();
    assert!(bytes <= stream.len());
    for (format, frame) in frames.into_iter().take(4) {
        let mut writer = FrameWriter::y4m(Vec::new(), format).expect("a format that Y4M has");
        writer.write_frame(&frame).expect("writing to memory");
        let again = read_all(&writer.into_inner()[..], raw);
        assert_eq!(again, (vec![(format, frame)], String::new()));
    }
}
