//! Two senders of the same stream, merged packet by packet.

use weir_stats::ArrivalCounters;
use weir_stream_proto::ReceiverEvent;
use weir_wire::MEDIA_HEADER_LENGTH;

use super::world::{FRAME_NS, MS, PACKETS, Plan, SECOND, Setup, World, code, run};

fn two(first: Plan, second: Plan) -> Setup {
    Setup {
        stations: vec![first, second],
        ..Setup::default()
    }
}

/// Every loss is accounted for.
#[track_caller]
fn assert_accounted(seen: &ArrivalCounters) {
    let ends = seen.recovered + seen.retransmitted + seen.overtaken + seen.elsewhere + seen.unrepaired;
    assert_eq!(seen.lost, ends, "{seen:?}");
}

#[test]
fn of_two_clean_senders_each_packet_is_taken_once() {
    let world = run(two(Plan::default(), Plan::default()));
    world.assert_whole();
    let sources = world.sender().counters().sources;
    // The end of the stream is a packet of none of its frames.
    let pieces = u64::from(world.frames() * PACKETS);
    assert_eq!(sources, pieces + 1);
    let [first, second] = [world.seen(0), world.seen(1)];
    assert_eq!(world.merged(0) + world.merged(1), pieces);
    for seen in [first, second] {
        assert_eq!(seen.received, sources);
        assert_eq!(
            (seen.lost, seen.late, seen.duplicates, seen.rejected),
            (0, 0, 0, 0)
        );
        // A header for each, and the payload, 20 bytes shorter in the last packet of a frame.
        let payload = u64::from(world.frames()) * (u64::from(PACKETS) * 60 - 20);
        assert_eq!(seen.bytes, sources * MEDIA_HEADER_LENGTH as u64 + payload);
    }
    assert!(world.longest_ns < FRAME_NS + MS, "{}", world.longest_ns);
    let ends: Vec<_> = world
        .events
        .iter()
        .filter(|(_, event)| matches!(event, ReceiverEvent::End { frame, .. } if *frame == u64::from(world.frames())))
        .collect();
    assert_eq!(ends.len(), 2);
    assert!(world.receiver.is_finished());
}

#[test]
fn a_sender_that_is_killed_within_a_frame_costs_none_though_both_lose_packets() {
    let killed = Plan::killed(SECOND + FRAME_NS / 2, 3 * SECOND);
    for (first, second) in [(killed.clone(), Plan::default()), (Plan::default(), killed)] {
        let world = run(Setup {
            link: "rtt = \"1ms\"\nforward.loss = \"0.5%\"",
            arq: true,
            ..two(first, second)
        });
        world.assert_whole();
        let [first, second] = [world.seen(0), world.seen(1)];
        assert_accounted(&first);
        assert_accounted(&second);
        assert!(first.lost > 150 && second.lost > 150, "{first:?} {second:?}");
        assert!(world.longest_ns < FRAME_NS + 20 * MS, "{}", world.longest_ns);
    }
}

/// Each sender's own code gives back what it lost, whether the other one has brought it or not.
#[test]
fn senders_with_a_code_bear_what_either_or_both_lose() {
    let dark = Plan::dark(5, SECOND, 2 * SECOND);
    let world = run(Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"1%\"",
        fec: code(12, 96),
        ..two(dark, Plan::default())
    });
    world.assert_whole();
    for seen in [world.seen(0), world.seen(1)] {
        assert_accounted(&seen);
        assert!(seen.recovered > 1_000, "{seen:?}");
    }
}

/// Without repair a packet is missing if both lose it: with 1 % each, independently, one in 10,000.
#[test]
fn what_both_lose_is_the_product_of_what_each_loses() {
    let world = run(Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"1%\"",
        for_ns: 30 * SECOND,
        ..two(Plan::default(), Plan::default())
    });
    let [first, second] = [world.seen(0), world.seen(1)];
    let packets = f64::from(world.frames() * PACKETS);
    let share = |count: u64| count as f64 / packets;
    let expected = share(first.lost) * share(second.lost);
    let deviation = (expected / packets).sqrt();
    let missing = share(world.missing);
    println!(
        "lost {:.4} and {:.4}: missing {missing:.3e}, expected {expected:.3e} +- {deviation:.1e}",
        share(first.lost),
        share(second.lost)
    );
    assert!(
        (missing - expected).abs() < 3.0 * deviation,
        "{missing} {expected} {deviation}"
    );
    for seen in [first, second] {
        assert_accounted(&seen);
        assert!((share(seen.lost) - 0.01).abs() < 0.0005, "{seen:?}");
        // No sender repeats the end of the stream.
        assert!(
            seen.unrepaired.abs_diff(world.missing) <= 1,
            "{seen:?} {}",
            world.missing
        );
    }
}

