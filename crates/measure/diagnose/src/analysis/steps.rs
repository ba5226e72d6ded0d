//! All flow tests of one direction, and what follows from them together.

use std::collections::BTreeMap;

use weir_results::Direction;
use weir_stats::{Variation, median};

use super::joint::{self, Expected, Growth, Joint, Long};
use super::limits::Limit;
use super::outages::Outage;
use super::step::Step;
use crate::measured::{Measured, RttTest};

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
    /// What limits the stream below its rate, if anything does.
    pub limit: Option<Limit>,
    /// From which length on packets are lost, if any are.
    pub long: Option<Long>,
    /// Loss that all of them meet, 0 to 1, with one flow.
    pub everywhere: f64,
    /// Loss that grows with the number of flows.
    pub growth: Option<Growth>,
    /// What the network is expected to lose of each test, by its index.
    pub expected: BTreeMap<usize, Expected>,
    /// How much the loss events of a flow vary in time, in all plain steps together.
    pub variation: Variation,
}

impl<'a> Steps<'a> {
    /// Takes all tests of a direction apart.
    pub fn new(measured: &'a Measured, direction: Direction) -> Self {
        let tests = measured
            .flow_tests
            .iter()
            .filter(|test| test.direction == direction);
        let (set_aside, mut steps) = set_aside(tests.filter(|test| test.sent > 0).map(Step::new).collect());
        let Joint {
            limit,
            everywhere,
            growth,
            long,
            expected,
        } = joint::infer(&steps, measured.header_bytes, idle_jitter_ns(measured));
        for index in limit.iter().flat_map(|limit| &limit.steps) {
            // A sender that sends flow after flow meets a limit with the same flows for several bursts.
            steps[*index].outages.retain(Outage::is_long);
        }
        let mut all = Steps {
            direction,
            header_bytes: measured.header_bytes,
            steps,
            set_aside,
            limit,
            everywhere,
            growth,
            long,
            expected,
            variation: Variation::default(),
        };
        let variations = all.plain().map(|step| Variation::within(&step.events));
        all.variation = variations.fold(Variation::default(), Variation::plus);
        all
    }

    /// All steps, for findings about hosts.
    pub fn with_set_aside(&self) -> impl Iterator<Item = &Step<'a>> {
        self.steps.iter().chain(&self.set_aside)
    }

    /// Whether a limit explains the loss of this step.
    pub fn is_limited(&self, index: usize) -> bool {
        self.limit
            .as_ref()
            .is_some_and(|limit| limit.steps.contains(&index))
    }

    /// The steps whose loss no limit explains.
    pub fn unlimited(&self) -> impl Iterator<Item = &Step<'a>> {
        let unlimited = |(index, _): &(usize, &Step)| !self.is_limited(*index);
        self.steps
            .iter()
            .enumerate()
            .filter(unlimited)
            .map(|(_, step)| step)
    }

    /// The steps whose loss neither a limit nor a host explains.
    pub fn plain(&self) -> impl Iterator<Item = &Step<'a>> {
        self.unlimited().filter(|step| !step.lost_on_host())
    }
}

/// Median RTT without a load above the smallest, nanoseconds: the jitter of both directions; 0 where it was not measured.
fn idle_jitter_ns(measured: &Measured) -> f64 {
    let rtts = measured.rtt.iter().flat_map(RttTest::idle_rtts_ns);
    let rtts: Vec<f64> = rtts.collect();
    let least = rtts.iter().copied().fold(f64::MAX, f64::min);
    (median(rtts) - least).max(0.0)
}

/// Takes out the steps with which a host did not keep up, where another of the same flows and payload stands in for them.
fn set_aside<'a>(steps: Vec<Step<'a>>) -> (Vec<Step<'a>>, Vec<Step<'a>>) {
    let settings = |step: &Step| (step.flow_count(), step.test.payload);
    let kept_up: Vec<(usize, u32)> = steps
        .iter()
        .filter(|step| !step.is_limited_by_host())
        .map(settings)
        .collect();
    steps
        .into_iter()
        .partition(|step| step.is_limited_by_host() && kept_up.contains(&settings(step)))
}
