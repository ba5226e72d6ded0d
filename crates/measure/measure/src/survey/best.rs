//! Which settings of a survey came out best. Pure; it must not know which steps there are.

use serde::{Deserialize, Serialize};
use weir_units::Rate;

use super::{SurveySummary, USUAL_FLOWS};
use crate::flows::DirectionSummary;

/// A media rate within this share of the asked one was held.
const HELD: f64 = 0.99;

/// Settings that the survey recommends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Flows.
    pub flows: u16,
    /// UDP payload bytes.
    pub length: u32,
    /// Loss measured with them, 0 to 1.
    pub loss: f64,
    /// Media rate measured with them.
    pub rate: Rate,
    /// The asked media rate was held.
    pub held: bool,
}

/// The settings with the least loss among those that held the rate; where several are as good, the usual number
/// of flows and the longest payload, which costs the fewest packets a second.
pub(super) fn best(found: &SurveySummary, media: Rate) -> Option<Settings> {
    let settings = |row: &DirectionSummary| Settings {
        flows: row.flows,
        length: row.length,
        loss: row.loss,
        rate: row.rate,
        held: row.rate.0 as f64 >= HELD * media.0 as f64,
    };
    let order = |a: &Settings, b: &Settings| {
        let distance = |settings: &Settings| settings.flows.abs_diff(USUAL_FLOWS);
        b.held
            .cmp(&a.held)
            .then(a.loss.total_cmp(&b.loss))
            .then(distance(a).cmp(&distance(b)))
            .then(b.length.cmp(&a.length))
    };
    found
        .by_flows
        .iter()
        .chain(&found.by_length)
        .map(settings)
        .min_by(order)
}
