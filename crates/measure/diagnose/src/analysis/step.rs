//! One direction of one flow test with what follows from its rows alone.

use std::collections::BTreeMap;

use weir_measure::flows::Sending;
use weir_results::Direction;
use weir_stats::{Counted, Variation};

use super::delay::Queueing;
use super::events;
use super::limits::{self, Limit};
use super::outages::{self, Outage};
use super::routes::{self, RouteView};
use crate::measured::{FlowTest, Measured};

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
    /// How much the loss events of a flow vary in time, in all plain steps together.
    pub variation: Variation,
}

/// One flow test.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    /// Its rows.
    pub test: &'a FlowTest,
    /// Times in which flows were dark.
    pub outages: Vec<Outage>,
    /// Packets that each flow lost outside of its outages, of those sent then.
    pub flow_loss: Vec<Counted>,
    /// Loss events of each flow in each slot of time, outside of its outages: bursts close together are one event.
    pub events: Vec<Vec<Counted>>,
    /// Flows by their delay.
    pub routes: RouteView,
    /// The delay that the path's queues add.
    pub queueing: Queueing,
}

impl<'a> Step<'a> {
    /// Takes a test apart.
    pub fn new(test: &'a FlowTest) -> Self {
        let outages = outages::outages(test);
        let flow_loss = events::loss_outside(test, &outages);
        Step {
            events: events::loss_events(test, &outages),
            routes: routes::by_delay(test),
            queueing: Queueing::of(test),
            outages,
            flow_loss,
            test,
        }
    }

    /// Packets lost outside of outages, of those sent then.
    pub fn loss(&self) -> Counted {
        weir_stats::total(&self.flow_loss)
    }

    /// Flows.
    pub fn flow_count(&self) -> usize {
        self.test.flows.len()
    }

    /// Share of the lost packets that hosts dropped, 0 to 1.
    pub fn host_share(&self) -> f64 {
        self.test.summary.as_ref().map_or(0.0, |summary| {
            let found = summary.attribution;
            let hosts = found.socket + found.host_receiver + found.host_sender;
            hosts as f64 / (hosts + found.network).max(1) as f64
        })
    }

    /// Most of the lost packets were dropped by a host.
    pub fn lost_on_host(&self) -> bool {
        self.host_share() >= 0.5
    }

    fn sending(&self) -> Sending {
        let (test, sender) = (self.test, &self.test.sender);
        Sending {
            asked: test.asked,
            length: test.payload,
            sent: sender.sent,
            duration_ns: sender.duration_ns,
            refused: sender.refused,
            schedule_p99_ns: sender.schedule_p99_ns,
            hit_byte_limit: test
                .summary
                .as_ref()
                .is_some_and(|summary| summary.hit_byte_limit),
        }
    }

    /// Share of the packets due that were sent, as far as seconds have a row; none for tests without a rate and for few
    /// packets.
    pub fn sent_share(&self) -> Option<f64> {
        self.sending().sent_share()
    }

    /// Whether the sender could not keep its schedule.
    pub fn is_late(&self) -> bool {
        self.sending().limit().is_some()
    }

    /// Whether a host did not keep up with the test: its sender was late, or hosts dropped more than a network fit for
    /// media may.
    pub fn is_limited_by_host(&self) -> bool {
        let dropped = self
            .test
            .summary
            .as_ref()
            .and_then(|summary| summary.host_limit());
        self.is_late() || dropped.is_some()
    }

    /// Packets received and lost in each full slot of time but the first, all flows together: the first is left out
    /// because queues and token buckets begin empty or full.
    pub fn slots_after_start(&self) -> Vec<Counted> {
        let mut slots: BTreeMap<u32, Counted> = BTreeMap::new();
        for slot in &self.test.slots {
            let entry = slots.entry(slot.slot).or_default();
            entry.events += slot.lost;
            entry.trials += slot.lost + slot.received;
        }
        let most = slots.values().map(|slot| slot.trials).max().unwrap_or(0);
        slots
            .into_values()
            .skip(1)
            .filter(|slot| slot.trials * 2 > most)
            .collect()
    }
}

impl<'a> Steps<'a> {
    /// Takes all tests of a direction apart.
    pub fn new(measured: &'a Measured, direction: Direction) -> Self {
        let tests = measured
            .flow_tests
            .iter()
            .filter(|test| test.direction == direction);
        let (set_aside, mut steps) = set_aside(tests.filter(|test| test.sent > 0).map(Step::new).collect());
        let limit = limits::find(&steps, measured.header_bytes);
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

    /// The steps whose loss neither a limit nor a host explains.
    pub fn plain(&self) -> impl Iterator<Item = &Step<'a>> {
        let plain = |(index, step): &(usize, &Step)| !self.is_limited(*index) && !step.lost_on_host();
        self.steps.iter().enumerate().filter(plain).map(|(_, step)| step)
    }
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
