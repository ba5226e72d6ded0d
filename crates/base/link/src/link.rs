//! One direction of a link in virtual time. It has no clock and no I/O: packets and times go in, packets and the
//! time of the next event come out. Equal seeds and inputs give equal outputs.

use weir_stats::{DurationHistogram, LinkDrops};

use crate::admission::Admission;
use crate::ecmp::RouteChooser;
use crate::packet::{Departure, DropCause, FlowKey, Nanos, Packet, Verdict};
use crate::random::{Purpose, derive};
use crate::route::Route;
use crate::spec::{DirectionSpec, LinkSpec};
use crate::waiting::FlowAccount;

/// Counters of a direction, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Offered.
    pub offered: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Delivered, copies included.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Dropped as configured.
    pub dropped: LinkDrops,
    /// Of those dropped by a queue, the ones that its discipline dropped though there was room.
    pub dropped_early: u64,
    /// Marked with CE by a queue, by its discipline; none of those that arrived with the mark.
    pub marked: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Corrupted.
    pub corrupted: u64,
    /// Maximum queue of one transmitter, bytes.
    pub most_queued_bytes: u64,
    /// Queued bytes at all transmitters, integrated over time in nanoseconds: its growth over a time, divided
    /// by that time, is the mean queue. Up to the last change of a queue.
    pub queued_byte_ns: u128,
}

impl Counters {
    fn count_drop(&mut self, cause: DropCause) {
        let dropped = &mut self.dropped;
        let counter = match cause {
            DropCause::TooBig | DropCause::TooBigTold => &mut dropped.too_big,
            DropCause::LongPacket => &mut dropped.long_packet,
            DropCause::FlowRate => &mut dropped.flow_rate,
            DropCause::PacketRate => &mut dropped.packet_rate,
            DropCause::ExtraFlow => &mut dropped.extra_flow,
            DropCause::Dark => &mut dropped.dark,
            DropCause::Loss => &mut dropped.loss,
            DropCause::Queue => &mut dropped.queue,
        };
        *counter += 1;
    }

    fn count_delivery<P>(&mut self, departure: &Departure<P>) {
        self.delivered += 1;
        self.delivered_bytes += u64::from(departure.packet.length);
        self.corrupted += u64::from(departure.corrupted.is_some());
    }
}

/// One direction of a link.
///
/// A packet passes these stages in order, until one drops it: MTU, loss of long packets, cap on
/// its flow's rate, cap on packets per second, loss for extra flows; then a route is chosen, and there: dark
/// spans, loss processes, queue, transmitter, propagation delay and jitter, corruption, duplication.
///
/// Each random process has its own stream, so that switching on one fault does not change the
/// others.
pub struct Link<P> {
    /// The latest time passed in.
    now: Nanos,
    admission: Admission,
    chooser: RouteChooser,
    routes: Box<[Route<P>]>,
    /// For each route the time before which no packet arrives from it: most calls need only this.
    arrivals: Box<[Option<Nanos>]>,
    /// The copy of the packet that left last.
    copy: Option<Departure<P>>,
    /// Packets that got a route.
    numbered: u64,
    counters: Counters,
}

impl<P: Clone> Link<P> {
    /// A link at time 0 with nothing on it. `spec` must have passed [`DirectionSpec::check`].
    pub fn new(spec: &DirectionSpec, seed: u64) -> Self {
        Self {
            now: Nanos(0),
            admission: Admission::new(spec, seed),
            chooser: RouteChooser::new(spec, seed),
            routes: (0..)
                .zip(&spec.routes)
                .map(|(index, route)| Route::new(route, seed, index, spec.hide_five_tuple))
                .collect(),
            arrivals: vec![None; spec.routes.len()].into(),
            copy: None,
            numbered: 0,
            counters: Counters::default(),
        }
    }

    /// The direction from the near host to the far one, with its own seed, derived from the link's.
    pub fn forward(spec: &LinkSpec) -> Self {
        Self::new(&spec.forward, derive(spec.seed, Purpose::Forward, 0))
    }

    /// The reverse direction, with its own seed, derived from the link's.
    pub fn reverse(spec: &LinkSpec) -> Self {
        Self::new(&spec.reverse, derive(spec.seed, Purpose::Reverse, 0))
    }

    /// Offers a packet at `now`, which must not be before an earlier call's (that time would be used).
    pub fn enqueue(&mut self, now: Nanos, packet: Packet<P>) -> Verdict<P> {
        self.now = self.now.max(now);
        self.counters.offered += 1;
        self.counters.offered_bytes += u64::from(packet.length);
        match self.take(packet) {
            Ok(()) => Verdict::Accepted,
            Err((cause, payload)) => {
                self.counters.count_drop(cause);
                Verdict::Dropped(cause, payload)
            }
        }
    }

