//! The account of a multi-flow test against a second one, written here from the definitions and as slow as they are:
//! streams whose packets are dropped, copied and delayed in known ways, at every depth of the reordering buffer, over
//! every way of spreading, and across the wrap of the sequence numbers.

use std::collections::{BTreeMap, BTreeSet};

use weir_measure::flows::{ReceiverReport, StreamAccount, StreamAccountPlan};
use weir_record::{Direction, Record};
use weir_stats::ReorderDepth;
use weir_wire::{
    FLOW_HEADER_LENGTH, FlowData, FlowId, Sequence, SessionId, Spread, SpreadKind, UdpKey, UnixNanos,
};

const LENGTH: u32 = 1000;
/// From one packet's sending to the next one's.
const SPACING_NS: u64 = 10_000;
const START_NS: u64 = 5_000_000_000;
const UNIX_NS: u64 = 1_700_000_000_000_000_000;

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Noise(u64);

impl Noise {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }
}

/// A packet on its way: when it comes, and its numbers counted from 0.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at_ns: u64,
    stream: u64,
    flow: u16,
    in_flow: u64,
}

struct Stream {
    arrivals: Vec<Arrival>,
    sent: u64,
    sent_per_flow: Vec<u64>,
}

/// Sends `count` packets over a path that drops some alone and some in bursts, copies some, at once or later, and
/// delays some by up to 200 others.
fn mistreated(noise: &mut Noise, count: u64, case: &Case) -> Stream {
    let mut spread = Spread::new(case.kind, case.flows, case.seed);
    let mut per_flow = vec![0; usize::from(case.flows)];
    let mut arrivals = Vec::new();
    let mut dropping = 0;
    for stream in 0..count {
        let flow = spread.flow(u64::from(case.first) + stream).0;
        let in_flow = per_flow[usize::from(flow)];
        per_flow[usize::from(flow)] += 1;
        if noise.below(300) == 0 {
            dropping = 1 + noise.below(40);
        }
        if dropping > 0 {
            dropping -= 1;
            continue;
        }
        if noise.below(40) == 0 {
            continue;
        }
        let mut come = |others: u64| {
            arrivals.push(Arrival {
                at_ns: START_NS + (stream + others) * SPACING_NS,
                stream,
                flow,
                in_flow,
            });
        };
        match noise.below(30) {
            0 => come(noise.below(200)),
            1 => come(noise.below(10)),
            _ => come(0),
        }
        if noise.below(50) == 0 {
            come(noise.below(100));
        }
    }
    // Stable: of those that come at the same time, the one that was sent first.
    arrivals.sort_by_key(|arrival| arrival.at_ns);
    Stream {
        arrivals,
        sent: count,
        sent_per_flow: per_flow,
    }
}

/// Result of the definitions for one sequence of numbers.
#[derive(Debug, Default)]
struct Expected {
    received: BTreeSet<u64>,
    lost: BTreeSet<u64>,
    late: u64,
    duplicates: u64,
    reordered: u64,
    reversals: u64,
    breaks: u64,
}

impl Expected {
    /// A missing packet is given up once a packet `depth.packets` above it, or higher, has come, or once
    /// `depth.time_ns` have passed since any higher one came. What comes then is late; what came before is a copy.
    fn of(arrivals: &[(u64, u64)], sent: u64, depth: ReorderDepth) -> Self {
        let mut it = Expected::default();
        let mut missing: BTreeMap<u64, u64> = BTreeMap::new();
        let mut late = BTreeSet::new();
        let (mut highest, mut before) = (None, None);
        for &(now, number) in arrivals {
            it.give_up(&mut missing, |_, noticed| {
                noticed.saturating_add(depth.time_ns) <= now
            });
            if let Some(before) = before {
                it.reversals += u64::from(number < before);
                it.breaks += u64::from(number != before + 1);
            }
            before = Some(number);
            if highest.is_none_or(|highest| number > highest) {
                for gap in highest.map_or(0, |highest| highest + 1)..number {
                    missing.insert(gap, now);
                }
                it.received.insert(number);
                highest = Some(number);
                let packets = u64::from(depth.packets.max(1));
                it.give_up(&mut missing, |gap, _| number >= gap + packets);
            } else if missing.remove(&number).is_some() {
                it.received.insert(number);
                it.reordered += 1;
            } else if it.received.contains(&number) || late.contains(&number) {
                it.duplicates += 1;
            } else {
                late.insert(number);
                it.late += 1;
            }
        }
        it.lost = (0..sent).filter(|number| !it.received.contains(number)).collect();
        it
    }

