//! The rate of false alarms over 200 seeds of 90 days, and what is found of changes in 90 days of fifty paths: some minutes of
//! CPU time.

#![allow(clippy::unwrap_used)]

#[path = "../suite/changes.rs"]
mod changes;
mod mesh;
#[path = "../suite/noise.rs"]
mod noise;
#[path = "../suite/tested.rs"]
mod tested;

/// Paths of 90 days whose false alarms are counted.
const SEEDS: u64 = 200;
