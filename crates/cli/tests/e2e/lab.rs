//! `weir lab`: a link does what its options say, as counted independently; it is shown and used as long as it is up; nothing
//! of it is left behind; an invalid result is called so.

use serde_json::{Value, json};

use weir_rig::{
    Database, Finished, LIMIT, Running, count, counts, isolated, lab_run, nothing_is_left, other_processes,
    ran, run, run_within, see_own_processes, wait_until, weir,
};

use crate::documented;

/// Sends numbered datagrams, the last of them until they are answered with the list of those that arrived.
const SENDER: &str = r#"
import os, socket, sys
count, far = int(sys.argv[1]), (os.environ["WEIR_LAB_FAR"], 9999)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.2)
for n in range(count):
    s.sendto(n.to_bytes(4, "big") + bytes(500), far)
while True:
    s.sendto(b"end", far)
    try:
        print(s.recv(65507).decode()); break
    except (TimeoutError, ConnectionRefusedError): pass
"#;
const RECEIVER: &str = r#"
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
s.bind(("0.0.0.0", 9999))
came = set()
while True:
    data, sender = s.recvfrom(65535)
    if data == b"end":
        s.sendto(str(sorted(came)).encode(), sender)
    else:
        came.add(int.from_bytes(data[:4], "big"))
"#;

/// Numbers of the datagrams that arrived across such a link, and its account.
#[track_caller]
fn numbered(options: &str, packets: u64) -> (Vec<u64>, Value) {
    std::fs::write("sender.py", SENDER).expect("a file");
    std::fs::write("receiver.py", RECEIVER).expect("a file");
    let far = ["--no-agent", "--far", "python3 receiver.py", "--set"];
    // The receiver takes a moment to be there; what is sent before it is must not count.
    let script = format!("sleep 1; python3 sender.py {packets}");
    let (came, account) = lab_run(
        &[&far[..], &options.split(' ').collect::<Vec<_>>()].concat(),
        &["sh", "-c", &script],
    );
    documented("lab-run", &account);
    (
        came.as_array().expect("a list").iter().map(count).collect(),
        account,
    )
}

#[test]
fn programs_across_a_link_see_what_its_account_says_and_an_unfit_link_makes_the_result_invalid() {
    isolated!(heavy);
    see_own_processes();
    what_a_link_drops_corrupts_and_copies_is_what_programs_across_it_see();
    an_account_agrees_with_a_measurement();
    nothing_is_left();
    an_unfit_link_makes_the_result_invalid();
}

#[track_caller]
fn what_a_link_drops_corrupts_and_copies_is_what_programs_across_it_see() {
    // Nothing but the test's own packets is on the link: the first of them is the link's first.
    let lost = [0, 1, 7, 100, 101, 102, 399];
    let (came, account) = numbered("forward.loss={packets=[0,1,7,100,101,102,399]}", 400);
    assert!(
        came.into_iter()
            .eq((0..400).filter(|number| !lost.contains(number)))
    );
    let [forward, reverse] = ["forward", "reverse"].map(|way| &account[way]);
    let dropped = [forward, reverse].map(|way| count(&way["dropped"]["loss"]));
    assert_eq!(dropped, [7, 0], "{account}");
    assert_eq!(count(&forward["offered"]), count(&forward["delivered"]) + 7);

    // A packet with a wrong bit fails its checksum at the receiving host; one that comes twice is one.
    let (came, account) = numbered("forward.corrupt=20% --set forward.duplicate=10%", 1000);
    let [corrupted, duplicated] = counts(&account["forward"], ["corrupted", "duplicated"]);
    assert!((150..280).contains(&corrupted), "{account}");
    assert!((60..150).contains(&duplicated), "{account}");
    // Corruption comes before copying, so both copies of a packet are whole or neither is.
    let missing = 1000 - came.len() as u64;
    assert!(
        (corrupted / 2 - 30..=corrupted).contains(&missing),
        "{missing} of {corrupted}"
    );
    assert_eq!(account["forward"]["own_losses"]["not_written"], 0);
}

