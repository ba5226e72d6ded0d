//! Clocks that step and clocks that run fast or slow.

use weir_stream_proto::FlowChange;

use super::world::{FRAME_NS, MS, Plan, SECOND, Setup, World, run};

const LOSSY: &str = "rtt = \"1ms\"\nforward.loss = \"0.1%\"";

/// The clock is set on by this much after two seconds.
fn set_on(by_ns: i64) -> World {
    run(with(Plan {
        step: Some((2 * SECOND + 700_000, by_ns)),
        ..Plan::default()
    }))
}

fn drifting(drift_ppm: i64) -> Setup {
    with(Plan {
        drift_ppm,
        ..Plan::default()
    })
}

fn with(plan: Plan) -> Setup {
    Setup {
        link: LOSSY,
        arq: true,
        stations: vec![plan],
        ..Setup::default()
    }
}

/// Nothing lost, no frame later than the budget, no flow left for what it did not do.
#[track_caller]
fn assert_kept(world: &World) {
    world.assert_whole();
    assert!(world.longest_ns < FRAME_NS + 20 * MS, "{}", world.longest_ns);
    let left = world.stations[0].events.iter().any(|(_, event)| {
        matches!(
            event,
            weir_stream_proto::SenderEvent::Flow(_, FlowChange::Silent | FlowChange::Losing)
        )
    });
    assert!(!left, "{:?}", world.stations[0].events);
    let seen = world.seen(0);
    assert_eq!((seen.retransmitted, seen.unrepaired), (seen.lost, 0), "{seen:?}");
    assert!(seen.asked <= seen.lost + seen.lost / 20 + 5, "{seen:?}");
    let rtt = world.sender().rtt_ns().expect("a round trip");
    assert!((MS * 9 / 10..MS * 3 / 2).contains(&rtt), "{rtt}");
}

#[test]
fn a_clock_that_steps_by_an_hour_or_is_set_on_a_little_changes_nothing() {
    let hour = 3_600 * SECOND as i64;
    for step in [hour, -hour, 100 * MS as i64] {
        assert_kept(&set_on(step));
    }
}

/// As if the path had become longer by more than the budget: it is followed after a twentieth of a second.
#[test]
fn a_clock_that_is_set_back_a_little_costs_a_few_frames_at_most() {
    let world = set_on(-100 * MS as i64);
    let late = 100 * MS / FRAME_NS;
    assert!(
        world.damaged + world.lost <= late,
        "{} {}",
        world.damaged,
        world.lost
    );
    let last = world.damage.iter().map(|(at, _)| *at).max().unwrap_or(0);
    assert!(last < 2 * SECOND + 105 * MS, "{last}");
    assert_eq!(
        world.whole + world.damaged + world.lost,
        u64::from(world.frames())
    );
}

/// An hour at a hundredth of the rate of other tests, so that it is quick: packets of a flow come every 20 ms.
#[test]
fn a_clock_that_runs_100_ppm_fast_or_slow_keeps_the_budget_for_an_hour() {
    for drift_ppm in [100, -100] {
        let world = run(Setup {
            latency_ns: 60 * MS,
            for_ns: 3_600 * SECOND,
            slower: 100,
            flows: 4,
            ..drifting(drift_ppm)
        });
        world.assert_whole();
        let seen = world.seen(0);
        println!(
            "{drift_ppm} ppm: {} lost, longest {} ns",
            seen.lost, world.longest_ns
        );
        assert_eq!(seen.unrepaired, 0, "{seen:?}");
        assert!(seen.lost > 1_000, "{seen:?}");
        assert!(
            world.longest_ns < 100 * FRAME_NS + 60 * MS,
            "{}",
            world.longest_ns
        );
    }
}

/// Without repair, incomplete frames are output when their budget is over, by the receiver's clock.
#[test]
fn the_budget_is_that_of_the_receivers_clock() {
    for drift_ppm in [0, 100, -100] {
        let world = run(Setup {
            arq: false,
            for_ns: 20 * SECOND,
            ..drifting(drift_ppm)
        });
        assert!(world.damaged > 150);
        let (least, most) = world.waited_ns;
        println!("{drift_ppm} ppm: from {least} to {most} ns after the last packet");
        // Of a slow clock, the fastest packet may be one of four seconds ago.
        assert!(least >= 19 * MS && most <= 20 * MS, "{drift_ppm}: {least} {most}");
    }
}
