//! TCP over windows and over numbers of connections: which tests to make, and what they say. Pure: it plans tests and takes
//! their results; it must not know how a test is made.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use weir_record::Direction;
use weir_stats::median;
use weir_units::Rate;

use crate::Limits;
use crate::tcp_throughput::{TcpRequest, TcpSummary};

/// Most connections that the search tries.
pub const MOST_STREAMS: u16 = 64;
/// The search doubles connections as long as that brings this many times the rate.
const GROWTH: f64 = 1.1;
/// Connections fill a path when they carry this share of its rate.
pub const FULL: f64 = 0.95;
/// Connections that carry less than this share of as many times what one carried are held by the path.
const HELD_BY_PATH: f64 = 0.9;
/// Connections that carry less than this share of what others carried are more than the path or the hosts bear.
const OVERLOADED: f64 = 0.85;
/// Share of the time that a window or a buffer holds connections from which on it is what limits them.
const HELD: f64 = 0.2;
/// Kind of run, whose parts are the tests.
pub const KIND: &str = "tcp-sweep";
/// Time to set a test up.
const SETUP_NS: u64 = 500_000_000;

/// What the user asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPlan {
    /// Which end sends.
    pub direction: Direction,
    /// Windows to test, bytes; empty where the kernels choose the window.
    pub windows: Vec<u64>,
    /// Connections of each test.
    pub streams: u16,
    /// Find the number of connections that fill the path, with the last window.
    pub fill: bool,
    /// Duration of each test, nanoseconds.
    pub duration_ns: u64,
    /// Of it, time at the beginning that does not count, nanoseconds.
    pub omit_ns: u64,
    /// Payload bytes that all tests may send.
    pub max_bytes: u64,
}

/// What limits a test, as far as the sender's kernel tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The window that the receiver announces.
    Window,
    /// The sender's buffer.
    SendBuffer,
    /// Neither: the path, its congestion control, or a rate limit.
    Path,
}

/// A test, beside what its window allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowTest {
    /// The test.
    #[serde(flatten)]
    pub test: TcpSummary,
    /// Rate that the announced window allows at this RTT, all connections together; none where no window was set, or it is
    /// not known.
    pub window_rate: Option<Rate>,
    /// What limited it; none where the sender's kernel does not tell.
    pub limit: Option<Limit>,
}

/// How many connections fill the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filled {
    /// The smallest number that carried [`FULL`] of `rate`; none where the rate still grew with the most connections.
    pub streams: Option<u16>,
    /// Rate of the path, as far as the tests show it.
    pub rate: Rate,
    /// The largest number that was tried.
    pub most_streams: u16,
}

/// What all tests found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepSummary {
    /// Tests, in the order in which they were made.
    pub tests: Vec<WindowTest>,
    /// Connections that fill the path, where they were searched for.
    pub fill: Option<Filled>,
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// The byte limit cut a test short, or kept tests from being made.
    pub hit_byte_limit: bool,
}

/// What a number of connections carried.
#[derive(Clone, Copy, Debug)]
struct Carried {
    /// Goodput, bits per second.
    rate: f64,
    /// Packets were sent again.
    lost: bool,
}

/// Tests in progress.
#[derive(Clone, Debug)]
pub struct Sweep {
    plan: SweepPlan,
    limits: Limits,
    waiting: VecDeque<(Option<u64>, u16)>,
    /// What numbers of connections carried, of the search.
    carried: BTreeMap<u16, Carried>,
    found: SweepSummary,
}

impl Sweep {
    /// Tests within the agent's limits.
    #[must_use]
    pub fn new(plan: SweepPlan, limits: Limits) -> Self {
        let mut sweep = Sweep {
            waiting: VecDeque::new(),
            carried: BTreeMap::new(),
            found: SweepSummary::default(),
            plan,
            limits,
        };
        sweep.waiting = sweep.known_tests().into();
        sweep
    }

    /// Tests that are known before the first: those of the search follow from their results.
    fn known_tests(&self) -> Vec<(Option<u64>, u16)> {
        let windows: Vec<Option<u64>> = match self.plan.windows.as_slice() {
            [] => vec![None],
            windows => windows.iter().copied().map(Some).collect(),
        };
        if self.plan.fill {
            return windows.last().map(|window| (*window, 1)).into_iter().collect();
        }
        windows
            .into_iter()
            .map(|window| (window, self.plan.streams))
            .collect()
    }

    /// How long all tests take at most, nanoseconds, and how many bytes they may send.
    #[must_use]
    pub fn estimate(&self) -> (u64, u64) {
        let most = u64::from(self.most_streams());
        // A search doubles up to the most, and halves the last step.
        let doublings = u64::from(most.ilog2());
        let tests = if self.plan.fill {
            1 + 2 * doublings
        } else {
            self.known_tests().len() as u64
        };
        let each = self.limits.max_rate.bytes_in(self.plan.duration_ns);
        (
            self.plan
                .duration_ns
                .saturating_add(SETUP_NS)
                .saturating_mul(tests),
            each.saturating_mul(tests).min(self.plan.max_bytes),
        )
    }

    fn most_streams(&self) -> u16 {
        MOST_STREAMS.min(self.limits.max_flows).max(1)
    }

    /// The next test; none at the end.
    pub fn next_request(&mut self) -> Option<TcpRequest> {
        let left = self.plan.max_bytes.saturating_sub(self.found.bytes);
        let (window_bytes, streams) = self.waiting.pop_front()?;
        if left == 0 {
            self.waiting.clear();
            self.found.hit_byte_limit = true;
            return None;
        }
        Some(TcpRequest {
            direction: self.plan.direction,
            streams,
            duration_ns: self.plan.duration_ns,
            max_rate: self.limits.max_rate,
            max_bytes: left,
            window_bytes,
            omit_ns: self.plan.omit_ns,
        })
    }

