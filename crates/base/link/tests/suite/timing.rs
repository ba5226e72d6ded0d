//! When packets leave: serialization, delay and traces, exact to the nanosecond against computations of their own.

use crate::rig::{Minstd, chi_squared, chi_squared_limit, drain, fixed, jitter, link_over, offer, packet};
use weir_link::{DropCause, Nanos, QueueSpec, RateSpec, RateStep, RouteSpec};

/// A route whose rate follows these steps.
fn stepped(steps: &[RateStep]) -> RouteSpec {
    RouteSpec {
        rate: RateSpec::Steps(steps.to_vec()),
        ..RouteSpec::clean()
    }
}

fn step(duration_ns: u64, rate: u64) -> RateStep {
    RateStep { duration_ns, rate }
}

#[test]
fn one_packet_takes_its_serialization_and_the_delay() {
    // 1,500 bytes at 10 Mbit/s: 1.2 ms. A delay of 10 ms.
    let mut link = link_over(RouteSpec {
        delay_ns: 10_000_000,
        ..fixed(10_000_000)
    });
    assert_eq!(offer(&mut link, 5_000, packet(1500, 0, ())), None);
    assert_eq!(link.next_departure(), Some(Nanos(5_000 + 1_200_000 + 10_000_000)));
    assert!(link.poll(Nanos(11_204_999)).is_none());
    let departure = link.poll(Nanos(11_205_000)).expect("its time has come");
    assert_eq!(
        (departure.at, departure.route, departure.duplicate),
        (Nanos(11_205_000), 0, false)
    );
    assert_eq!(link.next_departure(), None);
}

#[test]
fn back_to_back_packets_do_not_drift() {
    for (rate, length, overhead) in [
        (7, 100, 0),
        (999_999_937, 1500, 14),
        (3_000_000_000, 77, 38),
        (12_345_678_901, 8948, 14),
    ] {
        let mut link = link_over(RouteSpec {
            overhead,
            delay_ns: 123,
            ..fixed(rate)
        });
        let count: u64 = if rate == 7 { 1_000 } else { 200_000 };
        for number in 0..count {
            assert_eq!(offer(&mut link, 0, packet(length, 0, number)), None);
        }
        for (n, departure) in (1_u128..).zip(drain(&mut link)) {
            let bits_e9 = n * u128::from(length + overhead) * 8_000_000_000;
            let expected = bits_e9.div_ceil(u128::from(rate)) + 123;
            assert_eq!(u128::from(departure.at.0), expected, "{rate} bit/s, packet {n}");
            assert_eq!(departure.packet.payload, n as u64 - 1);
        }
        assert_eq!(link.counters().delivered, count);
    }
}

#[test]
fn an_unlimited_route_only_delays() {
    let mut link = link_over(RouteSpec {
        delay_ns: 7,
        ..RouteSpec::clean()
    });
    for number in 0..10 {
        assert_eq!(offer(&mut link, number / 3, packet(1500, 0, number)), None);
    }
    let departures = drain(&mut link);
    let times: Vec<u64> = departures.iter().map(|departure| departure.at.0).collect();
    assert_eq!(times, [7, 7, 7, 8, 8, 8, 9, 9, 9, 10]);
    assert!(
        departures
            .iter()
            .map(|departure| departure.packet.payload)
            .eq(0..10)
    );
    assert_eq!(link.counters().most_queued_bytes, 0);
}

/// A transmitter that steps through time by nanoseconds.
fn tick_by_tick(steps: &[RateStep], arrivals: &[(u64, u32)]) -> Vec<u64> {
    const WORK_PER_BYTE: u128 = 8_000_000_000;
    let period: u64 = steps.iter().map(|step| step.duration_ns).sum();
    let rate_at = |now: u64| {
        let mut phase = now % period;
        for step in steps {
            if phase < step.duration_ns {
                return u128::from(step.rate);
            }
            phase -= step.duration_ns;
        }
        unreachable!("the phase lies within the period")
    };
    let mut ends = Vec::new();
    let mut next = 0;
    let mut left: Option<u128> = None;
    for now in 0.. {
        let mut can_do = rate_at(now);
        while next < arrivals.len() {
            let (arrival, length) = arrivals[next];
            if left.is_none() && arrival <= now {
                left = Some(u128::from(length) * WORK_PER_BYTE);
            }
            let Some(work) = left else { break };
            if work > can_do {
                left = Some(work - can_do);
                break;
            }
            can_do -= work;
            left = None;
            next += 1;
            ends.push(now + 1);
        }
        if next == arrivals.len() {
            return ends;
        }
    }
    unreachable!("time does not end")
}

