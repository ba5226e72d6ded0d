//! A watcher over namespaces: what it stores is what the kernel counts; agents are killed and come back, the watcher is killed
//! and goes on, and the file is read again.

use std::io::Write;
use std::process::Command;

use serde_json::Value;
use weir_rig::{
    Agent, Database, FAR_IPV4, Host, LIMIT, Running, isolated, join_by_veth, nft, nft_counter, ran, run,
    started, wait_until, weir_line,
};

use crate::carry::alarms::webhook;
use crate::documented;

const CELLS: &str = "watch_cells WHERE span_s = 1";
const RTT: &str = "[rtt]\ninterval = \"200ms\"\nwindow = 2\n";

/// A file of these far hosts, each with its address.
fn write(hosts: &[(&str, &str)], more: &str) {
    let host =
        |(name, address): &(&str, &str)| format!("[[host]]\nname = \"{name}\"\naddress = \"{address}\"\n");
    let far: String = hosts.iter().map(host).collect();
    let text = format!("here = \"near\"\n[[host]]\nname = \"near\"\n{far}{RTT}{more}");
    std::fs::write("watch.toml", text).expect("the file");
}

fn watch(more: &str) -> Running {
    started(&format!("watch watch.toml --json -q --db watch.db {more}"))
}

/// Events so far; each is as documented.
fn events(watcher: &Running) -> Vec<Value> {
    let text = watcher.stdout();
    // The last line may be incomplete.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[track_caller]
fn wait_for(watcher: &Running, event: &str, state: &str, detail: &str) -> Value {
    let found = wait_until(&format!("{event} {state}"), LIMIT, || {
        let is_it = |said: &Value| {
            let words = said["detail"].as_str().unwrap_or_default().contains(detail);
            said["event"] == event && said["state"] == state && words
        };
        events(watcher).into_iter().find(is_it)
    });
    documented("watch", &found);
    found
}

/// Waits for further seconds of a path.
#[track_caller]
fn wait_for_cells(far: &str, more: i64) {
    let of_path = format!("{CELLS} AND path_id = (SELECT path_id FROM watch_paths WHERE far = '{far}')");
    let count = || Database::try_count("watch.db", &of_path).unwrap_or(0);
    let before = count();
    wait_until(&format!("{more} seconds to {far}"), LIMIT, || {
        (count() >= before + more).then_some(())
    });
}

#[test]
fn a_watcher_stores_what_the_kernel_counts_and_outlives_agents_kills_and_new_files() {
    isolated!();
    join_by_veth(1500);
    let ams = Agent::start(Host::Far, "--open --udp-ports 5000..5049");
    let fra = Agent::start(Host::Far, "--open --udp-ports 5100..5149");
    let (to_ams, to_fra) = (ams.at(FAR_IPV4), fra.at(FAR_IPV4));
    nft(
        Host::Far,
        "add table ip lab; add counter ip lab ams; add chain ip lab in { type filter hook input priority 0; }; \
         add rule ip lab in udp dport 5000-5049 counter name ams",
    );
    write(&[("ams", &to_ams), ("fra", &to_fra)], "");
    let watcher = watch("");
    wait_for_cells("ams", 5);
    wait_for_cells("fra", 1);
    watcher.signal("INT");
    watcher.wait(LIMIT).expect_code(0);
    let sent =
        "SELECT sum(sent) FROM watch_cells JOIN watch_paths USING (path_id) WHERE span_s = 1 AND far = 'ams'";
    let stored = Database::open("watch.db").one::<i64>(sent);
    assert_eq!(stored as u64, nft_counter(Host::Far, "ip lab", "ams"));
    assert_eq!(
        Database::open("watch.db").one::<i64>(&sent.replace("sum(sent)", "sum(lost)")),
        0
    );

    // An agent goes and comes back; the other path goes on.
    let to_file = "--on-event cat>>events.ndjson;echo>>events.ndjson";
    let watcher = watch(to_file);
    wait_for_cells("ams", 2);
    let port = ams.port;
    ams.process.signal("KILL");
    ams.process.wait(LIMIT);
    let raised = wait_for(&watcher, "unreachable", "raised", "near to ams");
    assert!(
        raised["detail"]
            .as_str()
            .expect("words")
            .contains(&port.to_string()),
        "{raised}"
    );
    wait_for_cells("fra", 2);
    let ams = Agent::start_on_port(Host::Far, port, "--open --udp-ports 5000..5049");
    wait_for(&watcher, "unreachable", "cleared", "near to ams");
    wait_for_cells("ams", 2);

    // The watcher is killed: all that was stored is there, and another one goes on.
    let rows = "SELECT path_id || ' ' || start_s || ' ' || sent || ' ' || hex(rtt) FROM watch_cells
                WHERE span_s = 1 ORDER BY path_id, start_s";
    watcher.signal("KILL");
    watcher.wait(LIMIT);
    let before = Database::open("watch.db").all::<String>(rows);
    let watcher = watch(to_file);
    wait_for_cells("ams", 2);
    let after = Database::open("watch.db").all::<String>(rows);
    assert!(before.iter().all(|row| after.contains(row)));
    let file = std::fs::read_to_string("events.ndjson").expect("the command's file");
    assert!(
        file.lines()
            .any(|line| line.contains("unreachable") && line.contains("cleared")),
        "{file}"
    );

    takes_new_files(&watcher, &to_ams, &to_fra);
    watcher.signal("TERM");
    watcher.wait(LIMIT).expect_code(0);
    drop(ams);
    check_runs();
}

/// A file with a fault changes nothing; a new one adds a path.
fn takes_new_files(watcher: &Running, to_ams: &str, to_fra: &str) {
    std::fs::write("watch.toml", "here = 7").expect("the file");
    watcher.signal("HUP");
    wait_for(
        watcher,
        "configuration",
        "happened",
        "is refused, and the one before stays",
    );
    wait_for_cells("fra", 2);
    write(&[("ams", to_ams), ("other", to_fra)], "");
    watcher.signal("HUP");
    wait_for(watcher, "configuration", "happened", "was read again: 2 pairs");
    wait_for_cells("other", 2);
}

/// Two runs ended by themselves, one was killed.
fn check_runs() {
    let runs = ran(0, "runs list --json --db watch.db").json_lines();
    assert!(runs.iter().all(|run| run["kind"] == "watch"), "{runs:?}");
    let outcomes: Vec<&str> = runs.iter().filter_map(|run| run["outcome"].as_str()).collect();
    assert_eq!(
        outcomes.iter().filter(|outcome| **outcome == "finished").count(),
        2,
        "{outcomes:?}"
    );
}

/// An export has the metrics of the page, with the names of their hosts.
fn check_export(export: &Value) {
    let metrics = &export["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let all = metrics.as_array().expect("metrics").iter();
    let sent = all
        .clone()
        .find(|metric| metric["name"] == "weir_watch_sent_packets")
        .expect("packets");
    let point = &sent["sum"]["dataPoints"][0];
    let named = |key: &str| {
        let attributes = point["attributes"].as_array().expect("attributes").iter();
        attributes
            .filter(|attribute| attribute["key"] == key)
            .map(|attribute| attribute["value"]["stringValue"].clone())
            .next()
    };
    assert_eq!(
        (named("from"), named("to")),
        (Some("near".into()), Some("ams".into()))
    );
    assert!(
        point["asInt"]
            .as_str()
            .is_some_and(|count| count.parse::<u64>().is_ok()),
        "{point}"
    );
    assert!(
        all.clone().any(|metric| metric["histogram"].is_object()),
        "{metrics}"
    );
}

/// The history of the path, also in a store to which this one was added.
fn check_past() {
    let history = ran(0, "watch history --since 1h --db watch.db --json").json();
    documented("watch-history", &history);
    let rates = ran(0, "watch history --rates --since 1h --db watch.db --json").json();
    documented("watch-rates", &rates);
    assert!(
        rates["faults"].as_array().expect("faults").iter().any(|fault| {
            (&fault["event"], &fault["name"]) == (&"flow_dark".into(), &"ams and near".into())
        })
    );
    ran(0, "watch history --since 1h --db watch.db").stdout_has("near to ams: a flow went dark ");
    let merged = ran(0, "--db all.db runs merge watch.db:last watch.db:last --json").json();
    documented("runs-merge", &merged);
    let cells = |file: &str| Database::try_count(file, "watch_cells");
    assert_eq!(cells("all.db"), cells("watch.db"));
    let same = ran(0, "--db all.db watch history --since 1h --json").json();
    assert_eq!(same["pairs"][0]["sent"], history["pairs"][0]["sent"]);
    ran(3, "--db all.db runs merge watch.db:last watch.db:last").stderr_has("is in all.db already");
}

/// The archive has the 5-tuples of the dark flows, by the addresses of the namespaces.
fn check_evidence() {
    let printed = ran(
        0,
        "evidence --pair near..ams --since 1h --db watch.db -o e.tar.gz --json",
    )
    .json();
    documented("evidence", &printed);
    run("tar", &["xzf", "e.tar.gz"]);
    run(
        "sh",
        &[
            "-c",
            "cd evidence-near-ams && sha256sum --check --quiet SHA256SUMS",
        ],
    );
    let page = std::fs::read_to_string("evidence-near-ams/index.html").expect("the page");
    let dark = format!("</td><td>{FAR_IPV4}:5002</td><td>0 of ");
    assert!(
        page.contains(&dark) && page.contains("a flow went dark "),
        "{page}"
    );
    let refused = ran(2, "evidence --pair near..par --since 1h --db watch.db");
    refused.stderr_has("no watcher has measured from 'near' to 'par'; measured are near..ams");
}

/// Prometheus and Alertmanager with the files of `deploy/`, which scrape and evaluate more often here.
fn start_prometheus() -> (Running, Running) {
    let deploy = format!("{}/../../deploy/prometheus", env!("CARGO_MANIFEST_DIR"));
    let changed = |name: &str, changes: &[(&str, &str)]| {
        let mut text = std::fs::read_to_string(format!("{deploy}/{name}")).expect("a file of deploy/");
        for (from, to) in changes {
            assert!(text.contains(from), "no {from} in {name}");
            text = text.replace(from, to);
        }
        std::fs::write(name, text).expect("a file");
    };
    changed("weir.rules.yml", &[("interval: 30s", "interval: 1s")]);
    changed("prometheus.yml", &[("_interval: 15s", "_interval: 1s")]);
    changed("alertmanager.yml", &[]);
    run("promtool", &["check", "rules", "weir.rules.yml"]);
    run("promtool", &["check", "config", "prometheus.yml"]);
    let start = |line: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {line}")]);
        Running::start(command)
    };
    let prometheus = start(
        "prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --web.listen-address=127.0.0.1:9090",
    );
    let alertmanager = start(
        "prometheus-alertmanager --config.file=alertmanager.yml --storage.path=am --cluster.listen-address= \
         --web.listen-address=127.0.0.1:9093",
    );
    wait_until("Prometheus and Alertmanager", LIMIT, || {
        let ready =
            ["9090", "9093"].map(|port| curl(&format!("http://127.0.0.1:{port}/-/ready"), &[]).is_some());
        (ready == [true, true]).then_some(())
    });
    (prometheus, alertmanager)
}

/// What a server answers, unless it fails.
fn curl(url: &str, more: &[&str]) -> Option<String> {
    let output = Command::new("curl")
        .args(["-sf", url])
        .args(more)
        .output()
        .expect("curl");
    output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).expect("text"))
}

