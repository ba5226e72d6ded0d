//! What was measured, as users read it: `weir runs`, `diagnose`, `report` and `ui` of one database, by readers that share
//! nothing with Weir.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use weir_rig::{
    Agent, Database, Finished, Host, LIMIT, Running, count, isolated, ran, run, run_within, unpacked,
    wait_until, weir_line,
};

/// Asks for the addresses in its arguments, a token in the variable TOKEN, and prints status, JSON, or the beginning.
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
    body, kind = answer.read(), answer.headers["Content-Type"]
    answers.append([answer.status, json.loads(body) if kind == "application/json" else body.lstrip()[:15].decode().lower()])
print(json.dumps(answers))
"#;

#[track_caller]
fn get(urls: &[&str], token: Option<&str>) -> Vec<(u64, Value)> {
    let mut python = Command::new("python3");
    python
        .args(["-c", GET])
        .args(urls)
        .env("TOKEN", token.unwrap_or_default());
    let answers = run_within(LIMIT, python).expect_code(0).json();
    let answers = answers.as_array().expect("answers").iter();
    answers
        .map(|answer| (count(&answer[0]), answer[1].clone()))
        .collect()
}

/// A page that is served, and what it announced. `xdg-open` is the test's.
#[track_caller]
fn serve(options: &str, display: Option<&str>) -> (Running, Value) {
    let listen = if options.contains("--listen") {
        ""
    } else {
        "--listen 127.0.0.1:0"
    };
    let mut command = weir_line(&format!("ui --json {listen} {options}"));
    let path = format!(
        "{}:{}",
        weir_rig::path("bin"),
        std::env::var("PATH").unwrap_or_default()
    );
    command
        .env("PATH", path)
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("DISPLAY");
    if let Some(display) = display {
        command.env("DISPLAY", display);
    }
    let mut process = Running::start(command);
    let said = serde_json::from_str(&process.first_line(LIMIT)).expect("a line of JSON");
    (process, said)
}

#[track_caller]
fn stop(process: Running, signal: &str) -> Finished {
    process.signal(signal);
    process.wait(LIMIT).expect_code(0)
}

/// The two runs, an RTT test and a test of flows, as they were printed.
#[track_caller]
fn measured() -> [Value; 2] {
    let agent = Agent::start(Host::Near, "");
    let target = agent.local();
    let rtt = "--window 4 --length 100..300 --interval 20ms --for 1s --db weir.db --json";
    let flows = "--rate 2Mbit/s --length 500 --flows 2 --for 1s --db weir.db --json";
    [format!("rtt {target} {rtt}"), format!("flows {target} {flows}")].map(|line| ran(0, &line).json())
}

const EVIL: &str = "</script><script>alert(1)</script>";

/// A note and tags, and then the answer first, and evidence on request.
#[track_caller]
fn the_answer_comes_first() {
    ran(0, &format!("runs note 1 {EVIL}"));
    ran(0, "runs tag 1 loopback draft");
    let tagged = ran(0, "runs tag 1 --remove draft --json").json();
    assert_eq!(tagged["tags"], json!(["loopback"]));
    for (line, there) in [
        (
            "runs show 1",
            "findings of run 1|rtt-level|tags: loopback|RTT, application to",
        ),
        ("diagnose 1 -v", "confidence |sql> SELECT| ns\n"),
    ] {
        let said = ran(0, line).stdout;
        assert!(
            said.starts_with("Cannot say ") && said.contains("\nWorst: "),
            "{line}: {said}"
        );
        for word in there.split('|') {
            assert!(said.contains(word), "no '{word}' in {line}: {said}");
        }
    }
    let short = ran(0, "runs show 1 -q").stdout;
    assert!(
        short.starts_with("run 1: rtt to") && !short.contains("RTT, application to"),
        "{short}"
    );
}

#[test]
fn runs_are_listed_shown_exported_reported_served_in_a_browser_and_deleted() {
    isolated!();
    let [rtt, flows] = measured();
    let listed = ran(0, "runs list --json").json_lines();
    let kinds: Vec<&Value> = listed.iter().map(|run| &run["kind"]).collect();
    assert_eq!(kinds, ["flows", "rtt"], "the newest first");
    let only = ran(0, "runs list --kind rtt").stdout;
    assert!(only.contains("rtt") && !only.contains("flows"), "{only}");
    let none = ran(0, "runs list --kind survey").stderr;
    assert!(none.contains("weir.db has runs of kind"), "{none}");
    let shown = ran(0, "runs show 1 --json").json();
    for field in ["sent", "received", "rtt", "network_rtt", "by_position"] {
        assert_eq!(shown["summary"][field], rtt[field], "{field}");
    }
    assert_eq!(shown["rows"]["rtt_packets"], 200);
    assert_eq!(shown["rows"]["stream_seconds"], 0);
    assert_eq!(
        ran(0, "runs show last --json").json()["summary"]["forward"],
        flows["forward"]
    );
    assert_eq!(ran(0, "diagnose 1 --json").json()["answer"], shown["answer"]);

    the_answer_comes_first();

    let said = ran(0, "report 1 2 -o report.html --json").json();
    let text = std::fs::read_to_string("report.html").expect("the report");
    assert_eq!(count(&said["bytes"]), text.len() as u64);
    assert_eq!(said["runs"].clone(), json!([1, 2]));
    assert!(!text.contains("alert(1)"));
    report_and_page_hold_the_database(&unpacked("report.html"));
    the_page_opens_in_a_browser_and_asks_for_its_token();
    // A file that exists is replaced only when told, by a whole one.
    ran(0, "report last -o report.html --force");
    assert_eq!(unpacked("report.html")["format"], "weir-report-data");

    ran(0, "runs delete 1");
    let stored = Database::open("weir.db");
    assert_eq!(stored.all::<i64>("SELECT run_id FROM runs"), [2]);
    assert_eq!(stored.one::<i64>("SELECT count(*) FROM rtt_packets"), 0);
    drop(stored);
    ran(0, "runs delete last");
    assert_eq!(ran(0, "runs list --json").stdout, "");
    ran(2, "runs show last").error_has("holds no runs");
}

