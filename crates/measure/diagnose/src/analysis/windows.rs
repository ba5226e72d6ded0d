//! A test in short windows of time, with what each lost. It must not know for what.

use weir_stats::Counted;

use crate::measured::FlowTest;

/// Fewest packets in a piece of the stream whose losses are compared with others'.
pub(super) const LEAST_PIECE: u64 = 256;
/// Fewer pieces say less than the seconds do.
pub(super) const LEAST_PIECES: usize = 8;
/// In longer tests the seconds say enough.
const MOST_WINDOWS: usize = 100_000;
/// In longer tests a fall of the rate has a finding of its own.
pub(super) const MOST_COMPARED: usize = 600;

/// Losses in the short windows after this share of the test, but for its last. None where there are few windows or few packets in
/// each.
pub(super) fn windows(test: &FlowTest, share: f64) -> Option<Vec<Counted>> {
    let first = test.loss_windows.first()?;
    let last = test.loss_windows.last()?;
    let window_ns = first.duration_ns.max(1);
    let trials = u128::from(test.sent) * u128::from(window_ns) / u128::from(test.active_ns.max(1));
    let trials = u64::try_from(trials)
        .ok()
        .filter(|trials| *trials >= LEAST_PIECE)?;
    // Windows without a loss have no row, before the first one either.
    let earlier = first
        .unix_ns
        .saturating_sub(test.started_unix_ns)
        .div_ceil(window_ns);
    let begin_ns = first.unix_ns.saturating_sub(earlier.saturating_mul(window_ns));
    let place = |unix_ns: u64| unix_ns.saturating_sub(begin_ns).saturating_add(window_ns / 2) / window_ns;
    let from = place(
        test.started_unix_ns
            .saturating_add((test.active_ns as f64 * share) as u64),
    ) + 1;
    let end = place(test.started_unix_ns.saturating_add(test.active_ns)).min(place(last.unix_ns));
    let count = end.saturating_sub(from);
    let count = usize::try_from(count).ok()?;
    if !(LEAST_PIECES..=MOST_WINDOWS).contains(&count) {
        return None;
    }
    let mut pieces = vec![Counted { events: 0, trials }; count];
    for window in &test.loss_windows {
        let piece = place(window.unix_ns).checked_sub(from);
        if let Some(piece) = piece.and_then(|piece| pieces.get_mut(piece as usize)) {
            piece.events = piece.events.saturating_add(window.lost.min(trials));
        }
    }
    Some(pieces)
}