/// What a server answers at `PORT/PATH`, or null.
fn asked(place: &str) -> Value {
    let text = curl(&format!("http://127.0.0.1:{place}"), &[]);
    text.map_or(Value::Null, |text| serde_json::from_str(&text).expect("JSON"))
}

/// promtool finds no fault in the metrics in the older format, which has all that the dashboard shows, and Prometheus understands
/// its queries.
fn check_metrics() {
    let page = curl("http://127.0.0.1:9464/metrics", &["-H", "Accept: text/plain"]).expect("metrics");
    std::fs::write("metrics.txt", page).expect("a file");
    run("sh", &["-c", "promtool check metrics < metrics.txt"]);
    let file = format!(
        "{}/../../deploy/grafana/weir-watch.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let board = std::fs::read_to_string(file).expect("the dashboard");
    let page = std::fs::read_to_string("metrics.txt").expect("metrics");
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let names = board.split(|letter| !is_part(letter));
    for name in names.filter(|name| name.starts_with("weir_watch_")) {
        assert!(page.contains(name), "no {name} in {page}");
    }
    let board: Value = serde_json::from_str(&board).expect("JSON");
    let panels = board["panels"].as_array().expect("panels");
    for target in panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("targets"))
    {
        let query = target["expr"].as_str().expect("a query");
        let query = query
            .replace("$from", ".*")
            .replace("$to", ".*")
            .replace("$__rate_interval", "1m");
        let asked = ["--data-urlencode", &format!("query={query}")];
        let answer = curl("http://127.0.0.1:9090/api/v1/query", &asked);
        assert!(answer.is_some_and(|text| text.contains("success")), "{query}");
    }
}

