//! Runs every command at rates that load nothing, and keeps what it printed. Knows no schema.

use serde_json::Value;

use weir_rig::carry::{FORMAT, LOCAL, finish, recv, send};
use weir_rig::film::ffmpeg;
use weir_rig::{Agent, Host, LIMIT, Running, origin, ran, started};

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

/// Of two segments, the second is missing.
const MANIFEST: &str = "<MPD mediaPresentationDuration=\"PT4S\"><Period><AdaptationSet mimeType=\"video/mp4\">\
    <SegmentTemplate duration=\"2\" media=\"$Number$.m4s\"/><Representation id=\"1\" bandwidth=\"8000\"/>\
    </AdaptationSet></Period></MPD>";

/// A server that nobody knows, and viewers of it.
const FUNCTION: &str = r#"
id = "plain"
description = "Python"
outputs = ["out"]
content = "title"
command = ["python3", "-m", "http.server", "{port}", "--directory", "{content}"]
[parameters.folder]
description = "Folder"
[parameters.manifest]
description = "Manifest"
"#;
const WORKFLOW: &str = r#"
name = "plain"
description = "Python and a viewer"
[[task]]
name = "server"
function = "plain"
parameters = { folder = "media/film", manifest = "list.mpd" }
[[task]]
name = "viewers"
function = "weir-sink"
parameters = { viewers = 1, for = "1500ms" }
[[connection]]
from = "server"
to = "viewers"
"#;

/// Tests of another tool.
const RESULTS: &str = "\
timestamp,run_id,from_cloud,from_region,to_cloud,to_region,bitrate_Bps,avgrtt,gcp_vm,aws_vm
2022-02-14T08:56:37Z,a,AWS,eu-west-1,AWS,us-east-1,14942208,70,,t3.nano
2022-02-14T08:56:37Z,a,AWS,us-east-1,GCP,us-central1,34865152,30,,t3.nano
2022-02-14T08:56:37Z,a,GCP,us-central1,AWS,eu-west-1,11010048,95,,t3.nano
2022-02-14T08:56:37Z,a,AWS,eu-west-1,GCP,asia-east1,4194304,250,,t3.nano
2022-02-14T08:56:37Z,a,GCP,asia-east1,AWS,us-east-1,524288000,2,,t3.nano
";

