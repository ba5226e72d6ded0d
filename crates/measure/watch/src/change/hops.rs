//! Changes of the number of hops. Pure.

use std::collections::VecDeque;

use super::{Change, MINUTE_NS, Metric, Minute};

/// Minutes that are compared, and how many of them have to agree.
const MINUTES: usize = 6;
const AGREE: usize = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct HopsWatch {
    known: Option<u32>,
    /// The last minutes: start and hops.
    recent: VecDeque<(u64, u32)>,
}

impl HopsWatch {
    pub(super) fn push(&mut self, minute: &Minute) -> Option<Change> {
        let hops = minute.hops?;
        if self.recent.len() == MINUTES {
            self.recent.pop_front();
        }
        self.recent.push_back((minute.start_ns, hops));
        let same = |entry: &&(u64, u32)| entry.1 == hops;
        if self.known == Some(hops) || self.recent.iter().filter(same).count() < AGREE {
            return None;
        }
        let since_ns = self
            .recent
            .iter()
            .find(same)
            .map_or(minute.start_ns, |entry| entry.0);
        let before = self.known.replace(hops)?;
        Some(Change {
            metric: Metric::Hops,
            since_ns,
            found_ns: minute.start_ns + MINUTE_NS,
            before: f64::from(before),
            after: f64::from(hops),
            interval: (f64::from(hops), f64::from(hops)),
            detail: String::new(),
        })
    }
}
