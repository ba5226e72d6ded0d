//! Drives a link from event to event in virtual time: two endpoints, one [`Link`](crate::Link) each way, no clock.
//! Equal seeds and endpoints give byte-identical runs. It must not know what the endpoints do.

use crate::link::{Counters, Departure, Nanos, Packet};
use crate::spec::LinkSpec;

/// One of the two hosts.
pub trait Endpoint<P> {
    /// When it wants to be woken next; none: only by a packet.
    fn next_wake(&self) -> Option<Nanos>;
    /// Its time has come; what it sends goes to `out` in order.
    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<P>>);
    /// A packet arrives; what it sends goes to `out` in order.
    fn receive(&mut self, departure: Departure<P>, out: &mut Vec<Packet<P>>);
}

/// Counters of both directions at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When the last thing happened.
    pub ended: Nanos,
    /// From near to far.
    pub forward: Counters,
    /// Back.
    pub reverse: Counters,
}

/// Runs until nothing more can happen or `until` has come.
pub fn run<P: Clone>(
    _spec: &LinkSpec,
    _near: &mut dyn Endpoint<P>,
    _far: &mut dyn Endpoint<P>,
    _until: Nanos,
) -> Outcome {
    todo!()
}
