//! A download as fast as TCP goes, on one connection or several at once.

use std::collections::BTreeMap;
use std::io;

use weir_control::Stop;
use weir_net::clock;
use weir_net::tcp::CongestionControl;
use weir_stats::DurationHistogram;

use super::exchange::{Brought, Exchange};
use super::request::SLACK_MS;
use super::{Readings, Request, check_duration, connect, sleep_until};
use crate::SAMPLE_NS;
use crate::account::bins;
use crate::distribution::Times;
use crate::error::NeighbourError;
use crate::now::{Now, start_at};
use crate::report::{BulkFigures, BulkSample, Measured, Report, SenderFigures, rate_of, sample_index};

/// How long the sender may take to say what its kernel knew.
const READINGS_LIMIT_NS: u64 = 10_000_000_000;
/// Longest such answer, bytes.
const MOST_READINGS: u64 = 16 << 20;

/// A download as fast as TCP allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkRequest {
    /// Connections: 1 to [`MOST_STREAMS`](crate::MOST_STREAMS).
    pub streams: u16,
    /// Congestion control of the sender; none for its default.
    pub congestion: Option<CongestionControl>,
}

/// Downloads from the server at `to` (HOST:PORT), from `start_at_unix_ns` on or at once.
///
/// # Errors
/// When nobody answers, the server refuses, or a connection fails.
pub fn measure_bulk(
    to: &str,
    duration_ns: u64,
    request: &BulkRequest,
    start_at_unix_ns: Option<u64>,
    stop: &Stop,
) -> Result<Measured, NeighbourError> {
    check_duration(duration_ns)?;
    let start_at_ns = start_at(start_at_unix_ns)?;
    let first_id = getrandom::u64().map_err(NeighbourError::Random)?;
    let ids: Vec<u64> = (0..u64::from(request.streams))
        .map(|index| first_id.wrapping_add(index))
        .collect();
    let streams: Vec<Exchange> = ids
        .iter()
        .map(|_| connect(to).map(Exchange::new))
        .collect::<Result<_, _>>()?;
    sleep_until(start_at_ns, stop);
    let started = Now::read();
    let download = |id: u64, stream: Exchange| Download {
        to,
        duration_ns,
        request,
        id,
        started,
        stop,
        stream,
    };
    let counts: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = streams
            .into_iter()
            .zip(&ids)
            .map(|(stream, id)| scope.spawn(move || download(*id, stream).run()))
            .collect();
        // A thread that panics has broken a rule of this crate: the panic goes on here.
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(join).collect::<Result<_, _>>()
    })?;
    let elapsed_ns = (clock::monotonic_ns() - started.monotonic_ns).min(duration_ns);
    let readings: Option<Vec<Readings>> = ids.iter().map(|id| fetch_readings(to, *id).ok()).collect();
    Ok(Measured::Bulk(report(
        request, started, elapsed_ns, &counts, readings, stop,
    )))
}

/// One connection.
struct Download<'a> {
    to: &'a str,
    duration_ns: u64,
    request: &'a BulkRequest,
    id: u64,
    started: Now,
    stop: &'a Stop,
    stream: Exchange,
}

