//! Which surveys the budget admits: in each day and each month of 30 days, in the order of their starts, as many as RTT and
//! flows leave room for. Counted anew from the schedule each time, so that no state is kept.

use std::collections::BTreeSet;

use super::moments::Moments;
use crate::config::{Config, DAY_NS};
use crate::plan::{MONTH_DAYS, Plan};

/// What surveys may take in a span of time.
#[derive(Clone, Debug)]
struct Admission {
    window_ns: u64,
    /// What is left for surveys in a window.
    left: f64,
    /// What a survey of each pair takes.
    costs: Vec<f64>,
    /// The window that was counted last, and its surveys that fit.
    counted: Option<(u64, BTreeSet<(u64, usize)>)>,
}

/// All limits.
#[derive(Clone, Debug)]
pub(super) struct Admissions(Vec<Admission>);

impl Admissions {
    pub(super) fn of(config: &Config, plan: &Plan) -> Self {
        let Some(survey) = &plan.survey else {
            return Admissions(Vec::new());
        };
        let bytes = survey.bytes as f64;
        let limits = [
            config.budget.bytes_a_day.map(|limit| Admission {
                window_ns: DAY_NS,
                left: limit.0 as f64 - plan.continuous_bytes_a_day as f64,
                costs: vec![bytes; plan.pairs.len()],
                counted: None,
            }),
            config.budget.usd_a_month.map(|limit| Admission {
                window_ns: DAY_NS * MONTH_DAYS,
                left: limit - plan.continuous_usd_a_month,
                costs: plan.pairs.iter().map(|pair| pair.usd_of(bytes)).collect(),
                counted: None,
            }),
        ];
        Admissions(limits.into_iter().flatten().collect())
    }

    /// Whether the survey of a pair that starts at a time is within all limits.
    pub(super) fn admit(&mut self, moments: &Moments, pair: usize, start_ns: u64) -> bool {
        self.0
            .iter_mut()
            .all(|limit| limit.admits(moments, pair, start_ns))
    }
}

impl Admission {
    fn admits(&mut self, moments: &Moments, pair: usize, start_ns: u64) -> bool {
        let window = start_ns / self.window_ns;
        if self
            .counted
            .as_ref()
            .is_none_or(|(counted, _)| *counted != window)
        {
            let from_ns = window * self.window_ns;
            let mut left = self.left;
            let mut fits = BTreeSet::new();
            for (start_ns, pair) in moments.surveys(from_ns, from_ns.saturating_add(self.window_ns)) {
                if self.costs[pair] <= left {
                    left -= self.costs[pair];
                    fits.insert((start_ns, pair));
                }
            }
            self.counted = Some((window, fits));
        }
        let fits = self.counted.as_ref().map(|(_, fits)| fits);
        fits.is_some_and(|fits| fits.contains(&(start_ns, pair)))
    }
}
