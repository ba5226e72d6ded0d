//! When viewers come, think and go, by the clock of the server's log. A viewer is never early, however busy the machine
//! is, and what is late is late by much less than these times.

use weir_rig::{count, isolated};

use super::server::{Line, Played};
use super::{Case, hold};

/// From each to the next, milliseconds.
fn gaps(times: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut times: Vec<u64> = times.into_iter().collect();
    times.sort_unstable();
    times.windows(2).map(|two| two[1] - two[0]).collect()
}

/// Between the first requests of connections, and between their last ones. Whoever comes at the very end has no answer.
fn between_viewers(played: &Played) -> (Vec<u64>, Vec<u64>) {
    let connections = played.connections();
    let arrivals = count(&played.summary["arrivals"]);
    let answered = connections.len() as u64;
    assert!(
        (answered..=answered + 2).contains(&arrivals),
        "{answered} of {arrivals}"
    );
    let first = connections.iter().map(|lines| lines[0].at_ms);
    let last = connections.iter().map(|lines| lines[lines.len() - 1].at_ms);
    (gaps(first), gaps(last))
}

/// Between the manifests of a viewer who plays alone.
fn between_sessions(played: &Played) -> Vec<u64> {
    gaps(
        played
            .lines
            .iter()
            .filter(|line| line.is_manifest())
            .map(|line| line.at_ms),
    )
}

/// The share of gaps that are evenly long, within a quarter: each viewer comes 200 ms after the one before.
fn even(played: &Played) -> f64 {
    let (first, _) = between_viewers(played);
    assert!(first.len() > 10, "{first:?}");
    // Each has one session, of one manifest.
    assert_eq!(played.lines.len(), first.len() + 1);
    let near = first.iter().filter(|gap| (150..=250).contains(*gap)).count();
    near as f64 / first.len() as f64
}

#[test]
fn viewers_come_and_go_when_told() {
    isolated!(heavy);
    const CASES: [Case; 5] = [
        ("URL --viewers 2,4,1 --over 1500ms --rung lowest", |played| {
            assert_eq!(count(&played.summary["most_viewers"]), 4);
            let (first, last) = between_viewers(played);
            // Two, two more after a step, and three of them leave after another.
            assert!(first.len() == 3 && first[1] > 500, "{first:?}");
            assert!(last[2] > 500, "{last:?}");
        }),
        // A viewer every half second.
        ("URL --viewers 0..4 --over 2s --for 3s --rung lowest", |played| {
            let (first, _) = between_viewers(played);
            assert!(first.len() == 3 && first.iter().sum::<u64>() > 800, "{first:?}");
        }),
        // A ramp from nobody.
        ("URL --viewers 3 --over 1500ms --for 2s --rung lowest", |played| {
            let (first, _) = between_viewers(played);
            assert!(first.len() == 2 && first.iter().sum::<u64>() > 500, "{first:?}");
        }),
        ("URL --play manifest --arrivals 5/s --for 4s", |played| {
            let even = even(played);
            assert!(even > 0.5, "{even}");
        }),
        // Of random intervals between arrivals, one in five is within a quarter of the mean.
        (
            "URL --play manifest --arrivals 5/s --poisson --for 4s",
            |played| {
                assert!(even(played) < 0.5);
            },
        ),
    ];
    hold(&CASES);
}

#[test]
fn sessions_and_requests_take_their_time() {
    isolated!(heavy);
    hold(&[
        // A viewer who thinks has closed its connection, and its next session is another device's to the server.
        ("URL --play manifest --think 150ms..250ms --for 2s", |played| {
            assert_eq!(played.connections().len(), played.lines.len());
            let pauses = between_sessions(played);
            // The log's clock counts milliseconds.
            assert!(
                pauses.len() > 1 && pauses.iter().all(|pause| *pause >= 149),
                "{pauses:?}"
            );
        }),
        (
            "URL --play real-time --rung lowest --buffer 2s --for 2s",
            |played| {
                assert_eq!(played.count(Line::is_manifest), 1);
            },
        ),
        // The first request of a session takes some of its time.
        (
            "URL --play real-time --rung lowest --buffer 2s --session 700ms --for 3s",
            |played| {
                let sessions = between_sessions(played);
                assert!(
                    !sessions.is_empty() && sessions.iter().all(|time| *time > 500),
                    "{sessions:?}"
                );
            },
        ),
        // Each of five viewers has its turn every 100 ms; late ones do not make it more.
        ("URL --viewers 5 --rate 50/s --for 2s", |played| {
            assert_eq!(played.connections().len(), 5);
            let due = count(&played.summary["duration_ns"]) as f64 / 1e9 * 50.0;
            let came = played.lines.len() as f64;
            assert!(came <= due + 10.0, "{came} for {due}");
            assert!(came > due / 2.0, "{came} for {due}");
        }),
    ]);
}