#[test]
fn of_each_sender_a_flow_may_be_dark_without_any_repair() {
    let first = Plan::dark(5, SECOND / 2, 3 * SECOND / 2);
    let world = run(two(first, Plan::dark(9, 2 * SECOND, 3 * SECOND)));
    world.assert_whole();
    for seen in [world.seen(0), world.seen(1)] {
        assert_accounted(&seen);
        assert_eq!(seen.elsewhere, seen.lost);
        // It is left as soon as it is silent.
        assert!((5..2_000).contains(&seen.lost), "{seen:?}");
    }
}

/// Whether it arrives at the same time, before, or later: only packets that both lost are requested.
#[test]
fn what_the_other_sender_brings_is_not_asked_for() {
    for rtt in [1, 6, 12] {
        let link = format!("rtt = \"{rtt}ms\"\nforward.loss = \"1%\"");
        let far = Plan::over(link.leak());
        let world = run(Setup {
            link: "rtt = \"1ms\"\nforward.loss = \"1%\"",
            arq: true,
            rtt_ns: MS,
            for_ns: 10 * SECOND,
            ..two(Plan::default(), far)
        });
        world.assert_whole();
        let (mut lost, mut asked) = (0, 0);
        for seen in [world.seen(0), world.seen(1)] {
            assert_accounted(&seen);
            (lost, asked) = (lost + seen.lost, asked + seen.asked);
        }
        println!("{rtt} ms: {lost} lost, {asked} asked for");
        assert!(lost > 7_000 && asked < lost / 20, "{rtt}: {lost} {asked}");
    }
}

/// The frames of a sender that is 8 ms behind are waited for, in a budget of 10 ms.
#[test]
fn a_sender_whose_packets_come_later_repairs_the_one_before() {
    let far = Plan::over("rtt = \"17ms\"\nforward.loss = \"1%\"");
    let near = Plan::over("rtt = \"1ms\"\nforward.loss = \"1%\"");
    let world = run(Setup {
        latency_ns: 10 * MS,
        rtt_ns: 17 * MS,
        for_ns: 20 * SECOND,
        ..two(near, far)
    });
    let [near, far] = [world.seen(0), world.seen(1)];
    let packets = f64::from(world.frames() * PACKETS);
    let expected = near.lost as f64 * far.lost as f64 / packets;
    let missing = world.missing as f64;
    assert!(
        (missing - expected).abs() < 3.0 * expected.sqrt() + 1.0,
        "{missing} {expected}"
    );
    // The later one's packets come 8 ms after the first one's, and have a budget of 10 ms of their own.
    let longest = FRAME_NS + 18 * MS + MS / 2;
    assert!(world.longest_ns <= longest, "{}", world.longest_ns);
}

#[test]
fn a_sender_that_is_too_far_behind_is_not_waited_for() {
    let far = Plan {
        lag_ns: 50 * MS,
        ..Plan::default()
    };
    let world = run(Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"0.1%\"",
        ..two(Plan::default(), far)
    });
    assert!(world.damaged > 50 && world.lost == 0, "{}", world.damaged);
    let longest = FRAME_NS + 20 * MS + MS / 2;
    assert!(world.longest_ns <= longest, "{}", world.longest_ns);
    // All its packets are duplicates or too late.
    let far = world.seen(1);
    assert!(
        far.late > 50 && world.merged(1) + far.late + 10 > far.received,
        "{far:?}"
    );
}