    fn take(&mut self, packet: Packet<P>) -> Result<(), (DropCause, P)> {
        if let Err(cause) = self.admission.admit(self.now, packet.length, packet.flow) {
            return Err((cause, packet.payload));
        }
        let route = self.chooser.choose(packet.flow);
        self.numbered += 1;
        let offered = self.routes[route].offer(self.now, self.numbered, packet);
        self.arrivals[route] = self.routes[route].next_arrival();
        offered
    }

    /// When [`Link::poll`] will next return a packet, if no more are offered until then; none if the link is
    /// empty.
    ///
    /// No packet leaves earlier. One leaves at exactly this time, except in two cases in which the next time is
    /// not final yet: packets that wait on a route with reordering, and those that wait for the next delivery
    /// opportunity of a trace. Then [`Link::poll`] may return none, and this function a later time.
    pub fn next_departure(&self) -> Option<Nanos> {
        let copy = self.copy.as_ref().map(|copy| copy.at);
        copy.or_else(|| self.arrivals.iter().copied().flatten().min())
    }

    /// The next packet that has passed the link by `now`, in order of time and then of acceptance; call until
    /// there is none. A copy follows its original.
    pub fn poll(&mut self, now: Nanos) -> Option<Departure<P>> {
        self.now = self.now.max(now);
        if let Some(copy) = self.copy.take() {
            self.counters.count_delivery(&copy);
            return Some(copy);
        }
        let index = self.first_to_leave()?;
        let settled = self.routes[index].pop()?;
        self.arrivals[index] = self.routes[index].next_arrival();
        let departure = Departure {
            at: settled.at,
            packet: settled.packet,
            // A direction has at most 256 routes, see `spec::check`.
            route: index as u16,
            corrupted: settled.corrupted,
            duplicate: false,
        };
        if settled.twice {
            self.copy = Some(Departure {
                duplicate: true,
                ..departure.clone()
            });
            self.counters.duplicated += 1;
        }
        self.counters.count_delivery(&departure);
        Some(departure)
    }

    /// The route whose packet leaves next, if it has passed the link by now.
    fn first_to_leave(&mut self) -> Option<usize> {
        let mut first = None;
        for (index, arrival) in self.arrivals.iter_mut().enumerate() {
            if arrival.is_none_or(|at| at > self.now) {
                continue;
            }
            let route = &mut self.routes[index];
            route.advance(self.now);
            *arrival = route.next_arrival();
            if let Some(order) = route.first().filter(|(at, _)| *at <= self.now)
                && first.is_none_or(|(earliest, _)| order < earliest)
            {
                first = Some((order, index));
            }
        }
        first.map(|(_, index)| index)
    }

    /// The counters so far.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        for account in self.routes.iter().filter_map(Route::queue_account) {
            counters.dropped.queue += account.dropped_while_waiting;
            counters.dropped_early += account.dropped_early;
            counters.marked += account.marked;
        }
        counters.most_queued_bytes = self
            .routes
            .iter()
            .map(Route::most_queued_bytes)
            .max()
            .unwrap_or(0);
        counters.queued_byte_ns = self.routes.iter().map(Route::queued_byte_ns).sum();
        counters
    }

    /// How long packets waited before their transmission, nanoseconds, at all managed queues so far; empty without
    /// any. A packet that finds the transmitter idle counts as 0.
    pub fn sojourns(&self) -> DurationHistogram {
        let mut sojourns = DurationHistogram::new();
        for account in self.routes.iter().filter_map(Route::queue_account) {
            sojourns.merge(&account.sojourns);
            let flows = account.flows.iter().flat_map(|flows| flows.values());
            flows.for_each(|flow| sojourns.merge(&flow.sojourns));
        }
        sojourns
    }

    /// Keeps an account of each of the first 4,096 flows at managed queues from now on.
    pub fn account_flows(&mut self) {
        self.routes.iter_mut().for_each(Route::account_flows);
    }

    /// The account of a flow by its 5-tuple, over all managed queues; empty without [`Link::account_flows`].
    pub fn flow_account(&self, five_tuple: u64) -> FlowAccount {
        let mut sum = FlowAccount::default();
        let accounts = self.routes.iter().filter_map(Route::queue_account);
        for flow in accounts.filter_map(|account| account.flows.as_ref()?.get(&five_tuple)) {
            sum.dropped += flow.dropped;
            sum.marked += flow.marked;
            sum.sojourns.merge(&flow.sojourns);
        }
        sum
    }

    /// Packets on the link: waiting, in transmission, in propagation, and a copy that has not left. Always
    /// `offered + duplicated - dropped - delivered` of [`Link::counters`].
    pub fn in_flight(&self) -> u64 {
        self.routes.iter().map(Route::in_flight).sum::<u64>() + u64::from(self.copy.is_some())
    }

    /// The route that a flow takes, where flows have one.
    pub fn route_of(&self, flow: FlowKey) -> Option<u16> {
        // A direction has at most 256 routes, see `spec::check`.
        self.chooser.of_flow(flow).map(|route| route as u16)
    }
}
