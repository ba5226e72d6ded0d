//! All flow tests of one direction, and what follows from them together.

use std::collections::BTreeMap;

use weir_measure::flows::{DirectionSummary, VariedPort};
use weir_measure::survey::LossOnset;
use weir_results::{Direction, RunId};
use weir_stats::{Variation, median};

use super::expected::Expected;
use super::joint::{self, Growth, Joint, Long};
use super::limit::{Limit, LimitKind};
use super::load::{LEAST_LOSS, Load};
use super::outages::Outage;
use super::pattern::{Pattern, pattern};
use super::settled::Settled;
use super::step::Step;
use crate::measured::{Measured, RttTest};

/// Where so much is lost beside dark times that is not lost at random, the shorter ones may be part of it.
const LOST: f64 = 0.2;

/// What hosts dropped hardly matters below this share of the lost packets, where the network lost this share of all.
const HARDLY: f64 = 0.05;
const MUCH: f64 = 0.05;

/// What a bucket held is known to this share.
const SAME: f64 = 0.2;

/// All flow tests of one direction.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    /// Which way.
    pub direction: Direction,
    /// IP and UDP header bytes in front of each payload.
    pub header_bytes: u32,
    /// In the order in which they were made.
    pub steps: Vec<Step<'a>>,
    /// Those with which a host did not keep up, where a later one has the same flows and payload and a host that did.
    pub set_aside: Vec<Step<'a>>,
    /// The test whose flows differ in their source port; those of all others differ in their destination port.
    pub by_source_port: Option<Step<'a>>,
    /// Tests at lower rates than others of the same flows and payload: they say nothing of media at the higher rate.
    pub eased: Vec<Step<'a>>,
    /// The rate at which loss begins, by these.
    pub onset: Option<LossOnset>,
    /// What limits the stream below its rate, if anything does.
    pub limit: Option<Limit>,
    /// From which length on packets are lost, if any are.
    pub long: Option<Long>,
    /// Loss that all of them meet, 0 to 1, with one flow, as a mean over the routes.
    pub everywhere: f64,
    /// Loss that grows with the number of flows.
    pub growth: Option<Growth>,
    /// What the network is expected to lose of each test, by its index.
    pub expected: BTreeMap<usize, Expected>,
    /// How much the loss events of a flow vary in time, in all plain steps together.
    pub variation: Variation,
    /// What is not chance about the losses of the plain steps.
    pub pattern: Option<Pattern>,
    /// The same of those whose losses make a process.
    pub process_pattern: Option<Pattern>,
}

impl<'a> Steps<'a> {
    /// Takes all tests of a direction apart.
    pub fn new(measured: &'a Measured, direction: Direction) -> Self {
        let tests = measured
            .flow_tests
            .iter()
            .filter(|test| test.direction == direction);
        let tests: Vec<Step> = tests.filter(|test| test.sent > 0).map(Step::new).collect();
        let (mut by_source_port, tests): (Vec<Step>, Vec<Step>) = tests
            .into_iter()
            .partition(|step| step.test.plan.varied == VariedPort::Source);
        let (set_aside, tests) = set_aside(tests);
        let (mut eased, mut steps) = eased(tests);
        confirm(&mut steps, &mut eased);
        let onset = onset(&steps, &eased);
        let jitter_ns = idle_jitter_ns(measured);
        let infer = |steps: &[Step], eased: &[Step]| {
            joint::infer(steps, eased, onset.as_ref(), measured.header_bytes, jitter_ns)
        };
        let mut joint = infer(&steps, &eased);
        let is_cap = |limit: &Limit| limit.kind != LimitKind::Path;
        let all = || steps.iter().chain(&eased);
        if all().any(|step| step.settled.is_some()) && !joint.limit.as_ref().is_some_and(is_cap) {
            // Without a cap there is no bucket: what passed less at the end of a test did so for another reason.
            for step in steps.iter_mut().chain(&mut eased) {
                step.settled = None;
            }
            joint = infer(&steps, &eased);
        }
        let Joint {
            limit,
            everywhere,
            growth,
            long,
            expected,
        } = joint;
        for (index, step) in steps.iter_mut().enumerate() {
            let is_limited = limit.as_ref().is_some_and(|limit| limit.steps.contains(&index));
            let is_more =
                |expected: &Expected| step.loss().rate() >= LOST + expected.long + expected.everywhere;
            if is_limited || expected.get(&index).is_some_and(is_more) {
                // A sender that sends flow after flow meets what takes the ends of its bursts with the same flows for several.
                let flows = step.flow_count();
                let is_of_all = |outage: &Outage| flows > 1 && outage.flows.len() == flows;
                step.outages
                    .retain(|outage| outage.is_long() || is_of_all(outage));
            }
        }
        let mut all = Steps {
            direction,
            header_bytes: measured.header_bytes,
            steps,
            set_aside,
            by_source_port: by_source_port.pop(),
            eased,
            onset,
            limit,
            everywhere,
            growth,
            long,
            expected,
            variation: Variation::default(),
            pattern: None,
            process_pattern: None,
        };
        // What long packets lose has a cause of its own.
        let longest = all.long.map_or(u32::MAX, |long| long.longest_good);
        let is_short = |step: &&Step| step.test.payload <= longest;
        let short: Vec<&Step> = all.plain().filter(is_short).collect();
        let variations = short.iter().map(|step| Variation::within(&step.events));
        let variation = variations.fold(Variation::default(), Variation::plus);
        let of_process: Vec<&Step> = all.of_process().into_iter().filter(is_short).collect();
        let (of_all, of_process) = (pattern(&short), pattern(&of_process));
        (all.variation, all.pattern, all.process_pattern) = (variation, of_all, of_process);
        all
    }

