//! Random loss, flows that go dark, loss in bursts: what the code and retransmission leave.

use weir_stream_proto::{FlowChange, SenderEvent};
use weir_wire::FlowId;

use super::world::{FRAME_NS, MS, Plan, SECOND, Setup, code, run};

const LOSSY: &str = "rtt = \"1ms\"\nforward.loss = \"0.04%\"";

#[test]
fn a_clean_path_takes_nothing_but_the_sources() {
    let world = run(Setup::default());
    world.assert_whole();
    let (sent, seen) = (world.sender().counters(), world.seen(0));
    assert_eq!((seen.received, seen.lost, seen.asked), (sent.sources, 0, 0));
    assert_eq!(
        (seen.duplicates, seen.late, seen.rejected, seen.overtaken),
        (0, 0, 0, 0)
    );
    assert!(world.longest_ns < FRAME_NS + MS, "{}", world.longest_ns);
    assert_eq!(world.stations[0].events, []);
}

#[test]
fn retransmission_alone_repairs_random_loss() {
    let world = run(Setup {
        link: LOSSY,
        arq: true,
        for_ns: 20 * SECOND,
        ..Setup::default()
    });
    world.assert_whole();
    let seen = world.seen(0);
    assert!(seen.lost > 200, "{seen:?}");
    assert_eq!((seen.retransmitted, seen.unrepaired), (seen.lost, 0));
    // One request for each, and a second one where the retransmission was lost too.
    assert!(seen.asked <= seen.lost + seen.lost / 100 + 3, "{seen:?}");
}

#[test]
fn the_code_alone_repairs_random_loss() {
    let world = run(Setup {
        link: LOSSY,
        fec: code(64, 128),
        for_ns: 20 * SECOND,
        ..Setup::default()
    });
    world.assert_whole();
    let seen = world.seen(0);
    assert!(seen.lost > 200, "{seen:?}");
    assert_eq!((seen.recovered, seen.unrepaired), (seen.lost, 0));
}

#[test]
fn the_code_alone_bears_a_flow_that_is_dark_for_a_second() {
    let world = run(Setup {
        link: LOSSY,
        fec: code(12, 96),
        stations: vec![Plan::dark(5, SECOND, 2 * SECOND)],
        ..Setup::default()
    });
    world.assert_whole();
    let seen = world.seen(0);
    assert_eq!(seen.unrepaired, 0);
}

#[test]
fn retransmission_within_three_round_trips_bears_a_flow_that_is_dark_for_a_second() {
    let world = run(Setup {
        link: "rtt = \"10ms\"\nforward.loss = \"0.04%\"",
        arq: true,
        rtt_ns: 10 * MS,
        latency_ns: 30 * MS,
        stations: vec![Plan::dark(5, SECOND, 2 * SECOND)],
        ..Setup::default()
    });
    world.assert_whole();
    let left = world.stations[0]
        .events
        .iter()
        .position(|(_, event)| *event == SenderEvent::Flow(FlowId(5), FlowChange::Silent));
    let (at, _) = world.stations[0].events[left.expect("the flow is left")];
    assert!((SECOND..SECOND + 20 * MS).contains(&at), "left at {at}");
    let back = world.stations[0]
        .events
        .iter()
        .find(|(_, event)| *event == SenderEvent::Flow(FlowId(5), FlowChange::Back));
    let (at, _) = back.expect("the flow is taken again");
    assert_eq!(
        world.sender().flows().live(),
        16,
        "{:?}",
        world.stations[0].events
    );
    assert!((2 * SECOND..3 * SECOND).contains(at), "back at {at}");
}

#[test]
fn each_repairs_what_the_other_has_not() {
    // Bursts longer than the code bears.
    let world = run(Setup {
        link: "rtt = \"4ms\"\nforward.loss = { mean = \"0.5%\", burst = 20 }",
        fec: code(12, 96),
        arq: true,
        rtt_ns: 4 * MS,
        latency_ns: 40 * MS,
        for_ns: 10 * SECOND,
        ..Setup::default()
    });
    world.assert_whole();
    let seen = world.seen(0);
    assert!(seen.recovered > 100 && seen.retransmitted > 100, "{seen:?}");
}

#[test]
fn what_cannot_be_repaired_is_given_up_at_the_end_of_the_budget() {
    let world = run(Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"1%\"",
        latency_ns: 5 * MS,
        ..Setup::default()
    });
    let seen = world.seen(0);
    assert!(
        world.damaged > 1_000 && world.whole > 500 && world.lost == 0,
        "{seen:?}"
    );
    assert_eq!(
        (seen.unrepaired, seen.recovered, seen.retransmitted),
        (seen.lost, 0, 0)
    );
    assert!(
        world.longest_ns <= FRAME_NS + 5 * MS + MS / 2,
        "{}",
        world.longest_ns
    );
}

