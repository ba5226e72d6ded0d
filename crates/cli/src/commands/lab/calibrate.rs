//! `weir lab calibrate`: the highest rate that this host emulates, sends and receives with headroom.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::args::{GlobalOptions, LabCalibrateArgs};
use crate::units::format_rate;
use signal_hook::consts::SIGTERM;
use weir_control::Family;
use weir_lab::calibrate::{Calibration, RATES, Trial, calibrate};
use weir_lab::{FAR_IPV4, Host, Lab};
use weir_link::LinkSpec;
use weir_measure::flows::{self, FlowsPlan, FlowsSummary, HostLimit};
use weir_measure::{AgentAddress, MeasureError, Session, Sink, Stop, VideoFormat};
use weir_net::confine::show_own_processes;
use weir_results::Record;
use weir_units::{FrameRate, Rate};
use weir_wire::Token;

use super::run::{SERVER_PATIENCE, new_token, start_agent};
use super::{Failure, spec, supervise};
use crate::commands::output::{print, say};

/// No trial begins after this, so that all of it takes 5 s at most.
const PATIENCE: Duration = Duration::from_millis(4_000);
/// Time of a trial's packets.
const TRIAL_NS: u64 = 600_000_000;
/// Exit status of a command that Ctrl-C ended before it had a result, as shells give it.
const INTERRUPTED: u8 = 130;
/// The shortest payload of a survey, which takes the most packets.
const PAYLOAD: u32 = 1200;

/// Finds the rate and prints it.
pub fn run(args: &LabCalibrateArgs, global: &GlobalOptions) -> Result<ExitCode, Failure> {
    let spec = spec(&args.link)?;
    if !supervise::is_inside() {
        return supervise::run_inside();
    }
    // Only programs that look at other processes would notice.
    let _ = show_own_processes();
    let stop = crate::commands::signals::stop_on_signals()?;
    let begun = Instant::now();
    let goes_on = || !stop.is_set() && begun.elapsed() < PATIENCE;
    let found = calibrate(&RATES, args.max_lateness.0, goes_on, |rate| {
        trial(&spec, rate, &stop)
    })?;
    if stop.is_set() {
        say("weir: interrupted: the calibration has no result");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if global.json {
        print(&format!("{}\n", serde_json::json!(found)))?;
    } else {
        if !global.quiet {
            say(&sentence(&found, args.max_lateness.0));
        }
        print(&format!("{}Mbit/s\n", found.rate / 1_000_000))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn sentence(found: &Calibration, max_lateness_ns: u64) -> String {
    let rate = format_rate(found.rate);
    let refused = found.trials.iter().rev().find_map(|trial| {
        let why = trial.refusal(max_lateness_ns)?;
        Some(format!("at {}, {why}", format_rate(trial.rate)))
    });
    let because = refused.map(|why| format!(" ({why})")).unwrap_or_default();
    if found.headroom {
        format!("This machine emulates, sends and receives {rate} with headroom{because}.")
    } else {
        format!(
            "This machine is too busy to leave headroom at any rate tried{because}; {rate} is the lowest."
        )
    }
}

/// A flow test across the link, on hosts made for it.
fn trial(spec: &LinkSpec, rate: u64, stop: &Stop) -> Result<Trial, Failure> {
    let token = new_token()?;
    let lab = Lab::start(spec)?;
    let mut agent = start_agent(&lab, &token)?;
    let plan = FlowsPlan {
        format: VideoFormat::of_rate(Rate(rate), FrameRate::NTSC_60),
        length: PAYLOAD,
        duration_ns: TRIAL_NS,
        ..FlowsPlan::default()
    };
    let measured = lab
        .on(Host::Near, || measure(&plan, token.as_bytes(), stop))
        .map_err(|error| Failure::environment(format!("cannot enter the near host: {error}")))?;
    agent.signal(SIGTERM);
    // One that does not end by then is killed when it is dropped.
    let _ = agent.wait_for(SERVER_PATIENCE);
    let (_, account) = lab.stop()?;
    let directions = [&account.forward, &account.reverse];
    let summary = measured?;
    let limit = summary.forward.as_ref().and_then(|forward| forward.host_limit());
    Ok(Trial {
        rate,
        link_p99_ns: directions
            .map(|way| way.lateness.p99)
            .into_iter()
            .max()
            .unwrap_or(0),
        link_lost: directions.map(|way| way.own_losses.total()).iter().sum(),
        host_limit: limit.as_ref().map(HostLimit::to_string),
    })
}

fn measure(plan: &FlowsPlan, token: &[u8], stop: &Stop) -> Result<FlowsSummary, MeasureError> {
    let mut session = Session::connect(&AgentAddress {
        host: FAR_IPV4.to_string(),
        family: Family::V4,
        token: Token::new(token.to_vec()),
    })?;
    flows::run(&mut session, plan, u64::MAX, &Forgotten, stop)
}

/// A calibration keeps no records.
struct Forgotten;

impl Sink for Forgotten {
    fn record(&self, _: Record) {}
}
