//! `weir load experiment` as a user starts it, killed and taken up again; and `weir runs merge` of what it leaves.

use std::collections::BTreeMap;

use serde_json::Value;

use weir_rig::{Database, LIMIT, count, isolated, ran, run, started};

use crate::documented;

const EXPERIMENT: &str = r#"
name = "small"
[titles]
duration = "10s"
audio = "64kbit/s"
[storage]
delay = "4ms"
[[part]]
name = "configurations"
configurations = ["B", "C", "E"]
segments = ["2s"]
video = ["300kbit/s"]
viewers = ["0..4"]
duration = "2s"
[[part]]
name = "caches"
configurations = ["D"]
caches = ["warm", "cold"]
segments = ["2s"]
video = ["300kbit/s"]
viewers = ["2"]
duration = "2s"
[published]
source = "somebody"
part = "configurations"
[[published.row]]
configuration = "C"
in = "3Gbit/s"
out = "1Gbit/s"
efficiency = 0.3
"#;

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

/// What the origin with a warm cache read before, the one with a cold cache reads in its run.
#[track_caller]
fn cold_origins_read_what_warm_ones_have_kept(done: &[Value]) {
    let read = |key: &str| {
        let run = done.iter().find(|run| run["key"] == key);
        run.expect(key)["outcome"]["in_bps"].as_f64().expect("a rate")
    };
    let [warm, cold] = ["warm", "cold"].map(|cache| read(&format!("caches:D:2s:300kbit/s:2:{cache}#1")));
    assert!(cold > 500_000.0 && warm < cold / 10.0, "{warm} and {cold} bit/s");
}

#[test]
fn a_killed_experiment_goes_on_with_what_is_left_and_its_runs_can_be_merged() {
    isolated!(heavy);
    std::fs::write("small.toml", EXPERIMENT).expect("a file");
    let order = "load experiment small.toml --titles-folder titles --json -q";
    let plan = ran(0, &format!("{order} --plan")).json();
    documented("load-experiment-plan", &plan);
    let keys = plan["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .map(|cell| &cell["key"]);
    let key = "configurations:B:2s:300kbit/s:0..4:warm#1";
    assert_eq!(keys.filter(|name| **name == key).count(), 1, "{plan}");
    let none = ran(2, &format!("{order} --resume"));
    none.error_has("has no run of the experiment 'small'");
    assert!(!std::path::Path::new("titles").exists(), "nothing is made before");
    let running = started(order);
    // In the middle of its second run.
    Database::wait_for_rows("weir.db", "runs", 3);
    running.signal("KILL");
    running.wait(LIMIT);
    // Its heartbeat has to be seen to stop.
    let stopped = "UPDATE runs SET last_unix_ns = last_unix_ns - 20000000000 WHERE outcome = 'running'";
    Database::change("weir.db", stopped);
    // Another experiment of that name is not it.
    std::fs::write("small.toml", EXPERIMENT.replace("0..4", "0..5")).expect("a file");
    let refused = ran(2, &format!("{order} --resume"));
    refused.error_has("differs from that of run 1");
    std::fs::write("small.toml", EXPERIMENT).expect("a file");
    let result = ran(0, &format!("{order} --resume -o results/small.md")).json();
    documented("load-experiment", &result);
    assert_eq!(result["run"]["id"], 1);
    let done = result["done"].as_array().expect("runs");
    assert_eq!(done.len(), 5);
    for one in done {
        assert_eq!(one["outcome"]["failed"], 0, "{one}");
        assert!(count(&one["outcome"]["requests"]) > 4, "{one}");
    }
    // One was interrupted and repeated.
    let outcomes = "SELECT outcome FROM runs WHERE parent_run_id = 1 ORDER BY run_id";
    let outcomes: Vec<String> = Database::open("weir.db").all(outcomes);
    assert_eq!(
        outcomes,
        [
            "finished",
            "interrupted",
            "finished",
            "finished",
            "finished",
            "finished"
        ]
    );
    cold_origins_read_what_warm_ones_have_kept(done);
    let groups = result["groups"].as_array().expect("groups");
    let efficiency = |name: &str| {
        let group = groups.iter().find(|group| group["configuration"] == name);
        group.expect(name)["efficiency"]["mean"]
            .as_f64()
            .expect("a ratio")
    };
    // C reads the index again for each request, E does not.
    assert!(efficiency("C") < 0.97 * efficiency("E"), "{groups:?}");
    let page = std::fs::read_to_string("results/small.md").expect("the page");
    assert!(page.contains("# small"), "{page}");
    assert!(page.contains("| C | 2s | 300kbit/s |"), "{page}");
    // Nothing that it has started is left.
    assert_eq!(run("ss", &["-Hltn"]), "");
    its_runs_can_be_merged();
}

#[track_caller]
fn its_runs_can_be_merged() {
    std::fs::copy("weir.db", "other.db").expect("a copy");
    let merged = ran(0, "runs merge 2 4 --json").json();
    documented("load", &merged);
    merged_is_all_of(&merged, "2, 4");
    // Merged once more with one of another database.
    let again = ran(
        0,
        &format!("runs merge {} other.db:5 --json", merged["run"]["id"]),
    )
    .json();
    merged_is_all_of(&again, "2, 4, 5");
    ran(2, "runs merge 1 2").error_has("is of kind experiment");
}
