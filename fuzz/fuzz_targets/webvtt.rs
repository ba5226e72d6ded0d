//! Cut subtitles: any bytes give WebVTT that starts with the part, longer than the input at most by its timestamps,
//! and cutting nothing changes nothing.
//!
//! Input: start and length of the span in tenths of a second (a byte each), then the text.

use weir_media::webvtt::cut;

pub fn run(input: &[u8]) {
    let Some(([start, length], text)) = input.split_first_chunk() else {
        return;
    };
    let tenths = |count: u8| u64::from(count) * 100_000_000;
    let span = tenths(*start)..tenths(*start) + tenths(*length);
    let part = cut(text, &span);
    assert!(part.starts_with("WEBVTT\nX-TIMESTAMP-MAP="));
    // An invalid UTF-8 byte becomes three; a cue's timestamps grow by less than their minimum length.
    assert!(part.len() <= 100 + text.len() * 4);
    // Its cues lie within the span, whose beginning is now 0.
    let again = cut(part.as_bytes(), &(0..span.end - span.start));
    let cues = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cues(&again), cues(&part));
}
