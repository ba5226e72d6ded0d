//! Runs one test over the measurements of `weir-measure`, on a thread of its own. It must not know when tests start.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use weir_measure::flows::{self as flow_tests, FlowsSummary};
use weir_measure::path_mtu::{self, MtuSummary};
use weir_measure::rtt::{self, stamp};
use weir_measure::survey::{Survey, run_step};
use weir_measure::{AgentAddress, ClockEstimate, Family, MeasureError, Session, Sink, Stop};
use weir_net::clock;
use weir_record::Record;
use weir_results::{NewRun, Outcome, Recorder, RunId, Store, StoreError, Writer};

use super::{Watcher, owned};
use crate::change::Tested;
use crate::config::{Config, Host};
use crate::flows::{FlowResult, searched, tested};
use crate::gather::Gather;
use crate::plan::{flows_plan, survey_limits};
use crate::schedule::{Kind, Task};

/// Packets are stored twice a second.
const PATIENCE_NS: u64 = 500_000_000;

/// What became of a test.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Why it did not come about, or broke off.
    pub failure: Option<String>,
    /// Its run.
    pub run: Option<RunId>,
    /// What became of each flow of a flow test that ran to its end.
    pub flows: Vec<FlowResult>,
    /// Routes and path MTUs.
    pub tested: Tested,
}

impl Done {
    pub fn failed(reason: String) -> Self {
        Done {
            failure: Some(reason),
            ..Done::default()
        }
    }

    /// In a line.
    pub fn detail(&self, kind: Kind, (from, to): (&str, &str)) -> String {
        let name = match kind {
            Kind::Rtt => "RTT",
            Kind::Flows => "flow test",
            Kind::Survey => "survey",
        };
        match &self.failure {
            Some(reason) => format!("{from} to {to}: the {name} failed: {reason}"),
            None => format!("{from} to {to}: the {name} has ended"),
        }
    }
}

/// A test that is about to run.
pub(super) struct Executor {
    task: Task,
    until_ns: u64,
    host: Host,
    config: Config,
    token: weir_wire::Token,
    db: PathBuf,
    parent: RunId,
    version: String,
    gather: Arc<Mutex<Gather>>,
    searches_mtu: bool,
    stop: Stop,
}

/// Leaves RTT packets in open cells.
struct IntoCells(Arc<Mutex<Gather>>);

impl IntoCells {
    fn gather(&self) -> MutexGuard<'_, Gather> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for IntoCells {
    fn wants_host_counters(&self) -> bool {
        false
    }

    fn wants_details(&self) -> bool {
        false
    }

    fn patience_ns(&self) -> u64 {
        PATIENCE_NS
    }

    fn record(&self, record: Record) {
        if let Record::RttPacket(packet) = record {
            self.gather().add(&packet);
        }
    }

    fn clock(&self, estimate: ClockEstimate) {
        self.gather().set_clock(estimate);
    }
}

/// Hands records to the store's writer.
struct IntoRun(Recorder);

impl Sink for IntoRun {
    fn record(&self, record: Record) {
        self.0.record(record);
    }
}

