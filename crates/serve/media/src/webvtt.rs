//! Subtitles as WebVTT (W3C, WebVTT: The Web Video Text Tracks Format): the cues of a part of what is played, with
//! times that count from its beginning. Texts come in and go out; it must not know where they are kept, nor who asks.

mod timestamp;

use std::fmt::Write;
use std::ops::Range;

use timestamp::{Milliseconds, collect_timestamp, write_timestamp};

/// What stands between the times of a cue.
const ARROW: &str = "-->";
/// The field of HLS that says which media time a cue time is (RFC 8216, 3.5).
const TIMESTAMP_MAP: &str = "X-TIMESTAMP-MAP";
/// What blocks begin with that are no cues and belong to the file.
const OTHER_BLOCKS: [&str; 3] = ["STYLE", "REGION", "NOTE"];

/// The cues that are shown in a span of the presentation (nanoseconds), with times from the start of the span; cues
/// that extend beyond it are shortened. HLS players count from the start of the presentation; `X-TIMESTAMP-MAP` gives
/// the offset, and replaces a map in the text.
///
/// Any bytes give WebVTT: what its parser would pass over is left out.
pub fn cut(text: &[u8], span: &Range<u64>) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let span = milliseconds(span.start)..milliseconds(span.end);
    let mut blocks = blocks(text).into_iter().peekable();
    let mut out = String::from("WEBVTT\n");
    push_map(&mut out, span.start);
    if let Some(header) = blocks.next_if(|block| is_header(block)) {
        let fields = header.iter().skip(1);
        fields
            .filter(|line| !line.starts_with(TIMESTAMP_MAP))
            .for_each(|line| push_line(&mut out, line));
    }
    for block in blocks {
        push_block(&mut out, &block, &span);
    }
    out
}

fn milliseconds(nanoseconds: u64) -> Milliseconds {
    nanoseconds.saturating_add(500_000) / 1_000_000
}

fn push_map(out: &mut String, start: Milliseconds) {
    // MPEG-2 times have 33 bits, of 90 kHz.
    let mpeg = (u128::from(start) * 90) % (1 << 33);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{TIMESTAMP_MAP}=MPEGTS:{mpeg},LOCAL:00:00:00.000");
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

fn is_header(block: &[&str]) -> bool {
    block.first().is_some_and(|line| line.starts_with("WEBVTT"))
}

/// Lines that belong together (section 6.1, "collect a WebVTT block"): they end at an empty line, and before a line of
/// times that is not the first of them, or the second behind an identifier.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    for line in lines(text) {
        let is_behind_identifier =
            matches!(block.as_slice(), [only] if !only.contains(ARROW) && !is_header(&block));
        let begins = line.contains(ARROW) && !is_behind_identifier;
        if (line.is_empty() || begins) && !block.is_empty() {
            blocks.push(std::mem::take(&mut block));
        }
        if !line.is_empty() {
            block.push(line);
        }
    }
    if !block.is_empty() {
        blocks.push(block);
    }
    blocks
}

/// Lines that end with LF, CR or both.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n')
        .flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

fn push_block(out: &mut String, block: &[&str], span: &Range<Milliseconds>) {
    let Some(at) = block.iter().position(|line| line.contains(ARROW)) else {
        let first = block.first().copied().unwrap_or_default();
        if OTHER_BLOCKS.iter().any(|kind| first.starts_with(kind)) {
            out.push('\n');
            block.iter().for_each(|line| push_line(out, line));
        }
        return;
    };
    let (identifier, rest) = block.split_at(at);
    let Some((timings, text)) = rest.split_first() else {
        return;
    };
    let Some((shown, settings)) = times(timings) else {
        return;
    };
    let kept = shown.start.max(span.start)..shown.end.min(span.end);
    if kept.is_empty() {
        return;
    }
    out.push('\n');
    identifier.iter().for_each(|line| push_line(out, line));
    write_timestamp(out, kept.start - span.start);
    out.push_str(" --> ");
    write_timestamp(out, kept.end - span.start);
    push_line(out, settings);
    for line in text {
        push_text(out, line, kept.start, span.start);
    }
}

