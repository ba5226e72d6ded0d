//! Runs a watcher: starts what the schedule says, stores what comes back, and reports. Threads, sockets and the store are
//! here and below, and nowhere else in this crate.
//!
//! One thread has the schedule, the store and the change points. Each running test has a thread of its own; RTT tests leave
//! their packets in a [`Gather`](crate::gather::Gather), which this thread empties twice a second, so that a slow disk holds
//! up no packet.

mod executor;
mod exports;
mod host_alarm;
mod keeper;
#[cfg(test)]
mod kept_tests;
mod lock;
mod metrics;
mod outbox;
mod own_host;
mod path;
mod rules;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path as FilePath, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;
use weir_alarm::{Hook, MetricsServer};
use weir_measure::Stop;
use weir_net::clock;
use weir_net::host::HostFacts;
use weir_results::{NewRun, Outcome, RunId, Store, StoreError};
use weir_units::count_of;

use crate::config::Config;
use crate::event::{Event, State, What};
use crate::plan::Plan;
use crate::schedule::{Kind, Schedule, Start, Task};
use executor::{Done, Executor};
use exports::Exports;
use host_alarm::HostAlarm;
use keeper::Keeper;
use lock::StoreLock;
use outbox::Outbox;
use own_host::OwnHost;
use path::Path;

/// How often cells are stored.
const FLUSH_NS: u64 = 500_000_000;
/// Nothing has been answered for so long, and for three windows: unreachable.
const SILENT_NS: u64 = 15_000_000_000;
/// Longest sleep: how soon signals are seen.
const NAP: Duration = Duration::from_millis(100);
/// How long tests are waited for at the end.
const PATIENCE_NS: u64 = 20_000_000_000;

/// Why a watcher cannot start.
#[derive(Debug, Error)]
pub enum WatchError {
    /// The store cannot be opened or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another watcher has the store.
    #[error("{} is in use by another watcher ({holder}); stop that one, or choose another store with --db", db.display())]
    Locked {
        /// The store.
        db: PathBuf,
        /// Who has it.
        holder: String,
    },
    /// The file of the lock cannot be used.
    #[error("cannot lock {}: {error}", path.display())]
    Lock {
        /// Beside the store.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// Metrics cannot be served.
    #[error("cannot serve metrics at {0}: {1}; choose another address with --metrics")]
    Metrics(SocketAddr, std::io::Error),
}

/// What a watcher is given.
pub struct Watcher<'a> {
    /// The configuration to begin with, and its plan.
    pub config: Config,
    /// Of that configuration.
    pub plan: Plan,
    /// The results store.
    pub db: &'a FilePath,
    /// Token for agents whose host has no `token-file`, as the environment has it; checked when it is used.
    pub token: weir_wire::Token,
    /// Version of the Weir that measures.
    pub version: &'a str,
    /// Where events go besides `report`.
    pub hooks: Vec<Hook>,
    /// Where alarms go in the form of Alertmanager.
    pub alertmanagers: Vec<Hook>,
    /// Where metrics go as OTLP.
    pub otlp: Vec<Hook>,
    /// Where metrics are served.
    pub metrics: Option<SocketAddr>,
    /// Takes the address at which they are served.
    pub serving: &'a dyn Fn(SocketAddr),
    /// Reads the configuration again.
    pub read_again: &'a dyn Fn() -> Result<(Config, Plan), String>,
    /// Set when it is to be read again.
    pub reload: &'a AtomicBool,
    /// Takes events.
    pub report: &'a dyn Fn(&Event),
}

/// A test that ended.
struct Ended {
    /// The configuration that it was started for.
    generation: u64,
    task: Task,
    done: Done,
}

struct Running<'a> {
    watcher: &'a mut Watcher<'a>,
    store: Store,
    run: RunId,
    keeper: Keeper,
    schedule: Schedule,
    paths: Vec<Path>,
    /// Number of the configuration.
    generation: u64,
    /// Each with the time by which it is to be over, monotonic nanoseconds: no step of the clock ends it.
    tests: BTreeMap<Task, (Stop, u64)>,
    ended: (Sender<Ended>, Receiver<Ended>),
    outbox: Outbox,
    metrics: Option<MetricsServer>,
    exports: Exports,
    own_host: OwnHost,
    host_alarm: HostAlarm,
    next_flush_ns: u64,
}

