//! Readings of the tasks' counters over a run, and what follows from them. It must not know who reads them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_net::clock;
use weir_net::namespace::NetworkNamespace;
use weir_net::process;
use weir_results::TaskSecond;

use crate::error::TestbedError;
use crate::function::{OwnMetrics, Ready};
use crate::own_metrics::{self, OwnCounts};
use crate::result::{Summary, TaskResult};
use crate::state::TaskState;
use crate::traffic::Flow;
use crate::vary::Values;
use crate::workflow::Workflow;

/// Share of the cores or of the CPU time that it has, above which a task counts as busy.
const BUSY: f64 = 0.9;

/// Counters of a task at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When they were read, by the monotonic clock of its host, nanoseconds.
    pub at_ns: u64,
    /// What went over its interfaces.
    pub flow: Flow,
    /// CPU time of its processes, nanoseconds.
    pub cpu_ns: u64,
    /// Resident memory of its processes, bytes.
    pub memory_bytes: u64,
    /// Sum of the peaks of the resident memory of its processes, bytes.
    pub peak_memory_bytes: u64,
    /// What the function says about itself, if it was asked.
    pub own: Option<OwnCounts>,
}

impl Sample {
    /// What the processes in a namespace have used, and what they say about themselves.
    pub(crate) fn of(namespace: &NetworkNamespace, names: Option<&OwnMetrics>) -> Result<Self, TestbedError> {
        let inside = namespace
            .processes()
            .map_err(|error| TestbedError::Failed(format!("cannot find the processes of a task: {error}")))?;
        let mut sample = Sample {
            at_ns: clock::monotonic_ns(),
            own: names.and_then(|names| own_metrics::read(namespace, names)),
            ..Sample::default()
        };
        for used in inside.into_iter().filter_map(process::usage) {
            sample.cpu_ns += used.cpu_ns;
            sample.memory_bytes += used.memory_bytes;
            sample.peak_memory_bytes += used.peak_memory_bytes;
        }
        Ok(sample)
    }
}

/// Readings of a run.
pub(crate) struct Readings {
    first: Vec<Sample>,
    last: Vec<Sample>,
    began_ns: u64,
    /// Most memory of each task.
    memory: Vec<u64>,
    /// The most of a second of each task: payload to its clients in bits per second, and busy cores.
    peaks: Vec<(f64, f64)>,
    /// CPU time of each task: that of processes that have ended is in an earlier reading only.
    cpu_ns: Vec<u64>,
}

impl Readings {
    pub(crate) fn begin(samples: Vec<Sample>, now_ns: u64) -> Self {
        Readings {
            memory: vec![0; samples.len()],
            peaks: vec![(0.0, 0.0); samples.len()],
            cpu_ns: vec![0; samples.len()],
            last: samples.clone(),
            first: samples,
            began_ns: now_ns,
        }
    }

    /// CPU time of each task since the last reading.
    fn take_in(&mut self, samples: &[Sample]) -> Vec<u64> {
        let pairs = samples.iter().zip(&self.last);
        let spent: Vec<u64> = pairs
            .map(|(now, then)| now.cpu_ns.saturating_sub(then.cpu_ns))
            .collect();
        for (index, sample) in samples.iter().enumerate() {
            self.cpu_ns[index] += spent[index];
            self.memory[index] = self.memory[index].max(sample.peak_memory_bytes);
        }
        spent
    }

    /// Rows of the time since the last reading.
    pub(crate) fn second(&mut self, workflow: &Workflow, samples: &[Sample]) -> Vec<TaskSecond> {
        let spent = self.take_in(samples);
        let unix_ns = clock::unix_ns();
        let mut rows = Vec::with_capacity(samples.len());
        for (index, sample) in samples.iter().enumerate() {
            let flow = sample.flow.since(self.last[index].flow);
            let duration_ns = sample.at_ns.saturating_sub(self.last[index].at_ns);
            let each_second = 1e9 / duration_ns.max(1) as f64;
            let peak = &mut self.peaks[index];
            peak.0 = peak.0.max(flow.given.payload_bytes as f64 * 8.0 * each_second);
            peak.1 = peak.1.max(spent[index] as f64 / 1e9 * each_second);
            rows.push(TaskSecond {
                unix_ns,
                duration_ns,
                task: workflow.tasks[index].name.clone(),
                function: workflow.tasks[index].function.id.clone(),
                in_bytes: flow.taken.bytes,
                in_packets: flow.taken.packets,
                in_payload_bytes: flow.taken.payload_bytes,
                out_bytes: flow.given.bytes,
                out_packets: flow.given.packets,
                out_payload_bytes: flow.given.payload_bytes,
                cpu_ns: spent[index],
                memory_bytes: sample.memory_bytes,
            });
        }
        self.last = samples.to_vec();
        rows
    }

    /// The whole run.
    pub(crate) fn end(
        mut self,
        workflow: &Workflow,
        cores: &[Vec<usize>],
        samples: &[Sample],
        now_ns: u64,
    ) -> Summary {
        self.take_in(samples);
        let duration_ns = now_ns.saturating_sub(self.began_ns);
        let seconds = (duration_ns as f64 / 1e9).max(1e-9);
        let result = |index: usize| {
            let (task, sample) = (&workflow.tasks[index], &samples[index]);
            let flow = sample.flow.since(self.first[index].flow);
            let (taken, given) = (flow.taken.payload_bytes, flow.given.payload_bytes);
            TaskResult {
                task: task.name.clone(),
                function: task.function.id.clone(),
                host: task.host.clone(),
                machine: None,
                state: TaskState::Idle,
                cores: cores[index].clone(),
                own_cores: task.vcpu.is_some(),
                cpu_limit: task.cpu_limit,
                taken: flow.taken,
                given: flow.given,
                in_bps: taken as f64 * 8.0 / seconds,
                out_bps: given as f64 * 8.0 / seconds,
                peak_out_bps: self.peaks[index].0,
                efficiency: (taken > 0 && given > 0).then(|| given as f64 / taken as f64),
                cpu_ns: self.cpu_ns[index],
                busy_cores: self.cpu_ns[index] as f64 / duration_ns.max(1) as f64,
                peak_busy_cores: self.peaks[index].1,
                limit: task
                    .own_time()
                    .is_some_and(|cores| self.peaks[index].1 >= BUSY * cores),
                memory_bytes: self.memory[index],
                own: sample
                    .own
                    .zip(self.first[index].own)
                    .map(|(now, then)| now.since(then)),
                cache: None,
                sink: None,
                responses: Vec::new(),
                capacity: None,
            }
        };
        let tasks: Vec<TaskResult> = (0..samples.len()).map(result).collect();
        let is_first = |index: usize| workflow.inputs(index).next().is_none();
        let is_sink = |index: usize| workflow.tasks[index].function.ready == Ready::Sink;
        let (mut storage_bps, mut viewers_bps) = (0.0, 0.0);
        for (index, task) in tasks.iter().enumerate() {
            storage_bps += if is_first(index) { task.out_bps } else { 0.0 };
            viewers_bps += if is_sink(index) { task.in_bps } else { 0.0 };
        }
        Summary {
            workflow: workflow.id.clone(),
            varied: Values::new(),
            duration_ns,
            pinned_by: "affinity",
            storage_bps,
            viewers_bps,
            efficiency: (storage_bps > 0.0 && viewers_bps > 0.0).then(|| viewers_bps / storage_bps),
            lost_hosts: BTreeMap::new(),
            tasks,
        }
    }
}