    fn give_up(&mut self, missing: &mut BTreeMap<u64, u64>, when: impl Fn(u64, u64) -> bool) {
        missing.retain(|gap, noticed| !when(*gap, *noticed));
    }

    /// Runs of lost packets: first number and length.
    fn runs(&self) -> BTreeMap<u64, u64> {
        let mut runs: BTreeMap<u64, u64> = BTreeMap::new();
        for &number in &self.lost {
            match runs.last_entry() {
                Some(mut last) if *last.key() + *last.get() == number => *last.get_mut() += 1,
                _ => drop(runs.insert(number, 1)),
            }
        }
        runs
    }
}

struct Case {
    depth: ReorderDepth,
    kind: SpreadKind,
    flows: u16,
    first: u32,
    seed: u64,
}

/// Two flows in turn, from this number on, whose gaps 64 later packets give up.
fn two_in_turn(first: u32) -> Case {
    Case {
        depth: ReorderDepth {
            packets: 64,
            time_ns: u64::MAX,
        },
        kind: SpreadKind::RoundRobin,
        flows: 2,
        first,
        seed: 1,
    }
}

/// Feeds the packets, as they are on the wire, to the account.
fn account(case: &Case, stream: &Stream) -> (ReceiverReport, Vec<Record>) {
    let plan = StreamAccountPlan {
        direction: Direction::Forward,
        ports: (0..case.flows).map(|flow| 6000 + flow).collect(),
        depth: case.depth,
        spread: Spread::new(case.kind, case.flows, case.seed),
        first_sequence: case.first,
        silence_ns: u64::MAX,
        clock_offset_ns: 0,
    };
    let (key, session) = (UdpKey::new([3; 16]), SessionId(9));
    let mut account = StreamAccount::new(plan, START_NS, UNIX_NS);
    for arrival in &stream.arrivals {
        let packet = FlowData {
            session,
            stream_sequence: Sequence(case.first.wrapping_add(arrival.stream as u32)),
            flow_sequence: Sequence(case.first.wrapping_add(arrival.in_flow as u32)),
            flow: FlowId(arrival.flow),
            sent: UnixNanos(UNIX_NS + arrival.stream * SPACING_NS),
            ..FlowData::default()
        };
        let unix_ns = UNIX_NS + (arrival.at_ns - START_NS);
        let mut header = [0; FLOW_HEADER_LENGTH];
        packet.encode(&key, &mut header);
        let read = FlowData::decode(&key, session, &header).expect("a packet of this session");
        account.on_packet(arrival.at_ns, unix_ns, &read, LENGTH);
    }
    let end_ns = stream.arrivals.last().map_or(START_NS, |last| last.at_ns) + SPACING_NS;
    let report = account.finish(
        end_ns,
        UNIX_NS + (end_ns - START_NS),
        Some((stream.sent, &stream.sent_per_flow)),
        &[],
    );
    (report, account.take_records())
}