impl Download<'_> {
    /// Bytes by tenth of a second.
    fn run(mut self) -> Result<Vec<u64>, NeighbourError> {
        let fail = |source| NeighbourError::io("download from", self.to, source);
        let mut counts = bins(self.duration_ns, |_| 0);
        let (started_ns, duration_ns, stop) = (self.started.monotonic_ns, self.duration_ns, self.stop);
        let offset_ns = || clock::monotonic_ns() - started_ns;
        let go_on = || offset_ns() < duration_ns && !stop.is_set();
        let stream = Request::Stream {
            duration_ms: duration_ns.div_ceil(1_000_000) + SLACK_MS,
            id: self.id,
            congestion: self.request.congestion,
        };
        self.stream.ask(&stream).map_err(fail)?;
        let Some((head, body)) = self.stream.head(go_on).map_err(fail)? else {
            return Ok(counts);
        };
        if head.status != 200 {
            return Err(NeighbourError::RefusedHttp {
                to: self.to.to_owned(),
                said: format!("{} {}", head.status, head.reason),
            });
        }
        let mut count = |bytes: u64| {
            if let Some(index) = sample_index(offset_ns(), duration_ns) {
                counts[index] += bytes;
            }
        };
        count(body.len() as u64);
        while go_on() {
            match self.stream.body(u64::MAX).map_err(fail)? {
                Brought::Bytes(bytes) => count(bytes),
                Brought::Nothing => {}
                Brought::End => return Err(fail(io::ErrorKind::UnexpectedEof.into())),
            }
        }
        Ok(counts)
    }
}

fn fetch_readings(to: &str, id: u64) -> Result<Readings, NeighbourError> {
    let fail = |source| NeighbourError::io("read the sender's statistics from", to, source);
    let deadline_ns = clock::monotonic_ns() + READINGS_LIMIT_NS;
    let go_on = || clock::monotonic_ns() < deadline_ns;
    let mut exchange = Exchange::new(connect(to)?);
    exchange.ask(&Request::Readings { id }).map_err(fail)?;
    let answer = exchange.head(go_on).map_err(fail)?;
    let (head, body) = answer.ok_or_else(|| fail(io::ErrorKind::TimedOut.into()))?;
    let length = head
        .content_length
        .filter(|length| head.status == 200 && *length <= MOST_READINGS);
    let length = length.ok_or_else(|| fail(io::ErrorKind::InvalidData.into()))?;
    let text = exchange.rest(body, length as usize, go_on).map_err(fail)?;
    serde_json::from_slice(&text).map_err(|error| fail(error.into()))
}

fn report(
    request: &BulkRequest,
    started: Now,
    elapsed_ns: u64,
    counts: &[Vec<u64>],
    readings: Option<Vec<Readings>>,
    stop: &Stop,
) -> Report<BulkSample, BulkFigures> {
    let mut samples = bins(elapsed_ns, |at_ns| BulkSample {
        at_ns,
        ..BulkSample::default()
    });
    for (index, sample) in samples.iter_mut().enumerate() {
        sample.bytes = counts.iter().filter_map(|count| count.get(index)).sum();
        sample.rate = rate_of(sample.bytes, SAMPLE_NS.min(elapsed_ns - sample.at_ns));
    }
    let bytes = counts.iter().flatten().sum();
    let sender = readings.map(|readings| {
        for each in &readings {
            add_readings(&mut samples, each, started.unix_ns);
        }
        sender_figures(&readings, bytes)
    });
    for sample in &mut samples {
        sample.rtt_ns = sample.rtt_ns.map(|sum| sum / counts.len().max(1) as u64);
    }
    Report {
        kind: "bulk",
        seconds: elapsed_ns as f64 / 1e9,
        started_unix_ns: started.unix_ns,
        interrupted: stop.is_set(),
        samples,
        figures: BulkFigures {
            streams: request.streams,
            bytes,
            rate: rate_of(bytes, elapsed_ns),
            sender,
        },
        distribution: None,
    }
}

/// Adds one connection's: the last reading of each tenth of a second, or the one before where there is none.
fn add_readings(samples: &mut [BulkSample], readings: &Readings, started_unix_ns: u64) {
    let by_end: BTreeMap<u64, _> = readings
        .readings
        .iter()
        .map(|reading| (reading.at_unix_ns.saturating_sub(started_unix_ns), reading))
        .collect();
    let mut retransmits_before = 0;
    for sample in samples {
        let end_ns = sample.at_ns + SAMPLE_NS;
        let Some((_, reading)) = by_end.range(..end_ns).next_back() else {
            continue;
        };
        // Sums here; the mean of the RTTs is made when all are there.
        *sample.rtt_ns.get_or_insert(0) += reading.rtt_ns;
        *sample.cwnd_bytes.get_or_insert(0) += reading.cwnd_bytes;
        let new = reading.retransmits.saturating_sub(retransmits_before);
        *sample.retransmits.get_or_insert(0) += new;
        retransmits_before = reading.retransmits;
    }
}

