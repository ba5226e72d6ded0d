//! `weir testbed` as a user starts it: what the kernel counts at a function beside what its clients received, and what a runner
//! that is killed leaves behind.

use std::path::Path;

use serde_json::{Value, json};

use weir_rig::locust::locust;
use weir_rig::{LIMIT, count, isolated, nothing_is_left, ran, run, see_own_processes, started, wait_until};

use crate::documented;
use crate::documented_json::schemas::{assert_documented, validator};

const TITLE: &str = "video = '300kbit/s', audio = '64kbit/s', duration = '10s'";

/// Storage, origin and viewers.
fn origin() -> String {
    format!(
        "name = 'origin'\ndescription = 'origin before storage'\n\
         [[task]]\nname = 'storage'\nfunction = 'weir-source'\nparameters = {{ {TITLE}, dref = true }}\n\
         [[task]]\nname = 'middle'\nfunction = 'origin'\nvcpu = 1\nparameters = {{ configuration = 'C' }}\n\
         [[task]]\nname = 'viewers'\nfunction = 'weir-sink'\nparameters = {{ viewers = 2, for = '2s' }}\n\
         [[connection]]\nfrom = 'storage'\nto = 'middle'\n[[connection]]\nfrom = 'middle'\nto = 'viewers'\n"
    )
}

/// nginx with the title packaged ahead, and viewers for some time.
fn packaged(time: &str) -> String {
    format!(
        "name = 'packaged'\ndescription = 'files'\n\
         [[task]]\nname = 'middle'\nfunction = 'nginx-packaged'\nvcpu = 1\nparameters = {{ {TITLE} }}\n\
         [[task]]\nname = 'viewers'\nfunction = 'weir-sink'\nparameters = {{ viewers = 2, for = '{time}' }}\n\
         [[connection]]\nfrom = 'middle'\nto = 'viewers'\n"
    )
}

/// The same with a stock Locust, whose worker counts what the kernel counts.
fn by_locust() -> String {
    let sink = format!(
        "function = 'locust'\nparameters = {{ locust = '{}', users = 2, for = '2s' }}",
        locust()
    );
    let viewers = "function = 'weir-sink'\nparameters = { viewers = 2, for = '2s' }";
    let text = packaged("2s").replace("name = 'packaged'", "name = 'locust'");
    assert!(text.contains(viewers), "{text}");
    text.replace(viewers, &sink)
}

/// Four seconds, and four with three times as much.
const FILM: &str =
    r#"{"segment_duration_ms": 4000, "bitrates_kbps": [300], "segment_sizes_bits": [[1000000], [3000000]]}"#;

/// Two origins behind a balancer, one of them behind a cache. The title has the bit rate of a film.
fn balanced() -> String {
    let origin = |name: &str, storage: &str, input: &str| {
        format!(
            "[[task]]\nname = '{name}'\nfunction = 'origin'\nparameters = {{ configuration = 'C' }}\n\
             [[connection]]\nfrom = '{storage}'\nto = '{name}'\n[[connection]]\nfrom = '{name}'\nto = 'middle.{input}'\n"
        )
    };
    format!(
        "name = 'balanced'\ndescription = 'two origins behind HAProxy'\n\
         [[task]]\nname = 'storage'\nfunction = 'weir-source'\nparameters = {{ {TITLE}, dref = true, sizes = 'film.json' }}\n{}{}\
         [[task]]\nname = 'kept'\nfunction = 'varnish'\n[[connection]]\nfrom = 'storage'\nto = 'kept'\n\
         [[task]]\nname = 'middle'\nfunction = 'balancer'\nvcpu = 1\n\
         [[task]]\nname = 'viewers'\nfunction = 'weir-sink'\nparameters = {{ viewers = 2, for = '2s' }}\n\
         [[connection]]\nfrom = 'middle'\nto = 'viewers'\n",
        origin("one", "storage", "in"),
        origin("two", "kept", "in2")
    )
}

