//! An erasure code for a loss process: how many repair packets for a span. The model: a block of n source packets and r
//! repair packets is whole again if at most r of the n + r are lost; packets go to routes in turn, so that each route
//! gets its share of every block.

use weir_stats::{add_losses, losses_in, residual_loss};

use super::Loss;
use crate::analysis::process::Share;
use crate::finding::Recovery;

/// Spans that are tried, source packets.
const SPANS: [usize; 8] = [10, 20, 40, 80, 160, 320, 640, 1_000];
/// Latency that a span may take.
const MOST_LATENCY_NS: f64 = 20e6;
/// Losses beyond the repairs that are counted; more count as the whole block.
const BEYOND: usize = 64;
/// A longer span has to save this share of the overhead.
const WORTH: f64 = 0.8;

/// A code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Code {
    span: usize,
    repairs: usize,
}

impl Code {
    pub fn overhead(&self) -> f64 {
        self.repairs as f64 / self.span as f64
    }

    /// The same span with this share of the repairs, at least one and at most as many as packets; else none.
    pub fn with_repairs(self, share: f64) -> Option<Self> {
        let repairs = (self.repairs as f64 * share).round() as usize;
        if !(1..=self.span).contains(&repairs) {
            return None;
        }
        // The transport sends one repair packet after a whole number of source packets, the same of this as of what was asked for.
        let repairs = self.span / (self.span / repairs);
        Some(Code { repairs, ..self })
    }

    pub fn recovery(&self, packet_ns: f64) -> Recovery {
        Recovery::Fec {
            overhead: self.overhead(),
            repair_packets: self.repairs as u32,
            span_packets: self.span as u32,
            latency_ns: (self.span as f64 * packet_ns) as u64,
        }
    }
}

/// The code with the least overhead that leaves no more than the target of the worst loss, also while a route is dark;
/// of nearly equal ones the shorter. None where even as many repairs as packets do not.
pub(super) fn design(loss: &Loss, target: f64, packet_ns: f64, budget_ns: u64) -> Option<Code> {
    let most_latency_ns = MOST_LATENCY_NS.min(budget_ns as f64);
    let mut best: Option<Code> = None;
    for span in SPANS {
        if span > SPANS[0] && span as f64 * packet_ns > most_latency_ns {
            break;
        }
        let Some(repairs) = fewest_repairs(loss, span, target) else {
            continue;
        };
        let code = Code { span, repairs };
        if best.is_none_or(|best| code.overhead() < WORTH * best.overhead()) {
            best = Some(code);
        }
    }
    best
}

/// Residual loss never grows with repairs, so the fewest are found by halving.
fn fewest_repairs(loss: &Loss, span: usize, target: f64) -> Option<usize> {
    let leaves = |repairs: usize| {
        let dark = (loss.dark_share * (span + repairs) as f64).ceil() as usize;
        residual(&loss.worst, span, repairs, dark)
    };
    if leaves(span) > target {
        return None;
    }
    let (mut low, mut high) = (0, span);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if leaves(middle) <= target {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// Residual loss, when `dark` packets of each block are lost anyway.
pub(super) fn residual(parts: &[Share], span: usize, repairs: usize, dark: usize) -> f64 {
    let block = span + repairs;
    let Some(usable) = repairs.checked_sub(dark) else {
        return 1.0;
    };
    let most = (usable + BEYOND).min(block);
    let mut left = block;
    let mut losses = vec![1.0];
    losses.resize(most + 2, 0.0);
    for (index, part) in parts.iter().enumerate() {
        let packets = if index + 1 == parts.len() {
            left
        } else {
            ((part.share * block as f64).round() as usize).min(left)
        };
        left -= packets;
        losses = add_losses(&losses, &losses_in(&part.process, packets, most));
    }
    residual_loss(&losses, block, usable)
}
