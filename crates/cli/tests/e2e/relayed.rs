//! Through a relay that drops, copies and delays chosen packets: every count is known beforehand, as a number.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use weir_rig::{
    Agent, Database, Datagram, FAR_IPV4, Host, LIMIT, RTT_REPLY, RTT_REQUEST, Relay, UDP_PORTS, count,
    isolated, join_by_veth, run_within, weir,
};

/// Chosen packets are below this; more are sent in any case, so that every gap is shown by a later packet.
const CHOSEN_BELOW: u32 = 900;

/// Datagrams kept back until a packet with a certain number has passed.
#[derive(Default)]
struct Held(VecDeque<(u32, Datagram)>);

impl Held {
    fn keep(&mut self, until: u32, datagram: Datagram) {
        self.0.push_back((until, datagram));
    }

    /// What may go now that packet `passed` went.
    fn released_by(&mut self, passed: u32) -> Vec<Datagram> {
        let (now, still): (VecDeque<_>, VecDeque<_>) =
            self.0.drain(..).partition(|(until, _)| *until <= passed);
        self.0 = still;
        now.into_iter().map(|(_, datagram)| datagram).collect()
    }
}

/// In each hundred packets: 10 is dropped; 20 comes twice in a row; 30 comes after 33; 50 to 54 are dropped; 80 comes
/// again after 85. Packet 60 of all comes after 260, when it has been given up.
fn mistreat(first: u32) -> impl FnMut(Datagram) -> Vec<Datagram> + Send + 'static {
    let mut held = Held::default();
    move |datagram| {
        if !datagram.is_flow_data() {
            return vec![datagram];
        }
        let number = datagram.sequence().wrapping_sub(first);
        let mut out = Vec::new();
        match (number, number % 100) {
            (60, _) => held.keep(260, datagram),
            (CHOSEN_BELOW.., _) => out.push(datagram),
            (_, 10 | 50..=54) => {}
            (_, 20) => out.extend([datagram.clone(), datagram]),
            (_, 30) => held.keep(number + 3, datagram),
            (_, 80) => {
                held.keep(number + 5, datagram.clone());
                out.push(datagram);
            }
            _ => out.push(datagram),
        }
        out.extend(held.released_by(number));
        out
    }
}

fn exact_counts(first_sequence: u32) {
    join_by_veth(9000);
    let agent = Agent::start(Host::Far, &[&["--open"][..], &UDP_PORTS].concat());
    let _relay = Relay::start(mistreat(first_sequence));
    let database = weir_rig::path("relayed.db");
    let (target, first) = (agent.at(FAR_IPV4), first_sequence.to_string());
    let said = run_within(
        LIMIT,
        weir(&[
            "flows",
            &target,
            "--rate",
            "2Mbit/s",
            "--length",
            "500",
            "--flows",
            "1",
            "--burst",
            "1",
            "--for",
            "3s",
            "--reorder-depth",
            "64,10s",
            "--no-gso",
            "--no-gro",
            "--first-sequence",
            &first,
            "--json",
            "--db",
            &database,
        ]),
    )
    .expect_code(0)
    .json();
    let forward = &said["forward"];
    assert!(count(&forward["sent"]) > 1000, "{forward}");
    let flow = &forward["per_flow"][0];
    for of in [forward, flow] {
        // Nine hundreds with 1 + 5 each, and packet 60.
        assert_eq!((count(&of["lost"]), count(&of["late"])), (55, 1), "{of}");
        assert_eq!(count(&of["received"]), count(&of["sent"]) - 55, "{of}");
        assert_eq!(of["duplicates"], 2 * 9, "{of}");
        assert_eq!(
            (count(&of["bursts"]), count(&of["longest_burst"])),
            (9 + 9 + 1, 5),
            "{of}"
        );
    }
    assert_eq!(forward["burst_lengths"], json!({ "1": 10, "5": 9 }));
    assert_eq!(forward["reordered"], 9, "{forward}");
    assert_eq!(forward["rejected"], 0, "{forward}");
    // Packet 60 came, too late: it was not lost anywhere.
    assert_eq!(count(&forward["attribution"]["network"]), 54, "{forward}");
    // The one after 33, the copy after 85, and packet 60.
    assert_eq!(flow["reversals"], 9 + 9 + 1, "{flow}");
    // After each gap; the copy of 20; around 30: 31, 30 and 34; the copy of 80 and 86; around 60: 61, 60 and 261.
    assert_eq!(flow["sequence_breaks"], 2 * 9 + 9 + 3 * 9 + 2 * 9 + 3, "{flow}");

    let stored = Database::open(&database);
    let sum = |column: &str, table: &str| stored.one::<i64>(&format!("SELECT sum({column}) FROM {table}"));
    assert_eq!(
        (sum("lost", "stream_seconds"), sum("late", "stream_seconds")),
        (55, 1)
    );
    assert_eq!(
        (
            sum("duplicates", "stream_seconds"),
            sum("reordered", "stream_seconds")
        ),
        (18, 9)
    );
    assert_eq!(
        (
            sum("reversals", "flow_seconds"),
            sum("sequence_breaks", "flow_seconds")
        ),
        (19, 75)
    );
    assert_eq!(
        (
            sum("length_packets", "stream_bursts"),
            sum("length_packets", "flow_bursts")
        ),
        (55, 55)
    );
    let view = |column: &str| stored.one::<i64>(&format!("SELECT max({column}) FROM flows"));
    assert_eq!(
        (view("reverses"), view("duplicates"), view("sequence_breaks")),
        (19, 18, 75)
    );
    assert_eq!((view("burst_count"), view("longest_burst")), (19, 5));
    let first = i64::from(first_sequence);
    let mut expected: Vec<i64> = (0..9)
        .flat_map(|hundred| [100 * hundred + 10, 100 * hundred + 50])
        .collect();
    expected.push(60);
    expected.sort_unstable();
    let starts: Vec<i64> = stored.all("SELECT first_sequence FROM stream_bursts ORDER BY first_sequence");
    let starts: Vec<i64> = starts.into_iter().map(|start| start - first).collect();
    assert_eq!(starts, expected);
}

