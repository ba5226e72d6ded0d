//! Viewers on threads: who comes when, what each second came to, and how it ends. What a viewer does is its own affair.

mod limits;
mod scrape;
mod worker;

use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use weir_net::clock::unix_ns;

use crate::client::{Dialer, HttpVersion, Patience, TlsError, Trust};
use crate::clock::monotonic_ns;
use crate::manifest::UrlRange;
use crate::measure::{Account, LoadSummary, OriginSource, OriginSummary, Quality, Segment, Times};
use crate::metrics::Metric;
use crate::schedule::{Arrivals, Popularity};
use crate::viewer::{Behaviour, Play, RealTime, RungChoice};

pub use limits::raise_descriptors;
pub use scrape::{Scrape, ScrapeNames};
use worker::{Report, Worker};

/// Viewers at once on another host without leave.
pub const MOST_VIEWERS_WITHOUT_LEAVE: u32 = 10;
/// Requests a second to another host without leave, where viewers do not play in real time.
pub const MOST_REQUESTS_WITHOUT_LEAVE: f64 = 10.0;
/// A thread that is busy for more of a second than this is taken for the limit.
const BUSY: f64 = 0.9;
/// Something that is done later than this, more often than once in a hundred times, is taken for the limit, too.
const LATE_NS: i64 = 5_000_000;
const POLL: Duration = Duration::from_millis(20);

/// A run.
#[derive(Clone, Debug)]
pub struct Config {
    /// What viewers do.
    pub behaviour: Behaviour,
    /// When they come.
    pub arrivals: Arrivals,
    /// How long it goes on; without it, until it is stopped.
    pub duration: Option<Duration>,
    /// Threads.
    pub threads: usize,
    /// Versions of HTTP.
    pub http: HttpVersion,
    /// Which certificates are accepted.
    pub trust: Trust,
    /// Timeouts of viewers.
    pub patience: Patience,
    /// Permission to load hosts other than this one.
    pub leave: bool,
    /// Metrics to read once per second.
    pub scrape: Option<Scrape>,
}

impl Config {
    /// Viewers of these titles, the most popular first, on one thread; they are gentle, and nobody stops them.
    pub fn new(titles: Vec<UrlRange>, play: Play, arrivals: Arrivals) -> Self {
        Config {
            behaviour: Behaviour {
                popularity: Popularity::zipf(titles.len(), 0.0),
                titles,
                play,
                rung: RungChoice::Highest,
                real_time: RealTime::default(),
                subtitles: false,
                verify: false,
                think: (Duration::ZERO, Duration::ZERO),
                session: None,
                one_session: arrivals.is_open(),
                pace: None,
                seed: 1,
            },
            arrivals,
            duration: None,
            threads: 1,
            http: HttpVersion::default(),
            trust: Trust::default(),
            patience: Patience::default(),
            leave: false,
            scrape: None,
        }
    }
}

/// Why a run did not begin.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Another host, with load above the limits for it.
    #[error(
        "{0} is not this host: more than {MOST_VIEWERS_WITHOUT_LEAVE} viewers, --arrivals, or more than \
        {MOST_REQUESTS_WITHOUT_LEAVE} requests per second need --yes-really-load-this-host"
    )]
    NotPermitted(String),
    /// Certificates.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A thread or its runtime.
    #[error("cannot start a thread for viewers: {0}")]
    Thread(std::io::Error),
}

/// Results of one second.
#[derive(Default)]
pub struct Second {
    /// End, Unix nanoseconds.
    pub unix_ns: u64,
    /// Duration.
    pub duration_ns: u64,
    /// Requests.
    pub account: Account,
    /// Sessions that ended.
    pub quality: Quality,
    /// Segments received, with a segment log.
    pub segments: Vec<Segment>,
    /// Viewers at its end.
    pub viewers: u64,
    /// Viewers that arrived.
    pub arrivals: u64,
    /// CPU time of all threads.
    pub cpu_ns: u64,
    /// The busiest thread, as a share of a core.
    pub busiest: f64,
    /// Metrics scraped since the previous second, or the error.
    pub metrics: Option<Result<Vec<Metric>, String>>,
}

/// The run so far.
#[derive(Default)]
pub struct SoFar {
    /// Requests.
    pub account: Account,
    /// Sessions.
    pub quality: Quality,
    /// Time since the start.
    pub elapsed_ns: u64,
}

/// Receives the seconds of a run.
pub trait Watch {
    /// A second has ended. Returning false stops the run.
    fn second(&self, second: &Second, so_far: &SoFar) -> bool;
}

/// Lets somebody else than the schedule say how many viewers there are (Locust's master).
#[derive(Debug)]
pub struct Target(watch::Sender<u32>);

impl Default for Target {
    fn default() -> Self {
        Target(watch::Sender::new(0))
    }
}

