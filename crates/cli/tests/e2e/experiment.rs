//! `weir load experiment` as a user starts it, killed and taken up again; and `weir runs merge` of what it leaves.

use std::collections::BTreeMap;

use serde_json::Value;

use weir_rig::{Database, Finished, LIMIT, Running, count, isolated, run_within, wait_until, weir};

fn experiment(configurations: &str, duration: &str) -> String {
    let path = weir_rig::path("experiment.toml");
    let text = format!(
        "name = \"small\"\n[titles]\nduration = \"10s\"\naudio = \"64kbit/s\"\n[storage]\ndelay = \"4ms\"\n[[part]]\n\
         name = \"configurations\"\nconfigurations = [{configurations}]\nsegments = [\"2s\"]\nvideo = [\"300kbit/s\"]\n\
         viewers = [\"0..4\"]\nduration = \"{duration}\"\n"
    );
    std::fs::write(&path, text).expect("a file");
    path
}

#[track_caller]
fn make(status: i32, database: &str, more: &[&str]) -> Finished {
    let titles = weir_rig::path("titles");
    let path = weir_rig::path("experiment.toml");
    let arguments = [
        "load",
        "experiment",
        &path,
        "--titles-folder",
        &titles,
        "--db",
        database,
        "-q",
    ];
    run_within(LIMIT, weir(&[&arguments, more].concat())).expect_code(status)
}

