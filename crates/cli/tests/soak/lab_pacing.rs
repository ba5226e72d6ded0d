//! `weir lab pacing`: pacing of a stream affects a call beside it; nothing is left behind.

use serde_json::Value;

use weir_rig::{
    Database, LIMIT, isolated, nothing_is_left, ran, run, see_own_processes, started, wait_until,
};

/// The first lab of the talk with shorter segments, so that it is soon made.
const CALL: &str = r#"# A call
congestion = ["cubic"]
repeats = 1
warm-up = "9s"
for = "6s"
link = { profile = "home-10M" }
media = { rungs = ["4Mbit/s"], segment = "2s" }
player = { abr = "throughput", buffer = "10s" }
variant = [{ name = "unpaced" }, { name = "paced", pace = "top:2.25" }]
[[case]]
name = "call"
neighbours = [{ kind = "voip" }]
figures = [
    { of = "voip.owd.p95", expect = "lower" },
    { of = "queue.mean_bytes", expect = "lower" },
    { of = "media.bitrate" },
    { of = "media.throughput" },
    { of = "media.rtt.mean" },
]
"#;

fn scenario(text: &str) -> String {
    let path = weir_rig::path("mine.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// The medians of a figure: with the neighbours alone, unpaced and paced.
#[track_caller]
fn medians(result: &Value, figure: &str) -> (Option<f64>, f64, f64) {
    let figures = result["comparisons"][0]["figures"].as_array().expect("figures");
    let row = figures
        .iter()
        .find(|row| row["figure"] == figure)
        .expect("the figure");
    let of = |variant: usize| {
        row["variants"][variant]["median"]
            .as_f64()
            .unwrap_or_else(|| panic!("{row}"))
    };
    assert_eq!(
        (&row["variants"][0]["variant"], &row["variants"][1]["variant"]),
        (&"unpaced".into(), &"paced".into())
    );
    (row["alone"]["median"].as_f64(), of(0), of(1))
}

#[test]
fn a_call_feels_whether_the_stream_beside_it_is_paced() {
    isolated!(heavy);
    see_own_processes();
    let path = scenario(CALL);
    let done = ran(0, &format!("lab pacing {path} --json --max-lateness 10s"));
    let result = done.json();
    let trials = result["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 3, "{}", done.stderr);

    // A busy machine adds to every delay and takes from every rate.
    const MS: f64 = 1e6;
    let (alone, unpaced, paced) = medians(&result, "voip.owd.p95");
    let alone = alone.expect("the call alone");
    // Half of the round trip of 20 ms, and 50 kB at 10 Mbit/s are 40 ms.
    assert!(alone >= 10.0 * MS, "alone {alone}");
    assert!(unpaced >= 25.0 * MS, "unpaced {unpaced}");
    assert!(alone < 15.0 * MS && paced < unpaced, "{alone} {paced} {unpaced}");
    let (_, _, paced) = medians(&result, "media.rtt.mean");
    assert!(paced > 19.0 * MS, "{paced}");
    let (_, unpaced, paced) = medians(&result, "queue.mean_bytes");
    assert!(paced > 0.0 && unpaced > 0.0, "{paced} {unpaced}");
    // 9 Mbit/s were asked for, of a line that carries less than 10 of payload; 4 are played.
    let (_, _, throughput) = medians(&result, "media.throughput");
    assert!(paced < 0.5 * unpaced, "{paced} {unpaced}");
    assert!((4e6..9.2e6).contains(&throughput), "{throughput}");
    assert_eq!(medians(&result, "media.bitrate"), (None, 4e6, 4e6));
    for trial in trials.iter().filter(|trial| !trial["variant"].is_null()) {
        let readings = trial["connection"].as_array().map_or(0, Vec::len);
        assert!(readings > 0, "{trial}");
        assert!(readings > 50, "{trial}");
        assert!(trial["figures"]["media.stalls"] == 0.0, "{trial}");
    }

    let database = Database::open("weir.db");
    let kinds: Vec<String> = database.all("SELECT kind FROM runs");
    assert_eq!(kinds, ["pacing"]);
    let figure = "SELECT summary ->> '$.comparisons[0].figures[0].figure' FROM runs";
    assert_eq!(database.all::<String>(figure), ["voip.owd.p95"]);
    assert!(database.one::<i64>("SELECT count(*) FROM link_seconds WHERE direction = 'reverse'") > 30);
    nothing_is_left();
}

#[test]
fn interrupted_or_killed_it_leaves_nothing() {
    isolated!();
    see_own_processes();
    let path = scenario(CALL);
    for (signal, code) in [("INT", 0), ("KILL", -1)] {
        let running = started(&format!("lab pacing {path}"));
        // The servers are threads of the lab's process; that of the call's far end accepts connections.
        wait_until("a server", LIMIT, || {
            let threads = run("sh", &["-c", "cat /proc/[0-9]*/task/*/comm 2> /dev/null; true"]);
            threads.lines().any(|name| name == "accept").then_some(())
        });
        running.signal(signal);
        let done = running.wait(LIMIT);
        assert_eq!(done.code(), code, "{}", done.stderr);
        nothing_is_left();
    }
    let outcomes: Vec<String> =
        Database::open("weir.db").all("SELECT outcome FROM runs WHERE outcome IS NOT NULL");
    assert_eq!(outcomes.first().map(String::as_str), Some("interrupted"));
}