impl Target {
    /// So many from now on.
    pub fn set(&self, viewers: u32) {
        // Nobody listens before the run begins or after it has ended; the value stays.
        let _ = self.0.send_replace(viewers);
    }
}

/// Runs until its time is over, `watch` or `stop` says so. Requests that are on their way then come to their end.
///
/// # Errors
/// When it cannot begin.
pub fn run(
    config: &Config,
    target: Option<&Target>,
    stop: &dyn Fn() -> bool,
    watch: &dyn Watch,
) -> Result<LoadSummary, LoadError> {
    let elsewhere = permitted(config, target.is_some())?;
    let dialer = Dialer::new(&config.trust, config.http, config.patience, elsewhere)?;
    let scraping = config
        .scrape
        .as_ref()
        .map(|scrape| scrape::start(scrape, dialer.clone().speaking(HttpVersion::Auto)))
        .transpose()
        .map_err(LoadError::Thread)?;
    let start_ns = monotonic_ns();
    let ending = Arc::new(AtomicBool::new(false));
    let (reports, received) = channel();
    let behaviour = Arc::new(config.behaviour.clone());
    let mut threads = Vec::new();
    for number in 0..config.threads.max(1) {
        let worker = Worker {
            number,
            of: config.threads.max(1),
            behaviour: behaviour.clone(),
            arrivals: config.arrivals.clone(),
            dialer: dialer.clone(),
            start_ns,
            ending: ending.clone(),
            target: target.map(|target| target.0.subscribe()),
            reports: reports.clone(),
            drain: config.patience.silence + Duration::from_secs(1),
        };
        match worker.start() {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                ending.store(true, Ordering::Release);
                return Err(LoadError::Thread(error));
            }
        }
    }
    drop(reports);
    let mut collector = Collector {
        threads: threads.len(),
        waiting: Vec::new(),
        so_far: SoFar::default(),
        summary: LoadSummary::of(&Account::default(), &Quality::default(), 0),
        scraping,
        first_metrics: None,
        names: config.scrape.as_ref().map(|scrape| scrape.names.clone()),
    };
    let until = config
        .duration
        .map(|duration| start_ns.saturating_add(duration.as_nanos() as u64));
    follow(&received, &mut collector, until, &ending, stop, watch);
    for thread in threads {
        // A thread that broke off has said why on standard error; what it had reported stays.
        let _ = JoinHandle::join(thread);
    }
    Ok(collector.summary(monotonic_ns() - start_ns))
}

