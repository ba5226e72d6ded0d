//! Which windows a test sends: how many packets, how long, and when. Pure.

use serde::{Deserialize, Serialize};
use weir_units::Rate;

use crate::MeasureError;

/// A value that is fixed, or moves evenly from one end to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Value at the start.
    pub from: u32,
    /// Value at the end.
    pub to: u32,
}

impl Span {
    /// A value that does not move.
    pub const fn fixed(value: u32) -> Self {
        Span {
            from: value,
            to: value,
        }
    }

    /// The value once `elapsed` of `over` has passed.
    pub fn at(self, elapsed: u64, over: u64) -> u32 {
        if elapsed >= over {
            return self.to;
        }
        let step = u64::from(self.to - self.from) * elapsed / over;
        self.from + step as u32
    }

    /// The value moves.
    pub fn moves(self) -> bool {
        self.from != self.to
    }
}

/// A windowed RTT test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RttPlan {
    /// Packets in a window.
    pub window: Span,
    /// UDP payload bytes of each packet.
    pub length: Span,
    /// From the start of a window to the start of the next, nanoseconds.
    pub interval_ns: u64,
    /// How long windows are sent, nanoseconds.
    pub duration_ns: u64,
    /// How long `window` and `length` take to move, nanoseconds.
    pub over_ns: u64,
    /// A packet without a reply for so long is lost, nanoseconds.
    pub timeout_ns: u64,
    /// TTL or hop limit of the packets.
    pub ttl: u8,
}

impl Default for RttPlan {
    fn default() -> Self {
        RttPlan {
            window: Span::fixed(10),
            length: Span::fixed(100),
            interval_ns: 1_000_000_000,
            duration_ns: 10_000_000_000,
            over_ns: 10_000_000_000,
            timeout_ns: 2_000_000_000,
            ttl: 64,
        }
    }
}

/// One window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its number, from 0.
    pub number: u64,
    /// When it is due, nanoseconds after the start.
    pub due_ns: u64,
    /// How many packets.
    pub packets: u32,
    /// UDP payload bytes of each.
    pub length: u32,
}

impl RttPlan {
    /// Window `number`; none once the duration is over. There is always a window 0.
    pub fn window(&self, number: u64) -> Option<Window> {
        let due_ns = number.checked_mul(self.interval_ns)?;
        if number > 0 && due_ns >= self.duration_ns {
            return None;
        }
        // The last window reaches the end of the span, whatever the interval.
        let last = self.duration_ns.saturating_sub(1) / self.interval_ns.max(1) * self.interval_ns;
        let over = self.over_ns.min(last).max(1);
        let elapsed = if last == 0 { 0 } else { due_ns };
        Some(Window {
            number,
            due_ns,
            packets: self.window.at(elapsed, over),
            length: self.length.at(elapsed, over),
        })
    }

    /// All windows.
    fn windows(&self) -> impl Iterator<Item = Window> + '_ {
        (0..).map_while(|number| self.window(number))
    }

    /// Packets and UDP payload bytes that the test sends.
    pub fn volume(&self) -> (u64, u64) {
        self.windows().fold((0, 0), |(packets, bytes), window| {
            let count = u64::from(window.packets);
            (packets + count, bytes + count * u64::from(window.length))
        })
    }

    /// UDP payload bytes that the test sends at most: exactly [`RttPlan::volume`], unless adding up its windows would take
    /// long.
    pub fn most_bytes(&self) -> u64 {
        const MOST_WINDOWS: u64 = 1_000_000;
        let windows = self.duration_ns.div_ceil(self.interval_ns.max(1)).max(1);
        if windows <= MOST_WINDOWS {
            return self.volume().1;
        }
        windows
            .saturating_mul(u64::from(self.window.to))
            .saturating_mul(u64::from(self.length.to))
    }

    /// Highest rate of UDP payload, averaged over an interval.
    pub fn peak_rate(&self) -> Rate {
        let bytes = u64::from(self.window.to) * u64::from(self.length.to);
        Rate::of(bytes, self.interval_ns)
    }

    /// Most packets in a second, averaged over an interval.
    pub fn peak_packets(&self) -> u64 {
        u64::from(self.window.to) * 1_000_000_000 / self.interval_ns.max(1)
    }

    /// Packets whose times have to be remembered at once: those of twice the timeout, and of two windows; at least 256, so
    /// that what stalls for long is still known, and at most 2^18. A power of two.
    pub fn remembered(&self) -> usize {
        let a_second = u128::from(self.window.to) * 1_000_000_000 / u128::from(self.interval_ns.max(1));
        let waiting =
            a_second * 2 * u128::from(self.timeout_ns) / 1_000_000_000 + 2 * u128::from(self.window.to);
        waiting.clamp(1 << 8, 1 << 18).next_power_of_two() as usize
    }

    /// Checks what can be checked without the agent; `shortest` is the shortest packet of the protocol.
    ///
    /// # Errors
    /// [`MeasureError::Parameters`], naming the option.
    pub fn check(&self, shortest: u32) -> Result<(), MeasureError> {
        let refuse = |text: String| Err(MeasureError::Parameters(text));
        for (option, span, low, high) in [
            ("--window", self.window, 1, 10_000),
            ("--length", self.length, shortest, 65_507),
        ] {
            if span.from > span.to {
                return refuse(format!(
                    "{option} {}..{} runs backwards; write {option} {}..{}",
                    span.from, span.to, span.to, span.from
                ));
            }
            if span.from < low || span.to > high {
                return refuse(format!(
                    "{option} {}..{} is outside of {low} to {high}",
                    span.from, span.to
                ));
            }
        }
        if self.interval_ns < 1_000_000 {
            return refuse("--interval is below 1 ms; use --interval 1ms or more".into());
        }
        if self.duration_ns == 0 {
            return refuse("--for is 0; give a duration such as --for 10s".into());
        }
        if self.timeout_ns == 0 {
            return refuse("--timeout is 0; give a duration such as --timeout 2s".into());
        }
        Ok(())
    }
}

