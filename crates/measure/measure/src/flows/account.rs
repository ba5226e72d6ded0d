//! What became of each packet of a multi-flow test, counted exactly. Pure: packets and times come in, records
//! and a report come out; it knows no socket and no clock.
//!
//! Times come in two kinds: monotonic nanoseconds, which order things and run timeouts, and Unix nanoseconds,
//! which go into records and one-way delays.

use std::collections::BTreeMap;

use weir_record::{Direction, FlowBurst, FlowSecond, LossWindow, Record, Silence, StreamBurst, StreamSecond};
use weir_stats::{
    Arrival, Counters, DEFAULT_HISTORY, DurationHistogram, FlowAccount, FlowCounts, InterarrivalJitter,
    LossRun, LossWindows, Quantiles, ReorderAccount, ReorderDepth, SequenceExtender, SequenceTotals,
    SilenceDetector, SilenceEnd,
};
use weir_units::Rate;
use weir_wire::{FlowData, Spread};

use super::report::{FlowReport, ReceiverReport};

/// Records of events of each kind kept one by one in each second; beyond that they are counted in the seconds' rows
/// alone, and the run says so. Each kind has its own share: many short bursts, of the stream or of flows, must not drown
/// the one long burst of a flow.
const EVENTS_PER_SECOND: u32 = 5_000;
/// A burst of a flow from this number of packets on may be a dark time: at random as many in a row are seldom lost.
const LONG_BURST: u64 = 20;
const SECOND_NS: u64 = 1_000_000_000;
/// How often gaps are looked through.
const POLL_NS: u64 = 1_000_000;
/// Width of the windows in which losses on several flows count as simultaneous.
const LOSS_WINDOW_NS: u64 = 100_000_000;
/// How long a window of losses stays open after the reordering buffer can have given up on all of its packets.
const WINDOW_LATENESS_NS: u64 = 2_000_000_000;

/// What the receiver has to know beforehand.
#[derive(Clone, Debug)]
pub struct StreamAccountPlan {
    /// Which way the packets travel.
    pub direction: Direction,
    /// Destination port of each flow.
    pub ports: Vec<u16>,
    /// How long to wait for overtaken packets.
    pub depth: ReorderDepth,
    /// Which flow carries which packet.
    pub spread: Spread,
    /// First stream and flow sequence number on the wire.
    pub first_sequence: u32,
    /// A flow that is quiet for longer counts as silent.
    pub silence_ns: u64,
    /// Receiver's clock minus sender's, estimated.
    pub clock_offset_ns: i64,
}

struct FlowLane {
    port: u16,
    extender: SequenceExtender,
    account: FlowAccount,
    owd_second: DurationHistogram,
    owd: DurationHistogram,
    jitter: InterarrivalJitter,
    ttl: Option<u8>,
    /// Totals at the last second's end.
    before: FlowCounts,
    longest_this_second: u64,
    /// Counts that the account of the order does not see.
    beside: FlowCounts,
    silences: u64,
    silent_ns: u64,
    longest_silence_ns: u64,
}

/// Accounts for one direction of a test.
pub struct StreamAccount {
    plan: StreamAccountPlan,
    extender: SequenceExtender,
    stream: ReorderAccount,
    lanes: Vec<FlowLane>,
    silence: SilenceDetector,
    longest_stream_silence_ns: u64,
    windows: LossWindows,
    /// Flows seen losing in the run of losses at hand.
    losing: Vec<bool>,
    before: SequenceTotals,
    bytes: u64,
    bytes_before: u64,
    owd_second: DurationHistogram,
    owd: DurationHistogram,
    /// The first packet's delay by both clocks. Delays are recorded relative to it: the clocks of two hosts may
    /// disagree by hours, and the histograms keep three digits.
    owd_base: Option<i64>,
    rejected: u64,
    rejected_before: u64,
    next_poll_ns: u64,
    next_second_ns: u64,
    second_started_ns: u64,
    first_arrival_ns: Option<u64>,
    last_arrival_ns: u64,
    /// Unix time minus monotonic time, as of the last call that told both.
    unix_minus_monotonic: u64,
    events: Vec<Record>,
    events_this_second: EventCounts,
    events_merged: u64,
    bursts: u64,
    burst_lengths: BTreeMap<u64, u64>,
    lost_in_runs: u64,
}