/// Takes reports until all threads have ended.
fn follow(
    received: &Receiver<Report>,
    collector: &mut Collector,
    until: Option<u64>,
    ending: &AtomicBool,
    stop: &dyn Fn() -> bool,
    watch: &dyn Watch,
) {
    loop {
        if stop() || until.is_some_and(|until| monotonic_ns() >= until) {
            ending.store(true, Ordering::Release);
        }
        match received.recv_timeout(POLL) {
            Ok(report) => {
                if !collector.take(report, watch) {
                    ending.store(true, Ordering::Release);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return collector.take_rest(watch),
        }
    }
}

/// Whether other hosts may be connected to. `unbounded` says that somebody else chooses the number of viewers.
///
/// # Errors
/// When a title is on another host, and that was not agreed to.
pub fn permitted(config: &Config, unbounded: bool) -> Result<bool, LoadError> {
    if config.leave || !unbounded && is_gentle(config) {
        return Ok(true);
    }
    for title in &config.behaviour.titles {
        let host = &title.host;
        // A name that has no address is a failure of each request.
        let addresses = (host.name.as_str(), host.port).to_socket_addrs();
        if addresses.is_ok_and(|mut addresses| addresses.any(|address| !address.ip().is_loopback())) {
            return Err(LoadError::NotPermitted(host.authority.clone()));
        }
    }
    Ok(false)
}

fn is_gentle(config: &Config) -> bool {
    let few = config
        .arrivals
        .most_viewers()
        .is_some_and(|viewers| viewers <= MOST_VIEWERS_WITHOUT_LEAVE);
    let viewers = f64::from(config.arrivals.most_viewers().unwrap_or(u32::MAX));
    let slow = match (config.behaviour.play, config.behaviour.pace) {
        (Play::RealTime, _) => true,
        (_, Some(pace)) => viewers / pace.as_secs_f64() <= MOST_REQUESTS_WITHOUT_LEAVE,
        (_, None) => false,
    };
    few && slow
}

/// Puts the threads' reports together.
struct Collector {
    threads: usize,
    /// Reports of seconds that not all threads have told of.
    waiting: Vec<(u64, Vec<Report>)>,
    so_far: SoFar,
    summary: LoadSummary,
    scraping: Option<scrape::Scraping>,
    first_metrics: Option<(f64, f64)>,
    names: Option<ScrapeNames>,
}

impl Collector {
    /// Takes a report; false if the run is to end.
    fn take(&mut self, report: Report, watch: &dyn Watch) -> bool {
        let number = report.number;
        match self.waiting.iter_mut().find(|(known, _)| *known == number) {
            Some((_, reports)) => reports.push(report),
            None => self.waiting.push((number, vec![report])),
        }
        let mut go_on = true;
        while let Some(at) = self
            .waiting
            .iter()
            .position(|(_, reports)| reports.len() == self.threads)
        {
            let (_, reports) = self.waiting.swap_remove(at);
            go_on &= self.put_together(reports, watch);
        }
        go_on
    }

    /// Takes the seconds that some threads had and others no more.
    fn take_rest(&mut self, watch: &dyn Watch) {
        let mut rest = std::mem::take(&mut self.waiting);
        rest.sort_by_key(|(number, _)| *number);
        for (_, reports) in rest {
            self.put_together(reports, watch);
        }
    }

    fn put_together(&mut self, reports: Vec<Report>, watch: &dyn Watch) -> bool {
        let mut second = Second {
            unix_ns: unix_ns(),
            metrics: self.scraping.as_ref().and_then(scrape::Scraping::latest),
            ..Second::default()
        };
        let mut most_viewers = 0;
        for report in reports {
            most_viewers += report.most_viewers;
            second.duration_ns = second.duration_ns.max(report.duration_ns);
            second.account.merge(&report.account);
            second.quality.merge(&report.quality);
            second.segments.extend(report.segments);
            second.viewers += report.viewers;
            second.arrivals += report.arrivals;
            second.cpu_ns += report.cpu_ns;
            let busy = report.cpu_ns as f64 / report.duration_ns.max(1) as f64;
            // The rest of a second is too short to judge.
            if report.duration_ns > 500_000_000 {
                second.busiest = second.busiest.max(busy);
            }
        }
        self.so_far.account.merge(&second.account);
        self.so_far.quality.merge(&second.quality);
        self.so_far.elapsed_ns += second.duration_ns;
        self.summary.most_viewers = self.summary.most_viewers.max(most_viewers);
        self.summary.arrivals += second.arrivals;
        self.summary.cpu_ns += second.cpu_ns;
        self.summary.busiest = self.summary.busiest.max(second.busiest);
        if let (Some(Ok(metrics)), Some(names)) = (&second.metrics, &self.names)
            && let Some(now) = names.in_and_out(metrics)
        {
            let first = *self.first_metrics.get_or_insert(now);
            self.summary.origin = Some(origin(first, now));
        }
        watch.second(&second, &self.so_far)
    }

    fn summary(self, duration_ns: u64) -> LoadSummary {
        let done = LoadSummary::of(&self.so_far.account, &self.so_far.quality, duration_ns);
        LoadSummary {
            most_viewers: self.summary.most_viewers,
            arrivals: self.summary.arrivals,
            cpu_ns: self.summary.cpu_ns,
            busiest: self.summary.busiest,
            generator_limited: is_limited(self.summary.busiest, &done.schedule_error),
            origin: self.summary.origin,
            ..done
        }
    }
}

/// Whether the generator was the limit: its busiest thread was busy all of a second, or one in a hundred of what had
/// its time was late. Of fewer than a hundred, a single one would be that.
pub fn is_limited(busiest: f64, schedule_error: &Times) -> bool {
    busiest > BUSY || schedule_error.count >= 100 && schedule_error.p99 > LATE_NS
}

/// Bytes in and out between two scrapes; counters that went back mean that the origin was started again.
fn origin(first: (f64, f64), now: (f64, f64)) -> OriginSummary {
    let (taken, sent) = ((now.0 - first.0).max(0.0), (now.1 - first.1).max(0.0));
    OriginSummary::of(OriginSource::Metrics, taken as u64, sent as u64)
}

/// The place of an address that a person wrote.
pub fn place(text: &str) -> Option<UrlRange> {
    UrlRange::of(&url::Url::parse(text).ok()?)
}

#[cfg(test)]
mod tests {
    use super::{BUSY, LATE_NS, Times, is_limited};

    #[test]
    fn when_the_generator_is_the_limit() {
        // Busiest thread, how many things had a time, P99 of how late they were.
        let table = [
            (0.0, 0, 0, false),
            (BUSY, 1_000, LATE_NS, false),
            (BUSY + 0.001, 1_000, LATE_NS, true),
            (BUSY + 0.001, 0, 0, true),
            (0.1, 1_000, LATE_NS + 1, true),
            // Of fewer than a hundred, one that is late is more than 1 %.
            (0.1, 100, LATE_NS + 1, true),
            (0.1, 99, LATE_NS + 1, false),
            (0.1, 99, i64::MAX, false),
        ];
        for (busiest, count, p99, limited) in table {
            let times = Times {
                count,
                p99,
                ..Times::default()
            };
            assert_eq!(is_limited(busiest, &times), limited, "{busiest} {count} {p99}");
        }
    }
}
