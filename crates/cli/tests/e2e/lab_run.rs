//! `weir lab run`: the link does what its options say, as counted independently; nothing of it is left behind; and it
//! reports an invalid result.

use serde_json::Value;

use weir_rig::{
    Database, LIMIT, Running, count, isolated, lab_run, nothing_is_left, objects, other_processes, run,
    run_within, see_own_processes, weir,
};

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

/// Runs the two programs across a link; gives the numbers that arrived, and the account.
#[track_caller]
fn numbered(options: &[&str], packets: u64) -> (Vec<u64>, Value) {
    let (sender, receiver) = (weir_rig::path("sender.py"), weir_rig::path("receiver.py"));
    std::fs::write(&sender, SENDER).expect("a file");
    std::fs::write(&receiver, RECEIVER).expect("a file");
    let far = format!("python3 {receiver}");
    let options = [&["--no-agent", "--far", &far], options].concat();
    // The receiver takes a moment to be there; what is sent before it is must not count.
    let script = format!("sleep 1; python3 {sender} {packets}");
    let done = lab_run(&options, &["sh", "-c", &script]).expect_code(0);
    let (came, account) = objects(&done);
    let came = came.expect("a list");
    (
        came.as_array().expect("a list").iter().map(count).collect(),
        account,
    )
}

/// Nothing but the test's own packets is on the link: the first of them is the link's first.
#[test]
fn exactly_the_listed_packets_are_lost() {
    isolated!();
    see_own_processes();
    let lost = [0, 1, 7, 100, 101, 102, 399];
    let (came, account) = numbered(
        &[
            "--set",
            "forward.loss={ packets = [0, 1, 7, 100, 101, 102, 399] }",
        ],
        400,
    );
    let expected: Vec<u64> = (0..400).filter(|number| !lost.contains(number)).collect();
    assert_eq!(came, expected);
    assert_eq!(account["forward"]["dropped"]["loss"], lost.len());
    assert_eq!(account["reverse"]["dropped"]["loss"], 0);
    assert_eq!(account["forward"]["own_losses"]["device_queue"], 0);
    let delivered = count(&account["forward"]["delivered"]);
    assert_eq!(
        count(&account["forward"]["offered"]),
        delivered + lost.len() as u64
    );
}

/// A packet with a wrong bit fails its checksum at the receiving host; one that comes twice is one.
#[test]
fn corrupted_packets_do_not_arrive_and_copies_do() {
    isolated!();
    see_own_processes();
    let (came, account) = numbered(
        &["--set", "forward.corrupt=20%", "--set", "forward.duplicate=10%"],
        1000,
    );
    let corrupted = count(&account["forward"]["corrupted"]);
    let duplicated = count(&account["forward"]["duplicated"]);
    assert!(
        (150..280).contains(&corrupted) && (60..150).contains(&duplicated),
        "{account}"
    );
    // Corruption comes before copying, so both copies of a packet are whole or neither is. A bit flipped where a
    // datagram without a checksum would not notice is not there: Linux sends them with one.
    let missing = 1000 - came.len() as u64;
    assert!(missing > 0 && missing <= corrupted, "{missing} of {corrupted}");
    assert!(missing + 30 >= corrupted / 2, "{missing} of {corrupted}");
    assert_eq!(account["forward"]["own_losses"]["not_written"], 0);
}

#[test]
fn the_account_agrees_with_what_the_receiver_counts() {
    isolated!(heavy);
    see_own_processes();
    // TCP of the control connection is in no queue of its own: the losses lie where the flows are under way.
    let list: Vec<String> = (0..40).map(|index| (1_000 + 37 * index).to_string()).collect();
    let loss = format!("forward.loss={{ packets = [{}] }}", list.join(", "));
    let flows = [
        "weir",
        "flows",
        "far",
        "--json",
        "-q",
        "--rate",
        "100Mbit/s",
        "--length",
        "1200",
        "--for",
        "2s",
    ];
    let done = lab_run(&["--rtt", "4ms", "--set", &loss, "--db", "weir.db"], &flows).expect_code(0);
    let (flows, account) = objects(&done);
    let (flow, link) = (&flows.expect("a result")["forward"], &account["forward"]);
    assert_eq!(link["dropped"]["loss"], 40);
    let lost = count(&flow["lost"]);
    // A machine that stood still loses more, in a device's queue or before the receiver read, or brings them when they
    // have been given up; all are counted.
    let by_hosts: u64 = ["host_receiver", "socket"]
        .iter()
        .map(|place| count(&flow["attribution"][place]))
        .sum::<u64>()
        + count(&flow["late"]);
    let own: u64 = link["own_losses"]
        .as_object()
        .expect("losses of the link itself")
        .values()
        .map(count)
        .sum();
    let beside = by_hosts + own;
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
    assert!(count(&link["offered"]) > count(&flow["sent"]));

    // The same run, from the database: its rows add up to the account.
    let database = Database::open("weir.db");
    let id = count(&account["run"]["id"]);
    let sum = |column: &str| -> u64 {
        let way = "direction = 'forward'";
        let sum: i64 = database.one(&format!(
            "SELECT sum({column}) FROM link_seconds WHERE run_id = {id} AND {way}"
        ));
        sum as u64
    };
    assert_eq!(sum("offered"), count(&link["offered"]));
    assert_eq!(sum("delivered_bytes"), count(&link["delivered_bytes"]));
    assert_eq!(sum("dropped_loss"), 40);
    assert_eq!(sum("lateness_count"), count(&link["lateness"]["count"]));
    let kinds: Vec<String> = database.all("SELECT kind FROM runs ORDER BY run_id");
    assert_eq!(kinds, ["lab", "flows"]);
    nothing_is_left();
}