#[test]
fn flow_tests_are_runs_and_dark_flows_are_reported_and_plans_are_printed() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5049");
    // Two of the ports carry nothing.
    nft(
        Host::Far,
        "add table ip lab; add chain ip lab in { type filter hook input priority 0; }; \
         add rule ip lab in udp dport 5002-5003 drop",
    );
    let flows = "[flows]\nevery = \"10s\"\nduration = \"1s\"\nflows = 8\n\
                 [[rule]]\nname = \"dark\"\nmetric = \"dark-flows\"\nabove = \"0/day\"\nfor = \"0s\"\n";
    write(&[("ams", &agent.at(FAR_IPV4))], flows);
    let planned = ran(0, "watch watch.toml --plan --json").json();
    documented("watch-plan", &planned);
    let (prometheus, alertmanager) = start_prometheus();
    let (collector, exports) = webhook();
    let watcher = watch(&format!(
        "--metrics 127.0.0.1:9464 --alertmanager http://127.0.0.1:9093 --otlp http://{collector} --page 127.0.0.1:4780"
    ));
    wait_for_cells("ams", 1);
    ran(3, "watch watch.toml --db watch.db").stderr_has("watch.db is in use by another watcher (process ");
    let test = wait_for(&watcher, "test", "happened", "the flow test has ended");
    wait_for(&watcher, "flow_dark", "raised", "destination port 500");
    // The watcher's own alarms, and that of Prometheus over the metrics.
    for alert in ["flow_dark", "dark", "WeirRule"] {
        wait_until(&format!("the alert {alert}"), LIMIT, || {
            let alerts = asked("9093/api/v2/alerts");
            let all = alerts.as_array()?.iter();
            let labels = all.map(|alert| &alert["labels"]);
            let is_it = |labels: &&Value| labels["alertname"] == alert && labels["to"] == "ams";
            labels
                .filter(|labels| labels["from"] == "near")
                .find(is_it)
                .map(drop)
        });
    }
    check_metrics();
    drop((prometheus, alertmanager));
    check_export(&exports.recv_timeout(LIMIT).expect("an export"));
    // A busy machine stalls the near host, whose seconds do not count then.
    wait_until("the page has a second", LIMIT, || {
        let page = asked("4780/api/v1/watch?from=near&to=ams&over=3600");
        (page["history"]["pairs"][0]["sent"].as_u64() > Some(0)).then_some(())
    });
    assert!(curl("http://127.0.0.1:4780/", &[]).is_some_and(|page| page.contains("</html>")));
    // On a busy machine a test may not end within its time, and is cut.
    let whole = "runs WHERE kind = 'flows' AND outcome = 'finished' AND parent_run_id = 1";
    wait_until("a whole flow test", LIMIT, || {
        (Database::try_count("watch.db", whole) > Some(0)).then_some(())
    });
    watcher.signal("INT");
    watcher.wait(LIMIT).expect_code(0);
    check_evidence();
    check_past();
    let kind = format!("SELECT kind FROM runs WHERE run_id = {}", test["run_id"]);
    assert_eq!(Database::open("watch.db").one::<String>(&kind), "flows");
    let whole = Database::open("watch.db").one::<i64>(&format!("SELECT min(run_id) FROM {whole}"));
    let shown = ran(0, &format!("runs show {whole} --db watch.db --json")).json();
    documented("runs-show", &shown);
    assert_eq!(shown["summary"]["ends"]["remote"], FAR_IPV4);
    assert!(
        shown["summary"]["tested"]["reverse"]["hops"].is_object(),
        "{shown}"
    );
}

