//! The emulated link in virtual time.

#![allow(clippy::unwrap_used)]

mod accounts;
mod allocation;
mod aqm;
mod caps;
mod check;
mod disciplines;
mod discrete;
mod documentation;
mod faults;
mod loss;
mod packets;
mod properties;
mod queueing;
mod rig;
mod routes;
mod segments;
mod timing;
mod vectors;
