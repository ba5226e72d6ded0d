//! The figures of a trial, one number each, from the player's account of its segments, the kernel's of the media connection,
//! the link's of its queue, and the reports of neighbours. It must not know who ran the trial.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use weir_load::measure::{QualitySummary, Segment};
use weir_stats::median;

use crate::waiting::QueueSecond;

/// Figures of one trial by name, as in `voip.owd.p95`. Times are nanoseconds, rates bits a second, shares 0 to 1.
pub type Figures = BTreeMap<String, f64>;

/// Figures of the stream itself and of the queue that it goes through.
pub const MEDIA_FIGURES: [&str; 17] = [
    "media.throughput",
    "media.capacity",
    "media.bitrate",
    "media.bin_deviation",
    "media.segments",
    "media.fetching_share",
    "media.rtt.mean",
    "media.rtt.p95",
    "media.cwnd_bytes",
    "media.retransmitted_share",
    "media.sent_bytes",
    "media.startup_ns",
    "media.stalls",
    "media.stalled_ns",
    "media.switches",
    "queue.mean_bytes",
    "queue.dropped",
];

/// Deepest nesting of what a neighbour tells.
const DEEPEST: u32 = 8;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bits a second.
    Rate,
    /// 0 to 1.
    Share,
    /// Bytes.
    Bytes,
    /// Anything else.
    Number,
}

/// What a figure of this name counts.
pub fn unit_of(name: &str) -> Unit {
    const TIMES: [&str; 9] = [
        "owd",
        "owd_above_min",
        "completion",
        "completion_above_min",
        "input_to_frame",
        "first_byte",
        "rtt",
        "startup",
        "sojourn",
    ];
    let mut parts = name.split('.').skip(1);
    let last = name.rsplit('.').next().unwrap_or_default();
    if last == "count" {
        Unit::Number
    } else if last.ends_with("_ns") || parts.any(|part| TIMES.contains(&part)) {
        Unit::Time
    } else if ["rate", "throughput", "capacity", "bin_deviation"].contains(&last) || last.ends_with("bitrate")
    {
        Unit::Rate
    } else if last.ends_with("share") || last.ends_with("ratio") || last == "loss" {
        Unit::Share
    } else if last == "bytes" || last.ends_with("_bytes") {
        Unit::Bytes
    } else {
        Unit::Number
    }
}

/// What the kernel said of a media connection at a moment. Counts are since the connection began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TcpReading {
    /// When.
    pub unix_ns: u64,
    /// Port of the player's end, by which connections are told apart.
    pub remote_port: u16,
    /// Smoothed RTT.
    pub rtt_ns: u64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Rate at which the kernel sends; none while it does not pace.
    pub pacing_rate: Option<u64>,
    /// Payload sent, that sent again included.
    pub sent_bytes: u64,
    /// Payload sent again.
    pub retransmitted_bytes: u64,
    /// Payload confirmed.
    pub acked_bytes: u64,
}

/// Figures of the stream and the queue within a time, Unix nanoseconds. What was not measured has none.
pub fn media_figures(
    within: &Range<u64>,
    segments: &[Segment],
    readings: &[TcpReading],
    queue: &[QueueSecond],
) -> Figures {
    let mut figures = Figures::new();
    of_segments(within, segments, &mut figures);
    of_connection(within, readings, &mut figures);
    of_queue(within, queue, &mut figures);
    figures
}

pub(super) fn put(figures: &mut Figures, name: &str, value: Option<f64>) {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        figures.insert(name.to_owned(), value);
    }
}

