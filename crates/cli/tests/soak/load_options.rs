//! Options of `weir load` that change its requests, checked against the server's log: a table of short runs, each with
//! a condition on the log.

mod patience;
pub mod server;
mod times;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use server::{Line, Played, RUNGS, SEGMENTS, Server};
use weir_rig::unpacked;
use weir_rig::{LIMIT, count, isolated, run_within, weir};

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

/// The segments of pictures in the order in which they were asked for, each with its rung.
fn pictures(played: &Played) -> Vec<(usize, usize)> {
    let each = |line: &Line| Some((line.segment()?.1, line.rung()?));
    played.lines.iter().filter_map(each).collect()
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

#[test]
fn titles_are_chosen_by_their_place_in_the_list_and_by_the_seed() {
    isolated!(heavy);
    let server = Server::start();
    // A comment, an empty line, and three titles, which the server tells apart by their queries.
    let list: String = ["# titles", "", "1", "2", "3"]
        .map(|line| match line.parse::<u8>() {
            Ok(number) => format!("http://127.0.0.1:8080/film/list.mpd?{number}\n"),
            Err(_) => format!("{line}\n"),
        })
        .concat();
    std::fs::write(weir_rig::path("titles"), list).expect("a file");
    let chosen = |options: &str| -> Vec<String> {
        let played = server.play(&format!("--titles $titles --play manifest {options}"));
        played.lines.iter().map(|line| line.query.clone()).collect()
    };
    let by_zipf = chosen("--zipf 2 --for 1s");
    assert!(by_zipf.len() > 200, "{} requests", by_zipf.len());
    // In proportion to 1, 1/4 and 1/9, of which the sum is 49/36: within five standard deviations of chance.
    for (title, share) in [("1", 36.0 / 49.0), ("2", 9.0 / 49.0), ("3", 4.0 / 49.0)] {
        let all = by_zipf.len() as f64;
        let found = by_zipf.iter().filter(|query| *query == title).count() as f64 / all;
        let room = 5.0 * (share * (1.0 - share) / all).sqrt();
        assert!((found - share).abs() < room, "title {title}: {found} for {share}");
    }
    // The same seed chooses the same, another one does not.
    let [first, again, other] = ["7", "7", "8"].map(|seed| chosen(&format!("--seed {seed} --for 400ms")));
    let shortest = first.len().min(again.len()).min(other.len());
    assert!(shortest > 50, "{shortest} requests");
    assert_eq!(first[..shortest], again[..shortest]);
    assert_ne!(first[..shortest], other[..shortest]);
}

#[test]
fn players_buffer_and_adapt_as_told() {
    isolated!(heavy);
    hold(&[
        // All of the title goes into the buffer that there is without being told otherwise.
        ("URL --play real-time --rung lowest --for 2s", |played| {
            assert_eq!(
                pictures(played),
                (0..SEGMENTS).map(|number| (number, 0)).collect::<Vec<_>>()
            );
        }),
        // No more is asked for than what the buffer holds and what has been played in the meantime.
        (
            "URL --play real-time --rung lowest --buffer 3s --for 3s",
            |played| {
                let numbers: Vec<usize> = pictures(played).iter().map(|(number, _)| *number).collect();
                assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>());
                let played_s = count(&played.summary["duration_ns"]) as f64 / 1e9;
                assert!(
                    (3.0..=3.0 + played_s + 1.0).contains(&(numbers.len() as f64)),
                    "{numbers:?}"
                );
            },
        ),
        // By throughput, which there is plenty of: from the lowest to the highest at once.
        (
            "URL --play real-time --rung abr --buffer 10s --for 1s",
            |played| {
                let chosen: Vec<usize> = pictures(played).iter().map(|(_, rung)| *rung).collect();
                assert!(rungs(&played.lines) == [0, 2], "{chosen:?}");
                assert!(chosen[0] == 0 && chosen.is_sorted(), "{chosen:?}");
            },
        ),
        // BBA-0 goes by the buffer alone. Of 10 s, 90/240 are reservoir, in which it takes the lowest rung, and at
        // 216/240 it takes the highest: that is not before ten segments are there. In between it takes the middle
        // one.
        (
            "URL --play real-time --rung abr --abr bba --buffer 10s --for 2s",
            |played| {
                let chosen: Vec<usize> = pictures(played).iter().map(|(_, rung)| *rung).collect();
                let first = |rung: usize| chosen.iter().position(|one| *one == rung);
                assert!(first(1) >= Some(4), "{chosen:?}");
                assert!(first(2).is_none_or(|at| at >= 9), "{chosen:?}");
            },
        ),
    ]);
}

