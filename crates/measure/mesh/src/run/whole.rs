//! A whole run: hosts are prepared, tests made in the order of the [`Conductor`], results stored as they arrive, and hosts
//! cleaned up. It must not know how hosts are reached, nor what time it is: [`Hosts`] does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;
use weir_results::{MeshEnd, MeshTest, Outcome, RunId, Store, StoreError};
use weir_units::format_bytes;

use super::{Conductor, Fate, Fault, FaultKind, Halt, MachinesCost, Order, Ready};
use crate::filter::ADDRESSES;
use crate::import::mark;
use crate::path_mtu::{HeldDown, held_down, notes};
use crate::placement::{Misplaced, misplaced};

/// Clock difference above which a note is printed.
const CLOCKS_APART_S: i64 = 5;

/// The hosts of a run, with the time and the user: over SSH, or modelled in virtual time.
pub trait Hosts {
    /// Prepares hosts, and calls `beat` at least twice a second meanwhile.
    fn prepare(&mut self, hosts: &[usize], beat: &dyn Fn()) -> Vec<(usize, Result<Ready, Fault>)>;
    /// Starts a test of the order.
    fn start(&mut self, index: usize);
    /// Waits at most half a second for the end of a test.
    fn ended(&mut self) -> Option<(usize, Result<Measured, Fault>)>;
    /// Stops agents and removes folders.
    fn clean(&mut self, hosts: &[usize]) -> Vec<(usize, Result<(), Fault>)>;
    /// The user wants no further test.
    fn is_stopped(&self) -> bool;
    /// Cost of machines that were launched for the run.
    fn machines(&self) -> MachinesCost;
    /// Now, Unix nanoseconds.
    fn unix_ns(&self) -> u64;
}

/// The result of a test, and the database of the survey after it, if requested.
#[derive(Debug, Default)]
pub struct Measured {
    /// The test.
    pub test: MeshTest,
    /// Local file of the survey.
    pub survey: Option<Result<PathBuf, Fault>>,
}

/// Shows a run.
pub trait Watch {
    /// What is going on.
    fn doing(&self, text: &str);
    /// What has happened.
    fn say(&self, text: &str);
    /// A test went through.
    fn result(&self, from: &str, to: &str, test: &MeshTest);
}

/// The summary of a run, as stored and printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Tests of the order.
    pub tests: usize,
    /// Of these, those that went through.
    pub finished: usize,
    /// Of these, those that failed for good.
    pub failed: usize,
    /// Of these, those that were not made.
    pub left: usize,
    /// Bytes sent.
    pub bytes: u64,
    /// What they cost, US dollars.
    pub egress_usd: f64,
    /// Why no more tests were started.
    pub halt: Option<Halt>,
    /// Hosts that were prepared, by name.
    pub hosts: BTreeMap<String, Ready>,
    /// Hosts that could not be prepared, by name.
    pub lost_hosts: BTreeMap<String, Fault>,
    /// Sentences for the user.
    pub notes: Vec<String>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ending {
    /// Its outcome in the store.
    pub outcome: Outcome,
    /// What the user has to know, if it did not complete.
    pub problem: Option<String>,
    /// Its summary.
    pub summary: Summary,
}

/// Makes the tests of an order as `run` of a store.
pub fn carry_out(
    order: &Order,
    parallel: usize,
    hosts: &mut impl Hosts,
    (store, run): (&Store, RunId),
    watch: &dyn Watch,
) -> Ending {
    let mut mesh = Mesh {
        store,
        run,
        order,
        hosts,
        watch,
        conductor: Conductor::new(order, parallel),
        ready: BTreeMap::new(),
        notes: Vec::new(),
        lost: BTreeMap::new(),
        misplaced: BTreeMap::new(),
        held_down: Vec::new(),
        unkept: None,
    };
    mesh.prepare();
    mesh.make_tests();
    mesh.clean();
    mesh.ending()
}

struct Mesh<'r, H> {
    store: &'r Store,
    run: RunId,
    order: &'r Order,
    hosts: &'r mut H,
    watch: &'r dyn Watch,
    conductor: Conductor,
    ready: BTreeMap<usize, Ready>,
    notes: Vec<String>,
    /// Hosts that could not be prepared.
    lost: BTreeMap<usize, Fault>,
    /// What of a host is not as ordered.
    misplaced: BTreeMap<usize, String>,
    /// Tests whose path carries shorter packets than their hosts' interfaces.
    held_down: Vec<HeldDown>,
    /// Why a result could not be stored.
    unkept: Option<StoreError>,
}

