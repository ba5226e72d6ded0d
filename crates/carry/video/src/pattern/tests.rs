//! The pattern read back, mangled and compared with published levels; `tests/suite/against_ffmpeg.rs` looks at its colours
//! through another program.

use proptest::prelude::*;

use super::*;
use crate::{PixelFormat, fill_blank};

fn format(size: &str, pixels: PixelFormat) -> VideoFormat {
    format!("{size}@59.94:{pixels}").parse().unwrap()
}

fn rendered(format: VideoFormat, number: u64) -> Vec<u8> {
    // Not zeros, so that every byte has to be written.
    let mut frame = vec![0xa5; format.frame_bytes()];
    TestPattern::new(format)
        .unwrap()
        .render(number, &mut frame)
        .unwrap();
    frame
}

const SIZES: [&str; 6] = ["64x64", "66x65", "100x100", "130x97", "720x576", "1920x1080"];

#[test]
fn numbers_are_read_back_in_every_format() {
    for pixels in PixelFormat::ALL {
        for size in SIZES {
            let format = format(size, pixels);
            let mut pattern = TestPattern::new(format).unwrap();
            let mut frame = vec![0xa5; format.frame_bytes()];
            for number in [0, 1, 59, 1 << 31, 1 << 40, u64::MAX] {
                pattern.render(number, &mut frame).unwrap();
                assert_eq!(read_frame_number(format, &frame), Some(number), "{format}");
            }
        }
    }
}

#[test]
fn bars_have_the_levels_of_bt_709() {
    // The 10-bit table of SMPTE RP 219, as Y, Cb, Cr.
    let table = [
        [721, 512, 512],
        [674, 176, 543],
        [581, 589, 176],
        [534, 253, 207],
        [251, 771, 817],
        [204, 435, 848],
        [111, 848, 481],
        [64, 512, 512],
    ];
    let format = format("1920x1080", PixelFormat::Yuv422p10le);
    let frame = rendered(format, 0);
    let sample = |at: usize| u16::from_le_bytes([frame[2 * at], frame[2 * at + 1]]);
    let (line, pixels) = (100, 1920 * 1080);
    for (bar, expected) in table.into_iter().enumerate() {
        // Both edges of a bar of 240 pixels.
        for x in [240 * bar, 240 * bar + 239] {
            let chroma = line * 960 + x / 2;
            let found = [
                sample(line * 1920 + x),
                sample(pixels + chroma),
                sample(pixels + pixels / 2 + chroma),
            ];
            assert_eq!(found, expected, "bar {bar} at {x}");
        }
    }
}

#[test]
fn frames_differ_and_depend_on_nothing_but_their_number() {
    let format = format("720x576", PixelFormat::St2110);
    let mut pattern = TestPattern::new(format).unwrap();
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for number in 0..5 {
        let mut frame = vec![0x5a; format.frame_bytes()];
        pattern.render(number, &mut frame).unwrap();
        assert!(!frames.contains(&frame));
        frames.push(frame);
    }
    for (number, frame) in frames.iter().enumerate().rev() {
        assert!(rendered(format, number as u64) == *frame);
    }
}

#[test]
fn bars_move_left_by_six_pixels_a_frame() {
    let format = format("720x576", PixelFormat::Gray);
    let line = |number| rendered(format, number)[60 * 720..61 * 720].to_vec();
    let (first, second) = (line(9), line(10));
    assert_eq!(first[6..], second[..714]);
    assert_ne!(first, second);
}

#[test]
fn every_level_is_in_the_ramp() {
    let format = format("1920x1080", PixelFormat::Yuv422p10le);
    let frame = rendered(format, 5);
    let ramp = 1080 - 3 * 22 - 20;
    let line = &frame[ramp * 3840..(ramp + 1) * 3840];
    let mut levels: Vec<u16> = line
        .chunks_exact(2)
        .map(|sample| u16::from_le_bytes([sample[0], sample[1]]))
        .collect();
    levels.sort_unstable();
    levels.dedup();
    assert_eq!(levels, (64..=940).collect::<Vec<u16>>());
}

#[test]
fn what_is_no_whole_frame_has_no_number() {
    for pixels in PixelFormat::ALL {
        let format = format("130x97", pixels);
        let mut blank = vec![0; format.frame_bytes()];
        assert_eq!(read_frame_number(format, &blank), None);
        fill_blank(format, &mut blank).unwrap();
        assert_eq!(read_frame_number(format, &blank), None);
        blank.fill(0xff);
        assert_eq!(read_frame_number(format, &blank), None);

        let (first, second) = (rendered(format, 1000), rendered(format, 1001));
        let half = first.len() / 2;
        // Where planes follow each other, the first half of the bytes is not the upper half of the picture.
        if !pixels.name().starts_with("yuv") {
            let mixed = [&first[..half], &second[half..]].concat();
            assert_eq!(read_frame_number(format, &mixed), None, "{pixels}");
        }
        assert_eq!(read_frame_number(format, &first[1..]), None);
    }
}

#[test]
fn too_small_is_refused() {
    let refusal = TestPattern::new(format("64x62", PixelFormat::Gray)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "a test pattern of 64x62 is too small for its frame counter; use at least 64x64"
    );
    let tiny = format("2x2", PixelFormat::Gray);
    assert_eq!(read_frame_number(tiny, &[0; 4]), None);
    let mut pattern = TestPattern::new(format("64x64", PixelFormat::Gray)).unwrap();
    assert!(pattern.render(0, &mut [0; 4095]).is_err());
}

proptest! {
    #[test]
    fn any_bytes_have_no_number(pixels in prop::sample::select(&PixelFormat::ALL[..]), seed: [u8; 32]) {
        let format = format("66x65", pixels);
        let frame: Vec<u8> = seed.iter().copied().cycle().take(format.frame_bytes()).collect();
        prop_assert_eq!(read_frame_number(format, &frame), None);
    }

    /// A lost packet concealed by another frame's bytes, or by nothing: the number is right or there is none.
    #[test]
    fn a_mangled_frame_never_has_another_number(
        pixels in prop::sample::select(&PixelFormat::ALL[..]),
        number: u64,
        start in 0.0..1.0_f64,
        // Less than the luma of planar 4:4:4, which is all that is read.
        length in 0.0..0.3_f64,
        filling in prop::option::of(any::<u64>()),
    ) {
        let format = format("130x97", pixels);
        let mut frame = rendered(format, number);
        let other = filling.map_or_else(|| vec![0; frame.len()], |number| rendered(format, number));
        let start = (start * frame.len() as f64) as usize;
        let end = (start + (length * frame.len() as f64) as usize).min(frame.len());
        frame[start..end].copy_from_slice(&other[start..end]);
        let read = read_frame_number(format, &frame);
        prop_assert!(read.is_none_or(|read| read == number), "{:?} of {}", read, number);
    }
}
