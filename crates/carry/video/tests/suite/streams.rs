//! Frames out of and into streams: Y4M, raw, inputs that end early, change their format or are something else.

use std::io::{self, Read};

use proptest::prelude::*;
use weir_video::{
    FrameReadError, FrameReader, FrameWriter, MAX_Y4M_LINE_BYTES, Next, PixelFormat, VideoFormat,
    parse_y4m_header, y4m_header,
};

fn format(text: &str) -> VideoFormat {
    text.parse().unwrap()
}

/// What reading to the end gives: each frame, then how it ended.
fn read_all(
    input: impl Read,
    raw: Option<VideoFormat>,
) -> (Vec<Vec<u8>>, Vec<VideoFormat>, Result<(), String>) {
    let (mut frames, mut formats) = (Vec::new(), Vec::new());
    let mut reader = match FrameReader::open(input, raw) {
        Ok(reader) => reader,
        Err(error) => return (frames, formats, Err(error.to_string())),
    };
    formats.push(reader.format());
    loop {
        let mut frame = vec![0; reader.format().frame_bytes()];
        match reader.read_frame(&mut frame) {
            Ok(Next::Frame) => frames.push(frame),
            Ok(Next::FormatChanged(format)) => formats.push(format),
            Ok(Next::End) => return (frames, formats, Ok(())),
            Err(error) => {
                let again = reader.read_frame(&mut frame).unwrap_err();
                assert_eq!(
                    again.to_string(),
                    error.to_string(),
                    "an error that does not stay"
                );
                return (frames, formats, Err(error.to_string()));
            }
        }
    }
}

/// Gives few bytes at a time, and an error that passes before each.
struct Trickle<'b> {
    bytes: &'b [u8],
    step: usize,
    ready: bool,
}

impl<'b> Trickle<'b> {
    fn new(bytes: &'b [u8], step: usize) -> Self {
        Trickle {
            bytes,
            step,
            ready: false,
        }
    }
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.ready = !self.ready;
        if !self.ready {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let length = buffer.len().min(self.step);
        self.bytes.read(&mut buffer[..length])
    }
}

#[test]
fn headers_of_y4m() {
    let read = |line: &str| {
        parse_y4m_header(line.as_bytes(), None)
            .map(|format| format.to_string())
            .map_err(|error| error.to_string())
    };
    // As ffmpeg and the MJPEG tools write them.
    for (line, text) in [
        (
            "YUV4MPEG2 W1920 H1080 F60000:1001 Ip A1:1 C422p10 XYSCSS=422P10 XCOLORRANGE=LIMITED",
            "1920x1080@59.94:yuv422p10le",
        ),
        (
            "YUV4MPEG2 W720 H576 F25:1 It A59:54 C420mpeg2",
            "720x576@25:yuv420p:tff",
        ),
        (
            "YUV4MPEG2 W720 H480 F30000:1001 Ib A0:0 C420paldv",
            "720x480@29.97:yuv420p:bff",
        ),
        ("YUV4MPEG2 W3 H3 F50:2", "3x3@25:yuv420p"),
        ("YUV4MPEG2 H2  W2 F1:1 Cmono I? ", "2x2@1:gray"),
        ("YUV4MPEG2 W2 H2 F24:1 C444p10", "2x2@24:yuv444p10le"),
    ] {
        assert_eq!(read(line), Ok(text.to_owned()));
    }
    for (line, error) in [
        (
            "YUV4MPEG W2 H2 F1:1",
            "a Y4M header must begin with YUV4MPEG2, not with 'YUV4MPEG W2 H2 F1:1'",
        ),
        (
            "YUV4MPEG2 H2 F1:1",
            "the Y4M header lacks the width (parameter 'W')",
        ),
        ("YUV4MPEG2 W2 H2 W2 F1:1", "the Y4M header has two parameters 'W'"),
        (
            "YUV4MPEG2 W2 H2",
            "the Y4M header lacks the frame rate (parameter 'F')",
        ),
        (
            "YUV4MPEG2 W2 H2 F0:0",
            "the Y4M header lacks the frame rate (parameter 'F')",
        ),
        (
            "YUV4MPEG2 W2 H2 F25",
            "invalid Y4M parameter 'F25'; write it like F30000:1001",
        ),
        (
            "YUV4MPEG2 W-2 H2 F25:1",
            "invalid Y4M parameter 'W-2'; write it like W1920 or H1080",
        ),
        (
            "YUV4MPEG2 W2 H2 F25:1 Ix",
            "invalid Y4M parameter 'Ix'; write it like Ip",
        ),
        (
            "YUV4MPEG2 W2 H2 F25:1 C444alpha",
            "unsupported Y4M colour space '444alpha'; supported are 420, 420jpeg, 420paldv, 420mpeg2, 422, 444, mono, 420p10, 422p10 and 444p10",
        ),
        (
            "YUV4MPEG2 W2 H99999 F25:1",
            "unsupported frame size 2x99999; sizes from 1x1 to 16384x16384 are supported",
        ),
    ] {
        assert_eq!(read(line), Err(error.to_owned()));
    }
    let known = format("2x2@50:gray").frame_rate();
    let line = b"YUV4MPEG2 W2 H2 F0:0 Cmono";
    assert_eq!(
        parse_y4m_header(line, Some(known)).unwrap(),
        format("2x2@50:gray")
    );
    assert_eq!(
        y4m_header(format("2x2@50:v210")).unwrap_err().to_string(),
        "Y4M does not support v210; write raw frames, or convert to a planar format such as yuv422p10le first"
    );
}

