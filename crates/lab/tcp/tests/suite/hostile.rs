//! Whatever a link does, all bytes arrive, in time that is bounded.

use weir_tcp::{Algorithm, EcnUse};

use super::world::{Flow, SECOND, link, run};

const ALL: [Algorithm; 4] = [
    Algorithm::NewReno,
    Algorithm::Cubic,
    Algorithm::Bbr,
    Algorithm::Scalable,
];

#[test]
fn all_bytes_arrive_over_bad_links() {
    let bad = [
        "rtt = \"20ms\"\nloss = \"5%\"",
        "rtt = \"20ms\"\nforward.rate = \"5Mbit/s\"\nforward.queue = \"5packets\"",
        "rtt = \"20ms\"\njitter = \"8ms\"\nreorder = true",
        "rtt = \"1ms\"\nloss = \"20%\"\nduplicate = \"2%\"",
        "rtt = \"20ms\"\nrate = \"3Mbit/s\"\nqueue = { kind = \"fq-codel\" }",
    ];
    for text in bad {
        for algorithm in ALL {
            for seed in 1..4 {
                let spec = link(&format!("seed = {seed}\n{text}"));
                let mut flow = Flow::of(algorithm, 1_000_003);
                flow.config.ecn = [EcnUse::Off, EcnUse::Classic, EcnUse::Accurate][seed % 3];
                let seen = run(&spec, &[flow], 3_600 * SECOND);
                assert_eq!(seen.received, [1_000_003], "{algorithm:?}, seed {seed}: {text}");
                assert!(seen.ended_ns < 600 * SECOND, "{algorithm:?}, seed {seed}: {text}");
            }
        }
    }
}

/// RFC 8985 section 7: a lost tail is noticed within two round trips and a delayed acknowledgement, not after a timeout.
#[test]
fn a_lost_tail_is_probed_for() {
    // The 8th to 10th packets are lost: a link that carries seven in a row.
    let spec = link("rtt = \"20ms\"\nforward.rate = \"1Mbit/s\"\nforward.queue = \"6packets\"");
    let seen = run(&spec, &[Flow::of(Algorithm::NewReno, 10 * 1_448)], 60 * SECOND);
    assert_eq!(seen.received, [10 * 1_448]);
    assert_eq!(
        (seen.counters[0].lost > 0, seen.counters[0].timeouts),
        (true, 0),
        "{:?}",
        seen.counters
    );
}

#[test]
fn equal_seeds_give_equal_runs() {
    let spec = link(
        "seed = 5\nrtt = \"20ms\"\nloss = \"1%\"\nforward.rate = \"20Mbit/s\"\nforward.queue = \"1bdp\"",
    );
    let flows = ALL.map(Flow::endless);
    let [one, other] = [(); 2].map(|()| run(&spec, &flows, 20 * SECOND));
    assert_eq!(one.received, other.received);
    assert_eq!(one.counters, other.counters);
    assert_eq!(one.forward, other.forward);
}
