//! When a busy direction would wake for every packet, it pauses briefly between two wake-ups, and
//! then finds several packets to read and to write together: a packet costs a fraction of a wake-up. Light traffic
//! is not delayed. It has no clock.

/// Maximum number of wake-ups in [`WINDOW_NS`] without a pause.
const MANY: u32 = 12;
const WINDOW_NS: u64 = 1_000_000;
/// Minimum time between wake-ups while busy: a usual value for interrupt moderation of network cards.
const SPACING_NS: u64 = 40_000;

/// Counts wake-ups.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rest {
    window_began_ns: u64,
    wakes: u32,
    many: bool,
}

impl Rest {
    /// Notes a wake-up at `now_ns`; returns until when to pause, if at all.
    pub fn after_wake(&mut self, now_ns: u64) -> Option<u64> {
        self.wakes += 1;
        let elapsed = now_ns.saturating_sub(self.window_began_ns);
        if elapsed >= WINDOW_NS {
            // After a long sleep the window is longer, and the wake-ups are few for it.
            self.many = u64::from(self.wakes) * WINDOW_NS > u64::from(MANY) * elapsed;
            self.wakes = 0;
            self.window_began_ns = now_ns;
        }
        self.many.then(|| now_ns.saturating_add(SPACING_NS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `count` wakes, `spacing_ns` apart, are followed by a rest.
    fn rests(rest: &mut Rest, now_ns: &mut u64, count: u32, spacing_ns: u64) -> u32 {
        let mut rests = 0;
        for _ in 0..count {
            *now_ns += spacing_ns;
            rests += u32::from(rest.after_wake(*now_ns).is_some());
        }
        rests
    }

    #[test]
    fn few_wakes_and_short_bursts_are_served_at_once_and_many_are_spaced() {
        let (mut rest, mut now) = (Rest::default(), 7_000_000);
        assert_eq!(
            rests(&mut rest, &mut now, 1000, 100_000),
            0,
            "ten in a millisecond"
        );
        assert_eq!(rests(&mut rest, &mut now, 8, 2_000), 0, "a burst");
        assert_eq!(rests(&mut rest, &mut now, 10, 100_000_000), 0, "pings");
        // A hundred thousand a second; what is spaced to 40 us stays many.
        assert!(rests(&mut rest, &mut now, 1000, 10_000) >= 890);
        assert_eq!(rests(&mut rest, &mut now, 1000, SPACING_NS), 1000);
        // It ends without further action.
        assert!(rests(&mut rest, &mut now, 100, 200_000) <= 5);
    }
}
