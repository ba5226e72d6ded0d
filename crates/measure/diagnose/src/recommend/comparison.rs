//! Ways to repair, tried one after the other, and the cheapest that does what is asked for. It must not know how a trial is
//! made, nor put anything into words but by [`sentence`](super::sentence).

use super::candidates::{Budget, Forecast, candidates, overhead};
use super::trial::{LONGER, Losses, Trials, Tried, wait_ns};
use super::{Loss, mean, sentence};
use crate::analysis::{Step, Steps};
use crate::finding::{Compared, ForecastCheck, Recovery, Survival, Survive};
use crate::measured::Measured;

/// Flows that a stream has at least if one of them, or a route, may be dark.
const LEAST_FLOWS: u16 = 4;

/// Latency that surviving an outage may take unless the user has set one, nanoseconds.
const LONGEST_NS: u64 = 1_000_000_000;

/// What is to be repaired, and what decides how.
pub(super) struct Question<'l, 'o> {
    pub measured: &'l Measured,
    pub steps: &'l Steps<'l>,
    pub flows: u16,
    pub loss: &'l Loss,
    /// Some loss was seen.
    pub seen: bool,
    pub target: f64,
    pub packet_ns: f64,
    pub budget: Budget,
    pub forecast: Forecast,
    pub trials: Option<Trials<'o>>,
}

/// What was chosen, and what it was compared with.
pub(super) struct Choice {
    pub flows: u16,
    pub chosen: Compared,
    pub check: Option<ForecastCheck>,
    /// The cheapest first, up to the first that meets the target.
    pub compared: Vec<Compared>,
}

impl Question<'_, '_> {
    /// What an outage in a test calls for: that the stream survives another one.
    pub fn outage_seen(&self) -> Option<Survive> {
        let of_one_flow = self.loss.dark_share * f64::from(self.flows) <= 1.0;
        (self.loss.dark_share > 0.0).then_some(if of_one_flow {
            Survive::Flow
        } else {
            Survive::Route
        })
    }

    /// What to use, and whether it survives that; where nothing does, what to use without it.
    pub fn answer(&self, survive: Option<Survive>) -> (Choice, bool) {
        let budget = match survive {
            Some(_) if !self.budget.is_firm => self.longest(),
            _ => self.budget,
        };
        let choice = self.cheapest(survive, budget);
        if choice.chosen.meets_target || survive.is_none() {
            return (choice, true);
        }
        (self.cheapest(None, self.budget), false)
    }

    /// The cost of surviving more; nothing without trials, or where the settings do not carry the media as it is.
    pub fn prices(&self, chosen: &Compared) -> Vec<Survival> {
        if self.trials.is_none() || (self.seen && !chosen.meets_target) {
            return Vec::new();
        }
        [Survive::Flow, Survive::Route].map(|of| self.price(of)).into()
    }

    fn price(&self, of: Survive) -> Survival {
        let Choice { flows, chosen, .. } = self.cheapest(Some(of), self.longest());
        let recovery = Some(chosen.recovery).filter(|_| chosen.meets_target);
        let mut survival = Survival {
            of,
            flows,
            recovery,
            overhead: chosen.overhead,
            latency_ns: wait_ns(self.measured, self.steps, &chosen.recovery),
            sentence: String::new(),
        };
        survival.sentence = sentence::price(&survival);
        survival
    }

    fn longest(&self) -> Budget {
        Budget {
            ns: self.budget.ns.max(LONGEST_NS),
            ..self.budget
        }
    }

    /// The first that meets the target, else what leaves least.
    fn cheapest(&self, survive: Option<Survive>, budget: Budget) -> Choice {
        let flows = survive.map_or(self.flows, |_| self.flows.max(LEAST_FLOWS));
        let loss = Loss {
            dark_share: self.loss.dark_share.max(dark_by(survive, self.steps, flows)),
            ..self.loss.clone()
        };
        let attempt = Attempt {
            question: self,
            flows,
            survive,
            // Loss that was not seen is no reason for a code, a dark flow is.
            target: match (survive, loss.unseen(self.seen)) {
                (Some(_), Some(bound)) => bound.max(self.target),
                _ => self.target,
            },
        };
        let seen = self.seen || survive.is_some();
        let ways = candidates(&loss, seen, self.target, self.packet_ns, budget, &self.forecast);
        let ways = attempt.that_survive(ways);
        let mut all: Vec<(Compared, Option<ForecastCheck>)> = Vec::new();
        for recovery in &ways {
            all.push(attempt.judged(recovery));
            if all.last().is_some_and(|(last, _)| last.meets_target) {
                break;
            }
        }
        let compared: Vec<Compared> = all.iter().map(|(one, _)| one.clone()).collect();
        let left = |one: &Compared| one.simulated.map_or(one.expected, |bounds| bounds.2);
        let least = all.into_iter().min_by(|(a, _), (b, _)| {
            let by_target = b.meets_target.cmp(&a.meets_target);
            by_target.then(left(a).total_cmp(&left(b)))
        });
        let (chosen, check) = least.unwrap_or_else(|| attempt.judged(&Recovery::None));
        Choice {
            flows,
            chosen,
            check,
            compared,
        }
    }
}

