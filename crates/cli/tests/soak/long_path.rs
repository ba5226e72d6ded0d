//! Paths with a long round trip, and the first steps of a test on them: the search for the path MTU, the comparison of
//! the clocks, the greeting.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use weir_rig::{
    Agent, Database, Datagram, FAR_IPV4, HELLO_ACK, Host, LIMIT, MTU_PROBE, Relay, count, isolated,
    join_by_veth, ran, started, wait_until,
};

/// Round trips of 220 ms, as between continents.
const ONE_WAY: Duration = Duration::from_millis(110);

fn link_and_agent() -> Agent {
    join_by_veth(9000);
    Agent::start(Host::Far, "--open --udp-ports 5000..5019")
}

/// Packets of 1500 bytes come through, longer ones do not, as where hosts have jumbo frames and the path has none.
fn carry_1500(datagram: Datagram) -> Vec<Datagram> {
    if datagram.bytes.len() > 1500 - 28 {
        return Vec::new();
    }
    vec![datagram]
}

#[test]
fn a_long_path_behind_jumbo_interfaces_is_measured() {
    isolated!();
    let agent = link_and_agent();
    let _relay = Relay::start_over(ONE_WAY, carry_1500);
    let test = "--rate 2Mbit/s --flows 2 --for 1s --both --json --db long.db";
    let said = ran(0, &format!("flows {} {test}", agent.at(FAR_IPV4))).json();
    for way in ["forward", "reverse"] {
        let direction = &said[way];
        assert_eq!(direction["length"], 1472, "{way}: {said}");
        assert_eq!(direction["lost"], 0, "{way}: {said}");
        assert_eq!(direction["sent"], direction["received"], "{way}: {said}");
        assert_eq!(count(&direction["unaccounted"]), 0, "{way}: {said}");
    }
    // Both ends have one clock; the offset is known as well as half of the round trip tells.
    let uncertainty = count(&said["clock"]["uncertainty_ns"]);
    assert!(uncertainty >= 110_000_000, "{said}");
    assert!(uncertainty < 130_000_000, "{said}");
    let offset = said["clock"]["offset_ns"].as_i64().expect("an offset");
    assert!(offset.unsigned_abs() <= uncertainty, "{said}");
    let stored = Database::open("long.db");
    for (way, largest) in [("forward", 1500), ("reverse", 1500)] {
        let sql = format!("SELECT max(size) FROM mtu_probes WHERE acknowledged AND direction = '{way}'");
        assert_eq!(stored.one::<i64>(&sql), largest, "{way}");
    }
    assert!(stored.one::<i64>("SELECT count(*) FROM mtu_probes WHERE size = 9000 AND NOT acknowledged") >= 6);
}

#[test]
fn a_greeting_whose_answer_is_lost_is_answered_again() {
    isolated!();
    let agent = link_and_agent();
    let mut lost = BTreeSet::new();
    // The first answer to each flow is lost, so the last flow's too.
    let _relay = Relay::start(move |datagram| {
        let flow = datagram.bytes.get(12..14).map(<[u8]>::to_vec);
        if datagram.kind() == HELLO_ACK && datagram.bytes.len() == 32 && lost.insert((datagram.port, flow)) {
            return Vec::new();
        }
        vec![datagram]
    });
    let test = "--rate 2Mbit/s --length 1000 --flows 1 --for 500ms --reverse --json";
    let said = ran(0, &format!("flows {} {test}", agent.at(FAR_IPV4))).json();
    assert_eq!(said["reverse"]["lost"], 0, "{said}");
    // Of 125, if the machine does not stand still meanwhile.
    assert!(count(&said["reverse"]["received"]) > 10, "{said}");
}

/// Interrupts a test while its search for the path MTU gets no answers of this direction.
fn interrupt_search(forward: bool) {
    let agent = link_and_agent();
    let _relay = Relay::start(move |datagram| {
        if datagram.kind() == MTU_PROBE && datagram.forward == forward {
            return Vec::new();
        }
        vec![datagram]
    });
    let test = "--rate 2Mbit/s --for 10s --json --db interrupted.db";
    let client = started(&format!("flows {} {test}", agent.at(FAR_IPV4)));
    wait_until("the session", LIMIT, || {
        agent.process.stderr().contains("session opened").then_some(())
    });
    std::thread::sleep(Duration::from_millis(700));
    let interrupted = Instant::now();
    client.signal("INT");
    let said = client.wait(LIMIT).expect_code(0).json();
    let took = interrupted.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(said["run"]["outcome"], "interrupted", "{said}");
    assert!(said["forward"].is_null() && said["reverse"].is_null(), "{said}");
    let stored = Database::open("interrupted.db");
    assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "interrupted");
    let probed = stored.one::<i64>("SELECT count(*) FROM mtu_probes");
    assert!(probed > 0, "what was probed is kept");
    agent.check_serves(FAR_IPV4, "");
}

#[test]
fn an_interrupt_ends_the_search_from_here() {
    isolated!();
    interrupt_search(true);
}

#[test]
fn an_interrupt_ends_the_search_from_there() {
    isolated!();
    interrupt_search(false);
}
