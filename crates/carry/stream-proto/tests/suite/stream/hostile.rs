//! Forged, replayed and misdirected packets to either of two senders' flows; formats that change and streams that end.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use weir_stats::ArrivalCounters;
use weir_stream_proto::{Join, ReceiverEvent, SwitchLimits};

use super::world::{MS, Plan, SECOND, Setup, World, code, run};

/// What is added to the datagrams of one sender: to be rejected, and to be known.
#[derive(Default)]
struct Added {
    rejected: u64,
    replayed: u64,
}

/// Adds forged packets, replays of now and of before, and packets of the other sender.
fn attack(world: &mut World) -> Vec<Rc<RefCell<Added>>> {
    let own: Rc<RefCell<[VecDeque<Vec<u8>>; 2]>> = Rc::default();
    let attack_one = |at: usize| {
        let (added, all): (Rc<RefCell<Added>>, _) = (Rc::default(), own.clone());
        let counts = added.clone();
        world.stations[at].meddle = Box::new(move |datagrams| {
            let (mut counts, mut all) = (counts.borrow_mut(), all.borrow_mut());
            let packet = datagrams[0].clone();
            let mut forged = packet.clone();
            forged[packet.len() % 40] ^= 4;
            datagrams.extend([forged, packet[..30].to_vec(), packet.clone()]);
            counts.rejected += 2;
            counts.replayed += 1;
            if let Some(other) = all[1 - at].back() {
                datagrams.push(other.clone());
                counts.rejected += 1;
            }
            if let Some(old) = all[at].front() {
                datagrams.push(old.clone());
                counts.replayed += 1;
            }
            if all[at].len() == 300 {
                all[at].pop_front();
            }
            all[at].push_back(packet);
        });
        added
    };
    let mut attack_one = attack_one;
    vec![attack_one(0), attack_one(1)]
}

fn rest(counters: ArrivalCounters) -> ArrivalCounters {
    ArrivalCounters {
        rejected: 0,
        duplicates: 0,
        ..counters
    }
}

#[test]
fn forged_and_replayed_packets_to_either_of_two_change_nothing_but_a_counter() {
    let switch = Join::Switch(SwitchLimits {
        silence_ns: 20 * MS,
        unrepaired_share: 0.5,
        over_ns: 400 * MS,
        back_after_ns: 500 * MS,
    });
    for join in [Join::Merge, switch] {
        let setup = || Setup {
            link: "rtt = \"1ms\"\nforward.loss = \"0.1%\"",
            fec: code(12, 96),
            arq: true,
            join,
            for_ns: 3 * SECOND,
            stations: vec![
                Plan::cut(SECOND, SECOND + 100 * MS),
                Plan {
                    rank: 1,
                    ..Plan::default()
                },
            ],
            ..Setup::default()
        };
        let plain = run(setup());
        let mut attacked = World::new(setup());
        let added = attack(&mut attacked);
        let attacked = attacked.run();
        assert!(plain.damaged + plain.lost < 20);
        for (at, added) in added.iter().enumerate() {
            let (with, without) = (attacked.seen(at), plain.seen(at));
            assert!(with.received > 5_000, "{with:?}");
            let added = added.borrow();
            assert_eq!(with.rejected, without.rejected + added.rejected);
            assert_eq!(with.duplicates, without.duplicates + added.replayed);
            assert_eq!(rest(with), rest(without));
            let [with, without] = [&attacked, &plain].map(|world| world.stations[at].sender.counters());
            assert_eq!(with, without);
        }
        assert_eq!(attacked.given, plain.given);
        assert_eq!(attacked.events, plain.events);
    }
}

#[test]
fn a_format_that_changes_is_told_by_each_sender_and_frames_name_theirs() {
    let world = run(Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"0.5%\"",
        arq: true,
        format_from: Some(1_000),
        stations: vec![Plan::default(), Plan::default()],
        ..Setup::default()
    });
    world.assert_whole();
    for sender in 0..2 {
        let told: Vec<_> = world
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                ReceiverEvent::Format {
                    sender: who,
                    format,
                    description,
                } if who.0 == sender => Some((*format, description.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(told, [(1, b"format 1".to_vec()), (2, b"format 2".to_vec())]);
    }
    assert!(world.formats[..1_000].iter().all(|format| *format == 1));
    assert!(world.formats[1_000..].iter().all(|format| *format == 2));
}

#[test]
fn the_stream_ends_when_all_that_are_wanted_have_ended_or_gone() {
    // One is killed and never says that it ended.
    let killed = Plan {
        killed_ns: Some(SECOND),
        ..Plan::default()
    };
    let setup = |removed_ns| Setup {
        for_ns: 2 * SECOND,
        stations: vec![
            Plan::default(),
            Plan {
                removed_ns,
                ..killed.clone()
            },
        ],
        ..Setup::default()
    };
    let world = run(setup(None));
    assert_eq!(world.receiver.ended(), None, "it might come back");
    let world = run(setup(Some(2 * SECOND + 500 * MS)));
    assert_eq!(world.receiver.ended(), Some(u64::from(world.frames())));
    assert!(world.receiver.is_finished());
    world.assert_whole();
}

/// The last frames are lost, and the end arrives: the missing frames are known.
#[test]
fn frames_lost_at_the_end_are_told() {
    let world = run(Setup {
        for_ns: 2 * SECOND,
        lose_frames_from: Some(1_190),
        ..Setup::default()
    });
    assert_eq!(world.frames(), 1_201);
    assert_eq!((world.whole, world.damaged, world.lost), (1_190, 0, 11));
    assert!(world.receiver.is_finished());
}
