//! What the commands of `weir lab` print: in namespaces where they make networks, else on loopback.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Document, lines, weir};

/// A link with something in every place where it can have something.
const FULL_LINK: &str = r#"
interface-mtu = 9000
long-packets = { above = 1228, loss = "3%" }
flow-rate = { rate = "1Gbit/s", burst = "64KiB" }
packet-rate = { rate = 200000, burst = 32 }
jitter = "1ms"
queue = "50packets"
loss = [{ packets = [1, 2] }, "0.1%", { mean = "1%", burst = 2.5 }]
dark = [{ from = "3s", to = "4s" }]
[forward]
rate = { steps = ["1s 4Mbit/s", "500ms 0"] }
[reverse]
loss = { mean = "1%", burst = 2.5 }
queue = "100kB"
rate = "10Mbit/s"
"#;

/// A comparison that is soon made.
const SHORT_SCENARIO: &str = r#"
congestion = ["reno"]
repeats = 1
warm-up = "1500ms"
for = "1s"
link = { rate = "20Mbit/s", rtt = "4ms", queue = "2bdp" }
media = { rungs = ["500kbit/s"], segment = "500ms" }
player = { abr = "throughput", buffer = "4s" }
variant = [{ name = "unpaced" }, { name = "paced", pace = "top:2" }]
[[case]]
name = "call"
neighbours = [{ kind = "voip" }]
figures = [{ of = "voip.owd.p95", expect = "lower", paper = -10 }, { of = "media.bitrate" }]
"#;

/// Commands that make networks, in namespaces of their own, and the schema of what each prints.
const LABS: [(&str, &str); 9] = [
    ("lab-calibrate", "lab calibrate --json"),
    (
        "lab-run",
        "lab run --json -q --max-lateness 10s full.toml -- weir rtt far -q --json --for 1100ms",
    ),
    (
        "lab-run",
        "lab run --json -q --max-lateness 1ns -- weir rtt far -q --for 200ms",
    ),
    ("lab-link-show", "lab link up full.toml --json"),
    ("lab-link-show", "lab link show --json"),
    ("lab-link-down", "lab link down --json"),
    ("lab-link-show", "lab link up lte --name other --json"),
    ("lab-clean", "lab clean --all --json"),
    ("lab-pacing", "lab pacing short.toml --json -q --max-lateness 10s"),
];

fn print_networks(folder: &Path) -> Vec<Document> {
    std::fs::write(folder.join("full.toml"), FULL_LINK).expect("a file");
    std::fs::write(folder.join("short.toml"), SHORT_SCENARIO).expect("a file");
    let mut script = String::from("set -e\nmount -t tmpfs tmpfs /run\nmount -t proc proc /proc\n");
    for (index, (_, arguments)) in LABS.iter().enumerate() {
        script.push_str(&format!("\"$WEIR\" {arguments} | tail -n 1 > lab-{index}.json\n"));
    }
    let spaces = [
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        &script,
    ];
    let as_user = ["--user", "--map-root-user"];
    let allowed = Command::new("unshare")
        .args(as_user)
        .args(["--net", "true"])
        .status();
    let first = if allowed.is_ok_and(|status| status.success()) {
        &as_user[..]
    } else {
        &[]
    };
    let made = Command::new("unshare")
        .args(first)
        .args(spaces)
        .current_dir(folder)
        .env("WEIR", weir_rig::binary())
        .env("WEIR_DB", "weir.db")
        .output()
        .expect("unshare starts (package util-linux)");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let read = |index: usize| {
        let path = folder.join(format!("lab-{index}.json"));
        let text = std::fs::read_to_string(&path).expect("a file");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    LABS.iter()
        .enumerate()
        .map(|(index, (schema, arguments))| (*schema, format!("weir {arguments}"), read(index)))
        .collect()
}

/// Commands that only tell what there is, or compute.
const TOLD: [(&str, &str); 7] = [
    ("lab-profiles", "lab profiles --json"),
    ("lab-pacing-list", "lab pacing --list --json"),
    ("lab-traps-list", "lab traps --list --json"),
    ("lab-traps-show", "lab traps --show naive-start --json"),
    ("lab-pacing-show", "lab pacing --show sammy-lab --json"),
    ("lab-traps", "lab traps --json"),
    ("lab-profiles-show", "lab profiles --show lte --json"),
];

pub fn printed(folder: &Path) -> Vec<Document> {
    let mut documents = print_networks(folder);
    documents.extend(print_neighbours(folder));
    for (schema, arguments) in TOLD {
        let words: Vec<&str> = arguments.split(' ').collect();
        let printed = lines(folder, 0, &words);
        assert!(!printed.is_empty(), "{arguments} printed nothing");
        documents.extend(
            printed
                .into_iter()
                .map(|line| (schema, format!("weir {arguments}"), line)),
        );
    }
    documents
}

/// Neighbours of a stream, each for a moment, over loopback.
fn print_neighbours(folder: &Path) -> Vec<Document> {
    let mut server = weir(folder)
        .args(["lab", "neighbour", "serve", "--json", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut line = String::new();
    let said = server.stdout.take().map(BufReader::new);
    said.expect("its output").read_line(&mut line).expect("a line");
    let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let address = said["address"].as_str().expect("an address").to_owned();
    let mut documents = vec![("lab-neighbour-serve", "weir lab neighbour serve".to_owned(), said)];
    let kinds: [&[&str]; 5] = [
        &["voip"],
        &["udp", "--rate", "1Mbit/s"],
        &["game", "--rate", "1Mbit/s"],
        &["bulk", "--streams", "2"],
        &["http", "--bytes", "10kB", "--pause", "20ms"],
    ];
    for kind in kinds {
        let arguments = [
            &["lab", "neighbour"],
            kind,
            &[&address, "--json", "--for", "300ms"],
        ]
        .concat();
        let printed = lines(folder, 0, &arguments);
        let what = format!("weir {}", arguments.join(" "));
        documents.extend(
            printed
                .into_iter()
                .map(|line| ("lab-neighbour", what.clone(), line)),
        );
    }
    // It may have ended by itself; then the clients have said so.
    let _ = server.kill();
    let _ = server.wait();
    documents
}