/// The keys of a request by name; what has no value is true.
fn cmcd(line: &Line) -> BTreeMap<String, String> {
    let value = line.query.strip_prefix("CMCD=").expect("keys");
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first == b'%' {
            let digits = std::str::from_utf8(&rest[..2]).expect("two digits");
            bytes.push(u8::from_str_radix(digits, 16).expect("two digits"));
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    let text = String::from_utf8(bytes).expect("text");
    text.split(',')
        .map(|key| key.split_once('=').unwrap_or((key, "true")))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Checks the keys of all segments: those of pictures and of sound, and that a session keeps its name. CTA-5004 and
/// CTA-5004-A say what they mean.
#[track_caller]
fn tells(played: &Played, of_pictures: &[(&str, &str)], of_sound: &[(&str, &str)]) {
    let mut sessions = BTreeSet::new();
    for line in &played.lines {
        if line.segment().is_none() {
            assert_eq!(line.query, "", "{}", line.name);
            continue;
        }
        let keys = cmcd(line);
        let expected = if line.rung().is_some() {
            of_pictures
        } else {
            of_sound
        };
        for (key, value) in expected {
            let told = keys.get(*key).map_or("nothing", String::as_str);
            assert_eq!(told, *value, "{key} of {}: {keys:?}", line.name);
        }
        sessions.insert(keys["sid"].clone());
    }
    assert_eq!(sessions.len() as u64, count(&played.summary["arrivals"]));
}

#[test]
fn servers_are_told_what_players_do() {
    isolated!();
    hold(&[
        ("URL --play real-time --viewers 2 --for 1s", |played| {
            assert!(played.lines.iter().all(|line| line.query.is_empty()));
        }),
        ("URL --play real-time --viewers 2 --cmcd 1 --for 1s", |played| {
            let both = [
                ("d", "1000"),
                ("sf", "d"),
                ("st", "v"),
                ("v", "nothing"),
                ("rtp", "nothing"),
            ];
            tells(
                played,
                &[&both[..], &[("br", "800"), ("tb", "800"), ("ot", "v")]].concat(),
                &[&both[..], &[("br", "64"), ("tb", "64"), ("ot", "a")]].concat(),
            );
        }),
        ("URL --play real-time --rung lowest --cmcd 2 --for 1s", |played| {
            let both = [("d", "1000"), ("v", "2"), ("rtp", "nothing")];
            tells(
                played,
                &[&both[..], &[("br", "(200;v)"), ("tb", "(800;v)"), ("ot", "v")]].concat(),
                &[&both[..], &[("br", "(64;a)"), ("ot", "a")]].concat(),
            );
        }),
        // Three times 200 and 64 kbit/s, in hundreds; of three times the top rung, too.
        (
            "URL --play real-time --rung lowest --pace rung:3 --for 1s",
            |played| {
                tells(played, &[("v", "2"), ("rtp", "600")], &[("rtp", "200")]);
            },
        ),
        (
            "URL --play real-time --rung lowest --pace top:3 --cmcd 1 --for 1s",
            |played| {
                tells(played, &[("v", "nothing"), ("rtp", "2400")], &[("rtp", "200")]);
            },
        ),
    ]);
}

#[test]
fn the_segment_log_is_the_server_s() {
    isolated!();
    let server = Server::start();
    let played = server.play("URL --play real-time --rung abr --viewers 3 --segment-log $segments --for 1s");
    let text = std::fs::read_to_string(weir_rig::path("segments")).expect("the log");
    // By viewer: kind, number, rung and bytes of each segment, in order.
    let mut told: BTreeMap<u64, Vec<(bool, usize, usize, u64)>> = BTreeMap::new();
    for line in text.lines() {
        let segment: Value = serde_json::from_str(line).expect("a line of JSON");
        let number = |name: &str| count(&segment[name]);
        let (video, rung) = (segment["kind"] == "video", number("rung") as usize);
        if video {
            assert_eq!(number("bitrate"), RUNGS[rung].1, "{segment}");
        }
        assert!(number("first_byte_ns") <= number("last_byte_ns"), "{segment}");
        assert_eq!(segment["failure"], Value::Null, "{segment}");
        told.entry(number("viewer")).or_default().push((
            video,
            number("segment") as usize,
            rung,
            number("bytes"),
        ));
    }
    let logged = |line: &&Line| {
        let (_, number) = line.segment()?;
        Some((line.rung().is_some(), number, line.rung().unwrap_or(0), line.body))
    };
    let mut of_server: Vec<Vec<_>> = played
        .connections()
        .iter()
        .map(|lines| lines.iter().filter_map(logged).collect())
        .collect();
    let mut of_viewers: Vec<Vec<_>> = told.into_values().collect();
    of_server.sort();
    of_viewers.sort();
    assert_eq!(of_viewers.len(), 3);
    assert_eq!(of_viewers, of_server);
}

#[test]
fn certificates_and_versions_of_http_are_those_asked_for() {
    isolated!();
    let server = Server::start();
    let all = |played: &Played, protocol: &str| played.lines.iter().all(|line| line.protocol == protocol);
    // Nobody knows the authority; no request comes to the server.
    let refused = server.load("TLS --for 300ms", 3);
    let failures = refused["all"]["failures"].as_object().expect("failures");
    assert_eq!(failures.keys().collect::<Vec<_>>(), ["tls"]);
    for (options, protocol) in [
        ("TLS --ca $ca.pem --for 300ms", "HTTP/2.0"),
        ("TLS --ca $ca.pem --http 2 --for 300ms", "HTTP/2.0"),
        ("TLS --ca $ca.pem --http 1.1 --for 300ms", "HTTP/1.1"),
        ("TLS --insecure --for 300ms", "HTTP/2.0"),
        ("URL --for 300ms", "HTTP/1.1"),
    ] {
        let played = server.play(options);
        assert!(played.lines.len() > 2 && all(&played, protocol), "{options}");
    }
}

#[test]
fn bytes_of_an_origin_are_told_by_the_counters_that_are_named() {
    isolated!();
    let server = Server::start();
    let played = server.play(
        "URL --play real-time --scrape METRICS --scrape-in read_total --scrape-out sent_total --for 3500ms",
    );
    let told = &played.summary["origin"];
    // What came first or last may have come too late to be counted.
    let scraped = &played.scraped;
    let changes = scraped
        .iter()
        .enumerate()
        .flat_map(|(index, first)| scraped[index..].iter().map(move |last| last - first));
    let taken = count(&told["in_bytes"]);
    assert!(
        taken > 0 && changes.into_iter().any(|change| change == taken),
        "{told} {scraped:?}"
    );
    // The counter of what was sent has two parts, each as large as that of what was read.
    assert_eq!(count(&told["out_bytes"]), 2 * taken, "{told}");
    assert_eq!(
        (&told["source"], &told["efficiency"]),
        (&"metrics".into(), &2.0.into())
    );
    // The names of another origin's counters are not there.
    let played = server.play("URL --play real-time --scrape METRICS --for 1500ms");
    assert!(!played.scraped.is_empty());
    assert_eq!(played.summary["origin"], Value::Null);
}

#[test]
fn a_report_has_the_sessions_of_a_run_from_the_least_to_the_most() {
    isolated!();
    let server = Server::start();
    let played =
        server.play("URL --play real-time --rung random --viewers 20 --session 500ms --for 2s --db $weir.db");
    let (database, file) = (weir_rig::path("weir.db"), weir_rig::path("report.html"));
    run_within(LIMIT, weir(&["report", "1", "-o", &file, "--db", &database])).expect_code(0);
    let document = unpacked(&file);
    let columns = &document["runs"][0]["series"]["viewer_distribution"]["columns"];
    let values = |name: &str| columns[name]["values"].as_array().expect("values").clone();
    // Of fewer than a hundred sessions, 99 of 100 are all of them.
    let told = |measure: &str, share: f64| -> f64 {
        let measures = values("measure");
        let places = values("share").into_iter().zip(measures).zip(values("value"));
        let (_, value) = places
            .into_iter()
            .find(|((at, of), _)| of == measure && at.as_f64() >= Some(share))
            .expect("a share");
        value.as_f64().expect("a number")
    };
    let quality = &played.summary["quality"];
    for (measure, name) in [
        ("startup", "startup"),
        ("rebuffer", "rebuffer_ratios"),
        ("bitrate", "bitrates"),
    ] {
        assert!(count(&quality[name]["count"]) >= 20, "{quality}");
        for (share, quantile) in [
            (0.0, "min"),
            (0.5, "p50"),
            (0.9, "p90"),
            (0.99, "p99"),
            (1.0, "max"),
        ] {
            let expected = quality[name][quantile].as_f64().expect("a number");
            let found = told(measure, share);
            // Histograms have three digits.
            assert!(
                (found - expected).abs() <= 0.002 * expected,
                "{name} {quantile}: {found} for {expected}"
            );
        }
    }
    // A random rung for each session: the lowest and the highest are bit rates that the manifest names.
    assert_eq!(
        (told("bitrate", 0.0), told("bitrate", 1.0)),
        (200_000.0, 800_000.0)
    );
}
