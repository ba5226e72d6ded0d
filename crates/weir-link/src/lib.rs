//! An emulated network between two hosts: rates, delays, queues, parallel routes, and the faults of networks that
//! one does not own.
//!
//! [`Link`] is the whole behaviour of one direction in virtual time; it has no clock, no I/O and no threads.
//! [`discrete`] drives two of them from event to event. It must not know what runs over it.

mod admission;
pub mod discrete;
mod ecmp;
mod link;
mod loss;
mod propagation;
mod queue;
mod random;
mod rate;
mod recent_flows;
mod route;
mod spec;
mod token_bucket;

pub use link::{Counters, Departure, DropCause, FlowKey, Link, Nanos, Packet, Verdict};
pub use spec::{
    DarkSpan, DirectionSpec, FlowRateCap, Jitter, LinkSpec, LongPacketLoss, LossSpec, Mtu, PacketRateCap,
    QueueSpec, RateSpec, RateStep, RouteChoice, RouteSpec, SpecError, TooBig,
};