/// What every way to repair is judged by.
struct Attempt<'q, 'l, 'o> {
    question: &'q Question<'l, 'o>,
    flows: u16,
    survive: Option<Survive>,
    target: f64,
}

impl Attempt<'_, '_, '_> {
    fn judged(&self, recovery: &Recovery) -> (Compared, Option<ForecastCheck>) {
        let Question { loss, forecast, .. } = self.question;
        let trials = self.question.trials.as_ref();
        let expected = forecast.residual(&loss.worst, recovery);
        let worst = mean(&loss.worst) / mean(&loss.fitted).max(f64::MIN_POSITIVE);
        // No trial shows a residual loss that no trial is long enough for: then the forecast may not miss the target.
        let trials = trials.filter(|trials| expected <= self.target || trials.can_show(self.target));
        let by = |times| {
            trials.and_then(|trials| trials.residual(self.flows, recovery, Losses::Twin(worst), times))
        };
        let mut tried = by(1);
        let can_settle = trials.is_some_and(|trials| trials.can_show(self.target));
        if can_settle && tried.is_some_and(|tried| self.is_in_doubt(&tried)) {
            tried = by(LONGER);
        }
        let (meets_target, check) = match tried.map(|tried| tried.residual) {
            None => (expected <= self.target, None),
            // What nothing repairs is what the tests lost, whichever routes the flows of a trial take.
            Some(_) if *recovery == Recovery::None && expected > self.target => (false, None),
            Some((left, _, _)) if left > self.target => (false, None),
            Some((_, _, high)) if high <= self.target => (true, None),
            // More is left than the forecast knows of.
            Some((_, low, _)) if low > expected => (false, None),
            Some(_) => self.by_check(recovery, expected),
        };
        let recorded = || trials?.residual(self.flows, recovery, Losses::Recorded, LONGER);
        let recorded = meets_target.then(recorded).flatten();
        let repairs = |tried: &Tried| tried.residual.0 <= self.target;
        let meets_target = meets_target && recorded.as_ref().is_none_or(repairs);
        let tried = recorded.filter(|tried| !repairs(tried)).or(tried);
        let compared = Compared {
            recovery: *recovery,
            overhead: tried.map_or_else(
                || overhead(recovery, mean(&loss.fitted)),
                |tried| (tried.sent_each - 1.0).max(0.0),
            ),
            expected,
            simulated: tried.map(|tried| tried.residual),
            simulated_packets: tried.map_or(0, |tried| tried.packets),
            meets_target: meets_target && self.survives(recovery),
        };
        (compared, check)
    }

    /// What was left may be more than the target, or less.
    fn is_in_doubt(&self, tried: &Tried) -> bool {
        let (_, low, high) = tried.residual;
        low <= self.target && high > self.target
    }

    /// Without those too weak to survive: of a kind, who survives with less does with more, so that few have to be tried.
    fn that_survive(&self, mut ways: Vec<Recovery>) -> Vec<Recovery> {
        for is_kind in [Recovery::is_arq, Recovery::is_code] {
            let kind: Vec<Recovery> = ways.iter().filter(|way| is_kind(way)).copied().collect();
            let strongest = kind.last().is_some_and(|strongest| self.survives(strongest));
            let weakest = if strongest {
                kind.partition_point(|way| !self.survives(way))
            } else {
                kind.len()
            };
            let weak = &kind[..weakest];
            ways.retain(|way| !weak.contains(way));
        }
        ways
    }

    fn survives(&self, recovery: &Recovery) -> bool {
        let (Some(what), Some(trials)) = (self.survive, &self.question.trials) else {
            return true;
        };
        trials.survives(self.flows, recovery, what)
    }

    /// Where failures are too rare to be counted: the forecast, made worse by as much as a trial with more loss shows.
    fn by_check(&self, recovery: &Recovery, expected: f64) -> (bool, Option<ForecastCheck>) {
        if expected > self.target {
            return (false, None);
        }
        let Question { loss, forecast, .. } = self.question;
        let trials = self.question.trials.as_ref();
        let check = trials.and_then(|trials| trials.check(self.flows, loss, recovery, forecast));
        let optimism = check.map_or(1.0, |check| {
            (check.simulated.1 / check.expected.max(f64::MIN_POSITIVE)).max(1.0)
        });
        (expected * optimism <= self.target, check)
    }
}

/// Share of the packets that are lost while that is dark.
fn dark_by(survive: Option<Survive>, steps: &Steps, flows: u16) -> f64 {
    let flow = 1.0 / f64::from(flows.max(1));
    match survive {
        None => 0.0,
        Some(Survive::Flow) => flow,
        Some(Survive::Route) => {
            let busiest = |step: &Step| {
                let members = step.routes.members.iter().map(Vec::len).max();
                members.map_or(1.0, |most| most as f64 / step.flow_count().max(1) as f64)
            };
            steps.steps.iter().map(busiest).fold(flow, f64::max)
        }
    }
}
