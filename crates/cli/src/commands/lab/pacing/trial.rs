//! One trial: a fresh lab, servers on its far host, a viewer and neighbours on its near host, and their results.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use signal_hook::consts::SIGCHLD;
use weir_lab::pacing::{
    Case, Figures, NeighbourKind, Scenario, SegmentLine, TcpReading, Variant, add_beside_media,
    add_neighbour, media_figures,
};
use weir_lab::{Fitness, Host, Lab, QueueSecond};
use weir_link::realtime::Way;
use weir_measure::Sink;
use weir_net::clock::unix_ns;
use weir_net::diagnosis::TcpDiagnosis;
use weir_net::signals::Signals;
use weir_net::tcp::CongestionControl;

use super::program::{Program, weir};
use super::report::TrialFigures;
use super::servers;
use crate::commands::Failure;
use crate::commands::run_store::OpenRun;

/// Sampling interval of the media connection in the kernel.
const SAMPLE_NS: u64 = 100_000_000;
/// Lead time between the launch of neighbours and their start, so that they are connected by then.
const LEAD_NS: u64 = 1_500_000_000;
/// Time that the viewer continues after the measured interval.
const TAIL_NS: u64 = 1_000_000_000;
/// Maximum time until programs end after their duration.
const PATIENCE_NS: u64 = 30_000_000_000;
/// Maximum size of the viewer's segment log, in bytes.
const MOST_LOG: u64 = 64 << 20;

/// Common to all trials.
pub struct Setting<'a> {
    pub folder: &'a Path,
    pub signals: &'a Signals,
    pub kept: &'a OpenRun<'a>,
    pub max_lateness_ns: u64,
}

/// The trial to run.
pub struct Trial<'a> {
    pub scenario: &'a Scenario,
    pub case: &'a Case,
    pub congestion: CongestionControl,
    /// None: the neighbours alone.
    pub variant: Option<&'a Variant>,
    pub repeat: u32,
}

impl Trial<'_> {
    /// Its name in results.
    pub fn variant_name(&self) -> Option<&str> {
        self.variant.map(|variant| variant.name.as_str())
    }

    /// Warm-up of the viewer before the measured interval; neighbours alone need none.
    fn warm_up_ns(&self) -> u64 {
        self.variant
            .map_or(LEAD_NS, |_| self.scenario.warm_up.0.max(LEAD_NS))
    }
}

impl fmt::Display for Trial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variant = self.variant_name().unwrap_or("neighbours alone");
        write!(f, "{}, {}, {variant}", self.case.name, self.congestion.name())
    }
}

/// Outcome of a trial.
pub enum Outcome {
    Measured(Box<TrialFigures>),
    /// The result is invalid, for this reason.
    Unfit(String),
    Interrupted,
}

/// Programs of a trial.
struct Running<'a> {
    setting: &'a Setting<'a>,
    lab: Lab,
    diagnosis: Option<TcpDiagnosis>,
    readings: Vec<TcpReading>,
    next_sample_ns: u64,
}

/// Runs a trial.
pub fn carry_out(setting: &Setting<'_>, trial: &Trial<'_>) -> Result<Outcome, Failure> {
    let lab = Lab::start(&trial.scenario.link)?;
    set_up_kernel(&lab, trial)?;
    let running_servers = servers::start(&lab, setting.folder, trial.variant, trial.case)?;
    // Without the kernel's answers, only the figures of the connection are missing.
    let diagnosis = lab.on(Host::Far, TcpDiagnosis::open).ok().and_then(Result::ok);
    let mut running = Running {
        setting,
        lab,
        diagnosis,
        readings: Vec::new(),
        next_sample_ns: 0,
    };
    let log = setting.folder.join("segments.jsonl");
    // That of the previous trial.
    let _ = fs::remove_file(&log);
    let began_ns = unix_ns();
    let start_ns = began_ns + trial.warm_up_ns();
    let within = start_ns..start_ns + trial.scenario.duration.0;
    let mut clients = Vec::new();
    if let Some(variant) = trial.variant {
        let whole = within.end - began_ns + TAIL_NS;
        clients.push(start_viewer(
            &running.lab,
            setting.folder,
            trial,
            variant,
            whole,
            &log,
        )?);
    }
    if !running.wait_until(start_ns.saturating_sub(LEAD_NS))? {
        return Ok(Outcome::Interrupted);
    }
    for neighbour in &trial.case.neighbours {
        clients.push(start_neighbour(
            &running.lab,
            setting.folder,
            trial,
            &neighbour.name,
            &neighbour.kind,
            start_ns,
        )?);
    }
    let mut told = Vec::new();
    for mut client in clients {
        match running.wait_for(&mut client, within.end + PATIENCE_NS)? {
            Some(Ok(value)) => told.push((client.what().to_owned(), value)),
            Some(Err(why)) => return Ok(Outcome::Unfit(why)),
            None => return Ok(Outcome::Interrupted),
        }
    }
    running_servers.into_iter().for_each(Program::end);
    running.finish(trial, &within, &told, &log)
}

