//! Runs every command on loopback, at rates that load nothing, and keeps what it printed. Knows no schema.

mod labs;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

/// An experiment of two runs.
const SMALL_EXPERIMENT: &str = r#"
name = "small"
[titles]
duration = "10s"
audio = "64kbit/s"
[[part]]
name = "one"
configurations = ["C", "E"]
segments = ["2s"]
video = ["300kbit/s"]
viewers = ["2"]
duration = "1s"
[published]
source = "somebody"
part = "one"
[[published.row]]
configuration = "C"
in = "3Gbit/s"
out = "1Gbit/s"
efficiency = 0.3
"#;

fn weir(folder: &Path) -> Command {
    let mut command = Command::new(weir_rig::binary());
    command
        .current_dir(folder)
        .env_remove("WEIR_TOKEN")
        .env_remove("WEIR_LOG")
        .env("WEIR_DB", "weir.db");
    command
}

/// Standard output, line by line, as JSON; the exit status has to be as expected.
fn lines(folder: &Path, status: i32, arguments: &[&str]) -> Vec<Value> {
    let what = arguments.join(" ");
    let Output {
        status: ended,
        stdout,
        stderr,
    } = weir(folder).args(arguments).output().expect("weir starts");
    let complaint = String::from_utf8_lossy(&stderr);
    assert_eq!(ended.code(), Some(status), "weir {what}: {complaint}");
    let text = String::from_utf8(stdout).expect("JSON is UTF-8");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("weir {what}: {error}: {line}")))
        .collect()
}

/// An agent on loopback, without a token, that ends with the test.
struct Agent {
    child: Child,
    announced: Value,
}

impl Agent {
    fn start(folder: &Path) -> Agent {
        // Another program may take the port between this look and the agent's; then the agent says so.
        let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a UDP port");
        let stamp_port = free.local_addr().expect("its address").port().to_string();
        drop(free);
        let mut child = weir(folder)
            .args([
                "agent",
                "--json",
                "--quiet",
                "--listen",
                "127.0.0.1",
                "--port",
                "0",
            ])
            .args([
                "--max-rate",
                "200Mbit/s",
                "--max-length",
                "1472",
                "--stamp-port",
                &stamp_port,
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let mut line = String::new();
        let said = child.stdout.take().map(BufReader::new);
        said.expect("its output").read_line(&mut line).expect("a line");
        let announced = serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut complaint = String::new();
            if let Some(mut errors) = child.stderr.take() {
                let _ = errors.read_to_string(&mut complaint);
            }
            panic!("the agent said '{line}': {error}: {complaint}")
        });
        Agent { child, announced }
    }

