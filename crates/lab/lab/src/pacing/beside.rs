//! What a neighbour gets while segments of the stream are under way, `NAME.beside_media`. Over a whole trial that is thinned by
//! the time in which the player fetches nothing, which for an unpaced stream is nine tenths of it and more. It must not know
//! who ran the trial.

use std::ops::Range;

use weir_load::measure::Segment;
#[cfg(feature = "networks")]
use weir_neighbour::Measured;
use weir_neighbour::{Completion, SAMPLE_NS};
use weir_stats::median;

use super::figures::{Figures, put};

/// A tenth of a second of a report.
struct Sample {
    at_ns: u64,
    bytes: u64,
    /// Datagrams that came, and their mean delay.
    delays: Option<(u64, f64)>,
}

impl Sample {
    fn of((at_ns, bytes): (u64, u64)) -> Self {
        Sample {
            at_ns,
            bytes,
            delays: None,
        }
    }
}

/// A neighbour's report, as far as it counts here.
pub(super) struct Report {
    started_unix_ns: u64,
    samples: Vec<Sample>,
    downloads: Vec<Completion>,
}

impl Report {
    /// Of a measurement.
    #[cfg(feature = "networks")]
    pub(super) fn of(measured: &Measured) -> Self {
        let (started_unix_ns, samples) = match measured {
            Measured::Delay(report) => {
                let samples = report.samples.iter().map(|sample| Sample {
                    delays: sample.owd_mean_ns.map(|mean| (sample.packets, mean)),
                    ..Sample::of((sample.at_ns, sample.bytes))
                });
                (report.started_unix_ns, samples.collect())
            }
            Measured::Game(report) => {
                let bytes = report.samples.iter().map(|sample| (sample.at_ns, sample.bytes));
                (report.started_unix_ns, bytes.map(Sample::of).collect())
            }
            Measured::Bulk(report) => {
                let bytes = report.samples.iter().map(|sample| (sample.at_ns, sample.bytes));
                (report.started_unix_ns, bytes.map(Sample::of).collect())
            }
            Measured::Http(report) => {
                let bytes = report.samples.iter().map(|sample| (sample.at_ns, sample.bytes));
                (report.started_unix_ns, bytes.map(Sample::of).collect())
            }
        };
        let downloads = match measured {
            Measured::Http(report) => report.figures.times.clone(),
            _ => Vec::new(),
        };
        Report {
            started_unix_ns,
            samples,
            downloads,
        }
    }

    /// Adds `NAME.beside_media.rate` (payload), `.owd.mean` where datagrams were measured, and of repeated downloads
    /// `.completion.p50` of those beside which segments were under way for at least half of their time. Samples count by
    /// the share of them in which a segment was under way. Nothing is added where none was.
    pub(super) fn add(&self, figures: &mut Figures, name: &str, segments: &[Segment]) {
        let busy = under_way(segments);
        let beside_ns = |at_ns: u64, for_ns: u64| {
            let begin = self.started_unix_ns.saturating_add(at_ns);
            overlap(&busy, &(begin..begin.saturating_add(for_ns)))
        };
        let (mut time_ns, mut bytes, mut packets, mut packet_ns) = (0.0, 0.0, 0.0, 0.0);
        for sample in &self.samples {
            let beside_ns = beside_ns(sample.at_ns, SAMPLE_NS) as f64;
            let share = beside_ns / SAMPLE_NS as f64;
            time_ns += beside_ns;
            bytes += sample.bytes as f64 * share;
            if let Some((count, delay_ns)) = sample.delays {
                packets += count as f64 * share;
                packet_ns += count as f64 * share * delay_ns;
            }
        }
        let mut add =
            |key: &str, value: f64| put(figures, &format!("{name}.beside_media.{key}"), Some(value));
        if time_ns > 0.0 {
            add("rate", bytes * 8e9 / time_ns);
        }
        if packets > 0.0 {
            add("owd.mean", packet_ns / packets);
        }
        let mostly_beside = self.downloads.iter().filter(|download| {
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

#[cfg(test)]
mod tests {
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

    fn beside(samples: Vec<Sample>, downloads: Vec<Completion>, segments: &[Segment]) -> Figures {
        let mut figures = Figures::new();
        let report = Report {
            started_unix_ns: 1_000 * MS,
            samples,
            downloads,
        };
        report.add(&mut figures, "it", segments);
        figures
    }

    #[test]
    fn samples_count_by_their_time_beside_segments() {
        let samples = || {
            let sample = |at_ms, bytes, delays| Sample {
                at_ns: at_ms * MS,
                bytes,
                delays,
            };
            vec![
                sample(0, 400, Some((2, 10.0))),
                sample(100, 100, Some((4, 40.0))),
                sample(200, 9_000, Some((9, 9.0))),
                sample(400, 200, None),
            ]
        };
        let figures = beside(samples(), Vec::new(), &segments());
        // Half of the first, all of the second, half of the last: 200 + 100 + 100 bytes in 200 ms.
        assert_eq!(figures["it.beside_media.rate"], 400.0 * 8.0 / 0.2);
        // One packet of 10 ns and four of 40.
        assert_eq!(figures["it.beside_media.owd.mean"], 34.0);
        assert_eq!(figures.len(), 2);
        assert_eq!(beside(samples(), Vec::new(), &[]), Figures::new());
    }

    #[test]
    fn downloads_count_that_had_segments_beside_them_for_half_of_their_time() {
        // 50 of 100 ms, 150 of 301, 100 of 101, none, and 20 of 30.
        let times = [(0, 100), (50, 301), (100, 101), (300, 10), (390, 30)];
        let downloads = times.map(|(at_ms, for_ms)| Completion {
            at_ns: at_ms * MS,
            first_byte_ns: 1,
            duration_ns: for_ms * MS,
        });
        let figures = beside(Vec::new(), downloads.to_vec(), &segments());
        let median = ("it.beside_media.completion.p50".to_owned(), 100e6);
        assert_eq!(figures, [median].into());
    }
}