fn set_up_kernel(lab: &Lab, trial: &Trial<'_>) -> Result<(), Failure> {
    let name = trial.congestion.name();
    lab.set_congestion_control(Host::Far, name).map_err(|error| {
        Failure::environment(format!(
            "cannot set the congestion control {name}: {error}; try 'modprobe tcp_{name}' as root, or another \
             --congestion"
        ))
    })?;
    let Some(burst) = trial.variant.and_then(|variant| variant.burst) else {
        return Ok(());
    };
    lab.set(Host::Far, "ipv4/tcp_min_tso_segs", &burst.to_string())
        .map_err(|error| Failure::environment(format!("cannot limit bursts to {burst} packets: {error}")))
}

/// A time as an argument.
fn time(ns: u64) -> String {
    format!("{ns}ns")
}

const VIEWER: &str = "media";

fn start_viewer(
    lab: &Lab,
    folder: &Path,
    trial: &Trial<'_>,
    variant: &Variant,
    whole_ns: u64,
    log: &Path,
) -> Result<Program, Failure> {
    let mut command = load(folder, VIEWER, trial, &servers::media_url(), whole_ns)?;
    // Both variants send CMCD, so that only the pace differs.
    command.args(["--cmcd", "2", "--pace", &variant.pace.to_string()]);
    command.arg("--segment-log").arg(log);
    Program::start(lab, Host::Near, VIEWER, command)
}

/// A viewer of the scenario's title.
fn load(
    folder: &Path,
    name: &str,
    trial: &Trial<'_>,
    url: &str,
    whole_ns: u64,
) -> Result<std::process::Command, Failure> {
    let player = &trial.scenario.player;
    let mut command = weir(&[
        "load",
        url,
        "--play",
        "real-time",
        "--rung",
        "abr",
        "--json",
        "--quiet",
    ])?;
    command.args([
        "--abr",
        &player.abr.to_string(),
        "--buffer",
        &time(player.buffer.0),
        "--for",
        &time(whole_ns),
    ]);
    // A separate database: the results that matter are in the lab's run.
    command.arg("--db").arg(folder.join(format!("{name}.db")));
    Ok(command)
}

fn start_neighbour(
    lab: &Lab,
    folder: &Path,
    trial: &Trial<'_>,
    name: &str,
    kind: &NeighbourKind,
    start_ns: u64,
) -> Result<Program, Failure> {
    let duration = trial.scenario.duration.0;
    let command = match kind {
        NeighbourKind::Video { session } => {
            let mut command = load(folder, name, trial, &servers::video_url(), duration + LEAD_NS)?;
            // A pause, so that each session has its own connection.
            command.args(["--session", &time(session.0), "--think", "500ms"]);
            command
        }
        NeighbourKind::Traffic { kind, options } => {
            let address = servers::neighbour_address();
            let mut command = weir(&["lab", "neighbour", kind, &address, "--json", "--quiet"])?;
            command.args(options);
            command.args(["--for", &time(duration), "--start-at", &start_ns.to_string()]);
            command.arg("--db").arg(folder.join(format!("{name}.db")));
            command
        }
    };
    Program::start(lab, Host::Near, name, command)
}