    fn address(&self, field: &str) -> String {
        self.announced[field][0].as_str().expect("an address").to_owned()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself, and there is nothing left to do then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One line of output: its schema, the command, and what it said.
pub type Document = (&'static str, String, Value);

/// What all commands printed; made once, since every test reads it.
pub fn printed() -> &'static [Document] {
    static PRINTED: OnceLock<Vec<Document>> = OnceLock::new();
    PRINTED.get_or_init(print_everything)
}

pub fn printed_by(schema: &str) -> impl Iterator<Item = (&'static str, &'static Value)> {
    printed()
        .iter()
        .filter(move |(name, _, _)| *name == schema)
        .map(|(_, what, document)| (what.as_str(), document))
}

fn print_everything() -> Vec<Document> {
    let folder = TempDir::new().expect("a folder");
    let agent = Agent::start(folder.path());
    let mut documents = vec![("agent", "weir agent".to_owned(), agent.announced.clone())];
    let (control, stamp) = (agent.address("control"), agent.address("stamp"));
    let (control, stamp) = (control.as_str(), stamp.as_str());
    let mut take = |schema: &'static str, status: i32, arguments: &[&str]| {
        let printed = lines(folder.path(), status, arguments);
        assert!(!printed.is_empty(), "{arguments:?} printed nothing");
        let what = format!("weir {}", arguments.join(" "));
        documents.extend(printed.into_iter().map(|line| (schema, what.clone(), line)));
    };
    let quick = ["--json", "--quiet", "--for", "500ms"];

    let rtt = [
        ["rtt", control, "--interval", "50ms", "--window", "1..4"].as_slice(),
        &quick,
    ]
    .concat();
    take("rtt", 0, &rtt);
    // A threshold that no path can meet: the result is printed all the same.
    take("rtt", 1, &[rtt.as_slice(), &["--fail-if", "max >= 0ns"]].concat());
    let to_stamp = [
        "rtt",
        stamp,
        "--stamp",
        "--interval",
        "50ms",
        "--length",
        "44",
        "--cloud",
        "gcp",
    ];
    take("rtt", 0, &[to_stamp.as_slice(), &quick].concat());

    let flows = [
        ["flows", control, "--length", "1400", "--flows", "4"].as_slice(),
        &quick,
    ]
    .concat();
    // Bursts of several packets leave flow by flow, so a depth of one packet makes late packets, and with them loss.
    for (status, extra) in [
        (0, ["--rate", "20Mbit/s"].as_slice()),
        (0, &["--rate", "20Mbit/s", "--both", "--reorder-depth", "1"]),
        (0, &["--rate", "max", "--reverse"]),
        (
            0,
            &[
                "--rate",
                "20Mbit/s",
                "--max-bytes",
                "500kB",
                "--cloud",
                "aws:us-east-1",
            ],
        ),
    ] {
        take("flows", status, &[flows.as_slice(), extra].concat());
    }

    let survey = ["survey", control, "--json", "--quiet", "--rate", "20Mbit/s"];
    let small = ["--step", "200ms", "--max-flows", "2", "--max-bytes", "100MB"];
    take("survey", 0, &[survey.as_slice(), &small].concat());

    for (schema, printed) in print_stream(folder.path()) {
        documents.push((schema, format!("weir {schema}"), printed));
    }

    // A run that fails has no summary, and the command prints no result: this is more than the agent allows.
    let too_fast = ["flows", control, "--json", "--quiet", "--rate", "1Gbit/s"];
    assert_eq!(lines(folder.path(), 2, &too_fast), Vec::<Value>::new());

    documents.extend(labs::printed(folder.path()));
    let mut take = |schema: &'static str, status: i32, arguments: &[&str]| {
        let printed = lines(folder.path(), status, arguments);
        assert!(!printed.is_empty(), "{arguments:?} printed nothing");
        let what = format!("weir {}", arguments.join(" "));
        documents.extend(printed.into_iter().map(|line| (schema, what.clone(), line)));
    };

    let origin = Serving::start(folder.path());
    for options in [["--play", "loop"], ["--play", "real-time"]] {
        let (url, metrics) = (origin.url("film/list.mpd"), origin.url("metrics"));
        let load = ["load", &url, "--watch-host", "--scrape", &metrics];
        take(
            "load",
            0,
            &[
                load.as_slice(),
                &options,
                &["--json", "--quiet", "--for", "1500ms"],
            ]
            .concat(),
        );
    }
    let url = origin.url("film/list.mpd");
    let search = [
        "load",
        "find-capacity",
        &url,
        "--hold",
        "p99 < 20s",
        "--most",
        "2",
    ];
    let short = ["--settle", "0s", "--step", "500ms", "--json", "--quiet"];
    take("load-find-capacity", 0, &[search.as_slice(), &short].concat());
    drop(origin);
    // In a store of its own: its runs are not among those that are listed below.
    let file = folder.path().join("small.toml");
    std::fs::write(&file, SMALL_EXPERIMENT).expect("a file");
    let file = file.to_str().expect("a path");
    let small = [
        "load",
        "experiment",
        file,
        "--json",
        "--quiet",
        "--db",
        "experiment.db",
    ];
    take("load-experiment", 0, &small);
    take(
        "load-experiment-plan",
        0,
        &[small.as_slice(), &["--plan"]].concat(),
    );
    take(
        "load",
        0,
        &["runs", "merge", "2", "3", "--json", "--db", "experiment.db"],
    );
    let list = ["runs", "list", "--json", "--all", "--parts"];
    take("runs-list", 0, &list);
    for run in lines(folder.path(), 0, &list) {
        let id = run["run_id"].to_string();
        take("runs-show", 0, &["runs", "show", &id, "--json"]);
        take("runs-export", 0, &["runs", "export", &id, "--as", "jsonl"]);
        take("report-data", 0, &["runs", "export", &id, "--as", "json"]);
        let diagnosed = !["lab", "send", "recv", "load", "find-capacity", "pacing"]
            .iter()
            .any(|kind| run["kind"] == *kind);
        if run["outcome"] == "finished" && diagnosed {
            take("diagnose", 0, &["diagnose", &id, "--json"]);
        }
    }
    take(
        "runs-note",
        0,
        &["runs", "note", "last", "seen <b>twice</b>", "--json"],
    );
    take("runs-tag", 0, &["runs", "tag", "last", "loopback", "--json"]);
    take("report", 0, &["report", "1", "last", "--json"]);
    take("runs-delete", 0, &["runs", "delete", "1", "last", "--json"]);
    documents.extend(print_meshes());
    documents.push(print_page(folder.path()));
    documents.push(print_origin(folder.path()));
    documents.push(print_demo(folder.path()));
    documents.extend(print_indexes(folder.path()));
    documents
}

