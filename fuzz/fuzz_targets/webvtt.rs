//! Subtitles that are cut: any bytes give WebVTT that begins where the part does, no longer than they are by more than times
//! take, and cutting nothing off it changes nothing.
//!
//! Input: start and length of the span in tenths of a second (a byte each), then the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_media::webvtt::cut;

fuzz_target!(|input: &[u8]| {
    let Some(([start, length], text)) = input.split_first_chunk() else {
        return;
    };
    let tenths = |count: u8| u64::from(count) * 100_000_000;
    let span = tenths(*start)..tenths(*start) + tenths(*length);
    let part = cut(text, &span);
    assert!(part.starts_with("WEBVTT\nX-TIMESTAMP-MAP="));
    // A byte that is no UTF-8 becomes three; a cue's times are longer by less than what they take at least.
    assert!(part.len() <= 100 + text.len() * 4);
    // Its cues lie within the span, whose beginning is now 0.
    let again = cut(part.as_bytes(), &(0..span.end - span.start));
    let cues = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cues(&again), cues(&part));
});
