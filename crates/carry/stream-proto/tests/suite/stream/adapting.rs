//! A code rate that follows the loss.

use weir_protect::Sealer;
use weir_stream_proto::{AdaptiveLimits, Fec};
use weir_wire::{MAX_FEEDBACK_LENGTH, MediaFeedback};

use super::world::{FRAME_NS, MS, Plan, SECOND, Setup, World, run, session, terms};

const LIMITS: AdaptiveLimits = AdaptiveLimits {
    window: 512,
    most_overhead: 0.25,
};

fn adaptive(link: &'static str) -> Setup {
    Setup {
        link,
        fec: Some(Fec::Adaptive(LIMITS)),
        ..Setup::default()
    }
}

/// Sources for a repair, second by second: the fewest of each.
fn fewest_sources(world: &World) -> Vec<u16> {
    let mut seconds: Vec<u16> = Vec::new();
    for (at, rate) in &world.rates {
        let second = (at / SECOND) as usize;
        seconds.resize(seconds.len().max(second + 1), u16::MAX);
        seconds[second] = seconds[second].min(rate.sources());
    }
    seconds
}

#[test]
fn in_calm_it_costs_less_than_two_per_cent_and_leaves_nothing_of_a_little_loss() {
    for (link, least_lost) in [
        ("rtt = \"1ms\"", 0),
        ("rtt = \"1ms\"\nforward.loss = \"0.04%\"", 400),
    ] {
        let world = run(Setup {
            for_ns: 40 * SECOND,
            ..adaptive(link)
        });
        world.assert_whole();
        let (sent, seen) = (world.sender().counters(), world.seen(0));
        assert_eq!((seen.lost, seen.unrepaired), (seen.recovered, 0));
        assert!(seen.lost >= least_lost, "{seen:?}");
        let overhead = sent.repairs as f64 / sent.sources as f64;
        let fewest = fewest_sources(&world);
        println!("{link}: overhead {overhead:.4}, fewest sources each second {fewest:?}");
        // With what it begins with, before anything is known.
        assert!(overhead < 0.02, "{overhead}");
        assert!(fewest[20..].iter().all(|sources| *sources == 64), "{fewest:?}");
    }
}

#[test]
fn more_loss_makes_it_rise_within_a_second_and_calm_makes_it_fall_again() {
    let world = run(Setup {
        for_ns: 60 * SECOND,
        stations: vec![Plan {
            worse: Some((20 * SECOND, 23 * SECOND, 50)),
            ..Plan::default()
        }],
        ..adaptive("rtt = \"1ms\"")
    });
    let fewest = fewest_sources(&world);
    println!(
        "2 % from 20 to 23: fewest sources each second {fewest:?}; {:?}",
        world.seen(0)
    );
    assert_eq!(fewest[19], 64);
    assert!(fewest[20] <= 12 && fewest[22] <= 12, "{fewest:?}");
    // Losses before the rate has risen may remain; after a second there are none.
    let last = world.damage.iter().map(|(at, _)| *at).max().unwrap_or(0);
    assert!(last < 21 * SECOND, "{:?}", world.damage);
    // It falls step by step.
    assert!(fewest[24] <= 24 && fewest[59] == 64, "{fewest:?}");
    let quickest = fewest
        .windows(2)
        .map(|pair| f64::from(pair[1]) / f64::from(pair[0]));
    assert!(quickest.fold(0.0, f64::max) <= 1.6, "{fewest:?}");
}

/// Bursts of 4 on average: one in 100 is longer than 16, of which no window here has as many repairs.
#[test]
fn losses_in_bursts_are_borne() {
    let world = run(Setup {
        for_ns: 40 * SECOND,
        ..adaptive("rtt = \"1ms\"\nforward.loss = { mean = \"0.05%\", burst = 4 }")
    });
    let seen = world.seen(0);
    let overhead = world.sender().counters().repairs as f64 / world.sender().counters().sources as f64;
    println!(
        "bursts of 4: overhead {overhead:.3}, {} damaged, {seen:?}",
        world.damaged
    );
    assert!(seen.unrepaired * 10 < seen.lost, "{seen:?}");
    assert!(overhead < 0.08, "{overhead}");
}

/// The first time that a flow is dark teaches it; the second time, nothing is lost before the flow is left.
#[test]
fn a_dark_flow_is_borne_by_the_code_alone_once_one_was_dark() {
    let world = run(Setup {
        for_ns: 6 * SECOND,
        stations: vec![Plan {
            dark: Some((5, SECOND, SECOND + 300 * MS)),
            dark_again: Some((9, 4 * SECOND, 4 * SECOND + 300 * MS)),
            ..Plan::default()
        }],
        ..adaptive("rtt = \"1ms\"\nforward.loss = \"0.04%\"")
    });
    let fewest = fewest_sources(&world);
    println!("{fewest:?} {:?} {:?}", world.damage, world.seen(0));
    assert!(fewest[1] <= 12 && fewest[4] <= 12, "{fewest:?}");
    let last = world.damage.iter().map(|(at, _)| *at).max().unwrap_or(0);
    assert!(last < SECOND + 60 * MS, "{:?}", world.damage);
}

/// A sender whose receiver reports nonsense keeps within its limits.
#[test]
fn the_limits_hold_whatever_is_reported() {
    let setup = adaptive("rtt = \"1ms\"");
    let mut sender: weir_stream_proto::Sender =
        weir_stream_proto::Sender::new(super::world::sender_config(&setup, 0), 0);
    let mut sealer = Sealer::new(&terms(&setup, 0).secrets);
    let mut bytes = [0; MAX_FEEDBACK_LENGTH];
    let mut random = 1u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as u32
    };
    for number in 0..20_000 {
        let flows: Vec<_> = (0..16)
            .map(|_| weir_wire::FlowStatus {
                newest: weir_wire::Sequence(next()),
                lost: next(),
                silent_us: next() >> (next() % 32),
            })
            .collect();
        let feedback = MediaFeedback {
            session: session(0),
            number,
            ..MediaFeedback::default()
        };
        let length = feedback.encode(&mut sealer, &flows, &[], &mut bytes);
        let length = length.expect("numbers rise");
        let now = number * FRAME_NS;
        sender
            .receive(now, weir_wire::UnixNanos(now), &mut bytes[..length])
            .expect("feedback");
        let rate = sender.fec_rate().expect("a rate");
        assert!(
            (4..=64).contains(&rate.sources()) && rate.window() <= 512,
            "{rate}"
        );
    }
}
