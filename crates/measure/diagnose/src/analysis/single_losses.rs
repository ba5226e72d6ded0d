//! Whether long packets are lost one by one beside what packets of all lengths lose in bursts. The share of lost packets hides that,
//! since a few bursts more or less change it as much; the number of loss events does not. It must not know how sets of causes are compared.

use weir_results::StreamBurst;
use weir_stats::Counted;

use super::limit::Limit;
use super::load::Load;
use super::spread::Spread;
use super::{Step, sequences};

/// Events of long packets are this number of standard deviations above what those of short ones predict, at least.
const CLEAR: f64 = 6.0;
/// And this multiple of them, at least.
const TIMES: f64 = 1.3;
/// What a single test of long packets loses beyond, over what all of them do, at least.
const LIKE: f64 = 0.4;
/// Lost packets have to be more by as many as the events, or by this many times as many, since some are near bursts, within this
/// number of standard deviations.
const NEAR_BURSTS: f64 = 2.0;
const WITHIN: f64 = 3.0;
/// Variance of the number of events over that of independent ones, where a single test has to tell.
const CLUMPED: f64 = 1.5;
/// Losses with at most this number of packets of the stream between them are one event.
const REACH: u64 = 32;
/// Where this share of the packets is as near to an event, or in one, events are no longer told apart: of short ones, which others are
/// compared with, and of long ones.
const CROWDED: f64 = 0.5;
const MOST_CROWDED: f64 = 0.75;
/// Rounds in which the share of losses that are near another settles.
const ROUNDS: usize = 20;
/// A test in which hosts dropped a larger share of the lost packets says nothing of events in the network.
const OF_HOSTS: f64 = 0.05;

/// Tests of some lengths.
#[derive(Clone, Copy, Debug, Default)]
struct Tests {
    payload: u32,
    events: f64,
    packets: f64,
    seconds: f64,
    lost: Counted,
    /// Lost packets over events, weighted by lost packets.
    effect: f64,
    /// Variance of the events that comes from which flows take which routes.
    of_routes: f64,
}

impl Tests {
    /// None where the store does not hold all of them, or where they are too many.
    fn of(step: &Step, spread: &Spread, is_short: bool) -> Option<Self> {
        let lost = step.loss();
        let bursts: Vec<&StreamBurst> = sequences::undisturbed(step).collect();
        let (mut events, mut squares, mut all, mut near) = (0.0, 0.0, 0.0, 0);
        for event in
            bursts.chunk_by(|a, b| b.first_sequence.saturating_sub(a.first_sequence + a.length) <= REACH)
        {
            let size = event.iter().map(|burst| burst.length).sum::<u64>() as f64;
            let end = event.last().map_or(0, |last| last.first_sequence + last.length);
            near += REACH + end.saturating_sub(event[0].first_sequence);
            events += 1.0;
            squares += size * size;
            all += size;
        }
        let most = if is_short { CROWDED } else { MOST_CROWDED };
        let is_known = step.test.bursts_complete && near as f64 <= most * lost.trials as f64;
        is_known.then_some(Tests {
            payload: step.test.payload,
            events,
            packets: lost.trials as f64,
            seconds: step.test.active_ns as f64 / 1e9,
            lost,
            effect: squares / f64::max(all, 1.0),
            of_routes: spread.routes * (lost.trials as f64 / spread.bursts.max(1.0)).powi(2),
        })
    }

    fn all(tests: &[Tests]) -> Self {
        let sum = |of: fn(&Tests) -> f64| tests.iter().map(of).sum::<f64>();
        let lost = weir_stats::total(&tests.iter().map(|test| test.lost).collect::<Vec<_>>());
        Tests {
            payload: tests.first().map_or(0, |test| test.payload),
            events: sum(|test| test.events),
            packets: sum(|test| test.packets),
            seconds: sum(|test| test.seconds),
            effect: sum(|test| test.effect * test.lost.events as f64) / lost.events.max(1) as f64,
            of_routes: sum(|test| test.of_routes),
            lost,
        }
    }

    /// Events that these would have had if they were as many for each packet as in `others`.
    fn as_in(&self, others: &Tests) -> f64 {
        self.packets * others.events / others.packets.max(1.0)
    }

    /// Packets per second.
    fn rate(&self) -> f64 {
        self.packets / self.seconds.max(1e-9)
    }

