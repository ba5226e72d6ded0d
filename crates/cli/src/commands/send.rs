//! `weir send`: frames in, packets out.

use crate::args::{FecChoice, GlobalOptions, Numbers, Pace, RunName, SendArgs};
use crate::units::format_duration;
use serde_json::{Value, json};
use weir_diagnose::{Options, Recovery};
use weir_fec::{Choice, CodeRate};
use weir_measure::Stop;
use weir_net::host::HostFacts;
use weir_protect::Protection;
use weir_stream::send::{self, FecPlan, Pacing, SendConfig, SendSummary};
use weir_stream::source::{Input, Numbering, SourceConfig};
use weir_stream_proto::BreakerLimits;
use weir_wire::MAX_FEEDBACK_FLOWS;

use super::output::say;
use super::result::StoredResult;
use super::run_store::{Ended, RunStore, Stored, find, json as stored, new_run};
use super::watching::Watching;
use super::{Failure, connect, diagnose, tables};

/// Maximum overhead of --fec auto, as a share of the source packets.
const MOST_OVERHEAD: f64 = 0.25;

/// Sends until the input ends, and reports.
pub fn run(args: &SendArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    source(args)?.check()?;
    let store = RunStore::open(&global.db)?;
    let advice = args
        .from_run
        .map(|run| Advice::of(&store, run, global))
        .transpose()?;
    let config = config(args, advice.unwrap_or_default())?;
    let local = HostFacts::read(None);
    let run = store.begin(
        &new_run("send", &target(args), &parameters(args, &config), &local),
        "send",
        true,
    )?;
    let id = run.id();
    let watching = Watching::new(&run, "send", global.quiet);
    let mut summary = SendSummary::default();
    let result = send::run(&config, &mut summary, stop, &watching);
    drop(watching);
    let end = Ended::of(&result, stop);
    let outcome = end.outcome();
    let kept = run.finish(&end, &stored(&summary));
    let notes = kept.as_ref().map(Stored::notes).unwrap_or_default();
    // Nothing has started; the error is the whole result.
    if summary.receivers == 0
        && let Err(error) = result
    {
        return Err(error.into());
    }
    let printed = StoredResult::new(&store, id, "send", outcome, &notes);
    printed.print(global.json, &summary, || tables::sent(&summary))?;
    kept?;
    Ok(result?)
}

/// Description of the input, for the list of runs.
fn target(args: &SendArgs) -> String {
    match &args.test_pattern {
        Some(_) => "test pattern".into(),
        None if args.input.as_os_str() == "-" => "standard input".into(),
        None => args.input.display().to_string(),
    }
}

/// The recommendation of a run's diagnosis.
#[derive(Clone, Copy, Debug, Default)]
struct Advice {
    flows: Option<u16>,
    length: Option<u32>,
    burst: Option<u32>,
    fec: Option<Choice>,
    arq: Option<bool>,
}

impl Advice {
    fn of(store: &RunStore, run: RunName, global: &GlobalOptions) -> Result<Self, Failure> {
        let run = find(store.store(), run)?;
        let diagnosis = diagnose::of_run(store.store(), run, &Options::default())?;
        let Some(advice) = diagnosis.recommendation else {
            return Err(Failure::usage(format!(
                "no recommendation from run {run}: it measured no flows; name a run of 'weir survey' or 'weir flows'"
            )));
        };
        let fec = match advice.recovery {
            Recovery::Fec {
                repair_packets,
                span_packets,
                ..
            } => CodeRate::of_block(span_packets, repair_packets),
            Recovery::None | Recovery::Arq { .. } => None,
        };
        if !global.quiet {
            say(&format!(
                "weir: run {run} recommends: {} The receiver has to wait {} ('weir recv --latency').",
                advice.sentence,
                format_duration(advice.latency_ns)
            ));
        }
        Ok(Advice {
            flows: Some(advice.flows.clamp(1, MAX_FEEDBACK_FLOWS as u16)),
            length: Some(advice.payload),
            burst: advice.burst,
            fec: fec.map(Choice::Packets),
            arq: Some(matches!(advice.recovery, Recovery::Arq { .. })),
        })
    }
}

fn config(args: &SendArgs, advice: Advice) -> Result<SendConfig, Failure> {
    let source = source(args)?;
    let pacing = match args.pace {
        Some(Pace::FrameRate) => Pacing::FrameRate,
        Some(Pace::Input) => Pacing::Input,
        None if source.is_live() => Pacing::Input,
        None => Pacing::FrameRate,
    };
    let fec = match (args.fec, advice.fec) {
        (Some(FecChoice::Off), _) | (None, None) => FecPlan::Off,
        (Some(FecChoice::Auto), _) => FecPlan::Adaptive(MOST_OVERHEAD),
        (Some(FecChoice::Fixed(choice)), _) | (None, Some(choice)) => FecPlan::Fixed(choice),
    };
    let token = connect::token(args.token_file.as_deref())?;
    Ok(SendConfig {
        source,
        pacing,
        listen: args.listen.clone(),
        port: args.port,
        media_port: args.media_port,
        source_ports: args.source_ports,
        demand: connect::demand(args.protect, &token)?,
        token,
        open: args.open,
        flows: args.flows.or(advice.flows).unwrap_or(8),
        threads: args.threads,
        length: args.length.or(advice.length),
        segments: args.burst.or(advice.burst),
        segmentation: !args.no_gso,
        fec,
        arq: !args.no_arq && advice.arq.unwrap_or(true),
        breaker: BreakerLimits {
            loss: args.most_loss.fraction(),
            ..BreakerLimits::default()
        },
        hooks: args.events.hooks(),
        metrics: args.events.metrics,
    })
}

fn source(args: &SendArgs) -> Result<SourceConfig, Failure> {
    let input = match &args.test_pattern {
        Some(format) => Input::Pattern(*format),
        None if args.input.as_os_str() == "-" => Input::Standard,
        None => Input::Path(args.input.clone()),
    };
    let rate = args
        .test_pattern
        .or(args.format)
        .map(|format| format.frame_rate());
    let most_frames = match (args.duration, rate) {
        (None, _) => args.frames,
        (Some(time), Some(rate)) => {
            let frames = u128::from(time.0) * u128::from(rate.numerator)
                / (u128::from(rate.denominator) * 1_000_000_000);
            Some(u64::try_from(frames).unwrap_or(u64::MAX).max(1))
        }
        (Some(_), None) => {
            return Err(Failure::usage(
                "--for needs --format or --test-pattern; use --frames for Y4M",
            ));
        }
    };
    Ok(SourceConfig {
        input,
        format: args.format,
        packing: args.packing,
        numbering: match args.numbers {
            Numbers::Count => Numbering::Count,
            Numbers::Clock => Numbering::Clock,
        },
        most_frames,
    })
}

fn parameters(args: &SendArgs, config: &SendConfig) -> Value {
    let mut parameters = json!({
        "input": target(args),
        "format": args.test_pattern.or(args.format).map(|format| format.to_string()),
        "packing": args.packing.map(|packing| packing.name()),
        "pace": config.pacing,
        "flows": config.flows,
        "threads": config.threads.to_string(),
        "length": config.length,
        "fec": match &config.fec {
            FecPlan::Off => "off".to_owned(),
            FecPlan::Fixed(choice) => choice.to_string(),
            FecPlan::Adaptive(_) => "auto".to_owned(),
        },
        "arq": config.arq,
        "protect": args.protect.map(Protection::name),
        "source_ports": config.source_ports,
        "gso": config.segmentation,
    });
    if let Some(all) = parameters.as_object_mut() {
        all.extend(args.events.parameters());
    }
    parameters
}
