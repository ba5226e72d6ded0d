//! The order of tests while a mesh runs: at most one per host at a time, within the limits of bytes and cost, failed
//! ones repeated once at the end. Pure: the [`Conductor`] receives events and decides what to start. [`whole`] has the
//! run around it.

#[cfg(feature = "programs")]
pub mod repeats;
#[cfg(feature = "programs")]
mod resume;
#[cfg(feature = "programs")]
pub mod threads;
#[cfg(feature = "programs")]
pub mod whole;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::estimate::{Limits, TestShape};
use crate::filter::Over;
use crate::hosts::Host;
use crate::rounds::Pair;
use weir_record::CloudFacts;

#[cfg(feature = "programs")]
pub use resume::ResumeError;

/// What is known of a host once its agent runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ready {
    /// Kernel and architecture, as `uname -sm` says.
    pub system: String,
    /// Most bytes that a TCP socket may announce as its window (`tcp_rmem`).
    pub receive_window_bytes: Option<u64>,
    /// Most bytes that a TCP socket may have unacknowledged (`tcp_wmem`).
    pub send_window_bytes: Option<u64>,
    /// Its clock less ours, seconds.
    pub clock_ahead_s: i64,
    /// What its cloud tells it about itself; none where its agent does not say.
    pub told: Option<CloudFacts>,
}

/// Why something could not be done on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// In words, with what to do.
    pub message: String,
}

/// Kinds of faults, as far as they ask for different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The host does not answer.
    Unreachable,
    /// Its key is not the one that is known.
    HostKey,
    /// It does not let us in.
    Denied,
    /// No program for its processor.
    Architecture,
    /// The agent did not start, or cannot be reached by the other host.
    Agent,
    /// It is not where, or not what, it was ordered to be.
    Misplaced,
    /// The test itself failed.
    Test,
    /// It took longer than it may.
    Slow,
    /// The user stopped it.
    Interrupted,
}

/// What a run needs to go on after a kill; it is kept as the parameters of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Word in the names of its folders on the hosts.
    pub token: String,
    /// The hosts.
    pub hosts: Vec<Host>,
    /// Pairs to test, in the order of their rounds.
    pub pairs: Vec<Pair>,
    /// What a gigabyte of each pair costs, US dollars.
    pub usd_per_gb: Vec<Option<f64>>,
    /// Over which addresses each pair is tested; public ones where nothing says so.
    #[serde(default)]
    pub over: Vec<Over>,
    /// Hosts that are not as ordered are left out.
    #[serde(default)]
    pub strict_placement: bool,
    /// What a test does.
    pub shape: TestShape,
    /// Limits for bytes and money.
    pub limits: Limits,
    /// The run that this one goes on with.
    pub resumes: Option<i64>,
}

impl Order {
    /// Addresses of a test.
    pub fn over(&self, index: usize) -> Over {
        self.over.get(index).copied().unwrap_or_default()
    }

    /// Hosts that take part.
    pub fn taking_part(&self) -> BTreeSet<usize> {
        self.pairs.iter().flat_map(|(from, to)| [*from, *to]).collect()
    }

    /// How long agents live: three times the expected duration of the run.
    pub fn life_s(&self) -> u64 {
        // 30 days, longer than any run.
        const MOST_S: u64 = 30 * 24 * 3600;
        let tests = |host: usize| {
            self.pairs
                .iter()
                .filter(move |(from, to)| [*from, *to].contains(&host))
        };
        let busiest = (0..self.hosts.len()).map(|host| tests(host).count() as u64).max();
        let tests_s = busiest
            .unwrap_or(0)
            .saturating_mul(self.shape.duration_ns() / 1_000_000_000);
        tests_s.saturating_mul(3).saturating_add(900).min(MOST_S)
    }