/// Schema, exit status, arguments; capitals are addresses. `--json` is added. Bursts of several packets leave flow by flow, so
/// a depth of one packet makes late packets, and with them loss. A threshold that no path can meet prints the result all the
/// same; a run that fails, for it is more than the agent allows, prints none.
const MEASURED: &str = "
rtt 0 rtt CONTROL --interval 50ms --window 1..4 --for 500ms
rtt 1 rtt CONTROL --interval 50ms --window 1..4 --for 500ms --fail-if max>=0ns
rtt 0 rtt STAMP --stamp --interval 50ms --length 44 --cloud gcp --for 500ms
flows 0 flows CONTROL --length 1400 --flows 4 --for 500ms --rate 20Mbit/s
flows 0 flows CONTROL --length 1400 --flows 4 --for 500ms --rate 20Mbit/s --both --reorder-depth 1
flows 0 flows CONTROL --length 1400 --flows 4 --for 500ms --rate max --reverse
flows 0 flows CONTROL --length 1400 --flows 4 --for 500ms --rate 20Mbit/s --max-bytes 500kB --cloud aws:us-east-1
none 2 flows CONTROL --rate 1Gbit/s
survey 0 survey CONTROL --rate 20Mbit/s --step 200ms --max-flows 2 --max-bytes 100MB
tcp 0 tcp CONTROL --window 64KiB..128KiB --for 1s --omit 0s --max-bytes 50MB
tcp 0 tcp CONTROL --fill --for 200ms --omit 0s --max-bytes 20MB --reverse --cloud aws
tcp 0 lab simulate full.toml -- tcp --window 64KiB --fill --for 2s --omit 1s
rtt 0 lab simulate lte -- rtt --interval 50ms --for 500ms
flows 0 lab simulate full.toml -- weir flows --length 1400 --rate 20Mbit/s --both --for 500ms
survey 0 lab simulate full.toml --start 1767225600 -- survey --rate 20Mbit/s --step 200ms --max-flows 2
lab-calibrate 0 lab calibrate
lab-run 0 lab run --json -q --max-lateness 10s full.toml -- weir rtt far -q --json --for 1100ms --db weir.db
lab-run 3 lab run --json -q --max-lateness 1ns -- weir rtt far -q --json --for 200ms --db weir.db
lab-link-show 0 lab link up full.toml
lab-link-show 0 lab link up lte --name other
lab-clean 0 lab clean --all
lab-pacing 0 lab pacing short.toml --max-lateness 10s
lab-neighbour 0 lab neighbour voip NEIGHBOUR --for 300ms
lab-neighbour 0 lab neighbour udp --rate 1Mbit/s NEIGHBOUR --for 300ms
lab-neighbour 0 lab neighbour game --rate 1Mbit/s NEIGHBOUR --for 300ms
lab-neighbour 0 lab neighbour bulk --streams 2 NEIGHBOUR --for 300ms
lab-neighbour 0 lab neighbour http --bytes 10kB --pause 20ms NEIGHBOUR --for 300ms
lab-profiles 0 lab profiles
lab-profiles-show 0 lab profiles --show lte
lab-pacing-list 0 lab pacing --list
lab-pacing-show 0 lab pacing --show sammy-lab
lab-population 0 lab population homes.toml --shard 1/2
lab-grid 0 lab grid homes.toml --households 2 --queues tail-drop,codel --congestion cubic --paces none,top:2
lab-tune 0 lab tune homes.toml --households 4 --paces top:1.5,top:2 --bursts auto
lab-population-list 0 lab population --list
lab-population-show 0 lab population --show homes
lab-traps 0 lab traps
lab-traps-list 0 lab traps --list
lab-traps-show 0 lab traps --show naive-start
load 0 load ORIGINfilm/list.mpd --watch-host --scrape ORIGINmetrics --play loop --for 1500ms
load 0 load ORIGINfilm/list.mpd --watch-host --scrape ORIGINmetrics --play real-time --for 1500ms
testbed 0 testbed run plain.toml --function function.toml
testbed-functions 0 testbed functions
testbed-audience 0 testbed audience --out 2.6Gbit/s --titles 1000 --cached 100 --viewers 3300000
load-find-capacity 0 load find-capacity ORIGINfilm/list.mpd --hold p99<20s --most 2 --settle 0s --step 500ms
origin-index 3 origin index films
mesh-regions 0 mesh regions --cloud gcp
mesh-regions 0 mesh regions --near 52.37,4.90
mesh-plan 0 mesh plan --cloud aws,gcp --max-regions 3 --db mesh.db
mesh-plan 0 mesh plan --preset placement --db mesh.db
mesh-import 0 mesh import results.csv --db mesh.db
mesh-report 0 mesh report --db mesh.db
mesh-report 0 mesh report --peers aws:us-east-1 --minimise egress --db mesh.db
mesh-window 0 mesh window --rtt 80ms --window 64KiB
mesh-window 0 mesh window --rtt 80ms --window 64KiB --rate 1Gbit/s
mesh-report 0 mesh report --html mesh.html --db mesh.db
report-data 0 runs export last --as json --db mesh.db
";

/// For each run that is stored.
const STORED: &str = "
runs-show 0 runs show RUN
runs-export 0 runs export RUN --as jsonl
report-data 0 runs export RUN --as json
";

const AT_THE_END: &str = "
runs-note 0 runs note last seen
runs-tag 0 runs tag last loopback
report 0 report 1 last
runs-delete 0 runs delete 1 last
";

/// One line of output: its schema, the command, and what it said.
pub type Document = (String, String, Value);

