//! Between which two payload lengths loss begins, and which one to try next: the lengths of the sweep are far apart, and
//! every byte of a longer payload is one that needs no further packet. Pure; it must not know which steps there are.

use crate::flows::DirectionSummary;

/// Lengths that are closer than this carry the same number of packets to within some per cent.
pub(super) const CLOSE: u32 = 40;
/// Losses are alike up to this many times the smaller and so much more.
const LIKE_TIMES: f64 = 3.0;
const LIKE_LOSS: f64 = 1e-4;
/// Loss begins where longer payloads lose this many times as much: flows that happen to take lossy routes make less of a difference.
const JUMP: f64 = 5.0;
/// Fewer lost packets may be a burst that struck one test.
const LEAST_LOST: u64 = 20;

/// The longest payload that lost about as little as any: where long packets are lost, a sweep over the number of flows
/// says something of shorter ones only.
pub(super) fn carried_length(rows: &[DirectionSummary]) -> Option<u32> {
    let least = rows.iter().map(|row| row.loss).fold(f64::MAX, f64::min);
    let alike = |row: &&DirectionSummary| row.loss <= LIKE_LOSS + LIKE_TIMES * least;
    rows.iter().filter(alike).map(|row| row.length).max()
}

/// The length in the middle of the gap in which loss begins; none where it does not begin, or is known closely enough.
pub(super) fn next_length(rows: &[DirectionSummary]) -> Option<u32> {
    let carried = carried_length(rows)?;
    let carried = rows.iter().find(|row| row.length == carried)?;
    let longer = rows.iter().filter(|row| row.length > carried.length);
    let lost = longer.min_by_key(|row| row.length)?;
    let is_wide = lost.length - carried.length > CLOSE;
    let jumps = lost.lost >= LEAST_LOST && lost.loss >= JUMP * carried.loss;
    (is_wide && jumps).then(|| carried.length.midpoint(lost.length))
}
