//! What several findings need of a test: its outages, its loss outside of them, its delay levels, and what limits it.
//! It must not know sentences.

mod delay;
mod events;
pub(crate) mod expected;
pub(crate) mod joint;
pub(crate) mod limit;
mod limits;
mod load;
mod outages;
mod pattern;
mod pieces;
pub(crate) mod process;
mod rate_drop;
pub(crate) mod route_classes;
pub(crate) mod routes;
pub(crate) mod seen_routes;
mod sequences;
mod set_of_causes;
mod settled;
mod single_losses;
mod spread;
mod step;
mod steps;
mod trial;
mod windows;

pub(crate) use outages::Outage;
pub(crate) use pattern::{Early, Pattern};
pub(crate) use rate_drop::RateDrop;
pub(crate) use step::Step;
pub(crate) use steps::Steps;

/// Probability that a finding which is a fault or a notice is false, for each test that it rests on.
pub(crate) const CHANCE: f64 = 0.005;
