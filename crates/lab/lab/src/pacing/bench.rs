//! Trials on an emulated network of this host: servers on its far host, a viewer and neighbours on its near host, each on
//! threads of this process, and what they measured. It must not know the order of trials, nor what is made of their figures.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use weir_control::Stop;
use weir_link::realtime::Way;
use weir_load::engine::{self, Config, Second, SoFar, Watch, place};
use weir_load::measure::{LoadSummary, Segment};
use weir_load::schedule::Arrivals;
use weir_load::viewer::{Play, RealTime, RungChoice};
use weir_media::cmcd::Version;
use weir_neighbour::{Limits, Measured};
use weir_net::clock::unix_ns;
use weir_net::diagnosis::TcpDiagnosis;
use weir_net::signals::Signals;
use weir_origin::StorageLocation;
use weir_pacing::Pacing;
use weir_player::PacePolicy;
use weir_results::Record;

use super::beside::add_beside_media;
use super::figures::{Figures, TcpReading, add_neighbour, add_viewer, media_figures};
use super::media::MANIFEST;
use super::nginx::{MEDIA_PORT, Nginx};
use super::scenario::{Neighbour, NeighbourKind, Player, Server};
use super::trials::{Bench, Outcome, Trial, TrialError, TrialFigures};
use crate::account::Fitness;
use crate::hosts::{FAR_IPV4, Host, LabError};
use crate::lab::Lab;
use crate::waiting::QueueSecond;

const VIDEO_PORT: u16 = 8081;
const NEIGHBOUR_PORT: u16 = 8082;
/// Sampling interval of the media connection in the kernel.
const SAMPLE_NS: u64 = 100_000_000;
/// Lead time between the launch of neighbours and their start, so that they are connected by then.
const LEAD_NS: u64 = 1_500_000_000;
/// Time that the viewer continues after the measured interval.
const TAIL_NS: u64 = 1_000_000_000;
/// Maximum time until clients end after their duration.
const PATIENCE_NS: u64 = 30_000_000_000;
/// Maximum time until servers end.
const END_PATIENCE_NS: u64 = 3_000_000_000;
/// Pause of a second viewer, so that each session has its own connection.
const THINK: Duration = Duration::from_millis(500);
const TICK_MS: u32 = 20;

/// A bench whose trials each have a network of their own.
pub struct NetworkBench<'a> {
    /// The folder with the title.
    pub folder: &'a Path,
    /// Signals; each of them interrupts.
    pub signals: &'a Signals,
    /// Takes the link's rows.
    pub record: &'a dyn Fn(Record),
    /// Maximum P99 lateness of the link.
    pub max_lateness_ns: u64,
}

impl From<LabError> for TrialError {
    fn from(error: LabError) -> Self {
        TrialError(error.to_string())
    }
}

/// What a client measured.
enum Told {
    Viewer(LoadSummary),
    Neighbour(Measured),
}

/// Work of a client or server on its host, on a thread of its own.
type Work<T> = JoinHandle<io::Result<Result<T, String>>>;

/// Ends servers and clients when it is dropped.
struct Ending(Stop);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// A trial under way.
struct Running<'a> {
    bench: &'a NetworkBench<'a>,
    lab: Lab,
    stop: Ending,
    servers: Vec<Work<()>>,
    nginx: Option<Nginx>,
    clients: Vec<(String, Work<Told>)>,
    segments: Arc<Mutex<Vec<Segment>>>,
    diagnosis: Option<TcpDiagnosis>,
    readings: Vec<TcpReading>,
    next_sample_ns: u64,
}

impl Bench for NetworkBench<'_> {
    fn attempt(&mut self, trial: &Trial<'_>) -> Result<Outcome, TrialError> {
        let mut running = Running::start(self, trial)?;
        let began_ns = unix_ns();
        // Neighbours alone need no warm-up.
        let warm_up_ns = trial
            .variant
            .map_or(LEAD_NS, |_| trial.scenario.warm_up.0.max(LEAD_NS));
        let start_ns = began_ns + warm_up_ns;
        let within = start_ns..start_ns + trial.scenario.duration.0;
        if let Some(variant) = trial.variant {
            let config = viewer(
                MEDIA_PORT,
                &trial.scenario.player,
                within.end - began_ns + TAIL_NS,
            )?;
            running.load(VIEWER, with_pace(config, variant.pace))?;
        }
        if !running.wait_until(start_ns.saturating_sub(LEAD_NS))? {
            return Ok(Outcome::Interrupted);
        }
        for neighbour in &trial.case.neighbours {
            running.neighbour(neighbour, trial, start_ns)?;
        }
        let mut told = Vec::new();
        for (name, client) in std::mem::take(&mut running.clients) {
            match running.wait_for(client, within.end + PATIENCE_NS)? {
                Some(Ok(measured)) => told.push((name, measured)),
                Some(Err(why)) => return Ok(Outcome::Unfit(format!("{name}: {why}"))),
                None => return Ok(Outcome::Interrupted),
            }
        }
        running.finish(trial, &within, told)
    }
}

