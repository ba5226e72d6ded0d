//! Databases that cannot be used, and a disk that fills up in the middle of a run.

use std::time::Duration;

use weir_rig::{Agent, Database, Host, LIMIT, count, isolated, run_within, weir};

#[test]
fn a_database_that_cannot_be_used_is_found_out_before_anything_is_sent() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let target = agent.local();
    let text = weir_rig::path("notes.txt");
    std::fs::write(&text, "no database\n".repeat(1000)).expect("a text file");
    let other = weir_rig::path("other.db");
    Database::change(&other, "CREATE TABLE bookmarks (url TEXT)");
    for kind in ["rtt", "flows", "survey"] {
        for (database, word) in [
            ("/run/no/such/place/weir.db", "/run/no/such/place/weir.db"),
            (&text, "is not a database"),
            (&other, "is a database of another program"),
        ] {
            let done = run_within(LIMIT, weir(&[kind, &target, "--quiet", "--db", database])).expect_code(3);
            assert!(
                done.one_error().contains(word),
                "{kind} {database}: {}",
                done.stderr
            );
            assert!(done.stdout.is_empty(), "{}", done.stdout);
        }
    }
    let listed = run_within(LIMIT, weir(&["runs", "list", "--db", &text])).expect_code(3);
    assert!(
        listed.one_error().contains("is not a database"),
        "{}",
        listed.stderr
    );
    assert_eq!(
        std::fs::read_to_string(&text).expect("the text"),
        "no database\n".repeat(1000)
    );
    assert_eq!(
        Database::open(&other).all::<String>("SELECT name FROM sqlite_master"),
        ["bookmarks"]
    );
    agent.check_serves(&[]);
}

/// A file system of one megabyte, in which less than half is left.
fn nearly_full_disk() -> String {
    let place = weir_rig::path("small");
    std::fs::create_dir(&place).expect("a mount point");
    weir_rig::run("mount", &["-t", "tmpfs", "-o", "size=1M", "tmpfs", &place]);
    std::fs::write(format!("{place}/ballast"), vec![1; 400_000]).expect("ballast");
    format!("{place}/weir.db")
}

#[test]
fn a_disk_that_fills_up_during_rtt_keeps_the_result_on_the_screen() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let database = nearly_full_disk();
    // Some 8000 rows of more than 50 bytes.
    let done = run_within(
        LIMIT,
        weir(&[
            "rtt",
            &agent.local(),
            "--window",
            "100",
            "--interval",
            "50ms",
            "--for",
            "4s",
            "--db",
            &database,
        ]),
    )
    .expect_code(3);
    let error = done.one_error();
    assert!(error.contains("full") && error.contains("not"), "{error}");
    assert!(done.stdout.contains("8,000 packets sent"), "{}", done.stdout);
    assert!(done.stdout.contains("RTT on the network"), "{}", done.stdout);

    let stored = Database::open(&database);
    let rows: i64 = stored.one("SELECT count(*) FROM rtt_packets");
    assert!((1..8000).contains(&rows), "{rows} rows");
    assert_eq!(stored.one::<i64>("SELECT count(*) FROM runs"), 1);
    run_within(LIMIT, weir(&["runs", "list", "--db", &database])).expect_code(0);
}

#[test]
fn a_disk_that_fills_up_during_flows_keeps_the_result_on_the_screen() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let database = nearly_full_disk();
    // Rows of 64 flows every second, and nothing left for them.
    let arguments = [
        "flows",
        &agent.local(),
        "--rate",
        "5Mbit/s",
        "--length",
        "500",
        "--flows",
        "60",
        "--for",
        "60s",
        "--json",
        "--db",
        &database,
    ];
    let client = weir_rig::Running::start(weir(&arguments));
    weir_rig::wait_until("the run's first rows", LIMIT, || {
        let exists = std::path::Path::new(&database).exists();
        exists
            .then(|| Database::try_count(&database, "stream_seconds"))
            .flatten()
            .filter(|rows| *rows > 0)
    });
    // Takes what is left: copies until nothing more fits.
    let rest = database.replace("weir.db", "rest");
    let _ = std::fs::write(&rest, vec![1; 2_000_000]);
    std::thread::sleep(Duration::from_secs(3));
    client.signal("INT");
    let done = client.wait(LIMIT).expect_code(3);
    assert!(done.one_error().contains("full"), "{}", done.stderr);
    // The whole measurement: what a busy host's sockets could not take is counted, too.
    let said = done.json();
    let forward = |key: &str| count(&said["forward"][key]);
    assert_eq!(forward("sent"), forward("received") + forward("lost"), "{said}");
    assert!(forward("received") > 0, "{said}");
    std::fs::remove_file(&rest).expect("room again");
    let stored = Database::open(&database);
    assert!(stored.one::<i64>("SELECT count(*) FROM stream_seconds") > 0);
    drop(stored);
    run_within(LIMIT, weir(&["runs", "show", "last", "--db", &database])).expect_code(0);
}

#[test]
fn a_database_on_a_file_system_that_cannot_be_written_is_read() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let place = weir_rig::path("to be read?");
    std::fs::create_dir(&place).expect("a mount point");
    weir_rig::run("mount", &["-t", "tmpfs", "-o", "size=4M", "tmpfs", &place]);
    let (database, older) = (format!("{place}/weir.db"), format!("{place}/older.db"));
    let arguments = ["rtt", &agent.local(), "--for", "1s", "-q"];
    run_within(LIMIT, weir(&[&arguments[..], &["--db", &database]].concat())).expect_code(0);
    std::fs::copy(&database, &older).expect("a copy");
    Database::change(&older, "PRAGMA user_version = 2");
    weir_rig::run("mount", &["-o", "remount,ro", &place]);

    let shown = run_within(LIMIT, weir(&["runs", "show", "last", "--db", &database])).expect_code(0);
    assert!(shown.stdout.contains("\"answered\": 10"), "{}", shown.stdout);
    let report = weir_rig::path("report.html");
    run_within(LIMIT, weir(&["report", "last", "--db", &database, "-o", &report])).expect_code(0);
    let refused = run_within(LIMIT, weir(&["runs", "list", "--db", &older])).expect_code(3);
    assert!(
        refused.one_error().contains("export its runs"),
        "{}",
        refused.stderr
    );

    // Where it can be written it is not, either.
    weir_rig::run("mount", &["-o", "remount,rw", &place]);
    run_within(LIMIT, weir(&[&arguments[..], &["--db", &older]].concat())).expect_code(3);
    let version: i64 = Database::open(&older).one("PRAGMA user_version");
    assert_eq!(version, 2);
}