/// Compares every number of the report and of the records with what the definitions say.
fn compare(case: &Case, stream: &Stream) {
    let name = format!(
        "{:?}, {:?} over {}, from {}",
        case.depth, case.kind, case.flows, case.first
    );
    let (report, records) = account(case, stream);
    let numbers: Vec<(u64, u64)> = stream.arrivals.iter().map(|it| (it.at_ns, it.stream)).collect();
    let whole = Expected::of(&numbers, stream.sent, case.depth);
    assert_eq!(report.sent, stream.sent, "{name}");
    assert_eq!(report.received, whole.received.len() as u64, "{name}");
    assert_eq!(
        report.bytes,
        whole.received.len() as u64 * u64::from(LENGTH),
        "{name}"
    );
    assert_eq!(report.lost, whole.lost.len() as u64, "{name}");
    assert_eq!(
        (report.late, report.duplicates),
        (whole.late, whole.duplicates),
        "{name}"
    );
    assert_eq!(
        (report.reordered, report.rejected),
        (whole.reordered, 0),
        "{name}"
    );
    let runs = whole.runs();
    let mut lengths = BTreeMap::new();
    runs.values()
        .for_each(|length| *lengths.entry(*length).or_insert(0) += 1);
    assert_eq!(report.bursts, runs.len() as u64, "{name}");
    assert_eq!(report.burst_lengths, lengths, "{name}");
    assert_eq!(
        report.longest_burst,
        runs.values().max().copied().unwrap_or(0),
        "{name}"
    );
    assert_eq!(report.owd.count, report.received, "{name}");

    let mut in_runs = 0;
    for (index, flow) in report.flows.iter().enumerate() {
        let of_flow = stream.arrivals.iter().filter(|it| usize::from(it.flow) == index);
        let numbers: Vec<(u64, u64)> = of_flow.map(|it| (it.at_ns, it.in_flow)).collect();
        let expected = Expected::of(&numbers, stream.sent_per_flow[index], case.depth);
        let runs = expected.runs();
        in_runs += runs.values().filter(|length| **length > 1).sum::<u64>();
        assert_eq!(flow.port, 6000 + index as u16, "{name}");
        assert_eq!(flow.sent, stream.sent_per_flow[index], "{name}, flow {index}");
        assert_eq!(
            flow.counts.received,
            expected.received.len() as u64,
            "{name}, flow {index}"
        );
        assert_eq!(
            flow.counts.lost,
            expected.lost.len() as u64,
            "{name}, flow {index}"
        );
        assert_eq!(
            (flow.counts.late, flow.counts.duplicates),
            (expected.late, expected.duplicates),
            "{name}, flow {index}"
        );
        assert_eq!(
            (flow.counts.reversals, flow.counts.sequence_breaks),
            (expected.reversals, expected.breaks),
            "{name}, flow {index}"
        );
        assert_eq!(flow.counts.bursts, runs.len() as u64, "{name}, flow {index}");
        assert_eq!(
            flow.counts.longest_burst,
            runs.values().max().copied().unwrap_or(0),
            "{name}, flow {index}"
        );
    }

    assert_eq!(report.lost_in_runs, Some(in_runs), "{name}");
    rows_tell_the_same(&name, case, &report, &records, &runs);
}

fn rows_tell_the_same(
    name: &str,
    case: &Case,
    report: &ReceiverReport,
    records: &[Record],
    runs: &BTreeMap<u64, u64>,
) {
    let mut stored_runs = BTreeMap::new();
    let mut spread = Spread::new(case.kind, case.flows, case.seed);
    let mut losing: BTreeSet<u16> = BTreeSet::new();
    for first in runs.keys() {
        for number in *first..first + runs[first] {
            losing.insert(spread.flow(u64::from(case.first) + number).0);
        }
    }
    let (mut flow_lost, mut window_lost, mut window_flows) = (0, 0, BTreeSet::new());
    let (mut received, mut lost, mut flow_burst_lost) = (0, 0, 0);
    for record in records {
        match record {
            Record::StreamBurst(_, burst) => {
                stored_runs.insert(burst.first_sequence - u64::from(case.first), burst.length);
            }
            Record::FlowBurst(_, burst) => flow_burst_lost += burst.length,
            Record::StreamSecond(_, row) => {
                received += row.received;
                lost += row.lost;
            }
            Record::FlowSecond(_, row) => flow_lost += row.counts.lost,
            Record::LossWindow(_, window) => {
                window_lost += window.lost;
                assert_eq!(window.flows_losing as usize, window.flows.len(), "{name}");
                window_flows.extend(window.flows.iter().copied());
            }
            other => panic!("{name}: {other:?} was not expected"),
        }
    }
    assert_eq!(&stored_runs, runs, "{name}");
    assert_eq!((received, lost), (report.received, report.lost), "{name}");
    assert_eq!((window_lost, window_flows), (report.lost, losing), "{name}");
    let of_flows: u64 = report.flows.iter().map(|flow| flow.counts.lost).sum();
    assert_eq!((flow_lost, flow_burst_lost), (of_flows, of_flows), "{name}");
}