/// A stream over loopback: what the sender and the receiver say at the end.
fn print_stream(folder: &Path) -> [(&'static str, Value); 2] {
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .expect("a free port")
        .port();
    let (port, from) = (port.to_string(), format!("127.0.0.1:{port}"));
    let pattern = ["--test-pattern", "160x120@50:yuv422p10le", "--frames", "60"];
    let sender = weir(folder)
        .args(["send", "--json", "-q", "--port", &port, "--media-port", "0"])
        .args(pattern)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a sender");
    let latency = ["--latency", "200ms", "--verify", "--on-event", "true"];
    let arguments = [&["recv", "--json", "-q", "--from", &from][..], &latency].concat();
    let received = lines(folder, 0, &arguments).pop().expect("a result");
    let said = sender.wait_with_output().expect("the sender ends");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let sent = serde_json::from_slice(&said.stdout).expect("a result");
    [("send", sent), ("recv", received)]
}

/// Places, a plan, and what tests say that were taken in from another tool, all in a folder of its own.
fn print_meshes() -> Vec<Document> {
    let folder = TempDir::new().expect("a folder");
    let mut documents = Vec::new();
    let mut take = |schema: &'static str, arguments: &[&str]| {
        let what = format!("weir {}", arguments.join(" "));
        let printed = lines(folder.path(), 0, arguments);
        documents.extend(printed.into_iter().map(|line| (schema, what.clone(), line)));
    };
    take("mesh-regions", &["mesh", "regions", "--cloud", "gcp", "--json"]);
    take(
        "mesh-regions",
        &["mesh", "regions", "--near", "52.37,4.90", "--json"],
    );
    take(
        "mesh-plan",
        &[
            "mesh",
            "plan",
            "--cloud",
            "aws,gcp",
            "--max-regions",
            "3",
            "--json",
        ],
    );
    let mut results =
        "timestamp,run_id,from_cloud,from_region,to_cloud,to_region,bitrate_Bps,avgrtt,gcp_vm,aws_vm\n"
            .to_owned();
    let pairs = [
        ("AWS,eu-west-1,AWS,us-east-1", 70.0),
        ("AWS,us-east-1,GCP,us-central1", 30.0),
        ("GCP,us-central1,AWS,eu-west-1", 95.0),
        ("AWS,eu-west-1,GCP,asia-east1", 250.0),
        ("GCP,asia-east1,AWS,us-east-1", 2.0),
    ];
    for (pair, rtt) in pairs {
        let bytes = (8_000.0 / rtt) as u64 * 131_072;
        results.push_str(&format!("2022-02-14T08:56:37Z,a,{pair},{bytes},{rtt},,t3.nano\n"));
    }
    std::fs::write(folder.path().join("results.csv"), results).expect("a file");
    take(
        "mesh-import",
        &["mesh", "import", "results.csv", "--json", "--quiet"],
    );
    take("mesh-report", &["mesh", "report", "--json"]);
    take(
        "mesh-report",
        &[
            "mesh",
            "report",
            "--json",
            "--peers",
            "aws:us-east-1",
            "--minimise",
            "egress",
        ],
    );
    take(
        "mesh-report",
        &["mesh", "report", "--json", "--html", "mesh.html"],
    );
    let data = ["runs", "export", "last", "--as", "json"];
    take("report-data", &data);
    documents
}

