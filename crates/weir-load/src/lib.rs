//! A workload generator: thousands of viewers of DASH and HLS against any origin, on few cores, with an honest account of
//! what they got.
//!
//! The pure parts ([`manifest`], [`schedule`], [`measure`], [`verify`], [`capacity`], [`http::response`],
//! [`http::h2::session`], [`metrics`], [`locust::zmtp`], [`locust::message`], [`experiment`] but for its relay) know neither
//! sockets nor clocks; [`engine`] puts them on threads. The crate must not know what is inside an origin, where results are
//! kept, or how they are shown.

pub mod capacity;
pub mod engine;
pub mod experiment;
pub mod http;
pub mod locust;
pub mod manifest;
pub mod measure;
pub mod metrics;
pub mod schedule;
pub mod verify;
pub mod viewer;
