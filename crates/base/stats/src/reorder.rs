//! The account of a reorder buffer: packets that a receiver with a given depth in packets and in time
//! would have received, lost, and received late. It must not hold packets, and it must not know what a
//! sequence number counts: a stream, a flow, or one flowlet.

use crate::bitmap::SequenceBitmap;
use crate::gaps::GapTimes;

/// Default number of remembered sequences, to recognise late duplicates: 2^22, which takes 512 KiB (and up to as much
/// again once late packets have arrived).
pub const DEFAULT_HISTORY: u32 = 1 << 22;

/// Maximum depth of the reorder buffer, in packets.
pub const MAX_DEPTH_PACKETS: u32 = 1 << 20;

/// Higher sequences are refused, so that no sum below can overflow.
const SEQUENCE_LIMIT: u64 = 1 << 63;

/// Depth of a reorder buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ReorderDepth {
    /// A missing sequence `s` is declared lost once `s + packets` or a higher sequence has arrived. 0 and 1 mean the
    /// same: no reordering is tolerated. The maximum is [`MAX_DEPTH_PACKETS`].
    pub packets: u32,
    /// It is also declared lost this many nanoseconds after a higher sequence first arrived.
    pub time_ns: u64,
}

/// A maximal run of consecutive lost sequences: the ones before and after it were received (or lie outside the test).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct LossRun {
    /// The first lost sequence.
    pub first: u64,
    /// Number of consecutive lost sequences; at least 1.
    pub length: u64,
    /// When a later packet first revealed the gap, not when it was declared lost. For packets lost at the end, which no
    /// later packet reveals, the time passed to [`ReorderAccount::finish`].
    pub noticed_ns: u64,
}

/// Result of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// Higher than every sequence before it, whether or not it left a gap.
    InOrder,
    /// Filled a gap in time.
    Reordered,
    /// A duplicate of a packet that was received in time.
    Duplicate,
    /// The first copy of a packet that had been declared lost.
    Late,
    /// A duplicate of a late packet.
    LateDuplicate,
    /// Too far back (or before the first sequence) to distinguish a late packet from a duplicate. Counted as late.
    Stale,
}

/// The counts of an account so far. Every packet is in exactly one of `received`, `late` and `duplicates`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct SequenceTotals {
    /// Distinct sequences received in time.
    pub received: u64,
    /// Distinct sequences declared lost. Pending ones are in neither this nor `received`.
    pub lost: u64,
    /// Packets that arrived after they were declared lost; they stay in `lost`. Includes the stale ones
    /// ([`ReorderAccount::stale`]), which are the only ones that may not be in `lost`.
    pub late: u64,
    /// Duplicates of packets that arrived in time or late.
    pub duplicates: u64,
    /// Of `received`, those that arrived after a higher sequence.
    pub reordered: u64,
    /// The highest sequence received.
    pub highest: Option<u64>,
}

/// Decides for every sequence whether it was received in time or lost, and reports each run of lost ones once.
///
/// Work per packet is constant; a jump ahead costs at most one pass over the words of the history, and memory is
/// fixed when the account is built.
#[derive(Debug, Clone)]
pub struct ReorderAccount {
    first: u64,
    depth_packets: u64,
    /// All lower sequences are decided: received or lost.
    next: u64,
    /// One past the highest sequence received (or decided by `finish`).
    end: u64,
    /// The latest time passed in; time never decreases here.
    now_ns: u64,
    /// Deadline of the lowest gap: `gaps.deadline_ns()`, cached for the check on every packet.
    deadline_ns: u64,
    /// Sequences received, in time or late.
    seen: SequenceBitmap,
    /// Of those, the late ones.
    seen_late: SequenceBitmap,
    gaps: GapTimes,
    /// The run of lost sequences that ends at `next`, if one does.
    open_run: Option<LossRun>,
    stale: u64,
    totals: SequenceTotals,
}

impl ReorderAccount {
    /// An account that starts with `first_sequence` and remembers [`DEFAULT_HISTORY`] sequences.
    pub fn new(first_sequence: u64, depth: ReorderDepth) -> Self {
        Self::with_history(first_sequence, depth, DEFAULT_HISTORY)
    }

    /// As [`new`](Self::new), remembering at least `history - 64` sequences back from the highest. `history` is
    /// rounded up to a power of two that holds the depth.
    pub fn with_history(first_sequence: u64, depth: ReorderDepth, history: u32) -> Self {
        let first = first_sequence.min(SEQUENCE_LIMIT);
        let depth_packets = u64::from(depth.packets.min(MAX_DEPTH_PACKETS));
        // The words at both ends of the pending range may be shared with decided sequences: hence two more.
        let history = u64::from(history).max(depth_packets + 128);
        Self {
            first,
            depth_packets,
            next: first,
            end: first,
            now_ns: 0,
            deadline_ns: u64::MAX,
            seen: SequenceBitmap::new(history, first),
            seen_late: SequenceBitmap::new(history, first),
            gaps: GapTimes::new(depth.time_ns),
            open_run: None,
            stale: 0,
            totals: SequenceTotals::default(),
        }
    }

    /// Accounts for one packet that arrived at `now_ns` (a time before an earlier call's counts as that call's), and
    /// calls `out` for each run of losses that this completes. A sequence of 2^63 or more is treated as stale.
    #[inline]
    pub fn on_packet(&mut self, now_ns: u64, sequence: u64, out: &mut impl FnMut(LossRun)) -> Arrival {
        self.poll(now_ns, out);
        if sequence >= self.end && sequence < SEQUENCE_LIMIT {
            self.on_new_highest(sequence, out);
            return Arrival::InOrder;
        }
        self.on_old(sequence, out)
    }

