//! Formats in words and as media type parameters: no input may panic the readers; what they take is within the limits and
//! is read back from either form, what they refuse they refuse in one short line.
//!
//! Input: a byte, even for words and odd for media type parameters, then the text.

use crate::checks::in_a_line;
use weir_video::{MAX_FRAME_BYTES, MAX_FRAME_RATE, MAX_HEIGHT, MAX_WIDTH, VideoFormat};

fn check(format: VideoFormat) {
    assert!((1..=MAX_WIDTH).contains(&format.width()));
    assert!((1..=MAX_HEIGHT).contains(&format.height()));
    assert!((1..=MAX_FRAME_BYTES).contains(&(format.frame_bytes() as u64)));
    let rate = format.frame_rate();
    assert!(u64::from(rate.numerator) <= u64::from(MAX_FRAME_RATE) * u64::from(rate.denominator));
    assert_eq!(format.to_string().parse(), Ok(format));
    assert_eq!(
        VideoFormat::from_media_type(format.media_type().as_bytes()),
        Ok(format)
    );
}

pub fn run(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else {
        return;
    };
    let read = if choice & 1 == 0 {
        let Ok(text) = str::from_utf8(text) else {
            return;
        };
        text.parse::<VideoFormat>().map_err(|error| error.to_string())
    } else {
        VideoFormat::from_media_type(text).map_err(|error| error.to_string())
    };
    match read {
        Ok(format) => check(format),
        Err(line) => in_a_line(line, 600),
    }
}