#[derive(Serialize)]
struct Parameters<'a> {
    here: &'a str,
    /// Of hosts whose zone the file says.
    zones: BTreeMap<&'a str, &'a str>,
    pairs: Vec<(&'a str, &'a str)>,
    plan: &'a Plan,
}

/// Watches until it is stopped.
///
/// # Errors
/// When the store cannot be opened, or the end of the run cannot be stored.
pub fn run<'a>(watcher: &'a mut Watcher<'a>, stop: &Stop) -> Result<(), WatchError> {
    let local = HostFacts::read(None);
    let _lock = StoreLock::take(watcher.db, &local.name)?;
    let store = Store::open(watcher.db)?;
    let outbox = Outbox::start(&watcher.hooks, &watcher.alertmanagers).map_err(WatchError::Thread)?;
    let exports = Exports::start(&watcher.otlp, clock::unix_ns()).map_err(WatchError::Thread)?;
    let metrics = watcher
        .metrics
        .map(|address| MetricsServer::start(address).map_err(|error| WatchError::Metrics(address, error)));
    let metrics = metrics.transpose()?;
    if let Some(server) = &metrics {
        (watcher.serving)(server.address());
    }
    let run = store.begin_run(&new_run(watcher, &local))?;
    let now_ns = clock::unix_ns();
    let mut running = Running {
        schedule: Schedule::new(&watcher.config, &watcher.plan, now_ns),
        paths: Vec::new(),
        keeper: Keeper::default(),
        generation: 0,
        tests: BTreeMap::new(),
        ended: channel(),
        outbox,
        metrics,
        exports,
        own_host: OwnHost::start().map_err(WatchError::Thread)?,
        host_alarm: HostAlarm::default(),
        next_flush_ns: 0,
        watcher,
        store,
        run,
    };
    running.open_paths(now_ns)?;
    running.until(stop);
    running.end_tests();
    running.flush(clock::unix_ns());
    let ended = running.store.end_run(
        run,
        Outcome::Finished,
        None,
        clock::unix_ns(),
        &serde_json::Value::Null,
    );
    Ok(ended?)
}

fn new_run(watcher: &Watcher<'_>, local: &HostFacts) -> NewRun {
    let config = &watcher.config;
    let name = |host: usize| config.hosts[host].name.as_str();
    let own: Vec<_> = config
        .own_pairs()
        .map(|(_, pair)| (name(pair.from), name(pair.to)))
        .collect();
    let parameters = Parameters {
        here: config.here_name(),
        zones: config.zones(),
        plan: &watcher.plan,
        pairs: own,
    };
    NewRun {
        kind: "watch".to_owned(),
        target: parameters
            .pairs
            .iter()
            .map(|pair| pair.1)
            .collect::<Vec<_>>()
            .join(", "),
        // Plain data always serialises; null would leave the column empty.
        parameters: serde_json::to_value(&parameters).unwrap_or_default(),
        local_host: serde_json::to_value(local).unwrap_or_default(),
        started_unix_ns: clock::unix_ns(),
        weir_version: watcher.version.to_owned(),
        ..NewRun::default()
    }
}