#[test]
fn a_full_disk_is_one_alarm_and_what_was_measured_meanwhile_is_kept() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5049");
    write(&[("ams", &agent.at(FAR_IPV4))], "");
    std::fs::create_dir("disk").expect("a folder");
    run("mount", &["-t", "tmpfs", "-o", "size=2m", "tmpfs", "disk"]);
    let watcher = started("watch watch.toml --json -q --db disk/watch.db");
    let seconds = || Database::try_count("disk/watch.db", CELLS).unwrap_or(0);
    let wait_for_seconds = |count: i64| {
        wait_until("seconds", LIMIT, || (seconds() >= count).then_some(()));
    };
    wait_for_seconds(3);
    // The rest of the disk; dd ends when it is full.
    run("sh", &["-c", "dd if=/dev/zero of=disk/rest bs=4k 2>dd.log; true"]);
    wait_for(&watcher, "store", "raised", "disk");
    let stored = seconds();
    run("sleep", &["3"]);
    std::fs::remove_file("disk/rest").expect("the file");
    wait_for(&watcher, "store", "cleared", "the store is written again");
    wait_for_seconds(stored + 4);
    let alarms = events(&watcher)
        .iter()
        .filter(|event| event["event"] == "store")
        .count();
    assert_eq!(alarms, 2, "one alarm and its end");
    watcher.signal("INT");
    watcher.wait(LIMIT).expect_code(0);
    let gap = "SELECT max(gap) FROM (SELECT start_s - lag(start_s) OVER (ORDER BY start_s) AS gap
               FROM watch_cells WHERE span_s = 1)";
    assert_eq!(
        Database::open("disk/watch.db").one::<i64>(gap),
        1,
        "every second is there"
    );
}