impl StreamAccount {
    /// An account that starts at monotonic time `now_ns`, Unix time `unix_ns`.
    pub fn new(plan: StreamAccountPlan, now_ns: u64, unix_ns: u64) -> Self {
        let first = u64::from(plan.first_sequence);
        // All flows together remember as many packets as the stream does, which is as long.
        let history = DEFAULT_HISTORY / plan.ports.len().max(1) as u32;
        let lane = |port: &u16| FlowLane {
            port: *port,
            extender: SequenceExtender::new(plan.first_sequence),
            account: FlowAccount::with_history(first, plan.depth, history),
            owd_second: DurationHistogram::new(),
            owd: DurationHistogram::new(),
            jitter: InterarrivalJitter::new(),
            ttl: None,
            before: FlowCounts::default(),
            longest_this_second: 0,
            beside: FlowCounts::default(),
            silences: 0,
            silent_ns: 0,
            longest_silence_ns: 0,
        };
        let flows = plan.ports.len();
        StreamAccount {
            extender: SequenceExtender::new(plan.first_sequence),
            stream: ReorderAccount::new(first, plan.depth),
            lanes: plan.ports.iter().map(lane).collect(),
            silence: SilenceDetector::new(flows, plan.silence_ns),
            longest_stream_silence_ns: 0,
            windows: LossWindows::with_lateness(
                LOSS_WINDOW_NS,
                flows as u16,
                plan.depth.time_ns.saturating_add(WINDOW_LATENESS_NS),
            ),
            losing: vec![false; flows],
            before: SequenceTotals::default(),
            bytes: 0,
            bytes_before: 0,
            owd_second: DurationHistogram::new(),
            owd: DurationHistogram::new(),
            owd_base: None,
            rejected: 0,
            rejected_before: 0,
            next_poll_ns: now_ns,
            next_second_ns: now_ns.saturating_add(SECOND_NS),
            second_started_ns: now_ns,
            first_arrival_ns: None,
            last_arrival_ns: now_ns,
            unix_minus_monotonic: unix_ns.wrapping_sub(now_ns),
            events: Vec::new(),
            events_this_second: EventCounts::default(),
            events_merged: 0,
            bursts: 0,
            burst_lengths: BTreeMap::new(),
            lost_in_runs: 0,
            plan,
        }
    }

    /// Counts a datagram that was not a packet of this test.
    pub fn reject(&mut self) {
        self.rejected += 1;
    }

    /// Takes a packet that arrived at monotonic `now_ns`; `arrived_unix_ns` is the best timestamp there is.
    pub fn on_packet(&mut self, now_ns: u64, arrived_unix_ns: u64, packet: &FlowData, bytes: u32) {
        let index = usize::from(packet.flow.0);
        let (Some(lane), Some(sequence)) = (
            self.lanes.get_mut(index),
            self.extender.extend(packet.stream_sequence.0),
        ) else {
            self.rejected += 1;
            return;
        };
        let Some(flow_sequence) = lane.extender.extend(packet.flow_sequence.0) else {
            self.rejected += 1;
            return;
        };
        self.first_arrival_ns.get_or_insert(now_ns);
        self.last_arrival_ns = now_ns;

        let mut flow_runs = LossRuns::default();
        lane.account
            .on_packet(now_ns, flow_sequence, bytes, &mut |run| flow_runs.push(run));
        let mut stream_runs = LossRuns::default();
        let arrival = self
            .stream
            .on_packet(now_ns, sequence, &mut |run| stream_runs.push(run));
        if matches!(arrival, Arrival::InOrder | Arrival::Reordered) {
            self.bytes += u64::from(bytes);
            let raw = arrived_unix_ns.wrapping_sub(packet.sent.0) as i64;
            let relative = raw.wrapping_sub(*self.owd_base.get_or_insert(raw));
            lane.owd_second.record(relative);
            lane.jitter.update(relative);
            self.owd_second.record(relative);
        }
        if let Some(end) = self.silence.on_packet(index, now_ns) {
            self.on_silence(end);
        }
        self.on_flow_runs(index, flow_runs);
        self.on_stream_runs(stream_runs);
    }

    /// Counts a packet that [`on_packet`](Self::on_packet) took and that carries a congestion mark, or is no longer capable of
    /// ECN.
    pub fn on_ecn(&mut self, packet: &FlowData, is_marked: bool) {
        if let Some(lane) = self.lanes.get_mut(usize::from(packet.flow.0)) {
            lane.beside.ecn_marked += u64::from(is_marked);
            lane.beside.ecn_cleared += u64::from(!is_marked);
        }
    }

