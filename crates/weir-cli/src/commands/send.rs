//! `weir send`: frames in, packets out.

use serde_json::{Value, json};
use weir_carry::send::{self, FecPlan, Pacing, SendConfig, SendSummary};
use weir_carry::source::{Input, Numbering, SourceConfig};
use weir_carry::{CarryError, Event, Live, Watch};
use weir_cli::args::{FecChoice, GlobalOptions, Numbers, Pace, SendArgs};
use weir_measure::{Sink, Stop};
use weir_net::host::HostFacts;
use weir_results::Record;
use weir_transport::BreakerLimits;

use super::output::{closing_lines, print, print_json, storing_notes};
use super::progress::LiveLine;
use super::run_store::{Ended, OpenRun, RunStore, json as stored, new_run};
use super::{Failure, connect, tables};

/// Sends until the input ends, and reports.
pub fn run(args: &SendArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let config = config(args)?;
    let store = RunStore::open(&global.db)?;
    let local = HostFacts::read(None);
    let run = store.begin(
        &new_run("send", &target(args), &parameters(args, &config), &local),
        "send",
        true,
    )?;
    let id = run.id();
    let watching = Watching {
        run: &run,
        line: LiveLine::new("send", global.quiet),
    };
    let mut summary = SendSummary::default();
    let result = send::run(&config, &mut summary, stop, &watching);
    drop(watching);
    let end = match &result {
        Err(error) => Ended::failed(error),
        Ok(()) if stop.is_set() => Ended::interrupted(),
        Ok(()) => Ended::finished(),
    };
    let outcome = end.outcome();
    let kept = run.finish(&end, &stored(&summary));
    let notes = kept.as_ref().map(storing_notes).unwrap_or_default();
    if global.json {
        print_json(&store, id, "send", outcome, &summary, &notes)?;
    } else {
        print(&format!(
            "{}{}",
            tables::sent(&summary),
            closing_lines(&store, id, outcome, &notes)
        ))?;
    }
    kept?;
    Ok(result?)
}

/// What is sent, for the list of runs.
fn target(args: &SendArgs) -> String {
    match &args.test_pattern {
        Some(_) => "test pattern".into(),
        None if args.input.as_os_str() == "-" => "standard input".into(),
        None => args.input.display().to_string(),
    }
}

fn config(args: &SendArgs) -> Result<SendConfig, Failure> {
    let source = source(args)?;
    let pacing = match args.pace {
        Some(Pace::FrameRate) => Pacing::FrameRate,
        Some(Pace::Input) => Pacing::Input,
        None if source.is_live() => Pacing::Input,
        None => Pacing::FrameRate,
    };
    let fec = match args.fec {
        None | Some(FecChoice::Off) => FecPlan::Off,
        Some(FecChoice::Fixed(choice)) => FecPlan::Fixed(choice),
        Some(FecChoice::Auto) => return Err(Failure::usage("--fec auto comes later")),
    };
    Ok(SendConfig {
        source,
        pacing,
        listen: args.listen.clone(),
        port: args.port,
        media_port: args.media_port,
        source_ports: args.source_ports,
        token: connect::token(args.token_file.as_deref())?,
        open: args.open,
        flows: args.flows.unwrap_or(8),
        length: args.length,
        segments: args.burst,
        segmentation: !args.no_gso,
        fec,
        arq: !args.no_arq,
        breaker: BreakerLimits {
            loss: args.most_loss.fraction(),
            ..BreakerLimits::default()
        },
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
    json!({
        "input": target(args),
        "format": args.test_pattern.or(args.format).map(|format| format.to_string()),
        "packing": args.packing.map(|packing| packing.name()),
        "pace": config.pacing,
        "flows": config.flows,
        "length": config.length,
        "fec": match &config.fec {
            FecPlan::Off => "off".to_owned(),
            FecPlan::Fixed(choice) => choice.to_string(),
        },
        "arq": config.arq,
        "source_ports": config.source_ports,
        "gso": config.segmentation,
    })
}

/// Keeps what happens and shows it.
struct Watching<'a> {
    run: &'a OpenRun<'a>,
    line: LiveLine,
}

impl Watch for Watching<'_> {
    fn record(&self, record: Record) {
        self.run.record(record);
    }

    fn event(&self, event: &Event) {
        self.line.say(&event.detail);
    }

    fn live(&self, live: &Live) {
        self.line.show(&tables::live(live));
    }
}

impl From<CarryError> for Failure {
    fn from(error: CarryError) -> Self {
        if error.is_usage() {
            Failure::usage(error.to_string())
        } else {
            Failure::environment(error.to_string())
        }
    }
}