impl Running<'_> {
    /// Runs the trial until then; false if a stop was requested.
    fn wait_until(&mut self, until_ns: u64) -> Result<bool, Failure> {
        while unix_ns() < until_ns {
            if !self.follow()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the trial until a program has ended, and returns its output, or why that is not valid; none if a stop was
    /// requested.
    fn wait_for(
        &mut self,
        program: &mut Program,
        until_ns: u64,
    ) -> Result<Option<Result<Value, String>>, Failure> {
        let status = loop {
            if let Some(status) = program.ended()? {
                break status;
            }
            if unix_ns() >= until_ns {
                return Ok(Some(Err(format!("{} did not end in time", program.what()))));
            }
            if !self.follow()? {
                return Ok(None);
            }
        };
        let output = program.output();
        Ok(Some(match serde_json::from_str(output.trim()) {
            Ok(value) if status.success() => Ok(value),
            _ => Err(format!("{} ended with {status}", program.what())),
        }))
    }

    /// Waits a moment, takes a sample when due, and stores the link's records; false if a stop was requested.
    fn follow(&mut self) -> Result<bool, Failure> {
        const TICK_MS: u32 = 20;
        if let Some(signal) = self.setting.signals.wait(TICK_MS)
            && signal.number != SIGCHLD
        {
            return Ok(false);
        }
        let now = unix_ns();
        if now >= self.next_sample_ns {
            self.next_sample_ns = now + SAMPLE_NS;
            self.sample(now);
        }
        for row in self.lab.progress()? {
            self.setting.kept.record(row);
        }
        Ok(true)
    }

    fn sample(&mut self, unix_ns: u64) {
        let Some(diagnosis) = &mut self.diagnosis else {
            return;
        };
        // A sample that fails is skipped.
        let connections = diagnosis.connections(servers::MEDIA_PORT).unwrap_or_default();
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

    /// Removes the lab and summarises the trial.
    fn finish(
        mut self,
        trial: &Trial<'_>,
        within: &Range<u64>,
        told: &[(String, Value)],
        log: &Path,
    ) -> Result<Outcome, Failure> {
        for row in self.lab.progress()? {
            self.setting.kept.record(row);
        }
        let towards_viewer = |second: &&QueueSecond| second.direction == Way::Reverse;
        let queue: Vec<QueueSecond> = self.lab.queues().iter().filter(towards_viewer).copied().collect();
        let (rows, account) = self.lab.stop()?;
        for row in rows {
            self.setting.kept.record(row);
        }
        if let Fitness::Unfit(why) = account.fitness(self.setting.max_lateness_ns) {
            return Ok(Outcome::Unfit(why));
        }
        let segments = read_log(log, trial.variant.is_some())?;
        let mut figures = media_figures(within, &segments, &self.readings, &queue);
        if trial.variant.is_none() {
            figures.retain(|name, _| !name.starts_with("media."));
        }
        let mut distributions = Vec::new();
        for (name, value) in told {
            add(&mut figures, trial, name, value, &segments)?;
            if let Some(distribution) = value.get("distribution").filter(|found| !found.is_null()) {
                distributions.push((name.clone(), distribution.clone()));
            }
        }
        Ok(Outcome::Measured(Box::new(TrialFigures {
            started_unix_ns: within.start,
            duration_ns: within.end - within.start,
            figures,
            lateness_p99_ns: [account.forward.lateness.p99, account.reverse.lateness.p99],
            connection: self.readings,
            queue,
            distributions,
        })))
    }
}

/// Adds the results of a program to the figures.
fn add(
    figures: &mut Figures,
    trial: &Trial<'_>,
    name: &str,
    told: &Value,
    segments: &[SegmentLine],
) -> Result<(), Failure> {
    let is_video = trial
        .case
        .neighbours
        .iter()
        .any(|neighbour| neighbour.name == name && matches!(neighbour.kind, NeighbourKind::Video { .. }));
    match told.get("quality") {
        Some(quality) if name == VIEWER => {
            let mut put = |figure: &str, value: Option<&Value>| {
                if let Some(value) = value.and_then(Value::as_f64) {
                    figures.insert(format!("{VIEWER}.{figure}"), value);
                }
            };
            put("startup_ns", quality.pointer("/startup/p50"));
            for figure in ["stalls", "stalled_ns", "switches"] {
                put(figure, quality.get(figure));
            }
        }
        Some(quality) if is_video => add_neighbour(figures, name, quality),
        _ => {
            if let Some(told) = told.get("figures") {
                add_neighbour(figures, name, told);
            }
            add_beside_media(figures, name, told, segments).map_err(|error| {
                Failure::environment(format!("cannot read the output of '{name}': {error}"))
            })?;
        }
    }
    Ok(())
}

fn read_log(log: &Path, is_wanted: bool) -> Result<Vec<SegmentLine>, Failure> {
    if !is_wanted {
        return Ok(Vec::new());
    }
    let failed = |error: &dyn fmt::Display| {
        Failure::environment(format!("cannot read the viewer's segment log: {error}"))
    };
    let length = fs::metadata(log).map_err(|error| failed(&error))?.len();
    if length > MOST_LOG {
        return Err(failed(&"it is too long"));
    }
    let text = fs::read_to_string(log).map_err(|error| failed(&error))?;
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|error| failed(&error)))
        .collect()
}
