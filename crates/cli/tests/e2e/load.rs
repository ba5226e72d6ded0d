//! `weir load` as a user starts it, against `weir origin`, whose own log says what it was asked for; and failures whose
//! causes lie in this host.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use weir_rig::film::ffmpeg;
use weir_rig::origin::{start, stop};
use weir_rig::{Database, LIMIT, count, counts, isolated, ran, run_within, started};

use crate::documented;

/// The log of an origin: status and body bytes of each request.
fn log(path: &str) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(path).expect("the log");
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        (count(&line["status"]), count(&line["bytes"]))
    });
    lines.collect()
}

/// Five sessions in real time, and the log of their segments.
#[track_caller]
fn played_as_logged(summary: &Value) {
    let quality = counts(&summary["quality"], ["never_started", "sessions"]);
    assert_eq!(quality, [0, 5], "{summary}");
    let log = std::fs::read_to_string("segments").expect("the log of segments");
    let bytes = log.lines().map(|line| {
        let segment: Value = serde_json::from_str(line).expect("a line of JSON");
        assert_eq!(segment["failure"], Value::Null, "{segment}");
        count(&segment["bytes"])
    });
    let kinds = summary["kinds"].as_array().expect("kinds").iter();
    let media = kinds.filter(|kind| kind["kind"] == "video" || kind["kind"] == "audio");
    assert!(log.lines().count() > 20, "{log}");
    assert_eq!(
        bytes.sum::<u64>(),
        media.map(|kind| count(&kind["body_bytes"])).sum::<u64>()
    );
}

#[test]
fn log_summary_and_database_of_a_load_agree_and_what_this_host_lacks_is_named() {
    isolated!(heavy);
    the_origin_s_log_the_summary_and_the_database_say_the_same();
    the_origin_is_watched_and_limits_hold();
    descriptors_ports_routes_and_names_that_this_host_lacks_are_told_apart();
}

#[track_caller]
fn the_origin_s_log_the_summary_and_the_database_say_the_same() {
    std::fs::create_dir_all("media/film").expect("a folder");
    ffmpeg(
        "-f lavfi -i testsrc2=size=320x180:rate=25:duration=8 -c:v libx264 -preset veryfast -g 50 -keyint_min 50 \
         -sc_threshold 0 -pix_fmt yuv420p -b:v 400k media/film/pictures.mp4",
    );
    ffmpeg("-f lavfi -i sine=frequency=440:sample_rate=48000:duration=8 -c:a aac media/film/sound.mp4");
    let (origin, url) = start("media --segment 2s --access-log log --configuration E");
    let (mpd, hls) = (
        format!("{url}film/manifest.mpd"),
        format!("{url}film/master.m3u8"),
    );
    let mut expected = (0, 0);
    for (title, options, outcome) in [
        (&mpd, "--play loop --http auto --for 1500ms --verify", "finished"),
        (&hls, "--play random --http 1.1 --for 1500ms --verify", "finished"),
        (
            &mpd,
            "--play real-time --rung abr --segment-log segments --http 2 --for 1500ms --verify",
            "finished",
        ),
        // Ctrl-C keeps the account.
        (&hls, "--play loop --http 2 --for 10min", "interrupted"),
    ] {
        let database = format!("{}.db", expected.0);
        let run = started(&format!(
            "load {title} {options} --viewers 5 --json -q --db {database}"
        ));
        if outcome == "interrupted" {
            Database::wait_for_rows(&database, "load_seconds", 4);
            run.signal("INT");
        }
        let summary = run.wait(LIMIT).expect_code(0).json();
        assert_eq!(summary["all"]["failed"], 0, "{summary}");
        assert_eq!(summary["most_viewers"], 5, "{summary}");
        assert_eq!(summary["run"]["outcome"], outcome);
        if options.contains("real-time") {
            played_as_logged(&summary);
        }
        let requests = count(&summary["all"]["requests"]);
        expected.0 += requests;
        expected.1 += count(&summary["all"]["body_bytes"]);
        let stored = Database::open(&database);
        assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), outcome);
        for sql in [
            "SELECT sum(requests) FROM load_seconds",
            "SELECT sum(count) FROM load_histograms WHERE time = 'last_byte'",
        ] {
            assert_eq!(stored.one::<i64>(sql) as u64, requests, "{sql}");
        }
    }
    let missing = ran(3, &format!("load {url}film/nothing.mpd --for 300ms --json -q")).json();
    assert_eq!(missing["all"]["failures"]["http_4xx"], missing["all"]["requests"]);
    stop(origin);
    let lines = log("log");
    assert_eq!(
        lines.len() as u64,
        expected.0 + count(&missing["all"]["requests"])
    );
    let answered = lines
        .iter()
        .filter(|(status, _)| *status == 200)
        .map(|(_, bytes)| *bytes);
    assert_eq!(answered.sum::<u64>(), expected.1);
}

