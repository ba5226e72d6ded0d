//! Which measurement starts when, as a core with a timer: [`wake`](Schedule::wake) at [`next_wake`](Schedule::next_wake)
//! returns what starts, [`ended`](Schedule::ended) takes what became of it. It has no clock, and must not know how a test
//! works inside.
//!
//! Times are Unix nanoseconds. A test at intervals starts once in each period of Unix time, at a moment of the period that
//! follows from the names of the pair and the number of the period. So a watcher that is killed and started again makes no
//! test twice and needs no state, and several watchers of one file agree: surveys have rounds of disjoint pairs, and no
//! host is in two at a time.

mod admission;
mod moments;
#[cfg(test)]
mod tests;

use crate::config::{Config, Pair};
use crate::plan::{Plan, RTT_SESSION_NS};
use admission::Admissions;
use moments::{Moment, Moments, draw};

const SECOND_NS: u64 = 1_000_000_000;
/// Starts of a watcher's RTT tests are spread over this time.
const SPREAD_NS: u64 = 5 * SECOND_NS;
/// First and longest pause after a failure.
const FIRST_PAUSE_NS: u64 = SECOND_NS;
const LONGEST_PAUSE_NS: u64 = 300 * SECOND_NS;
/// A test that ran as long ends a series of failures.
const SOUND_NS: u64 = 60 * SECOND_NS;

/// Kinds of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Windowed RTT, all the time.
    Rtt,
    /// Low-rate flows.
    Flows,
    /// A survey. It loads both hosts.
    Survey,
}

/// A measurement of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Task {
    /// Position of the pair in [`Config::pairs`].
    pub pair: usize,
    /// What is measured.
    pub kind: Kind,
}

/// A measurement that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Which.
    pub task: Task,
    /// When it must be over, Unix nanoseconds.
    pub until_ns: u64,
}

/// A test of a pair at intervals.
#[derive(Clone, Copy, Debug)]
struct Recurring {
    next: Option<Moment>,
    running: bool,
}

/// Windowed RTT of a pair.
#[derive(Clone, Copy, Debug)]
struct Continuous {
    /// When it starts, unless it runs.
    due_ns: u64,
    /// When it started.
    running: Option<u64>,
    /// Failures in a row.
    failures: u32,
}

#[derive(Clone, Debug)]
struct Watched {
    pair: usize,
    /// Number from the names of both hosts.
    key: u64,
    rtt: Continuous,
    flows: Recurring,
    survey: Recurring,
}

/// The schedule of one watcher.
#[derive(Clone, Debug)]
pub struct Schedule {
    watched: Vec<Watched>,
    moments: Moments,
    admissions: Admissions,
    now_ns: u64,
    /// Surveys that the budget left out.
    left_out: u64,
}

impl Schedule {
    /// The schedule of this watcher's pairs from `now_ns` on.
    #[must_use]
    pub fn new(config: &Config, plan: &Plan, now_ns: u64) -> Self {
        let moments = Moments::of(config, plan);
        let mut schedule = Schedule {
            watched: Vec::new(),
            admissions: Admissions::of(config, plan),
            moments,
            now_ns,
            left_out: 0,
        };
        for (pair, Pair { .. }) in config.own_pairs() {
            let key = schedule.moments.key(pair);
            let rtt = Continuous {
                // Not in this second: one that was killed may have stored a part of it.
                due_ns: now_ns.saturating_add(SECOND_NS + draw(key, now_ns) % SPREAD_NS),
                running: None,
                failures: 0,
            };
            let idle = Recurring {
                next: None,
                running: false,
            };
            schedule.watched.push(Watched {
                pair,
                key,
                rtt,
                flows: idle,
                survey: idle,
            });
        }
        schedule.plan_all(now_ns);
        schedule
    }

    /// When [`wake`](Self::wake) has something to start, unless an [`ended`](Self::ended) comes before.
    #[must_use]
    pub fn next_wake(&self) -> Option<u64> {
        let surveying = self.is_running(Kind::Survey);
        let carrying = self.is_running(Kind::Flows);
        let each = |watched: &Watched| {
            let due = |recurring: Recurring, held_up: bool| {
                let idle = !recurring.running && !held_up;
                recurring.next.filter(|_| idle).map(|moment| moment.start_ns)
            };
            let rtt = watched.rtt.running.is_none().then_some(watched.rtt.due_ns);
            [
                rtt,
                due(watched.flows, surveying),
                due(watched.survey, surveying || carrying),
            ]
        };
        self.watched.iter().flat_map(each).flatten().min()
    }

    /// Starts what is due.
    pub fn wake(&mut self, now_ns: u64) -> Vec<Start> {
        if now_ns.saturating_add(LONGEST_PAUSE_NS) < self.now_ns {
            // The clock was set back: what was to come is far ahead now.
            self.plan_all(now_ns);
            for watched in &mut self.watched {
                watched.rtt.due_ns = watched.rtt.due_ns.min(now_ns + LONGEST_PAUSE_NS);
                watched.rtt.running = watched.rtt.running.map(|since| since.min(now_ns));
            }
        }
        self.now_ns = now_ns;
        let mut starts = self.start_rtt(now_ns);
        starts.extend(self.start_surveys(now_ns));
        starts.extend(self.start_flows(now_ns));
        starts
    }

