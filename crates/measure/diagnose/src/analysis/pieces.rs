//! A test's stream in pieces whose losses can be compared: whole frames, short windows, or seconds. It must not know for what.

use weir_results::StreamBurst;
use weir_stats::{Counted, line};

use super::step::Step;
use super::windows::{LEAST_PIECE, LEAST_PIECES, MOST_COMPARED, windows};
use crate::measured::FlowTest;

/// Chance of a line through what passes that is not level, and by what share of the mean it rises or falls at least.
const BY_CHANCE: f64 = 1e-4;
const DRIFT: f64 = 0.005;
/// More pieces say nothing more: in a long test they are longer.
const MOST_PIECES: u64 = 65_536;
/// A pause between two bursts that were kept: others may have come in it.
const LOT_NS: u64 = 20_000_000;

/// Losses in the finest pieces that there are enough of.
pub(super) fn of_stream(step: &Step) -> Vec<Counted> {
    frames(step)
        .or_else(|| since_loss(&windows(step.test, begin(step))?))
        .unwrap_or_else(|| step.slots_after_start())
}

/// Those after the first with a loss, where there are enough: a bucket may have lasted until then.
fn since_loss(pieces: &[Counted]) -> Option<Vec<Counted>> {
    let first = pieces.iter().position(|piece| piece.events > 0)?;
    let since = if first > 0 { first + 1 } else { 0 };
    (pieces.len() - since >= LEAST_PIECES).then(|| pieces[since..].to_vec())
}

/// Whether what passes of a test grows or shrinks all along, as it seldom does at random.
pub(super) fn drifts(step: &Step) -> bool {
    let pieces = windows(step.test, begin(step)).filter(|pieces| pieces.len() <= MOST_COMPARED);
    let passed = |(at, piece): (u32, &Counted)| (f64::from(at), (piece.trials - piece.events) as f64);
    let passed: Vec<(f64, f64)> = (0..).zip(pieces.iter().flatten()).map(passed).collect();
    let mean = passed.iter().map(|(_, passed)| passed).sum::<f64>() / passed.len() as f64;
    line(&passed)
        .is_some_and(|line| line.p_value < BY_CHANCE && line.slope.abs() * passed.len() as f64 > DRIFT * mean)
}

/// From where on pieces are compared: buckets and queues begin full or empty.
fn begin(step: &Step) -> f64 {
    step.settled.map_or(0.0, |settled| settled.from).max(1.0 / 3.0)
}

/// Losses in whole frames, after the first third of the stream, or where it has settled: a sender begins each frame anew, so that every frame
/// meets the same limit alike. None where the store holds too few of the bursts.
fn frames(step: &Step) -> Option<Vec<Counted>> {
    let test = step.test;
    if test.payload == 0 {
        return None;
    }
    let frame = u64::from(test.plan.format.bytes_per_frame.div_ceil(test.payload)).max(1);
    let frames = LEAST_PIECE.div_ceil(frame).max(test.sent / frame / MOST_PIECES);
    let size = frame * frames;
    let first = u64::from(test.plan.first_sequence);
    let mut pieces = Vec::new();
    // No packet is in two stretches or beyond the last that was sent, whatever rows claim.
    let mut done = first + (test.sent as f64 * begin(step)) as u64;
    for (from, to, bursts) in whole_stretches(test) {
        let (from, to) = (from.max(done), to.min(first + test.sent));
        done = done.max(to);
        let begin = first + (from - first).div_ceil(size) * size;
        let count = to.saturating_sub(begin) / size;
        let mut stretch = vec![
            Counted {
                events: 0,
                trials: size
            };
            usize::try_from(count).ok()?
        ];
        let mut counted = begin;
        for burst in bursts {
            counted = add_burst(&mut stretch, (begin, counted), size, burst);
        }
        pieces.extend(stretch);
    }
    (pieces.len() >= LEAST_PIECES).then_some(pieces)
}

/// Parts of the stream of which every burst is known: all of it, or where some were too many to be kept, from the first
/// to the last of each lot that was.
fn whole_stretches(test: &FlowTest) -> Vec<(u64, u64, &[StreamBurst])> {
    let first = u64::from(test.plan.first_sequence);
    let bursts = test.stream_bursts.as_slice();
    if test.bursts_complete {
        return vec![(first, first + test.sent, bursts)];
    }
    bursts
        .chunk_by(|a, b| b.unix_ns.saturating_sub(a.unix_ns) < LOT_NS)
        .filter_map(|lot| Some((lot.first()?.first_sequence, lot.last()?.first_sequence, lot)))
        .collect()
}

/// Adds what of a burst was not yet `counted` to the pieces that it falls into, of which the first has its `begin`;
/// returns up to where now everything is counted.
fn add_burst(pieces: &mut [Counted], (begin, counted): (u64, u64), size: u64, burst: &StreamBurst) -> u64 {
    let end = burst.first_sequence + burst.length;
    let mut at = burst.first_sequence.max(counted);
    while at < end {
        let place = (at - begin) / size;
        let next = (begin + (place + 1) * size).min(end);
        let Some(piece) = pieces.get_mut(place as usize) else {
            break;
        };
        piece.events += next - at;
        at = next;
    }
    at.max(counted)
}
