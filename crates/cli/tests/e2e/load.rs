//! `weir load` as a user starts it, against `weir origin`, whose own log says what it was asked for.

use std::process::Command;

use serde_json::Value;

use weir_rig::{Database, Finished, LIMIT, Running, count, isolated, run_within, wait_until, weir};

/// Eight seconds of pictures, and a tone.
fn make_title(root: &str) {
    std::fs::create_dir_all(format!("{root}/film")).expect("a folder");
    let video = "-f lavfi -i testsrc2=size=320x180:rate=25:duration=8 -c:v libx264 -preset veryfast -g 50 -keyint_min 50 \
        -sc_threshold 0 -pix_fmt yuv420p -b:v 400k";
    let sound = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=8 -c:a aac";
    for (options, file) in [(video, "pictures"), (sound, "sound")] {
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg
            .args(["-nostdin", "-loglevel", "error"])
            .args(options.split_whitespace())
            .arg(format!("{root}/film/{file}.mp4"));
        run_within(LIMIT, ffmpeg).expect_code(0);
    }
}

#[track_caller]
fn load(status: i32, arguments: &[&str]) -> Finished {
    run_within(LIMIT, weir(&[&["load"], arguments].concat())).expect_code(status)
}

/// The log of an origin: kind, body bytes and status of each request.
fn log(path: &str) -> Vec<(String, u64, u64)> {
    let text = std::fs::read_to_string(path).expect("the log");
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let path = line["path"].as_str().expect("a path").to_owned();
        (path, count(&line["bytes"]), count(&line["status"]))
    });
    lines.collect()
}

#[test]
fn the_origin_s_log_the_summary_and_the_database_say_the_same() {
    isolated!(heavy);
    let (root, log_path) = (weir_rig::path("media"), weir_rig::path("log"));
    make_title(&root);
    let arguments = [
        "origin",
        &root,
        "--listen",
        "127.0.0.1:0",
        "--segment",
        "2s",
        "--access-log",
        &log_path,
    ];
    let mut origin = Running::start(weir(&arguments));
    let url = origin.first_line(LIMIT);
    let database = weir_rig::path("weir.db");
    let mut expected = (0, 0);
    for (manifest, play, version) in [
        ("manifest.mpd", "loop", "auto"),
        ("master.m3u8", "random", "1.1"),
        ("manifest.mpd", "real-time", "1.1"),
        ("manifest.mpd", "loop", "2"),
        ("master.m3u8", "random", "2"),
        ("manifest.mpd", "real-time", "2"),
    ] {
        let title = format!("{url}film/{manifest}");
        let options = [
            "--play",
            play,
            "--http",
            version,
            "--viewers",
            "5",
            "--for",
            "1500ms",
            "--verify",
            "--json",
            "-q",
            "--db",
            &database,
        ];
        let summary = load(0, &[&[title.as_str()], options.as_slice()].concat()).json();
        assert_eq!(summary["all"]["failed"], 0, "{summary}");
        assert_eq!(summary["run"]["outcome"], "finished");
        assert_eq!(summary["most_viewers"], 5);
        expected.0 += count(&summary["all"]["requests"]);
        expected.1 += count(&summary["all"]["body_bytes"]);
        if play == "real-time" {
            assert_eq!(summary["quality"]["never_started"], 0, "{summary}");
            assert_eq!(summary["quality"]["sessions"], 5, "{summary}");
        }
    }
    let missing = format!("{url}film/nothing.mpd");
    let said = load(
        3,
        &[&missing, "--for", "300ms", "--json", "-q", "--db", &database],
    );
    let summary = said.json();
    assert_eq!(summary["all"]["failures"]["http_4xx"], summary["all"]["requests"]);
    expected.0 += count(&summary["all"]["requests"]);
    origin.signal("TERM");
    origin.wait(LIMIT).expect_code(0);
    let lines = log(&log_path);
    assert_eq!(expected.0, lines.len() as u64);
    let answered = lines
        .iter()
        .filter(|(_, _, status)| *status == 200)
        .map(|(_, bytes, _)| *bytes);
    assert_eq!(expected.1, answered.sum::<u64>());
    let database = Database::open(&database);
    assert_eq!(
        database.one::<i64>("SELECT sum(requests) FROM load_seconds") as u64,
        expected.0
    );
    assert_eq!(
        database.one::<i64>("SELECT sum(failed) FROM load_seconds"),
        database.one::<i64>("SELECT sum(count) FROM load_failures"),
    );
    assert_eq!(database.one::<i64>("SELECT max(viewers) FROM viewer_seconds"), 5);
}

