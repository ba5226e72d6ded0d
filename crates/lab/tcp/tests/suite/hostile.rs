//! Whatever a link does, all bytes arrive, in time that is bounded.

use weir_tcp::{Ack, Algorithm, Blocks, EcnUse, Sender, SenderConfig};

use super::world::{Flow, MS, SECOND, link, run};

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

/// RFC 6675 section 5: a recovery ends with what had been sent when it began. A packet that was lost later, and is known to be by
/// then, begins another one.
#[test]
fn what_is_lost_in_a_recovery_begins_another_one() {
    const MSS: u64 = 1_448;
    let mut sender = Sender::new(SenderConfig::new(Algorithm::NewReno), 1 << 20);
    sender.write(0, 1 << 20);
    let sent = |sender: &mut Sender, now_ns| {
        std::iter::from_fn(|| sender.poll_transmit(now_ns))
            .last()
            .expect("a packet")
            .start
            / MSS
    };
    let ack = |until: u64, block: std::ops::Range<u64>| {
        let mut blocks = Blocks::default();
        blocks.push(until * MSS, block.start * MSS..block.end * MSS);
        Ack {
            until: until * MSS,
            window: 1 << 20,
            blocks,
            echo_mark: false,
            duplicate: false,
            marked: 0,
        }
    };
    assert_eq!(sent(&mut sender, 0), 9);
    // The first packet is lost; with it four new ones leave, 10 to 13.
    sender.receive(40 * MS, &ack(0, 1..5));
    sent(&mut sender, 40 * MS);
    sender.receive(41 * MS, &ack(0, 1..10));
    let last = sent(&mut sender, 41 * MS);
    assert!(last > 11, "{last}");
    assert_eq!(sender.counters().recoveries, 1);
    // It has arrived, and with it all of these but packet 10.
    sender.receive(82 * MS, &ack(10, 11..last + 1));
    assert_eq!((sender.counters().lost, sender.counters().recoveries), (2, 2));
}
