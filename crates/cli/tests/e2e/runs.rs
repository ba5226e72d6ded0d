//! `weir runs`: list, show, export and delete what was measured.

use std::process::Stdio;

use serde_json::Value;

use weir_rig::{Agent, Database, Finished, Host, LIMIT, count, isolated, run_within, weir};

#[test]
fn list_show_export_and_delete() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let (target, database) = (agent.local(), weir_rig::path("runs.db"));
    let command = |arguments: &[&str]| -> Finished {
        run_within(LIMIT, weir(&[arguments, &["--db", &database]].concat()))
    };
    let rtt = [
        "rtt",
        &target,
        "--window",
        "4",
        "--interval",
        "50ms",
        "--for",
        "200ms",
        "--json",
    ];
    let first = command(&rtt).expect_code(0).json();
    let flows = [
        "flows", &target, "--rate", "2Mbit/s", "--length", "500", "--flows", "2", "--for", "1s", "--json",
    ];
    let second = command(&flows).expect_code(0).json();

    let listed = command(&["runs", "list", "--json"]).expect_code(0).stdout;
    let listed: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let row = |run: &Value| (count(&run["run_id"]), run["kind"].clone(), run["outcome"].clone());
    assert_eq!(
        listed.iter().map(row).collect::<Vec<_>>(),
        [
            (2, "flows".into(), "finished".into()),
            (1, "rtt".into(), "finished".into())
        ],
        "the newest first"
    );
    assert_eq!(listed[0]["target"], target.as_str());
    let only = command(&["runs", "list", "--kind", "rtt"]).expect_code(0).stdout;
    assert!(only.contains("rtt") && !only.contains("flows"), "{only}");

    let shown = command(&["runs", "show", "1", "--json"]).expect_code(0).json();
    for field in ["sent", "received", "rtt", "network_rtt", "by_position"] {
        assert_eq!(shown["summary"][field], first[field], "{field}");
    }
    assert_eq!(
        (&shown["rows"]["rtt_packets"], &shown["rows"]["stream_seconds"]),
        (&16.into(), &0.into())
    );
    let last = command(&["runs", "show", "last", "--json"]).expect_code(0).json();
    assert_eq!(last["summary"]["forward"], second["forward"]);
    assert_eq!(last["parameters"]["flows"], 2);
    for side in ["local_host", "remote_host"] {
        assert!(last[side].is_object(), "{side}: {last}");
    }
    let human = command(&["runs", "show", "1"]).expect_code(0).stdout;
    assert!(human.contains("rtt") && human.contains("finished"), "{human}");

    let csv = command(&["runs", "export", "1", "--as", "csv", "--table", "rtt_packets"])
        .expect_code(0)
        .stdout;
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name: &str| header.iter().position(|column| *column == name).expect(name);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 16);
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row[column("sequence")], number.to_string());
        assert_eq!(
            (row[column("run_id")], row[column("length")], row[column("lost")]),
            ("1", "100", "0")
        );
        assert!(
            row[column("rtt_ns")].parse::<u64>().is_ok_and(|rtt| rtt > 0),
            "{row:?}"
        );
    }

    let file = weir_rig::path("run.ndjson");
    command(&["runs", "export", "last", "--as", "jsonl", "-o", &file]).expect_code(0);
    let exported = std::fs::read_to_string(&file).expect("the exported file");
    let objects: Vec<Value> = exported
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        (&objects[0]["table"], &objects[0]["run_id"]),
        (&"runs".into(), &2.into())
    );
    let of = |table: &'static str| objects.iter().filter(move |object| object["table"] == table);
    let received: u64 = of("stream_seconds").map(|row| count(&row["received"])).sum();
    assert_eq!(received, count(&second["forward"]["received"]));
    assert_eq!(of("rtt_packets").count(), 0);
    let document = command(&["runs", "export", "last", "--as", "json"])
        .expect_code(0)
        .json();
    assert_eq!(document["format"], "weir-report-data");
    let totals = &document["runs"][0]["series"]["flow_totals"]["columns"]["received"]["values"];
    let of_flows: u64 = totals.as_array().expect("flows").iter().map(count).sum();
    assert_eq!(of_flows, received);

    command(&["runs", "note", "1", "<b>first</b>"]).expect_code(0);
    command(&["runs", "tag", "1", "loopback", "draft"]).expect_code(0);
    let tagged = command(&["runs", "tag", "1", "--remove", "draft", "--json"])
        .expect_code(0)
        .json();
    assert_eq!(tagged["tags"], serde_json::json!(["loopback"]));
    let human = command(&["runs", "show", "1"]).expect_code(0).stdout;
    for line in [
        "tags: loopback",
        "note: <b>first</b>",
        "RTT, application to application",
        "findings of run 1, rtt to",
    ] {
        assert!(human.contains(line), "no '{line}' in: {human}");
    }
    let quiet = command(&["runs", "show", "1", "-q"]).expect_code(0).stdout;
    assert!(!quiet.contains("RTT, application to application"), "{quiet}");

    for (arguments, code, word) in [
        (&["runs", "show", "7"][..], 3, "no run 7"),
        (&["runs", "delete", "1", "7"], 3, "no run 7"),
        (
            &["runs", "export", "1", "--as", "csv", "--table", "nonsense"],
            2,
            "rtt_packets",
        ),
        (&["runs", "export", "1", "--as", "csv"], 2, "--table"),
        (&["runs", "export", "7", "--as", "json"], 3, "no run 7"),
        (&["runs", "note", "7", "text"], 3, "no run 7"),
        (&["runs", "tag", "1", "two words"], 2, "one word"),
        (&["runs", "show", "0"], 2, "'0' is not a run"),
    ] {
        let done = command(arguments).expect_code(code);
        assert!(done.stderr.contains(word), "{arguments:?}: {}", done.stderr);
    }
    let missing = run_within(LIMIT, weir(&["runs", "list", "--db", "/run/none.db"])).expect_code(3);
    assert!(
        missing
            .one_error()
            .contains("no results database at /run/none.db"),
        "{}",
        missing.stderr
    );
    assert!(
        !std::path::Path::new("/run/none.db").exists(),
        "reading makes no file"
    );

    command(&["runs", "delete", "1"]).expect_code(0);
    let stored = Database::open(&database);
    assert_eq!(stored.all::<i64>("SELECT run_id FROM runs"), [2]);
    assert_eq!(stored.one::<i64>("SELECT count(*) FROM rtt_packets"), 0);
    drop(stored);
    command(&["runs", "delete", "last"]).expect_code(0);
    assert_eq!(command(&["runs", "list", "--json"]).expect_code(0).stdout, "");
    let none = command(&["runs", "show", "last"]).expect_code(2);
    assert!(none.one_error().contains("holds no runs"), "{}", none.stderr);
}