const VIEWER: &str = "media";

/// One viewer of the title for a time.
fn viewer(port: u16, player: &Player, duration_ns: u64) -> Result<Config, TrialError> {
    let url = format!("http://{FAR_IPV4}:{port}/{MANIFEST}");
    let title = place(&url).ok_or_else(|| TrialError(format!("{url} is not a URL")))?;
    let mut config = Config::new(vec![title], Play::RealTime, Arrivals::steady(1));
    config.duration = Some(Duration::from_nanos(duration_ns));
    config.behaviour.rung = RungChoice::Adaptive;
    config.behaviour.real_time = RealTime {
        abr: player.abr,
        max_buffer: Duration::from_nanos(player.buffer.0),
        ..RealTime::default()
    };
    Ok(config)
}

/// All variants send CMCD, so that only the pace differs.
fn with_pace(mut config: Config, pace: PacePolicy) -> Config {
    config.behaviour.real_time = RealTime {
        pace,
        cmcd: Some(Version::V2),
        tell_segments: true,
        ..config.behaviour.real_time
    };
    config
}

/// Keeps the segments of a viewer.
struct Keeping(Arc<Mutex<Vec<Segment>>>);

impl Watch for Keeping {
    fn second(&self, second: &Second, _: &SoFar) -> bool {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&second.segments);
        true
    }
}

impl<'a> Running<'a> {
    /// Makes the network, and starts the servers of a trial, which then listen.
    fn start(bench: &'a NetworkBench<'a>, trial: &Trial<'_>) -> Result<Self, TrialError> {
        let lab = Lab::start(&trial.scenario.link)?;
        set_up_kernel(&lab, trial)?;
        // Without the kernel's answers, only the figures of the connection are missing.
        let diagnosis = lab.on(Host::Far, TcpDiagnosis::open).ok().and_then(Result::ok);
        let mut running = Running {
            bench,
            lab,
            stop: Ending(Stop::default()),
            servers: Vec::new(),
            nginx: None,
            clients: Vec::new(),
            segments: Arc::default(),
            diagnosis,
            readings: Vec::new(),
            next_sample_ns: 0,
        };
        match trial.variant.map(|variant| (variant.server, &variant.origin)) {
            None => {}
            Some((Server::Weir, pacing)) => running.origin(MEDIA_PORT, pacing.clone())?,
            Some((Server::Nginx(limit), _)) => {
                running.nginx = Some(Nginx::start(&running.lab, bench.folder, limit)?);
            }
        }
        let is_video = |one: &Neighbour| matches!(one.kind, NeighbourKind::Video { .. });
        let neighbours = &trial.case.neighbours;
        if neighbours.iter().any(is_video) {
            running.origin(VIDEO_PORT, Pacing::default())?;
        }
        if !neighbours.iter().all(is_video) {
            running.neighbours()?;
        }
        Ok(running)
    }

    fn origin(&mut self, port: u16, pacing: Pacing) -> Result<(), TrialError> {
        let config = weir_origin::Config {
            files: true,
            pacing: Some(pacing),
            listen: SocketAddr::from((FAR_IPV4, port)),
            ..weir_origin::Config::new(StorageLocation::Folder(self.bench.folder.to_owned()))
        };
        let bound = self.lab.on(Host::Far, || weir_origin::Server::bind(&config));
        let server = settled("the origin", bound)?;
        let stop = self.stop.0.clone();
        self.serve("the origin", move || server.run(move || stop.is_set()))
    }