#[test]
fn rate_steps_agree_with_a_clock_that_ticks() {
    let mut random = Minstd::new(5);
    let mut draw = |most: u64| (random.uniform() * (most + 1) as f64) as u64;
    for _ in 0..300 {
        let count = 1 + draw(4);
        let mut steps: Vec<RateStep> = (0..count)
            .map(|_| step(1 + draw(40), draw(3) * (1 + draw(2_999_999_999))))
            .collect();
        steps[0].rate += 1_000_000_007;
        let mut at = 0;
        let arrivals: Vec<(u64, u32)> = (0..30)
            .map(|_| {
                at += draw(1) * draw(300);
                (at, 1 + draw(80) as u32)
            })
            .collect();
        let mut link = link_over(stepped(&steps));
        for &(at, length) in &arrivals {
            assert_eq!(offer(&mut link, at, packet(length, 0, ())), None);
        }
        let ends: Vec<u64> = drain(&mut link).iter().map(|departure| departure.at.0).collect();
        assert_eq!(ends, tick_by_tick(&steps, &arrivals), "{steps:?} {arrivals:?}");
    }
}

#[test]
fn rate_steps_worked_by_hand() {
    // 8 Mbit/s for 1 ms (1,000 bytes), nothing for 2 ms, 16 Mbit/s for 1 ms (2,000 bytes), again and again.
    let mut link = link_over(stepped(&[
        step(1_000_000, 8_000_000),
        step(2_000_000, 0),
        step(1_000_000, 16_000_000),
    ]));
    for length in [500, 500, 1000, 1500, 6000] {
        assert_eq!(offer(&mut link, 0, packet(length, 0, ())), None);
    }
    // The third packet begins when the rate has just become 0, and ends 0.5 ms into the 16 Mbit/s. The fourth takes
    // the rest of those (1,000 bytes) and 0.5 ms of the next period. The last: 500 bytes to 5 ms, 2,000 to 8 ms,
    // 1,000 to 9 ms, 2,000 to 12 ms, 500 by 12.5 ms.
    let times: Vec<u64> = drain(&mut link)
        .iter()
        .map(|departure| departure.at.0 / 1_000)
        .collect();
    assert_eq!(times, [500, 1_000, 3_500, 4_500, 12_500]);
}

#[test]
fn a_trace_that_stands_still_tells_when_it_goes_on() {
    let steps = [step(1_000, 1_000_000_000), step(3_600_000_000_000, 0)];
    let mut link = link_over(stepped(&steps));
    assert_eq!(offer(&mut link, 2_000, packet(100, 0, ())), None);
    // 800 bits at 1 Gbit/s, from the second period on.
    assert_eq!(link.next_departure(), Some(Nanos(3_600_000_001_000 + 800)));
    assert!(link.poll(Nanos(3_600_000_001_799)).is_none());
    assert!(link.poll(Nanos(3_600_000_001_800)).is_some());
}

#[test]
fn a_packet_of_many_periods_is_exact() {
    // 3 bit/s for 1 ns in every 1,000 ns: 3 billionths of a bit in each period.
    let mut link = link_over(stepped(&[step(1, 3), step(999, 0)]));
    for _ in 0..2 {
        assert_eq!(offer(&mut link, 0, packet(1, 0, ())), None);
    }
    // 8e9 billionths: the last 2 of them in period 2,666,666,666. 16e9: the last 1 in period 5,333,333,333.
    let times: Vec<u64> = drain(&mut link).iter().map(|departure| departure.at.0).collect();
    assert_eq!(times, [2_666_666_666_001, 5_333_333_333_001]);
}