    /// A measurement is over; `failed` says that it did not come about or broke off.
    pub fn ended(&mut self, now_ns: u64, task: Task, failed: bool) {
        let Some(watched) = self.watched.iter_mut().find(|watched| watched.pair == task.pair) else {
            return;
        };
        match task.kind {
            Kind::Flows => watched.flows.running = false,
            Kind::Survey => watched.survey.running = false,
            Kind::Rtt => {
                let rtt = &mut watched.rtt;
                let since_ns = rtt.running.take().unwrap_or(now_ns);
                if !failed || now_ns.saturating_sub(since_ns) >= SOUND_NS {
                    rtt.failures = 0;
                }
                rtt.failures += u32::from(failed);
                rtt.due_ns = now_ns.saturating_add(pause_ns(watched.key, rtt.failures, now_ns));
            }
        }
    }

    /// Failures in a row of a pair's RTT test.
    #[must_use]
    pub fn failures(&self, pair: usize) -> u32 {
        let found = self.watched.iter().find(|watched| watched.pair == pair);
        found.map_or(0, |watched| watched.rtt.failures)
    }

    /// Surveys that the budget left out so far.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn is_running(&self, kind: Kind) -> bool {
        self.watched.iter().any(|watched| match kind {
            Kind::Rtt => watched.rtt.running.is_some(),
            Kind::Flows => watched.flows.running,
            Kind::Survey => watched.survey.running,
        })
    }

    /// The moments that come next of all tests at intervals.
    fn plan_all(&mut self, now_ns: u64) {
        for watched in &mut self.watched {
            watched.flows.next = self.moments.next_flows(watched.pair, now_ns);
            watched.survey.next = self.moments.next_survey(watched.pair, now_ns);
        }
    }

    fn start_rtt(&mut self, now_ns: u64) -> Vec<Start> {
        let mut starts = Vec::new();
        for watched in &mut self.watched {
            let rtt = &mut watched.rtt;
            if rtt.running.is_some() || rtt.due_ns > now_ns {
                continue;
            }
            rtt.running = Some(now_ns);
            // Of different lengths, so that the sessions of many pairs do not end at once.
            let length = RTT_SESSION_NS - draw(watched.key, now_ns) % (RTT_SESSION_NS / 4);
            starts.push(Start {
                task: Task {
                    pair: watched.pair,
                    kind: Kind::Rtt,
                },
                until_ns: now_ns.saturating_add(length),
            });
        }
        starts
    }

    /// One survey at a time, and none beside low-rate flows, whose packets it would drop.
    fn start_surveys(&mut self, now_ns: u64) -> Vec<Start> {
        let mut free = !self.is_running(Kind::Survey) && !self.is_running(Kind::Flows);
        let mut starts = Vec::new();
        for place in 0..self.watched.len() {
            let watched = &mut self.watched[place];
            let Some(moment) = watched.survey.next.filter(|moment| moment.start_ns <= now_ns) else {
                continue;
            };
            let is_over = moment.latest_ns < now_ns;
            if watched.survey.running || (!free && !is_over) {
                continue;
            }
            let pair = watched.pair;
            watched.survey.next = self.moments.next_survey(pair, now_ns.max(moment.latest_ns));
            if is_over {
                continue;
            }
            if !self.admissions.admit(&self.moments, pair, moment.start_ns) {
                self.left_out += 1;
                continue;
            }
            self.watched[place].survey.running = true;
            free = false;
            starts.push(Start {
                task: Task {
                    pair,
                    kind: Kind::Survey,
                },
                until_ns: moment.end_ns,
            });
        }
        starts
    }

    fn start_flows(&mut self, now_ns: u64) -> Vec<Start> {
        let surveying = self.is_running(Kind::Survey);
        let mut starts = Vec::new();
        for watched in &mut self.watched {
            let Some(moment) = watched.flows.next.filter(|moment| moment.start_ns <= now_ns) else {
                continue;
            };
            let is_over = moment.latest_ns < now_ns;
            if watched.flows.running || (surveying && !is_over) {
                continue;
            }
            watched.flows.next = self
                .moments
                .next_flows(watched.pair, now_ns.max(moment.latest_ns));
            if is_over {
                continue;
            }
            watched.flows.running = true;
            starts.push(Start {
                task: Task {
                    pair: watched.pair,
                    kind: Kind::Flows,
                },
                until_ns: moment.end_ns,
            });
        }
        starts
    }
}

/// Pause after so many failures in a row: doubled each time, and between half and all of it at random, so that watchers do
/// not come back at once.
fn pause_ns(key: u64, failures: u32, now_ns: u64) -> u64 {
    if failures == 0 {
        return 0;
    }
    let doublings = (failures - 1).min(20);
    let whole = (FIRST_PAUSE_NS << doublings).min(LONGEST_PAUSE_NS);
    whole / 2 + draw(key, now_ns) % (whole / 2 + 1)
}