    /// Variance of the share of lost packets.
    fn variance(&self) -> f64 {
        let share = self.lost.rate();
        self.effect.max(1.0) * share * (1.0 - share) / self.packets.max(1.0)
    }
}

/// What the number of loss events says for losses of long packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Said {
    /// How much more likely the events are with them, nats.
    pub gain: f64,
    /// Share of long packets that is lost so, 0 to 1; none where so many more are lost that most are near another.
    pub share: Option<f64>,
    /// What one loss of short packets stands for.
    pub packets_per_event: f64,
}

/// Whether payloads longer than `longest` are lost beside what all others lose, in tests that met no limit; none where that is not
/// clear. Those from `full` on are at lower rates: where all others met the limit, they tell.
pub(super) fn said(
    steps: &[&Step],
    (loads, spreads): (&[Load], &[Spread]),
    full: usize,
    longest: u32,
    limit: Option<&Limit>,
) -> Option<Said> {
    let of = |from: usize, to: usize, is_free: &dyn Fn(&Load) -> bool| {
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for (load, spread) in loads[from..to].iter().zip(&spreads[from..to]) {
            let step = steps[load.index];
            if is_free(load) && step.drop.is_none() && step.spoiled_by_hosts() <= OF_HOSTS {
                let is_short = load.payload <= longest;
                let tests = if is_short { &mut short } else { &mut long };
                tests.extend(Tests::of(step, spread, is_short));
            }
        }
        (short, long)
    };
    let is_free = |load: &Load| limit.is_none_or(|limit| !limit.steps.contains(&load.index));
    let (mut short, mut long) = of(0, full, &is_free);
    if short.is_empty() || long.is_empty() {
        let is_free = |load: &Load| limit.is_none_or(|limit| load.is_far_below(limit));
        (short, long) = of(full, loads.len(), &is_free);
    }
    of_tests(&short, &long)
}

/// None where the events of long packets are not clearly more than those of short ones, or not as losses one by one are.
fn of_tests(short: &[Tests], long: &[Tests]) -> Option<Said> {
    let (below, above) = (Tests::all(short), Tests::all(long));
    if below.packets <= 0.0 || above.packets <= 0.0 {
        return None;
    }
    let expected = above.as_in(&below).max(1.0);
    // Each number of events that is expected is an estimate itself.
    let variance = clumping(short) * expected * (1.0 + expected / below.events.max(1.0));
    let deviations = (above.events - expected) / (variance + above.of_routes).sqrt();
    let share = (above.events - expected) / above.packets;
    let is_like = |test: &Tests| {
        let (beyond, all) = (test.events - test.as_in(&below), share * test.packets);
        beyond >= LIKE * all - WITHIN * all.sqrt()
    };
    // All tests of a length say more than each.
    let mut by_length: Vec<Tests> = long.to_vec();
    by_length.sort_by_key(|test| test.payload);
    let mut lengths = by_length.chunk_by(|a, b| a.payload == b.payload).map(Tests::all);
    let have_some = |test: Tests| {
        let least = LIKE * share * test.packets;
        test.events - test.as_in(&below) >= least - WITHIN * least.sqrt()
    };
    let more = above.lost.rate() - below.lost.rate();
    let slack = WITHIN * (above.variance() + below.variance()).sqrt();
    let is_as_many = (share - slack..=NEAR_BURSTS * share + slack).contains(&more);
    let is_clear = deviations >= CLEAR && above.events >= TIMES * expected && is_as_many;
    let (seen, bursts) = (above.events / above.packets, expected / above.packets);
    let length = below.lost.events as f64 / below.events.max(1.0);
    let said = Said {
        gain: 0.5 * deviations * deviations,
        share: Some(with_merged(seen, bursts, length)).filter(|share| more <= NEAR_BURSTS * share),
        packets_per_event: below.effect,
    };
    let is_like = long.iter().all(is_like) && lengths.all(have_some);
    (is_clear && is_like && !are_of_time(&below, &above, share)).then_some(said)
}

/// Losses one by one for each packet, where so many events are seen of them and of bursts, and so many of the bursts alone, which are
/// this long: one that comes within reach of another loss is part of that one's event.
fn with_merged(events: f64, bursts: f64, length: f64) -> f64 {
    let reach = REACH as f64;
    let hidden = (bursts * (reach + length)).exp();
    let (events, bursts) = (events * hidden, bursts * hidden);
    let mut share = events - bursts;
    for _ in 0..ROUNDS {
        let seen = (-share * reach).exp();
        share = events / seen.max(CROWDED) - bursts;
    }
    share
}