/// The end is sent again until the receiver reports it or it expires, 9 ms later at most: every 100 us at most.
#[test]
fn without_a_budget_the_end_is_sent_again_without_a_flood() {
    let world = run(Setup {
        link: "rtt = \"4ms\"",
        rtt_ns: 4 * MS,
        latency_ns: 0,
        for_ns: SECOND / 10,
        ..Setup::default()
    });
    let again = world.stations[0].sender.counters().trials;
    assert!((1..=90).contains(&again), "{again}");
}

/// After a pause some flows have been silent for longer than others with a first packet.
#[test]
fn a_pause_of_the_source_is_no_fault_of_any_flow() {
    for link in ["rtt = \"1ms\"\nrate = \"60Mbit/s\"", "rtt = \"30ms\"", LOSSY] {
        let world = run(Setup {
            link,
            arq: true,
            latency_ns: 100 * MS,
            stations: vec![Plan {
                pause: Some((SECOND, 2 * SECOND)),
                ..Plan::default()
            }],
            ..Setup::default()
        });
        assert_eq!(world.stations[0].events, [], "{link}");
        let seen = world.seen(0);
        assert_eq!(
            (seen.overtaken, seen.retransmitted),
            (0, seen.lost),
            "{link}: {seen:?}"
        );
        // Numbers leave out what was not sent.
        assert_eq!(world.damaged, 0, "{link}");
        assert!(
            world.lost.abs_diff(SECOND / FRAME_NS) <= 3,
            "{link}: {}",
            world.lost
        );
    }
}

/// The path carries nothing while the last packets are sent, and the end of the stream.
#[test]
fn what_is_lost_at_the_end_is_asked_for() {
    for fec in [None, code(12, 96)] {
        let end = FRAME_NS * (SECOND / FRAME_NS);
        let world = run(Setup {
            arq: true,
            fec,
            for_ns: SECOND,
            stations: vec![Plan::cut(end - MS, end + 3 * MS)],
            ..Setup::default()
        });
        world.assert_whole();
        assert!(world.receiver.is_finished(), "{fec:?}");
        let (sent, seen) = (world.sender().counters(), world.seen(0));
        assert!(seen.lost > 30 && seen.unrepaired == 0, "{seen:?}");
        assert!((1..=8).contains(&sent.trials), "until it is known: {sent:?}");
    }
}

/// After these packets only the open repairs follow.
#[test]
fn the_code_repairs_the_last_packets_like_others() {
    let end = FRAME_NS * (SECOND / FRAME_NS);
    let world = run(Setup {
        fec: code(4, 64),
        flows: 1,
        for_ns: SECOND,
        stations: vec![Plan::cut(end - 130_000, end - 60_000)],
        ..Setup::default()
    });
    world.assert_whole();
    let seen = world.seen(0);
    assert!((2..=4).contains(&seen.lost), "{seen:?}");
    assert_eq!((seen.recovered, seen.unrepaired), (seen.lost, 0));
}

#[test]
fn what_is_lost_before_a_pause_is_repaired_in_it() {
    let from = FRAME_NS * (SECOND / FRAME_NS);
    for fec in [None, code(12, 96)] {
        let world = run(Setup {
            arq: true,
            fec,
            stations: vec![Plan {
                pause: Some((from, 2 * from)),
                // What was given before goes on for a frame.
                cut: Some((from + FRAME_NS - MS, from + FRAME_NS + MS)),
                ..Plan::default()
            }],
            ..Setup::default()
        });
        let seen = world.seen(0);
        assert!(seen.lost > 10 && seen.unrepaired == 0, "{seen:?}");
        assert_eq!(world.damaged, 0, "{:?}", world.damage);
        // Those that would have been sent in the pause.
        assert!(world.lost.abs_diff(from / FRAME_NS) <= 3, "{}", world.lost);
    }
}

/// Blocks of 32 packets leave every 83 ms: a frame is waited for until it has been sent, not for a budget of 20 ms only.
#[test]
fn frames_that_take_longer_than_the_budget_to_send_are_not_cut() {
    let world = run(Setup {
        slower: 100,
        for_ns: 20 * SECOND,
        ..Setup::default()
    });
    world.assert_whole();
    assert!(world.longest_ns < 100 * FRAME_NS + MS, "{}", world.longest_ns);
}