/// What the local page says when it is there.
fn print_page(folder: &Path) -> Document {
    let said = first_line(folder, &["ui", "--json", "--no-open", "--listen", "127.0.0.1:0"]);
    ("ui", "weir ui".to_owned(), said)
}

/// What the origin says when it is there.
fn print_origin(folder: &Path) -> Document {
    let said = first_line(folder, &["origin", ".", "--json", "--listen", "127.0.0.1:0"]);
    ("origin", "weir origin".to_owned(), said)
}

/// What the demo says when it can be played.
fn print_demo(folder: &Path) -> Document {
    let demo = [
        "origin",
        "demo",
        "--json",
        "-q",
        "--folder",
        "made",
        "--duration",
        "10s",
    ];
    let said = first_line(folder, &[&demo[..], &["--listen", "127.0.0.1:0"]].concat());
    ("origin-demo", "weir origin demo".to_owned(), said)
}

/// Output for a film, for one that has an index, and for a file that is not a film.
fn print_indexes(folder: &Path) -> Vec<Document> {
    std::fs::create_dir(folder.join("films")).expect("a folder");
    let made = Command::new("ffmpeg")
        .args([
            "-nostdin",
            "-loglevel",
            "error",
            "-f",
            "lavfi",
            "-i",
            "testsrc=duration=1",
        ])
        .args(["-pix_fmt", "yuv420p"])
        .arg(folder.join("films/film.mp4"))
        .status()
        .expect("ffmpeg is needed for this test: apt-get install ffmpeg");
    assert!(made.success());
    let mut documents = Vec::new();
    let mut take = |schema: &'static str, status: i32, arguments: &[&str]| {
        let printed = lines(folder, status, arguments);
        assert!(!printed.is_empty(), "{arguments:?} printed nothing");
        let what = format!("weir {}", arguments.join(" "));
        documents.extend(printed.into_iter().map(|line| (schema, what.clone(), line)));
    };
    take("origin-index", 0, &["origin", "index", "films", "--json"]);
    std::fs::write(folder.join("films/broken.mp4"), "no film").expect("a file");
    take("origin-index", 3, &["origin", "index", "films", "--json"]);
    take("origin-dref", 0, &["origin", "dref", "films/film.mp4", "--json"]);
    documents
}

/// An origin with a manifest and one segment of it; the other is missing.
struct Serving {
    origin: Child,
    url: String,
}

impl Serving {
    fn start(folder: &Path) -> Serving {
        let film = folder.join("film");
        std::fs::create_dir_all(&film).expect("a folder");
        let manifest = "<MPD mediaPresentationDuration=\"PT4S\"><Period><AdaptationSet mimeType=\"video/mp4\">\
            <SegmentTemplate duration=\"2\" media=\"$Number$.m4s\"/><Representation id=\"1\" bandwidth=\"8000\"/>\
            </AdaptationSet></Period></MPD>";
        std::fs::write(film.join("list.mpd"), manifest).expect("a manifest");
        std::fs::write(film.join("1.m4s"), [0; 2000]).expect("a segment");
        let mut origin = weir(folder)
            .args(["origin", ".", "--files", "--json", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it is served");
        let mut line = String::new();
        let said = origin.stdout.take().map(BufReader::new);
        said.expect("its output").read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).expect("where it is");
        let url = said["url"].as_str().expect("an address").to_owned();
        Serving { origin, url }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.origin.kill();
        let _ = self.origin.wait();
    }
}

/// The first line of a command that would go on; then it is ended.
fn first_line(folder: &Path, arguments: &[&str]) -> Value {
    let mut command = weir(folder)
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it is served");
    let mut line = String::new();
    let said = command.stdout.take().map(BufReader::new);
    said.expect("its output").read_line(&mut line).expect("a line");
    // It may have ended by itself; then the line says too little.
    let _ = command.kill();
    let _ = command.wait();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("weir {arguments:?}: {error}: {line}"))
}