fn task<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let tasks = summary["tasks"].as_array().expect("tasks");
    tasks.iter().find(|task| task["task"] == name).expect(name)
}

/// Both are within half a percent of the larger.
#[track_caller]
fn assert_close(what: &str, counted: u64, received: u64) {
    let apart = counted.abs_diff(received) as f64 / counted.max(received).max(1) as f64;
    assert!(
        apart <= 0.005 && received > 0,
        "{what}: {counted} and {received}, {:.2} % apart",
        apart * 100.0
    );
}

#[track_caller]
fn what_the_kernel_counts_is_what_clients_receive() {
    let names = ["origin", "packaged", "locust", "balanced"];
    std::fs::write("film.json", FILM).expect("a file");
    for (name, workflow) in names
        .iter()
        .zip([origin(), packaged("2s"), by_locust(), balanced()])
    {
        std::fs::write(format!("{name}.toml"), workflow).expect("a file");
        let checked = ran(0, &format!("testbed check {name}.toml --json")).json();
        assert_documented(name, &validator("testbed-check"), &checked);
    }
    let summaries = ran(
        0,
        "testbed run origin.toml packaged.toml locust.toml balanced.toml -o page.md --db weir.db --json -q",
    )
    .json_lines();
    assert_eq!(summaries.len(), names.len());
    for (name, summary) in names.iter().zip(&summaries) {
        documented("testbed", summary);
        let viewers = task(summary, "viewers");
        let received = count(&viewers["sink"]["received_bytes"]);
        let given = count(&task(summary, "middle")["out"]["payload_bytes"]);
        assert_eq!(viewers["sink"]["failed"], json!(0));
        assert_close(name, given, received);
        assert_close("both ends", given, count(&viewers["in"]["payload_bytes"]));
        assert!(count(&task(summary, "middle")["cpu_ns"]) > 0 && count(&viewers["memory_bytes"]) > 1 << 20);
        // Each run has all cores of this process to share out.
        assert_eq!(
            task(summary, "middle")["cores"],
            task(&summaries[0], "middle")["cores"]
        );
        assert_ne!(task(summary, "middle")["cores"], viewers["cores"]);
    }
    let given = ["one", "two"].map(|name| count(&task(&summaries[3], name)["out"]["payload_bytes"]));
    assert_close(
        "a balancer's servers",
        given[0] + given[1],
        count(&task(&summaries[3], "middle")["in"]["payload_bytes"]),
    );
    assert!(given.iter().all(|one| one * 4 > given[0] + given[1]), "{given:?}");
    let kept = &task(&summaries[3], "kept")["cache"];
    let requests = ["hits", "misses", "passed"].map(|way| count(&kept[way]));
    assert!(requests.iter().all(|requests| *requests > 0), "{kept}");
    a_title_has_the_bit_rate_of_a_film();
    let page = std::fs::read_to_string("page.md").expect("the page");
    assert!(
        names.iter().all(|name| page.contains(&format!("| {name} |"))),
        "{page}"
    );
    let parts = ran(0, "runs list --parts --kind load --db weir.db --json").json_lines();
    assert_eq!(parts.len(), names.len(), "the viewers' runs are parts");
    each_value_is_run();
    assert!(run("ip", &["netns", "list"]).is_empty());
}

/// Bytes of each two seconds of the video, as ffprobe sees them.
#[track_caller]
fn a_title_has_the_bit_rate_of_a_film() {
    let folders = run("find", &["weir-titles", "-name", "*-film-*"]);
    let video = format!("{}/video.mp4", folders.trim());
    let shown = "-v error -select_streams v -show_entries packet=size -of csv=p=0";
    let mut words: Vec<&str> = shown.split_whitespace().collect();
    words.push(&video);
    let sizes = run("ffprobe", &words);
    let sizes: Vec<u64> = sizes
        .split_whitespace()
        .map(|size| size.trim_end_matches(',').parse().expect("a size"))
        .collect();
    let groups: Vec<u64> = sizes.chunks(48).map(|group| group.iter().sum()).collect();
    // 300 kbit/s on average: half of it for four seconds, and one and a half times as much. ffmpeg copies a frame too many.
    assert_eq!(groups[..5], [37_500, 37_500, 112_500, 112_500, 37_500]);
}

