//! Tests of several threads at each end, in virtual time: together they send, and count, what one would.

use weir_record::{Direction, Record};
use weir_stats::{Counters, SendCounts};
use weir_units::Rate;
use weir_wire::{FlowData, FlowId, Sequence, Spread, SpreadKind, UnixNanos, flows_of_share};

use super::interleave::{Arrived, Batch, Interleaver};
use super::lockstep::{Lockstep, Turn};
use super::{
    FlowsPlan, ReceiverReport, SenderAccount, SenderReport, StreamAccount, StreamPacket, StreamSender,
    account_plan,
};
use crate::{ClockEstimate, VideoFormat};

const START: u64 = 9_000_000;
const SECOND: u64 = 1_000_000_000;
const UNIX: u64 = 1_700_000_000_000_000_000;
const CEILING: Rate = Rate(2_000_000_000);

/// A generator of random numbers that a failing test can repeat (SplitMix64).
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)) >> 11) % bound
    }
}

fn plan(unpaced: bool, max_bytes: Option<u64>) -> FlowsPlan {
    FlowsPlan {
        format: VideoFormat::named("1080p59.94-422-10").expect("a known format"),
        unpaced,
        length: 8100,
        flows: 7,
        spread: SpreadKind::Permuted,
        first_sequence: u32::MAX - 9_000,
        duration_ns: 2_300_000_000,
        max_bytes,
        ..FlowsPlan::default()
    }
}

/// A thread of a sender on a busy host.
struct Thread {
    core: StreamSender,
    /// When it runs next; none once it has ended.
    wakes_ns: Option<u64>,
}

/// What a sender did.
struct Sent {
    /// Each packet with the time at which it left, in the order of time.
    packets: Vec<(u64, StreamPacket)>,
    rows: Vec<Record>,
    report: SenderReport,
}

/// Runs a sender with so many threads on a host that lets each of them wait at random, now and then for long, until its end or
/// until it is stopped.
fn send(plan: &FlowsPlan, threads: u16, stopped_ns: u64, noise: &mut Noise) -> Sent {
    let lockstep = Lockstep::new(threads);
    let max_bytes = plan.max_bytes.unwrap_or(u64::MAX);
    let thread = |thread| {
        let flows = flows_of_share(thread, threads, plan.flows);
        let core = StreamSender::of_flows(plan, flows, CEILING, max_bytes, START);
        let wakes_ns = core.next_wake();
        Thread { core, wakes_ns }
    };
    let mut all: Vec<Thread> = (0..threads).map(thread).collect();
    let mut account = SenderAccount::new(Direction::Forward, threads);
    let (mut packets, mut rows) = (Vec::new(), Vec::new());
    loop {
        let waiting = all.iter().enumerate();
        let next = waiting
            .filter_map(|(index, it)| Some((it.wakes_ns?, index)))
            .min();
        let Some((at, index)) = next else { break };
        let Thread { core, wakes_ns } = &mut all[index];
        let late = if noise.below(300) == 0 { 9_000_000 } else { 40_000 };
        let now = at + noise.below(late);
        let over = now >= stopped_ns || core.is_over(now);
        match lockstep.turn(index as u16, core.blocks(), over) {
            Turn::Wait => {
                *wakes_ns = Some(now + 50_000);
                continue;
            }
            Turn::End => {
                *wakes_ns = None;
                rows.extend(account.add(index as u16, core.finish(now, UNIX + now, now - START)));
                continue;
            }
            Turn::Send => {}
        }
        let mut counts = SendCounts::default();
        core.hand_over(now, |packet| {
            counts.sent += 1;
            counts.bytes += u64::from(packet.length);
            packets.push((now, packet));
        });
        core.sent(counts);
        if let Some(part) = core.take_second(now, UNIX + now, || now - START) {
            rows.extend(account.add(index as u16, part));
        }
        *wakes_ns = Some(core.next_wake().unwrap_or(now).max(now + 1));
    }
    packets.sort_by_key(|(at, _)| *at);
    Sent {
        packets,
        rows,
        report: account.report(true),
    }
}

/// The packets of the stream from the first on, as the protocol numbers and places them: 640 to a frame.
fn stream(plan: &FlowsPlan, count: usize) -> impl Iterator<Item = StreamPacket> {
    let mut spread = Spread::new(plan.spread, plan.flows, plan.seed);
    let first = u64::from(plan.first_sequence);
    let mut per_flow = vec![first; usize::from(plan.flows)];
    (0..count as u64).map(move |index| {
        let flow = spread.flow(first + index).0;
        let flow_sequence = per_flow[usize::from(flow)];
        per_flow[usize::from(flow)] += 1;
        StreamPacket {
            flow,
            stream_sequence: first + index,
            flow_sequence,
            frame: index / 640,
            frame_offset: (index % 640) as u32 * 8100,
            last_of_frame: index % 640 == 639,
            length: 8100,
        }
    })
}

#[test]
fn several_threads_send_what_one_would_without_a_hole() {
    for seed in 0..12 {
        let mut noise = Noise(seed);
        let limit = (seed % 4 == 1).then_some(100_000_000);
        let plan = plan(seed % 2 == 0, limit);
        let stopped = if seed % 4 == 2 {
            START + SECOND / 2 + noise.below(SECOND)
        } else {
            u64::MAX
        };
        let sent = send(&plan, 2 + (seed % 3) as u16, stopped, &mut noise);
        let mut packets: Vec<StreamPacket> = sent.packets.iter().map(|(_, packet)| *packet).collect();
        packets.sort_by_key(|packet| packet.stream_sequence);
        let count = packets.len();
        assert!(count > 1_000, "{seed}: {count}");
        assert!(
            packets.iter().copied().eq(stream(&plan, count)),
            "{seed}: each once, and no hole"
        );

        let report = &sent.report;
        assert_eq!(report.counts.sent, count as u64, "{seed}");
        for (flow, on_flow) in report.sent_per_flow.iter().enumerate() {
            let counted = packets
                .iter()
                .filter(|packet| usize::from(packet.flow) == flow)
                .count();
            assert_eq!(*on_flow, counted as u64, "{seed}: flow {flow}");
        }
        if let Some(limit) = limit {
            assert!(
                report.counts.bytes <= limit && report.hit_byte_limit,
                "{seed}: {report:?}"
            );
        }
        rows_are_of_all_threads(&sent, seed);
    }
}

