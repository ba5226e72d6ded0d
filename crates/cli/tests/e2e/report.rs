//! `weir report`: the file holds what the database holds, by a reader that shares nothing with Weir.

use std::os::unix::fs::MetadataExt;

use serde_json::Value;

use weir_rig::{Agent, Database, Finished, Host, LIMIT, count, isolated, run_within, unpacked, weir};

fn integers(series: &Value, column: &str) -> Vec<i64> {
    let values = series["columns"][column]["values"].as_array().expect("a column");
    values
        .iter()
        .map(|value| value.as_i64().expect("an integer"))
        .collect()
}

#[test]
fn a_report_holds_what_was_measured() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let (target, database) = (agent.local(), weir_rig::path("report.db"));
    let command = |arguments: &[&str]| -> Finished {
        run_within(LIMIT, weir(&[arguments, &["--db", &database]].concat()))
    };
    let rtt = [
        "rtt",
        &target,
        "--window",
        "4",
        "--length",
        "100..300",
        "--interval",
        "20ms",
        "--for",
        "2s",
    ];
    let human = command(&rtt).expect_code(0).stdout;
    assert!(
        human.contains("RTT, application to application\n") && human.contains("##"),
        "{human}"
    );
    let quiet = command(&[&rtt[..], &["-q"]].concat()).expect_code(0).stdout;
    assert!(!quiet.contains("##"), "{quiet}");
    let flows = [
        "flows", &target, "--rate", "2Mbit/s", "--length", "500", "--flows", "2", "--for", "1s", "-q",
    ];
    command(&flows).expect_code(0);
    command(&["runs", "note", "1", "</script><script>alert(1)</script>"]).expect_code(0);

    let file = weir_rig::path("report.html");
    let said = command(&["report", "1", "3", "-o", &file, "--json"])
        .expect_code(0)
        .json();
    let size = std::fs::metadata(&file).expect("the report").size();
    assert_eq!(
        (&said["path"], count(&said["bytes"]), &said["runs"]),
        (&file.as_str().into(), size, &serde_json::json!([1, 3]))
    );
    let text = std::fs::read_to_string(&file).expect("the report");
    assert!(!text.contains("alert(1)"));
    let document = unpacked(&file);
    assert_eq!(document["runs"][0]["note"], "</script><script>alert(1)</script>");
    let exported = command(&["runs", "export", "1", "--as", "json"])
        .expect_code(0)
        .json();
    assert_eq!(document["runs"][0], exported["runs"][0]);

    let stored = Database::open(&database);
    let by_length = &document["runs"][0]["series"]["rtt_by_length"];
    assert_eq!(
        integers(by_length, "count"),
        stored.all::<i64>(
            "SELECT count(rtt_ns) FROM rtt_packets WHERE run_id = 1 GROUP BY length ORDER BY length"
        )
    );
    let p90 = "WITH ranked AS (
                   SELECT length, rtt_ns, row_number() OVER (PARTITION BY length ORDER BY rtt_ns) AS place,
                          count(*) OVER (PARTITION BY length) AS packets
                   FROM rtt_packets WHERE run_id = 1 AND NOT lost
               )
               SELECT min(CASE WHEN place >= 0.9 * packets THEN rtt_ns END) FROM ranked
               GROUP BY length ORDER BY length";
    assert_eq!(integers(by_length, "rtt_p90_ns"), stored.all::<i64>(p90));
    let seconds = &document["runs"][0]["series"]["rtt_seconds"];
    let sent: i64 = stored.one("SELECT count(*) FROM rtt_packets WHERE run_id = 1");
    assert_eq!(integers(seconds, "sent").iter().sum::<i64>(), sent);
    let totals = &document["runs"][1]["series"]["flow_totals"];
    for column in ["port", "received", "bytes", "lost"] {
        let rule = if column == "port" { "max" } else { "sum" };
        let sql = format!(
            "SELECT {rule}({column}) FROM flow_seconds WHERE run_id = 3 GROUP BY direction, flow ORDER BY flow"
        );
        assert_eq!(integers(totals, column), stored.all::<i64>(&sql), "{column}");
    }
    assert!(document["runs"][1]["diagnosis"].is_object());
}

#[test]
fn a_file_that_exists_is_spared_unless_told_and_nothing_is_left_beside_it() {
    isolated!();
    // Leaves a run in check.db.
    Agent::start(Host::Near, &[]).check_serves(&[]);
    let folder = weir_rig::path("reports");
    std::fs::create_dir(&folder).expect("a folder");
    let file = format!("{folder}/kept.html");
    std::fs::write(&file, "precious").expect("a file");
    let report = |arguments: &[&str]| {
        let all = [&["report"], arguments, &["--db", "check.db"]].concat();
        run_within(LIMIT, weir(&all))
    };
    let refused = report(&["last", "-o", &file]).expect_code(2);
    assert!(refused.one_error().contains("--force"), "{}", refused.stderr);
    for (arguments, code, word) in [
        (&["999", "-o", &file, "--force"][..], 3, "no run 999"),
        (
            &["last", "-o", "check.db", "--force"],
            2,
            "is the results store itself",
        ),
        (&["last", "-o", "/nowhere/report.html"], 3, "cannot write"),
    ] {
        let done = report(arguments).expect_code(code);
        assert!(done.one_error().contains(word), "{arguments:?}: {}", done.stderr);
    }
    let full = weir_rig::path("full");
    std::fs::create_dir(&full).expect("a folder");
    weir_rig::run("mount", &["-t", "tmpfs", "-o", "size=64k", "tmpfs", &full]);
    let file_there = format!("{full}/report.html");
    let done = report(&["last", "-o", &file_there]).expect_code(3);
    assert!(
        done.one_error()
            .contains(&format!("cannot write {file_there}: No space")),
        "{}",
        done.stderr
    );
    assert_eq!(std::fs::read_dir(&full).expect("the folder").count(), 0);
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), "precious");
    report(&["last", "-o", &file, "--force"]).expect_code(0);
    assert_eq!(unpacked(&file)["format"], "weir-report-data");
    let left = std::fs::read_dir(&folder).expect("the folder").count();
    assert_eq!(left, 1, "only the report is there");
    let newer = weir_rig::path("newer.db");
    std::fs::copy("check.db", &newer).expect("a copy");
    Database::change(&newer, "PRAGMA user_version = 99");
    let done = run_within(LIMIT, weir(&["report", "last", "--db", &newer])).expect_code(3);
    assert!(done.one_error().contains("use a newer Weir"), "{}", done.stderr);
}