/// Whether bursts that come in time, and take fewer of long packets, explain the events as well: there are as many in a second, and
/// those of long packets are nearer to what is left of a burst at their rate than to bursts as long as ever with a share of single
/// losses between them.
fn are_of_time(below: &Tests, above: &Tests, share: f64) -> bool {
    let expected = above.seconds * below.events / below.seconds.max(1e-9);
    if above.events > TIMES * expected + CLEAR * expected.sqrt() {
        return false;
    }
    let slower = below.rate() / above.rate().max(1e-9);
    let in_bursts = (above.lost.rate() - share).max(0.0);
    let beside = (below.effect * in_bursts + share) / above.lost.rate().max(f64::MIN_POSITIVE);
    let of_time = (below.effect / slower).max(1.0);
    let off = |effect: f64| (above.effect.max(1.0) / effect.max(1.0)).ln().abs();
    slower > TIMES && off(of_time) <= off(beside)
}

/// Variance of the number of events over that of independent ones, 1 at least.
fn clumping(tests: &[Tests]) -> f64 {
    let all = Tests::all(tests);
    if tests.len() < 2 {
        return CLUMPED;
    }
    let off = |test: &Tests| {
        let expected = (test.packets * all.events / all.packets.max(1.0)).max(1.0);
        (test.events - expected).powi(2) / expected
    };
    (tests.iter().map(off).sum::<f64>() / (tests.len() as f64 - 1.0)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100,000 packets in 10 s, of which bursts of 10 take `bursts`, and which lose `single` one by one.
    fn test(bursts: u64, single: u64) -> Tests {
        let lost = Counted {
            events: 10 * bursts + single,
            trials: 100_000,
        };
        Tests {
            payload: 1400,
            events: (bursts + single) as f64,
            packets: 100_000.0,
            seconds: 10.0,
            lost,
            effect: 10.0,
            of_routes: 0.0,
        }
    }

    #[test]
    fn losses_one_by_one_are_seen_among_bursts_that_vary_as_much() {
        let short = [test(200, 0), test(170, 0)];
        let found = of_tests(&short, &[test(160, 300), test(210, 280)]).expect("losses one by one");
        assert!(
            found.gain > 50.0 && found.share.is_some_and(|share| (0.0029..0.0045).contains(&share)),
            "{found:?}"
        );
        // More bursts are no losses one by one, nor is what one test has and another has not.
        assert_eq!(of_tests(&short, &[test(300, 0), test(320, 0)]), None);
        assert_eq!(of_tests(&short, &[test(190, 400), test(190, 0)]), None);
        // The same bursts fall apart: as many packets are lost.
        assert_eq!(of_tests(&short, &[test(0, 1_900), test(0, 1_900)]), None);
    }

    /// Of independent losses with probability p, a share p (1 - p)^32 has none of the 32 packets before it lost; beside bursts, those
    /// that begin within 32 packets, or end there, hide others, too.
    #[test]
    fn losses_near_each_other_are_counted() {
        for p in [0.0005_f64, 0.002, 0.0104] {
            let events = p * (1.0 - p).powi(32);
            let share = with_merged(events, 0.0, 1.0);
            assert!((share / p - 1.0).abs() < 0.01, "{share} for {p}");
        }
        let (single, bursts) = (0.0098_f64, 0.004_f64);
        let alone = (1.0 - bursts).powi(32 + 4);
        let events = (single + bursts) * (1.0 - single).powi(32) * alone;
        let share = with_merged(events, bursts * alone, 4.0);
        assert!((share / single - 1.0).abs() < 0.04, "{share}");
    }

    /// A third of the packets in the same time, with as many events.
    fn slower(lost: u64, effect: f64) -> Tests {
        Tests {
            packets: 33_000.0,
            lost: Counted {
                events: lost,
                trials: 33_000,
            },
            effect,
            ..test(190, 0)
        }
    }

    #[test]
    fn bursts_that_come_in_time_take_fewer_of_long_packets_each() {
        let short = [test(200, 0), test(170, 0)];
        assert_eq!(of_tests(&short, &[slower(620, 3.3)]), None);
        assert_eq!(of_tests(&short, &[slower(740, 3.3)]), None);
        assert!(of_tests(&short, &[slower(740, 8.0)]).is_some());
    }
}