/// What an origin reads and sends, by its metrics and by this host's interfaces; and limits.
#[track_caller]
fn the_origin_is_watched_and_limits_hold() {
    let (origin, url) = start("media --segment 2s --configuration E");
    let mpd = format!("{url}film/manifest.mpd");
    // Everything but the media comes from the cache, and media are read once for each time that they are sent.
    let told = ran(0, &format!("load {mpd} --for 3s --scrape {url}metrics --json -q")).json();
    documented("load", &told);
    let efficiency = told["origin"]["efficiency"].as_f64().expect("a ratio");
    assert!((0.9..2.0).contains(&efficiency), "{told}");
    assert!(told["origin"]["source"] == "metrics", "{told}");
    // Without metrics, the interfaces of this host tell: all of it goes to the loopback, nothing comes from elsewhere.
    let metrics = told["run"]["id"].clone();
    let told = ran(0, &format!("load {mpd} --for 2500ms --watch-host --json -q")).json();
    let host = told["run"]["id"].clone();
    let told = &told["origin"];
    assert_eq!(told["source"], "host", "{told}");
    assert_eq!(count(&told["in_bytes"]), 0, "{told}");
    assert!(count(&told["out_bytes"]) > 1_000_000, "{told}");
    // A threshold that no origin meets, and one that ends the run.
    let crossed = ran(1, &format!("load {mpd} --for 300ms --fail-if p50>=0ns -q"));
    crossed.stderr_has("p50 is");
    let last: i64 = Database::open("weir.db").one("SELECT max(run_id) FROM runs");
    runs_can_be_merged(&[metrics, host, last.into()]);
    let stopped = ran(0, &format!("load {mpd} --for 20s --stop-if rate>1bit/s -q"));
    stopped.stdout_has("stopped early: rate is");
    stop(origin);
}

/// Values of some runs' distribution of one time, by value, as the database holds it.
fn distribution(runs: &str) -> BTreeMap<i64, i64> {
    let stored = Database::open("weir.db");
    let each = |at: &str| {
        stored.all::<i64>(&format!(
            "SELECT {at} FROM (SELECT json_extract(value, '$[0]') AS ns, sum(json_extract(value, '$[1]')) AS n
             FROM load_histograms, json_each(buckets)
             WHERE run_id IN ({runs}) AND time = 'last_byte' GROUP BY ns ORDER BY ns)"
        ))
    };
    each("ns").into_iter().zip(each("n")).collect()
}