    /// Notes the TTL of a packet that [`on_packet`](Self::on_packet) took.
    pub fn on_ttl(&mut self, packet: &FlowData, ttl: u8) {
        if let Some(lane) = self.lanes.get_mut(usize::from(packet.flow.0)) {
            lane.ttl = Some(ttl);
        }
    }

    /// When [`StreamAccount::wake`] has something to do.
    pub fn next_wake(&self) -> u64 {
        self.next_poll_ns.min(self.next_second_ns)
    }

    /// Gives up on gaps whose time is over, and closes a second that is: its rows are then among
    /// [`StreamAccount::take_records`]. Returns the rate of that second. `socket_drops` are the drops at each flow's socket
    /// since the test began.
    pub fn wake(
        &mut self,
        now_ns: u64,
        unix_ns: u64,
        socket_drops: impl FnOnce() -> Vec<u64>,
    ) -> Option<Rate> {
        if now_ns >= self.next_poll_ns {
            self.poll(now_ns);
            self.next_poll_ns = now_ns + POLL_NS;
        }
        if now_ns < self.next_second_ns {
            return None;
        }
        let bytes = self.bytes - self.bytes_before;
        let rate = Rate::of(bytes, now_ns - self.second_started_ns);
        self.close_second(now_ns, unix_ns, &socket_drops());
        self.next_second_ns += SECOND_NS * (1 + (now_ns - self.next_second_ns) / SECOND_NS);
        Some(rate)
    }

    /// Gives up on gaps whose time is over, for a driver that waits for nothing but packets.
    pub fn poll(&mut self, now_ns: u64) {
        for index in 0..self.lanes.len() {
            let mut runs = LossRuns::default();
            self.lanes[index].account.poll(now_ns, &mut |run| runs.push(run));
            self.on_flow_runs(index, runs);
        }
        let mut runs = LossRuns::default();
        self.stream.poll(now_ns, &mut |run| runs.push(run));
        self.on_stream_runs(runs);
    }

