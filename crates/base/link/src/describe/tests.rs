//! Descriptions of links.

use std::path::Path;

use super::*;
use crate::profile::parse;

fn described(text: &str) -> Vec<String> {
    describe(&parse(text, "lab", Path::new(".")).expect("a link"))
}

#[test]
fn a_plain_link() {
    assert_eq!(
        described("rate = \"10Mbit/s\"\nrtt = \"20ms\"\nqueue = \"2bdp\"\nloss = \"0.1%\""),
        [
            "lab: round trip 20ms",
            "interfaces: MTU 1500; seed 1",
            "each direction:",
            "  1 route; MTU 1500, longer packets are answered with ICMP",
            "  route 0: 10Mbit/s, delay 10ms, queue 50kB, loss 0.1% at random",
        ]
    );
}

#[test]
fn everything() {
    let text = r#"
        mtu = 1400
        interface-mtu = 9000
        too-big = "drop"
        flow-rate = "1Gbit/s"
        packet-rate = 200000
        hide-five-tuple = true
        extra-flow-loss = "0.02%"
        long-packets = { above = 1228, loss = "3%" }
        seed = 7
        delay = "1ms"
        [forward]
        loss = [{ mean = "0.036601%", burst = 4 }, { packets = [1, 2, 3, 4, 5, 6, 7] }]
        jitter = "1ms"
        reorder = true
        duplicate = "0.01%"
        corrupt = "0.000002%"
        overhead = 14
        dark = [{ from = "3s", to = "4.5s" }]
        [[forward.route]]
        rate = { steps = ["1s 4Mbit/s", "1s 0"] }
        queue = "1000packets"
        weight = 2
        [[forward.route]]
        loss = { to-bad = "0.1%", to-good = "0.3%", loss-good = "1%", loss-bad = "50%" }
        jitter = "2ms"
        delay = "3ms"
        dark = []
        [[reverse.route]]
        [[reverse.route]]
        [reverse]
        hide-five-tuple = false
        flow-rate = "unlimited"
        packet-rate = "unlimited"
        extra-flow-loss = "0%"
        long-packets = { above = 1, loss = "0%" }
        spread = "per-packet"
    "#;
    assert_eq!(
        described(text),
        [
            "lab: round trip 2ms to 4ms",
            "interfaces: MTU 9000; seed 7",
            "forward:",
            "  2 routes, the same for all flows of a pair of hosts; MTU 1400, longer packets are dropped silently",
            "  loss 3% of packets above 1228 bytes",
            "  each flow beyond the first adds 0.02% loss to all flows",
            "  all flows of a pair of hosts together: at most 1Gbit/s, burst 1.25MB",
            "  at most 200,000 packets per second, burst 2,000",
            "  route 0: 0 bit/s to 4.000 Mbit/s, mean 2.000 Mbit/s, 2 steps in 2s, delay 1ms, jitter up to 1ms, \
             with reordering, queue 1,000 packets, loss 0.036601% in bursts of 4 packets, packets 1, 2, 3, 4, 5, and \
             2 more lost, duplicates 0.01%, corruption 0.000002%, overhead 14 bytes per packet, dark from 3s to 4.5s, \
             weight 2",
            "  route 1: unlimited rate, delay 3ms, jitter up to 2ms, with reordering, mean loss 13.25% (1% in the \
             good state, 50% in the bad state; good to bad 0.1%, bad to good 0.3%), duplicates 0.01%, corruption \
             0.000002%, overhead 14 bytes per packet",
            "reverse:",
            "  2 routes, one at random per packet; MTU 1400, longer packets are dropped silently",
            "  each route: unlimited rate, delay 1ms, no loss",
        ]
    );
}

#[test]
fn profiles_are_exact() {
    let lines = |name: &str| described(crate::named(name).expect(name)).join("\n");
    assert!(lines("aws").contains("each route: unlimited rate, delay 66.5us, loss 0.000002% at random"));
    let oracle = lines("oracle");
    assert!(oracle.contains("round trip 297us to 397us"), "{oracle}");
    assert!(
        oracle.contains("route 0: unlimited rate, delay 148.5us, no loss"),
        "{oracle}"
    );
    assert!(
        oracle.contains("route 1: unlimited rate, delay 198.5us, loss 0.000616% at random"),
        "{oracle}"
    );
    assert!(lines("azure").contains("loss 0.0213% in bursts of 4 packets"));
    assert!(lines("google").contains("delay 140us, no loss"));
}

#[test]
fn mean_losses() {
    let moving = |to_bad, to_good| LossSpec::GilbertElliott {
        to_bad,
        to_good,
        loss_good: 0.01,
        loss_bad: 0.5,
    };
    // 3/4 good and 1/4 bad: 0.0075 + 0.125.
    assert!((moving(0.001, 0.003).mean() - 0.1325).abs() < 1e-15);
    assert_eq!(moving(0.0, 0.003).mean(), 0.01);
    assert_eq!(moving(0.0, 0.0).mean(), 0.01);
    assert_eq!(moving(0.1, 0.0).mean(), 0.5);
    assert_eq!(LossSpec::Packets(vec![1, 2]).mean(), 0.0);
}

#[test]
fn a_managed_queue() {
    let text = "rate = \"10Mbit/s\"\nqueue = { kind = \"codel\", limit = \"60packets\", target = \"10ms\", ecn = false }";
    let line = "  route 0: 10Mbit/s, delay 0s, queue 60 packets under CoDel (target 10ms, interval 100ms, maximum \
                packet 1500 bytes, no ECN), no loss";
    assert_eq!(described(text)[4], line);
}