#[test]
fn every_count_equals_that_of_the_definitions() {
    let depths = [
        (0, 50_000_000),
        (1, u64::MAX),
        (2, u64::MAX),
        (8, 50_000_000),
        (64, 500_000),
        (150, u64::MAX),
        (65_536, 1_000_000),
        (65_536, 0),
        (65_536, 50_000_000),
    ];
    let mut noise = Noise(1);
    for (round, (packets, time_ns)) in depths.into_iter().enumerate() {
        for kind in [SpreadKind::RoundRobin, SpreadKind::Permuted, SpreadKind::Random] {
            for first in [0, 1, 0xFFFF_FF00, u32::MAX] {
                let case = Case {
                    depth: ReorderDepth { packets, time_ns },
                    kind,
                    flows: [1, 3, 8][round % 3],
                    first,
                    seed: noise.number(),
                };
                let stream = mistreated(&mut noise, 3000, &case);
                compare(&case, &stream);
            }
        }
    }
}

#[test]
fn a_worked_example_across_the_wrap() {
    // Two flows in turn, from 256 before the wrap. Of 600 packets: 255 (the last before the wrap) and 256 (the first
    // after it, number 0 on the wire) are dropped, 300 comes twice, 400 comes after 403, and 500 comes after 580,
    // when 64 others have given it up.
    let case = two_in_turn(0xFFFF_FF00);
    let mut order: Vec<u64> = (0..600)
        .filter(|number| ![255, 256, 400, 500].contains(number))
        .collect();
    let after = |order: &Vec<u64>, number| {
        order
            .iter()
            .position(|other| *other == number)
            .expect("it is sent")
            + 1
    };
    for (number, other) in [(300, 300), (400, 403), (500, 580)] {
        let place = after(&order, other);
        order.insert(place, number);
    }
    let arrivals = order.iter().zip(0..).map(|(&number, place)| Arrival {
        at_ns: START_NS + place * SPACING_NS,
        stream: number,
        flow: (number % 2) as u16,
        in_flow: number / 2,
    });
    let stream = Stream {
        arrivals: arrivals.collect(),
        sent: 600,
        sent_per_flow: vec![300, 300],
    };
    let (report, _) = account(&case, &stream);
    assert_eq!((report.sent, report.received, report.lost), (600, 597, 3));
    assert_eq!((report.late, report.duplicates, report.reordered), (1, 1, 1));
    assert_eq!(report.burst_lengths, BTreeMap::from([(1, 1), (2, 1)]));
    // Flow 0 carries 256, 300, 400 and 500. Its own depth of 64 packets spans 128 of the stream, so there 500 comes in
    // time, 40 of the flow's packets after its turn.
    let flow = &report.flows[0];
    assert_eq!(
        (
            flow.counts.received,
            flow.counts.lost,
            flow.counts.late,
            flow.counts.duplicates
        ),
        (299, 1, 0, 1)
    );
    assert_eq!((flow.counts.reversals, flow.counts.longest_burst), (2, 1));
    // After 256; the copy of 300; 402, 400 and 404; 502, 500 and 582.
    assert_eq!(flow.counts.sequence_breaks, 1 + 1 + 3 + 3);
    let flow = &report.flows[1];
    assert_eq!(
        (
            flow.counts.received,
            flow.counts.lost,
            flow.counts.late,
            flow.counts.duplicates
        ),
        (299, 1, 0, 0)
    );
    assert_eq!((flow.counts.reversals, flow.counts.sequence_breaks), (0, 1));
    compare(&case, &stream);
}