/// One packet of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its position in the test, from 0.
    pub sequence: u64,
    /// Its window.
    pub window: Window,
    /// Its position in the window, from 0.
    pub position: u32,
}

/// Which packet of a test leaves next, and when. Times are monotonic nanoseconds.
#[derive(Clone, Debug)]
pub struct WindowSender {
    plan: RttPlan,
    start_ns: u64,
    next: Option<Probe>,
}

impl WindowSender {
    /// The windows of a plan from `start_ns` on.
    pub fn new(plan: &RttPlan, start_ns: u64) -> Self {
        WindowSender {
            plan: plan.clone(),
            start_ns,
            next: plan.window(0).map(|window| Probe {
                sequence: 0,
                window,
                position: 0,
            }),
        }
    }

    /// When the next packet is due; none once all have left.
    pub fn next_wake(&self) -> Option<u64> {
        self.next.map(|probe| self.start_ns + probe.window.due_ns)
    }

    /// The next packet, which leaves now.
    pub fn wake(&mut self) -> Option<Probe> {
        let probe = self.next?;
        let last = probe.position + 1 >= probe.window.packets;
        let window = if last {
            self.plan.window(probe.window.number + 1)
        } else {
            Some(probe.window)
        };
        self.next = window.map(|window| Probe {
            sequence: probe.sequence + 1,
            window,
            position: if last { 0 } else { probe.position + 1 },
        });
        Some(probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn both_spans_move_and_arrive() {
        let plan = RttPlan {
            window: Span { from: 50, to: 100 },
            length: Span { from: 100, to: 8100 },
            duration_ns: 11 * SECOND,
            over_ns: 10 * SECOND,
            ..RttPlan::default()
        };
        let windows: Vec<Window> = plan.windows().collect();
        assert_eq!(windows.len(), 11);
        assert_eq!((windows[0].packets, windows[0].length), (50, 100));
        assert_eq!((windows[5].packets, windows[5].length), (75, 4100));
        assert_eq!((windows[10].packets, windows[10].length), (100, 8100));
        assert_eq!(windows[10].due_ns, 10 * SECOND);
    }

    #[test]
    fn twice_what_waits_for_a_reply_is_remembered() {
        let plan = |window, interval_ns, timeout_ns| RttPlan {
            window: Span::fixed(window),
            interval_ns,
            timeout_ns,
            ..RttPlan::default()
        };
        assert_eq!(plan(4, SECOND, 2 * SECOND).remembered(), 256);
        // 10,000 packets/s for 4 s, and two windows.
        assert_eq!(plan(100, SECOND / 100, 2 * SECOND).remembered(), 65_536);
        assert_eq!(plan(10_000, 1_000_000, 3600 * SECOND).remembered(), 1 << 18);
    }

    #[test]
    fn packets_leave_window_by_window() {
        let plan = RttPlan {
            window: Span { from: 1, to: 3 },
            duration_ns: 3 * SECOND,
            ..RttPlan::default()
        };
        let mut sender = WindowSender::new(&plan, 500);
        let mut left = Vec::new();
        while let Some(due) = sender.next_wake() {
            let probe = sender.wake().expect("a packet is due");
            left.push((due, probe.sequence, probe.window.number, probe.position));
        }
        let (second, third) = (500 + SECOND, 500 + 2 * SECOND);
        let expected = [
            (500, 0, 0, 0),
            (second, 1, 1, 0),
            (second, 2, 1, 1),
            (third, 3, 2, 0),
            (third, 4, 2, 1),
            (third, 5, 2, 2),
        ];
        assert_eq!(left, expected);
        assert_eq!(sender.wake(), None);
    }

    #[test]
    fn the_last_window_of_a_span_as_long_as_the_test_reaches_its_end() {
        let plan = RttPlan {
            length: Span { from: 100, to: 200 },
            ..RttPlan::default()
        };
        assert_eq!(plan.windows().last().map(|window| window.length), Some(200));
        let one = RttPlan {
            duration_ns: SECOND / 2,
            ..plan
        };
        assert_eq!(
            one.windows().map(|window| window.length).collect::<Vec<_>>(),
            [100]
        );
    }

    #[test]
    fn bytes_are_added_up_or_bounded() {
        // Ten windows of ten packets of 100 bytes.
        assert_eq!(RttPlan::default().most_bytes(), 10_000);
        let growing = RttPlan {
            length: Span { from: 100, to: 190 },
            ..RttPlan::default()
        };
        // Ten packets of 100, 110, ... 190 bytes.
        assert_eq!(growing.most_bytes(), 10 * 1450);
        let years = RttPlan {
            interval_ns: 1_000_000,
            duration_ns: 1_000_000 * SECOND,
            ..growing
        };
        assert_eq!(years.most_bytes(), 1_000_000_000 * 10 * 190);
    }

    #[test]
    fn backwards_and_zero_are_refused_with_the_option_named() {
        let backwards = RttPlan {
            window: Span { from: 100, to: 50 },
            ..RttPlan::default()
        };
        let said = backwards.check(72).expect_err("it runs backwards").to_string();
        assert!(said.contains("--window 50..100"), "{said}");
        let short = RttPlan {
            length: Span::fixed(10),
            ..RttPlan::default()
        };
        assert!(short.check(72).is_err());
    }
}