/// When segments were under way, from the request to the last byte: Unix nanoseconds, in order, none touching another.
pub(super) fn under_way(segments: &[Segment]) -> Vec<Range<u64>> {
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

fn of_segments(within: &Range<u64>, segments: &[Segment], figures: &mut Figures) {
    let fetching = (!segments.is_empty())
        .then(|| overlap(&under_way(segments), within) as f64 / (within.end - within.start) as f64);
    let whole = |line: &&Segment| within.contains(&line.unix_ns) && line.failure.is_none();
    let segments: Vec<&Segment> = segments.iter().filter(whole).collect();
    put(figures, "media.segments", Some(segments.len() as f64));
    put(figures, "media.fetching_share", fetching);
    let rates: Vec<f64> = segments
        .iter()
        .filter(|line| line.last_byte_ns > 0)
        .map(|line| line.bytes as f64 * 8e9 / line.last_byte_ns as f64)
        .collect();
    put(
        figures,
        "media.throughput",
        (!rates.is_empty()).then(|| median(rates)),
    );
    put(
        figures,
        "media.bitrate",
        mean(segments.iter().map(|line| line.bitrate as f64)),
    );
    let capacity = segments.iter().rev().find_map(|line| line.capacity);
    put(figures, "media.capacity", capacity.map(|rate| rate as f64));
    let deviations = segments.iter().filter_map(|line| line.bin_deviation);
    put(figures, "media.bin_deviation", mean(deviations));
}

/// RTT and window are those of readings between which something was delivered: an idle connection tells old ones.
fn of_connection(within: &Range<u64>, readings: &[TcpReading], figures: &mut Figures) {
    let (mut rtts, mut windows) = (Vec::new(), Vec::new());
    let (mut sent, mut again, mut seen) = (0_u64, 0_u64, false);
    for (at, reading) in readings.iter().enumerate() {
        if !within.contains(&reading.unix_ns) {
            continue;
        }
        let before = readings[..at]
            .iter()
            .rev()
            .find(|before| before.remote_port == reading.remote_port);
        let Some(before) = before else { continue };
        seen = true;
        sent += reading.sent_bytes.saturating_sub(before.sent_bytes);
        again += reading
            .retransmitted_bytes
            .saturating_sub(before.retransmitted_bytes);
        if reading.acked_bytes > before.acked_bytes {
            rtts.push(reading.rtt_ns as f64);
            windows.push(reading.cwnd_bytes as f64);
        }
    }
    if seen {
        put(figures, "media.sent_bytes", Some(sent as f64));
        put(
            figures,
            "media.retransmitted_share",
            (sent > 0).then(|| again as f64 / sent as f64),
        );
    }
    put(figures, "media.rtt.mean", mean(rtts.iter().copied()));
    put(figures, "media.cwnd_bytes", mean(windows.into_iter()));
    rtts.sort_by(f64::total_cmp);
    let rank = (rtts.len() * 95).div_ceil(100).saturating_sub(1);
    put(figures, "media.rtt.p95", rtts.get(rank).copied());
}

fn of_queue(within: &Range<u64>, queue: &[QueueSecond], figures: &mut Figures) {
    let (mut byte_ns, mut time_ns, mut dropped) = (0.0, 0.0, 0);
    for second in queue.iter().filter(|second| within.contains(&second.unix_ns)) {
        byte_ns += second.mean_bytes * second.duration_ns as f64;
        time_ns += second.duration_ns as f64;
        dropped += second.dropped;
    }
    if time_ns > 0.0 {
        put(figures, "queue.mean_bytes", Some(byte_ns / time_ns));
        put(figures, "queue.dropped", Some(dropped as f64));
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Adds start-up delay, stalls and switches of the stream's viewer.
pub fn add_viewer(figures: &mut Figures, name: &str, quality: &QualitySummary) {
    for (figure, value) in [
        ("startup_ns", quality.startup.p50 as f64),
        ("stalls", quality.stalls as f64),
        ("stalled_ns", quality.stalled_ns as f64),
        ("switches", quality.switches as f64),
    ] {
        put(figures, &format!("{name}.{figure}"), Some(value));
    }
}

/// Adds every number that a neighbour tells, as `NAME.key` or `NAME.key.key`; lists are left out.
pub fn add_neighbour(figures: &mut Figures, name: &str, told: &impl Serialize) {
    // Plain data always serialises.
    let told = serde_json::to_value(told).unwrap_or_default();
    add_nested(figures, name, &told, DEEPEST);
}

fn add_nested(figures: &mut Figures, name: &str, told: &Value, deepest: u32) {
    match told {
        Value::Number(number) => put(figures, name, number.as_f64()),
        Value::Object(fields) if deepest > 0 => {
            for (key, value) in fields {
                add_nested(figures, &format!("{name}.{key}"), value, deepest - 1);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_link::realtime::Way;

    use super::*;

    fn line(at: u64, bytes: u64, last_byte_ns: u64) -> Segment {
        Segment {
            unix_ns: at,
            bitrate: 4_000_000,
            bytes,
            last_byte_ns,
            ..Segment::default()
        }
    }

    fn reading(unix_ns: u64, rtt_ns: u64, acked_bytes: u64, retransmitted_bytes: u64) -> TcpReading {
        TcpReading {
            unix_ns,
            remote_port: 40_000,
            rtt_ns,
            cwnd_bytes: 10,
            pacing_rate: None,
            sent_bytes: acked_bytes,
            retransmitted_bytes,
            acked_bytes,
        }
    }

    #[test]
    fn only_what_is_within_the_time_counts() {
        let segments = [
            line(5, 1, 1),
            line(10, 1_000_000, 1_000_000_000),
            line(11, 3_000_000, 1_000_000_000),
            line(20, 1, 1),
            Segment {
                failure: Some("timeout"),
                ..line(12, 1, 1)
            },
        ];
        // The first lies before the time: what was sent since then counts.
        let readings = [
            reading(8, 99, 1_000, 10),
            reading(10, 20, 3_000, 10),
            reading(12, 77, 3_000, 10),
            reading(14, 40, 5_000, 50),
            reading(20, 99, 9_000, 90),
        ];
        let second = |unix_ns, mean_bytes, dropped| QueueSecond {
            direction: Way::Reverse,
            unix_ns,
            duration_ns: 1,
            mean_bytes,
            dropped,
        };
        let queue = [second(9, 1e9, 9), second(10, 100.0, 1), second(11, 200.0, 2)];
        let figures = media_figures(&(10..20), &segments, &readings, &queue);
        let expected = [
            ("media.segments", 2.0),
            ("media.fetching_share", 1.0),
            ("media.throughput", 16_000_000.0),
            ("media.bitrate", 4_000_000.0),
            ("media.sent_bytes", 4_000.0),
            ("media.retransmitted_share", 0.01),
            ("media.rtt.mean", 30.0),
            ("media.rtt.p95", 40.0),
            ("queue.mean_bytes", 150.0),
            ("queue.dropped", 3.0),
        ];
        for (name, value) in expected {
            assert_eq!(figures.get(name), Some(&value), "{name}");
        }
        assert!(figures.keys().all(|name| MEDIA_FIGURES.contains(&name.as_str())));
    }

    #[test]
    fn what_was_not_measured_has_no_figure() {
        let figures = media_figures(&(0..10), &[], &[], &[]);
        assert_eq!(figures.keys().collect::<Vec<_>>(), ["media.segments"]);
    }

    #[test]
    fn numbers_of_neighbours_are_told_by_their_paths() {
        let mut figures = Figures::new();
        add_neighbour(
            &mut figures,
            "call",
            &json!({ "loss": 0.5, "owd": { "p95": 12, "deep": { "x": 1 } }, "kind": "voip", "times": [1, 2], "none": null }),
        );
        let names: Vec<&String> = figures.keys().collect();
        assert_eq!(names, ["call.loss", "call.owd.deep.x", "call.owd.p95"]);
        assert_eq!(figures["call.owd.p95"], 12.0);
    }

    #[test]
    fn names_tell_units() {
        let table = [
            ("voip.owd.p95", Unit::Time),
            ("owd.voice.mos", Unit::Number),
            ("game.late_share", Unit::Share),
            ("game.completion.count", Unit::Number),
            ("bulk.rate", Unit::Rate),
            ("media.stalled_ns", Unit::Time),
            ("queue.mean_bytes", Unit::Bytes),
            ("voip.voice.mos", Unit::Number),
            ("voip.loss", Unit::Share),
        ];
        for (name, unit) in table {
            assert_eq!(unit_of(name), unit, "{name}");
        }
    }
}