/// One row a second, each with what left in it.
#[track_caller]
fn rows_are_of_all_threads(sent: &Sent, seed: u64) {
    let last = sent.packets.last().expect("packets").0;
    let seconds = (last - START) / SECOND;
    assert!(
        sent.rows.len().abs_diff(seconds as usize + 1) <= 1,
        "{seed}: {seconds} {:?}",
        sent.rows
    );
    let mut sum = SendCounts::default();
    for record in &sent.rows {
        let Record::SenderSecond(Direction::Forward, row) = record else {
            panic!("{seed}: {record:?}")
        };
        sum.add(&row.counts);
    }
    assert_eq!(sum, sent.report.counts, "{seed}");
}

/// A path between the ends: each packet has a delay of its own, and some are lost.
fn travel(sent: &Sent, noise: &mut Noise) -> Vec<(u64, StreamPacket)> {
    let mut arrived: Vec<(u64, StreamPacket)> = Vec::new();
    for (left, packet) in &sent.packets {
        // Flow 3 loses one packet in eight, the others one in a hundred.
        let one_in = if packet.flow == 3 { 8 } else { 100 };
        if noise.below(one_in) > 0 {
            arrived.push((left + 200_000 + noise.below(300_000), *packet));
        }
    }
    arrived.sort_by_key(|(at, _)| *at);
    arrived
}

fn read(at_ns: u64, packet: &StreamPacket, plan: &FlowsPlan) -> Arrived {
    Arrived {
        at_ns,
        unix_ns: UNIX + at_ns,
        packet: FlowData {
            flow: FlowId(packet.flow),
            stream_sequence: Sequence(packet.stream_sequence as u32),
            flow_sequence: Sequence(packet.flow_sequence as u32),
            sent: UnixNanos(UNIX + at_ns - 200_000),
            ..FlowData::default()
        },
        bytes: plan.length,
        is_marked: false,
        is_cleared: false,
        ttl: None,
    }
}

fn account(plan: &FlowsPlan) -> StreamAccount {
    let ports = (0..plan.flows).map(|flow| 5000 + flow).collect();
    let plan = account_plan(plan, Direction::Forward, ports, ClockEstimate::default());
    StreamAccount::new(plan, START, UNIX + START)
}

fn end(mut account: StreamAccount, sent: &SenderReport) -> ReceiverReport {
    let told = Some((sent.counts.sent, sent.sent_per_flow.as_slice()));
    account.finish(START + 9 * SECOND, UNIX + START + 9 * SECOND, told, &[])
}

#[test]
fn several_readers_give_the_account_of_one_however_late_they_hand_on() {
    for seed in 0..6 {
        let mut noise = Noise(seed);
        let plan = plan(false, Some(300_000_000));
        let sent = send(&plan, 2, u64::MAX, &mut noise);
        let arrived = travel(&sent, &mut noise);
        let mut one = account(&plan);
        for (at, packet) in &arrived {
            read(*at, packet, &plan).enter(&mut one);
        }
        let expected = end(one, &sent.report);

        let readers = 2 + (seed % 3) as u16;
        let mut several = account(&plan);
        let mut interleaver = Interleaver::new(readers, START);
        let mut batches: Vec<Batch> = (0..readers).map(|_| Batch::default()).collect();
        let mut held = vec![START; usize::from(readers)];
        let reader_of = |flow| {
            let reads = |reader: &u16| flows_of_share(*reader, readers, plan.flows).contains(&flow);
            (0..readers).find(reads).expect("a reader")
        };
        let mut before = START;
        for (at, packet) in &arrived {
            let reader = usize::from(reader_of(packet.flow));
            batches[reader].packets.push(read(*at, packet, &plan));
            // Each hands on when it gets to it: now and then a reader is far behind the others.
            if *at >= held[reader] {
                let mut batch = std::mem::take(&mut batches[reader]);
                batch.until_ns = *at;
                interleaver.add(reader as u16, batch);
                let late = if noise.below(50) == 0 {
                    40_000_000
                } else {
                    1_000_000
                };
                held[reader] = at + 1_000_000 + noise.below(late);
            }
            while let Some(next) = interleaver.next() {
                assert!(next.at_ns >= before, "in the order of time");
                before = next.at_ns;
                next.enter(&mut several);
            }
            several.poll(interleaver.until_ns());
        }
        for (reader, batch) in (0..).zip(batches) {
            interleaver.add(reader, batch);
        }
        interleaver.end();
        while let Some(next) = interleaver.next() {
            next.enter(&mut several);
        }
        let report = end(several, &sent.report);
        assert!(
            report.lost > 500 && report.received + report.lost == report.sent,
            "{report:?}"
        );
        assert_eq!(report, expected, "{seed}");
        // Counted by hand.
        assert_eq!(report.received, arrived.len() as u64, "{seed}");
        for (flow, of_flow) in report.flows.iter().enumerate() {
            let counted = arrived
                .iter()
                .filter(|(_, it)| usize::from(it.flow) == flow)
                .count();
            assert_eq!(of_flow.counts.received, counted as u64, "{seed}: flow {flow}");
        }
    }
}