#[test]
fn a_run_that_is_being_recorded_is_not_deleted() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let database = weir_rig::path("alive.db");
    let client = weir_rig::Running::start(weir(&["rtt", &agent.local(), "--for", "30s", "--db", &database]));
    weir_rig::wait_until("a stored row", LIMIT, || {
        let rows = std::path::Path::new(&database).exists()
            && run_within(LIMIT, weir(&["runs", "list", "--json", "--db", &database]))
                .stdout
                .contains("running");
        rows.then_some(())
    });
    let refused = run_within(LIMIT, weir(&["runs", "delete", "last", "--db", &database])).expect_code(3);
    assert!(
        refused.one_error().contains("still being recorded"),
        "{}",
        refused.stderr
    );
    client.signal("INT");
    client.wait(LIMIT).expect_code(0);
    run_within(LIMIT, weir(&["runs", "delete", "last", "--db", &database])).expect_code(0);
}

#[test]
fn export_spares_the_file_when_there_is_nothing_to_write_and_the_store_always() {
    isolated!();
    // Leaves a run in check.db.
    Agent::start(Host::Near, &[]).check_serves(&[]);
    let (database, kept) = ("check.db", weir_rig::path("kept.txt"));
    std::fs::write(&kept, "precious").expect("a file");
    let export = |run: &str, to: &str| {
        let arguments = ["runs", "export", run, "--as", "json", "-o", to, "--db", database];
        run_within(LIMIT, weir(&arguments))
    };
    assert_ne!(export("999", &kept).code(), 0);
    assert_eq!(std::fs::read_to_string(&kept).expect("the file"), "precious");
    let refused = export("last", database).expect_code(2);
    assert!(
        refused.stderr.contains("is the results store itself"),
        "{}",
        refused.stderr
    );
    export("last", &kept).expect_code(0);
    assert!(std::fs::read_to_string(&kept).expect("the file").starts_with('{'));
}

#[test]
fn a_reader_of_standard_error_who_leaves_changes_nothing() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let (target, database) = (agent.local(), weir_rig::path("unread.db"));
    let arguments = [
        "survey",
        &target,
        "--rate",
        "5Mbit/s",
        "--step",
        "100ms",
        "--max-flows",
        "1",
        "--db",
        &database,
    ];
    let mut survey = weir(&arguments);
    survey.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut survey = survey.spawn().expect("weir starts");
    drop(survey.stderr.take());
    assert_eq!(survey.wait().expect("weir ends").code(), Some(0));
    let outcome: String = Database::open(&database).one("SELECT outcome FROM runs WHERE kind = 'survey'");
    assert_eq!(outcome, "finished");
}