/// SQLite adds up what the runs hold, and this test finds the quantile: the first value with so many at or below it.
#[track_caller]
fn merged_is_all_of(merged: &Value, runs: &str) {
    let all = distribution(runs);
    assert_eq!(distribution(&merged["run"]["id"].to_string()), all);
    let total: i64 = all.values().sum();
    let sum = format!("SELECT sum(requests) FROM load_seconds WHERE run_id IN ({runs})");
    assert_eq!(
        (
            &merged["all"]["requests"],
            Database::open("weir.db").one::<i64>(&sum)
        ),
        (&total.into(), total)
    );
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        let rank = ((share * total as f64).ceil() as i64).max(1);
        let mut below = 0;
        let expected = all.iter().find(|(_, times)| {
            below += **times;
            below >= rank
        });
        let told = merged["all"]["last_byte"][name].as_i64();
        assert_eq!(told, expected.map(|(value, _)| *value), "{name}");
    }
}

#[track_caller]
fn runs_can_be_merged([first, second, third]: &[Value; 3]) {
    std::fs::copy("weir.db", "other.db").expect("a copy");
    let merged = ran(0, &format!("runs merge {first} {second} --json")).json();
    documented("load", &merged);
    merged_is_all_of(&merged, &format!("{first}, {second}"));
    // Merged once more with one of another database.
    let again = format!("runs merge {} other.db:{third} --json", merged["run"]["id"]);
    let again = ran(0, &again).json();
    merged_is_all_of(&again, &format!("{first}, {second}, {third}"));
}

/// The failures have this cause alone, and there are requests that have none.
#[track_caller]
fn some(summary: &Value, cause: &str) {
    let failures = summary["all"]["failures"].as_object().expect("failures");
    assert_eq!(failures.keys().collect::<Vec<_>>(), [cause], "{summary}");
    assert!(
        count(&summary["all"]["failed"]) < count(&summary["all"]["requests"]),
        "{summary}"
    );
}

#[track_caller]
fn descriptors_ports_routes_and_names_that_this_host_lacks_are_told_apart() {
    let manifest = "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT2S\"><Period>\
        <AdaptationSet mimeType=\"video/mp4\"><SegmentTemplate duration=\"2\" media=\"$Number$\"/><Representation id=\"a\" \
        bandwidth=\"1000\"/></AdaptationSet></Period></MPD>";
    std::fs::write("media/list.mpd", manifest).expect("a manifest");
    let (_origin, url) = start("media --files");
    let crowd = |url: &str, viewers: u32| {
        format!("load {url} --play manifest --viewers {viewers} --for 1s --json -q")
    };
    // Both limits, so that it cannot raise the one that counts; and one that may be raised, which is.
    for (limit, fails) in [("100:100", true), ("100:1000", false)] {
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--nofile={limit}")).arg(weir_rig::binary());
        limited.args(crowd(&format!("{url}list.mpd"), 200).split(' '));
        let summary = run_within(LIMIT, limited).expect_code(0).json();
        if fails {
            some(&summary, "descriptors");
            let notes = summary["notes"].to_string();
            for words in ["fewer than 200 viewers need", "ulimit -n 1200"] {
                assert!(notes.contains(words), "{notes}");
            }
        } else {
            assert_eq!(summary["all"]["failed"], 0, "{summary}");
        }
    }
    let ports = "/proc/sys/net/ipv4/ip_local_port_range";
    std::fs::write(ports, "50000 50019").expect("the namespace's own range");
    let summary = ran(0, &crowd(&format!("{url}list.mpd"), 40)).json();
    some(&summary, "ports");
    assert!(count(&summary["all"]["connections"]) <= 20, "{summary}");
    // In a namespace that has no interface but loopback, there is no route to TEST-NET-1 (RFC 5737): nothing is sent.
    for (url, cause) in [
        ("http://192.0.2.1/list.mpd", "connect"),
        ("http://no-such-host.invalid/list.mpd", "dns"),
    ] {
        let done = ran(3, &format!("{} --yes-really-load-this-host", crowd(url, 2)));
        let failures = done.json()["all"]["failures"].clone();
        let causes: Vec<&String> = failures.as_object().expect("failures").keys().collect();
        assert_eq!(causes, [cause]);
        done.stderr_has("every request failed");
    }
}
