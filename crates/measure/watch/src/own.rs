//! The watcher's own host: seconds in which it did not run, lost packets, or had its clock set, so that none of this is blamed on a
//! path. Pure: times and counters come in, seconds go out.

use weir_record::{HostSecond, WatchExcluded};

const SECOND_NS: u64 = 1_000_000_000;
/// A sleep that lasts so much longer than asked for is a stall, nanoseconds.
const STALL_NS: u64 = 100_000_000;
/// The clock has been set if it differs by so much from the one before, nanoseconds.
const STEP_NS: u64 = 200_000_000;
/// Packets that were sent so long before a disturbance may have been on their way, nanoseconds.
const ON_THE_WAY_NS: u64 = SECOND_NS;
/// Share of all cores whose time is stolen.
const STOLEN: f64 = 0.1;
/// A disturbance of a third of the time after which a path is unreachable.
const SILENCE_NS: u64 = 5 * SECOND_NS;
/// Longest disturbance whose seconds are listed, seconds.
const LONGEST_S: u64 = 3_600;

/// The clocks at one moment, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Unix time.
    pub unix_ns: u64,
    /// A clock that nobody sets, read after the other.
    pub monotonic_ns: u64,
    /// By how much the other may have been read before it: a process that is not run in between reads no step of the clock.
    pub within_ns: u64,
}

/// Why seconds are excluded, with its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// This process was not run, nanoseconds.
    Stalled(u64),
    /// Packets that the host dropped.
    Dropped(u64),
    /// Share of all cores that the hypervisor took.
    Stolen(f64),
    /// Nanoseconds by which the clock was set: ahead, or back if below zero.
    Clock(i64),
}

impl Cause {
    /// Its name in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Stalled(_) => "stalled",
            Cause::Dropped(_) => "dropped",
            Cause::Stolen(_) => "stolen",
            Cause::Clock(_) => "clock",
        }
    }

    fn value(self) -> f64 {
        match self {
            Cause::Stalled(value) | Cause::Dropped(value) => value as f64,
            Cause::Clock(value) => value as f64,
            Cause::Stolen(share) => share,
        }
    }
}

/// A disturbance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disturbed {
    /// Why.
    pub cause: Cause,
    /// First moment about which nothing is said, Unix nanoseconds.
    pub from_ns: u64,
    /// The last one.
    pub until_ns: u64,
}

impl Disturbed {
    /// Whether it lasted so long that nothing can be said of how long nothing was answered.
    #[must_use]
    pub fn breaks_silence(self) -> bool {
        match self.cause {
            Cause::Stalled(ns) => ns >= SILENCE_NS,
            Cause::Clock(ns) => ns.unsigned_abs() >= SILENCE_NS,
            Cause::Dropped(_) | Cause::Stolen(_) => false,
        }
    }

    /// The seconds that it spoils, an hour at most.
    pub fn seconds(self) -> impl Iterator<Item = WatchExcluded> {
        let last_s = self.until_ns / SECOND_NS;
        let first_s = (self.from_ns / SECOND_NS).max(last_s.saturating_sub(LONGEST_S));
        (first_s..=last_s).map(move |start_s| WatchExcluded {
            start_s,
            cause: self.cause.as_str().to_owned(),
            value: self.cause.value(),
        })
    }
}

/// What it says that one moment was to follow another after `asked_ns`.
#[must_use]
pub fn of_sleep(asked_ns: u64, before: Moment, after: Moment) -> Option<Disturbed> {
    let slept_ns = after.monotonic_ns.saturating_sub(before.monotonic_ns);
    let late_ns = slept_ns.saturating_sub(asked_ns);
    let set_ns = after.unix_ns.wrapping_sub(before.unix_ns.wrapping_add(slept_ns)) as i64;
    if set_ns.unsigned_abs() >= STEP_NS + before.within_ns + after.within_ns {
        return Some(Disturbed {
            cause: Cause::Clock(set_ns),
            from_ns: after.unix_ns.saturating_sub(ON_THE_WAY_NS),
            until_ns: after.unix_ns,
        });
    }
    (late_ns >= STALL_NS).then(|| Disturbed {
        cause: Cause::Stalled(late_ns),
        from_ns: after.unix_ns.saturating_sub(slept_ns + ON_THE_WAY_NS),
        until_ns: after.unix_ns,
    })
}