impl Running<'_> {
    fn until(&mut self, stop: &Stop) {
        while !stop.is_set() {
            if self.watcher.reload.swap(false, Ordering::Relaxed) {
                self.read_again();
            }
            let (now_ns, monotonic_ns) = (clock::unix_ns(), clock::monotonic_ns());
            for start in self.schedule.wake(now_ns) {
                self.start(start);
            }
            for (task, (end, until_ns)) in &self.tests {
                // RTT tests end by themselves and then wait for their last packets; the time of others belongs to the next.
                let patience_ns = if task.kind == Kind::Rtt { PATIENCE_NS } else { 0 };
                if monotonic_ns > until_ns.saturating_add(patience_ns) {
                    end.set();
                }
            }
            if now_ns >= self.next_flush_ns || self.next_flush_ns > now_ns + FLUSH_NS {
                self.next_flush_ns = now_ns + FLUSH_NS;
                self.flush(now_ns);
            }
            let wait_ns = self
                .schedule
                .next_wake()
                .unwrap_or(u64::MAX)
                .saturating_sub(now_ns);
            let wait = Duration::from_nanos(wait_ns).min(NAP);
            if let Ok(ended) = self.ended.1.recv_timeout(wait) {
                self.take(ended);
            }
        }
    }

    /// Opens the paths of this watcher's pairs; those that were open stay.
    fn open_paths(&mut self, now_ns: u64) -> Result<(), StoreError> {
        let config = &self.watcher.config;
        let mut before = std::mem::take(&mut self.paths);
        let mut news = Vec::new();
        for (pair, hosts) in config.own_pairs() {
            let names = (&config.hosts[hosts.from].name, &config.hosts[hosts.to].name);
            let known = before.iter().position(|path| path.is_between(names));
            let path = match known {
                Some(place) => before
                    .swap_remove(place)
                    .of_pair(&self.store, config, (pair, hosts))?,
                None => Path::open(&self.store, config, (pair, hosts), now_ns)?,
            };
            for event in path.standing(&self.store, config, now_ns)? {
                self.outbox.stands(&event);
            }
            news.extend(path.unreported(&self.store, now_ns)?);
            self.paths.push(path);
        }
        news.into_iter().for_each(|event| self.report(event));
        Ok(())
    }

    fn start(&mut self, Start { task, until_ns }: Start) {
        let Some(path) = self.paths.iter_mut().find(|path| path.pair == task.pair) else {
            return;
        };
        let now_ns = clock::unix_ns();
        let searches_mtu = path.starts_search(now_ns, task, self.watcher.config.flows);
        let of_path = (path.gather.clone(), searches_mtu);
        let stop = Stop::default();
        let left_ns = until_ns.saturating_sub(now_ns);
        let over_ns = clock::monotonic_ns().saturating_add(left_ns);
        self.tests.insert(task, (stop.clone(), over_ns));
        let executor = Executor::new(self.watcher, task, until_ns, self.run, of_path, stop);
        let (ended, generation) = (self.ended.0.clone(), self.generation);
        let spawned = std::thread::Builder::new()
            .name("watch-test".into())
            .spawn(move || {
                let done = executor.run();
                // Nobody listens any more when the watcher has ended.
                let _ = ended.send(Ended {
                    generation,
                    task,
                    done,
                });
            });
        if let Err(error) = spawned {
            let done = Done::failed(format!("cannot start a thread: {error}"));
            let _ = self.ended.0.send(Ended {
                generation,
                task,
                done,
            });
        }
    }

    fn take(&mut self, ended: Ended) {
        let Ended {
            generation,
            task,
            done,
        } = ended;
        if generation != self.generation {
            // It hung when the configuration was read again, and has been given up.
            return;
        }
        let now_ns = clock::unix_ns();
        self.tests.remove(&task);
        self.schedule.ended(now_ns, task, done.failure.is_some());
        let Some(path) = self.paths.iter_mut().find(|path| path.pair == task.pair) else {
            return;
        };
        let names = path.names();
        if let Some(reason) = &done.failure {
            tracing::debug!(from = names.0, to = names.1, kind = ?task.kind, reason, "a test failed");
        }
        let mut events = Vec::new();
        if task.kind == Kind::Rtt {
            path.last_failure = done.failure.or(path.last_failure.take());
        } else {
            let detail = done.detail(task.kind, names);
            events.push(Event::of_path(now_ns, What::Test, State::Happened, names, detail));
            let every_ns = self.watcher.config.flows.map_or(0, |flows| flows.every_ns);
            let (found, counts) = path.take_flows(&self.store, (now_ns, every_ns), &done);
            events.extend(found);
            self.keeper.count(path.id, counts);
            events.extend(path.observe_path_mtu(now_ns, &done));
            let changes = path.take_tested(now_ns, &done);
            events.extend(
                changes
                    .iter()
                    .map(|change| Event::of_change(path.names(), change)),
            );
            self.keeper.change(path.id, changes);
        }
        for mut event in events {
            event.run_id = done.run.map(|run| run.0);
            self.report(event);
        }
        if done.run.is_some() {
            // What was reported of a test is not found and reported again after a kill.
            let here = self.watcher.config.here_name().to_owned();
            self.keeper.store(&self.store, &here, now_ns);
        }
    }

    /// Stores an event if it is an alarm or a test of a path, and lets it out.
    fn report(&mut self, mut event: Event) {
        event.silenced = self
            .watcher
            .config
            .silenced((&event.from, &event.to), event.unix_ns);
        let is_its = |path: &&Path| path.names() == (event.from.as_str(), event.to.as_str());
        let is_test = event.event == What::Test && event.run_id.is_some();
        if event.state != State::Happened || is_test {
            event.run_id = event.run_id.or(Some(self.run.0));
            if let Some(path) = self.paths.iter().find(is_its) {
                self.keeper.keep(path.id, &event);
            }
        }
        (self.watcher.report)(&event);
        self.outbox.take(&event);
    }

    /// Stores cells, and looks for changes in the minutes that are complete.
    fn flush(&mut self, now_ns: u64) {
        // A watcher without tests that are stored has no other heartbeat.
        let beat = self.store.heartbeat(self.run);
        self.keeper.note(now_ns, beat.err());
        let mut events = self.exclude(now_ns);
        for path in &mut self.paths {
            self.keeper.gather(&self.store, path, now_ns);
        }
        let here = self.watcher.config.here_name().to_owned();
        self.keeper.store(&self.store, &here, now_ns);
        let rtt = &self.watcher.config.rtt;
        let silent_ns = SILENT_NS.max(3 * rtt.interval_ns + rtt.timeout_ns);
        for path in &mut self.paths {
            let (observed, counts) = path.observe(now_ns, silent_ns);
            self.keeper.count(path.id, counts);
            events.extend(observed);
            events.extend(self.keeper.roll_up(&self.store, path, now_ns));
        }
        let config = &self.watcher.config;
        self.keeper.tidy(&self.store, &self.paths, &config.keep, now_ns);
        let is_silenced = |event: &Event| config.silenced((&event.from, &event.to), now_ns).is_some();
        self.outbox.wake(now_ns, is_silenced);
        events.extend(self.keeper.turns().into_iter().map(|event| Event {
            from: here.clone(),
            ..event
        }));
        events.into_iter().for_each(|event| self.report(event));
        if let Some(server) = &self.metrics {
            server.show(metrics::page(&self.paths).text());
        }
        let config = &self.watcher.config;
        if self.exports.is_due(now_ns) {
            let page = metrics::page(&self.paths);
            self.exports
                .send(&page, config.here_name(), self.watcher.version, now_ns);
        }
    }

    /// Takes what disturbed this host; an event if its clock was set, an alarm if there is much.
    fn exclude(&mut self, now_ns: u64) -> Vec<Event> {
        let here = self.watcher.config.here_name();
        let mut events = Vec::new();
        for disturbed in self.own_host.take() {
            events.extend(host_alarm::clock_was_set(now_ns, here, disturbed));
            if disturbed.breaks_silence() {
                self.paths.iter_mut().for_each(|path| path.disturbed(now_ns));
            }
            self.host_alarm.add(disturbed);
            self.keeper.exclude(disturbed.seconds());
        }
        events.extend(self.host_alarm.observe(now_ns, here));
        events
    }

    fn end_tests(&mut self) {
        self.tests.values().for_each(|(stop, _)| stop.set());
        let deadline_ns = clock::monotonic_ns() + PATIENCE_NS;
        while !self.tests.is_empty() && clock::monotonic_ns() < deadline_ns {
            if let Ok(ended) = self.ended.1.recv_timeout(NAP) {
                self.take(ended);
            }
        }
    }

    fn read_again(&mut self) {
        let read = (self.watcher.read_again)();
        let detail = match read {
            Err(reason) => format!("the configuration is refused, and the one before stays: {reason}"),
            Ok((config, plan)) => {
                self.end_tests();
                self.tests.clear();
                self.generation += 1;
                // Of the paths that are in the new one no more, too.
                self.flush(clock::unix_ns());
                // What was raised just now is to be known as reported.
                let here = self.watcher.config.here_name().to_owned();
                self.keeper.store(&self.store, &here, clock::unix_ns());
                (self.watcher.config, self.watcher.plan) = (config, plan);
                let now_ns = clock::unix_ns();
                self.schedule = Schedule::new(&self.watcher.config, &self.watcher.plan, now_ns);
                // Labels may be others now: what stands is posted anew.
                self.outbox.forget();
                let opened = self.open_paths(now_ns);
                self.keeper.note(now_ns, opened.err());
                let pairs = count_of(self.paths.len() as u64, "pair");
                format!("the configuration was read again: {pairs}")
            }
        };
        let event = Event::of_path(
            clock::unix_ns(),
            What::Configuration,
            State::Happened,
            ("", ""),
            detail,
        );
        self.report(event);
    }
}

/// The path of the store, for the threads of tests.
fn owned(path: &FilePath) -> PathBuf {
    path.to_path_buf()
}
