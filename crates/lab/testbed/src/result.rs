//! What a run of a testbed says: for each task what went in and out of it, as the kernel counted, and what it cost. It must not
//! know how that was measured, or how it is drawn.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::cache_log::CacheCounts;
use crate::own_metrics::OwnCounts;
use crate::response::Responses;
use crate::state::TaskState;
use crate::traffic::Way;
use crate::vary::Values;

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Identifier of the workflow.
    pub workflow: String,
    /// Values of the parameters that were varied, by their names: `origin.segment`.
    pub varied: Values,
    /// From before the first sink started until after the last one ended.
    pub duration_ns: u64,
    /// How tasks are held on their cores.
    pub pinned_by: &'static str,
    /// Payload that left the tasks without servers, the storage, bits per second (IN of the published comparison).
    pub storage_bps: f64,
    /// Payload that reached the sinks, bits per second (OUT).
    pub viewers_bps: f64,
    /// `viewers_bps` / `storage_bps`; none without traffic.
    pub efficiency: Option<f64>,
    /// Hosts that went away, and why that is known; what they counted until then is in the results of their tasks.
    pub lost_hosts: BTreeMap<String, String>,
    /// Tasks, servers before their clients.
    pub tasks: Vec<TaskResult>,
}

impl Summary {
    /// Notes the machines that were launched, by the names of hosts: type and place, and what an hour costs in US dollars.
    pub fn ran_on(&mut self, machines: &BTreeMap<String, (String, Option<f64>)>) {
        for task in &mut self.tasks {
            let machine = task.host.as_ref().and_then(|host| machines.get(host));
            let (given, out_bps) = (task.out_bps > 0.0, task.out_bps);
            task.machine = machine.map(|(kind, usd_per_hour)| TaskMachine {
                kind: kind.clone(),
                usd_per_hour: *usd_per_hour,
                usd_per_gbit_hour: usd_per_hour.filter(|_| given).map(|usd| usd / (out_bps / 1e9)),
            });
        }
    }

    /// The workflow with its varied values, as tables call it.
    pub(crate) fn setting(&self) -> String {
        let values = self
            .varied
            .iter()
            .map(|(name, value)| format!(", {name}={value}"));
        self.workflow.clone() + &values.collect::<String>()
    }
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskResult {
    /// Its name.
    pub task: String,
    /// Its function.
    pub function: String,
    /// Its host; none for that of the runner.
    pub host: Option<String>,
    /// That host, if it was launched for the run.
    pub machine: Option<TaskMachine>,
    /// Its state when the measurement ended.
    pub state: TaskState,
    /// Cores that it ran on.
    pub cores: Vec<usize>,
    /// Whether no other task ran on these.
    pub own_cores: bool,
    /// CPU time that it got at most, in cores; none without a bound.
    pub cpu_limit: Option<f64>,
    /// Received from its servers.
    #[serde(rename = "in")]
    pub taken: Way,
    /// Sent to its clients.
    #[serde(rename = "out")]
    pub given: Way,
    /// Payload from its servers, bits per second.
    pub in_bps: f64,
    /// Payload to its clients, bits per second.
    pub out_bps: f64,
    /// Payload to its clients in the second with the most of it, bits per second.
    pub peak_out_bps: f64,
    /// OUT / IN of the payload; none where nothing comes in or goes out.
    pub efficiency: Option<f64>,
    /// CPU time of all its processes.
    pub cpu_ns: u64,
    /// Cores that it kept busy.
    pub busy_cores: f64,
    /// The same in the second with the most of it.
    pub peak_busy_cores: f64,
    /// Whether it kept the cores that it has for itself busy to 90 %, or used 90 % of the CPU time that it got at most, for a second.
    pub limit: bool,
    /// Sum of the peak resident memory of its processes, bytes.
    pub memory_bytes: u64,
    /// What it counted itself.
    pub own: Option<OwnCounts>,
    /// Requests by where their response came from, if it is a cache with a log.
    pub cache: Option<CacheCounts>,
    /// What it got, if it is a sink that prints the summary of `weir load --json`.
    pub sink: Option<SinkResult>,
    /// Response times over the number of viewers, if it is a sink that stores them; else empty.
    pub responses: Vec<Responses>,
    /// What it found, if it is a sink that prints the result of `weir load find-capacity --json`.
    pub capacity: Option<CapacityResult>,
}

/// A machine that was launched for a run, as a task that runs there sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskMachine {
    /// Type and place as they were asked for, such as `c5.large@aws:eu-west-1`.
    pub kind: String,
    /// What an hour of it costs, US dollars; none where it is not known.
    pub usd_per_hour: Option<f64>,
    /// What an hour costs for each Gbit/s that the task gave to its clients, US dollars, without traffic; none where it is not
    /// known, or nothing was given.
    pub usd_per_gbit_hour: Option<f64>,
}

/// The maximum number of viewers that meets a condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CapacityResult {
    /// The largest number that held; 0 if none did.
    pub viewers: u64,
    /// The largest number up to which no trial broke.
    pub low: u64,
    /// The smallest number from which on no trial held; none if the largest that was tried held.
    pub high: Option<u64>,
}

impl CapacityResult {
    /// Of what `weir load find-capacity --json` prints; none if it is something else.
    pub(crate) fn of(printed: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(printed).ok()?;
        Some(CapacityResult {
            viewers: value["viewers"].as_u64()?,
            low: value["low"].as_u64()?,
            high: value["high"].as_u64(),
        })
    }
}

/// What viewers got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SinkResult {
    /// Requests, failed ones included.
    pub requests: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Bytes of responses with their heads.
    pub received_bytes: u64,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Requests per second.
    pub requests_per_second: f64,
    /// Time to the last byte: mean.
    pub mean_ns: f64,
    /// 99 % are at or below this.
    pub p99_ns: f64,
    /// Whether the generator was the limit.
    pub generator_limited: bool,
}

impl SinkResult {
    /// Of what `weir load --json` prints; none if it is something else.
    pub(crate) fn of(printed: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(printed).ok()?;
        let all = &value["all"];
        Some(SinkResult {
            requests: all["requests"].as_u64()?,
            failed: all["failed"].as_u64()?,
            received_bytes: all["all_bytes"].as_u64()?,
            body_bytes: all["body_bytes"].as_u64()?,
            requests_per_second: all["requests_per_second"].as_f64()?,
            mean_ns: all["last_byte"]["mean"].as_f64()?,
            p99_ns: all["last_byte"]["p99"].as_f64()?,
            generator_limited: value["generator_limited"].as_bool()?,
        })
    }
}
