//! A watcher over namespaces: what it stores is what the kernel counts; agents are killed and come back, the watcher is killed
//! and goes on, and the file is read again.

use serde_json::Value;
use weir_rig::{
    Agent, Database, FAR_IPV4, Host, LIMIT, Running, isolated, join_by_veth, nft, nft_counter, ran, started,
    wait_until,
};

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

    // A file with a fault changes nothing; a new one adds a path.
    std::fs::write("watch.toml", "here = 7").expect("the file");
    watcher.signal("HUP");
    wait_for(
        &watcher,
        "configuration",
        "happened",
        "is refused, and the one before stays",
    );
    wait_for_cells("fra", 2);
    write(&[("ams", &to_ams), ("other", &to_fra)], "");
    watcher.signal("HUP");
    wait_for(&watcher, "configuration", "happened", "was read again: 2 pairs");
    wait_for_cells("other", 2);
    watcher.signal("TERM");
    watcher.wait(LIMIT).expect_code(0);
    drop(ams);
    let runs = ran(0, "runs list --json --db watch.db").json_lines();
    assert!(runs.iter().all(|run| run["kind"] == "watch"), "{runs:?}");
    let outcomes: Vec<&str> = runs.iter().filter_map(|run| run["outcome"].as_str()).collect();
    assert_eq!(
        outcomes.iter().filter(|outcome| **outcome == "finished").count(),
        2,
        "{outcomes:?}"
    );
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
    let flows = "[flows]\nevery = \"10s\"\nduration = \"1s\"\nflows = 8\n";
    write(&[("ams", &agent.at(FAR_IPV4))], flows);
    let planned = ran(0, "watch watch.toml --plan --json").json();
    documented("watch-plan", &planned);
    let watcher = watch("");
    let test = wait_for(&watcher, "test", "happened", "the flow test has ended");
    wait_for(&watcher, "flow_dark", "raised", "destination port 500");
    // On a busy machine a test may not end within its time, and is cut.
    let whole = "runs WHERE kind = 'flows' AND outcome = 'finished' AND parent_run_id = 1";
    wait_until("a whole flow test", LIMIT, || {
        (Database::try_count("watch.db", whole) > Some(0)).then_some(())
    });
    watcher.signal("INT");
    watcher.wait(LIMIT).expect_code(0);
    let kind = format!("SELECT kind FROM runs WHERE run_id = {}", test["run_id"]);
    assert_eq!(Database::open("watch.db").one::<String>(&kind), "flows");
}