    /// The rest of this order when tests between these hosts, by name, and over these addresses are done and have sent these
    /// bytes: limits apply to both runs together.
    pub fn without(mut self, done: &BTreeMap<(String, String, Over), u64>) -> Order {
        let name = |host: usize| self.hosts[host].name.clone();
        let sent: Vec<Option<u64>> = self
            .pairs
            .iter()
            .enumerate()
            .map(|(index, (from, to))| done.get(&(name(*from), name(*to), self.over(index))).copied())
            .collect();
        let bytes: u64 = sent
            .iter()
            .flatten()
            .fold(0, |sum, bytes| sum.saturating_add(*bytes));
        let usd: f64 = sent
            .iter()
            .zip(&self.usd_per_gb)
            .filter_map(|(bytes, usd)| Some((*bytes)? as f64 / 1e9 * (*usd)?))
            .sum();
        self.limits.max_bytes = self.limits.max_bytes.map(|most| most.saturating_sub(bytes));
        self.limits.max_usd = self.limits.max_usd.map(|most| (most - usd).max(0.0));
        let mut left = sent.iter().map(Option::is_none);
        self.pairs.retain(|_| left.next().unwrap_or(true));
        let mut left = sent.iter().map(Option::is_none);
        self.usd_per_gb.retain(|_| left.next().unwrap_or(true));
        let mut left = sent.iter().map(Option::is_none);
        self.over.retain(|_| left.next().unwrap_or(true));
        self
    }

    /// Whether the numbers in it fit each other, and its word can stand in the name of a folder.
    pub fn is_sound(&self) -> bool {
        let known = |host: &usize| *host < self.hosts.len();
        let word = !self.token.is_empty() && self.token.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let private = |(index, (_, to)): (usize, &Pair)| {
            self.over(index) == Over::Public || !self.hosts[*to].private_address.is_empty()
        };
        word && self.usd_per_gb.len() == self.pairs.len()
            && self
                .pairs
                .iter()
                .all(|(from, to)| known(from) && known(to) && from != to)
            && self.pairs.iter().enumerate().all(private)
    }
}

/// Why nothing more is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Halt {
    /// One more test could pass `--max-gb`.
    Bytes,
    /// One more test could pass `--max-usd`.
    Money,
    /// The user stopped it.
    Interrupted,
}

/// Times that a test is made when it fails.
const MOST_TRIES: u8 = 2;

/// Says which test begins.
#[derive(Debug)]
pub struct Conductor {
    pairs: Vec<Pair>,
    usd_per_gb: Vec<Option<f64>>,
    waiting: VecDeque<usize>,
    again: VecDeque<usize>,
    tries: Vec<u8>,
    busy: Vec<bool>,
    lost: Vec<bool>,
    running: usize,
    most_running: usize,
    most_bytes: u64,
    test_hours: f64,
    limits: Limits,
    /// What machines that were launched for it have cost so far.
    pub machines: MachinesCost,
    /// Bytes sent so far.
    pub bytes: u64,
    /// What they cost, US dollars.
    pub usd: f64,
    /// Tests that went through.
    pub finished: usize,
    /// Tests that failed for good.
    pub failed: usize,
    /// Why nothing more is started.
    pub halt: Option<Halt>,
}

/// What machines that were launched cost, as far as prices are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachinesCost {
    /// Up to now, US dollars.
    pub usd: f64,
    /// For each hour that they stay, US dollars.
    pub usd_per_hour: f64,
}

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It went through.
    Finished,
    /// It failed and is made once more at the end.
    Again,
    /// It failed for good.
    Failed,
}

impl Conductor {
    /// For an order, with at most so many tests at once.
    pub fn new(order: &Order, most_running: usize) -> Conductor {
        Conductor {
            pairs: order.pairs.clone(),
            usd_per_gb: order.usd_per_gb.clone(),
            waiting: (0..order.pairs.len()).collect(),
            again: VecDeque::new(),
            tries: vec![0; order.pairs.len()],
            busy: vec![false; order.hosts.len()],
            lost: vec![false; order.hosts.len()],
            running: 0,
            most_running: most_running.max(1),
            most_bytes: order.shape.most_bytes(),
            test_hours: order.shape.duration_ns() as f64 / 3.6e12,
            machines: MachinesCost::default(),
            limits: order.limits,
            bytes: 0,
            usd: 0.0,
            finished: 0,
            failed: 0,
            halt: None,
        }
    }