/// Runs the commands, each a line, with these names in place of the capitals.
fn print(commands: &str, names: &[(&str, &str)], documents: &mut Vec<Document>) {
    for line in commands.lines().filter(|line| !line.is_empty()) {
        let named = names
            .iter()
            .fold(line.to_owned(), |line, (name, value)| line.replace(name, value));
        let mut words = named.splitn(3, ' ');
        let [schema, status, order] = [(); 3].map(|()| words.next().expect("three parts"));
        let told = order.contains("--json") || order.contains(" --as ");
        let json = if told { "" } else { " --json" };
        let done = ran(status.parse().expect("a status"), &format!("{order}{json}"));
        let mut printed = done.json_lines();
        assert_eq!(printed.is_empty(), schema == "none", "{order}");
        if schema == "lab-run" {
            // What its command printed comes before.
            printed.drain(..printed.len() - 1);
        }
        documents.extend(
            printed
                .into_iter()
                .map(|json| (schema.to_owned(), order.to_owned(), json)),
        );
    }
}

/// A command that goes on, and its first line.
#[track_caller]
fn serving(schema: &str, order: &str, documents: &mut Vec<Document>) -> (Running, Value) {
    let mut process = started(&format!("{order} --json -q"));
    let line = process.first_line(LIMIT);
    let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{order}: {error}: {line}"));
    documents.push((schema.to_owned(), order.to_owned(), said.clone()));
    (process, said)
}

fn write_files() {
    for folder in ["media/film", "films"] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    for (file, text) in [
        ("full.toml", FULL_LINK),
        ("short.toml", SHORT_SCENARIO),
        ("function.toml", FUNCTION),
        ("plain.toml", WORKFLOW),
        ("homes.toml", include_str!("../homes.toml")),
        ("results.csv", RESULTS),
        ("media/film/list.mpd", MANIFEST),
        ("media/film/1.m4s", &"x".repeat(2000)),
        ("films/broken.mp4", "no film"),
    ] {
        std::fs::write(file, text).expect(file);
    }
    ffmpeg("-f lavfi -i testsrc=duration=1 -pix_fmt yuv420p films/film.mp4");
    ran(0, "origin index films film.mp4");
    ffmpeg("-f lavfi -i testsrc=duration=2 -pix_fmt yuv420p films/other.mp4");
}

/// What all commands print.
pub fn printed() -> Vec<Document> {
    let mut documents = Vec::new();
    write_files();
    let limits = "--max-rate 200Mbit/s --max-length 1472 --stamp-port 8620";
    let agent = Agent::start(Host::Near, limits);
    documents.push(("agent".to_owned(), "agent".to_owned(), agent.announced.clone()));
    let serve = "lab neighbour serve --listen 127.0.0.1:0";
    let (_neighbour, said) = serving("lab-neighbour-serve", serve, &mut documents);
    let (_origin, url) = origin::start("media --files");
    let names = [
        ("CONTROL", &*agent.local()),
        ("STAMP", "127.0.0.1:8620"),
        ("NEIGHBOUR", said["address"].as_str().expect("an address")),
        ("ORIGIN", &url),
    ];
    let sender = send(&format!("--test-pattern {FORMAT} --frames 60 -q --db weir.db"));
    let carried = finish(
        sender,
        recv(&format!("{LOCAL} --verify --on-event true -q --db weir.db")),
    );
    for (name, printed) in [("send", carried.sent), ("recv", carried.received)] {
        documents.push((name.to_owned(), name.to_owned(), printed));
    }
    print(MEASURED, &names, &mut documents);
    print("runs-list 0 runs list --all --parts", &[], &mut documents);
    let runs: Vec<Value> = documents
        .iter()
        .filter(|(schema, ..)| schema == "runs-list")
        .map(|(.., run)| run.clone())
        .collect();
    for run in runs {
        let id = [("RUN", &*run["run_id"].to_string())];
        print(STORED, &id, &mut documents);
        let diagnosed = ["rtt", "flows", "survey", "mtu", "tcp"]
            .iter()
            .any(|kind| run["kind"] == *kind);
        if run["outcome"] == "finished" && diagnosed {
            print("diagnose 0 diagnose RUN", &id, &mut documents);
        }
        if run["outcome"] == "finished" && run["kind"] == "flows" {
            print(
                "twin 0 twin RUN --check\ntwin 0 twin RUN -o RUN.toml",
                &id,
                &mut documents,
            );
        }
    }
    print(AT_THE_END, &[], &mut documents);
    serving("ui", "ui --no-open --listen 127.0.0.1:0", &mut documents);
    serving("origin", "origin . --listen 127.0.0.1:0", &mut documents);
    documents
}
