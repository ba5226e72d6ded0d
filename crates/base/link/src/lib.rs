//! An emulated network between two hosts: rates, delays, queues, parallel routes, and the faults of real
//! networks.
//!
//! [`Link`] is the complete behaviour of one direction in virtual time; it has no clock, no I/O and no threads.
//! [`discrete`] drives two of them from event to event, [`realtime`] by the clock between two TUN devices. [`profile`]
//! and [`trace`] parse the text form of a link, [`headers`] parses and builds the IP packets that a driver needs to
//! understand. It must not know the traffic on it.

mod admission;
pub mod coalesce;
mod describe;
mod discipline;
pub mod discrete;
mod ecmp;
pub mod headers;
mod link;
mod loss;
mod named;
pub mod offload;
mod packet;
pub mod profile;
mod propagation;
mod queue;
mod random;
mod rate;
pub mod realtime;
mod recent_flows;
mod route;
pub mod segment;
mod spec;
mod token_bucket;
pub mod trace;
mod waiting;

pub use describe::describe;
pub use link::{Counters, Link};
pub use named::{headline, named, profiles};
pub use packet::{Departure, DropCause, Ecn, FlowKey, Nanos, Packet, Verdict};
pub use profile::{LinkFlags, Profile, ProfileError};
pub use spec::{
    CodelSpec, DarkSpan, DirectionSpec, DisciplineSpec, DualPi2Spec, FlowRateCap, FqCodelSpec, Jitter,
    LinkSpec, LongPacketLoss, LossSpec, ManagedQueue, Mtu, PacketRateCap, PieSpec, QueueLimit, QueueSpec,
    RateSpec, RateStep, RedSpec, RouteChoice, RouteSpec, SpecError, TooBig,
};
pub use waiting::FlowAccount;
