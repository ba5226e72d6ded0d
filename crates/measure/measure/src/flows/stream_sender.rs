//! The sending half of a multi-flow test as a core that owns its timers: which packets leave when, and the account of
//! those that left. It knows no socket, no clock and no thread; the driver says when it runs and what the kernel took.

use std::ops::Range;

use weir_stats::{Counters, DurationHistogram, SendCounts};
use weir_units::Rate;

use super::{Block, FlowsPlan, Pacing, SenderPart, SenderWhole, StreamPacker, StreamPacket};

const SECOND_NS: u64 = 1_000_000_000;

/// Sends the stream of a plan, or its packets on some of the flows, block by block. Times are monotonic nanoseconds, but for
/// those named `unix`.
pub struct StreamSender {
    unpaced: bool,
    length: u32,
    max_bytes: u64,
    packer: StreamPacker,
    pacing: Pacing,
    /// The block that leaves next, and when it is due; none once the stream is over.
    next: Option<(Block, u64)>,
    /// Blocks handed over, and their bytes on all flows.
    blocks: u64,
    bytes: u64,
    counts: SendCounts,
    hit_byte_limit: bool,
    schedule_error: DurationHistogram,
    start_ns: u64,
    /// Where the part under way began, and the end of its second.
    part_ns: u64,
    second_end_ns: u64,
    /// Counts and CPU time at the last part's end.
    before: (SendCounts, u64),
}

impl StreamSender {
    /// A sender of a checked plan whose first block is due at `start_ns`. `ceiling` holds an unpaced stream; no more than
    /// `max_bytes` of UDP payload leave.
    pub fn new(plan: &FlowsPlan, ceiling: Rate, max_bytes: u64, start_ns: u64) -> Self {
        Self::of_flows(plan, 0..plan.flows, ceiling, max_bytes, start_ns)
    }

    /// As [`new`](Self::new), of the packets on these `flows`: senders of all flows of a plan, with the same other arguments,
    /// together send what one would.
    pub fn of_flows(
        plan: &FlowsPlan,
        flows: Range<u16>,
        ceiling: Rate,
        max_bytes: u64,
        start_ns: u64,
    ) -> Self {
        let mut sender = StreamSender {
            unpaced: plan.unpaced,
            length: plan.length,
            max_bytes,
            packer: StreamPacker::new(plan, flows),
            pacing: Pacing::new(plan, ceiling, start_ns),
            next: None,
            blocks: 0,
            bytes: 0,
            counts: SendCounts::default(),
            hit_byte_limit: false,
            schedule_error: DurationHistogram::new(),
            start_ns,
            part_ns: start_ns,
            second_end_ns: start_ns.saturating_add(SECOND_NS),
            before: (SendCounts::default(), 0),
        };
        sender.plan_block();
        sender
    }

    /// When the next block may leave; none once the stream is over.
    pub fn next_wake(&self) -> Option<u64> {
        self.next.map(|(_, due_ns)| self.pacing.may_leave(due_ns))
    }

    /// Whether no block leaves any more, since there is none or the stream's time is over.
    pub fn is_over(&self, now_ns: u64) -> bool {
        self.next.is_none() || self.time_is_over(now_ns)
    }

    /// The first block leaves at any time: nothing at all, from a host that was held up until the end, would be taken for a path
    /// that lost nothing, where one block has the delay behind the schedule.
    fn time_is_over(&self, now_ns: u64) -> bool {
        self.blocks > 0 && self.pacing.has_ended(now_ns)
    }

    /// Blocks handed over so far.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Hands over the packets of the next block, in the order in which they leave; none but the first when the stream's time is
    /// over.
    /// To be called at [`StreamSender::next_wake`] or later, and followed by [`StreamSender::sent`].
    pub fn wake(&mut self, now_ns: u64, push: impl FnMut(StreamPacket)) {
        if self.time_is_over(now_ns) {
            self.next = None;
        }
        self.hand_over(now_ns, push);
    }

