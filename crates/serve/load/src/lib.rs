//! A workload generator: thousands of viewers of DASH and HLS against any origin, on few cores, with an honest account of
//! what they got.
//!
//! The pure parts ([`manifest`], [`schedule`], [`measure`], [`verify`], [`capacity`], [`http`], [`metrics`], [`locust::zmtp`],
//! [`locust::message`]) know neither sockets nor clocks; `engine` puts them on threads. The crate must not know what is inside
//! an origin, or how results are shown.
//!
//! The feature `generator` has the parts that need a runtime and TLS, the feature `locust` the worker of a Locust master;
//! both are on by default. The other parsers of others' bytes stand without them.

pub mod capacity;
#[cfg(feature = "generator")]
pub mod client;
#[cfg(feature = "generator")]
mod clock;
#[cfg(feature = "generator")]
pub mod distance;
#[cfg(feature = "generator")]
pub mod engine;
pub mod http;
#[cfg(feature = "locust")]
pub mod locust;
pub mod manifest;
pub mod measure;
pub mod metrics;
pub mod schedule;
pub mod verify;
#[cfg(feature = "generator")]
pub mod viewer;