    fn neighbours(&mut self) -> Result<(), TrialError> {
        const WHAT: &str = "the neighbours' server";
        let address = SocketAddr::from((FAR_IPV4, NEIGHBOUR_PORT));
        let bind = || weir_neighbour::Server::bind(address, Limits::default());
        let server = settled(WHAT, self.lab.on(Host::Far, bind))?;
        let stop = self.stop.0.clone();
        self.serve(WHAT, move || server.run(&stop))
    }

    fn serve<E: fmt::Display>(
        &mut self,
        what: &str,
        work: impl FnOnce() -> Result<(), E> + Send + 'static,
    ) -> Result<(), TrialError> {
        let work = move || work().map_err(|error| error.to_string());
        let server = self.lab.start_on(Host::Far, work);
        self.servers.push(server.map_err(|error| cannot(what, &error))?);
        Ok(())
    }

    /// Starts a viewer.
    fn load(&mut self, name: &str, config: Config) -> Result<(), TrialError> {
        let (stop, keeping) = (self.stop.0.clone(), Keeping(self.segments.clone()));
        self.client(name, move || {
            let run = engine::run(&config, None, &|| stop.is_set(), &keeping);
            let summary = run.map_err(|error| error.to_string())?;
            match summary.all.requests > 0 && summary.all.failed == summary.all.requests {
                true => Err("every request failed".to_owned()),
                false => Ok(Told::Viewer(summary)),
            }
        })
    }

    fn neighbour(&mut self, one: &Neighbour, trial: &Trial<'_>, start_ns: u64) -> Result<(), TrialError> {
        let (scenario, duration_ns) = (trial.scenario, trial.scenario.duration.0);
        match one.kind {
            NeighbourKind::Video { session } => {
                let mut config = viewer(VIDEO_PORT, &scenario.player, duration_ns + LEAD_NS)?;
                config.behaviour.session = Some(Duration::from_nanos(session.0));
                config.behaviour.think = (THINK, THINK);
                self.load(&one.name, config)
            }
            NeighbourKind::Traffic(kind) => {
                let stop = self.stop.0.clone();
                self.client(&one.name, move || {
                    let to = format!("{FAR_IPV4}:{NEIGHBOUR_PORT}");
                    let measured = kind.measure(&to, duration_ns, Some(start_ns), &stop);
                    measured.map(Told::Neighbour).map_err(|error| error.to_string())
                })
            }
        }
    }

    fn client(
        &mut self,
        name: &str,
        work: impl FnOnce() -> Result<Told, String> + Send + 'static,
    ) -> Result<(), TrialError> {
        let client = self.lab.start_on(Host::Near, work);
        let client = client.map_err(|error| cannot(name, &error))?;
        self.clients.push((name.to_owned(), client));
        Ok(())
    }

