//! Handles each second of a run: the store, the display, and the conditions of --stop-if.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::args::LoadArgs;
use crate::fail_if::FailIf;
use weir_load::engine::{Second, SoFar, Watch};
use weir_load::measure::{Account, OriginSource, OriginSummary, Quality};
use weir_measure::{Sink, host_second};
use weir_net::counters::HostCounters;
use weir_results::{LoadFailure, LoadHistogram, LoadMetric, LoadSecond, Record, Side, ViewerSecond};
use weir_stats::DurationHistogram;

use super::super::progress::LoadBar;
use super::super::run_store::OpenRun;
use super::super::{tables, thresholds};
use super::segment_log::SegmentLog;

/// Window of --stop-if, in seconds.
const WINDOW: usize = 10;
/// Interval covered by one row of full distributions, and the most that a killed run loses of them: a twentieth of the run
/// within these bounds, in nanoseconds.
const HISTOGRAMS_EVERY_NS: RangeInclusive<u64> = 1_000_000_000..=60_000_000_000;
/// Maximum number of metric values stored per second.
const MOST_METRICS: usize = 500;

/// Totals at the end of a run.
#[derive(Default)]
pub struct Finished {
    /// All requests.
    pub account: Account,
    /// All sessions.
    pub quality: Quality,
    /// With --watch-host: bytes received and sent by the host's interfaces.
    pub network: Option<OriginSummary>,
}

/// Distributions since they were last stored.
#[derive(Default)]
struct Gathered {
    account: Account,
    quality: Quality,
    unix_ns: u64,
    duration_ns: u64,
}

/// Handles the seconds of a run.
pub struct Watching<'a> {
    run: &'a OpenRun<'a>,
    bar: LoadBar,
    stop_if: &'a [FailIf],
    state: RefCell<State>,
    segments: Option<SegmentLog>,
    histograms_every_ns: u64,
}

#[derive(Default)]
struct State {
    window: VecDeque<(Account, Quality, u64)>,
    stopped: Option<String>,
    finished: Finished,
    host: Option<HostCounters>,
    gathered: Gathered,
    scrape_failed: bool,
    /// Bytes in and out of the host at the start.
    network: Option<(u64, u64)>,
}

impl<'a> Watching<'a> {
    /// For this run, with a progress bar of `duration` unless `quiet`.
    pub fn new(
        run: &'a OpenRun<'a>,
        args: &'a LoadArgs,
        duration: Option<Duration>,
        segments: Option<SegmentLog>,
        quiet: bool,
    ) -> Self {
        let (least, most) = HISTOGRAMS_EVERY_NS.into_inner();
        let part = duration.map_or(most, |duration| duration.as_nanos() as u64 / 20);
        Watching {
            segments,
            histograms_every_ns: part.clamp(least, most),
            run,
            bar: LoadBar::new(duration, quiet),
            stop_if: &args.stop_if,
            state: RefCell::new(State {
                host: args.watch_host.then(|| HostCounters::read(None)),
                network: args.watch_host.then(|| in_and_out(&interfaces())),
                ..State::default()
            }),
        }
    }

    /// The condition of --stop-if that ended the run.
    pub fn ended_by(&self) -> Option<String> {
        self.state.borrow().stopped.clone()
    }

    /// The totals. Stores the distributions that are not stored yet.
    pub fn finish(self) -> (Finished, Option<SegmentLog>) {
        let mut state = self.state.take();
        self.keep_histograms(&mut state.gathered);
        (state.finished, self.segments)
    }

    fn gather(&self, second: &Second, gathered: &mut Gathered) {
        gathered.account.merge(&second.account);
        gathered.quality.merge(&second.quality);
        gathered.unix_ns = second.unix_ns;
        gathered.duration_ns += second.duration_ns;
        if gathered.duration_ns >= self.histograms_every_ns {
            self.keep_histograms(gathered);
        }
    }

    fn keep_histograms(&self, gathered: &mut Gathered) {
        let gathered = std::mem::take(gathered);
        let (unix_ns, duration_ns) = (gathered.unix_ns, gathered.duration_ns);
        let rows = histogram_rows(unix_ns, duration_ns, &gathered.account, &gathered.quality);
        rows.into_iter().for_each(|row| self.run.record(row));
    }