    /// Takes what a test found.
    pub fn on_result(&mut self, test: TcpSummary) {
        self.found.bytes = self.found.bytes.saturating_add(test.bytes);
        self.found.hit_byte_limit |= test.hit_byte_limit;
        let complete = !test.hit_byte_limit;
        let streams = test.streams;
        let carried = Carried {
            rate: test.goodput.0 as f64,
            lost: test.retransmits > 0,
        };
        self.found.tests.push(WindowTest::of(test));
        // A test that was cut short says nothing about the path.
        if self.plan.fill && complete {
            self.carried.insert(streams, carried);
            let next = self.next_number();
            let window = self.plan.windows.last().copied();
            self.waiting.extend(next.map(|streams| (window, streams)));
        }
    }

    /// The next number of connections: twice as many while that brings more; then between the last two, for samples of the path's
    /// rate; then halfway between those that do not fill the path and those that do.
    fn next_number(&self) -> Option<u16> {
        let (most, _) = self.carried.last_key_value()?;
        if self.grows() {
            return Some(most * 2).filter(|twice| *twice <= self.most_streams());
        }
        let (below, filling) = self.unsampled().unwrap_or_else(|| self.between());
        (filling - below > 1).then(|| below + (filling - below) / 2)
    }

    /// Whether the largest number carried clearly more than half of it.
    fn grows(&self) -> bool {
        let Some((most, last)) = self.carried.last_key_value() else {
            return false;
        };
        match self.carried.get(&(most / 2)) {
            Some(half) => last.rate >= GROWTH * half.rate,
            None => true,
        }
    }

    /// Half of the largest number, and the next that was tried; none where they are close. The path holds what lies between, with
    /// less waiting and loss than the largest number brings.
    fn unsampled(&self) -> Option<(u16, u16)> {
        let (most, _) = self.carried.last_key_value()?;
        let half = most / 2;
        let (above, _) = self.carried.range(half + 1..).next()?;
        (above - half > (most / 8).max(1)).then_some((half, *above))
    }

    /// Rate of the path: the most that arrived without loss, since that is never more than the path carries. Where all tests that
    /// the path held lost packets, their median: what a repaired loss sets free may arrive in the time that counts, and what is
    /// repaired late arrives after it, so that many connections are off by a tenth.
    fn path_rate(&self) -> f64 {
        let one = self.carried.get(&1).map_or(0.0, |test| test.rate);
        let most = most_of(self.carried.values());
        let held: Vec<&Carried> = self
            .carried
            .iter()
            .filter(|(streams, test)| test.rate < HELD_BY_PATH * f64::from(**streams) * one)
            // So many connections that they overload path or host.
            .filter(|(_, test)| test.rate >= OVERLOADED * most)
            .map(|(_, test)| test)
            .collect();
        if held.is_empty() {
            return most;
        }
        if held.iter().all(|test| test.lost) {
            return median(held.iter().map(|test| test.rate).collect());
        }
        most_of(self.carried.values().filter(|test| !test.lost))
    }

    /// The largest number below those that fill the path, 0 if even one does; and the smallest that does.
    fn between(&self) -> (u16, u16) {
        let full = FULL * self.path_rate();
        let filling = self.carried.iter().find(|(_, test)| test.rate >= full);
        let filling = filling.map_or(0, |(streams, _)| *streams);
        let below = self.carried.range(..filling).next_back();
        (below.map_or(0, |(streams, _)| *streams), filling)
    }

    /// What has been found.
    #[must_use]
    pub fn summary(&self) -> SweepSummary {
        let mut found = self.found.clone();
        if let Some((most, _)) = self.carried.last_key_value() {
            let stopped = self.next_number().is_some();
            let is_known = !stopped && !self.grows();
            found.fill = Some(Filled {
                streams: is_known.then(|| self.between().1),
                rate: Rate(self.path_rate() as u64),
                most_streams: *most,
            });
        }
        found
    }
}

impl WindowTest {
    fn of(test: TcpSummary) -> Self {
        let announced = test.window.and_then(|window| window.announced_bytes);
        let window_rate = announced.filter(|_| test.rtt_ns > 0).map(|bytes| {
            let together = bytes.saturating_mul(u64::from(test.streams));
            Rate::of(together, test.rtt_ns)
        });
        let limit = match (test.receiver_limited, test.sender_limited) {
            (None, _) | (_, None) => None,
            (Some(receiver), Some(sender)) if receiver.max(sender) < HELD => Some(Limit::Path),
            (Some(receiver), Some(sender)) if receiver >= sender => Some(Limit::Window),
            _ => Some(Limit::SendBuffer),
        };
        WindowTest {
            test,
            window_rate,
            limit,
        }
    }
}

fn most_of<'a>(tests: impl Iterator<Item = &'a Carried>) -> f64 {
    tests.map(|test| test.rate).fold(0.0, f64::max)
}

/// Rate that a window allows over a round trip.
#[must_use]
pub fn rate_of(window_bytes: u64, rtt_ns: u64) -> Rate {
    Rate::of(window_bytes, rtt_ns)
}

/// Window that a rate needs over a round trip (the bandwidth-delay product), bytes.
#[must_use]
pub fn window_of(rate: Rate, rtt_ns: u64) -> u64 {
    rate.bytes_in(rtt_ns)
}

#[cfg(test)]
mod tests;
