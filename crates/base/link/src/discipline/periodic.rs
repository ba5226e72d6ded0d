//! Computations at fixed times, done when something next happens: between two events a queue does not change, so the
//! result is the same. It must not know what is computed.

use crate::packet::Nanos;

/// After a pause of more periods than this, the older ones are skipped, to bound the time that they take. Controllers with
/// the usual gains are at rest after some thousand.
const MOST_DUE: u64 = 100_000;

/// The times of a periodic computation, of which the first is one period after the start of the link.
#[derive(Clone, Debug)]
pub(super) struct Periodic {
    next: Option<u64>,
    period: u64,
}

impl Periodic {
    /// `period_ns` is above 0.
    pub(super) fn new(period_ns: u64) -> Self {
        Self {
            next: Some(period_ns),
            period: period_ns,
        }
    }

    /// The next time that is due by `now`; call until there is none.
    pub(super) fn due(&mut self, now: Nanos) -> Option<Nanos> {
        let next = self.next.filter(|next| *next <= now.0)?;
        let behind = (now.0 - next) / self.period;
        let at = next + behind.saturating_sub(MOST_DUE) * self.period;
        self.next = at.checked_add(self.period);
        Some(Nanos(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_due_once_and_a_long_pause_is_cut() {
        let mut periodic = Periodic::new(10);
        assert_eq!(periodic.due(Nanos(9)), None);
        let due: Vec<_> = std::iter::from_fn(|| periodic.due(Nanos(30))).collect();
        assert_eq!(due, [Nanos(10), Nanos(20), Nanos(30)]);
        let count = std::iter::from_fn(|| periodic.due(Nanos(u64::MAX))).count();
        assert_eq!(count as u64, MOST_DUE + 1);
    }
}