    /// All steps, for findings about hosts.
    pub fn with_set_aside(&self) -> impl Iterator<Item = &Step<'a>> {
        self.steps.iter().chain(&self.set_aside)
    }

    /// Dark times of the network, with their tests. Of tests at lower rates, or with which a host did not keep up, those alone that are
    /// longer than any rhythm of theirs.
    pub fn outages(&self) -> impl Iterator<Item = (&Step<'a>, &Outage)> {
        let own = self.steps.iter();
        let own = own.flat_map(|step| step.outages_of_network().map(move |outage| (step, outage)));
        let others = self
            .set_aside
            .iter()
            .chain(&self.eased)
            .chain(&self.by_source_port);
        own.chain(others.flat_map(|step| {
            let long = step.outages_of_network().filter(|outage| outage.is_long());
            long.map(move |outage| (step, outage))
        }))
    }

    /// Whether a limit explains the loss of this step.
    pub fn is_limited(&self, index: usize) -> bool {
        self.limit
            .as_ref()
            .is_some_and(|limit| limit.steps.contains(&index))
    }

    /// Whether all that met the limit are tests whose rate fell: what holds them since then is no limit of the path, and its value
    /// would be a mean of two levels.
    pub fn is_limit_a_drop(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| {
            let mut met = limit.steps.iter().map(|index| &self.steps[*index]);
            met.all(|step| step.drop.is_some())
        })
    }

    /// The steps whose loss neither a limit nor a drop of the rate explains.
    pub fn unlimited(&self) -> impl Iterator<Item = &Step<'a>> {
        self.numbered().map(|(_, step)| step)
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, &Step<'a>)> {
        let unlimited = |(index, step): &(usize, &Step)| !self.is_limited(*index) && step.drop.is_none();
        self.steps.iter().enumerate().filter(unlimited)
    }

    /// The tests at lower rates that passed below a limit, if there is one: their loss is not the limit's.
    pub fn below_limit(&self) -> impl Iterator<Item = &Step<'a>> {
        let passed = |step: &&Step| {
            let load = || Load::of(0, step, self.header_bytes);
            let is_below = |limit: &Limit| load().is_some_and(|load| load.is_far_below(limit));
            self.limit.as_ref().is_none_or(is_below)
        };
        self.eased.iter().filter(passed)
    }

    /// The steps whose loss neither a limit, nor a drop of the rate, nor a host explains.
    pub fn plain(&self) -> impl Iterator<Item = &Step<'a>> {
        self.unlimited().filter(|step| !step.lost_on_host())
    }

    /// Those of them whose losses make a process: they lost no more than the inference expects, since what took more of the others is
    /// no process that all meet. All of them where the rest lost nothing.
    pub fn of_process(&self) -> Vec<&Step<'a>> {
        let is_predicted = |(index, step): &(usize, &Step)| {
            let expected = self.expected.get(index);
            !step.lost_on_host()
                && expected.is_none_or(|expected| step.network_loss().rate() <= expected.most_beside_limit())
        };
        let predicted = self.numbered().filter(is_predicted).map(|(_, step)| step);
        let predicted: Vec<&Step> = predicted.collect();
        if predicted.iter().any(|step| step.network_loss().events > 0) {
            predicted
        } else {
            self.plain().collect()
        }
    }
}

