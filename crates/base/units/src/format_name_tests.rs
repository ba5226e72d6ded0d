//! Every format of the rule reads back, is as large as its samples, and each wrong part is named with the nearest format.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> FormatName {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    text.parse::<FormatName>().expect_err(text).to_string()
}

#[test]
fn every_combination_of_the_rule_is_read_and_printed_back() {
    let mut combinations = 0;
    for height in ["480", "576", "720", "1080", "1440", "2160", "4320"] {
        for (scan, rates) in [
            (
                "p",
                &[
                    "23.98", "24", "25", "29.97", "30", "50", "59.94", "60", "100", "119.88", "120",
                ][..],
            ),
            ("i", &["50", "59.94", "60"]),
        ] {
            for rate in rates {
                for sampling in ["420", "422", "444", "4444"] {
                    for bits in ["8", "10", "12", "16"] {
                        let text = format!("{height}{scan}{rate}-{sampling}-{bits}");
                        assert_eq!(read(&text).to_string(), text);
                        assert_eq!(read(&text).picture().is_interlaced(), scan == "i");
                        combinations += 1;
                    }
                }
            }
        }
    }
    assert_eq!(combinations, 7 * 14 * 16);
}

#[test]
fn frames_have_the_bytes_of_their_samples() {
    // Width x height x bits of a pixel / 8, by hand.
    for (text, width, height, bits_per_pixel) in [
        ("720p59.94-422-10", 1280, 720, 20),
        ("720p59.94-444-16", 1280, 720, 48),
        ("720p59.94-4444-16", 1280, 720, 64),
        ("1080p59.94-422-10", 1920, 1080, 20),
        ("1080p59.94-444-16", 1920, 1080, 48),
        ("1080p59.94-4444-16", 1920, 1080, 64),
        ("2160p59.94-422-10", 3840, 2160, 20),
        ("2160p59.94-444-16", 3840, 2160, 48),
        ("2160p59.94-4444-16", 3840, 2160, 64),
        ("480i59.94-422-8", 720, 480, 16),
        ("576p50-420-8", 720, 576, 12),
        ("1440p60-420-10", 2560, 1440, 15),
        ("2160p60-444-12", 3840, 2160, 36),
        ("4320p120-4444-8", 7680, 4320, 32),
        ("16384x8640p24-4444-16", 16_384, 8_640, 64),
    ] {
        let format = read(text);
        assert_eq!(
            (format.picture().width(), format.picture().height()),
            (width, height)
        );
        assert_eq!(
            format.frame_bytes(),
            width * height / 8 * bits_per_pixel,
            "{text}"
        );
    }
    // Six samples of 10 bits are 7.5 bytes.
    assert_eq!(read("2x2p25-420-10").frame_bytes(), 8);
}

#[test]
fn rates_are_exact_and_interlaced_ones_count_fields() {
    for (rate, numerator, denominator) in [
        ("p23.98", 24_000, 1001),
        ("p23.976", 24_000, 1001),
        ("p24", 24, 1),
        ("p29.97", 30_000, 1001),
        ("p59.94", 60_000, 1001),
        ("p60000/1001", 60_000, 1001),
        ("p119.88", 120_000, 1001),
        ("p100", 100, 1),
        ("i50", 25, 1),
        ("i59.94", 30_000, 1001),
        ("i60", 30, 1),
    ] {
        let rate_of_frames = read(&format!("1080{rate}-422-10")).picture().frame_rate();
        let exact = FrameRate {
            numerator,
            denominator,
        };
        assert_eq!(rate_of_frames, exact, "{rate}");
    }
    assert_eq!(read("1920x1080p23.976-422-10").to_string(), "1080p23.98-422-10");
    assert_eq!(read("720x486i59.94-422-10").to_string(), "720x486i59.94-422-10");
}

#[test]
fn a_wrong_part_is_named_with_the_nearest_format() {
    let frames =
        "the rate, in frames per second, is 23.98, 24, 25, 29.97, 30, 50, 59.94, 60, 100, 119.88 or 120";
    let fields = "the rate, in fields per second, is 50, 59.94 or 60";
    let heights = "a height without a width is 480, 576, 720, 1080, 1440, 2160 or 4320";
    let sizes = "width and height are even, from 2x2 to 16384x8640";
    let scan = "the size is followed by p or i";
    let samples = "the rate is followed by -SAMPLING-BITS";
    let rule = "the form is HEIGHT or WIDTHxHEIGHT, p or i, RATE-SAMPLING-BITS";
    for (text, problem, example) in [
        ("1080q50", scan, "1080p50-422-10"),
        ("1080", scan, "1080p59.94-422-10"),
        ("1080p51-422-10", frames, "1080p50-422-10"),
        ("1080p0-422-10", frames, "1080p23.98-422-10"),
        ("720p-422-10", frames, "720p59.94-422-10"),
        ("1080i25-422-10", fields, "1080i50-422-10"),
        ("1080i119.88", fields, "1080i60-422-10"),
        ("1081p50-422-10", heights, "1080p50-422-10"),
        ("0x0p25", sizes, "2x2p25-422-10"),
        ("1919x1080p25", sizes, "1080p25-422-10"),
        ("99999999999x9p25-444-8", sizes, "16384x10p25-444-8"),
        ("1080p50", samples, "1080p50-422-10"),
        ("1080p50-422", samples, "1080p50-422-10"),
        (
            "2160p50-411-12",
            "the sampling is 420, 422, 444 or 4444",
            "2160p50-422-12",
        ),
        (
            "1080p50-444-14",
            "the bits per sample are 8, 10, 12 or 16",
            "1080p50-444-12",
        ),
        (
            "1080p50-444-010",
            "the bits per sample are 8, 10, 12 or 16",
            "1080p50-444-10",
        ),
        ("nonsense", rule, "1080p59.94-422-10"),
        ("", rule, "1080p59.94-422-10"),
        ("1x2x3p25", rule, "1080p25-422-10"),
    ] {
        assert_eq!(
            refused(text),
            format!("'{text}' is not a video format: {problem}; write it like {example}")
        );
    }
    let picture = "1080p50-422-10"
        .parse::<PictureName>()
        .expect_err("a whole format");
    assert!(
        picture.to_string().ends_with("write it like 1080p50"),
        "{picture}"
    );
}

proptest! {
    #[test]
    fn any_size_is_read_back_or_refused_with_an_example_that_is_read(
        width in 0_u32..20_000,
        height in 0_u32..10_000,
        rate in "(p|i)(23.98|24|25|29.97|50|59.94|60|[0-9.]{0,6})",
        samples in "-(420|422|444|4444)-(8|10|12|16)",
    ) {
        check(&format!("{width}x{height}{rate}{samples}"));
    }

    #[test]
    fn any_text_is_read_back_or_refused_in_one_line(text in "\\PC{0,80}|[0-9x]{1,8}[pi][0-9./]{0,6}-[0-9]{1,4}-[0-9]{1,2}") {
        check(&text);
    }
}

fn check(text: &str) {
    match text.parse::<FormatName>() {
        Ok(format) => {
            assert_eq!(read(&format.to_string()), format, "{text}");
            let picture = format.picture();
            assert_eq!(picture.to_string().parse(), Ok(picture), "{text}");
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.chars().count() < 500, "{line}");
            let (_, example) = line.rsplit_once("write it like ").expect("an example");
            read(example);
        }
    }
}