    /// The next test that can begin now, as its place in the order; it counts as running from now on. The first in the
    /// order whose hosts are both free begins; so rounds follow each other without waiting for the slowest test.
    pub fn start(&mut self) -> Option<usize> {
        if self.halt.is_some() || self.running == self.most_running {
            return None;
        }
        let free = |index: &usize| {
            let (from, to) = self.pairs[*index];
            !self.busy[from] && !self.busy[to]
        };
        // Tests that failed wait until the others have begun.
        let queue = if self.waiting.is_empty() {
            &self.again
        } else {
            &self.waiting
        };
        let at = queue.iter().position(free)?;
        let index = *queue.get(at)?;
        if let Some(halt) = self.would_pass(index) {
            self.halt = Some(halt);
            return None;
        }
        if self.waiting.is_empty() {
            self.again.remove(at);
        } else {
            self.waiting.remove(at);
        }
        let (from, to) = self.pairs[index];
        (self.busy[from], self.busy[to]) = (true, true);
        self.running += 1;
        self.tries[index] += 1;
        Some(index)
    }

    /// Whether one more test could pass a limit, if it and all that run send as much as they may.
    fn would_pass(&self, index: usize) -> Option<Halt> {
        let tests = self.running as u64 + 1;
        let bytes = self.bytes.saturating_add(tests.saturating_mul(self.most_bytes));
        if self.limits.max_bytes.is_some_and(|most| bytes > most) {
            return Some(Halt::Bytes);
        }
        // The dearest of those that run is not known here; that of all is on the safe side.
        let dearest = self.usd_per_gb.iter().flatten().copied().fold(0.0, f64::max);
        let own = self.usd_per_gb[index].unwrap_or(dearest);
        let egress = self.usd + self.most_bytes as f64 / 1e9 * (own + dearest * self.running as f64);
        let usd = egress + self.machines.usd + self.machines.usd_per_hour * self.test_hours;
        let passes = self.limits.max_usd.is_some_and(|most| usd > most);
        passes.then_some(Halt::Money)
    }

    /// Takes what became of a test that was started. `sent` are the bytes that it has sent, or may have.
    pub fn ended(&mut self, index: usize, went_through: bool, sent: u64) -> Fate {
        let (from, to) = self.pairs[index];
        (self.busy[from], self.busy[to]) = (false, false);
        self.running -= 1;
        self.bytes = self.bytes.saturating_add(sent);
        self.usd += self.usd_per_gb[index].unwrap_or(0.0) * sent as f64 / 1e9;
        if went_through {
            self.finished += 1;
            return Fate::Finished;
        }
        if self.tries[index] < MOST_TRIES && !self.lost[from] && !self.lost[to] && self.halt.is_none() {
            self.again.push_back(index);
            return Fate::Again;
        }
        self.failed += 1;
        Fate::Failed
    }

    /// Takes a host out: the tests that wait for it fail. Gives their places in the order.
    pub fn lose(&mut self, host: usize) -> Vec<usize> {
        self.lost[host] = true;
        let pairs = &self.pairs;
        let touches = |index: &usize| pairs[*index].0 == host || pairs[*index].1 == host;
        let gone: Vec<usize> = self
            .waiting
            .iter()
            .chain(&self.again)
            .copied()
            .filter(touches)
            .collect();
        self.waiting.retain(|index| !touches(index));
        self.again.retain(|index| !touches(index));
        self.failed += gone.len();
        gone
    }

    /// Starts nothing more.
    pub fn interrupt(&mut self) {
        self.halt.get_or_insert(Halt::Interrupted);
    }

    /// Tests that run.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Tests that wait, those that are to be made once more among them.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.again.len()
    }

    /// Nothing runs, and nothing more will.
    pub fn is_done(&self) -> bool {
        self.running == 0 && (self.halt.is_some() || self.waiting() == 0)
    }
}

#[cfg(test)]
mod tests;
