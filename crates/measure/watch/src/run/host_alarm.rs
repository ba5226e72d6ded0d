//! The alarm of a watcher whose own host is disturbed so often that little is said of its paths. It has no clock.

use std::collections::BTreeMap;

use weir_alarm::{Alarm, Change as Turn, Hold};
use weir_units::format_duration;

use crate::event::{Event, State, What};
use crate::own::{Cause, Disturbed};

/// Seconds over which excluded ones are counted.
const OVER_S: u64 = 300;
/// The alarm is raised above so many.
const MOST: usize = 60;
/// And cleared when it has not been above for so long, nanoseconds.
const HOLD: Hold = Hold {
    raise_ns: 0,
    clear_ns: 60_000_000_000,
};

#[derive(Debug, Default)]
pub(super) struct HostAlarm {
    /// Excluded seconds of the last minutes, each with its cause.
    excluded: BTreeMap<u64, Cause>,
    alarm: Alarm,
}

impl HostAlarm {
    pub fn add(&mut self, disturbed: Disturbed) {
        // Packets that are dropped are left out only where a path loses some.
        if !matches!(disturbed.cause, Cause::Dropped(_)) {
            let seconds = disturbed
                .seconds()
                .map(|second| (second.start_s, disturbed.cause));
            self.excluded.extend(seconds);
        }
    }

    /// What turned by now, on the host `here`.
    pub fn observe(&mut self, now_ns: u64, here: &str) -> Option<Event> {
        let now_s = now_ns / 1_000_000_000;
        let (from_s, to_s) = (now_s.saturating_sub(OVER_S), now_s);
        self.excluded.retain(|second, _| (from_s..=to_s).contains(second));
        let turn = self.alarm.observe(now_ns, HOLD, self.excluded.len() > MOST)?;
        let (state, what) = match turn {
            Turn::Raised => (
                State::Raised,
                format!(
                    "{here}: this host is disturbed, {} of the last {OVER_S} s are left out: {}",
                    self.excluded.len(),
                    self.causes()
                ),
            ),
            Turn::Cleared(lasted_ns) => (
                State::Cleared,
                format!(
                    "{here}: this host runs undisturbed again, after {}",
                    format_duration(lasted_ns)
                ),
            ),
        };
        Some(Event::of_path(now_ns, What::Host, state, (here, ""), what))
    }

    fn causes(&self) -> String {
        let count = |is_it: fn(&Cause) -> bool| self.excluded.values().filter(|cause| is_it(cause)).count();
        let all = [
            (
                "the watcher did not run",
                count(|cause| matches!(cause, Cause::Stalled(_))),
            ),
            (
                "the hypervisor took CPU time",
                count(|cause| matches!(cause, Cause::Stolen(_))),
            ),
            (
                "the clock was set",
                count(|cause| matches!(cause, Cause::Clock(_))),
            ),
        ];
        let some = all.iter().filter(|(_, seconds)| *seconds > 0);
        some.map(|(what, seconds)| format!("{what} ({seconds} s)"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// The event of a clock that was set on the host `here`.
pub(super) fn clock_was_set(now_ns: u64, here: &str, disturbed: Disturbed) -> Option<Event> {
    let Cause::Clock(set_ns) = disturbed.cause else {
        return None;
    };
    let way = if set_ns < 0 { "back" } else { "ahead" };
    let by = format_duration(set_ns.unsigned_abs());
    let what = format!("{here}: the clock of this host was set {way} by {by}; this second is left out");
    Some(Event::of_path(
        now_ns,
        What::Clock,
        State::Happened,
        (here, ""),
        what,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_host_that_stalls_in_a_fifth_of_the_seconds_raises_one_alarm() {
        let mut alarm = HostAlarm::default();
        let mut events = Vec::new();
        for second in 1_000..3_000u64 {
            let now_ns = second * SECOND;
            let every = if second < 1_900 { 7 } else { 50 };
            if second.is_multiple_of(every) {
                alarm.add(Disturbed {
                    cause: Cause::Stalled(SECOND),
                    from_ns: now_ns - SECOND,
                    until_ns: now_ns,
                });
            }
            events.extend(alarm.observe(now_ns, "lon").map(|event| (second, event)));
        }
        let [(raised_s, raised), (cleared_s, cleared)] = &events[..] else {
            panic!("{events:?}");
        };
        // Two of seven seconds; more than 60 after 31 of them.
        assert!((1_200..1_230).contains(raised_s), "{raised_s}");
        assert_eq!(
            raised.detail,
            "lon: this host is disturbed, 62 of the last 300 s are left out: the watcher did not run (62 s)"
        );
        assert_eq!((cleared.state, raised.from.as_str()), (State::Cleared, "lon"));
        assert!((1_960..2_200).contains(cleared_s), "{cleared_s}");
    }
}