#[test]
fn drops_copies_and_reorders_are_counted_exactly() {
    isolated!(heavy);
    exact_counts(0);
}

#[test]
fn the_same_counts_across_the_wrap_of_the_sequence() {
    isolated!(heavy);
    exact_counts(u32::MAX - 450);
}

#[test]
fn a_wrap_without_trouble_counts_nothing() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let said = run_within(
        LIMIT,
        weir(&[
            "flows",
            &agent.local(),
            "--rate",
            "8Mbit/s",
            "--length",
            "1000",
            "--flows",
            "8",
            "--for",
            "2s",
            "--first-sequence",
            "4294967000",
            "--json",
        ]),
    )
    .expect_code(0)
    .json();
    let forward = &said["forward"];
    // Each flow's own sequence wraps after 296 packets, which are not reached; the stream's does.
    assert!(count(&forward["sent"]) > 1000, "{forward}");
    for none in ["lost", "duplicates", "late", "rejected", "bursts"] {
        assert_eq!(forward[none], 0, "{none} in {forward}");
    }
    assert_eq!(forward["sent"], forward["received"]);
}

fn rtt_arguments<'a>(target: &'a str, options: &[&'a str], database: &'a str) -> Vec<&'a str> {
    [&["rtt", target, "--json", "--db", database][..], options].concat()
}

#[test]
fn copies_of_replies_are_counted_and_copies_of_requests_are_answered_once() {
    isolated!();
    join_by_veth(9000);
    let agent = Agent::start(Host::Far, &[&["--open"][..], &UDP_PORTS].concat());
    let replies: Arc<Mutex<BTreeMap<u32, u32>>> = Arc::default();
    let seen = replies.clone();
    let relay = Relay::start(move |datagram| {
        let number = datagram.sequence();
        match datagram.kind() {
            RTT_REPLY => {
                *seen.lock().unwrap().entry(number).or_default() += 1;
                let copies = if number % 10 == 3 { 3 } else { 1 };
                vec![datagram; copies]
            }
            RTT_REQUEST if number % 10 == 7 => vec![datagram.clone(), datagram],
            _ => vec![datagram],
        }
    });
    let database = weir_rig::path("copies.db");
    let target = agent.at(FAR_IPV4);
    let options = ["--window", "10", "--interval", "100ms", "--for", "1s"];
    let said = run_within(LIMIT, weir(&rtt_arguments(&target, &options, &database)))
        .expect_code(0)
        .json();
    drop(relay);
    assert_eq!(
        (
            count(&said["sent"]),
            count(&said["received"]),
            count(&said["lost"])
        ),
        (100, 100, 0),
        "{said}"
    );
    assert_eq!(said["duplicates"], 20, "two more of every tenth");
    let replies = replies.lock().unwrap();
    assert_eq!(
        (replies.len(), replies.values().max()),
        (100, Some(&1)),
        "one answer to each request"
    );
    let stored = Database::open(&database);
    assert_eq!(stored.one::<i64>("SELECT count(*) FROM rtt_packets"), 100);
    assert_eq!(
        stored.one::<i64>("SELECT count(*) FROM rtt_packets WHERE duplicates = 2"),
        10
    );
    assert_eq!(
        stored.one::<i64>("SELECT sum(duplicates) FROM rtt_packets WHERE sequence % 10 = 3"),
        20
    );
}

