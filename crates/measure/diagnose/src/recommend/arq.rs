//! Retransmission for a loss process: the number of retransmissions, and their latency. The model: a packet
//! sent again an RTT later meets the process as it is then, on any route, and does not change it; a burst may still last.

use super::Loss;
use crate::analysis::Steps;
use crate::analysis::process::Share;
use crate::finding::Recovery;
use crate::measured::Measured;

/// Maximum number of rounds to plan for.
const MOST_ROUNDS: u32 = 16;
/// Time in which a receiver notices a gap and asks, beside the RTT, nanoseconds, where bursts are close to each other.
const NOTICE_NS: u64 = 1_000_000;
/// Maximum number of bursts after which a loss is noticed.
const MOST_BURSTS: i32 = 16;
/// Packets between a packet and its retransmission: no burst reaches so far, and simulations have to.
const MOST_DISTANCE: u64 = 200_000;

/// As many rounds as the target needs by forecast.
pub(super) fn rounds(loss: &Loss, target: f64, distance: u64) -> u32 {
    let enough = |rounds: &u32| residual(&loss.worst, *rounds, distance) <= target;
    (1..MOST_ROUNDS).find(enough).unwrap_or(MOST_ROUNDS)
}

/// How long retransmissions take, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Until a gap is noticed for the first time, beyond what each round has for it.
    notice_ns: u64,
    /// The first round: an RTT that 99 of 100 packets keep, on the longest route, and noticing.
    round_ns: u64,
    /// From one request to the next: half an RTT longer, since a packet may be on its way.
    repeat_ns: u64,
}

impl Timing {
    /// Of a stream that is noticed to lack a packet after that time. None where the RTT was not measured.
    pub fn of(measured: &Measured, steps: &Steps, notice_ns: u64) -> Option<Self> {
        let rtt = measured.rtt.as_ref()?.rtt?;
        let rtt_ns = rtt.p99.unsigned_abs() + beyond_ns(steps);
        Some(Timing {
            notice_ns: notice_ns.saturating_sub(NOTICE_NS),
            round_ns: rtt_ns + NOTICE_NS,
            repeat_ns: rtt_ns + rtt_ns / 2 + NOTICE_NS,
        })
    }

    fn latency_ns(self, rounds: u32) -> u64 {
        self.notice_ns + self.round_ns + self.repeat_ns * u64::from(rounds.saturating_sub(1))
    }

    /// Rounds within that time.
    pub fn rounds_in(self, ns: u64) -> u32 {
        let further = ns
            .checked_sub(self.latency_ns(1))
            .map(|left| left / self.repeat_ns);
        further.map_or(0, |further| {
            u32::try_from(further).unwrap_or(u32::MAX).saturating_add(1)
        })
    }
}

/// Bursts of all flows after which a receiver has noticed a loss, but for as many as the target allows: it knows that a packet is
/// missing when every flow has gone on, and each may lose what it sends next, too.
pub(super) fn bursts_to_notice(loss: &Loss, flows: u16, target: f64) -> u32 {
    let lost = mean_loss(&loss.worst);
    let is_unnoticed = |bursts: &i32| lost * f64::from(flows) * lost.powi(*bursts) > target;
    (1..MOST_BURSTS).take_while(is_unnoticed).count() as u32 + 1
}

/// Retransmission of so many rounds.
pub(super) fn recovery(rounds: u32, timing: Option<Timing>) -> Recovery {
    Recovery::Arq {
        latency_ns: timing.map(|timing| timing.latency_ns(rounds)),
        rounds,
    }
}

/// How much longer the longest route takes than the one that the RTT was measured on, at most: which one that was is not known.
pub(super) fn beyond_ns(steps: &Steps) -> u64 {
    let levels = steps.unlimited().flat_map(|step| &step.routes.levels_ns);
    levels.copied().fold(0.0, f64::max) as u64
}

/// Packets of the stream between a packet and its retransmission; one where the RTT is not known.
pub(super) fn distance(measured: &Measured, packet_ns: f64) -> u64 {
    let rtt = measured
        .rtt
        .as_ref()
        .and_then(|rtt| rtt.rtt)
        .map_or(0, |rtt| rtt.p50.unsigned_abs());
    (((rtt + NOTICE_NS) as f64 / packet_ns) as u64).clamp(1, MOST_DISTANCE)
}

/// Residual loss after `rounds` retransmissions: packets that are lost at first, and each time again.
pub(super) fn residual(parts: &[Share], rounds: u32, distance: u64) -> f64 {
    let first = mean_loss(parts);
    // The packet is sent again on a route drawn by share; on its own one it may meet the same burst.
    let of = |part: &Share| part.share * part.process.loss() * lost_again(parts, part, distance);
    let again = parts.iter().map(of).sum::<f64>() / first.max(f64::MIN_POSITIVE);
    first * again.powi(rounds as i32)
}

fn mean_loss(parts: &[Share]) -> f64 {
    parts.iter().map(|part| part.share * part.process.loss()).sum()
}

/// Probability that a packet that was lost on a route is lost again.
fn lost_again(parts: &[Share], own: &Share, distance: u64) -> f64 {
    let others = mean_loss(parts) - own.share * own.process.loss();
    let process = &own.process;
    let (rate, bad_share) = (process.loss(), process.bad_share());
    if rate <= 0.0 {
        return others;
    }
    // Of the lost packets, these met the bad state; what is left of that decays from packet to packet.
    let lost_in_bad = bad_share * process.loss_bad / rate;
    let steps = own.share * distance as f64;
    let memory = (1.0 - process.to_bad - process.to_good).max(0.0).powf(steps);
    let bad = bad_share + (lost_in_bad - bad_share) * memory;
    others + own.share * (bad * process.loss_bad + (1.0 - bad) * process.loss_good)
}
