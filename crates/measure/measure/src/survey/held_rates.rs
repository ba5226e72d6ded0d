//! Which rates the hosts of a survey keep up with, learned from its steps. Pure; it must not know which steps there are.

use crate::VideoFormat;
use crate::flows::{FlowsPlan, HostLimit};
use weir_units::Rate;

/// Mantissas of the rates that are tried below the media's: 1, 2.5 and 5 times powers of ten.
const MANTISSAS: [u64; 3] = [10, 25, 50];
/// Steps are made at this share of the media's rate at least: slower ones tell nothing about the media, and a host that is late
/// at that rate, too, is late at any.
const LOWEST_SHARE: u64 = 26;
/// Hosts that drop this share of what they dropped at a higher rate do not drop by the rate.
const SAME: f64 = 0.7;
/// A first failure may be a stall that has passed: the step is repeated at its own rate, at most this often in a survey.
const SECOND_TRIES: u32 = 3;

/// What a host has to do each second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Load {
    bits: f64,
    packets: f64,
}

impl Load {
    fn of(plan: &FlowsPlan) -> Self {
        let bits = plan.format.rate().0 as f64;
        Load {
            bits,
            packets: bits / 8.0 / f64::from(plan.length.max(1)),
        }
    }

    /// No dimension of it is smaller than the other's.
    fn is_at_least(self, other: Load) -> bool {
        self.bits >= other.bits && self.packets >= other.packets
    }
}

/// Loads that a host of the survey did not keep up with.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldRates {
    exceeded: Vec<Load>,
    suspected: Option<Load>,
    second_tries: u32,
    /// The first step in which hosts dropped packets, and which share.
    dropped: Option<(FlowsPlan, f64)>,
    /// They drop as many at lower rates: no step has to be slower.
    drops_anyway: bool,
}

impl HeldRates {
    /// The step at the highest rate, at most its own, that no failure so far rules out; `media` is the rate of the media.
    pub fn lowered(&self, plan: &FlowsPlan, media: Rate) -> FlowsPlan {
        let mut plan = plan.clone();
        while self.exceeds(&plan) {
            match below(&plan) {
                Some(lower) if lower.format.rate().0 >= media.0 / LOWEST_SHARE => plan = lower,
                _ => break,
            }
        }
        plan
    }

    fn exceeds(&self, plan: &FlowsPlan) -> bool {
        let load = Load::of(plan);
        self.exceeded.iter().any(|known| load.is_at_least(*known))
    }

    /// A host did not keep up with this step. What to repeat instead; none when the rate is as low as is useful, `media`
    /// being the rate of the media, or no rate is low enough.
    pub fn repeat_of(&mut self, plan: &FlowsPlan, media: Rate, limit: HostLimit) -> Option<FlowsPlan> {
        if let HostLimit::Dropped { share } = limit {
            let (first, of_first) = self.dropped.get_or_insert((plan.clone(), share));
            let is_lower = plan.length == first.length && plan.format.rate() < first.format.rate();
            if self.drops_anyway {
                return None;
            }
            if is_lower && share >= SAME * *of_first {
                self.drops_anyway = true;
                self.exceeded.clear();
                return Some(first.clone());
            }
        }
        let load = Load::of(plan);
        let first = self.exceeded.is_empty() && self.suspected.is_none();
        if first && self.second_tries < SECOND_TRIES {
            self.second_tries += 1;
            self.suspected = Some(load);
            return Some(plan.clone());
        }
        self.suspected = None;
        self.exceeded.push(load);
        let lower = self.lowered(plan, media);
        (lower.format != plan.format).then_some(lower)
    }

    /// The hosts kept up: a failure before was a stall.
    pub fn kept_up(&mut self) {
        self.suspected = None;
    }
}

