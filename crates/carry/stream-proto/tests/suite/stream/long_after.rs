//! Streams whose numbers pass 2^32, as after 5 h of 2.49 Gbit/s in packets of 1,400 bytes, beside streams where none does.

use weir_stream_proto::Fec;

use super::world::{PACKETS, Plan, SECOND, Setup, World, code, run};

/// The stream with these numbers of its first packet and its first frame.
fn numbered(setup: &Setup, first_number: u64, first_frame: u32) -> World {
    let plan = |plan: &Plan| Plan {
        first_number,
        numbers_behind: 0u32.wrapping_sub(first_frame),
        ..plan.clone()
    };
    run(Setup {
        stations: setup.stations.iter().map(plan).collect(),
        ..setup.clone()
    })
}

/// What happens when numbers of packets and of frames pass 2^32 in the middle is what happens without. A receiver that
/// sees no packet with a number near 0 has joined late: the first burst may be behind a packet that overtook it.
fn assert_alike(setup: &Setup) -> World {
    let frames = setup.for_ns / setup.frame_ns();
    let middle = frames / 2 * u64::from(PACKETS);
    let late = numbered(setup, (1 << 32) - middle, 0u32.wrapping_sub(frames as u32 / 3));
    let early = numbered(setup, 1 << 20, 1_000);
    assert_eq!((late.whole, late.damaged, late.lost), (frames - 1, 1, 0));
    assert_eq!(late.longest_ns, early.longest_ns);
    assert_eq!(late.seen(0), early.seen(0));
    assert_eq!(late.sender().counters(), early.sender().counters());
    late
}

const LOSSY: &str = "rtt = \"1ms\"\nforward.loss = \"0.2%\"";

#[test]
fn the_code_repairs() {
    let world = assert_alike(&lossy(code(16, 96), false));
    let seen = world.seen(0);
    assert!(seen.lost > 100 && seen.recovered == seen.lost, "{seen:?}");
}

#[test]
fn retransmission_repairs() {
    let world = assert_alike(&lossy(None, true));
    let seen = world.seen(0);
    assert!(seen.lost > 100 && seen.retransmitted == seen.lost, "{seen:?}");
}

#[test]
fn both_repair_and_keys_are_renewed() {
    assert_alike(&Setup {
        packets_per_epoch: 10_000,
        ..lossy(code(32, 128), true)
    });
}

#[test]
fn a_flow_goes_dark_and_comes_back() {
    assert_alike(&Setup {
        stations: vec![Plan::dark(5, SECOND, 3 * SECOND)],
        ..lossy(code(12, 96), true)
    });
}

fn lossy(fec: Option<Fec>, arq: bool) -> Setup {
    Setup {
        link: LOSSY,
        fec,
        arq,
        ..Setup::default()
    }
}