/// Median RTT without a load above the smallest, nanoseconds: the jitter of both directions; 0 where it was not measured.
fn idle_jitter_ns(measured: &Measured) -> f64 {
    let rtts = measured.rtt.iter().flat_map(RttTest::idle_rtts_ns);
    let rtts: Vec<f64> = rtts.collect();
    let least = rtts.iter().copied().fold(f64::MAX, f64::min);
    (median(rtts) - least).max(0.0)
}

/// Takes out the steps with which a host did not keep up, where a later one of the same flows and payload stands in for them; not those in
/// which the network lost so much that the host hardly matters: the others, at lower rates, may not show why.
fn set_aside<'a>(steps: Vec<Step<'a>>) -> (Vec<Step<'a>>, Vec<Step<'a>>) {
    let settings = |step: &Step| (step.flow_count(), step.test.payload);
    let kept_up: BTreeMap<(usize, u32), RunId> = steps
        .iter()
        .filter(|step| !step.is_limited_by_host())
        .map(|step| (settings(step), step.test.run))
        .collect();
    let hardly_matters = |step: &Step| step.network_loss().rate() >= MUCH && step.spoiled_by_hosts() < HARDLY;
    steps.into_iter().partition(|step| {
        let stands_in = |later: &RunId| *later > step.test.run;
        step.is_limited_by_host()
            && kept_up.get(&settings(step)).is_some_and(stands_in)
            && !hardly_matters(step)
    })
}

/// Takes out the tests at lower rates than others of the same flows and payload, and those with short bursts at lower rates than any
/// with long ones: a survey makes these where it looks for a rate or a length at which loss begins.
fn eased<'a>(steps: Vec<Step<'a>>) -> (Vec<Step<'a>>, Vec<Step<'a>>) {
    let settings = |step: &Step| (step.flow_count(), step.test.payload);
    let mut highest: BTreeMap<(usize, u32), u64> = BTreeMap::new();
    for step in &steps {
        let known = highest.entry(settings(step)).or_default();
        *known = step.test.asked.unwrap_or(0).max(*known);
    }
    let long_bursts = steps.iter().filter(|step| step.test.plan.burst.is_none());
    let of_sweeps = long_bursts.filter_map(|step| step.test.asked).min();
    let of_sweeps = of_sweeps.unwrap_or(0);
    // Whole bytes of a frame make rates differ a little.
    let is_lower = |step: &Step| {
        let highest = highest.get(&settings(step)).copied().unwrap_or(0);
        let is_short = step.test.plan.burst.is_some();
        let highest = if is_short { highest.max(of_sweeps) } else { highest };
        step.test
            .asked
            .is_some_and(|asked| asked < highest - highest / 100)
    };
    steps.into_iter().partition(is_lower)
}

/// Takes back those that show no bucket: in most tests that lose much it held the same. `slower` are tests at lower rates.
fn confirm<'a>(steps: &mut [Step<'a>], slower: &mut [Step<'a>]) {
    let is_lossy = |step: &&Step| step.loss().rate() >= LEAST_LOSS;
    let lossy = steps.iter().filter(is_lossy).count();
    let credits: Vec<f64> = steps
        .iter()
        .filter_map(|step| Some(step.settled?.credit_s))
        .collect();
    let is_shown = |settled: &Settled| {
        let is_same = |other: &&f64| (*other / settled.credit_s - 1.0).abs() < SAME;
        credits.iter().filter(is_same).count() * 2 >= lossy
    };
    for step in steps.iter_mut().chain(slower) {
        step.settled = step.settled.filter(is_shown);
    }
}

/// The rate at which loss begins, of the settings with the most tests at different rates.
fn onset<'s>(steps: &'s [Step], eased: &'s [Step]) -> Option<LossOnset> {
    let settings = |step: &Step| (step.flow_count(), step.test.payload);
    let like = |step: &'s Step| -> Vec<&'s DirectionSummary> {
        let alike = eased.iter().filter(|other| settings(other) == settings(step));
        let all = alike.chain([step]);
        all.filter_map(|step| step.test.summary.as_ref()).collect()
    };
    LossOnset::of(&steps.iter().map(like).max_by_key(Vec::len)?)
}
