//! Options of `weir load` that change its requests, checked against the server's log: a table of short runs, each with
//! a condition on the log.

pub mod server;
mod times;

use std::collections::BTreeSet;

use server::{Line, Played, SEGMENTS, Server};
use weir_rig::{count, isolated};

/// Options, and what has to hold of the log.
type Case = (&'static str, fn(&Played));

#[track_caller]
fn hold(cases: &[Case]) {
    let server = Server::start();
    for (options, holds) in cases {
        let played = server.play(options);
        // Shown if what has to hold does not.
        println!("{options}: {} requests", played.lines.len());
        holds(&played);
    }
}

/// The rungs that were asked for.
fn rungs<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Vec<usize> {
    let all: BTreeSet<usize> = lines.into_iter().filter_map(Line::rung).collect();
    all.into_iter().collect()
}

fn is_text(line: &Line) -> bool {
    line.name.starts_with("text-")
}

#[test]
fn rungs_and_kinds_are_those_asked_for() {
    isolated!(heavy);
    hold(&[
        ("URL --for 400ms", |played| {
            assert_eq!(rungs(&played.lines), [2]);
            assert_eq!(played.count(is_text), 0);
        }),
        ("URL --rung lowest --for 400ms", |played| {
            assert_eq!(rungs(&played.lines), [0]);
        }),
        // Thirty sessions, each of which chooses once.
        ("URL --rung random --viewers 30 --for 1s", |played| {
            assert_eq!(rungs(&played.lines), [0, 1, 2]);
            assert!(played.sessions().len() >= 30);
            for session in played.sessions() {
                assert!(rungs(session).len() <= 1);
            }
        }),
        ("URL --subtitles --for 1s", |played| {
            let kinds = played.summary["kinds"].as_array().expect("kinds");
            let told = kinds
                .iter()
                .find(|kind| kind["kind"] == "subtitle")
                .expect("text");
            assert_eq!(count(&told["requests"]), played.count(is_text) as u64);
            let first: Vec<&str> = played
                .lines
                .iter()
                .take(7)
                .map(|line| line.name.as_str())
                .collect();
            let round = [
                "list.mpd", "sound-0", "high-0", "text-0", "sound-1", "high-1", "text-1",
            ];
            assert_eq!(first, round);
        }),
        ("URL --play real-time --subtitles --for 1s", |played| {
            assert!(played.count(is_text) > 0);
        }),
        ("URL --play manifest --for 400ms", |played| {
            assert_eq!(played.count(Line::is_manifest), played.lines.len());
        }),
        // Of a whole session, as many segments as the title has, in no order, and hardly all of them.
        ("URL --play random --for 1s", |played| {
            let mut whole = played.sessions();
            whole.retain(|session| session.len() == 2 * SEGMENTS);
            assert!(!whole.is_empty());
            for session in whole {
                let numbers: Vec<usize> = session
                    .iter()
                    .filter_map(|line| Some(line.segment()?.1))
                    .collect();
                let different: BTreeSet<usize> = numbers.iter().copied().collect();
                assert!(!numbers.is_sorted() && different.len() < SEGMENTS, "{numbers:?}");
                assert_eq!(
                    session.iter().filter(|line| line.rung().is_some()).count(),
                    SEGMENTS
                );
            }
        }),
    ]);
}
