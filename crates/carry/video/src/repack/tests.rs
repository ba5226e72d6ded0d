//! Packings against worked examples; `tests/suite/against_ffmpeg.rs` compares them with another program.

use proptest::prelude::*;
use weir_units::FrameRate;

use super::*;

fn format(width: u32, height: u32, pixels: PixelFormat) -> VideoFormat {
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    VideoFormat::new(width, height, rate, pixels).unwrap()
}

fn repack(from: VideoFormat, to: PixelFormat, frame: &[u8]) -> Vec<u8> {
    let repacker = Repacker::new(from, to).unwrap();
    // Not zeros, so that every byte has to be written.
    let mut output = vec![0xa5; repacker.to().frame_bytes()];
    repacker.run(frame, &mut output).unwrap();
    output
}

fn samples(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn a_pgroup_is_cb_y_cr_y_with_the_highest_bit_first() {
    let planar = format(2, 1, PixelFormat::Yuv422p10le);
    // Y0 = 01 0000 0001, Y1 = 11 1111 1110, Cb = 10 1010 1010, Cr = 00 1100 1111.
    let frame = samples(&[0x101, 0x3fe, 0x2aa, 0x0cf]);
    let expected = [0b1010_1010, 0b1001_0000, 0b0001_0011, 0b0011_1111, 0b1111_1110];
    assert_eq!(repack(planar, PixelFormat::St2110, &frame), expected);
}

#[test]
fn v210_has_three_samples_a_word_and_lines_of_128_bytes() {
    let planar = format(6, 1, PixelFormat::Yuv422p10le);
    let frame = samples(&[1, 2, 3, 4, 5, 6, 11, 12, 13, 21, 22, 23]);
    let packed = repack(planar, PixelFormat::V210, &frame);
    let words: Vec<u32> = packed
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect();
    let of = |a: u32, b: u32, c: u32| a + b * 1024 + c * 1024 * 1024;
    // As TN2162 draws it: Cb0 Y0 Cr0, Y1 Cb1 Y2, Cr1 Y3 Cb2, Y4 Cr2 Y5, and padding to 128 bytes.
    assert_eq!(
        words[..4],
        [of(11, 1, 21), of(2, 12, 3), of(22, 4, 13), of(5, 23, 6)]
    );
    assert_eq!(words[4..], [0; 28]);
}

#[test]
fn bits_above_the_samples_are_dropped() {
    let planar = format(2, 1, PixelFormat::Yuv422p10le);
    let clean = samples(&[0x101, 0x3fe, 0x2aa, 0x0cf]);
    let dirty = samples(&[0xfd01, 0x83fe, 0x42aa, 0xf0cf]);
    for packing in [PixelFormat::St2110, PixelFormat::V210] {
        assert_eq!(repack(planar, packing, &dirty), repack(planar, packing, &clean));
    }
}

#[test]
fn what_cannot_be_repacked_is_refused() {
    let refusal = |from, to| Repacker::new(from, to).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        refusal(format(3, 2, PixelFormat::Yuv422p10le), PixelFormat::St2110),
        "st2110-20 packs pixels in pairs and needs an even width, not 3; use 4"
    );
    assert_eq!(
        refusal(format(4, 2, PixelFormat::Yuv420p), PixelFormat::St2110),
        "cannot repack yuv420p as st2110-20 without changing samples; convert the frames first, or send them in their own packing"
    );
    let repacker = Repacker::new(format(4, 2, PixelFormat::Yuv422p), PixelFormat::Uyvy422).unwrap();
    assert!(repacker.run(&[0; 15], &mut [0; 16]).is_err());
    assert!(repacker.run(&[0; 16], &mut [0; 17]).is_err());
}

#[test]
fn uyvy_and_planar_of_eight_bits() {
    let planar = format(4, 1, PixelFormat::Yuv422p);
    let frame = [1, 2, 3, 4, 11, 12, 21, 22];
    let packed = repack(planar, PixelFormat::Uyvy422, &frame);
    assert_eq!(packed, [11, 1, 21, 2, 12, 3, 22, 4]);
    let back = repack(format(4, 1, PixelFormat::Uyvy422), PixelFormat::Yuv422p, &packed);
    assert_eq!(back, frame);
}

proptest! {
    /// Every way round gives the frame that went in, at every width modulo the steps of the kernels.
    #[test]
    fn ways_round_lead_back(half_width in 1_u32..80, height in 1_u32..5, seed: u64) {
        let planar = format(2 * half_width, height, PixelFormat::Yuv422p10le);
        let mut state = seed | 1;
        let frame: Vec<u8> = (0..planar.frame_bytes() / 2)
            .flat_map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ((state >> 54) as u16).to_le_bytes()
            })
            .collect();
        let pgroups = repack(planar, PixelFormat::St2110, &frame);
        let v210 = repack(planar, PixelFormat::V210, &frame);
        let of = |pixels| planar.with_pixels(pixels).unwrap();
        prop_assert_eq!(&repack(of(PixelFormat::St2110), PixelFormat::Yuv422p10le, &pgroups), &frame);
        prop_assert_eq!(&repack(of(PixelFormat::V210), PixelFormat::Yuv422p10le, &v210), &frame);
        prop_assert_eq!(&repack(of(PixelFormat::V210), PixelFormat::St2110, &v210), &pgroups);
        prop_assert_eq!(&repack(of(PixelFormat::St2110), PixelFormat::V210, &pgroups), &v210);

        let planar = format(2 * half_width, height, PixelFormat::Yuv422p);
        let frame: Vec<u8> = frame.iter().step_by(2).copied().collect();
        let packed = repack(planar, PixelFormat::Uyvy422, &frame);
        let of = planar.with_pixels(PixelFormat::Uyvy422).unwrap();
        prop_assert_eq!(&repack(of, PixelFormat::Yuv422p, &packed), &frame);
    }
}