#[test]
fn the_exit_status_is_that_of_the_command() {
    isolated!();
    see_own_processes();
    let quick = ["lab", "run", "--no-agent", "-q", "--max-lateness", "10s", "--"];
    let ran = |command: &[&str]| run_within(LIMIT, weir(&[&quick[..], command].concat()));
    let done = ran(&["sh", "-c", "echo out; exit 7"]).expect_code(7);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("out\n", ""));
    ran(&["true"]).expect_code(0);
    ran(&["sh", "-c", "kill -TERM $$"]).expect_code(128 + 15);
    let done = ran(&["/nowhere/at-all"]).expect_code(2);
    assert!(done.one_error().contains("cannot run '/nowhere/at-all'"));
    nothing_is_left();
}

#[test]
fn a_run_that_cannot_be_believed_says_so() {
    isolated!();
    see_own_processes();
    let run_with = |command: &str| {
        let arguments = [
            "lab",
            "run",
            "--no-agent",
            "-q",
            "--max-lateness",
            "1ns",
            "--",
            "sh",
            "-c",
            command,
        ];
        run_within(LIMIT, weir(&arguments))
    };
    let traffic = "echo hello > /dev/udp/far/9 2>/dev/null || python3 -c 'import socket; \
                   socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"far\", 9))'; sleep 0.3";
    let done = run_with(traffic).expect_code(3);
    assert!(done.one_error().contains("result is invalid"), "{}", done.stderr);
    assert!(done.one_error().contains("--max-lateness"), "{}", done.stderr);
    // The command's own failure goes before.
    let done = run_with(&format!("{traffic}; exit 5")).expect_code(5);
    assert!(
        done.stderr.contains("warning: the result is invalid"),
        "{}",
        done.stderr
    );
    let database = Database::open("weir.db");
    let fit: Vec<i64> = database.all("SELECT summary ->> 'fit' FROM runs");
    assert_eq!(fit, [0, 0]);
    let outcomes: Vec<String> = database.all("SELECT outcome FROM runs");
    assert_eq!(outcomes, ["finished", "finished"]);
}

/// A run whose command and far command go on for long.
#[track_caller]
fn endless() -> Running {
    let command = "trap 'echo told; exit 9' INT; echo started; sleep 1000 & wait; wait";
    let arguments = [
        "lab",
        "run",
        "--rtt",
        "2ms",
        "--far",
        "sleep 1000",
        "--",
        // A shell cannot trap what was ignored when it began, as it is in what other shells run in the background.
        "env",
        "--default-signal=INT",
        "sh",
        "-c",
        command,
    ];
    let mut running = Running::start(weir(&arguments));
    assert_eq!(running.first_line(LIMIT), "started");
    assert!(!other_processes().is_empty());
    running
}

#[test]
fn an_interrupt_goes_to_the_command_and_then_all_is_undone() {
    isolated!();
    see_own_processes();
    let running = endless();
    running.signal("INT");
    let done = running.wait(LIMIT).expect_code(9);
    assert_eq!(done.stdout, "started\ntold\n");
    assert!(done.stderr.contains("link link, up for"), "{}", done.stderr);
    nothing_is_left();
}

#[test]
fn nothing_is_left_when_the_driver_is_killed() {
    isolated!();
    see_own_processes();
    let running = endless();
    running.signal("KILL");
    let done = running.wait(LIMIT);
    assert_eq!(done.code(), -1);
    nothing_is_left();
    let done = run_within(LIMIT, weir(&["lab", "clean"])).expect_code(0);
    assert_eq!(done.stdout, "nothing to remove\n");
}

#[test]
fn commands_find_their_hosts_by_name() {
    isolated!();
    see_own_processes();
    let script = "ls /sys/class/net; getent ahosts far; echo $WEIR_LAB_NEAR $WEIR_LAB_FAR; command -v weir";
    let done = lab_run(&["--no-agent"], &["sh", "-c", script]);
    let out = &done.stdout;
    for word in [
        "lo\nweir0\n",
        "198.18.0.2",
        "fd00:77::2",
        "198.18.0.1 198.18.0.2\n",
        "/weir\n",
    ] {
        assert!(out.contains(word), "{word} in:\n{out}");
    }
    // Outside nothing of it is to be seen.
    assert!(!run("cat", &["/etc/hosts"]).contains("198.18.0.2"));
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    isolated!();
    see_own_processes();
    std::fs::write(weir_rig::path("bad.toml"), "rate = \"0bit/s\"\n").expect("a file");
    let bad = weir_rig::path("bad.toml");
    let cases: [(&[&str], &[&str]); 9] = [
        (&["--rate", "0bit/s"], &["rate"]),
        (&["--rtt", "-5ms"], &["rtt", "-5ms"]),
        (&["--loss", "101%"], &["loss", "101%"]),
        (&["--loss", "often"], &["loss", "often"]),
        (&["--set", "rat=5Mbit/s"], &["rat", "unknown key"]),
        (&["--mtu", "100"], &["mtu", "100", "576"]),
        (&["orcale"], &["orcale", "did you mean oracle"]),
        (&[&bad], &["bad.toml", "rate"]),
        (&["--set", "rate={ trace = \"/nowhere\" }"], &["/nowhere"]),
    ];
    for (options, words) in cases {
        for command in [&["lab", "run"][..], &["lab", "link", "up"]] {
            let tail: &[&str] = if command.len() == 2 { &["--", "true"] } else { &[] };
            let done = run_within(LIMIT, weir(&[command, options, tail].concat())).expect_code(2);
            let said = done.one_error();
            for word in words {
                assert!(said.contains(word), "{word} in: {said}");
            }
            assert!(done.stdout.is_empty(), "{}", done.stdout);
        }
    }
    assert!(!std::path::Path::new("weir.db").exists());
    nothing_is_left();
}
