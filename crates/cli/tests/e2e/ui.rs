//! `weir ui` as a user starts it, asked by a client that shares nothing with it: Python's standard library.

use std::process::Command;

use serde_json::{Value, json};

use weir_rig::{
    Agent, Database, Finished, Host, LIMIT, Running, isolated, run, run_within, wait_until, weir,
};

/// Asks for the addresses in its arguments, a token in the variable TOKEN, and prints status, length and JSON of each.
const GET: &str = r#"
import json, os, sys, urllib.error, urllib.request
answers = []
for url in sys.argv[1:]:
    token = os.environ.get("TOKEN")
    request = urllib.request.Request(url, headers={"Authorization": "Bearer " + token} if token else {})
    try:
        answer = urllib.request.urlopen(request, timeout=20)
    except urllib.error.HTTPError as error:
        answer = error
    body = answer.read()
    is_json = answer.headers["Content-Type"] == "application/json"
    answers.append({"status": answer.status, "length": len(body), "html": body.lstrip()[:15].lower() == b"<!doctype html>",
                    "json": json.loads(body) if is_json else None})
print(json.dumps(answers))
"#;

/// Follows the run at an address; prints the first progress with a loss, and at the end how it ended.
const FOLLOW: &str = r#"
import json, sys, urllib.request
name, seen = None, False
for line in urllib.request.urlopen(sys.argv[1], timeout=20):
    line = line.decode().rstrip("\n")
    if line.startswith("event: "):
        name = line[7:]
    elif line.startswith("data: "):
        data = json.loads(line[6:])
        if name == "ended" or (not seen and data["loss"] is not None):
            seen = True
            print(json.dumps({"event": name, "data": data}), flush=True)
"#;

#[track_caller]
fn python(script: &str, arguments: &[&str], token: Option<&str>) -> Finished {
    let mut python = Command::new("python3");
    python.args(["-c", script]).args(arguments).env_remove("TOKEN");
    if let Some(token) = token {
        python.env("TOKEN", token);
    }
    run_within(LIMIT, python).expect_code(0)
}

#[track_caller]
fn get(urls: &[&str], token: Option<&str>) -> Value {
    python(GET, urls, token).json()
}

/// A page that is served, and its address.
#[track_caller]
fn start(options: &[&str]) -> (Running, String) {
    let arguments = [&["ui", "--listen", "127.0.0.1:0"], options].concat();
    let mut command = weir(&arguments);
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let mut process = Running::start(command);
    let url = process.first_line(LIMIT);
    (process, url)
}

#[track_caller]
fn stop(process: Running, signal: &str) -> Finished {
    process.signal(signal);
    process.wait(LIMIT).expect_code(0)
}

#[test]
fn the_page_and_the_runs_are_served_until_interrupted() {
    isolated!();
    // Leaves a run in check.db.
    Agent::start(Host::Near, &[]).check_serves(&[]);
    for signal in ["INT", "TERM"] {
        let (process, url) = start(&["--no-open", "--db", "check.db"]);
        let at = |path: &str| format!("{url}{path}");
        let answers = get(
            &[
                &url,
                &at("api/v1/runs"),
                &at("api/v1/runs/1/data"),
                &at("api/v1/runs/2/data"),
            ],
            None,
        );
        assert_eq!(
            (&answers[0]["status"], &answers[0]["html"]),
            (&json!(200), &json!(true))
        );
        let list = &answers[1]["json"]["runs"];
        assert_eq!(
            (&list[0]["run_id"], &list[0]["kind"]),
            (&json!(1), &json!("rtt")),
            "{list}"
        );
        let exported = run_within(
            LIMIT,
            weir(&["runs", "export", "1", "--as", "json", "--db", "check.db"]),
        );
        assert_eq!(answers[2]["json"]["runs"], exported.expect_code(0).json()["runs"]);
        assert_eq!(answers[3]["status"], 404);
        assert!(
            answers[3]["json"]["error"]
                .as_str()
                .is_some_and(|error| error.contains("no run 2"))
        );
        let done = stop(process, signal);
        assert!(done.stderr.contains("Ctrl-C stops it"), "{}", done.stderr);
        assert_eq!(done.stdout, format!("{url}\n"));
    }
}

#[test]
fn a_running_test_is_followed_and_not_disturbed() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let database = weir_rig::path("live.db");
    let test = Running::start(weir(&[
        "flows",
        &agent.local(),
        "--rate",
        "5Mbit/s",
        "--length",
        "1000",
        "--flows",
        "2",
        "--for",
        "60s",
        "--json",
        "--db",
        &database,
    ]));
    wait_until("a run that is recorded", LIMIT, || {
        let there = std::path::Path::new(&database).exists();
        there
            .then(|| Database::try_count(&database, "runs"))
            .flatten()
            .filter(|runs| *runs > 0)
    });
    let (process, url) = start(&["--no-open", "--db", &database, "--json"]);
    let said: Value = serde_json::from_str(&url).expect("a line of JSON");
    assert_eq!(said["token"], false);
    assert_eq!(said["database"], database.as_str());
    let events = format!(
        "{}api/v1/runs/1/events",
        said["url"].as_str().expect("an address")
    );
    let mut follower = Command::new("python3");
    follower.args(["-c", FOLLOW, &events]);
    let mut follower = Running::start(follower);
    let progress: Value = serde_json::from_str(&follower.first_line(LIMIT)).expect("a progress");
    assert_eq!(
        (&progress["event"], &progress["data"]["loss"]),
        (&json!("progress"), &json!(0.0))
    );
    assert!(
        progress["data"]["rate_bits"].as_u64() > Some(1_000_000),
        "{progress}"
    );
    assert!(
        progress["data"]["left_ns"].as_u64() < Some(60_000_000_000),
        "{progress}"
    );
    test.signal("INT");
    let result = test.wait(LIMIT).expect_code(0).json();
    // Not its notes: on a busy machine the sender may be late, follower or not.
    assert_eq!(result["forward"]["lost"], 0);
    let followed = follower.wait(LIMIT).expect_code(0);
    let last: Value =
        serde_json::from_str(followed.stdout.lines().last().expect("a line")).expect("an event");
    assert_eq!(
        last,
        json!({ "event": "ended", "data": { "outcome": "interrupted" } })
    );
    stop(process, "INT");
}

