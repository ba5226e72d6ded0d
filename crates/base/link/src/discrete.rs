//! Drives a link from event to event in virtual time: two endpoints, one [`Link`] each way, no clock.
//! Equal seeds and endpoints give byte-identical runs. It must not know what the endpoints do.

use crate::link::{Counters, Link};
use crate::packet::{Departure, Nanos, Packet};
use crate::spec::LinkSpec;

/// One of the two hosts.
pub trait Endpoint<P> {
    /// Time of its next wake-up; none: only a packet wakes it.
    fn next_wake(&self) -> Option<Nanos>;
    /// Called at that time; packets to send go to `out` in order.
    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<P>>);
    /// A packet arrives; packets to send go to `out` in order.
    fn receive(&mut self, departure: Departure<P>, out: &mut Vec<Packet<P>>);
}

/// Counters of both directions at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Time of the last event.
    pub ended: Nanos,
    /// From near to far.
    pub forward: Counters,
    /// From far to near.
    pub reverse: Counters,
}

/// Runs until there are no more events, or up to `until`, exclusive. `spec` must
/// have passed [`LinkSpec::check`].
pub fn run<P: Clone>(
    spec: &LinkSpec,
    near: &mut dyn Endpoint<P>,
    far: &mut dyn Endpoint<P>,
    until: Nanos,
) -> Outcome {
    let mut network = Network::new(spec);
    while network.step(near, far, until).is_some() {}
    Outcome {
        ended: network.now,
        forward: network.forward.counters(),
        reverse: network.reverse.counters(),
    }
}

/// Both directions of a link, and the time.
///
/// In each step, packets that have arrived are received first, then the endpoints whose time has come are
/// woken, then their packets are offered to the link. Each step is at least one nanosecond after the previous
/// one, so that time advances even with a link without delay between endpoints that answer at once: their
/// answer is offered one nanosecond later. [`Departure::at`] is exact nevertheless.
pub struct Network<P> {
    now: Nanos,
    begun: bool,
    forward: Link<P>,
    reverse: Link<P>,
    from_near: Vec<Packet<P>>,
    from_far: Vec<Packet<P>>,
}

impl<P: Clone> Network<P> {
    /// A network at time 0. `spec` must have passed [`LinkSpec::check`].
    pub fn new(spec: &LinkSpec) -> Self {
        Self {
            now: Nanos(0),
            begun: false,
            forward: Link::forward(spec),
            reverse: Link::reverse(spec),
            from_near: Vec::new(),
            from_far: Vec::new(),
        }
    }

    /// Keeps an account of each flow from near to far from now on, see [`Link::account_flows`].
    pub fn account_flows(&mut self) {
        self.forward.account_flows();
    }

    /// From near to far.
    pub fn forward(&self) -> &Link<P> {
        &self.forward
    }

    /// From far to near.
    pub fn reverse(&self) -> &Link<P> {
        &self.reverse
    }

    /// Processes the next event and returns its time; none if there are no more events
    /// before `until`.
    pub fn step(
        &mut self,
        near: &mut dyn Endpoint<P>,
        far: &mut dyn Endpoint<P>,
        until: Nanos,
    ) -> Option<Nanos> {
        let events = [
            self.forward.next_departure(),
            self.reverse.next_departure(),
            near.next_wake(),
            far.next_wake(),
        ];
        let next = events.into_iter().flatten().min()?;
        let now = if self.begun {
            next.max(Nanos(self.now.0.saturating_add(1)))
        } else {
            next
        };
        if now >= until {
            return None;
        }
        (self.now, self.begun) = (now, true);
        while let Some(departure) = self.forward.poll(now) {
            far.receive(departure, &mut self.from_far);
        }
        while let Some(departure) = self.reverse.poll(now) {
            near.receive(departure, &mut self.from_near);
        }
        if near.next_wake().is_some_and(|wake| wake <= now) {
            near.wake(now, &mut self.from_near);
        }
        if far.next_wake().is_some_and(|wake| wake <= now) {
            far.wake(now, &mut self.from_far);
        }
        for packet in self.from_near.drain(..) {
            self.forward.enqueue(now, packet);
        }
        for packet in self.from_far.drain(..) {
            self.reverse.enqueue(now, packet);
        }
        Some(now)
    }
}
