//! Ways to repair lost packets, the cheapest first, and what they leave by forecast. It must not know how they are tried.

use crate::finding::Recovery;

use super::{Loss, arq, fec, mean};
use crate::analysis::process::Share;

/// Repairs of other codes, by those of the code that the forecast chooses: the transport's sliding window is no block code.
const REPAIRS: [f64; 5] = [0.75, 1.0, 1.5, 2.0, 3.0];

/// Overhead up to which a code is better than a wait that is longer than usual.
const CHEAP_CODE: f64 = 0.10;
/// Retransmissions are tried up to this many times the rounds that the forecast asks for.
const MOST_OF_FORECAST: u32 = 2;
/// Maximum rounds of a retransmission to try.
const MOST_ROUNDS: u32 = 200;

/// The forecast of a stream's loss after repair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecast {
    /// Packets from one to its retransmission.
    pub distance: u64,
    /// How long retransmissions take; none where the RTT is not known.
    pub timing: Option<arq::Timing>,
}

impl Forecast {
    pub fn residual(&self, parts: &[Share], recovery: &Recovery) -> f64 {
        match *recovery {
            Recovery::None => mean(parts),
            Recovery::Fec {
                repair_packets,
                span_packets,
                ..
            } => fec::residual(parts, span_packets as usize, repair_packets as usize, 0),
            Recovery::Arq { rounds, .. } => arq::residual(parts, rounds, self.distance),
        }
    }
}

/// Time that repairs may take, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub ns: u64,
    /// The user has set it: repairs that take longer come last.
    pub is_firm: bool,
}

/// All that is worth a trial, by what it adds to the stream, then by latency: nothing, retransmissions within the budget,
/// codes, and retransmissions that take longer or nobody knows how long: before codes that add much if the budget is only
/// the usual one. Where no loss was seen, nothing that adds to the stream: a short test cannot know what that would be for.
pub(super) fn candidates(
    loss: &Loss,
    seen: bool,
    target: f64,
    packet_ns: f64,
    budget: Budget,
    forecast: &Forecast,
) -> Vec<Recovery> {
    let timing = forecast.timing;
    let needed = arq::rounds(loss, target, forecast.distance);
    let within = timing.map_or(0, |timing| timing.rounds_in(budget.ns));
    let mut all = Vec::new();
    if loss.dark_share == 0.0 {
        all.push(Recovery::None);
    }
    // Who survives a dark flow has to notice it first, for which there is no forecast.
    let most = if loss.dark_share > 0.0 {
        within
    } else {
        within.min(MOST_OF_FORECAST * needed)
    };
    let rounds = std::iter::successors(Some(1_u32), |rounds| Some((rounds + 1).max(rounds * 3 / 2)));
    let rounds = rounds.take_while(|rounds| *rounds <= most.min(MOST_ROUNDS));
    all.extend(rounds.map(|rounds| arq::recovery(rounds, timing)));
    if !seen {
        return all;
    }
    let codes = codes(loss, target, packet_ns, budget.ns);
    let (cheap, dear): (Vec<fec::Code>, Vec<fec::Code>) =
        codes.iter().partition(|code| code.overhead() <= CHEAP_CODE);
    let longer = (within < needed).then(|| arq::recovery(needed, timing));
    let is_last = budget.is_firm || timing.is_none();
    all.extend(cheap.iter().map(|code| code.recovery(packet_ns)));
    all.extend(longer.filter(|_| !is_last));
    all.extend(dear.iter().map(|code| code.recovery(packet_ns)));
    all.extend(longer.filter(|_| is_last));
    all
}

/// Codes about as strong as the forecast asks for, the weakest first.
fn codes(loss: &Loss, target: f64, packet_ns: f64, budget_ns: u64) -> Vec<fec::Code> {
    let Some(code) = fec::design(loss, target, packet_ns, budget_ns) else {
        return Vec::new();
    };
    let weakest = if loss.dark_share > 0.0 { 1.0 } else { 0.0 };
    let codes = REPAIRS.iter().filter(|share| **share >= weakest);
    let mut codes: Vec<fec::Code> = codes.filter_map(|share| code.with_repairs(*share)).collect();
    codes.dedup();
    codes
}

/// What a recovery adds to the stream, as a share of it.
pub(super) fn overhead(recovery: &Recovery, loss: f64) -> f64 {
    match *recovery {
        Recovery::None => 0.0,
        Recovery::Fec { overhead, .. } => overhead,
        Recovery::Arq { .. } => loss,
    }
}