#[track_caller]
fn each_value_is_run() {
    let values = ["500ms", "1s"];
    let vary = "testbed run packaged.toml --vary viewers.for=500ms,1s -o varied.md --json -q";
    let summaries = ran(0, vary).json_lines();
    for (value, summary) in values.iter().zip(&summaries) {
        documented("testbed", summary);
        assert_eq!(summary["varied"], json!({ "viewers.for": value }));
    }
    assert_eq!(summaries.len(), 2);
    let page = std::fs::read_to_string("varied.md").expect("the page");
    assert!(
        values
            .iter()
            .all(|value| page.contains(&format!("| packaged, viewers.for={value} |"))),
        "{page}"
    );
    ran(2, "testbed run packaged.toml --vary viewers.pace=1 -q")
        .error_has("task viewers: configuration: weir.pace");
}

/// Control groups of testbeds.
fn groups() -> Vec<String> {
    let below = run(
        "find",
        &["/sys/fs/cgroup", "-maxdepth", "2", "-name", "weir-testbed-*"],
    );
    below.lines().map(str::to_owned).collect()
}

/// A task with a tenth of a core's time, which viewers ask all the time. False where this host has no control groups for it.
#[track_caller]
fn cpu_time_is_bounded() -> bool {
    std::fs::write(
        "small.toml",
        packaged("2s").replace("vcpu = 1", "cpu-limit = 0.1"),
    )
    .expect("a file");
    let done = started("testbed run small.toml --json -q").wait(LIMIT);
    if done.code() != 0 && !Path::new("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").exists() {
        done.error_has("task middle: configuration: weir.cpu-limit: this host does not bound CPU time");
        return false;
    }
    let summary = done.expect_code(0).json();
    documented("testbed", &summary);
    let middle = task(&summary, "middle");
    assert_eq!(middle["cpu_limit"], json!(0.1));
    let (used, whole) = (count(&middle["cpu_ns"]), count(&summary["duration_ns"]));
    // What it may use of a first and a last interval of 20 ms, and a clock tick of 10 ms of each of nginx's two processes.
    assert!(
        used > 0 && used <= whole / 10 + 24_000_000,
        "{used} of {whole} ns"
    );
    assert_eq!(groups(), [""; 0]);
    true
}

#[track_caller]
fn clean_removes_what_a_killed_runner_leaves(with_bound: bool) {
    let with = if with_bound { "cpu-limit = 0.5" } else { "vcpu = 1" };
    std::fs::write("long.toml", packaged("120s").replace("vcpu = 1", with)).expect("a file");
    let runner = started("testbed run long.toml --db weir.db -q");
    let state = wait_until("a workload", LIMIT, || {
        let states = ran(0, "testbed status --json").json_lines();
        states
            .into_iter()
            .find(|state| state["tasks"][0]["state"] == "running" && state["pid"] == json!(runner.id()))
    });
    documented("testbed-status", &state);
    ran(2, "testbed run long.toml --db weir.db -q").error_has("'testbed' is running");
    runner.signal("KILL");
    runner.wait(LIMIT);
    assert!(
        !run("ip", &["netns", "list"]).is_empty(),
        "a killed runner removes nothing"
    );
    assert_eq!(groups().len(), usize::from(with_bound));
    let cleaned = ran(0, "testbed clean --json").json();
    documented("testbed-clean", &cleaned);
    assert_eq!(cleaned["cleaned"], json!(["testbed"]));
    nothing_is_left();
    assert_eq!(groups(), [""; 0]);
    assert!(ran(0, "testbed status --json").stdout.is_empty());
}