#[test]
fn others_need_the_token() {
    isolated!();
    Agent::start(Host::Near, &[]).check_serves(&[]);
    let file = weir_rig::path("token");
    std::fs::write(&file, "  open sesame 1234\n").expect("a token file");
    let options = [
        "ui",
        "--no-open",
        "--db",
        "check.db",
        "--listen",
        "0.0.0.0:0",
        "--json",
    ];
    let with_file = weir(&[&options[..], &["--token-file", &file]].concat());
    let mut with_variable = weir(&options);
    with_variable.env("WEIR_TOKEN", "open sesame 1234");
    for command in [with_file, with_variable] {
        let mut process = Running::start(command);
        let said: Value = serde_json::from_str(&process.first_line(LIMIT)).expect("a line of JSON");
        assert_eq!(said["token"], true);
        let url = said["url"].as_str().expect("an address");
        let runs = format!("{url}api/v1/runs");
        for (token, status) in [
            (None, 401),
            (Some("open sesame 123"), 401),
            (Some("open sesame 1234"), 200),
        ] {
            let answers = get(&[url, &runs], token);
            assert_eq!(
                (&answers[0]["status"], &answers[1]["status"]),
                (&json!(200), &json!(status))
            );
        }
        stop(process, "INT");
    }
}

#[test]
fn what_cannot_be_served_is_said_in_a_line() {
    isolated!();
    Agent::start(Host::Near, &[]).check_serves(&[]);
    let refused = |arguments: &[&str], code: i32, word: &str| {
        let all = [&["ui", "--no-open"], arguments].concat();
        let done = run_within(LIMIT, weir(&all)).expect_code(code);
        assert!(done.one_error().contains(word), "{arguments:?}: {}", done.stderr);
        assert!(done.stdout.is_empty(), "{}", done.stdout);
    };
    let empty = weir_rig::path("empty");
    std::fs::write(&empty, " \n").expect("a file");
    let newer = weir_rig::path("newer.db");
    std::fs::copy("check.db", &newer).expect("a copy");
    Database::change(&newer, "PRAGMA user_version = 99");
    refused(&["--db", "none.db"], 3, "none.db");
    assert!(!std::path::Path::new("none.db").exists());
    refused(&["--db", &newer], 3, "use a newer Weir");
    refused(&["--db", &empty], 3, "database");
    refused(&["--db", "check.db", "--listen", "0.0.0.0:0"], 2, "--token-file");
    refused(&["--db", "check.db", "--token-file", &empty], 2, "is empty");
    refused(&["--db", "check.db", "--token-file", "nowhere"], 2, "nowhere");
    refused(
        &[
            "--db",
            "check.db",
            "--listen",
            "192.0.2.1:0",
            "--token-file",
            "check.db",
        ],
        3,
        "--listen",
    );
    let (process, url) = start(&["--no-open", "--db", "check.db"]);
    let taken = url.trim_start_matches("http://").trim_end_matches('/');
    refused(&["--db", "check.db", "--listen", taken], 3, "in use");
    stop(process, "INT");
}

#[test]
fn the_browser_is_opened_where_there_is_a_desktop() {
    isolated!();
    Agent::start(Host::Near, &[]).check_serves(&[]);
    let (folder, seen) = (weir_rig::path("bin"), weir_rig::path("opened"));
    std::fs::create_dir(&folder).expect("a folder");
    let browser = format!("{folder}/xdg-open");
    std::fs::write(
        &browser,
        format!("#!/bin/sh\necho \"$1\" > {seen}.new\nmv {seen}.new {seen}\n"),
    )
    .expect("a script");
    run("chmod", &["+x", &browser]);
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let serve = |options: &[&str], display: Option<&str>| {
        let mut command = weir(&[&["ui", "--listen", "127.0.0.1:0", "--db", "check.db"], options].concat());
        command
            .env("PATH", &path)
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("DISPLAY");
        if let Some(display) = display {
            command.env("DISPLAY", display);
        }
        let mut process = Running::start(command);
        let url = process.first_line(LIMIT);
        // Once it answers, it has opened what it opens.
        assert_eq!(get(&[&url], None)[0]["status"], 200);
        (process, url)
    };
    for (options, display) in [(&["--no-open"][..], Some(":0")), (&[], None)] {
        stop(serve(options, display).0, "INT");
        assert!(!std::path::Path::new(&seen).exists(), "{options:?}");
    }
    let (process, url) = serve(&[], Some(":0"));
    let opened = wait_until("the browser", LIMIT, || std::fs::read_to_string(&seen).ok());
    assert_eq!(opened.trim(), url);
    stop(process, "INT");
}