    /// As [`wake`](Self::wake), also when the stream's time is over: for a block that others of its senders have sent.
    pub fn hand_over(&mut self, now_ns: u64, push: impl FnMut(StreamPacket)) {
        let Some((block, due_ns)) = self.next else {
            return;
        };
        self.pacing.left(&block, now_ns);
        if !self.unpaced {
            self.schedule_error.record(now_ns.saturating_sub(due_ns) as i64);
        }
        self.blocks += 1;
        self.bytes += self.packer.block_bytes(&block);
        self.packer.pack(&block, push);
    }

    /// Counts what became of the block handed over last, and plans the next.
    pub fn sent(&mut self, counts: SendCounts) {
        self.counts.add(&counts);
        if self.next.is_some() {
            self.plan_block();
        }
    }

    /// All senders of a stream come to the same result: it follows from the blocks alone.
    fn plan_block(&mut self) {
        let block = self.packer.next_block();
        let due_ns = self.pacing.due(&block, self.bytes);
        let most_bytes = u64::from(block.packets) * u64::from(self.length);
        let over = self.pacing.is_over(&block, due_ns);
        self.hit_byte_limit = !over && self.bytes + most_bytes > self.max_bytes;
        self.next = (!over && !self.hit_byte_limit).then_some((block, due_ns));
    }

    /// The part of a second, once that is over. `cpu_ns` is the CPU time of the sending thread since the test began.
    pub fn take_second(
        &mut self,
        now_ns: u64,
        unix_ns: u64,
        cpu_ns: impl FnOnce() -> u64,
    ) -> Option<SenderPart> {
        (now_ns >= self.second_end_ns).then(|| self.close_part(now_ns, unix_ns, cpu_ns()))
    }

    fn close_part(&mut self, now_ns: u64, unix_ns: u64, cpu_ns: u64) -> SenderPart {
        let second_of = |at_ns: u64| at_ns.saturating_sub(self.start_ns) / SECOND_NS;
        let (second, next) = (second_of(self.second_end_ns) - 1, second_of(now_ns) + 1);
        let (counts_before, cpu_before) = std::mem::replace(&mut self.before, (self.counts, cpu_ns));
        let part = SenderPart {
            second,
            unix_ns,
            duration_ns: now_ns.saturating_sub(self.part_ns),
            counts: self.counts.since(&counts_before),
            schedule_error: self.schedule_error.clone(),
            cpu_ns: cpu_ns.saturating_sub(cpu_before),
            whole: None,
        };
        self.schedule_error.clear();
        self.part_ns = self.part_ns.max(now_ns);
        self.second_end_ns = self.start_ns.saturating_add(next * SECOND_NS);
        part
    }