    fn record_metrics(&self, second: &Second, state: &mut State) {
        match &second.metrics {
            Some(Ok(metrics)) => {
                // Buckets of histograms would be most of it.
                let plain = metrics.iter().filter(|metric| !metric.name.contains("_bucket{"));
                for metric in plain.take(MOST_METRICS) {
                    self.metric(second.unix_ns, "scrape", &metric.name, metric.value);
                }
            }
            Some(Err(problem)) if !state.scrape_failed => {
                state.scrape_failed = true;
                self.bar
                    .say(&format!("weir: cannot read the metrics of the origin: {problem}"));
            }
            _ => {}
        }
        let Some(before) = state.host.take() else { return };
        let now = HostCounters::read(None);
        let change = now.since(&before);
        state.host = Some(now);
        self.run
            .record(Record::HostSecond(host_second(Side::Local, &change)));
        let interfaces = interfaces();
        let (taken, sent) = in_and_out(&interfaces);
        let before = *state.network.get_or_insert((taken, sent));
        state.finished.network = Some(OriginSummary::of(
            OriginSource::Host,
            taken.saturating_sub(before.0),
            sent.saturating_sub(before.1),
        ));
        for (name, received, sent) in network_bytes(&interfaces) {
            let labelled = |way: &str| format!("network_{way}_bytes_total{{interface=\"{name}\"}}");
            self.metric(second.unix_ns, "host", &labelled("received"), received as f64);
            self.metric(second.unix_ns, "host", &labelled("sent"), sent as f64);
        }
    }

    fn metric(&self, unix_ns: u64, source: &str, name: &str, value: f64) {
        self.run.record(Record::LoadMetric(LoadMetric {
            unix_ns,
            source: source.to_owned(),
            name: name.to_owned(),
            value,
        }));
    }

    /// The condition that holds for the last seconds.
    fn stops(&self, second: &Second, state: &mut State) -> Option<String> {
        if self.stop_if.is_empty() {
            return None;
        }
        let part = (second.account.clone(), second.quality.clone(), second.duration_ns);
        state.window.push_back(part);
        if state.window.len() > WINDOW {
            state.window.pop_front();
        }
        let (mut account, mut quality, mut duration_ns) = (Account::default(), Quality::default(), 0);
        for (requests, sessions, time_ns) in &state.window {
            account.merge(requests);
            quality.merge(sessions);
            duration_ns += time_ns;
        }
        let seconds = (duration_ns as f64 / 1e9).max(1e-9);
        let values = thresholds::of_load(&account.total(), &quality, seconds);
        let mut crossed = self.stop_if.iter().filter_map(|condition| {
            let value = *values.get(condition.metric().name())?;
            // Without data, no condition ends the run.
            (!value.is_nan() && condition.crossed(value)).then(|| condition.describe(value))
        });
        crossed.next().map(|said| format!("stopped early: {said}"))
    }
}

impl Watch for Watching<'_> {
    fn second(&self, second: &Second, so_far: &SoFar) -> bool {
        second_rows(second)
            .into_iter()
            .for_each(|row| self.run.record(row));
        if let Some(log) = &self.segments {
            log.write(&second.segments);
        }
        let mut state = self.state.borrow_mut();
        self.record_metrics(second, &mut state);
        state.finished.account.merge(&second.account);
        state.finished.quality.merge(&second.quality);
        self.gather(second, &mut state.gathered);
        self.bar
            .show(so_far.elapsed_ns, &tables::load_live(second, so_far));
        if state.stopped.is_none() {
            state.stopped = self.stops(second, &mut state);
        }
        state.stopped.is_none()
    }
}

