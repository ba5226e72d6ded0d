//! The slowest part of a direction: its rate, and the queue in front of it. It must not know what else a path does.

use weir_results::Direction;
use weir_units::format_rate;

use crate::analysis::Steps;
use crate::analysis::limit::{Limit, LimitKind};
use crate::findings::{length_growth, window_growth};
use crate::measured::Measured;
use crate::words::time;

/// A rate by which a path delays packets is one that limits it if it is at least what came through, but for this share.
const ALIKE: f64 = 1.1;

/// The slowest part of a direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Transmitter {
    /// Bits per second of IP packets.
    pub bits: f64,
    /// Its bounds.
    bounds: (f64, f64),
    /// Longest wait in front of it, nanoseconds, and the same in bytes; none where it was never full.
    queue: Option<(f64, f64)>,
}

/// The slowest part of a direction, where one shows.
pub(super) fn of(measured: &Measured, steps: &Steps) -> Option<Transmitter> {
    let forward = steps.direction == Direction::Forward;
    let by_windows = window_growth::slowest(measured).filter(|_| forward);
    let by_windows = by_windows.map(|rate| (rate.bits, rate.bounds));
    let full = steps.limit.as_ref().filter(|limit| limit.kind == LimitKind::Path);
    let Some(limit) = full else {
        return by_windows.map(|(bits, bounds)| Transmitter {
            bits,
            bounds,
            queue: None,
        });
    };
    let carries = |rate: &(f64, (f64, f64))| rate.0 >= limit.range.1 / ALIKE;
    // Where a queue is shorter than a burst, what comes through says little of the rate; how long a packet takes does.
    let by_length = length_growth::slope(measured).filter(|_| forward && limit.varies());
    let by_length = by_length.map(|line| {
        let (low, high) = line.slope_interval;
        (8e9 / line.slope, (8e9 / high, 8e9 / low))
    });
    let of_limit = if limit.varies() {
        limit.range.1
    } else {
        limit.value
    };
    let (bits, bounds) = by_windows
        .filter(carries)
        .or_else(|| by_length.filter(carries))
        .unwrap_or((of_limit, limit.range));
    Some(Transmitter {
        bits,
        bounds,
        queue: Some(queue(steps, limit, bits)),
    })
}

fn queue(steps: &Steps, limit: &Limit, bits: f64) -> (f64, f64) {
    let longest = |of: &dyn Fn(usize) -> bool| {
        let tests = steps.steps.iter().enumerate().filter(|(index, _)| of(*index));
        tests.map(|(_, step)| step.queueing.p99_ns).fold(0.0, f64::max)
    };
    // What tests that lose nothing wait is not the queue's.
    let waited = longest(&|index| limit.steps.contains(&index));
    let usual = longest(&|index| !limit.steps.contains(&index)).min(0.5 * waited);
    let packet = steps
        .steps
        .iter()
        .map(|step| step.test.payload)
        .max()
        .unwrap_or(0)
        + steps.header_bytes;
    let bytes = ((waited - usual) * bits / 8e9).max(f64::from(packet));
    (waited - usual, bytes)
}

impl Transmitter {
    /// Its keys in a link file.
    pub fn keys(&self) -> String {
        let rate = |bits: f64| format_rate(bits.round() as u64);
        let queue = match self.queue {
            Some((wait_ns, bytes)) => format!("queue = \"{}B\" # {}\n", bytes.round(), time(wait_ns)),
            None => "queue = \"unlimited\" # never full\n".to_owned(),
        };
        let (low, high) = self.bounds;
        let bits = self.bits.round();
        format!(
            "rate = \"{bits}bit/s\" # {} to {}\n{queue}",
            rate(low),
            rate(high)
        )
    }
}