#[test]
fn replies_after_the_timeout_are_lost_and_late() {
    isolated!();
    join_by_veth(9000);
    let agent = Agent::start(Host::Far, &[&["--open"][..], &UDP_PORTS].concat());
    let mut held = Held::default();
    let relay = Relay::start(move |datagram| {
        let number = datagram.sequence();
        if datagram.kind() != RTT_REPLY {
            return vec![datagram];
        }
        if [5, 6, 17].contains(&number) {
            held.keep(100, datagram);
            return Vec::new();
        }
        [vec![datagram], held.released_by(number)].concat()
    });
    let database = weir_rig::path("late.db");
    let target = agent.at(FAR_IPV4);
    // Packet 100 is sent two seconds after packet 6, a second and a half after packet 17.
    let options = [
        "--window",
        "5",
        "--interval",
        "100ms",
        "--for",
        "3s",
        "--timeout",
        "1s",
    ];
    let said = run_within(LIMIT, weir(&rtt_arguments(&target, &options, &database)))
        .expect_code(0)
        .json();
    drop(relay);
    assert_eq!(
        (
            count(&said["sent"]),
            count(&said["received"]),
            count(&said["lost"])
        ),
        (150, 147, 3),
        "{said}"
    );
    assert_eq!(
        (count(&said["late"]), count(&said["duplicates"])),
        (3, 0),
        "{said}"
    );
    assert_eq!(
        (count(&said["lost_forward"]), count(&said["lost_reverse"])),
        (0, 3),
        "{said}"
    );
    let lost: Vec<i64> =
        Database::open(&database).all("SELECT sequence FROM rtt_packets WHERE lost ORDER BY 1");
    assert_eq!(lost, [5, 6, 17]);
}

/// Longest answer and longest question of each kind of packet.
#[derive(Default)]
struct Sizes {
    requests: BTreeMap<u32, usize>,
    unequal: Vec<(u32, usize, usize)>,
    replies: usize,
}

#[test]
fn a_reply_is_as_long_as_its_request() {
    isolated!();
    join_by_veth(9000);
    let agent = Agent::start(Host::Far, &[&["--open"][..], &UDP_PORTS].concat());
    let sizes: Arc<Mutex<Sizes>> = Arc::default();
    let seen = sizes.clone();
    let relay = Relay::start(move |datagram| {
        let mut sizes = seen.lock().unwrap();
        let (number, length) = (datagram.sequence(), datagram.bytes.len());
        if datagram.kind() == RTT_REQUEST {
            sizes.requests.insert(number, length);
        } else if datagram.kind() == RTT_REPLY {
            sizes.replies += 1;
            let asked = sizes.requests.get(&number).copied().unwrap_or(0);
            if asked != length {
                sizes.unequal.push((number, asked, length));
            }
        }
        vec![datagram]
    });
    let target = agent.at(FAR_IPV4);
    let database = weir_rig::path("sizes.db");
    let options = [
        "--window",
        "5",
        "--length",
        "72..8972",
        "--interval",
        "50ms",
        "--for",
        "1s",
    ];
    let said: Value = run_within(LIMIT, weir(&rtt_arguments(&target, &options, &database)))
        .expect_code(0)
        .json();
    drop(relay);
    let sizes = sizes.lock().unwrap();
    assert_eq!(sizes.replies as u64, count(&said["received"]));
    assert!(
        sizes.unequal.is_empty(),
        "packet, request, reply: {:?}",
        sizes.unequal
    );
    assert_eq!(sizes.requests.values().min(), Some(&72));
    assert_eq!(sizes.requests.values().max(), Some(&8972));
}