#[test]
fn a_stream_of_y4m() {
    let stream = b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nabFRAME Ip Xcomment\ncdFRAME\nef";
    for step in [1, 3, 7, 1000] {
        let input = Trickle::new(stream, step);
        let (frames, formats, end) = read_all(input, None);
        assert_eq!(frames, [b"ab", b"cd", b"ef"]);
        assert_eq!(formats, [format("2x1@25:gray")]);
        assert_eq!(end, Ok(()));
    }
}

#[test]
fn raw_frames_are_told_from_y4m() {
    let raw = Some(format("2x1@25:gray"));
    // The last begins as Y4M does, but not far enough.
    for stream in [&b""[..], b"ab", b"abcd", b"YUV4MPEG", b"YUV4MPEG1 ab"] {
        for step in [1, 1000] {
            let (frames, _, end) = read_all(Trickle::new(stream, step), raw);
            assert_eq!(frames.concat(), stream);
            assert_eq!(end, Ok(()));
        }
    }
    let end = |stream: &[u8]| read_all(stream, None).2.unwrap_err();
    assert_eq!(end(b""), "the input is empty");
    assert_eq!(
        end(b"abcd"),
        "the input does not begin with YUV4MPEG2; give its format, such as 1920x1080@59.94:yuv422p10le"
    );
    let mut reader = FrameReader::raw(&b"YUV4MPEG2 "[..], format("2x1@25:gray"));
    let mut frame = [0; 2];
    assert_eq!(reader.read_frame(&mut frame).unwrap(), Next::Frame);
    assert_eq!(&frame, b"YU");
    assert!(!reader.is_y4m());
}

#[test]
fn an_end_inside_a_frame_is_no_end() {
    let raw = Some(format("2x2@25:gray"));
    let (frames, _, end) = read_all(&b"abcdefg"[..], raw);
    assert_eq!(frames, [b"abcd"]);
    assert_eq!(end.unwrap_err(), "the input ended inside frame 1: 3 of 4 bytes");
    let ends = |stream: &str| read_all(stream.as_bytes(), raw).2.unwrap_err();
    let header = "YUV4MPEG2 W2 H1 F25:1 Cmono\n";
    assert_eq!(
        ends(&format!("{header}FRAME\nabFRAME\n")),
        "the input ended inside frame 1: 0 of 2 bytes"
    );
    assert_eq!(
        ends(&format!("{header}FRAME\nabFRA")),
        "the input ended inside a Y4M header, after 'FRA'"
    );
    assert_eq!(
        ends("YUV4MPEG2 W2 H1"),
        "the input ended inside a Y4M header, after 'YUV4MPEG2 W2 H1'"
    );
}

#[test]
fn broken_y4m_is_refused() {
    let header = "YUV4MPEG2 W2 H1 F25:1 Cmono\n";
    let ends = |stream: String| read_all(stream.as_bytes(), None).2.unwrap_err();
    // A frame that is one byte too long, and one that is too short.
    assert_eq!(
        ends(format!("{header}FRAME\nabcFRAME\nab")),
        "frame 1 of the Y4M stream must begin with FRAME, not with 'cFRAME'"
    );
    assert_eq!(
        ends(format!("{header}FRAME\naFRAME\nab")),
        "frame 1 of the Y4M stream must begin with FRAME, not with 'RAME\u{fffd}a'"
    );
    // However few bytes come at once.
    for step in 1..10 {
        let stream = format!("{header}ME\na");
        let input = Trickle::new(stream.as_bytes(), step);
        let end = read_all(input, None).2.unwrap_err();
        assert_eq!(end, "the input ended inside a Y4M header, after 'ME\u{fffd}a'");
    }
    let long = "x".repeat(MAX_Y4M_LINE_BYTES);
    assert_eq!(
        ends(format!("{header}FRAME X{long}\n")),
        "the Y4M header line is longer than 1024 bytes; the stream is damaged or not Y4M"
    );
    assert!(ends(format!("YUV4MPEG2 X{long}\n")).starts_with("the Y4M header line is longer than 1024"));
}

