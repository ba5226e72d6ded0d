//! Two senders of which one is wanted at a time. Each has pictures of its own, so that a frame of both would be found.

use weir_stream_proto::{Join, ReceiverEvent, SwitchLimits, SwitchReason};

use super::world::{FRAME_NS, MS, Plan, SECOND, Setup, World, run};

const LIMITS: SwitchLimits = SwitchLimits {
    silence_ns: 20 * MS,
    unrepaired_share: 0.002,
    over_ns: 400 * MS,
    back_after_ns: SECOND,
};

fn two(first: Plan, second: Plan) -> Setup {
    let own = |plan: Plan, rank| Plan {
        own_pictures: true,
        rank,
        ..plan
    };
    Setup {
        join: Join::Switch(LIMITS),
        stations: vec![own(first, 0), own(second, 1)],
        ..Setup::default()
    }
}

/// Switches, as (when in ms, from, to, why).
fn switches(world: &World) -> Vec<(u64, u16, u16, SwitchReason)> {
    let switched = |(at, event): &(u64, ReceiverEvent)| match event {
        ReceiverEvent::Switched { from, to, why, .. } => Some((at / MS, from.0, to.0, *why)),
        _ => None,
    };
    world.events.iter().filter_map(switched).collect()
}

/// Which senders are wanted from when on, in nanoseconds, and which are not.
fn wanted(world: &World) -> Vec<(u64, u16, bool)> {
    let wanted = |(at, event): &(u64, ReceiverEvent)| match event {
        ReceiverEvent::Wanted { sender, wanted } => Some((*at, sender.0, *wanted)),
        _ => None,
    };
    world.events.iter().filter_map(wanted).collect()
}

/// Each frame is of the sender that was in use: senders change where the events say so, and pictures go on.
#[track_caller]
fn assert_boundaries(world: &World, alike: bool) {
    let mut switched = world.events.iter().filter_map(|(_, event)| match event {
        ReceiverEvent::Switched { from, to, frame, .. } => Some((from.0, to.0, *frame)),
        _ => None,
    });
    for pair in world.given.windows(2) {
        let ((before, shown_before, number_before), (sender, shown, number)) = (pair[0], pair[1]);
        // Restarted numbers do not show that a sender is slightly behind.
        let goes_on = if alike {
            shown > shown_before
        } else {
            shown + 2 > shown_before
        };
        assert!(number > number_before && goes_on, "{pair:?}");
        if sender != before {
            let (from, to, frame) = switched.next().expect("an event");
            assert_eq!((from, to), (before, sender));
            assert!(frame <= number && frame > number_before, "{pair:?} {frame}");
        }
    }
    assert_eq!(switched.next(), None);
}

#[test]
fn one_sends_and_the_other_holds() {
    let world = run(two(Plan::default(), Plan::default()));
    world.assert_whole();
    assert_eq!(world.seen(1).received, 0);
    assert_eq!(wanted(&world), [(0, 0, true), (0, 1, false)]);
    assert_eq!(switches(&world), []);
    assert!(world.receiver.is_finished());
}

#[test]
fn when_one_is_silent_the_other_takes_over_and_later_the_first_again() {
    for numbers_behind in [0, 200] {
        let first = Plan::cut(SECOND + FRAME_NS / 3, SECOND + 200 * MS);
        let second = Plan {
            numbers_behind,
            ..Plan::default()
        };
        let world = run(two(first, second));
        assert_boundaries(&world, numbers_behind == 0);
        let switches = switches(&world);
        let [
            (first_at, 0, 1, SwitchReason::Silence),
            (back_at, 1, 0, SwitchReason::Back),
        ] = switches[..]
        else {
            panic!("{switches:?}");
        };
        // Silent from 1,001 on, noticed 20 ms later; the first whole frame a round trip and a frame's time later.
        assert!((1_020..1_027).contains(&first_at), "{first_at}");
        assert!((2_020..2_030).contains(&back_at), "{back_at}");
        // Frames not sent in those milliseconds are lost; at the switch back none are.
        let gap = (first_at - 1_000) * MS / FRAME_NS + 2;
        let shown = world.whole + world.damaged;
        let missed = u64::from(world.frames()) - shown;
        assert!(
            (8..=gap).contains(&missed) && world.damaged <= 1,
            "{missed} {gap} {}",
            world.damaged
        );
        // Continued numbers show the losses; restarted ones cannot.
        if numbers_behind == 0 {
            assert_eq!(world.lost, missed);
        } else {
            assert_eq!(world.lost, 0);
        }
    }
}