/// One-way delays of 100 to 299 us between clocks that are hours apart, as the receiver computes them.
/// One flow of two loses one packet in five, more than have a row each; the other then loses 40 in a row.
#[test]
fn a_dark_flow_has_its_row_beside_more_single_losses_than_are_kept() {
    let case = two_in_turn(0);
    let sent = 90_000;
    let is_dark = |number: u64| number % 2 == 1 && (80_000..80_080).contains(&number);
    let is_lost = |number: u64| number % 10 == 4 || is_dark(number);
    let arrivals = (0..sent)
        .filter(|number| !is_lost(*number))
        .map(|number| Arrival {
            at_ns: START_NS + number * SPACING_NS,
            stream: number,
            flow: (number % 2) as u16,
            in_flow: number / 2,
        });
    let stream = Stream {
        arrivals: arrivals.collect(),
        sent,
        sent_per_flow: vec![sent / 2; 2],
    };
    let (report, records) = account(&case, &stream);
    let of_dark = records.iter().filter_map(|record| match record {
        Record::FlowBurst(_, burst) if burst.flow == 1 => Some((burst.first_sequence, burst.length)),
        _ => None,
    });
    assert_eq!(of_dark.collect::<Vec<_>>(), [(40_000, 40)]);
    assert!(report.events_merged > 3_000, "{}", report.events_merged);
}

#[test]
fn delays_keep_their_digits_whatever_the_clocks_say() {
    for apart_ns in [0, 3_600_000_000_000, 90_000_000_000_000] {
        let mut account = StreamAccount::new(
            StreamAccountPlan {
                direction: Direction::Forward,
                ports: vec![5000],
                depth: ReorderDepth {
                    packets: 64,
                    time_ns: 1_000_000,
                },
                spread: Spread::new(SpreadKind::RoundRobin, 1, 1),
                first_sequence: 0,
                silence_ns: 1_000_000_000,
                clock_offset_ns: 0,
            },
            START_NS,
            UNIX_NS,
        );
        for sequence in 0..200_u32 {
            let sent = UNIX_NS + u64::from(sequence) * SPACING_NS;
            // 7 and 200 have no common factor: each delay comes once, out of order.
            let delay_ns = 1_000 * (100 + u64::from(sequence) * 7 % 200);
            let packet = FlowData {
                session: SessionId(1),
                flow: FlowId(0),
                flags: 0,
                stream_sequence: Sequence(sequence),
                flow_sequence: Sequence(sequence),
                frame: 0,
                frame_offset: 0,
                sent: UnixNanos(sent),
            };
            let now_ns = START_NS + u64::from(sequence) * SPACING_NS + delay_ns;
            account.on_packet(now_ns, sent + delay_ns + apart_ns, &packet, LENGTH);
        }
        let report = account.finish(
            START_NS + SPACING_NS * 1000,
            UNIX_NS + SPACING_NS * 1000,
            None,
            &[0],
        );
        let apart = apart_ns as i64;
        for (quantile, expected_us) in [
            (report.owd.p50, 199),
            (report.owd.p90, 279),
            (report.owd.p99, 297),
        ] {
            let error = quantile - apart - expected_us * 1000;
            assert!(
                error.abs() <= 1000,
                "{apart_ns} apart: {error} from {expected_us} us"
            );
        }
        assert_eq!(
            (report.owd.min - apart, report.owd.max - apart),
            (100_000, 299_000)
        );
        assert_eq!(report.flows[0].owd, report.owd);
        // 9,409.212 ns by the sum that RFC 3550's recursion stands for, in exact fractions: tests/data/jitter.py.
        assert_eq!(report.flows[0].jitter_ns, 9_409);
    }
}