#[test]
fn a_sender_that_drips_does_not_hold_the_stream() {
    let mut world = World::new(Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"0.2%\"",
        ..two(Plan::default(), Plan::default())
    });
    // From a time on, the second one's packets are held up, one more each: they come ever later.
    let mut held = std::collections::VecDeque::new();
    let mut count = 0u64;
    world.stations[1].meddle = Box::new(move |datagrams| {
        count += 1;
        if count > 20_000 {
            held.extend(datagrams.drain(..));
            if count.is_multiple_of(200) {
                datagrams.extend(held.pop_front());
            }
        }
    });
    let world = world.run();
    assert_eq!(world.whole + world.damaged, u64::from(world.frames()));
    let longest = FRAME_NS + 40 * MS;
    assert!(world.longest_ns <= longest, "{}", world.longest_ns);
}

#[test]
fn a_sender_that_comes_back_with_a_new_session_joins_the_other() {
    let first = Plan::killed(SECOND, SECOND + 300 * MS);
    let again = Plan {
        from_ns: 2 * SECOND,
        ..Plan::default()
    };
    let world = run(Setup {
        stations: vec![first, Plan::default(), again],
        ..Setup::default()
    });
    world.assert_whole();
    let back = world.seen(2);
    assert!(back.received > 70_000, "{back:?}");
    // One that is added later may be the first to bring a frame.
    assert!(
        world.merged(2) + world.merged(1) >= back.received - 64,
        "{back:?}"
    );
    assert_eq!((back.late, back.rejected, back.lost), (0, 0, 0));
}

/// The only sender is killed, and restarts with frame 0.
#[test]
fn a_sender_that_begins_anew_goes_on_where_the_stream_was() {
    for killed in [SECOND, 30 * MS, 5 * MS] {
        let first = Plan::killed(killed + FRAME_NS / 2, killed + 100 * MS);
        // It joins with frame 0 of picture 1,000 or so.
        let picture = 1_000;
        let again = Plan {
            from_ns: picture * FRAME_NS,
            numbers_behind: picture as u32,
            ..Plan::default()
        };
        let world = run(Setup {
            stations: vec![first, again],
            ..Setup::default()
        });
        let before = killed / FRAME_NS + 1;
        assert_eq!(world.lost, 0, "numbers go on without a gap");
        assert!(world.damaged <= 1, "that which was being sent");
        assert!(
            world.whole >= before - 1 + u64::from(world.frames()) - picture,
            "{}",
            world.whole
        );
        let first_again = world
            .given
            .iter()
            .find(|(_, shown, _)| u64::from(*shown) >= picture);
        let (_, shown, number) = first_again.expect("it goes on");
        assert!(
            u64::from(*shown) <= picture && *number <= before + 1,
            "{shown} {number} {before}"
        );
        assert!(world.receiver.is_finished());
    }
}

/// A path that carries nothing for longer than symbols are remembered, or frames fit in.
#[test]
fn after_a_long_outage_the_stream_goes_on_and_what_is_lost_is_told() {
    let cut = Plan::cut(SECOND, 6 * SECOND);
    // The sender hears nothing for longer than it would go on: its breaker is not what is tested.
    let world = run(Setup {
        for_ns: 8 * SECOND,
        arq: true,
        silence_ns: 60 * SECOND,
        stations: vec![cut.clone()],
        ..Setup::default()
    });
    let gone = 5 * SECOND / FRAME_NS;
    assert!(
        world.lost.abs_diff(gone) <= 2 && world.damaged <= 2,
        "{} {gone}",
        world.lost
    );
    assert_eq!(
        world.whole + world.damaged + world.lost,
        u64::from(world.frames())
    );
    let seen = world.seen(0);
    assert_accounted(&seen);
    assert!(
        seen.unrepaired.abs_diff(gone * u64::from(PACKETS)) < 200,
        "{seen:?}"
    );

    // With another sender nothing is lost, and all is known to have been elsewhere.
    let world = run(Setup {
        for_ns: 8 * SECOND,
        arq: true,
        silence_ns: 60 * SECOND,
        stations: vec![cut, Plan::default()],
        ..Setup::default()
    });
    world.assert_whole();
    let seen = world.seen(0);
    assert_accounted(&seen);
    assert!(seen.elsewhere > 190_000 && seen.unrepaired < 10, "{seen:?}");
}
