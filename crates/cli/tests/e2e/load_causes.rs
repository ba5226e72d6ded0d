//! Failures of `weir load` whose causes lie in this host: limits of the process, ports, routes, names.

use std::process::Command;

use serde_json::Value;

use weir_rig::{LIMIT, Running, count, isolated, run_within, weir};

/// An origin that serves one manifest, and its address.
fn origin() -> (Running, String) {
    let root = weir_rig::path("media");
    std::fs::create_dir_all(&root).expect("a folder");
    let manifest = "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT2S\"><Period>\
        <AdaptationSet mimeType=\"video/mp4\"><SegmentTemplate duration=\"2\" media=\"$Number$\"/><Representation id=\"a\" \
        bandwidth=\"1000\"/></AdaptationSet></Period></MPD>";
    std::fs::write(format!("{root}/list.mpd"), manifest).expect("a manifest");
    let mut origin = Running::start(weir(&["origin", &root, "--files", "--listen", "127.0.0.1:0"]));
    let url = format!("{}list.mpd", origin.first_line(LIMIT));
    (origin, url)
}

fn crowd(url: &str, viewers: &str) -> Vec<String> {
    let options = [
        "load",
        url,
        "--play",
        "manifest",
        "--viewers",
        viewers,
        "--for",
        "1s",
        "--json",
        "-q",
        "--db",
    ];
    let database = weir_rig::path("weir.db");
    options
        .into_iter()
        .chain([database.as_str()])
        .map(str::to_owned)
        .collect()
}

fn arguments(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// The failures have this cause alone, and there are requests that have none.
#[track_caller]
fn some(summary: &Value, cause: &str) {
    let failures = summary["all"]["failures"].as_object().expect("failures");
    assert_eq!(failures.keys().collect::<Vec<_>>(), [cause], "{summary}");
    assert!(
        count(&summary["all"]["failed"]) < count(&summary["all"]["requests"]),
        "{summary}"
    );
}

#[test]
fn no_descriptors_left() {
    isolated!();
    let (_origin, url) = origin();
    // Both limits, so that it cannot raise the one that counts.
    let words = crowd(&url, "200");
    let mut limited = Command::new("prlimit");
    limited.arg("--nofile=100:100").arg(weir_rig::binary());
    limited.args(arguments(&words));
    let summary = run_within(LIMIT, limited).expect_code(0).json();
    some(&summary, "descriptors");
    let notes = summary["notes"].to_string();
    assert!(
        notes.contains("fewer than 200 viewers need") && notes.contains("ulimit -n 1200"),
        "{notes}"
    );
    // A limit that may be raised is raised.
    let mut raised = Command::new("prlimit");
    raised.arg("--nofile=100:1000").arg(weir_rig::binary());
    raised.args(arguments(&words));
    let summary = run_within(LIMIT, raised).expect_code(0).json();
    assert_eq!(summary["all"]["failed"], 0, "{summary}");
}

#[test]
fn no_ports_left() {
    isolated!();
    let (_origin, url) = origin();
    std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "50000 50019")
        .expect("the namespace's own range");
    let words = crowd(&url, "40");
    let summary = run_within(LIMIT, weir(&arguments(&words))).expect_code(0).json();
    some(&summary, "ports");
    assert!(count(&summary["all"]["connections"]) <= 20, "{summary}");
}

#[test]
fn no_way_to_the_host() {
    isolated!();
    // In a namespace that has no interface but loopback, there is no route to TEST-NET-1 (RFC 5737): nothing is sent.
    for (url, cause) in [
        ("http://192.0.2.1/list.mpd", "connect"),
        ("http://no-such-host.invalid/list.mpd", "dns"),
    ] {
        let mut words = crowd(url, "2");
        words.push("--yes-really-load-this-host".to_owned());
        let done = run_within(LIMIT, weir(&arguments(&words))).expect_code(3);
        let summary = done.json();
        let failures = summary["all"]["failures"].as_object().expect("failures");
        assert_eq!(failures.keys().collect::<Vec<_>>(), [cause], "{summary}");
        assert!(done.stderr.contains("every request failed"), "{}", done.stderr);
    }
}
