//! One alarm: raised when its condition has held for a time, cleared when it has not held for another. It has no clock.

/// How long a condition has to hold, and not to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Time for which the condition has to hold without a break until the alarm is raised, nanoseconds; 0: at once.
    pub raise_ns: u64,
    /// Time for which the condition must not hold until the alarm is cleared, nanoseconds.
    pub clear_ns: u64,
}

/// A change of an alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It begins.
    Raised,
    /// It ends, after this time in nanoseconds.
    Cleared(u64),
}

/// An alarm. It changes at most twice in [`Hold::clear_ns`], however often its condition does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alarm {
    /// Since when the condition has held without a break.
    since_ns: Option<u64>,
    raised_ns: Option<u64>,
    /// When the condition held last.
    last_ns: u64,
}

impl Alarm {
    /// Takes the condition at a time. A time before the last one means that the clock was set back: what is to come counts from
    /// there.
    pub fn observe(&mut self, now_ns: u64, hold: Hold, holds: bool) -> Option<Change> {
        self.last_ns = self.last_ns.min(now_ns);
        self.since_ns = self.since_ns.map(|since_ns| since_ns.min(now_ns));
        if holds {
            self.last_ns = now_ns;
            let since_ns = *self.since_ns.get_or_insert(now_ns);
            if self.raised_ns.is_none() && now_ns.saturating_sub(since_ns) >= hold.raise_ns {
                self.raised_ns = Some(now_ns);
                return Some(Change::Raised);
            }
            return None;
        }
        self.since_ns = None;
        if now_ns.saturating_sub(self.last_ns) < hold.clear_ns {
            return None;
        }
        self.clear(now_ns)
    }

    /// Clears it at once, because what it watches is gone.
    pub fn clear(&mut self, now_ns: u64) -> Option<Change> {
        self.since_ns = None;
        let raised_ns = self.raised_ns.take()?;
        Some(Change::Cleared(now_ns.saturating_sub(raised_ns)))
    }

    /// Whether it stands.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.raised_ns.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Hold = Hold {
        raise_ns: 1_000,
        clear_ns: 5_000,
    };

    /// The changes when the condition holds at these times, asked every 250.
    fn changes(until_ns: u64, holds: impl Fn(u64) -> bool) -> Vec<(u64, Change)> {
        let mut alarm = Alarm::default();
        (0..=until_ns)
            .step_by(250)
            .filter_map(|now| Some((now, alarm.observe(now, HOLD, holds(now))?)))
            .collect()
    }

    #[test]
    fn a_condition_raises_after_its_time_and_clears_after_a_quiet_one() {
        let held = |now| (2_000..=4_000).contains(&now);
        let expected = [(3_000, Change::Raised), (9_000, Change::Cleared(6_000))];
        assert_eq!(changes(20_000, held), expected);
        // A break starts the time again.
        let broken = |now| (2_000..=3_500).contains(&now) && now != 2_750;
        assert_eq!(changes(5_000, broken), []);
        let at_once = Hold { raise_ns: 0, ..HOLD };
        assert_eq!(Alarm::default().observe(7, at_once, true), Some(Change::Raised));
    }

    #[test]
    fn a_condition_that_flaps_stays_raised_and_one_that_never_holds_says_nothing() {
        // 1.5 of every 4 s: raised once and never cleared.
        let flapping = |now: u64| now % 4_000 < 1_500;
        assert_eq!(changes(1_000_000, flapping), [(1_000, Change::Raised)]);
        assert_eq!(changes(100_000, |_| false), []);
        // The worst that a condition can do: once in each quiet span.
        let worst = changes(1_000_000, |now| now % 6_500 <= 1_000);
        let raised = worst.iter().filter(|(_, change)| *change == Change::Raised);
        assert_eq!(raised.count(), 154, "1,000,000 / 6,500, begun");
    }

    #[test]
    fn a_clock_that_is_set_back_holds_no_alarm_up() {
        let mut alarm = Alarm::default();
        assert_eq!(alarm.observe(1_000_000, HOLD, true), None);
        assert_eq!(alarm.observe(1_001_000, HOLD, true), Some(Change::Raised));
        assert_eq!(alarm.observe(2_000, HOLD, false), None);
        assert_eq!(alarm.observe(7_000, HOLD, false), Some(Change::Cleared(0)));
    }

    #[test]
    fn what_is_gone_clears_its_alarm_once() {
        let mut alarm = Alarm::default();
        let at_once = Hold { raise_ns: 0, ..HOLD };
        alarm.observe(10, at_once, true);
        assert!(alarm.is_raised());
        assert_eq!(alarm.clear(25), Some(Change::Cleared(15)));
        assert_eq!(alarm.clear(26), None);
        assert!(!alarm.is_raised());
    }
}