    fn close_second(&mut self, now_ns: u64, unix_ns: u64, socket_drops: &[u64]) {
        self.unix_minus_monotonic = unix_ns.wrapping_sub(now_ns);
        self.poll(now_ns);
        self.drain_windows(now_ns, false);
        self.drain_stream_silences();
        let totals = self.stream.totals();
        let direction = self.plan.direction;
        let second = StreamSecond {
            unix_ns,
            duration_ns: now_ns.saturating_sub(self.second_started_ns),
            received: totals.received - self.before.received,
            bytes: self.bytes - self.bytes_before,
            lost: totals.lost - self.before.lost,
            late: totals.late - self.before.late,
            duplicates: totals.duplicates - self.before.duplicates,
            reordered: totals.reordered - self.before.reordered,
            rejected: self.rejected - self.rejected_before,
            owd: shifted(&self.owd_second, self.delay_of_zero()),
        };
        let base = self.delay_of_zero();
        self.events.push(Record::StreamSecond(direction, second));
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let drops = socket_drops
                .get(index)
                .copied()
                .unwrap_or(lane.beside.socket_drops);
            self.events.push(Record::FlowSecond(
                direction,
                lane.close_second(index as u16, unix_ns, drops, base),
            ));
        }
        self.owd.merge(&self.owd_second);
        self.owd_second.clear();
        self.before = totals;
        self.bytes_before = self.bytes;
        self.rejected_before = self.rejected;
        self.second_started_ns = now_ns;
        self.events_this_second = EventCounts::default();
    }

    /// Rows and events since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.events)
    }

    /// What a recorded delay of 0 stands for.
    fn delay_of_zero(&self) -> i64 {
        self.owd_base
            .unwrap_or(0)
            .saturating_sub(self.plan.clock_offset_ns)
    }

    /// Packets received so far, in time.
    pub fn received(&self) -> u64 {
        self.stream.totals().received
    }

    /// Ends the account. `sent` and `sent_per_flow` are the sender's own counts; without them, packets after
    /// the highest that arrived are not known to have been sent.
    pub fn finish(
        &mut self,
        now_ns: u64,
        unix_ns: u64,
        sent: Option<(u64, &[u64])>,
        socket_drops: &[u64],
    ) -> ReceiverReport {
        let first = u64::from(self.plan.first_sequence);
        for index in 0..self.lanes.len() {
            let end = sent
                .and_then(|(_, flows)| flows.get(index))
                .map(|count| first.saturating_add(*count));
            let mut runs = LossRuns::default();
            self.lanes[index]
                .account
                .finish(end, now_ns, &mut |run| runs.push(run));
            self.on_flow_runs(index, runs);
        }
        let mut runs = LossRuns::default();
        let end = sent.map(|(count, _)| first.saturating_add(count));
        self.stream.finish(end, now_ns, &mut |run| runs.push(run));
        self.on_stream_runs(runs);
        for end in self.silence.finish(self.last_arrival_ns) {
            self.on_silence(end);
        }
        self.drain_windows(now_ns, true);
        self.close_second(now_ns, unix_ns, socket_drops);
        self.report(sent.map(|(count, _)| count), sent.map(|(_, flows)| flows))
    }

    fn report(&self, sent: Option<u64>, sent_per_flow: Option<&[u64]>) -> ReceiverReport {
        let totals = self.stream.totals();
        let first = u64::from(self.plan.first_sequence);
        let (stream_silences, _) = self.silence.stream_silence_totals();
        let by_losing = self.windows.by_flows_losing().iter().enumerate();
        ReceiverReport {
            sent: sent.unwrap_or_else(|| totals.highest.map_or(0, |highest| highest + 1 - first)),
            received: totals.received,
            bytes: self.bytes,
            lost: totals.lost,
            late: totals.late,
            duplicates: totals.duplicates,
            reordered: totals.reordered,
            rejected: self.rejected,
            bursts: self.bursts,
            longest_burst: self.burst_lengths.keys().next_back().copied().unwrap_or(0),
            burst_lengths: self.burst_lengths.clone(),
            lost_in_runs: Some(self.lost_in_runs),
            windows_by_flows_losing: by_losing
                .filter(|(flows, windows)| *flows > 0 && **windows > 0)
                .map(|(flows, windows)| (flows as u32, *windows))
                .collect(),
            stream_silences,
            longest_stream_silence_ns: self.longest_stream_silence_ns,
            active_ns: self
                .first_arrival_ns
                .map_or(0, |first| self.last_arrival_ns - first),
            owd: shifted(&self.owd, self.delay_of_zero()),
            flows: self
                .lanes
                .iter()
                .enumerate()
                .map(|(index, lane)| {
                    let sent = sent_per_flow.and_then(|sent| sent.get(index)).copied();
                    lane.report(sent, self.delay_of_zero())
                })
                .collect(),
            events_merged: self.events_merged,
            threads: 1,
            ..ReceiverReport::default()
        }
    }

    fn unix(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.wrapping_add(self.unix_minus_monotonic)
    }

    fn keep_event(&mut self, event: Record) {
        let kept = self.events_this_second.of(&event);
        if *kept < EVENTS_PER_SECOND {
            *kept += 1;
            self.events.push(event);
        } else {
            self.events_merged += 1;
        }
    }

    fn on_flow_runs(&mut self, index: usize, runs: LossRuns) {
        for run in runs.0 {
            let lane = &mut self.lanes[index];
            lane.longest_this_second = lane.longest_this_second.max(run.length);
            self.lost_in_runs += if run.length > 1 { run.length } else { 0 };
            let totals = lane.account.totals();
            let burst = FlowBurst {
                unix_ns: run.noticed_ns.wrapping_add(self.unix_minus_monotonic),
                flow: index as u16,
                port: lane.port,
                first_sequence: run.first,
                length: run.length,
                received_before: totals.received,
                bytes_before: totals.bytes,
                bursts_before: totals.bursts,
            };
            self.keep_event(Record::FlowBurst(self.plan.direction, burst));
        }
    }

    fn on_stream_runs(&mut self, runs: LossRuns) {
        for run in runs.0 {
            self.bursts += 1;
            *self.burst_lengths.entry(run.length).or_default() += 1;
            self.on_losing_flows(&run);
            let burst = StreamBurst {
                unix_ns: self.unix(run.noticed_ns),
                first_sequence: run.first,
                length: run.length,
            };
            self.keep_event(Record::StreamBurst(self.plan.direction, burst));
        }
    }

    /// Notes which flows a run of the stream's packets was lost on. The receiver knows which flow carries which
    /// packet, so it can tell at once whose packets are missing; a dark flow's own sequence shows that only when
    /// the flow comes back. A long run is not walked to its end: once every flow has lost a packet, the others add
    /// to the window's count only.
    fn on_losing_flows(&mut self, run: &LossRun) {
        self.losing.fill(false);
        let mut flows_left = self.losing.len();
        for walked in 0..run.length {
            let flow = self.plan.spread.flow(run.first.saturating_add(walked)).0;
            if flows_left == 0 {
                self.windows.record(run.noticed_ns, flow, run.length - walked);
                return;
            }
            self.windows.record(run.noticed_ns, flow, 1);
            if let Some(losing) = self.losing.get_mut(usize::from(flow)) {
                flows_left -= usize::from(!*losing);
                *losing = true;
            }
        }
    }

    fn on_silence(&mut self, end: SilenceEnd) {
        let lane = &mut self.lanes[end.flow];
        lane.silences += 1;
        lane.silent_ns += end.duration_ns;
        lane.longest_silence_ns = lane.longest_silence_ns.max(end.duration_ns);
        let silence = Silence {
            unix_ns: self.unix(end.from_ns),
            flow: end.flow as u16,
            duration_ns: end.duration_ns,
        };
        self.keep_event(Record::Silence(self.plan.direction, silence));
    }

    /// A silence of the whole stream becomes a row for every flow; none of them counts it as its own.
    fn drain_stream_silences(&mut self) {
        while let Some(silence) = self.silence.take_stream_silence() {
            self.longest_stream_silence_ns = self.longest_stream_silence_ns.max(silence.duration_ns);
            for flow in 0..self.lanes.len() as u16 {
                let row = Silence {
                    unix_ns: self.unix(silence.from_ns),
                    flow,
                    duration_ns: silence.duration_ns,
                };
                self.keep_event(Record::Silence(self.plan.direction, row));
            }
        }
    }

    fn drain_windows(&mut self, now_ns: u64, all: bool) {
        let counted = if all {
            self.windows.finish()
        } else {
            self.windows.drain(now_ns)
        };
        for window in counted {
            let record = LossWindow {
                unix_ns: self.unix(window.start_ns),
                duration_ns: LOSS_WINDOW_NS,
                lost: window.lost,
                flows_losing: window.flows.len() as u32,
                flows: window.flows,
            };
            self.keep_event(Record::LossWindow(self.plan.direction, record));
        }
    }
}

