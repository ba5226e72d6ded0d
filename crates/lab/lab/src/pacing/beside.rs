//! What a neighbour gets while segments of the stream are under way, `NAME.beside_media`. Over a whole trial that is thinned by
//! the time in which the player fetches nothing, which for an unpaced stream is nine tenths of it and more. It must not know
//! who ran the trial.

use weir_load::measure::Segment;
use weir_neighbour::{Measured, SAMPLE_NS};
use weir_stats::median;

use super::figures::{Figures, overlap, put, under_way};

/// Begin of each tenth of a second, after the start, and the bytes that came in it.
fn bytes(report: &Measured) -> Vec<(u64, u64)> {
    match report {
        Measured::Delay(report) => report.samples.iter().map(|one| (one.at_ns, one.bytes)).collect(),
        Measured::Game(report) => report.samples.iter().map(|one| (one.at_ns, one.bytes)).collect(),
        Measured::Bulk(report) => report.samples.iter().map(|one| (one.at_ns, one.bytes)).collect(),
        Measured::Http(report) => report.samples.iter().map(|one| (one.at_ns, one.bytes)).collect(),
    }
}

/// Adds `NAME.beside_media.rate` (payload), `.owd.mean` where datagrams were measured, and of repeated downloads
/// `.completion.p50` of those beside which segments were under way for at least half of their time. Samples count by the
/// share of them in which a segment was under way. Nothing is added where none was.
pub fn add_beside_media(figures: &mut Figures, name: &str, report: &Measured, segments: &[Segment]) {
    let busy = under_way(segments);
    let beside_ns = |at_ns: u64, for_ns: u64| {
        let begin = report.started_unix_ns().saturating_add(at_ns);
        overlap(&busy, &(begin..begin.saturating_add(for_ns)))
    };
    let share = |at_ns: u64| beside_ns(at_ns, SAMPLE_NS) as f64 / SAMPLE_NS as f64;
    let mut add = |key: &str, value: f64| put(figures, &format!("{name}.beside_media.{key}"), Some(value));
    let (mut shares, mut beside) = (0.0, 0.0);
    for (at_ns, bytes) in bytes(report) {
        shares += share(at_ns);
        beside += bytes as f64 * share(at_ns);
    }
    if shares > 0.0 {
        add("rate", beside * 8e9 / (shares * SAMPLE_NS as f64));
    }
    if let Measured::Delay(report) = report {
        let (mut packets, mut packet_ns) = (0.0, 0.0);
        for sample in &report.samples {
            let count = sample.packets as f64 * share(sample.at_ns);
            if let Some(delay_ns) = sample.owd_mean_ns {
                packets += count;
                packet_ns += count * delay_ns;
            }
        }
        if packets > 0.0 {
            add("owd.mean", packet_ns / packets);
        }
    }
    if let Measured::Http(report) = report {
        let mostly_beside = report.figures.times.iter().filter(|download| {
            let beside_ns = beside_ns(download.at_ns, download.duration_ns);
            beside_ns > 0 && beside_ns >= download.duration_ns / 2
        });
        let times: Vec<f64> = mostly_beside
            .map(|download| download.duration_ns as f64)
            .collect();
        if !times.is_empty() {
            add("completion.p50", median(times));
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_neighbour::{Completion, DelaySample, HttpFigures, Report};

    use super::*;

    const MS: u64 = 1_000_000;

    fn segment(at_ms: u64, for_ms: u64) -> Segment {
        Segment {
            unix_ns: at_ms * MS,
            bytes: 1,
            last_byte_ns: for_ms * MS,
            ..Segment::default()
        }
    }

    /// Under way from 1,050 to 1,200 ms, by two that overlap, and from 1,400 to 1,450.
    fn segments() -> [Segment; 3] {
        [segment(1_400, 50), segment(1_050, 100), segment(1_100, 100)]
    }

    fn beside(report: &Measured, segments: &[Segment]) -> Figures {
        let mut figures = Figures::new();
        add_beside_media(&mut figures, "it", report, segments);
        figures
    }

    #[test]
    fn samples_count_by_their_time_beside_segments() {
        let sample = |at_ms, bytes, packets, owd_mean_ns| DelaySample {
            at_ns: at_ms * MS,
            bytes,
            packets,
            owd_mean_ns,
            ..DelaySample::default()
        };
        let report = Measured::Delay(Report {
            started_unix_ns: 1_000 * MS,
            samples: vec![
                sample(0, 400, 2, Some(10.0)),
                sample(100, 100, 4, Some(40.0)),
                sample(200, 9_000, 9, Some(9.0)),
                sample(400, 200, 0, None),
            ],
            ..Report::default()
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
        // 50 of 100 ms, 150 of 301, 100 of 101, none, and 20 of 30.
        let times = [(0, 100), (50, 301), (100, 101), (300, 10), (390, 30)];
        let times = times.map(|(at_ms, for_ms)| Completion {
            at_ns: at_ms * MS,
            first_byte_ns: 1,
            duration_ns: for_ms * MS,
        });
        let report = Measured::Http(Report {
            started_unix_ns: 1_000 * MS,
            figures: HttpFigures {
                times: times.to_vec(),
                ..HttpFigures::default()
            },
            ..Report::default()
        });
        let figures = beside(&report, &segments());
        let median = ("it.beside_media.completion.p50".to_owned(), 100e6);
        assert_eq!(figures, [median].into());
    }
}
