//! Change points of paths with natural noise, in virtual time; sizes and quantiles of what is stored.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

mod changes;
mod merged;
mod noise;
mod past;
mod size;
mod tested;

/// Paths of 90 days whose false alarms are counted.
const SEEDS: u64 = 16;
