//! Formats in words and as media type parameters: worked examples, refusals, and any bytes.

use proptest::prelude::*;
use weir_units::{FormatName, FrameRate};
use weir_video::{MAX_FRAME_BYTES, MAX_MEDIA_TYPE_BYTES, PixelFormat, Scan, VideoFormat};

fn parse(text: &str) -> Result<VideoFormat, String> {
    text.parse()
        .map_err(|error: weir_video::FormatError| error.to_string())
}

fn media(text: &str) -> Result<VideoFormat, String> {
    VideoFormat::from_media_type(text.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn bytes_of_1080p_frames() {
    // The table of packings in the SMPTE ST 2110-20 and ffmpeg worlds, at 59.94 frames a second.
    let table = [
        ("st2110-20", 5_184_000, 2.486),
        ("v210", 5_529_600, 2.651),
        ("yuv422p10le", 8_294_400, 3.977),
        ("rgba64le", 16_588_800, 7.955),
        ("uyvy422", 4_147_200, 1.989),
        ("yuv420p", 3_110_400, 1.492),
        ("rgb24", 6_220_800, 2.983),
    ];
    for (pixels, bytes, gigabits) in table {
        let format = parse(&format!("1920x1080@59.94:{pixels}")).unwrap();
        assert_eq!(format.frame_bytes(), bytes);
        let rate = bytes as f64 * 8.0 * 60_000.0 / 1_001.0 / 1e9;
        assert!((rate - gigabits).abs() < 0.001, "{pixels} {rate}");
    }
}

#[test]
fn formats_in_words() {
    let format = parse("1920x1080@59.94:yuv422p10le").unwrap();
    assert_eq!((format.width(), format.height()), (1920, 1080));
    assert_eq!(format.frame_rate(), FrameRate::new(60_000, 1_001).unwrap());
    assert_eq!(format.pixels(), PixelFormat::Yuv422p10le);
    assert_eq!(format.to_string(), "1920x1080@59.94:yuv422p10le");
    for text in [
        "720x576@25:uyvy422:tff",
        "720x486@29.97:v210:bff",
        "1x1@1/60:gray",
        "2x2@1000:rgba",
    ] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
    // The names of weir flows, and mixtures.
    for (name, text) in [
        ("1080p59.94-422-10", "1920x1080@59.94:st2110-20"),
        ("720p59.94-444-16", "1280x720@59.94:rgb48le"),
        ("2160p59.94-4444-16", "3840x2160@59.94:rgba64le"),
        ("1080p50:v210", "1920x1080@50:v210"),
        ("1920x1080@60000/1001-422-10", "1920x1080@59.94:st2110-20"),
        ("2160p60000/1001-4444-16", "3840x2160@59.94:rgba64le"),
        ("1080p23.98-422-8", "1920x1080@23.976:uyvy422"),
        ("1280x722p25-420-8", "1280x722@25:yuv420p"),
        ("576p50-444-8", "720x576@50:rgb24"),
        ("480p60-4444-8", "720x480@60:rgba"),
        // A frame is carried whole; its rate is half of that of the fields.
        ("1080i59.94-422-10", "1920x1080@29.97:st2110-20:tff"),
        ("576i50-422-8", "720x576@25:uyvy422:tff"),
        ("480i59.94-422-10", "720x480@29.97:st2110-20:bff"),
        ("720x486i59.94:v210", "720x486@29.97:v210:bff"),
        ("720i50:v210:bff", "1280x720@25:v210:bff"),
        ("2x2@50/2:gray:progressive", "2x2@25:gray"),
    ] {
        assert_eq!(parse(name).unwrap().to_string(), text);
    }
}

#[test]
fn refusals_say_what_would_be_right() {
    let refusal = |text: &str| parse(text).unwrap_err();
    assert_eq!(
        refusal("1920x1080@50"),
        "'1920x1080@50' is not a video format; write it like 1920x1080@59.94:yuv422p10le, with :tff or :bff at the end if interlaced"
    );
    assert_eq!(
        refusal("1080q50-422-10"),
        "'1080q50-422-10' is not a video format: the size is followed by p or i; write it like 1080p50-422-10, or like 1920x1080@59.94:yuv422p10le"
    );
    assert_eq!(
        refusal("2160p50-444-10"),
        "no packing carries the samples of 2160p50-444-10; those that have one are 420-8 (yuv420p), 422-8 (uyvy422), 422-10 (st2110-20), 444-8 (rgb24), 444-16 (rgb48le), 4444-8 (rgba), 4444-16 (rgba64le); write others like 3840x2160@50:yuv444p10le"
    );
    assert_eq!(
        refusal("720i50-422-10"),
        "720i50 does not say which field is first; write 1280x720@25:st2110-20:tff or 1280x720@25:st2110-20:bff"
    );
    assert!(
        refusal("1920x1080@25:yuv422p12")
            .starts_with("unknown pixel format 'yuv422p12'; use one of gray, yuv420p, ")
    );
    assert_eq!(
        refusal("0x1080@25:gray"),
        "unsupported frame size 0x1080; sizes from 1x1 to 16384x16384 are supported"
    );
    assert_eq!(
        refusal("16384x16384@25:rgba"),
        "frames of 16384x16384 rgba have 1073741824 bytes; the maximum is 268435456"
    );
    assert_eq!(
        refusal("719x576@25:uyvy422"),
        "uyvy422 packs pixels in pairs and needs an even width, not 719; use 720"
    );
    assert_eq!(
        refusal("2x2@1001:gray"),
        "unsupported frame rate 1001/1; rates from 1 per hour to 1000 per second are supported"
    );
    for text in [
        "",
        ":",
        "@:",
        "2x2@:gray",
        "+2x2@25:gray",
        "2x2x2@25:gray",
        "2x2@25:gray:",
        "2x2@25:gray:tff:",
        "2x2@0:gray",
        "1080i25:gray",
        "1080i50:gray:progressive",
        "1080p51:gray",
        "1080p0-422-10",
        "0x0p25-422-10",
        "99999999999x2@25:gray",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    let line = refusal(&format!("\u{1b}[31m\n{}", "x".repeat(500)));
    assert!(
        line.len() < 250 && !line.contains('\n') && !line.contains('\u{1b}'),
        "{line}"
    );
    let zero = FrameRate {
        numerator: 0,
        denominator: 0,
    };
    assert!(VideoFormat::new(2, 2, zero, PixelFormat::Gray).is_err());
}

#[test]
fn names_take_the_bytes_that_weir_flows_sends() {
    for samples in ["420-8", "422-8", "422-10", "444-8", "444-16", "4444-8", "4444-16"] {
        for picture in ["480i59.94", "576p25", "1080p59.94", "2160p60", "1366x768p30"] {
            let name = format!("{picture}-{samples}");
            let named: FormatName = name.parse().unwrap();
            let format = parse(&name).unwrap();
            assert_eq!(
                format.frame_bytes() as u64,
                u64::from(named.frame_bytes()),
                "{name}"
            );
            assert_eq!(format.frame_rate(), named.picture().frame_rate(), "{name}");
        }
    }
}

#[test]
fn media_types_of_st_2110_20() {
    // As senders of ST 2110-20 write it, with parameters that mean nothing here.
    let standard = "sampling=YCbCr-4:2:2; width=1280; height=720; exactframerate=60000/1001; depth=10; TCS=SDR; \
                    colorimetry=BT709; PM=2110GPM; SSN=ST2110-20:2017; ";
    assert_eq!(media(standard).unwrap().to_string(), "1280x720@59.94:st2110-20");
    let format = parse("1920x1080@59.94:st2110-20").unwrap();
    assert_eq!(
        format.media_type(),
        "sampling=YCbCr-4:2:2; width=1920; height=1080; exactframerate=60000/1001; depth=10; TCS=UNSPECIFIED; \
         colorimetry=UNSPECIFIED; PM=2110GPM; SSN=ST2110-20:2017"
    );
    let format = parse("720x576@25:yuv422p10le:tff").unwrap();
    assert_eq!(
        format.media_type(),
        "sampling=YCbCr-4:2:2; width=720; height=576; exactframerate=25; depth=10; TCS=UNSPECIFIED; \
         colorimetry=UNSPECIFIED; interlace; x-weir-packing=yuv422p10le"
    );
    // Names of parameters in any case and order, without spaces, and with the type before them.
    let other = "video/raw;DEPTH=8;height=2;width=4;sampling=RGB;exactframerate=25;interlace";
    assert_eq!(media(other).unwrap().to_string(), "4x2@25:rgb24:tff");
}

#[test]
fn media_types_that_are_refused() {
    const GOOD: &str = "sampling=YCbCr-4:2:2; width=4; height=2; exactframerate=25; depth=10";
    assert!(media(GOOD).is_ok());
    for (was, is, error) in [
        ("width=4; ", "", "the media type parameter 'width' is missing"),
        (
            "width=4",
            "width=4; Width=4",
            "the media type parameter 'Width' is given twice",
        ),
        (
            "width=4",
            "width=-4",
            "invalid media type parameter width=-4; write it like 1920",
        ),
        (
            "=25",
            "=59.94",
            "invalid media type parameter exactframerate=59.94; write it like 60000/1001 or 25",
        ),
        (
            "depth=10",
            "depth=12",
            "unsupported packing sampling=YCbCr-4:2:2 with depth=12; supported are YCbCr-4:2:2 with 8 or 10 bits and RGB and RGBA with 8 bits",
        ),
        (
            "depth=10",
            "depth=10; x-weir-packing=rgb24",
            "the media type parameters contradict each other: the packing rgb24 does not have sampling=YCbCr-4:2:2 with depth=10",
        ),
        (
            "width=4",
            "width=3",
            "st2110-20 packs pixels in pairs and needs an even width, not 3; use 4",
        ),
        (
            "depth=10",
            "depth=10; interlace=1",
            "invalid media type parameter interlace=1; write it like the bare name",
        ),
        (
            "depth=10",
            "depth=10\n",
            "byte 68 of the media type parameters is not printable ASCII",
        ),
    ] {
        assert!(GOOD.contains(was));
        assert_eq!(media(&GOOD.replace(was, is)).unwrap_err(), error);
    }
    let long = format!("{GOOD}; x={}", "x".repeat(MAX_MEDIA_TYPE_BYTES));
    assert!(
        media(&long)
            .unwrap_err()
            .starts_with("the media type parameters have 1")
    );
}

fn any_format() -> impl Strategy<Value = VideoFormat> {
    let scan = prop::sample::select(vec![
        Scan::Progressive,
        Scan::TopFieldFirst,
        Scan::BottomFieldFirst,
    ]);
    let pixels = prop::sample::select(&PixelFormat::ALL[..]);
    (1_u32..=8_192, 1_u32..=4_320, 1_u32.., 1_u32.., pixels, scan).prop_filter_map(
        "outside of the limits",
        |(width, height, numerator, denominator, pixels, scan)| {
            let rate = FrameRate::new(numerator, denominator)?;
            let format = VideoFormat::new(width, height, rate, pixels).ok()?;
            Some(format.with_scan(scan))
        },
    )
}

proptest! {
    #[test]
    fn every_format_is_read_back(format in any_format()) {
        prop_assert!(format.frame_bytes() as u64 <= MAX_FRAME_BYTES);
        prop_assert_eq!(parse(&format.to_string()), Ok(format));
        prop_assert_eq!(media(&format.media_type()), Ok(format));
        prop_assert!(format.media_type().len() <= MAX_MEDIA_TYPE_BYTES);
    }

    #[test]
    fn any_text_is_read_or_refused_in_a_line(text in "\\PC{0,200}|[0-9]{1,5}x[0-9]{1,5}@[0-9./]{1,8}:[a-z0-9:]{1,12}") {
        if let Err(error) = parse(&text) {
            prop_assert!(error.len() < 600 && !error.contains('\n'));
        }
    }

    #[test]
    fn any_bytes_are_a_media_type_or_refused_in_a_line(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        format in any_format(),
        at: prop::sample::Index,
        byte: u8,
    ) {
        let mut changed = format.media_type().into_bytes();
        let at = at.index(changed.len());
        changed[at] = byte;
        for bytes in [bytes, changed] {
            if let Err(error) = VideoFormat::from_media_type(&bytes) {
                let line = error.to_string();
                prop_assert!(line.len() < 600 && !line.contains('\n'), "{}", line);
            }
        }
    }
}
