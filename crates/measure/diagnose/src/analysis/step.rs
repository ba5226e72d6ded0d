//! One direction of one flow test with what follows from its rows alone.

use std::collections::BTreeMap;

use weir_measure::flows::Sending;
use weir_stats::{Attribution, Counted};

use super::delay::Queueing;
use super::events;
use super::outages::{self, Outage};
use super::rate_drop::RateDrop;
use super::routes::{self, RouteView};
use super::settled::Settled;
use crate::measured::FlowTest;

/// Hosts dropped most of the lost packets from this share on.
const ON_HOST: f64 = 0.5;
/// A dark time took this many times the packets that hosts dropped in its test, at least, where they dropped most of the rest; as many
/// where it was one of all flows.
const BEYOND_HOSTS: f64 = 2.0;

/// What hosts dropped is known to this share where it is estimated.
pub(super) const ESTIMATED: f64 = 0.1;

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
    /// More passed at first.
    pub settled: Option<Settled>,
    /// The rate fell during the test, and stayed lower.
    pub drop: Option<RateDrop>,
}

impl<'a> Step<'a> {
    /// Takes a test apart.
    pub fn new(test: &'a FlowTest) -> Self {
        let outages = outages::outages(test);
        let flow_loss = events::loss_outside(test, &outages);
        let routes = routes::by_delay(test);
        Step {
            events: events::loss_events(test, &outages),
            queueing: Queueing::of(test, &routes),
            settled: Settled::of(test),
            drop: RateDrop::of(test),
            routes,
            outages,
            flow_loss,
            test,
        }
    }

    /// Packets lost outside of outages, of those sent then.
    pub fn loss(&self) -> Counted {
        weir_stats::total(&self.flow_loss)
    }

    /// The same without those that hosts dropped.
    pub fn network_loss(&self) -> Counted {
        let all = self.loss();
        Counted {
            events: (all.events as f64 * (1.0 - self.host_share())).round() as u64,
            ..all
        }
    }

    /// Flows.
    pub fn flow_count(&self) -> usize {
        self.test.flows.len()
    }

    /// Time from one burst of the sender to the next, seconds; 0 where it sent without a rate.
    pub fn burst_seconds(&self) -> f64 {
        let bits = f64::from(self.test.plan.burst_packets()) * f64::from(self.test.payload) * 8.0;
        self.test.asked.map_or(0.0, |asked| bits / asked.max(1) as f64)
    }

    /// Share of the packets lost outside dark times that hosts dropped, 0 to 1. In those that are the hosts' the network lost as large
    /// a share.
    pub fn host_share(&self) -> f64 {
        let (outside, dark_of_network) = (self.loss(), self.dark_of_network());
        let dark: u64 = self.outages.iter().map(Outage::lost).sum();
        let by_network = self.test.lost as f64 - dark_of_network as f64 - self.lost_to_hosts();
        let of_hosts = (dark - dark_of_network) as f64;
        let here = outside.trials as f64 / (outside.trials as f64 + of_hosts).max(1.0);
        let lost = outside.events as f64;
        ((lost - here * by_network) / lost.max(1.0)).clamp(0.0, 1.0)
    }

    /// The same of those lost outside dark times of the network: what hosts drop in their own leaves traces.
    pub fn spoiled_by_hosts(&self) -> f64 {
        let lost = self.test.lost.saturating_sub(self.dark_of_network()).max(1);
        (self.lost_to_hosts() / lost as f64).min(1.0)
    }

    /// Share of those lost outside all dark times that the sending host dropped: they never reached the network.
    pub fn sender_share(&self) -> f64 {
        self.host_share() * self.lost_to_sender() / self.lost_to_hosts().max(1.0)
    }

    /// Packets that hosts dropped, in dark times, too.
    pub fn lost_to_hosts(&self) -> f64 {
        self.lost_to(|found| found.socket + found.host_receiver + found.host_sender)
    }

    /// The same of the sending host.
    pub fn lost_to_sender(&self) -> f64 {
        self.lost_to(|found| found.host_sender)
    }

    fn lost_to(&self, of: impl Fn(&Attribution) -> u64) -> f64 {
        let share = self.test.summary.as_ref().map_or(0.0, |summary| {
            let found = summary.attribution;
            let hosts = found.socket + found.host_receiver + found.host_sender;
            of(&found) as f64 / (hosts + found.network).max(1) as f64
        });
        share * self.test.lost as f64
    }

    /// By what share of it that may be wrong, as a standard deviation.
    pub fn host_error(&self) -> f64 {
        let summary = self.test.summary.as_ref();
        let is_estimated = summary.is_some_and(|summary| summary.attribution.estimated);
        if is_estimated { ESTIMATED } else { 0.0 }
    }

    /// What hosts dropped was dropped one by one: not at a full socket, and not in trains.
    pub fn lost_singly_on_host(&self) -> bool {
        let summary = self.test.summary.as_ref();
        summary.is_some_and(|summary| summary.attribution.socket + summary.attribution.host_sender == 0)
    }

    /// Most of the lost packets were dropped by a host.
    pub fn lost_on_host(&self) -> bool {
        self.spoiled_by_hosts() >= ON_HOST
    }

    /// The dark times that are no host's: a receiver that stalls and overflows looks the same, and has a finding of its own.
    pub fn outages_of_network(&self) -> impl Iterator<Item = &Outage> {
        let by_hosts = self.lost_to_hosts();
        let is_on_host = by_hosts >= ON_HOST * self.test.lost as f64;
        let singly = self.lost_singly_on_host();
        let is_of_network = move |outage: &&Outage| {
            let least = if is_on_host {
                BEYOND_HOSTS * by_hosts
            } else if outage.flows.len() == self.flow_count() {
                by_hosts
            } else {
                0.0
            };
            singly || outage.lost() as f64 >= least
        };
        self.outages.iter().filter(is_of_network)
    }

    /// Packets lost in dark times of the network.
    pub fn dark_of_network(&self) -> u64 {
        self.outages_of_network().map(Outage::lost).sum()
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