    /// Ends the account: the part of the last, shorter second, with the whole test.
    pub fn finish(&mut self, now_ns: u64, unix_ns: u64, cpu_ns: u64) -> SenderPart {
        self.next = None;
        SenderPart {
            whole: Some(SenderWhole {
                sent_per_flow: self.packer.per_flow().to_vec(),
                wall_ns: now_ns.saturating_sub(self.start_ns),
                hit_byte_limit: self.hit_byte_limit,
            }),
            ..self.close_part(now_ns, unix_ns, cpu_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_record::{Direction, Record, SenderSecond};

    use super::*;
    use crate::VideoFormat;
    use crate::flows::{SenderAccount, SenderReport};

    const START: u64 = 7_000_000;

    fn plan() -> FlowsPlan {
        FlowsPlan {
            format: VideoFormat::named("1080p59.94-422-10").expect("a known format"),
            length: 8100,
            flows: 8,
            duration_ns: 2 * SECOND_NS,
            ..FlowsPlan::default()
        }
    }

    fn row(record: Record) -> SenderSecond {
        match record {
            Record::SenderSecond(Direction::Forward, row) => row,
            other => panic!("{other:?}"),
        }
    }

    /// Runs a sender to its end on a host that is late by `late_ns` at each wake-up; returns its rows and its report.
    fn run(mut sender: StreamSender, late_ns: u64) -> (Vec<SenderSecond>, SenderReport) {
        let mut account = SenderAccount::new(Direction::Forward, 1);
        let (mut records, mut now) = (Vec::new(), START);
        while let Some(at) = sender.next_wake() {
            now = now.max(at + late_ns);
            let mut counts = SendCounts::default();
            sender.wake(now, |packet| {
                counts.sent += 1;
                counts.bytes += u64::from(packet.length);
            });
            counts.sends = counts.sent.min(1);
            sender.sent(counts);
            if let Some(part) = sender.take_second(now, now, || now) {
                records.extend(account.add(0, part));
            }
        }
        records.extend(account.add(0, sender.finish(now, now, now)));
        (records.into_iter().map(row).collect(), account.report(true))
    }

    #[test]
    fn a_stream_of_two_seconds_is_its_frames_and_its_rows_add_up() {
        let sender = StreamSender::new(&plan(), Rate(0), u64::MAX, START);
        let (rows, report) = run(sender, 0);
        // 120 frames of 640 packets begin within 2 s at 59.94 Hz; the last one ends 2 ms later and is cut there.
        assert!(
            (119 * 640..=120 * 640).contains(&report.counts.sent),
            "{report:?}"
        );
        assert_eq!(report.sent_per_flow.iter().sum::<u64>(), report.counts.sent);
        assert_eq!(report.schedule_error.max, 0);
        assert_eq!(rows.len(), 2);
        let mut sum = SendCounts::default();
        rows.iter().for_each(|row| sum.add(&row.counts));
        assert_eq!(sum, report.counts);
        assert!(rows[0].duration_ns >= SECOND_NS && rows[0].duration_ns < SECOND_NS + 1_000_000);
    }

    #[test]
    fn a_late_host_shows_in_the_schedule_error_alone() {
        let sender = StreamSender::new(&plan(), Rate(0), u64::MAX, START);
        let (_, report) = run(sender, 50_000);
        assert!(
            (50_000..51_000).contains(&report.schedule_error.p50),
            "{report:?}"
        );
        assert!(report.counts.sent > 119 * 640);
    }

    #[test]
    fn no_block_passes_the_byte_limit_and_none_is_made_after_the_end() {
        let sender = StreamSender::new(&plan(), Rate(0), 1_000_000, START);
        let (_, report) = run(sender, 0);
        // Three blocks of 32 packets of 8,100 bytes are 777,600 bytes; a fourth would be 1,036,800.
        assert_eq!((report.counts.bytes, report.hit_byte_limit), (777_600, true));
        let mut over = StreamSender::new(&plan(), Rate(0), u64::MAX, START);
        over.wake(START, |_| ());
        over.sent(SendCounts::default());
        over.wake(START + 3 * SECOND_NS, |packet| {
            panic!("{packet:?} leaves too late")
        });
        assert_eq!(over.next_wake(), None);
    }

    #[test]
    fn a_host_that_is_held_up_until_the_end_sends_a_block_that_shows_it() {
        let sender = StreamSender::new(&plan(), Rate(0), u64::MAX, START);
        let (_, report) = run(sender, 3 * SECOND_NS);
        assert_eq!(report.counts.sends, 1, "{report:?}");
        assert!(report.schedule_error.min >= 3 * SECOND_NS as i64, "{report:?}");
    }

    #[test]
    fn an_unpaced_stream_keeps_to_its_ceiling_and_has_no_schedule() {
        let unpaced = FlowsPlan {
            unpaced: true,
            ..plan()
        };
        let ceiling = Rate(1_000_000_000);
        let (_, report) = run(StreamSender::new(&unpaced, ceiling, u64::MAX, START), 0);
        // 2 s at 1 Gbit/s are 250 MB.
        assert!(
            report.counts.bytes.abs_diff(250_000_000) <= 32 * 8100,
            "{report:?}"
        );
        assert_eq!(report.schedule_error.count, 0);
    }
}
