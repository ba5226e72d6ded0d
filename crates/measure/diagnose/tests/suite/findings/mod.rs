//! Each finding on measurements made by hand, with the numbers that it has to give worked out beside it: where it has
//! to be made, and where it must not.

// What a test asserts is the reason for which it may panic.
#![allow(clippy::unwrap_used)]

mod cliff;
mod ecn;
mod families;
mod hosts;
mod limits;
mod loss;
mod outages;
mod rate_drop;
mod recommendation;
mod routes;
mod rtt;
mod sample;
mod tcp;
