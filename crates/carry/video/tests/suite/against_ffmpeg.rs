//! Sizes of frames, packings, Y4M and the test pattern against ffmpeg, which knows nothing of this crate. It has to be
//! installed (`scripts/install_prerequisites.sh test`).

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use weir_video::{
    FrameReader, FrameWriter, Next, PixelFormat, Repacker, TestPattern, VideoFormat, fill_blank,
    read_frame_number,
};

/// Far more than it takes; only a program that hangs needs as long.
const LIMIT: Duration = Duration::from_secs(120);

/// The standard output of ffmpeg with these arguments, split at spaces, and this standard input.
fn ffmpeg(arguments: &str, input: Vec<u8>) -> Vec<u8> {
    let mut child = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error"])
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ffmpeg is needed for this test: apt-get install ffmpeg");
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // It may end before it has read everything; what it has made of that is compared, not how it read.
    let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut output = Vec::new();
        drop(sender.send(stdout.read_to_end(&mut output).map(|_| output)));
    });
    let output = receiver.recv_timeout(LIMIT);
    if output.is_err() {
        drop(child.kill());
    }
    let status = child.wait().unwrap();
    feeder.join().unwrap();
    let output = output
        .unwrap_or_else(|_| panic!("ffmpeg {arguments} did not end"))
        .unwrap();
    assert!(status.success(), "ffmpeg {arguments}: {status}");
    output
}

fn format(size: &str, pixels: PixelFormat) -> VideoFormat {
    format!("{size}@25:{pixels}").parse().unwrap()
}

/// ffmpeg's options to write frames of this format.
fn writes(pixels: PixelFormat) -> String {
    match pixels {
        PixelFormat::V210 => "-pix_fmt yuv422p10le -c:v v210 -f rawvideo -".to_owned(),
        PixelFormat::St2110 => "-pix_fmt yuv422p10le -c:v bitpacked -f rawvideo -".to_owned(),
        other => format!("-pix_fmt {other} -f rawvideo -"),
    }
}

/// ffmpeg's options to read frames of this format.
fn reads(format: VideoFormat) -> String {
    let size = format!(
        "-video_size {}x{} -framerate 25 -i -",
        format.width(),
        format.height()
    );
    match format.pixels() {
        PixelFormat::V210 => format!("-f v210 {size}"),
        PixelFormat::St2110 => format!("-f bitpacked -pixel_format yuv422p10le {size}"),
        other => format!("-f rawvideo -pixel_format {other} {size}"),
    }
}

/// 10-bit samples of every value that v210 may have.
fn noise(format: VideoFormat, frames: usize) -> Vec<u8> {
    let mut state = 1_u64;
    (0..format.frame_bytes() / 2 * frames)
        .flat_map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (4 + (state >> 40) as u16 % 1016).to_le_bytes()
        })
        .collect()
}

fn repack(from: VideoFormat, to: PixelFormat, frames: &[u8]) -> Vec<u8> {
    let repacker = Repacker::new(from, to).unwrap();
    let mut output = vec![0xa5; repacker.to().frame_bytes()];
    frames
        .chunks_exact(from.frame_bytes())
        .flat_map(|frame| {
            repacker.run(frame, &mut output).unwrap();
            output.clone()
        })
        .collect()
}

#[test]
fn packings_are_those_of_ffmpeg() {
    // Widths around the steps of the packings: 2, 8 and 6 pixels, and v210's lines of 48. With fewer than four lines
    // ffmpeg 5.1 decodes v210 to zeros.
    for size in ["64x4", "46x4", "50x6", "1920x4"] {
        let planar = format(size, PixelFormat::Yuv422p10le);
        let random = noise(planar, 2);
        let moving = ffmpeg(
            &format!(
                "-f lavfi -i testsrc2=size={size}:rate=25 -frames:v 2 {}",
                writes(PixelFormat::Yuv422p10le)
            ),
            Vec::new(),
        );
        for frames in [random, moving] {
            assert_eq!(frames.len(), 2 * planar.frame_bytes());
            for packing in [PixelFormat::St2110, PixelFormat::V210] {
                let packed = ffmpeg(&format!("{} {}", reads(planar), writes(packing)), frames.clone());
                assert!(
                    repack(planar, packing, &frames) == packed,
                    "{size} {packing} packed otherwise"
                );
                let packed_format = format(size, packing);
                assert!(
                    repack(packed_format, PixelFormat::Yuv422p10le, &packed) == frames,
                    "{size} {packing} unpacked otherwise"
                );
                let unpacked = ffmpeg(
                    &format!("{} {}", reads(packed_format), writes(PixelFormat::Yuv422p10le)),
                    repack(planar, packing, &frames),
                );
                assert!(
                    unpacked == frames,
                    "{size} {packing} unpacked by ffmpeg otherwise"
                );
            }
        }
    }
}

/// Frames of random colours in any size and format, made by ffmpeg. Its own sources round odd sizes.
fn colours(size: &str, frames: usize, output: &str) -> Vec<u8> {
    let rgb = format(size, PixelFormat::Rgb24);
    let mut random = noise(rgb.with_pixels(PixelFormat::Rgb48le).unwrap(), frames);
    random.truncate(rgb.frame_bytes() * frames);
    ffmpeg(&format!("{} {output}", reads(rgb)), random)
}