    /// Runs the trial until then; false if a stop was requested.
    fn wait_until(&mut self, until_ns: u64) -> Result<bool, TrialError> {
        while unix_ns() < until_ns {
            if !self.follow()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the trial until a client has ended, and returns what it measured, or why that is not valid; none if a stop
    /// was requested.
    fn wait_for(
        &mut self,
        client: Work<Told>,
        until_ns: u64,
    ) -> Result<Option<Result<Told, String>>, TrialError> {
        while !client.is_finished() {
            if unix_ns() >= until_ns {
                return Ok(Some(Err("did not end in time".to_owned())));
            }
            if !self.follow()? {
                return Ok(None);
            }
        }
        Ok(Some(match client.join() {
            Ok(Ok(told)) => told,
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("its thread failed".to_owned()),
        }))
    }

    /// Waits a moment, takes a sample when due, and stores the link's records; false if a stop was requested.
    fn follow(&mut self) -> Result<bool, TrialError> {
        if self.bench.signals.wait(TICK_MS).is_some() {
            return Ok(false);
        }
        let now = unix_ns();
        if now >= self.next_sample_ns {
            self.next_sample_ns = now + SAMPLE_NS;
            self.sample(now);
        }
        self.lab.progress()?.into_iter().for_each(self.bench.record);
        Ok(true)
    }

    fn sample(&mut self, unix_ns: u64) {
        let Some(diagnosis) = &mut self.diagnosis else {
            return;
        };
        // A sample that fails is skipped.
        let connections = diagnosis.connections(MEDIA_PORT).unwrap_or_default();
        self.readings.extend(connections.iter().map(|seen| TcpReading {
            unix_ns,
            remote_port: seen.remote.port(),
            rtt_ns: seen.rtt_ns,
            cwnd_bytes: seen.cwnd_bytes,
            pacing_rate: seen.pacing_rate,
            sent_bytes: seen.sent_bytes,
            retransmitted_bytes: seen.retransmitted_bytes,
            acked_bytes: seen.acked_bytes,
        }));
    }

    /// Ends the servers, removes the network and summarises the trial.
    fn finish(
        mut self,
        trial: &Trial<'_>,
        within: &Range<u64>,
        told: Vec<(String, Told)>,
    ) -> Result<Outcome, TrialError> {
        self.stop.0.set();
        self.nginx = None;
        let until_ns = unix_ns() + END_PATIENCE_NS;
        while !self.servers.iter().all(JoinHandle::is_finished) && unix_ns() < until_ns {
            if !self.follow()? {
                return Ok(Outcome::Interrupted);
            }
        }
        self.lab.progress()?.into_iter().for_each(self.bench.record);
        let towards_viewer = |second: &&QueueSecond| second.direction == Way::Reverse;
        let queue: Vec<QueueSecond> = self.lab.queues().iter().filter(towards_viewer).copied().collect();
        let (rows, account) = self.lab.stop()?;
        rows.into_iter().for_each(self.bench.record);
        if let Fitness::Unfit(why) = account.fitness(self.bench.max_lateness_ns) {
            return Ok(Outcome::Unfit(why));
        }
        let segments = self.segments.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = self.readings;
        let mut figures = match trial.variant {
            Some(_) => media_figures(within, &segments, &connection, &queue),
            None => media_figures(within, &[], &[], &queue),
        };
        figures.retain(|name, _| trial.variant.is_some() || !name.starts_with("media."));
        let mut measured = TrialFigures {
            started_unix_ns: within.start,
            duration_ns: within.end - within.start,
            lateness_p99_ns: [account.forward.lateness.p99, account.reverse.lateness.p99],
            connection,
            queue,
            ..TrialFigures::default()
        };
        for (name, told) in told {
            add(&mut figures, &name, &told, &segments);
            if let Told::Neighbour(told) = &told
                && let Some(distribution) = told.distribution()
            {
                measured.distributions.insert(name, distribution.clone());
            }
        }
        measured.figures = figures;
        Ok(Outcome::Measured(Box::new(measured)))
    }
}

/// Adds what a client measured to the figures.
fn add(figures: &mut Figures, name: &str, told: &Told, segments: &[Segment]) {
    match told {
        Told::Viewer(LoadSummary { quality: None, .. }) => {}
        Told::Viewer(LoadSummary {
            quality: Some(quality),
            ..
        }) => match name {
            VIEWER => add_viewer(figures, name, quality),
            _ => add_neighbour(figures, name, quality),
        },
        Told::Neighbour(measured) => {
            match measured {
                Measured::Delay(report) => add_neighbour(figures, name, &report.figures),
                Measured::Game(report) => add_neighbour(figures, name, &report.figures),
                Measured::Bulk(report) => add_neighbour(figures, name, &report.figures),
                Measured::Http(report) => add_neighbour(figures, name, &report.figures),
            }
            add_beside_media(figures, name, measured, segments);
        }
    }
}

fn cannot(what: &str, why: &impl fmt::Display) -> TrialError {
    TrialError(format!("cannot start {what}: {why}"))
}

/// What came of work on a host.
fn settled<T, E: fmt::Display>(what: &str, done: io::Result<Result<T, E>>) -> Result<T, TrialError> {
    done.map_err(|error| cannot(what, &error))?
        .map_err(|error| cannot(what, &error))
}

fn set_up_kernel(lab: &Lab, trial: &Trial<'_>) -> Result<(), TrialError> {
    let name = trial.congestion.name();
    lab.set_congestion_control(Host::Far, name).map_err(|error| {
        TrialError(format!(
            "cannot set the congestion control {name}: {error}; try 'modprobe tcp_{name}' as root, or another \
             --congestion"
        ))
    })?;
    let Some(burst) = trial.variant.and_then(|variant| variant.burst) else {
        return Ok(());
    };
    lab.set(Host::Far, "ipv4/tcp_min_tso_segs", &burst.to_string())
        .map_err(|error| TrialError(format!("cannot limit bursts to {burst} packets: {error}")))
}