/// Events kept since a second began, by kind.
#[derive(Clone, Copy, Debug, Default)]
struct EventCounts {
    stream_bursts: u32,
    flow_bursts: u32,
    long_flow_bursts: u32,
    others: u32,
}

impl EventCounts {
    fn of(&mut self, event: &Record) -> &mut u32 {
        match event {
            Record::StreamBurst(..) => &mut self.stream_bursts,
            Record::FlowBurst(_, burst) if burst.length >= LONG_BURST => &mut self.long_flow_bursts,
            Record::FlowBurst(..) => &mut self.flow_bursts,
            _ => &mut self.others,
        }
    }
}

impl FlowLane {
    fn close_second(&mut self, flow: u16, unix_ns: u64, socket_drops: u64, delay_of_zero: i64) -> FlowSecond {
        self.beside.socket_drops = socket_drops;
        let totals = self.totals();
        let row = FlowSecond {
            unix_ns,
            flow,
            port: self.port,
            counts: FlowCounts {
                longest_burst: self.longest_this_second,
                ..totals.since(&self.before)
            },
            owd: shifted(&self.owd_second, delay_of_zero),
        };
        self.owd.merge(&self.owd_second);
        self.owd_second.clear();
        self.before = totals;
        self.longest_this_second = 0;
        row
    }

    fn totals(&self) -> FlowCounts {
        let mut totals = self.account.totals();
        totals.add(&self.beside);
        totals
    }

    fn report(&self, sent: Option<u64>, delay_of_zero: i64) -> FlowReport {
        let counts = self.totals();
        FlowReport {
            port: self.port,
            sent: sent.unwrap_or(counts.received + counts.lost),
            counts,
            silences: self.silences,
            silent_ns: self.silent_ns,
            longest_silence_ns: self.longest_silence_ns,
            owd: shifted(&self.owd, delay_of_zero),
            jitter_ns: self.jitter.jitter_ns().round() as u64,
            ttl: self.ttl,
        }
    }
}

/// Runs reported by one call; empty on all but few packets, and then no memory is taken.
#[derive(Default)]
struct LossRuns(Vec<LossRun>);

impl LossRuns {
    fn push(&mut self, run: LossRun) {
        self.0.push(run);
    }
}

/// Quantiles of values recorded relative to `zero`.
fn shifted(values: &DurationHistogram, zero: i64) -> Quantiles {
    let mut quantiles = values.quantiles();
    quantiles.shift(zero);
    quantiles
}