/// What a direction of the link counted, and what `weir flows` over it found.
#[track_caller]
fn agree(link: &Value, flow: &Value) {
    // A machine that stood still loses more, in a device's queue or before the receiver read, or brings them when they
    // have been given up; all are counted.
    let attribution = &flow["attribution"];
    let by_hosts =
        count(&attribution["host_receiver"]) + count(&attribution["socket"]) + count(&flow["late"]);
    let own = link["own_losses"].as_object().expect("losses of the link itself");
    let own: u64 = own.values().map(count).sum();
    let (lost, beside) = (count(&flow["lost"]), by_hosts + own);
    // One in some hundred packets is an acknowledgement of the control connection, and may be among the lost.
    assert!(
        (37 + beside - beside / 20..=40 + beside).contains(&lost),
        "{lost} lost, {own} of them by the link itself and {by_hosts} by hosts: {flow}"
    );
    // The last of the control connection may still be on the link when it ends.
    let under_way = count(&link["offered"]).checked_sub(count(&link["delivered"]) + 40);
    assert!(
        under_way.is_some_and(|packets| packets <= 3 + own),
        "{under_way:?}"
    );
}

#[track_caller]
fn an_account_agrees_with_a_measurement() {
    // TCP of the control connection is in no queue of its own: the losses lie where the flows are under way.
    let list: Vec<String> = (0..40).map(|index| (1_000 + 37 * index).to_string()).collect();
    let loss = format!("forward.loss={{ packets = [{}] }}", list.join(", "));
    let flows = "weir flows far --json -q --rate 100Mbit/s --length 1200 --for 2s";
    let flows: Vec<&str> = flows.split(' ').collect();
    let (flows, account) = lab_run(&["--rtt", "4ms", "--set", &loss], &flows);
    let link = &account["forward"];
    assert_eq!(link["dropped"]["loss"], 40);
    agree(link, &flows["forward"]);
    // The same run, from the database: its rows add up to the account.
    let database = Database::open("weir.db");
    let id = count(&account["run"]["id"]);
    let sum = |column: &str| -> u64 {
        let from = format!("link_seconds WHERE run_id = {id} AND direction = 'forward'");
        database.one::<i64>(&format!("SELECT sum({column}) FROM {from}")) as u64
    };
    for (column, told) in [
        ("offered", &link["offered"]),
        ("delivered_bytes", &link["delivered_bytes"]),
        ("dropped_loss", &json!(40)),
        ("lateness_count", &link["lateness"]["count"]),
    ] {
        assert_eq!(sum(column), count(told), "{column}");
    }
    let kinds = format!("SELECT kind FROM runs WHERE run_id >= {id} ORDER BY run_id");
    let kinds: Vec<String> = database.all(&kinds);
    assert_eq!(kinds, ["lab", "flows"]);
}

#[track_caller]
fn an_unfit_link_makes_the_result_invalid() {
    let traffic = "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"far\", 9))'; sleep 0.3";
    let strict = |command: &str| -> Finished {
        let line = "lab run --no-agent -q --max-lateness 1ns --db unfit.db -- sh -c";
        let line: Vec<&str> = line.split(' ').chain([command]).collect();
        run_within(LIMIT, weir(&line))
    };
    let done = strict(traffic).expect_code(3);
    for words in ["result is invalid", "--max-lateness"] {
        done.error_has(words);
    }
    // The command's own failure goes before.
    let done = strict(&format!("{traffic}; exit 5")).expect_code(5);
    done.stderr_has("warning: the result is invalid");
    let fit: Vec<String> =
        Database::open("unfit.db").all("SELECT outcome || ' ' || (summary ->> 'fit') FROM runs");
    assert_eq!(fit, ["finished 0", "finished 0"]);
}

/// A run whose command and far command go on for long.
#[track_caller]
fn endless() -> Running {
    // A shell cannot trap what was ignored when it began, as it is in what other shells run in the background.
    let line = "lab run --rtt 2ms --far";
    let rest = "-- env --default-signal=INT sh -c";
    let command = "trap 'echo told; exit 9' INT; echo started; sleep 1000 & wait; wait";
    let words = line
        .split(' ')
        .chain(["sleep 1000"])
        .chain(rest.split(' '))
        .chain([command]);
    let mut running = Running::start(weir(&words.collect::<Vec<_>>()));
    assert_eq!(running.first_line(LIMIT), "started");
    assert!(!other_processes().is_empty());
    running
}

#[test]
fn a_run_ends_with_its_command_a_link_when_it_is_taken_down_and_killed_both_leave_nothing() {
    isolated!();
    see_own_processes();
    a_link_stays_until_it_is_taken_down_or_what_a_kill_left_is_cleaned();
    assert!(!std::path::Path::new("weir.db").exists());
    a_run_ends_with_its_command_by_a_signal_or_killed();
}

