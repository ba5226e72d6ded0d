//! What a neighbour gets while segments of the stream are under way, `NAME.beside_media`. Over a whole trial that is thinned by
//! the time in which the player fetches nothing, which for an unpaced stream is nine tenths of it and more. It must not know
//! who ran the trial.

use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use weir_stats::median;

use super::figures::{Figures, SegmentLine, put};

/// How long each sample of a neighbour's report is.
const SAMPLE_NS: u64 = 100_000_000;

/// A neighbour's report (`weir lab neighbour --json`), as far as it counts here.
#[derive(Deserialize)]
struct Report {
    started_unix_ns: u64,
    samples: Vec<Sample>,
    figures: Downloads,
}

#[derive(Deserialize)]
struct Sample {
    at_ns: u64,
    bytes: Option<u64>,
    packets: Option<u64>,
    owd_mean_ns: Option<f64>,
}

#[derive(Deserialize)]
struct Downloads {
    #[serde(default)]
    times: Vec<Download>,
}

#[derive(Deserialize)]
struct Download {
    at_ns: u64,
    duration_ns: u64,
}

/// Adds `NAME.beside_media.rate` (payload), `.owd.mean` where datagrams were measured, and of repeated downloads
/// `.completion.p50` of those beside which segments were under way for at least half of their time. Samples count by the
/// share of them in which a segment was under way. Nothing is added where none was.
///
/// # Errors
/// When the report is none.
pub fn add_beside_media(
    figures: &mut Figures,
    name: &str,
    report: &Value,
    segments: &[SegmentLine],
) -> Result<(), serde_json::Error> {
    let report = Report::deserialize(report)?;
    let busy = under_way(segments);
    let start = report.started_unix_ns;
    let (mut time_ns, mut bytes, mut packets, mut packet_ns) = (0.0, 0.0, 0.0, 0.0);
    for sample in &report.samples {
        let begin = start.saturating_add(sample.at_ns);
        let beside_ns = overlap(&busy, &(begin..begin.saturating_add(SAMPLE_NS))) as f64;
        let share = beside_ns / SAMPLE_NS as f64;
        time_ns += beside_ns;
        bytes += sample.bytes.unwrap_or(0) as f64 * share;
        if let (Some(count), Some(delay_ns)) = (sample.packets, sample.owd_mean_ns) {
            packets += count as f64 * share;
            packet_ns += count as f64 * share * delay_ns;
        }
    }
    let mut add = |key: &str, value: f64| put(figures, &format!("{name}.beside_media.{key}"), Some(value));
    if time_ns > 0.0 && report.samples.iter().any(|sample| sample.bytes.is_some()) {
        add("rate", bytes * 8e9 / time_ns);
    }
    if packets > 0.0 {
        add("owd.mean", packet_ns / packets);
    }
    let mostly_beside = report.figures.times.iter().filter(|download| {
        let begin = start.saturating_add(download.at_ns);
        let beside_ns = overlap(&busy, &(begin..begin.saturating_add(download.duration_ns)));
        beside_ns > 0 && beside_ns >= download.duration_ns / 2
    });
    let times: Vec<f64> = mostly_beside
        .map(|download| download.duration_ns as f64)
        .collect();
    if !times.is_empty() {
        add("completion.p50", median(times));
    }
    Ok(())
}

/// When segments were under way, from the request to the last byte: Unix nanoseconds, in order, none touching another.
pub(super) fn under_way(segments: &[SegmentLine]) -> Vec<Range<u64>> {
    let mut times: Vec<Range<u64>> = segments
        .iter()
        .map(|line| line.unix_ns..line.unix_ns.saturating_add(line.last_byte_ns))
        .collect();
    times.sort_by_key(|time| time.start);
    let mut apart: Vec<Range<u64>> = Vec::new();
    for time in times {
        match apart.last_mut() {
            Some(last) if time.start <= last.end => last.end = last.end.max(time.end),
            _ => apart.push(time),
        }
    }
    apart
}

/// Nanoseconds of a time that lie in such times.
pub(super) fn overlap(busy: &[Range<u64>], time: &Range<u64>) -> u64 {
    busy.iter()
        .map(|busy| busy.end.min(time.end).saturating_sub(busy.start.max(time.start)))
        .sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MS: u64 = 1_000_000;

    fn segment(at_ms: u64, for_ms: u64) -> SegmentLine {
        SegmentLine {
            unix_ns: at_ms * MS,
            bitrate: 4_000_000,
            bytes: 1,
            last_byte_ns: for_ms * MS,
            bin_deviation: None,
            failure: None,
        }
    }

    /// Under way from 1,050 to 1,200 ms, by two that overlap, and from 1,400 to 1,450.
    fn segments() -> [SegmentLine; 3] {
        [segment(1_400, 50), segment(1_050, 100), segment(1_100, 100)]
    }

    fn beside(report: &Value, segments: &[SegmentLine]) -> Figures {
        let mut figures = Figures::new();
        add_beside_media(&mut figures, "it", report, segments).unwrap();
        figures
    }

    #[test]
    fn samples_count_by_their_time_beside_segments() {
        let report = json!({
            "started_unix_ns": 1_000 * MS, "figures": { "streams": 1 },
            "samples": [
                { "at_ns": 0, "bytes": 400, "packets": 2, "owd_mean_ns": 10.0 },
                { "at_ns": 100 * MS, "bytes": 100, "packets": 4, "owd_mean_ns": 40.0 },
                { "at_ns": 200 * MS, "bytes": 9_000, "packets": 9, "owd_mean_ns": 9.0 },
                { "at_ns": 400 * MS, "bytes": 200, "packets": 0, "owd_mean_ns": null },
            ],
        });
        let figures = beside(&report, &segments());
        // Half of the first, all of the second, half of the last: 200 + 100 + 100 bytes in 200 ms.
        assert_eq!(figures["it.beside_media.rate"], 400.0 * 8.0 / 0.2);
        // One packet of 10 ns and four of 40.
        assert_eq!(figures["it.beside_media.owd.mean"], 34.0);
        assert_eq!(figures.len(), 2);
        assert_eq!(beside(&report, &[]), Figures::new());
    }

    #[test]
    fn downloads_count_that_had_segments_beside_them_for_half_of_their_time() {
        let download = |at_ms: u64, for_ms: u64| json!({ "at_ns": at_ms * MS, "duration_ns": for_ms * MS, "first_byte_ns": 1 });
        let report = json!({
            "started_unix_ns": 1_000 * MS, "samples": [],
            "figures": { "times": [download(0, 100), download(50, 301), download(100, 101), download(300, 10), download(390, 30)] },
        });
        // 50 of 100 ms, 150 of 301, 100 of 101, none, and 20 of 30.
        let figures = beside(&report, &segments());
        assert_eq!(
            figures,
            [("it.beside_media.completion.p50".to_owned(), 100e6)].into()
        );
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        assert!(add_beside_media(&mut Figures::new(), "it", &json!({ "quality": {} }), &[]).is_err());
    }
}
