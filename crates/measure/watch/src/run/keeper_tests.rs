//! Hours of a path in virtual time, over a real store: what is summed and found, and that kills change nothing.

use weir_record::WatchCell;
use weir_results::{Span, Store};

use super::super::path::Path;
use super::*;

/// 2026-01-01 00:00:00 UTC.
const START_S: u64 = 1_767_225_600;
const HOURS: u64 = 3;
/// The RTT is 6 % longer from here on.
const STEP_S: u64 = START_S + 100 * 60;

/// A second of four packets.
fn second(start_s: u64) -> WatchCell {
    let mut cell = WatchCell {
        start_s,
        sent: 4,
        hops: Some(11),
        ..WatchCell::default()
    };
    for packet in 0..4 {
        // Spread over 1 %, by a number without a short period.
        let spread = (start_s * 4 + packet) * 7_919 % 10_007;
        let rtt_ns = 40_000_000 + spread * 40;
        cell.rtt.record(if start_s < STEP_S {
            rtt_ns
        } else {
            rtt_ns * 106 / 100
        });
    }
    cell
}

/// Runs a keeper through the hours, second by second; it is killed at some of the seconds. Returns the reported events and
/// the store.
fn run(killed_at: impl Fn(u64) -> bool) -> (Vec<Event>, tempfile::TempDir, Store, Path) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("weir.db")).unwrap();
    let names = ("lon".to_owned(), "ams".to_owned());
    let open = || Path::open(&store, 0, (&names.0, &names.1), START_S * 1_000_000_000).unwrap();
    let (mut keeper, mut path, mut events) = (Keeper::default(), open(), Vec::new());
    for second_s in START_S..=START_S + HOURS * 3_600 + SETTLE_S {
        if killed_at(second_s) {
            (keeper, path) = (Keeper::default(), open());
        }
        keeper.waiting.push((path.id, second(second_s)));
        keeper.store(&store);
        // The last second of a span is settled when the span is summed.
        events.extend(keeper.roll_up(&store, &mut path, second_s * 1_000_000_000));
    }
    (events, folder, store, path)
}

#[test]
fn minutes_and_hours_are_sums_and_a_step_is_found_whatever_is_killed() {
    let (events, _folder, store, path) = run(|_| false);
    let changed = |events: &[Event]| -> Vec<(String, u64)> {
        let changes = events.iter().filter_map(|event| event.change.as_ref());
        changes
            .map(|change| (change.metric.clone(), change.since_unix_ns))
            .collect()
    };
    let since_ns = STEP_S * 1_000_000_000;
    let expected = [("p50".to_owned(), since_ns), ("p90".to_owned(), since_ns)];
    assert_eq!(changed(&events), expected);
    let cells =
        |store: &Store, path: &Path, span| store.watch_cells(path.id, span, 0, u64::MAX >> 1).unwrap();
    let (minutes, hours) = (
        cells(&store, &path, Span::Minute),
        cells(&store, &path, Span::Hour),
    );
    assert_eq!((minutes.len(), hours.len()), (180, 3));
    assert!(
        minutes
            .iter()
            .all(|minute| minute.sent == 240 && minute.rtt.count() == 240)
    );
    let mut whole = WatchCell::default();
    (START_S..START_S + 3_600).for_each(|start_s| whole.merge(&second(start_s)));
    assert_eq!((hours[0].sent, &hours[0].rtt), (whole.sent, &whole.rtt));

    // Killed every 97 s, also while the change is being found.
    let (killed, _other_folder, other, other_path) = run(|second_s| second_s % 97 == 0);
    assert_eq!(changed(&killed), expected);
    assert_eq!(cells(&other, &other_path, Span::Minute), minutes);
    assert_eq!(cells(&other, &other_path, Span::Hour), hours);
    let stored = other.watch_changes(other_path.id, 0).unwrap();
    assert_eq!(stored, store.watch_changes(path.id, 0).unwrap());
    assert_eq!(stored.len(), 2);
}