/// What the counters of a second show on a host with this number of cores.
#[must_use]
pub fn of_counters(second: &HostSecond, cores: usize) -> Option<Disturbed> {
    let counts = &second.counts;
    // Interfaces count packets of unknown protocols as dropped, too: what they drop is in the backlog's or the driver's count.
    let received = counts.softnet_dropped.max(counts.driver_rx_dropped);
    let dropped = received
        .saturating_add(counts.udp_rcvbuf_errors)
        .saturating_add(counts.send_drops());
    let stolen = second.cpu_steal / cores.max(1) as f64;
    let cause = match dropped {
        _ if stolen >= STOLEN => Cause::Stolen(stolen),
        0 => return None,
        dropped => Cause::Dropped(dropped),
    };
    Some(Disturbed {
        cause,
        from_ns: second.unix_ns.saturating_sub(SECOND_NS + ON_THE_WAY_NS),
        until_ns: second.unix_ns,
    })
}

/// Whether a second is left out of what is said of a path: packets that the host dropped need not have been those of the path.
#[must_use]
pub fn spoils(excluded: &WatchExcluded, lost: u64) -> bool {
    excluded.cause != "dropped" || lost > 0
}

#[cfg(test)]
mod tests {
    use weir_stats::HostCounts;

    use super::*;

    const MS: u64 = 1_000_000;

    fn at(unix_ms: u64, monotonic_ms: u64) -> Moment {
        Moment {
            unix_ns: unix_ms * MS,
            monotonic_ns: monotonic_ms * MS,
            within_ns: 0,
        }
    }

    fn seconds(disturbed: Disturbed) -> Vec<u64> {
        disturbed.seconds().map(|second| second.start_s).collect()
    }

    #[test]
    fn a_stall_spoils_its_seconds_and_the_one_before() {
        assert_eq!(of_sleep(50 * MS, at(10_000, 500), at(10_149, 649)), None);
        let stall = of_sleep(50 * MS, at(10_000, 500), at(12_500, 3_000)).unwrap();
        assert_eq!(stall.cause, Cause::Stalled(2_450 * MS));
        assert_eq!(seconds(stall), [9, 10, 11, 12]);
        let long = of_sleep(50 * MS, at(10_000, 500), at(90_000_000, 89_990_500)).unwrap();
        assert_eq!(seconds(long).len() as u64, LONGEST_S + 1);
    }

    #[test]
    fn a_clock_that_is_set_is_no_stall() {
        for (unix_ms, set_s) in [(3_610_050, 3_600), (4_050, -6)] {
            let set = of_sleep(50 * MS, at(10_000, 500), at(unix_ms, 550)).unwrap();
            assert_eq!(set.cause, Cause::Clock(set_s * 1_000_000_000));
            assert_eq!(seconds(set), [unix_ms / 1_000 - 1, unix_ms / 1_000]);
        }
        // Nor is it set when the process stood still between the two readings of a moment; that is a stall.
        let parted = Moment {
            within_ns: 300 * MS,
            ..at(10_050, 850)
        };
        let stall = of_sleep(50 * MS, at(10_000, 500), parted).unwrap();
        assert_eq!(stall.cause, Cause::Stalled(300 * MS));
        assert_eq!(of_sleep(50 * MS, parted, at(10_400, 900)), None);
        // A slewed clock is none.
        assert_eq!(of_sleep(50 * MS, at(10_000, 500), at(10_055, 550)), None);
    }

    #[test]
    fn drops_spoil_seconds_with_loss_and_stolen_time_all() {
        let second = |counts, cpu_steal| HostSecond {
            unix_ns: 20_300 * MS,
            counts,
            cpu_steal,
            ..HostSecond::default()
        };
        let quiet = HostCounts {
            interface_rx_dropped: 7,
            softnet_squeezed: 2,
            ..HostCounts::default()
        };
        assert_eq!(of_counters(&second(quiet, 0.19), 2), None);
        let full = HostCounts {
            udp_rcvbuf_errors: 5,
            qdisc_dropped: 1,
            udp_sndbuf_errors: 1,
            ..quiet
        };
        let dropped = of_counters(&second(full, 0.0), 2).unwrap();
        assert_eq!(
            (dropped.cause, seconds(dropped)),
            (Cause::Dropped(6), vec![18, 19, 20])
        );
        let row = dropped.seconds().next().unwrap();
        assert!(spoils(&row, 1) && !spoils(&row, 0));
        let stolen = of_counters(&second(full, 0.3), 2).unwrap();
        assert_eq!(stolen.cause, Cause::Stolen(0.15));
        assert!(spoils(&stolen.seconds().next().unwrap(), 0));
    }
}