#[test]
fn when_too_much_of_one_stays_lost_the_other_takes_over_without_a_gap() {
    let first = Plan::over("rtt = \"1ms\"\nforward.loss = \"1%\"");
    let world = run(Setup {
        for_ns: 6 * SECOND,
        ..two(first, Plan::default())
    });
    assert_boundaries(&world, true);
    let switches = switches(&world);
    let (at, from, to, why) = switches[0];
    assert_eq!((from, to, why), (0, 1, SwitchReason::Unrepaired));
    assert!((400..520).contains(&at), "{at}");
    // Back after a second; bad again; back after two seconds.
    let (back_at, _, _, why) = switches[1];
    assert_eq!(why, SwitchReason::Back);
    assert!((at + 1_000..at + 1_020).contains(&back_at), "{switches:?}");
    let (again_at, _, _, why) = switches[2];
    assert_eq!(why, SwitchReason::Unrepaired);
    assert!((back_at + 400..back_at + 520).contains(&again_at), "{switches:?}");
    let (back_at, _, _, _) = switches[3];
    assert!(
        (again_at + 2_000..again_at + 2_020).contains(&back_at),
        "{switches:?}"
    );
    assert_eq!(world.lost, 0);
    assert_eq!(world.whole + world.damaged, u64::from(world.frames()));
    assert!(world.damaged > 100);
}

#[test]
fn when_one_is_removed_the_other_takes_over_and_it_is_gone_back_to_with_a_new_session() {
    let first = Plan::killed(SECOND, SECOND);
    let again = Plan {
        from_ns: 2 * SECOND,
        own_pictures: true,
        numbers_behind: 1_204,
        ..Plan::default()
    };
    let mut setup = Setup {
        for_ns: 6 * SECOND,
        ..two(first, Plan::default())
    };
    setup.stations.push(again);
    let world = run(setup);
    assert_boundaries(&world, false);
    let switches = switches(&world);
    let [
        (first_at, 0, 1, SwitchReason::Removed),
        (back_at, 1, 2, SwitchReason::Back),
    ] = switches[..]
    else {
        panic!("{switches:?}");
    };
    assert!((1_000..1_006).contains(&first_at), "{first_at}");
    assert!((3_000..3_010).contains(&back_at), "{back_at}");
    let missed = u64::from(world.frames()).abs_diff(world.whole);
    assert!(missed <= 5, "{missed}");
    assert!(world.receiver.is_finished());
}

#[test]
fn the_only_sender_may_begin_anew() {
    let first = Plan::killed(SECOND + FRAME_NS / 2, SECOND + 100 * MS);
    let again = Plan {
        from_ns: 2 * SECOND,
        numbers_behind: (2 * SECOND / FRAME_NS) as u32,
        ..Plan::default()
    };
    let world = run(two(first, again));
    assert_boundaries(&world, true);
    assert_eq!(world.lost, 0);
    assert!(world.damaged <= 1);
    let (_, shown, _) = world
        .given
        .iter()
        .find(|(sender, _, _)| *sender == 1)
        .expect("it goes on");
    assert!(
        u64::from(*shown) <= 2 * SECOND / FRAME_NS + 1,
        "from its first frame on: {shown}"
    );
    assert!(world.receiver.is_finished());
}

#[test]
fn a_sender_that_brings_nothing_is_not_switched_to() {
    // The second one's path carries nothing, either. The first returns, and its losses are forgotten 400 ms later.
    let first = Plan::cut(SECOND, SECOND + 300 * MS);
    let world = run(two(first, Plan::cut(0, 10 * SECOND)));
    assert_eq!(switches(&world), []);
    let wanted = wanted(&world);
    let in_ms: Vec<_> = wanted
        .iter()
        .map(|(at, sender, wanted)| (at / MS, *sender, *wanted))
        .collect();
    assert!(
        matches!(
            in_ms[..],
            [_, _, (1_019..=1_020, 1, true), (1_700..=1_800, 1, false)]
        ),
        "{wanted:?}"
    );
    let gone = 300 * MS / FRAME_NS;
    assert!(
        (world.lost + world.damaged).abs_diff(gone) <= 2,
        "{} {gone}",
        world.lost
    );
}

#[test]
fn of_three_the_one_that_is_able_takes_over() {
    let cut = Plan::cut(SECOND, 10 * SECOND);
    let mut setup = Setup {
        for_ns: 3 * SECOND,
        ..two(cut.clone(), cut)
    };
    setup.stations.push(Plan {
        own_pictures: true,
        rank: 2,
        ..Plan::default()
    });
    let world = run(setup);
    assert_boundaries(&world, true);
    let switches = switches(&world);
    // The second one is waited for half a second.
    let [(at, 0, 2, SwitchReason::Silence)] = switches[..] else {
        panic!("{switches:?}");
    };
    assert!((1_519..1_530).contains(&at), "{at}");
    assert_eq!(world.damaged, 0);
    assert!(world.receiver.is_finished());
}

#[test]
fn between_two_that_lose_too_much_it_does_not_go_to_and_fro() {
    let world = run(Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"1%\"",
        for_ns: 10 * SECOND,
        ..two(Plan::default(), Plan::default())
    });
    assert_boundaries(&world, true);
    let switches = switches(&world);
    println!("{switches:?}");
    // Each is left no sooner than the other has rested: one second, then two, four and so on.
    assert!((3..=7).contains(&switches.len()), "{switches:?}");
    assert_eq!(world.lost, 0);
}