/// Sets the clock of the watcher: that of the host, and these seconds more.
fn set_clock(seconds: i64) {
    let offset = (seconds * 1_000_000_000).to_ne_bytes();
    // In place, since the process has it mapped.
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open("clock")
        .expect("a file");
    file.write_all(&offset).expect("eight bytes");
}

/// A watcher with a clock of its own. The process is real and so is the step that it sees; the machine's clock stays as it is.
fn watch_by_its_own_clock() -> Running {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/clock.c");
    run(
        "cc",
        &["-shared", "-fPIC", "-O1", "-o", "clock.so", source, "-ldl"],
    );
    set_clock(0);
    let here = std::env::current_dir().expect("a folder");
    let mut command = weir_line("watch watch.toml --json -q --db watch.db");
    command
        .env("LD_PRELOAD", here.join("clock.so"))
        .env("CLOCK_OFFSET", here.join("clock"));
    Running::start(command)
}

#[test]
fn a_clock_that_is_stepped_loses_no_packet_and_ends_no_alarm() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, "--open --udp-ports 5000..5049");
    nft(
        Host::Far,
        "add table ip lab; add counter ip lab ams; add chain ip lab in { type filter hook input priority 0; }; \
         add rule ip lab in udp dport 5000-5049 counter name ams",
    );
    write(&[("ams", &agent.at(FAR_IPV4))], "");
    let watcher = watch_by_its_own_clock();
    wait_for_cells("ams", 6);
    set_clock(3_600);
    let set = wait_for(
        &watcher,
        "clock",
        "happened",
        "the clock of this host was set ahead by 1 h",
    );
    assert_eq!(set["from"], "near");
    // The far host's clock has not moved.
    wait_for(
        &watcher,
        "clock",
        "raised",
        "the clock of ams is 1 h behind that of near",
    );
    wait_for_cells("ams", 3);
    // Back by more, to seconds that were measured before.
    set_clock(-9);
    wait_for(
        &watcher,
        "clock",
        "happened",
        "the clock of this host was set back by 1 h",
    );
    wait_for(&watcher, "clock", "cleared", "agree to within a minute again");
    wait_for_cells("ams", 3);
    let port = agent.port;
    agent.process.signal("KILL");
    agent.process.wait(LIMIT);
    wait_for(&watcher, "unreachable", "raised", "near to ams");
    let agent = Agent::start_on_port(Host::Far, port, "--open --udp-ports 5000..5049");
    wait_for(&watcher, "unreachable", "cleared", "near to ams");
    wait_for_cells("ams", 2);
    watcher.signal("INT");
    watcher.wait(LIMIT).expect_code(0);
    drop(agent);

    let database = Database::open("watch.db");
    let sum = |what: &str| database.one::<i64>(&format!("SELECT sum({what}) FROM {CELLS}"));
    // All that left; the kernel refuses some to an agent that is gone, and they are lost.
    let refused = sum("sent") - nft_counter(Host::Far, "ip lab", "ams") as i64;
    assert!((0..=sum("lost")).contains(&refused), "{refused}");
    let excluded = "SELECT count(*) FROM watch_excluded WHERE cause = 'clock'";
    assert!(
        (2..=4).contains(&database.one::<i64>(excluded)),
        "two steps, two seconds each at most"
    );
    let disordered = "SELECT count(*) FROM runs WHERE ended_unix_ns < started_unix_ns";
    assert_eq!(database.one::<i64>(disordered), 0);
    let seconds = "SELECT max(start_s) - min(start_s) FROM watch_cells WHERE span_s = 1";
    assert!(
        database.one::<i64>(seconds) > 3_000,
        "some of them are an hour ahead"
    );
}