/// What a request with `curl` gets: status and body.
const TOKEN: &str = "e3b0c44298fc1c149afbf4c8996fb924";
const BEARER: &str = "Authorization: Bearer e3b0c44298fc1c149afbf4c8996fb924";

#[track_caller]
fn ask(method: &str, url: &str, file: Option<&str>) -> (u64, Value) {
    let body = file.map(|file| format!("@{file}")).unwrap_or_default();
    let mut words = vec![
        "--silent",
        "--write-out",
        "\n%{http_code}",
        "--request",
        method,
        "--header",
        BEARER,
        url,
    ];
    if file.is_some() {
        words.extend([
            "--header",
            "Content-Type: application/json",
            "--data-binary",
            &body,
        ]);
    }
    let said = run("curl", &words);
    let (body, status) = said.rsplit_once('\n').expect("a status");
    (
        status.parse().expect("a status"),
        serde_json::from_str(body).unwrap_or_default(),
    )
}

#[track_caller]
fn the_workflow_api_runs_workflows_and_ends_them() {
    std::fs::write("token", TOKEN).expect("a file");
    let mut server = started("testbed serve --listen 127.0.0.1:0 --token-file token --db weir.db --json -q");
    let line: Value = serde_json::from_str(&server.first_line(LIMIT)).expect("JSON");
    documented("testbed-serve", &line);
    let workflows = line["url"].as_str().expect("an address").to_owned();
    // Without the token, and what a page of another site makes a browser send.
    for (header, status) in [
        ("Authorization: Bearer other", "401"),
        ("Host: evil.example", "403"),
        ("Origin: http://evil.example", "403"),
        ("X: y", "415"),
    ] {
        let asked = [
            "--silent",
            "--output",
            "refused",
            "--write-out",
            "%{http_code}",
            "--data",
            "{}",
            "--header",
            header,
            "--header",
            if status == "401" { "X: y" } else { BEARER },
        ];
        assert_eq!(
            run("curl", &[&asked[..], &[&workflows]].concat()),
            status,
            "{header}"
        );
    }
    let created = |name: &str, text: String| -> String {
        std::fs::write("served.toml", text).expect("a file");
        let document = ran(0, "testbed check served.toml --json").stdout;
        std::fs::write(name, document).expect("a file");
        let (status, document) = ask("POST", &workflows, Some(name));
        assert_eq!(status, 201, "{document}");
        format!(
            "{workflows}/{}",
            document["general"]["id"].as_str().expect("an id")
        )
    };
    let long = created("long.json", packaged("120s"));
    let short = created("short.json", packaged("2s"));
    assert_ne!(long, short);
    let state = |url: &str| ask("GET", url, None).1["general"]["state"].clone();
    wait_until("a workload", LIMIT, || (state(&long) == "running").then_some(()));
    assert_eq!(state(&short), "instantiated", "one after the other");
    assert_eq!(
        ask("PATCH", &short, Some("short.json")).0,
        400,
        "its identifier is another"
    );
    assert_eq!(ask("DELETE", &long, None).0, 202);
    wait_until("the end of one", LIMIT, || {
        (ask("GET", &long, None).0 == 404).then_some(())
    });
    wait_until("the end of the other", LIMIT, || {
        (state(&short) == "destroyed").then_some(())
    });
    assert_eq!(ask("DELETE", &short, None).0, 200);
    assert!(ran(0, "testbed status --json").stdout.is_empty());
    server.signal("TERM");
    let ended = server.wait(LIMIT).expect_code(0);
    let summaries = ended.json_lines();
    documented("testbed", &summaries[2]);
    assert!(count(&task(&summaries[2], "viewers")["sink"]["received_bytes"]) > 0);
    nothing_is_left();
}

#[test]
fn functions_are_measured_from_outside_and_nothing_is_left_of_them() {
    isolated!(heavy);
    see_own_processes();
    what_the_kernel_counts_is_what_clients_receive();
    clean_removes_what_a_killed_runner_leaves(cpu_time_is_bounded());
    the_workflow_api_runs_workflows_and_ends_them();
}