#[test]
fn configurations_differ_in_what_they_read_and_an_experiment_is_kept_whole() {
    isolated!(heavy);
    experiment("\"C\", \"E\"", "2s");
    let (database, page) = (weir_rig::path("weir.db"), weir_rig::path("results/small.md"));
    let result = make(0, &database, &["--json", "-o", &page, "--machine", "a test"]).json();
    assert_eq!(result["run"]["kind"], "experiment");
    assert_eq!(result["done"].as_array().map(Vec::len), Some(2));
    let by_name: BTreeMap<&str, &Value> = result["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .map(|group| (group["configuration"].as_str().expect("a name"), group))
        .collect();
    let efficiency = |name: &str| by_name[name]["efficiency"]["mean"].as_f64().expect("a ratio");
    // C reads the index again for each request, E does not.
    assert!(efficiency("C") < 0.97 * efficiency("E"), "{by_name:?}");
    for done in result["done"].as_array().expect("runs") {
        assert_eq!(done["outcome"]["failed"], 0, "{done}");
        assert!(count(&done["outcome"]["requests"]) > 4, "{done}");
    }
    let store = Database::open(&database);
    // The experiment, and its runs, which are its parts; seconds and summaries say the same.
    assert_eq!(
        store.one::<i64>("SELECT count(*) FROM runs WHERE kind = 'load' AND parent_run_id = 1"),
        2
    );
    let requests: u64 = result["done"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|done| count(&done["outcome"]["requests"]))
        .sum();
    assert_eq!(
        store.one::<i64>("SELECT sum(requests) FROM load_seconds") as u64,
        requests
    );
    assert!(
        store
            .one::<String>("SELECT tags FROM runs WHERE run_id = 2")
            .contains("\"small\"")
    );
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(
        page.contains("# small") && page.contains("(a test)") && page.contains("| C | 2s | 300kbit/s |"),
        "{page}"
    );
    // Nothing that it has started is left.
    let listening = run_within(LIMIT, {
        let mut command = std::process::Command::new("ss");
        command.args(["-Hltn"]);
        command
    });
    assert_eq!(listening.expect_code(0).stdout, "");
}

#[test]
fn a_killed_experiment_goes_on_with_what_is_left() {
    isolated!(heavy);
    experiment("\"B\", \"C\", \"E\"", "2s");
    let database = weir_rig::path("weir.db");
    let (titles, path) = (weir_rig::path("titles"), weir_rig::path("experiment.toml"));
    let arguments = [
        "load",
        "experiment",
        &path,
        "--titles-folder",
        &titles,
        "--db",
        &database,
        "-q",
    ];
    let running = Running::start(weir(&arguments));
    // In the middle of its second run.
    wait_until("its second run", LIMIT, || {
        Database::try_count(&database, "runs").filter(|runs| *runs == 3)
    });
    running.signal("KILL");
    running.wait(LIMIT);
    // Another experiment of that name is not it.
    let text = std::fs::read_to_string(&path).expect("the file");
    std::fs::write(&path, text.replace("0..4", "0..5")).expect("a file");
    // Its heartbeat has to be seen to stop.
    Database::change(
        &database,
        "UPDATE runs SET last_unix_ns = last_unix_ns - 20000000000 WHERE outcome = 'running'",
    );
    let refused = make(2, &database, &["--resume"]).stderr;
    assert!(refused.contains("differs from that of run 1"), "{refused}");
    std::fs::write(&path, text).expect("a file");
    let result = make(0, &database, &["--resume", "--json"]).json();
    assert_eq!(result["run"]["id"], 1);
    assert_eq!(result["done"].as_array().map(Vec::len), Some(3));
    let store = Database::open(&database);
    // One was interrupted and repeated.
    let outcomes = store.all::<String>("SELECT outcome FROM runs WHERE parent_run_id = 1 ORDER BY run_id");
    assert_eq!(outcomes, ["finished", "interrupted", "finished", "finished"]);
    assert_eq!(
        store.one::<String>("SELECT outcome FROM runs WHERE run_id = 1"),
        "finished"
    );
}

#[test]
fn what_is_wrong_with_an_experiment_is_said_in_a_line_before_anything_is_made() {
    isolated!();
    let database = weir_rig::path("weir.db");
    experiment("\"Q\"", "2s");
    let refused = |text: &str| {
        let said = make(2, &database, &[]).stderr;
        assert!(said.contains(text), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
    };
    refused("part configurations: invalid value 'Q' for '--configuration <NAME>'");
    experiment("\"A\"", "2");
    refused("experiment.toml: part configurations: duration: ");
    experiment("\"A\"", "2s\"\noptions = [\"--viewer\", \"5\"]\nover = \"1s");
    refused("part configurations: unexpected argument '--viewer'");
    std::fs::remove_file(weir_rig::path("experiment.toml")).expect("removed");
    refused("cannot read the experiment");
    experiment("\"A\"", "2s");
    let said = make(2, &database, &["--resume"]).stderr;
    assert!(said.contains("has no run of the experiment 'small'"), "{said}");
    let plan = make(0, &database, &["--plan", "--json"]).json();
    assert_eq!(
        plan["cells"][0]["key"],
        "configurations:A:2s:300kbit/s:0..4:warm#1"
    );
    assert!(!std::path::Path::new(&weir_rig::path("titles")).exists());
}

/// Values of a run's distribution of one time, by value, as the database holds it.
fn distribution(database: &Database, runs: &str, time: &str) -> Vec<(i64, i64)> {
    let each = |at: &str| {
        database.all::<i64>(&format!(
            "SELECT {at} FROM (SELECT json_extract(value, '$[0]') AS ns, sum(json_extract(value, '$[1]')) AS n
             FROM load_histograms, json_each(buckets)
             WHERE run_id IN ({runs}) AND time = '{time}' GROUP BY ns ORDER BY ns)"
        ))
    };
    each("ns").into_iter().zip(each("n")).collect()
}

#[test]
fn merged_runs_are_the_distribution_of_all_their_requests() {
    isolated!(heavy);
    experiment("\"B\", \"E\"", "2s");
    let (database, other) = (weir_rig::path("weir.db"), weir_rig::path("other.db"));
    make(0, &database, &[]);
    make(0, &other, &[]);
    let merge = |status: i32, runs: &[&str]| {
        let arguments = [&["runs", "merge", "--db", &database, "--json"], runs].concat();
        run_within(LIMIT, weir(&arguments)).expect_code(status)
    };
    let theirs = format!("{other}:2");
    let merged = merge(0, &["2", "3", &theirs]).json();
    let (mine, others) = (Database::open(&database), Database::open(&other));
    // SQLite adds up what the runs hold, and this test finds the quantile: the first value with so many at or below it.
    let mut all: BTreeMap<i64, i64> = BTreeMap::new();
    for (value, times) in [
        distribution(&mine, "2, 3", "last_byte"),
        distribution(&others, "2", "last_byte"),
    ]
    .concat()
    {
        *all.entry(value).or_default() += times;
    }
    assert_eq!(
        distribution(&mine, "4", "last_byte"),
        all.clone().into_iter().collect::<Vec<_>>()
    );
    let total: i64 = all.values().sum();
    assert_eq!(merged["all"]["requests"], total);
    let requests = "SELECT sum(requests) FROM load_seconds WHERE run_id";
    let sum =
        mine.one::<i64>(&format!("{requests} IN (2, 3)")) + others.one::<i64>(&format!("{requests} = 2"));
    assert_eq!((total, mine.one::<i64>(&format!("{requests} = 4"))), (sum, sum));
    let rank = |share: f64| ((share * total as f64).ceil() as i64).max(1);
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        let mut below = 0;
        let expected = all.iter().find(|(_, times)| {
            below += **times;
            below >= rank(share)
        });
        let (expected, told) = (
            *expected.expect("a value").0,
            merged["all"]["last_byte"][name].as_i64(),
        );
        assert_eq!(told, Some(expected), "{name}");
    }
    // Merged once more with one of them.
    let again = merge(0, &["4", "2"]).json();
    assert_eq!(
        again["all"]["requests"],
        total + mine.one::<i64>(&format!("{requests} = 2"))
    );
    assert!(merge(2, &["2", "2"]).stderr.contains("is given twice"));
    assert!(merge(2, &["1", "2"]).stderr.contains("is of kind experiment"));
}