#[test]
fn frames_have_the_bytes_that_ffmpeg_writes() {
    for pixels in PixelFormat::ALL {
        let mut sizes = vec!["98x66", "16x7"];
        // ffmpeg too rounds chroma up.
        if !matches!(
            pixels,
            PixelFormat::Uyvy422 | PixelFormat::V210 | PixelFormat::St2110
        ) {
            sizes.push("65x67");
        }
        for size in sizes {
            let bytes = colours(size, 1, &writes(pixels)).len();
            assert_eq!(bytes, format(size, pixels).frame_bytes(), "{size} {pixels}");
        }
    }
}

fn read_all(stream: &[u8]) -> (VideoFormat, Vec<u8>) {
    let mut reader = FrameReader::open(stream, None).unwrap();
    let mut frame = vec![0; reader.format().frame_bytes()];
    let mut frames = Vec::new();
    while reader.read_frame(&mut frame).unwrap() == Next::Frame {
        frames.extend_from_slice(&frame);
    }
    (reader.format(), frames)
}

#[test]
fn y4m_is_read_and_written_as_by_ffmpeg() {
    let planar = PixelFormat::ALL
        .into_iter()
        .filter(|pixels| pixels.name().contains('p') || *pixels == PixelFormat::Gray);
    for pixels in planar.filter(|pixels| *pixels != PixelFormat::V210) {
        // With an odd width and 10 bits, ffmpeg 5.1 writes Y4M whose lines of chroma lack their last sample.
        let size = if pixels.depth() == 8 { "65x35" } else { "66x35" };
        let raw = colours(size, 3, &writes(pixels));
        let y4m = colours(
            size,
            3,
            &format!("-pix_fmt {pixels} -strict -1 -f yuv4mpegpipe -"),
        );
        let (format, frames) = read_all(&y4m);
        assert_eq!(format.to_string(), format!("{size}@25:{pixels}"));
        assert!(frames == raw, "{pixels}");

        let mut writer = FrameWriter::y4m(Vec::new(), format).unwrap();
        for frame in raw.chunks_exact(format.frame_bytes()) {
            writer.write_frame(frame).unwrap();
        }
        let back = ffmpeg(
            &format!("-f yuv4mpegpipe -i - {}", writes(pixels)),
            writer.into_inner(),
        );
        assert!(back == raw, "{pixels}");
    }
}

fn to_rgb(format: VideoFormat, frame: Vec<u8>) -> Vec<u8> {
    let range = if format.pixels() == PixelFormat::Gray {
        "full"
    } else {
        "limited"
    };
    let conversion = if format.pixels().name().starts_with("rgb") {
        String::new()
    } else {
        // Without the matrix ffmpeg takes that of BT.601.
        format!("-vf scale=in_color_matrix=bt709:in_range={range}:flags=accurate_rnd+full_chroma_int")
    };
    ffmpeg(
        &format!("{} {conversion} -pix_fmt rgb24 -f rawvideo -", reads(format)),
        frame,
    )
}

#[test]
fn the_test_pattern_looks_right_to_ffmpeg() {
    const BARS: [[u8; 3]; 8] = [
        [191, 191, 191],
        [191, 191, 0],
        [0, 191, 191],
        [0, 191, 0],
        [191, 0, 191],
        [191, 0, 0],
        [0, 0, 191],
        [0, 0, 0],
    ];
    for pixels in PixelFormat::ALL {
        let format = format("386x290", pixels);
        let mut frame = vec![0xa5; format.frame_bytes()];
        let mut pattern = TestPattern::new(format).unwrap();
        let number = 3;
        pattern.render(number, &mut frame).unwrap();
        let rgb = to_rgb(format, frame);
        // Bars of 48 pixels, which have moved left by 6 for each frame. Line 30 is above the digits.
        for (index, bar) in BARS.iter().enumerate() {
            let x = (index * 48 + 24 + 8 * 48 - 3 * 6) % (8 * 48);
            let at = (30 * 386 + x) * 3;
            let expected = if pixels == PixelFormat::Gray {
                let [r, g, b] = bar.map(f64::from);
                [(0.2126 * r + 0.7152 * g + 0.0722 * b).round() as u8; 3]
            } else {
                *bar
            };
            for (found, expected) in rgb[at..at + 3].iter().zip(expected) {
                assert!(
                    found.abs_diff(expected) <= 3,
                    "{pixels} bar {index}: {:?}",
                    &rgb[at..at + 3]
                );
            }
        }
        // The number survives a conversion by somebody else.
        let converted: VideoFormat = "386x290@25:rgb24".parse().unwrap();
        assert_eq!(read_frame_number(converted, &rgb), Some(number), "{pixels}");
    }
}

#[test]
fn a_blank_frame_is_black_to_ffmpeg() {
    for pixels in PixelFormat::ALL {
        let format = format("50x7", pixels);
        let mut frame = vec![0xa5; format.frame_bytes()];
        fill_blank(format, &mut frame).unwrap();
        let rgb = to_rgb(format, frame);
        assert_eq!(rgb.len(), 50 * 7 * 3);
        assert!(rgb.iter().all(|sample| *sample == 0), "{pixels}");
    }
}