#[test]
fn the_efficiency_of_an_origin_is_told_from_its_metrics() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_title(&root);
    let arguments = [
        "origin",
        &root,
        "--listen",
        "127.0.0.1:0",
        "--segment",
        "2s",
        "--configuration",
        "E",
    ];
    let mut origin = Running::start(weir(&arguments));
    let url = origin.first_line(LIMIT);
    let (title, metrics) = (format!("{url}film/manifest.mpd"), format!("{url}metrics"));
    let done = load(
        0,
        &[
            &title,
            "--for",
            "4s",
            "--scrape",
            &metrics,
            "--watch-host",
            "--json",
            "-q",
        ],
    );
    let told = &done.json()["origin"];
    // Everything but the media comes from the cache, and media are read once for each time that they are sent.
    let efficiency = told["efficiency"].as_f64().expect("a ratio");
    assert!((0.9..2.0).contains(&efficiency), "{told}");
    assert_eq!(told["source"], "metrics");
    // Without metrics, the interfaces of this host tell: all of it goes to the loopback, and nothing comes from
    // elsewhere.
    let watched = load(0, &[&title, "--for", "2500ms", "--watch-host", "--json", "-q"]).json();
    let told = &watched["origin"];
    assert_eq!(told["source"], "host", "{told}");
    assert!(count(&told["out_bytes"]) > 1_000_000, "{told}");
    assert_eq!((count(&told["in_bytes"]), &told["efficiency"]), (0, &Value::Null));
    // A threshold that no origin meets, and one that ends the run.
    let crossed = load(1, &[&title, "--for", "300ms", "--fail-if", "p50 >= 0ns", "-q"]);
    assert!(crossed.stderr.contains("p50 is"), "{}", crossed.stderr);
    let stopped = load(0, &[&title, "--for", "20s", "--stop-if", "rate > 1bit/s", "-q"]);
    assert!(
        stopped.stdout.contains("stopped early: rate is"),
        "{}",
        stopped.stdout
    );
    origin.signal("TERM");
    origin.wait(LIMIT).expect_code(0);
}

#[test]
fn ctrl_c_ends_a_run_and_keeps_its_account() {
    isolated!(heavy);
    let root = weir_rig::path("media");
    make_title(&root);
    let mut origin = Running::start(weir(&["origin", &root, "--listen", "127.0.0.1:0"]));
    let title = format!("{}film/manifest.mpd", origin.first_line(LIMIT));
    let database = weir_rig::path("weir.db");
    let arguments = [
        "load",
        &title,
        "--viewers",
        "3",
        "--for",
        "10min",
        "--json",
        "-q",
        "--db",
    ];
    let run = Running::start(weir(&[arguments.as_slice(), &[database.as_str()]].concat()));
    wait_until("seconds of load", LIMIT, || {
        let there = std::path::Path::new(&database).exists();
        // Before the schema is there, there is nothing to count.
        let seconds = there.then(|| Database::try_count(&database, "load_seconds"));
        seconds.flatten().filter(|seconds| *seconds > 3)
    });
    run.signal("INT");
    let summary = run.wait(LIMIT).expect_code(0).json();
    assert_eq!(summary["run"]["outcome"], "interrupted", "{summary}");
    assert_eq!(summary["all"]["failed"], 0, "{summary}");
    let requests = count(&summary["all"]["requests"]);
    assert!(requests > 0);
    let database = Database::open(&database);
    assert_eq!(database.one::<String>("SELECT outcome FROM runs"), "interrupted");
    // It ended long before the first minute, at which distributions are kept: they are kept at the end, too.
    for sql in [
        "SELECT sum(requests) FROM load_seconds",
        "SELECT sum(count) FROM load_histograms WHERE time = 'last_byte'",
    ] {
        assert_eq!(database.one::<i64>(sql) as u64, requests, "{sql}");
    }
    origin.signal("TERM");
    origin.wait(LIMIT).expect_code(0);
}

#[test]
fn what_cannot_be_loaded_is_refused_in_words() {
    isolated!();
    let refused = |arguments: &[&str]| load(2, arguments).stderr;
    // TEST-NET-1 (RFC 5737); nothing is sent.
    let other = refused(&["http://192.0.2.1/film.mpd", "--viewers", "50", "-q"]);
    assert!(other.contains("--yes-really-load-this-host"), "{other}");
    assert!(refused(&["film.mpd"]).contains("is not a URL"));
    assert!(refused(&["http://127.0.0.1/", "--viewers", "0"]).contains("0 viewers generate no load"));
    assert!(refused(&["http://127.0.0.1/", "--fail-if", "loss > 1%"]).contains("does not measure loss"));
    assert!(refused(&["http://127.0.0.1/", "--viewers", "1..5", "--rate", "5/s"]).contains("--rate needs"));
    assert!(refused(&["--titles", "/nowhere/list"]).contains("cannot read the titles"));
    if cfg!(feature = "locust") {
        let stub = load(0, &["locustfile"]).stdout;
        assert!(stub.contains("class WeirDash(User)"), "{stub}");
    } else {
        assert!(refused(&["locustfile"]).contains("no Locust worker"));
        assert!(refused(&["--locust-master", "127.0.0.1:5557"]).contains("no Locust worker"));
    }
}