/// The same step at the next lower rate of the series; none below 1 Mbit/s.
fn below(plan: &FlowsPlan) -> Option<FlowsPlan> {
    let rate = plan.format.rate().0;
    let powers = (5..11).map(|power| 10_u64.pow(power));
    let series = powers.flat_map(|power| MANTISSAS.map(|mantissa| mantissa * power));
    // A format's rate is rounded down to whole bytes of a frame, so that its own rung is not below it.
    let next = series.filter(|rung| *rung < rate - rate / 50).max()?;
    Some(FlowsPlan {
        format: VideoFormat::of_rate(Rate(next), plan.format.frame_rate),
        ..plan.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_units::FrameRate;

    fn plan(rate: u64, length: u32) -> FlowsPlan {
        FlowsPlan {
            format: VideoFormat::of_rate(Rate(rate), FrameRate::NTSC_60),
            length,
            ..FlowsPlan::default()
        }
    }

    /// Megabits per second, rounded.
    fn megabits(plan: &FlowsPlan) -> u64 {
        (plan.format.rate().0 + 500_000) / 1_000_000
    }

    const MEDIA: Rate = Rate(2_500_000_000);
    const LATE: HostLimit = HostLimit::SenderLate { p99_ns: 10_000_000 };

    #[test]
    fn a_stall_is_tried_again_and_forgotten() {
        let mut held = HeldRates::default();
        let asked = plan(MEDIA.0, 1200);
        assert_eq!(held.repeat_of(&asked, MEDIA, LATE), Some(asked.clone()));
        held.kept_up();
        assert_eq!(held.lowered(&asked, MEDIA), asked);
        assert_eq!(held.repeat_of(&asked, MEDIA, LATE), Some(asked));
    }

    #[test]
    fn a_second_failure_lowers_the_rate_step_by_step() {
        let mut held = HeldRates::default();
        let mut step = plan(MEDIA.0, 1200);
        let mut rates = Vec::new();
        while let Some(next) = held.repeat_of(&step, MEDIA, LATE) {
            rates.push(megabits(&next));
            step = next;
        }
        assert_eq!(rates, [2500, 1000, 500, 250, 100]);
    }

    #[test]
    fn what_was_exceeded_is_exceeded_by_more_packets_of_as_many_bits() {
        let mut held = HeldRates::default();
        let long = plan(1_000_000_000, 8000);
        held.repeat_of(&long, MEDIA, LATE);
        held.repeat_of(&long, MEDIA, LATE);
        // As many bits in more packets.
        assert_eq!(megabits(&held.lowered(&plan(1_000_000_000, 1200), MEDIA)), 500);
        // Fewer bits in more packets were not tried.
        assert_eq!(megabits(&held.lowered(&plan(500_000_000, 1200), MEDIA)), 500);
        // More bits in fewer packets neither.
        assert_eq!(megabits(&held.lowered(&plan(1_100_000_000, 9000), MEDIA)), 1100);
    }

    #[test]
    fn what_hosts_drop_at_any_rate_makes_no_step_slower() {
        let dropped = |share| HostLimit::Dropped { share };
        let asked = plan(MEDIA.0, 1200);
        for (slower, rates) in [(0.8e-3, vec![2500, 1000, 2500]), (0.2e-3, vec![2500, 1000, 500])] {
            let mut held = HeldRates::default();
            let (mut step, mut made) = (asked.clone(), Vec::new());
            for share in [1e-3, 1.1e-3, slower] {
                step = held.repeat_of(&step, MEDIA, dropped(share)).expect("a repeat");
                made.push(megabits(&step));
            }
            assert_eq!(made, rates);
            let again = held.repeat_of(&step, MEDIA, dropped(slower));
            assert_eq!(again.is_none(), rates[2] == 2500);
            assert_eq!(held.lowered(&asked, MEDIA) == asked, rates[2] == 2500);
        }
    }

    #[test]
    fn the_lowest_rate_is_not_lowered() {
        let mut held = HeldRates::default();
        let slow = plan(1_000_000, 1200);
        held.repeat_of(&slow, MEDIA, LATE);
        assert_eq!(held.repeat_of(&slow, MEDIA, LATE), None);
        assert_eq!(held.lowered(&slow, MEDIA), slow);
    }
}