/// The times of a cue, and its settings with the space in front of them.
fn times(line: &str) -> Option<(Range<Milliseconds>, &str)> {
    let (start, rest) = collect_timestamp(line.trim_start())?;
    let rest = rest.trim_start().strip_prefix(ARROW)?;
    let (end, settings) = collect_timestamp(rest.trim_start())?;
    Some((start..end, settings.trim_end()))
}

/// A line of a cue's text. Times in it (`<00:00:05.000>`) say from when on what follows is said: those that are over
/// when the cue begins become its beginning. They stay, since what is left without them could be read as something
/// else.
fn push_text(out: &mut String, mut line: &str, begins: Milliseconds, start: Milliseconds) {
    while let Some((before, rest)) = line.split_once('<') {
        out.push_str(before);
        line = match time_tag(rest) {
            Some((time, behind)) => {
                out.push('<');
                write_timestamp(out, time.max(begins) - start);
                out.push('>');
                behind
            }
            None => {
                out.push('<');
                rest
            }
        };
    }
    push_line(out, line);
}

/// The time in a tag behind its `<`, and what stands behind the tag.
fn time_tag(rest: &str) -> Option<(Milliseconds, &str)> {
    let (time, rest) = collect_timestamp(rest)?;
    Some((time, rest.strip_prefix('>')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn cues_of_a_part_count_from_its_beginning() {
        let text = "\u{feff}WEBVTT - a film\r\nKind: captions\r\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\r\n\r\n\
            STYLE\r\n::cue { color: red }\r\n\r\nNOTE of nobody\r\n\r\n\
            00:01.000 --> 00:03.999\r\nbefore\r\n\r\n\
            one\r\n00:03.000 --> 00:06.000 line:0 align:start\r\nfrom <00:03.500>before <00:05.250>on <b>&lt;</b>\r\n\r\n\
            00:00:06.000 --> 00:00:07.000\r\nwithin\r\nin two lines\r\n\
            00:07.000-->1:00:00.000\r\nbeyond\r\n\r\n\
            00:08.000 --> 00:09.000\r\nbehind\r\n\r\n\
            00:07.500 --> 00:60.000\r\nno time\r\n\r\nno cue\r\n";
        let expected = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:360000,LOCAL:00:00:00.000\nKind: captions\n\n\
            STYLE\n::cue { color: red }\n\nNOTE of nobody\n\n\
            one\n00:00:00.000 --> 00:00:02.000 line:0 align:start\nfrom <00:00:00.000>before <00:00:01.250>on <b>&lt;</b>\n\n\
            00:00:02.000 --> 00:00:03.000\nwithin\nin two lines\n\n\
            00:00:03.000 --> 00:00:04.000\nbeyond\n";
        assert_eq!(cut(text.as_bytes(), &(4 * SECOND..8 * SECOND)), expected);
        // Lines end with CR alone, too.
        let other = text.replace("\r\n", "\r");
        assert_eq!(cut(other.as_bytes(), &(4 * SECOND..8 * SECOND)), expected);
    }

    #[test]
    fn times_of_mpeg_have_33_bits() {
        // 2^33 / 90,000 Hz is 26 h 30 min 43.7 s.
        let start = 95_444 * SECOND;
        let text = "WEBVTT\n\n26:30:45.000 --> 26:30:46.000\nlate\n";
        assert_eq!(
            cut(text.as_bytes(), &(start..u64::MAX)),
            "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:25408,LOCAL:00:00:00.000\n\n00:00:01.000 --> 00:00:02.000\nlate\n"
        );
    }

    #[test]
    fn what_is_no_webvtt_has_no_cues() {
        for text in [&b""[..], b"\xff\0-->", b"WEBVTT", b"WEBVTT\n-->\n\n1\n\n", b"{}"] {
            let expected = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n";
            assert_eq!(cut(text, &(0..u64::MAX)), expected, "{text:?}");
        }
    }
}
