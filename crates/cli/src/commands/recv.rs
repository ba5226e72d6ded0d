//! `weir recv`: packets in, frames out.

use std::time::Duration;

use crate::args::{ConcealBy, GlobalOptions, JoinBy, RecvArgs, WriteAs};
use serde_json::{Value, json};
use weir_control::Family;
use weir_measure::Stop;
use weir_net::host::HostFacts;
use weir_protect::Protection;
use weir_stream::recv::{self, Conceal, Form, OutputPlan, RecvConfig, RecvSummary, Target};
use weir_stream_proto::{Join, SwitchLimits};

use super::output::say;
use super::result::StoredResult;
use super::run_store::{Ended, RunStore, Stored, json as stored, new_run};
use super::watching::Watching;
use super::{Failure, Status, connect, tables};

/// Receives until the stream ends, and reports.
pub fn run(args: &RecvArgs, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let config = config(args)?;
    let to_standard_output = config.output.target == Target::Standard;
    if to_standard_output && global.json {
        return Err(Failure::usage(
            "--json conflicts with video on standard output; write the video to a FIFO or a file",
        ));
    }
    let store = RunStore::open(&global.db)?;
    let local = HostFacts::read(None);
    let new = new_run("recv", &config.from.join(", "), &parameters(args), &local);
    let run = store.begin(&new, "recv", true)?;
    let id = run.id();
    let watching = Watching::new(&run, "recv", global.quiet);
    let mut summary = RecvSummary::default();
    let result = recv::run(&config, &mut summary, stop, &watching);
    drop(watching);
    let end = Ended::of(&result, stop);
    let outcome = end.outcome();
    let kept = run.finish(&end, &stored(&summary));
    let notes = kept.as_ref().map(Stored::notes).unwrap_or_default();
    // Nothing has started; the error is the whole result.
    if summary.format.is_none()
        && let Err(error) = result
    {
        return Err(error.into());
    }
    let printed = StoredResult::new(&store, id, "recv", outcome, &notes);
    if to_standard_output {
        // Standard output carries the video.
        say(printed.text(&tables::received(&summary)).trim_end());
    } else {
        printed.print(global.json, &summary, || tables::received(&summary))?;
    }
    kept?;
    result?;
    if summary.frames_unequal > 0 {
        return Err(Failure {
            status: Status::Crossed,
            message: format!(
                "{} of {} frames differ from the sender's hash",
                summary.frames_unequal,
                summary.frames_unequal + summary.frames_verified
            ),
        });
    }
    Ok(())
}

fn config(args: &RecvArgs) -> Result<RecvConfig, Failure> {
    let target = match &args.output {
        None => Target::Nowhere,
        Some(path) if path.as_os_str() == "-" => Target::Standard,
        Some(path) => Target::Path(path.clone()),
    };
    let token = connect::token(args.token_file.as_deref())?;
    Ok(RecvConfig {
        from: args.from.clone(),
        family: match (args.ipv4, args.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        },
        demand: connect::demand(args.protect, &token)?,
        token,
        join: match args.join {
            JoinBy::Merge => Join::Merge,
            JoinBy::Switch => Join::Switch(SwitchLimits {
                silence_ns: args.switch_silence.0,
                unrepaired_share: args.switch_loss.fraction(),
                over_ns: 1_000_000_000,
                back_after_ns: args.switch_back.0,
            }),
        },
        threads: args.threads,
        latency_ns: args.latency.0,
        output: OutputPlan {
            target,
            form: match args.form {
                WriteAs::Raw => Form::Raw,
                WriteAs::Y4m => Form::Y4m,
            },
            packing: args.packing,
            conceal: match args.conceal {
                ConcealBy::Repeat => Conceal::Repeat,
                ConcealBy::Blank => Conceal::Blank,
            },
            verify: args.verify,
            most_frames: args.frames,
            budget_ns: args.latency.0,
        },
        hooks: args.events.hooks(),
        metrics: args.events.metrics,
        patience: Duration::from_nanos(args.wait.0),
        receive_buffer: args.receive_buffer.map(|bytes| bytes.0 as usize),
        merge: !args.no_gro,
        duration: args.duration.map(|time| Duration::from_nanos(time.0)),
    })
}

fn parameters(args: &RecvArgs) -> Value {
    let mut parameters = json!({
        "from": args.from,
        "join": match args.join { JoinBy::Merge => "merge", JoinBy::Switch => "switch" },
        "threads": args.threads.to_string(),
        "latency_ns": args.latency.0,
        "verify": args.verify,
        "output": args.output.as_ref().map(|path| path.display().to_string()),
        "packing": args.packing.map(|packing| packing.name()),
        "conceal": match args.conceal { ConcealBy::Repeat => "repeat", ConcealBy::Blank => "blank" },
        "receive_buffer": args.receive_buffer.map(|bytes| bytes.0),
        "gro": !args.no_gro,
        "protect": args.protect.map(Protection::name),
    });
    if let Some(all) = parameters.as_object_mut() {
        all.extend(args.events.parameters());
    }
    parameters
}