#[track_caller]
fn a_run_ends_with_its_command_by_a_signal_or_killed() {
    let quick = |code: i32, script: &str| {
        let line = "lab run --no-agent -q --max-lateness 10s -- sh -c";
        let line: Vec<&str> = line.split(' ').chain([script]).collect();
        run_within(LIMIT, weir(&line)).expect_code(code)
    };
    let script =
        "ls /sys/class/net; getent ahosts far; echo $WEIR_LAB_NEAR $WEIR_LAB_FAR; command -v weir; exit 7";
    let done = quick(7, script);
    for word in [
        "lo\nweir0\n",
        "198.18.0.2",
        "fd00:77::2",
        "198.18.0.1 198.18.0.2\n",
        "/weir\n",
    ] {
        assert!(done.stdout.contains(word), "{word} in:\n{}", done.stdout);
    }
    assert_eq!(done.stderr, "");
    // Outside nothing of it is to be seen.
    assert!(!run("cat", &["/etc/hosts"]).contains("198.18.0.2"));
    quick(128 + 15, "kill -TERM $$");
    nothing_is_left();

    let running = endless();
    running.signal("INT");
    let done = running.wait(LIMIT).expect_code(9);
    assert_eq!(done.stdout, "started\ntold\n");
    done.stderr_has("link link, up for");
    nothing_is_left();

    let running = endless();
    running.signal("KILL");
    assert_eq!(running.wait(LIMIT).code(), -1);
    nothing_is_left();
    assert_eq!(ran(0, "lab clean").stdout, "nothing to remove\n");
}

#[track_caller]
fn namespaces() -> Vec<String> {
    let said = run("ip", &["netns", "list"]);
    let mut names: Vec<String> = said
        .lines()
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// Kills the process that carries the link, and waits for its end.
#[track_caller]
fn kill_carrier(name: &str) {
    let pid = ran(0, &format!("lab link show {name} --json")).json()["pid"].to_string();
    run("kill", &["-KILL", &pid]);
    wait_until("its end", LIMIT, || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    });
}

#[track_caller]
fn a_link_stays_until_it_is_taken_down_or_what_a_kill_left_is_cleaned() {
    let up = ran(0, "lab link up oracle --rtt 10ms --json").json();
    documented("lab-link-show", &up);
    assert_eq!(namespaces(), ["weir-link-far", "weir-link-near"]);
    // A datagram there, by the names that 'ip netns exec' takes and by our own shell.
    let send =
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('198.18.0.2', 9))";
    run("ip", &["netns", "exec", "weir-link-near", "python3", "-c", send]);
    let by_name = send.replace("198.18.0.2", "far");
    let shell = ["lab", "link", "shell", "near", "--", "python3", "-c", &by_name];
    run_within(LIMIT, weir(&shell)).expect_code(0);
    let shown = wait_until("the account", LIMIT, || {
        let shown = ran(0, "lab link show --json").json();
        // Nobody listens there, and the far host says so, once it has them.
        let counts = [("forward", "delivered"), ("reverse", "offered")];
        let counted = counts.map(|(way, field)| count(&shown["account"][way][field]));
        (counted == [2, 2]).then_some(shown)
    });
    documented("lab-link-show", &shown);
    assert!(shown["in_words"].to_string().contains("2 routes"), "{shown}");
    ran(0, "lab link show").stdout_has("ip netns exec weir-link-far");
    assert_eq!(
        ran(0, "lab link shell far link -- ls /sys/class/net").stdout,
        "lo\nweir0\n"
    );
    documented("lab-link-down", &ran(0, "lab link down --json").json());
    nothing_is_left();

    // A profile can be taken over.
    let text = ran(0, "lab profiles --show oracle").stdout;
    std::fs::write("mine.toml", text).expect("a file");
    for up in ["one --rtt 5ms", "two mine.toml"] {
        ran(0, &format!("lab link up -q --name {up}"));
    }
    let again = ran(2, "lab link up --name one");
    again.error_has("a link 'one' already");
    let which = ran(2, "lab link show");
    which.error_has("name one of: one, two");
    kill_carrier("one");
    ran(3, "lab link show one").error_has("weir lab clean");
    let removed = ran(0, "lab clean --json").json();
    documented("lab-clean", &removed);
    assert_eq!(removed["removed"], json!(["one"]), "the other is alive");
    // 'up' does it by itself.
    kill_carrier("two");
    ran(0, "lab link up -q --name two --rtt 3ms");
    ran(0, "lab link show").stdout_has("3ms");
    assert_eq!(ran(0, "lab clean --all --json").json()["removed"], json!(["two"]));
    nothing_is_left();
}