#[track_caller]
fn report_and_page_hold_the_database(document: &Value) {
    let runs = &document["runs"];
    assert_eq!(runs[0]["note"], EVIL);
    let (page, said) = serve("--no-open", None);
    let url = said["url"].as_str().expect("an address");
    let at = |path: &str| format!("{url}api/v1/runs{path}");
    let answers = get(&[url, &at(""), &at("/1/data"), &at("/7/data")], None);
    assert_eq!(answers[0], (200, json!("<!doctype html>")));
    assert_eq!(answers[1].1["runs"][1]["kind"], "rtt");
    let exported = ran(0, "runs export 1 --as json").json();
    for same in [&answers[2].1["runs"][0], &runs[0]] {
        assert_eq!(*same, exported["runs"][0]);
    }
    assert_eq!(answers[3].0, 404);
    stop(page, "TERM");
}

/// A program in place of the desktop's, and a token that others have not got.
#[track_caller]
fn the_page_opens_in_a_browser_and_asks_for_its_token() {
    std::fs::create_dir("bin").expect("a folder");
    let opened = weir_rig::path("opened");
    let browser = format!("#!/bin/sh\necho \"$1\" > {opened}.new\nmv {opened}.new {opened}\n");
    std::fs::write("bin/xdg-open", browser).expect("a script");
    run("chmod", &["+x", "bin/xdg-open"]);
    std::fs::write("token", "  open sesame 1234\n").expect("a token file");
    let (page, said) = serve("--no-open --listen 0.0.0.0:0 --token-file token", Some(":0"));
    assert_eq!(said["token"], true);
    let runs = format!("{}api/v1/runs", said["url"].as_str().expect("an address"));
    for (token, status) in [
        (None, 401),
        (Some("open sesame 123"), 401),
        (Some("open sesame 1234"), 200),
    ] {
        assert_eq!(get(&[&runs], token)[0].0, status);
    }
    stop(page, "INT");
    assert!(!Path::new("opened").exists(), "--no-open");
    stop(serve("", None).0, "INT");
    assert!(!Path::new("opened").exists(), "no desktop");
    let (page, said) = serve("", Some(":0"));
    let opened = wait_until("the browser", LIMIT, || std::fs::read_to_string("opened").ok());
    let told = (&said["url"], &said["token"]);
    assert_eq!(told, (&json!(opened.trim()), &json!(false)));
    stop(page, "INT");
}

/// A file system of that size.
#[track_caller]
fn disk(name: &str, size: &str) {
    std::fs::create_dir(name).expect("a mount point");
    run(
        "mount",
        &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", name],
    );
}

#[test]
fn full_and_read_only_disks_and_readers_who_leave_change_nothing_of_a_result() {
    isolated!();
    let agent = Agent::start(Host::Near, "");
    let target = agent.local();
    // Some 8000 rows of more than 50 bytes, and less than half of a megabyte.
    disk("small", "1M");
    std::fs::write("small/ballast", vec![1; 400_000]).expect("ballast");
    let done = ran(
        3,
        &format!("rtt {target} --window 200 --interval 50ms --for 2s --db small/weir.db"),
    );
    assert!(
        done.one_error().contains("full") && done.one_error().contains("not"),
        "{}",
        done.stderr
    );
    for words in ["8,000 packets sent", "RTT on the network"] {
        done.stdout_has(words);
    }
    let rows: i64 = Database::open("small/weir.db").one("SELECT count(*) FROM rtt_packets");
    assert!((1..8000).contains(&rows), "{rows} rows");
    ran(0, "runs list --db small/weir.db");

    // A name that SQLite would take apart.
    disk("to-be-read?", "4M");
    ran(
        0,
        &format!("rtt {target} --for 300ms --interval 100ms -q --db to-be-read?/weir.db"),
    );
    run("mount", &["-o", "remount,ro", "to-be-read?"]);
    let shown = ran(0, "runs show last --db to-be-read?/weir.db").stdout;
    assert!(shown.contains("\"answered\": 30"), "{shown}");
    ran(0, "report last --db to-be-read?/weir.db -o report.html");
    disk("full", "64k");
    let refused = ran(3, "report last --db to-be-read?/weir.db -o full/report.html");
    refused.error_has("cannot write full/report.html: No space");
    assert_eq!(std::fs::read_dir("full").expect("the folder").count(), 0);

    let mut unread = weir_line(&format!("flows {target} --rate 5Mbit/s --for 1s --db unread.db"));
    unread.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut unread = unread.spawn().expect("weir starts");
    drop(unread.stderr.take());
    assert_eq!(unread.wait().expect("weir ends").code(), Some(0));
    let outcome: String = Database::open("unread.db").one("SELECT outcome FROM runs");
    assert_eq!(outcome, "finished");
}
