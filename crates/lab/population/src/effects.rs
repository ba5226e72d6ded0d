//! What a pace does to households: harm to the viewer, and gain of the neighbours. It must not know how candidates are
//! chosen.

use std::collections::BTreeMap;

use weir_record::{HouseholdNeighbour, HouseholdSession};

/// What a household got with a variant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    /// Of the session to its viewer, bits per second.
    value: f64,
    /// Logarithm of each neighbour's time, by name.
    times: BTreeMap<String, f64>,
}

impl Measured {
    /// The value of a session: the bits of media played, less those of the top rung over the time of start-up and stalls, over
    /// the length of the title (Yin et al., SIGCOMM 2015, without a term for switches).
    pub fn set_value(&mut self, row: &HouseholdSession, top_rung: f64) {
        let waited_ns = row.stalled_ns + row.startup_ns.unwrap_or(row.length_ns);
        let bits_ns = row.bitrate as f64 * row.played_ns as f64 - top_rung * waited_ns as f64;
        self.value = bits_ns / row.length_ns.max(1) as f64;
    }

    /// The time of a neighbour: of a call the 95th percentile of its one-way delay, of downloads their mean.
    pub fn set_time(&mut self, row: &HouseholdNeighbour) {
        let time_ns = match row.kind.as_str() {
            "call" => row.time_quantile_ns,
            _ => row.time_mean_ns,
        };
        if let Some(time_ns) = time_ns.filter(|time_ns| *time_ns > 0) {
            self.times.insert(row.neighbour.clone(), (time_ns as f64).ln());
        }
    }
}

/// What each household loses and what its neighbours gain, against the unpaced session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// By household: lost value as a share of the mean unpaced one.
    pub harm: BTreeMap<u64, f64>,
    /// By household that has neighbours: mean change of the logarithm of their times.
    pub logs: BTreeMap<u64, f64>,
}

type OfVariant = BTreeMap<u64, Measured>;

impl Effects {
    pub fn new(unpaced: &OfVariant, paced: &OfVariant) -> Self {
        let mean_value = mean(unpaced.values().map(|measured| measured.value));
        let mut effects = Effects::default();
        for (household, after) in paced {
            let Some(before) = unpaced.get(household) else {
                continue;
            };
            let lost = (before.value - after.value) / mean_value.abs().max(1.0);
            effects.harm.insert(*household, lost);
            let changes: Vec<f64> = after
                .times
                .iter()
                .filter_map(|(name, time)| Some(time - before.times.get(name)?))
                .collect();
            if !changes.is_empty() {
                effects.logs.insert(*household, mean(changes.into_iter()));
            }
        }
        effects
    }
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0u64, 0.0), |(count, sum), value| (count + 1, sum + value));
    if count == 0 { 0.0 } else { sum / count as f64 }
}

pub(crate) fn gain(mean_log: f64) -> f64 {
    1.0 - mean_log.exp()
}

/// Gain less weighted harm, over the households that both have: the order of candidates with the same households.
pub(crate) fn score(unpaced: &OfVariant, paced: &OfVariant, harm_weight: f64) -> f64 {
    let effects = Effects::new(unpaced, paced);
    let harm = mean(effects.harm.values().copied());
    gain(mean(effects.logs.values().copied())) - harm_weight * harm
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A title of 100 s at 2 Mbit/s, of which 10 s were waited for with a top rung of 4 Mbit/s.
    #[test]
    fn waiting_costs_the_top_rung() {
        let row = HouseholdSession {
            length_ns: 100,
            played_ns: 100,
            startup_ns: Some(4),
            stalled_ns: 6,
            bitrate: 2_000_000,
            ..HouseholdSession::default()
        };
        let mut measured = Measured::default();
        measured.set_value(&row, 4e6);
        assert!((measured.value - 1.6e6).abs() < 1e-6);
    }
}