/// A second as stored.
pub fn second_rows(second: &Second) -> Vec<Record> {
    let mut rows = Vec::new();
    for (kind, account) in second.account.kinds() {
        rows.push(Record::LoadSecond(LoadSecond {
            unix_ns: second.unix_ns,
            duration_ns: second.duration_ns,
            kind: kind.name().to_owned(),
            requests: account.requests,
            failed: account.failed(),
            body_bytes: account.body_bytes,
            all_bytes: account.all_bytes,
            connections: account.connections,
            first_byte: account.first_byte.quantiles(),
            last_byte: account.last_byte.quantiles(),
        }));
        rows.extend(account.failures.iter().map(|(cause, count)| {
            Record::LoadFailure(LoadFailure {
                unix_ns: second.unix_ns,
                kind: kind.name().to_owned(),
                cause: cause.name().to_owned(),
                count: *count,
            })
        }));
    }
    let quality = &second.quality;
    rows.push(Record::ViewerSecond(ViewerSecond {
        unix_ns: second.unix_ns,
        duration_ns: second.duration_ns,
        viewers: second.viewers,
        arrivals: second.arrivals,
        sessions: quality.sessions,
        gave_up: quality.gave_up,
        played_ns: quality.played_ns,
        stalls: quality.stalls,
        stalled_ns: quality.stalled_ns,
        switches: quality.switches,
        startup: quality.startup.quantiles(),
        schedule_error: second.account.schedule_error.quantiles(),
        cpu_ns: second.cpu_ns,
    }));
    rows
}

/// All non-empty distributions of an interval, as stored.
pub fn histogram_rows(unix_ns: u64, duration_ns: u64, account: &Account, quality: &Quality) -> Vec<Record> {
    let mut all = Vec::new();
    for (kind, account) in account.kinds() {
        all.push((kind.name(), "first_byte", &account.first_byte));
        all.push((kind.name(), "last_byte", &account.last_byte));
    }
    all.push(("viewers", "startup", &quality.startup));
    all.push(("viewers", "rebuffer_ppm", &quality.rebuffer_ppm));
    all.push(("viewers", "bitrate", &quality.bitrates));
    all.push(("viewers", "capacity", &quality.capacities));
    all.push(("viewers", "schedule_error", &account.schedule_error));
    let row = |(kind, time, histogram): (&str, &str, &DurationHistogram)| {
        Some(Record::LoadHistogram(LoadHistogram {
            unix_ns,
            duration_ns,
            kind: kind.to_owned(),
            time: time.to_owned(),
            count: histogram.count(),
            min_ns: histogram.min()?,
            max_ns: histogram.max()?,
            sum_ns: i64::try_from(histogram.sum()).unwrap_or(i64::MAX),
            // Numbers always serialise.
            buckets: serde_json::to_string(&histogram.buckets()).unwrap_or_default(),
        }))
    };
    all.into_iter().filter_map(row).collect()
}

fn interfaces() -> String {
    fs::read_to_string("/proc/net/dev").unwrap_or_default()
}

/// Bytes received by a host from elsewhere, and bytes sent by programs on it. Loopback traffic, as to the generator, is
/// counted in both directions by the kernel; here it counts as sent only.
fn in_and_out(interfaces: &str) -> (u64, u64) {
    network_bytes(interfaces).fold((0, 0), |(taken, sent), (name, received, went)| {
        let received = if name == "lo" { 0 } else { received };
        (taken + received, sent + went)
    })
}

/// Name, bytes received and bytes sent of each interface, from /proc/net/dev.
fn network_bytes(text: &str) -> impl Iterator<Item = (&str, u64, u64)> {
    text.lines().filter_map(|line| {
        let (name, values) = line.split_once(':')?;
        let mut values = values.split_whitespace();
        let received = values.next()?.parse().ok()?;
        let sent = values.nth(7)?.parse().ok()?;
        Some((name.trim(), received, sent))
    })
}

#[cfg(test)]
mod tests {
    use super::{in_and_out, network_bytes};

    #[test]
    fn bytes_of_interfaces() {
        // From proc_net_dev(5).
        let text = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n    \
            lo: 2776770   11307    0    0    0     0          0         0  2776770   11307    0    0    0     0       0          0\n  \
            eth0: 1215645    2751    0    0    0     0          0         0  1782404    4324    0    0    0   427       0          0\n";
        let found: Vec<_> = network_bytes(text).collect();
        assert_eq!(
            found,
            [("lo", 2_776_770, 2_776_770), ("eth0", 1_215_645, 1_782_404)]
        );
        assert_eq!(in_and_out(text), (1_215_645, 2_776_770 + 1_782_404));
        assert_eq!(in_and_out(""), (0, 0));
    }
}