#[test]
fn a_change_of_format_is_said() {
    let stream = b"YUV4MPEG2 W2 H1 F25:1 Cmono\nFRAME\nab\
        YUV4MPEG2 W2 H1 F25:1 Cmono XAgain\nFRAME\ncd\
        YUV4MPEG2 W3 H1 F25:1 Cmono\nFRAME\nefg";
    let (frames, formats, end) = read_all(&stream[..], None);
    assert_eq!(frames, [&b"ab"[..], b"cd", b"efg"]);
    assert_eq!(formats, [format("2x1@25:gray"), format("3x1@25:gray")]);
    assert_eq!(end, Ok(()));
}

#[test]
fn an_error_that_passes_loses_nothing() {
    /// A byte, then `WouldBlock`, in turns.
    struct Blocking<'b>(&'b [u8], bool);
    impl Read for Blocking<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.0.read(&mut buffer[..1])
        }
    }
    let mut reader = FrameReader::raw(Blocking(b"abcdef", false), format("3x1@25:gray"));
    let (mut frame, mut frames, mut waits) = ([0; 3], Vec::new(), 0);
    loop {
        match reader.read_frame(&mut frame) {
            Ok(Next::Frame) => frames.push(frame),
            Ok(_) => break,
            Err(FrameReadError::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => waits += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(frames, [*b"abc", *b"def"]);
    assert_eq!((waits, reader.frames()), (7, 2));
}

#[test]
fn buffers_of_another_length_are_refused() {
    let mut reader = FrameReader::raw(&b"ab"[..], format("2x1@25:gray"));
    assert_eq!(
        reader.read_frame(&mut [0; 3]).unwrap_err().to_string(),
        "a buffer of 3 bytes does not fit frames of 2"
    );
    let mut writer = FrameWriter::raw(Vec::new(), format("2x1@25:gray"));
    assert_eq!(
        writer.write_frame(b"a").unwrap_err().to_string(),
        "1 bytes are not a frame of 2 bytes"
    );
    writer.write_frame(b"ab").unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.into_inner(), b"ab");
}

const PLANAR: [PixelFormat; 7] = [
    PixelFormat::Gray,
    PixelFormat::Yuv420p,
    PixelFormat::Yuv422p,
    PixelFormat::Yuv444p,
    PixelFormat::Yuv420p10le,
    PixelFormat::Yuv422p10le,
    PixelFormat::Yuv444p10le,
];

proptest! {
    #[test]
    fn frames_written_are_read_back(
        (width, height) in (1_u32..20, 1_u32..20),
        pixels in prop::sample::select(&PLANAR[..]),
        scan in prop::sample::select(vec!["", ":tff", ":bff"]),
        frames in 0_usize..4,
        step in 1_usize..100,
    ) {
        let format = format(&format!("{width}x{height}@29.97:{pixels}{scan}"));
        let content: Vec<Vec<u8>> = (0..frames)
            .map(|frame| (0..format.frame_bytes()).map(|at| (at * 7 + frame) as u8).collect())
            .collect();
        let mut writer = FrameWriter::y4m(Vec::new(), format).unwrap();
        for frame in &content {
            writer.write_frame(frame).unwrap();
        }
        writer.flush().unwrap();
        let stream = writer.into_inner();
        let input = Trickle::new(&stream, step);
        let (read, formats, end) = read_all(input, Some(format));
        prop_assert_eq!(read, content);
        prop_assert_eq!(formats, [format]);
        prop_assert_eq!(end, Ok(()));
    }

    #[test]
    fn any_line_is_a_header_or_refused_in_a_line(
        line in "YUV4MPEG2( [WH][0-9]{1,3}| F[0-9]{1,5}:[0-9]{1,4}| [A-Z].{0,9}){0,6}|.{0,60}",
    ) {
        match parse_y4m_header(line.as_bytes(), None) {
            Ok(format) => {
                let again = y4m_header(format).unwrap();
                prop_assert_eq!(parse_y4m_header(again.as_bytes(), None), Ok(format));
            }
            Err(error) => {
                let error = error.to_string();
                prop_assert!(error.len() < 600 && !error.contains('\n'), "{}", error);
            }
        }
    }
}
