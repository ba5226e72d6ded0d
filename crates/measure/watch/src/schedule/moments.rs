//! When tests at intervals start: functions of the pair's names and the number of the period, and of nothing else.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use crate::config::Config;
use crate::plan::{Plan, PlannedSurveys};

/// When a test may run, Unix nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Its start.
    pub start_ns: u64,
    /// Its latest start.
    pub latest_ns: u64,
    /// It must be over.
    pub end_ns: u64,
}

#[derive(Clone, Debug)]
struct Timed {
    key: u64,
    round: Option<usize>,
    flows: bool,
}

/// Moments of all pairs of a file.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    pairs: Vec<Timed>,
    /// Interval and duration of flow tests.
    flows: Option<(u64, u64)>,
    survey: Option<PlannedSurveys>,
}

/// A random number that is always the same for these two.
pub(super) fn draw(key: u64, number: u64) -> u64 {
    SplitMix64::seed_from_u64(key ^ number.rotate_left(32)).next_u64()
}

/// FNV-1a, 64 bits, of both names.
fn key_of(from: &str, to: &str) -> u64 {
    let bytes = from.bytes().chain([0]).chain(to.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Moments {
    pub(super) fn of(config: &Config, plan: &Plan) -> Self {
        let timed = |pair: &crate::plan::PlannedPair| Timed {
            key: key_of(&pair.from, &pair.to),
            round: pair.survey_round,
            flows: !pair.stamp,
        };
        Moments {
            pairs: plan.pairs.iter().map(timed).collect(),
            flows: config.flows.map(|kind| (kind.every_ns, kind.duration_ns)),
            survey: plan.survey.clone(),
        }
    }

    pub(super) fn key(&self, pair: usize) -> u64 {
        self.pairs[pair].key
    }

    /// The first flow test of a pair that starts after `now_ns`.
    pub(super) fn next_flows(&self, pair: usize, now_ns: u64) -> Option<Moment> {
        let (every_ns, duration_ns) = self.flows.filter(|_| self.pairs[pair].flows)?;
        first_after(now_ns, every_ns, |period| {
            let begin_ns = period.checked_mul(every_ns)?;
            let latest_ns = begin_ns.checked_add(every_ns - duration_ns)?;
            // In the first half, so that the others have room to wait for a survey.
            let spread = (every_ns - duration_ns) / 2;
            Some(Moment {
                start_ns: begin_ns + draw(self.pairs[pair].key, period) % spread.max(1),
                latest_ns,
                end_ns: latest_ns + duration_ns,
            })
        })
    }

    /// The first survey of a pair that starts after `now_ns`.
    pub(super) fn next_survey(&self, pair: usize, now_ns: u64) -> Option<Moment> {
        let every_ns = self.survey.as_ref()?.every_ns;
        first_after(now_ns, every_ns, |period| self.survey(pair, period))
    }

    /// The survey of a pair in a period.
    fn survey(&self, pair: usize, period: u64) -> Option<Moment> {
        let survey = self.survey.as_ref()?;
        let round = self.pairs[pair].round? as u64;
        let begin_ns = period
            .checked_mul(survey.every_ns)?
            .checked_add(round.checked_mul(survey.slot_ns)?)?;
        let latest_ns = begin_ns.checked_add(survey.slot_ns - survey.longest_ns)?;
        let spread = (latest_ns - begin_ns) / 2;
        Some(Moment {
            start_ns: begin_ns + draw(self.pairs[pair].key, !period) % spread.max(1),
            latest_ns,
            end_ns: latest_ns + survey.longest_ns,
        })
    }

    /// Surveys of all pairs that start in a span of time, by start: when, and which pair.
    pub(super) fn surveys(&self, from_ns: u64, to_ns: u64) -> Vec<(u64, usize)> {
        let Some(survey) = &self.survey else {
            return Vec::new();
        };
        let periods = from_ns / survey.every_ns..=to_ns / survey.every_ns;
        let each = periods.flat_map(|period| (0..self.pairs.len()).map(move |pair| (pair, period)));
        let mut found: Vec<(u64, usize)> = each
            .filter_map(|(pair, period)| Some((self.survey(pair, period)?.start_ns, pair)))
            .filter(|(start_ns, _)| (from_ns..to_ns).contains(start_ns))
            .collect();
        found.sort_unstable();
        found
    }
}

/// Of the moments of all periods, the first that starts after `now_ns`; the present period's may have passed.
fn first_after(now_ns: u64, every_ns: u64, of: impl Fn(u64) -> Option<Moment>) -> Option<Moment> {
    let present = now_ns / every_ns.max(1);
    let near = [present, present + 1];
    near.into_iter()
        .filter_map(of)
        .find(|moment| moment.start_ns > now_ns)
}
