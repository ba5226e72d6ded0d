//! Subtitles that were cut are read by ffprobe as what it reads of the whole, cut by the test.

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::sources::run;
use serde_json::Value;
use weir_media::webvtt;

const MILLISECOND: u64 = 1_000_000;

/// Times in milliseconds, and a hash of the text.
type Cue = (Range<u64>, String);

fn cues(file: &Path) -> Vec<Cue> {
    let words =
        "-v error -of json -show_data_hash md5 -show_entries packet=pts,duration,data_hash".split(' ');
    let told = run("ffprobe", words.chain([file.to_str().unwrap()]));
    let told: Value = serde_json::from_slice(&told).unwrap();
    let packets = told["packets"].as_array().unwrap();
    let cue = |packet: &Value| {
        let (start, length) = (packet["pts"].as_u64()?, packet["duration"].as_u64()?);
        Some((start..start + length, packet["data_hash"].as_str()?.to_owned()))
    };
    packets.iter().map(|packet| cue(packet).unwrap()).collect()
}

/// A cue for each second (and no styles, which ffprobe 5.1 stops at), which is shown half a second longer than that: with names, settings, marks and two lines here and
/// there.
fn text() -> String {
    let mut text = String::from("WEBVTT\n\n");
    for second in 0..20 {
        if second % 3 == 0 {
            text += &format!("cue {second}\n");
        }
        let settings = if second % 4 == 0 {
            " line:10% align:start"
        } else {
            ""
        };
        let (minutes, seconds) = ((second + 50) / 60, (second + 50) % 60);
        let (until_minutes, until) = ((second + 51) / 60, (second + 51) % 60);
        text +=
            &format!("{minutes:02}:{seconds:02}.250 --> 00:{until_minutes:02}:{until:02}.750{settings}\n");
        text += &format!("<b>Sekunde</b> {second} &amp; ü\n");
        if second % 5 == 0 {
            text += "eine zweite Zeile\n";
        }
        text += "\n";
    }
    text
}

#[test]
fn ffprobe_reads_of_a_part_what_it_reads_of_the_whole_there() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, part) = (folder.path().join("whole.vtt"), folder.path().join("part.vtt"));
    fs::write(&whole, text()).unwrap();
    let all = cues(&whole);
    assert_eq!(all.len(), 20);
    for span in [
        0..u64::MAX / MILLISECOND,
        0..55_000,
        54_000..62_500,
        69_250..69_251,
        61_000..99_000,
    ] {
        let in_nanoseconds = span.start * MILLISECOND..span.end * MILLISECOND;
        fs::write(&part, webvtt::cut(text().as_bytes(), &in_nanoseconds)).unwrap();
        let expected: Vec<Cue> = all
            .iter()
            .filter(|(shown, _)| shown.end > span.start && shown.start < span.end)
            .map(|(shown, text)| {
                let start = shown.start.max(span.start) - span.start;
                (start..shown.end.min(span.end) - span.start, text.clone())
            })
            .collect();
        assert!(!expected.is_empty());
        assert_eq!(cues(&part), expected, "{span:?}");
    }
}