impl<H: Hosts> Mesh<'_, H> {
    fn name(&self, host: usize) -> &str {
        &self.order.hosts[host].name
    }

    fn names(&self, index: usize) -> (&str, &str) {
        let (from, to) = self.order.pairs[index];
        (self.name(from), self.name(to))
    }

    /// Prepares all hosts; those where that fails are excluded.
    fn prepare(&mut self) {
        let hosts: Vec<usize> = self.order.taking_part().into_iter().collect();
        self.watch.doing(&format!("preparing {} hosts", hosts.len()));
        let (store, run) = (self.store, self.run);
        let prepared = self.hosts.prepare(&hosts, &|| beat(store, run));
        for (host, result) in prepared {
            match result {
                Ok(ready) => {
                    if ready.clock_ahead_s.abs() > CLOCKS_APART_S {
                        self.notes.push(format!(
                            "the clock of {} is {} s from this host's; RTTs do not depend on it",
                            self.name(host),
                            ready.clock_ahead_s
                        ));
                    }
                    let wrong = ready
                        .told
                        .as_ref()
                        .map(|told| misplaced(&self.order.hosts[host], told));
                    let wrong = wrong.unwrap_or_default();
                    self.ready.insert(host, ready);
                    self.judge_place(host, wrong);
                }
                Err(fault) => self.lose(host, fault),
            }
        }
    }

    /// Leaves out a host that is not as ordered, or marks it.
    fn judge_place(&mut self, host: usize, wrong: Vec<Misplaced>) {
        if wrong.is_empty() {
            return;
        }
        let said = wrong
            .iter()
            .map(Misplaced::to_string)
            .collect::<Vec<_>>()
            .join("; ");
        let message = format!("{}: {said}, as its cloud's metadata says", self.name(host));
        if self.order.strict_placement {
            let kind = FaultKind::Misplaced;
            return self.lose(host, Fault { kind, message });
        }
        self.notes.push(format!("{message}; its tests are marked"));
        self.misplaced.insert(host, said);
    }

    fn lose(&mut self, host: usize, fault: Fault) {
        self.watch.say(&format!("{fault}; its tests are skipped"));
        for index in self.conductor.lose(host) {
            self.keep(&self.failed(index, &fault));
        }
        self.lost.insert(host, fault);
    }

    /// Starts tests and takes their results until none remain.
    fn make_tests(&mut self) {
        loop {
            if self.hosts.is_stopped() {
                self.conductor.interrupt();
            }
            self.conductor.machines = self.hosts.machines();
            while let Some(index) = self.conductor.start() {
                self.hosts.start(index);
            }
            if self.conductor.is_done() {
                return;
            }
            self.show();
            if let Some((index, result)) = self.hosts.ended() {
                self.take(index, result);
            }
            beat(self.store, self.run);
        }
    }

    fn show(&self) {
        let Conductor {
            finished,
            failed,
            bytes,
            ..
        } = self.conductor;
        let stopping = if self.hosts.is_stopped() { "stopping; " } else { "" };
        self.watch.doing(&format!(
            "{stopping}{finished} of {} done, {failed} failed, {} running, {} sent",
            self.order.pairs.len(),
            self.conductor.running(),
            format_bytes(bytes)
        ));
    }

    /// Stores and shows a result, or the reason of a failure.
    fn take(&mut self, index: usize, result: Result<Measured, Fault>) {
        match result {
            Ok(Measured { test, survey }) => {
                let mut test = self.placed(index, test);
                if let Some(survey) = survey {
                    self.take_survey(index, survey, &mut test);
                }
                self.conductor.ended(index, true, test.bytes);
                let (from, to) = self.names(index);
                self.watch.result(from, to, &test);
                let pair = format!("{from} -> {to}");
                self.held_down
                    .extend(held_down(&pair, self.order.over(index), &test.details));
                self.keep(&test);
            }
            Err(fault) => {
                // The volume of a failed test is unknown.
                let sent = match fault.kind {
                    FaultKind::Unreachable | FaultKind::HostKey | FaultKind::Denied | FaultKind::Agent => 0,
                    _ => self.order.shape.max_bytes,
                };
                let fate = self.conductor.ended(index, false, sent);
                let again = if fate == Fate::Again {
                    "; repeated at the end"
                } else {
                    ""
                };
                let (from, to) = self.names(index);
                self.watch.say(&format!("{from} -> {to}: {fault}{again}"));
                if fate == Fate::Failed {
                    self.keep(&self.failed(index, &fault));
                }
            }
        }
    }

    /// Stores the runs of a survey as parts of this one, and links it to its test. Without the survey the test is kept.
    fn take_survey(&mut self, index: usize, survey: Result<PathBuf, Fault>, test: &mut MeshTest) {
        let (from, to) = self.names(index);
        let name = format!("{from} -> {to}");
        let kept = survey.map_err(|fault| fault.message).and_then(|file| {
            let kept = self.adopt(&file, &name);
            remove(&file);
            kept
        });
        // Without a survey, its volume is unknown.
        let most = self.order.shape.max_bytes;
        let bytes = match kept {
            Ok((run, bytes)) => {
                test.details["survey_run"] = json!(run);
                bytes.unwrap_or(most).min(most)
            }
            Err(message) => {
                self.notes.push(format!("{name}: no survey: {message}"));
                test.details["survey_failed"] = json!(message);
                most
            }
        };
        test.bytes = test.bytes.saturating_add(bytes);
    }

    /// Stores the runs of a survey, and returns its own and the bytes that it sent.
    fn adopt(&self, file: &Path, name: &str) -> Result<(RunId, Option<u64>), String> {
        let taken = self.store.adopt(file, self.run, name);
        let taken = taken.map_err(|error| error.to_string())?;
        let run = *taken.first().ok_or("its database has no run")?;
        let stored = self.store.run(run).map_err(|error| error.to_string())?;
        Ok((run, stored.summary["bytes"].as_u64()))
    }

    fn keep(&mut self, test: &MeshTest) {
        if let Err(error) = self.store.add_mesh_tests(self.run, std::slice::from_ref(test)) {
            self.watch.say(&format!("warning: {error}"));
            self.unkept.get_or_insert(error);
            self.conductor.interrupt();
        }
    }

    /// The result of the client's host, completed with data of this host.
    fn placed(&self, index: usize, measured: MeshTest) -> MeshTest {
        let (from, to) = self.order.pairs[index];
        let mut test = MeshTest {
            source: "weir".into(),
            reason: None,
            from: self.end_of(from),
            to: self.end_of(to),
            from_window_bytes: self.ready.get(&from).and_then(|ready| ready.send_window_bytes),
            to_window_bytes: self.ready.get(&to).and_then(|ready| ready.receive_window_bytes),
            // The client's clock may be wrong.
            unix_ns: self.hosts.unix_ns(),
            ..measured
        };
        // It comes from the host; fields are added here.
        if !test.details.is_object() {
            test.details = json!({});
        }
        test.details[ADDRESSES] = json!(self.order.over(index));
        for (key, host) in [("from_misplaced", from), ("to_misplaced", to)] {
            if let Some(said) = self.misplaced.get(&host) {
                test.details[key] = json!(said);
            }
        }
        mark(&mut test);
        test
    }

    fn failed(&self, index: usize, fault: &Fault) -> MeshTest {
        let failed = MeshTest {
            details: json!({ "fault": fault.kind }),
            ..MeshTest::default()
        };
        MeshTest {
            reason: Some(fault.message.clone()),
            ..self.placed(index, failed)
        }
    }

    fn end_of(&self, number: usize) -> MeshEnd {
        let host = &self.order.hosts[number];
        MeshEnd {
            cloud: host.place.cloud.clone(),
            region: host.place.region.clone(),
            zone: host.zone.clone(),
            host: host.name.clone(),
            latitude: host.coordinates.map(|point| point.latitude),
            longitude: host.coordinates.map(|point| point.longitude),
        }
    }

    /// Cleans up the hosts that can be reached, also after an interruption.
    fn clean(&mut self) {
        let out_of_reach = |host: &usize| {
            let kind = self.lost.get(host).map(|fault| fault.kind);
            matches!(
                kind,
                Some(FaultKind::Unreachable | FaultKind::HostKey | FaultKind::Denied)
            )
        };
        let hosts = self.order.taking_part().into_iter();
        let hosts: Vec<usize> = hosts.filter(|host| !out_of_reach(host)).collect();
        self.watch.doing(&format!("cleaning {} hosts", hosts.len()));
        for (_, cleaned) in self.hosts.clean(&hosts) {
            if let Err(fault) = cleaned {
                self.notes.push(format!(
                    "{fault}; leftovers stop on their own, or remove them with 'weir mesh sweep'"
                ));
            }
        }
    }

    fn ending(self) -> Ending {
        let named = |host: &usize| self.order.hosts[*host].name.clone();
        let (run, conductor) = (self.run, &self.conductor);
        let (tests, left) = (self.order.pairs.len(), conductor.waiting());
        let summary = Summary {
            tests,
            finished: conductor.finished,
            failed: conductor.failed,
            left,
            bytes: conductor.bytes,
            egress_usd: conductor.usd,
            halt: conductor.halt,
            hosts: self
                .ready
                .iter()
                .map(|(host, ready)| (named(host), ready.clone()))
                .collect(),
            lost_hosts: self
                .lost
                .iter()
                .map(|(host, fault)| (named(host), fault.clone()))
                .collect(),
            notes: [self.notes, notes(&self.held_down)].concat(),
        };
        let problem = match (&self.unkept, conductor.halt, conductor.failed) {
            (Some(error), ..) => Some(error.to_string()),
            (None, Some(Halt::Bytes), _) => Some(format!("--max-gb stopped the run, {left} tests remain")),
            (None, Some(Halt::Money), _) => Some(format!("--max-usd stopped the run, {left} tests remain")),
            (None, Some(Halt::Interrupted), _) => Some(format!(
                "interrupted, {left} tests remain; continue with 'weir mesh run --resume {run}'"
            )),
            (None, None, 0) => None,
            (None, None, failed) => Some(format!("{failed} of {tests} tests failed")),
        };
        let outcome = match (&problem, conductor.halt) {
            (None, _) => Outcome::Finished,
            (_, Some(Halt::Interrupted)) => Outcome::Interrupted,
            _ => Outcome::Failed,
        };
        Ending {
            outcome,
            problem,
            summary,
        }
    }
}

fn beat(store: &Store, run: RunId) {
    // After a missed heartbeat, readers see the run as interrupted until the next one.
    let _ = store.heartbeat(run);
}

/// Removes a database and its journal files.
pub fn remove(file: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(end);
        // Most of them do not exist.
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}

#[cfg(test)]
mod tests;