fn opportunities(at_ns: &[u64], period_ns: u64, bytes: u32) -> RouteSpec {
    let rate = RateSpec::Opportunities {
        at_ns: at_ns.to_vec(),
        period_ns,
        bytes,
    };
    RouteSpec {
        rate,
        ..RouteSpec::clean()
    }
}

#[test]
fn opportunities_worked_by_hand() {
    // One each at 2 and 5, two at 6, one at 10, where the trace begins again: then 12, 15, 16, 16, 20, ...
    let mut link = link_over(opportunities(&[2, 5, 6, 6, 10], 10, 1504));
    let mut times = Vec::new();
    let mut offer_all = |at: u64, lengths: &[u32]| {
        for &length in lengths {
            assert_eq!(offer(&mut link, at, packet(length, 0, length)), None);
        }
        let departures = drain(&mut link);
        times.extend(
            departures
                .iter()
                .map(|departure| (departure.at.0, departure.packet.length)),
        );
    };
    // 700 and 700 share the first; the third takes the 104 bytes left there and 196 of the one at 5; 1,308 are left
    // there, and lost because nothing waits.
    offer_all(0, &[700, 700, 300]);
    // Both at 6 are used at once, the second in part, and the one at 10.
    offer_all(5, &[1504, 1400, 1504]);
    // Too late for the one at 10, in time for the one at 12; a long one needs four more.
    offer_all(10, &[1504, 1504 * 4]);
    assert_eq!(
        times,
        [
            (2, 700),
            (2, 700),
            (5, 300),
            (6, 1504),
            (6, 1400),
            (10, 1504),
            (12, 1504),
            (20, 6016)
        ]
    );
}

/// The rule of mahimahi's link shell as its paper describes it, opportunity after opportunity.
fn one_opportunity_after_the_other(
    at_ns: &[u64],
    period: u64,
    bytes: u64,
    arrivals: &[(u64, u32)],
) -> Vec<u64> {
    let mut ends = Vec::new();
    let mut sending: Option<u64> = None;
    for cycle in 0.. {
        for at in at_ns.iter().map(|at| at + cycle * period) {
            let mut left = bytes;
            while left > 0 && ends.len() < arrivals.len() {
                let (arrival, length) = arrivals[ends.len()];
                if sending.is_none() && arrival >= at {
                    break;
                }
                let todo = sending.unwrap_or(u64::from(length));
                let now = todo.min(left);
                left -= now;
                sending = (todo > now).then_some(todo - now);
                if sending.is_none() {
                    ends.push(at);
                }
            }
        }
        if ends.len() == arrivals.len() {
            break;
        }
    }
    ends
}

#[test]
fn opportunities_agree_with_a_walk_through_the_trace() {
    let mut random = Minstd::new(11);
    let mut draw = |most: u64| (random.uniform() * (most + 1) as f64) as u64;
    for _ in 0..300 {
        let mut at_ns: Vec<u64> = (0..1 + draw(5)).map(|_| draw(30)).collect();
        at_ns.sort_unstable();
        let period = at_ns[at_ns.len() - 1].max(1) + draw(1) * draw(10);
        let bytes = 1 + draw(200);
        let mut at = 0;
        let arrivals: Vec<(u64, u32)> = (0..40)
            .map(|_| {
                at += draw(1) * draw(60);
                (at, 1 + draw(400) as u32)
            })
            .collect();
        let mut link = link_over(opportunities(&at_ns, period, bytes as u32));
        for &(at, length) in &arrivals {
            assert_eq!(offer(&mut link, at, packet(length, 0, ())), None);
        }
        let ends: Vec<u64> = drain(&mut link).iter().map(|departure| departure.at.0).collect();
        let expected = one_opportunity_after_the_other(&at_ns, period, bytes, &arrivals);
        assert_eq!(
            ends, expected,
            "{at_ns:?} every {period}, {bytes} bytes, {arrivals:?}"
        );
    }
}