fn sender_figures(readings: &[Readings], bytes: u64) -> SenderFigures {
    let mut rtt = DurationHistogram::new();
    let all = || readings.iter().flat_map(|each| &each.readings);
    // The first reading of a connection is of its begin, and of no load.
    all().for_each(|reading| rtt.record(i64::try_from(reading.rtt_ns).unwrap_or(i64::MAX)));
    let last = |each: &Readings| each.readings.last().map_or(0, |reading| reading.retransmits);
    let retransmits: u64 = readings.iter().map(last).sum();
    let mss = readings.iter().map(|each| each.mss).max().unwrap_or(0).max(1);
    SenderFigures {
        congestion: readings
            .first()
            .map_or_else(String::new, |each| each.congestion.clone()),
        retransmits,
        retransmit_share: retransmits as f64 / bytes.div_ceil(mss.into()).max(1) as f64,
        rtt: Times::of(&rtt),
        cwnd_max_bytes: all().map(|reading| reading.cwnd_bytes).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpInfoSample;

    fn readings(values: &[(u64, u64, u64, u64)]) -> Readings {
        let reading = |(ms, rtt_ns, cwnd_bytes, retransmits): &(u64, u64, u64, u64)| TcpInfoSample {
            at_unix_ns: 1_000_000_000_000 + ms * 1_000_000,
            rtt_ns: *rtt_ns,
            cwnd_bytes: *cwnd_bytes,
            retransmits: *retransmits,
        };
        Readings {
            congestion: "reno".to_owned(),
            mss: 1_000,
            readings: values.iter().map(reading).collect(),
        }
    }

    #[test]
    fn two_connections_come_to_one_account() {
        let request = BulkRequest {
            streams: 2,
            congestion: Some(CongestionControl::Reno),
        };
        let started = Now {
            monotonic_ns: 1,
            unix_ns: 1_000_000_000_000,
        };
        let counts = [vec![10_000, 20_000, 30_000], vec![0, 5_000, 15_000]];
        // The second has none in the second tenth: what it had before stands.
        let told = vec![
            readings(&[
                (50, 10, 100, 0),
                (99, 20, 200, 1),
                (150, 30, 300, 3),
                (250, 30, 300, 3),
            ]),
            readings(&[(90, 40, 1_000, 2), (201, 60, 500, 4)]),
        ];
        let report = report(
            &request,
            started,
            250_000_000,
            &counts,
            Some(told),
            &Stop::default(),
        );
        let values: Vec<_> = report
            .samples
            .iter()
            .map(|sample| {
                (
                    sample.bytes,
                    sample.rate,
                    sample.rtt_ns,
                    sample.cwnd_bytes,
                    sample.retransmits,
                )
            })
            .collect();
        assert_eq!(
            values,
            [
                (10_000, 800_000, Some(30), Some(1_200), Some(3)),
                (25_000, 2_000_000, Some(35), Some(1_300), Some(2)),
                (45_000, 7_200_000, Some(45), Some(800), Some(2)),
            ]
        );
        let figures = &report.figures;
        assert_eq!((figures.bytes, figures.rate), (80_000, 2_560_000));
        let sender = figures.sender.as_ref().unwrap();
        assert_eq!((sender.retransmits, sender.cwnd_max_bytes), (7, 1_000));
        assert_eq!(sender.retransmit_share, 7.0 / 80.0);
        assert_eq!(sender.rtt.unwrap().count, 6);
        let silent = super::report(&request, started, 250_000_000, &counts, None, &Stop::default());
        assert_eq!((silent.figures.sender, silent.samples[0].rtt_ns), (None, None));
    }
}