    /// Declares expired gaps lost without a new packet.
    #[inline]
    pub fn poll(&mut self, now_ns: u64, out: &mut impl FnMut(LossRun)) {
        self.now_ns = self.now_ns.max(now_ns);
        while self.deadline_ns <= self.now_ns {
            let Some(end) = self.gaps.first_end() else { break };
            self.decide_below(end, out);
        }
    }

    /// Ends the test: everything below `sent_end` (one past the last sequence sent) that has not arrived is lost.
    /// Without `sent_end`, or if more arrived than were sent, everything below the highest received.
    /// Later packets are late, or duplicates, or (above the end) new.
    pub fn finish(&mut self, sent_end: Option<u64>, now_ns: u64, out: &mut impl FnMut(LossRun)) {
        self.poll(now_ns, out);
        self.decide_below(self.end, out);
        let sent_end = sent_end.unwrap_or(self.end).min(SEQUENCE_LIMIT);
        if sent_end > self.end {
            self.extend_run(sent_end, self.now_ns);
            self.seen.cover(sent_end - 1);
            self.seen_late.cover(sent_end - 1);
            self.end = sent_end;
        }
        self.close_run(out);
    }

    /// The counts so far.
    pub fn totals(&self) -> SequenceTotals {
        self.totals
    }

    /// Of the late packets, those too far back to distinguish from duplicates.
    pub fn stale(&self) -> u64 {
        self.stale
    }

    #[inline]
    fn on_new_highest(&mut self, sequence: u64, out: &mut impl FnMut(LossRun)) {
        if sequence > self.end {
            self.gaps.push(sequence, self.now_ns);
            self.deadline_ns = self.gaps.deadline_ns();
        }
        // `s` is declared lost once `sequence >= s + depth`; at depth 0 that may not include `sequence` itself.
        let lost_below = (sequence + 1).saturating_sub(self.depth_packets).min(sequence);
        if lost_below > self.next {
            self.decide_below(lost_below.min(self.end), out);
            if lost_below > self.next {
                // None of these arrived: skip the bits, however many there are.
                self.extend_run(lost_below, self.now_ns);
            }
        }
        self.seen.cover(sequence);
        self.seen_late.cover(sequence);
        self.seen.set(sequence);
        self.end = sequence + 1;
        self.totals.received += 1;
        self.totals.highest = Some(sequence);
        if self.next == sequence {
            self.release(out);
        } else if self.deadline_ns <= self.now_ns {
            // A time limit of zero: the gap that this packet revealed is already expired.
            self.poll(self.now_ns, out);
        }
    }

    fn on_old(&mut self, sequence: u64, out: &mut impl FnMut(LossRun)) -> Arrival {
        if sequence < self.first || sequence < self.seen.floor() || sequence >= SEQUENCE_LIMIT {
            self.stale += 1;
            self.totals.late += 1;
            return Arrival::Stale;
        }
        if self.seen.contains(sequence) {
            self.totals.duplicates += 1;
            return if self.seen_late.contains(sequence) {
                Arrival::LateDuplicate
            } else {
                Arrival::Duplicate
            };
        }
        self.seen.set(sequence);
        if sequence < self.next {
            self.seen_late.set(sequence);
            self.totals.late += 1;
            return Arrival::Late;
        }
        self.totals.received += 1;
        self.totals.reordered += 1;
        if sequence == self.next {
            self.release(out);
        }
        Arrival::Reordered
    }

    /// Decides everything below `to` (at most `end`): arrived sequences are received, the others lost.
    fn decide_below(&mut self, to: u64, out: &mut impl FnMut(LossRun)) {
        while self.next < to {
            let came = self.seen.next_set(self.next, to);
            if came > self.next {
                // A run never spans two gaps, since the packet that revealed the first one lies between them.
                self.gaps.forget_below(self.next);
                let noticed_ns = self.gaps.first_noticed_ns().unwrap_or(self.now_ns);
                self.extend_run(came, noticed_ns);
            }
            if came < to {
                self.close_run(out);
                self.next = self.seen.next_clear(came, to);
            }
        }
        if self.next < self.end && self.seen.contains(self.next) {
            self.release(out);
        } else {
            self.forget_gaps();
        }
    }

    /// `next` has arrived: advances to the next missing sequence.
    #[inline]
    fn release(&mut self, out: &mut impl FnMut(LossRun)) {
        self.close_run(out);
        if self.next + 1 == self.end {
            self.next = self.end;
        } else {
            self.next = self.seen.next_clear(self.next, self.end);
        }
        if !self.gaps.is_empty() {
            self.forget_gaps();
        }
    }

    fn forget_gaps(&mut self) {
        self.gaps.forget_below(self.next);
        self.deadline_ns = self.gaps.deadline_ns();
    }

    /// Declares everything from `next` up to `to` lost.
    fn extend_run(&mut self, to: u64, noticed_ns: u64) {
        let length = to - self.next;
        self.totals.lost += length;
        match &mut self.open_run {
            Some(run) => run.length += length,
            None => {
                self.open_run = Some(LossRun {
                    first: self.next,
                    length,
                    noticed_ns,
                })
            }
        }
        self.next = to;
    }

    #[inline]
    fn close_run(&mut self, out: &mut impl FnMut(LossRun)) {
        if let Some(run) = self.open_run.take() {
            out(run);
        }
    }
}