#[test]
fn a_packet_waits_in_the_queue_for_its_opportunity() {
    let mut link = link_over(RouteSpec {
        queue: QueueSpec::Packets(2),
        overhead: 4,
        ..opportunities(&[1_000], 1_000, 1504)
    });
    assert_eq!(offer(&mut link, 0, packet(1500, 0, 0)), None);
    assert_eq!(offer(&mut link, 0, packet(1500, 0, 1)), None);
    assert_eq!(offer(&mut link, 999, packet(1500, 0, 2)), Some(DropCause::Queue));
    assert_eq!(offer(&mut link, 1_000, packet(1500, 0, 3)), None);
    let left: Vec<(u64, i32)> = drain(&mut link)
        .iter()
        .map(|departure| (departure.at.0, departure.packet.payload))
        .collect();
    assert_eq!(left, [(1_000, 0), (2_000, 1), (3_000, 3)]);
}

#[test]
fn a_fraction_of_a_nanosecond_is_lost_only_when_the_transmitter_was_idle() {
    // 1 byte at 3 Gbit/s: 2.67 ns.
    let mut link = link_over(fixed(3_000_000_000));
    for at in [0, 2, 6] {
        assert_eq!(offer(&mut link, at, packet(1, 0, ())), None);
    }
    // The second comes before the first has gone at 2.67, and goes at 5.33. The third begins anew: 8.67.
    let times: Vec<u64> = drain(&mut link).iter().map(|departure| departure.at.0).collect();
    assert_eq!(times, [3, 6, 9]);
}

#[test]
fn jitter_without_reordering_keeps_the_order() {
    let mut link = link_over(RouteSpec {
        delay_ns: 5_000_000,
        jitter: jitter(1_000_000, false),
        ..RouteSpec::clean()
    });
    let count = 20_000_u64;
    for number in 0..count {
        assert_eq!(offer(&mut link, number * 10_000, packet(1500, 0, number)), None);
    }
    let mut last = 0;
    for (number, departure) in (0..count).zip(drain(&mut link)) {
        assert_eq!(departure.packet.payload, number);
        let delay = departure.at.0 - number * 10_000;
        assert!((5_000_000..=6_000_000).contains(&delay), "{delay}");
        assert!(departure.at.0 >= last);
        last = departure.at.0;
    }
}

#[test]
fn jitter_with_reordering_is_even_and_lets_packets_overtake() {
    let mut link = link_over(RouteSpec {
        delay_ns: 5_000_000,
        jitter: jitter(999_999, true),
        ..fixed(10_000_000_000)
    });
    let count = 100_000_u64;
    for number in 0..count {
        assert_eq!(offer(&mut link, number * 10_000, packet(1250, 0, number)), None);
    }
    let departures = drain(&mut link);
    assert!(departures.is_sorted_by_key(|departure| departure.at));
    let reversals = departures
        .windows(2)
        .filter(|pair| pair[1].packet.payload < pair[0].packet.payload)
        .count();
    assert!(reversals > 10_000, "{reversals}");
    let mut tenths = [0; 10];
    for departure in &departures {
        let jitter = departure.at.0 - departure.packet.payload * 10_000 - 1_000 - 5_000_000;
        tenths[(jitter / 100_000) as usize] += 1;
    }
    let statistic = chi_squared(&tenths, &[count as f64 / 10.0; 10]);
    assert!(statistic < chi_squared_limit(9), "{tenths:?}: {statistic}");
}

/// With reordering, a packet that still waits may leave before those that are on their way.
#[test]
fn sleeping_until_the_foretold_time_misses_no_departure() {
    let route = RouteSpec {
        delay_ns: 3_000,
        jitter: jitter(50_000, true),
        ..fixed(1_000_000_000)
    };
    let mut link = link_over(route);
    for number in 0..2_000 {
        assert_eq!(offer(&mut link, 0, packet(100, 0, number)), None);
    }
    let mut left = 0;
    while let Some(at) = link.next_departure() {
        while let Some(departure) = link.poll(at) {
            assert_eq!(departure.at, at);
            left += 1;
        }
    }
    assert_eq!(left, 2_000);
}