/// Why a stored test failed.
#[derive(Debug, thiserror::Error)]
enum TestError {
    #[error(transparent)]
    Measure(#[from] MeasureError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Executor {
    pub fn new(
        watcher: &Watcher<'_>,
        task: Task,
        until_ns: u64,
        parent: RunId,
        (gather, searches_mtu): (Arc<Mutex<Gather>>, bool),
        stop: Stop,
    ) -> Self {
        let config = &watcher.config;
        Executor {
            task,
            until_ns,
            host: config.hosts[config.pairs[task.pair].to].clone(),
            config: config.clone(),
            token: watcher.token.clone(),
            db: owned(watcher.db),
            parent,
            version: watcher.version.to_owned(),
            gather,
            searches_mtu,
            stop,
        }
    }

    pub fn run(mut self) -> Done {
        let done = match self.task.kind {
            Kind::Rtt => self.rtt().map(|()| Done::default()).map_err(TestError::from),
            Kind::Flows => self.flows(),
            Kind::Survey => self.survey(),
        };
        done.unwrap_or_else(|error| Done::failed(error.to_string()))
    }

    fn session(&mut self) -> Result<Session, MeasureError> {
        let token = match &self.host.token_file {
            Some(file) => weir_control::read_token(file)?,
            None => self.token.clone(),
        };
        Session::connect(&AgentAddress {
            host: self.host.address.clone(),
            family: Family::Any,
            token,
        })
    }

    fn rtt(&mut self) -> Result<(), MeasureError> {
        let left_ns = self.until_ns.saturating_sub(clock::unix_ns()).max(1_000_000_000);
        let sink = IntoCells(self.gather.clone());
        if self.host.stamp {
            let remote = weir_control::resolve(&self.host.address, stamp::STAMP_PORT, Family::Any)?;
            let codec = stamp::StampCodec::new(None, 0);
            stamp::run(remote, &codec, &self.config.rtt.plan(left_ns), &sink, &self.stop)?;
            return Ok(());
        }
        let mut session = self.session()?;
        let plan = self.config.rtt.plan(left_ns.min(session.limits.max_duration_ns));
        rtt::run(&mut session, &plan, &sink, &self.stop)?;
        Ok(())
    }

    fn flows(&mut self) -> Result<Done, TestError> {
        let Some(kind) = self.config.flows else {
            return Ok(Done::default());
        };
        let mut session = self.session()?;
        let plan = flows_plan(&kind);
        let stop = self.stop.clone();
        let (run, (summary, tested)) = self.stored(
            "flows",
            json(&plan),
            self.parent,
            &json(&session.remote_host),
            |sink| {
                let mtu = self.path_mtu(&mut session, sink)?;
                let summary = flow_tests::run(&mut session, &plan, u64::MAX, sink, &stop)?;
                let tested = tested(&summary, mtu.as_ref());
                let more = [("ends", json(&summary.ends)), ("tested", json(&tested))];
                Ok((with(json(&summary), more), (summary, tested)))
            },
        )?;
        let failure = summary.aborted().map(|error| error.to_string());
        // A test that was cut says too little of its flows.
        let is_whole = failure.is_none() && !self.stop.is_set();
        let (flows, tested) = if is_whole {
            (flow_results(&summary), tested)
        } else {
            Default::default()
        };
        Ok(Done {
            flows,
            tested,
            failure,
            run: Some(run),
        })
    }

    /// The path MTU, if it is to be searched; none where no packet of a size comes through.
    fn path_mtu(&self, session: &mut Session, sink: &dyn Sink) -> Result<Option<MtuSummary>, MeasureError> {
        if !self.searches_mtu {
            return Ok(None);
        }
        match path_mtu::run(session, sink, &self.stop) {
            Ok(found) => Ok(Some(found).filter(|_| !self.stop.is_set())),
            Err(MeasureError::Blocked { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn survey(&mut self) -> Result<Done, TestError> {
        let Some(kind) = self.config.survey.clone() else {
            return Ok(Done::default());
        };
        let mut session = self.session()?;
        let store = Store::open(&self.db)?;
        let run = store.begin_run(&self.new_run("survey", json(&kind.plan), self.parent))?;
        let remote = json(&session.remote_host);
        store.set_remote_host(run, &remote)?;
        let limits = survey_limits(&kind.plan, session.limits);
        let mut survey = Survey::new(kind.plan.clone(), limits, session.address().ip());
        let made = self.steps(&mut session, &mut survey, run, &remote);
        let (outcome, reason) = match &made {
            Err(error) => (Outcome::Failed, Some(error.to_string())),
            Ok(()) if self.is_over() => (Outcome::Interrupted, None),
            Ok(()) => (Outcome::Finished, None),
        };
        let summary = survey.summary();
        // A search that was stopped says too little.
        let mtu = summary.mtu.as_ref().filter(|_| outcome == Outcome::Finished);
        let tested = searched(mtu);
        let stored = with(json(&summary), [("tested", json(&tested))]);
        store.end_run(run, outcome, reason.as_deref(), clock::unix_ns(), &stored)?;
        Ok(Done {
            failure: reason,
            run: Some(run),
            tested,
            ..Done::default()
        })
    }

    fn is_over(&self) -> bool {
        self.stop.is_set() || clock::unix_ns() >= self.until_ns
    }

    /// Makes step after step, each a run below that of the survey.
    fn steps(
        &mut self,
        session: &mut Session,
        survey: &mut Survey,
        parent: RunId,
        remote: &Value,
    ) -> Result<(), TestError> {
        while let Some((step, max_bytes)) = survey.next_step() {
            if self.is_over() {
                return Ok(());
            }
            let stop = self.stop.clone();
            let (_, summary) = self.stored(step.kind(), json(&step), parent, remote, |sink| {
                let summary = run_step(session, &step, max_bytes, sink, &stop)?;
                // Without the name of the step around it.
                let inner = json(&summary)
                    .as_object()
                    .and_then(|named| named.values().next().cloned());
                Ok((inner.unwrap_or_default(), summary))
            })?;
            if let Some(error) = summary.aborted() {
                return Err(error.into());
            }
            survey.on_result(&step, summary);
        }
        Ok(())
    }

    fn new_run(&self, kind: &str, parameters: Value, parent: RunId) -> NewRun {
        NewRun {
            kind: kind.to_owned(),
            target: self.host.address.clone(),
            parent: Some(parent),
            parameters,
            started_unix_ns: clock::unix_ns(),
            weir_version: self.version.clone(),
            ..NewRun::default()
        }
    }

    /// Runs a measurement whose records and summary become a run.
    fn stored<T>(
        &self,
        kind: &str,
        parameters: Value,
        parent: RunId,
        remote: &Value,
        measure: impl FnOnce(&dyn Sink) -> Result<(Value, T), MeasureError>,
    ) -> Result<(RunId, T), TestError> {
        let store = Store::open(&self.db)?;
        let run = store.begin_run(&self.new_run(kind, parameters, parent))?;
        store.set_remote_host(run, remote)?;
        let (recorder, writer) = Writer::spawn(&self.db, run)?;
        let sink = IntoRun(recorder);
        let measured = measure(&sink);
        drop(sink);
        let written = writer.finish();
        let (outcome, reason) = match &measured {
            Err(error) => (Outcome::Failed, Some(error.to_string())),
            Ok(_) if self.stop.is_set() => (Outcome::Interrupted, None),
            Ok(_) => (Outcome::Finished, None),
        };
        let summary = measured.as_ref().map_or(&Value::Null, |(summary, _)| summary);
        store.end_run(run, outcome, reason.as_deref(), clock::unix_ns(), summary)?;
        written?;
        Ok((run, measured?.1))
    }
}

/// Each flow of both directions.
fn flow_results(summary: &FlowsSummary) -> Vec<FlowResult> {
    let directions = summary.forward.iter().chain(&summary.reverse);
    let each = directions.flat_map(|way| {
        let flows = way.receiver.per_flow.iter().enumerate();
        flows.map(|(number, flow)| FlowResult {
            direction: way.direction,
            flow: number,
            port: flow.port,
            sent: flow.sent,
            received: flow.counts.received,
        })
    });
    each.collect()
}

/// An object with further fields.
fn with<const N: usize>(mut object: Value, more: [(&str, Value); N]) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.extend(more.map(|(key, value)| (key.to_owned(), value)));
    }
    object
}

/// A value as stored: plain data always serialises; null would leave the column empty.
fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
