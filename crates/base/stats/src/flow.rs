//! The account of one flow: its losses, late packets and duplicates, and its reordering. It must not
//! know the other flows, nor the packets of the stream on it.

use crate::counts::counters;
use crate::reorder::{Arrival, DEFAULT_HISTORY, LossRun, ReorderAccount, ReorderDepth};

counters! {
    /// Counts of one flow at its receiver.
    pub struct FlowCounts {
        /// Distinct packets received in time.
        received => sum,
        /// Their UDP payload bytes, without late packets and duplicates.
        bytes => sum,
        /// Distinct packets declared lost, by the flow's own sequence numbers.
        lost => sum,
        /// Packets that arrived after they were declared lost (still in `lost`), and those too old to decide.
        late => sum,
        /// Duplicates of received packets.
        duplicates => sum,
        /// Packets whose sequence is lower than that of the previous packet on this flow, be it in
        /// time, late or a duplicate. A duplicate right after its original is not a reversal; one after a later packet is.
        reversals => sum,
        /// Packets whose sequence is not exactly one above that of the previous packet. Every reversal
        /// is a break, so is the packet after a gap, and so is a duplicate right after its original. The first packet
        /// is never a break.
        sequence_breaks => sum,
        /// Runs of consecutive lost packets that have been reported; a run still growing is not in it.
        bursts => sum,
        /// Packets in the longest of them.
        longest_burst => max,
        /// Packets that the kernel dropped at the flow's socket because its buffer was full. [`FlowAccount`] does not see
        /// them.
        socket_drops => sum,
        /// Packets that arrived with a router's congestion mark (ECN codepoint CE), duplicates and late ones among them.
        /// [`FlowAccount`] does not see them.
        ecn_marked => sum,
        /// Packets that were sent as capable of ECN (ECT(0)) and arrived as not capable of it, duplicates and late ones among
        /// them. [`FlowAccount`] does not see them.
        ecn_cleared => sum,
    }
}

/// Accounts for the packets of one flow, by the flow's own sequence numbers.
#[derive(Debug, Clone)]
pub struct FlowAccount {
    account: ReorderAccount,
    previous: Option<u64>,
    /// What the account of the order does not count itself.
    counts: FlowCounts,
}

fn add_burst(counts: &mut FlowCounts, run: &LossRun) {
    counts.bursts += 1;
    counts.longest_burst = counts.longest_burst.max(run.length);
}

impl FlowAccount {
    /// An account of a flow whose first packet carries `first_sequence`; see [`ReorderAccount::new`].
    pub fn new(first_sequence: u64, depth: ReorderDepth) -> Self {
        Self::with_history(first_sequence, depth, DEFAULT_HISTORY)
    }

    /// As [`new`](Self::new), with the history of [`ReorderAccount::with_history`].
    pub fn with_history(first_sequence: u64, depth: ReorderDepth, history: u32) -> Self {
        Self {
            account: ReorderAccount::with_history(first_sequence, depth, history),
            previous: None,
            counts: FlowCounts::default(),
        }
    }

    /// Accounts for one packet of `bytes` bytes; `out` as in [`ReorderAccount::on_packet`].
    #[inline]
    pub fn on_packet(
        &mut self,
        now_ns: u64,
        sequence: u64,
        bytes: u32,
        out: &mut impl FnMut(LossRun),
    ) -> Arrival {
        if let Some(previous) = self.previous {
            self.counts.reversals += u64::from(sequence < previous);
            self.counts.sequence_breaks += u64::from(sequence != previous.wrapping_add(1));
        }
        self.previous = Some(sequence);
        let counts = &mut self.counts;
        let arrival = self.account.on_packet(now_ns, sequence, &mut |run| {
            add_burst(counts, &run);
            out(run);
        });
        if matches!(arrival, Arrival::InOrder | Arrival::Reordered) {
            self.counts.bytes += u64::from(bytes);
        }
        arrival
    }

    /// Declares expired gaps lost; see [`ReorderAccount::poll`].
    pub fn poll(&mut self, now_ns: u64, out: &mut impl FnMut(LossRun)) {
        let counts = &mut self.counts;
        self.account.poll(now_ns, &mut |run| {
            add_burst(counts, &run);
            out(run);
        });
    }

    /// Ends the test; see [`ReorderAccount::finish`].
    pub fn finish(&mut self, sent_end: Option<u64>, now_ns: u64, out: &mut impl FnMut(LossRun)) {
        let counts = &mut self.counts;
        self.account.finish(sent_end, now_ns, &mut |run| {
            add_burst(counts, &run);
            out(run);
        });
    }

    /// The counts so far.
    pub fn totals(&self) -> FlowCounts {
        let account = self.account.totals();
        FlowCounts {
            received: account.received,
            lost: account.lost,
            late: account.late,
            duplicates: account.duplicates,
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: ReorderDepth = ReorderDepth {
        packets: 4,
        time_ns: 1_000_000_000,
    };

    fn feed(sequences: &[u64], sent_end: u64) -> (FlowCounts, Vec<LossRun>) {
        let mut flow = FlowAccount::with_history(0, DEPTH, 1_024);
        let mut runs = Vec::new();
        for (at, &sequence) in (1_u64..).zip(sequences) {
            flow.on_packet(at, sequence, 100, &mut |run| runs.push(run));
        }
        flow.finish(Some(sent_end), 99, &mut |run| runs.push(run));
        (flow.totals(), runs)
    }

    #[test]
    fn a_worked_example() {
        // Lost: 3 to 5 (noticed by 6, the fourth packet) and 12, 13 at the end. 8 comes before 7; 9 comes twice.
        let (totals, runs) = feed(&[0, 1, 2, 6, 8, 7, 9, 9, 10, 11], 14);
        assert_eq!(
            runs,
            [
                LossRun {
                    first: 3,
                    length: 3,
                    noticed_ns: 4
                },
                LossRun {
                    first: 12,
                    length: 2,
                    noticed_ns: 99
                }
            ]
        );
        assert_eq!(
            totals,
            FlowCounts {
                received: 9,
                bytes: 900,
                lost: 5,
                late: 0,
                duplicates: 1,
                reversals: 1,
                // 6 after 2, 8 after 6, 7 after 8, 9 after 7, 9 after 9.
                sequence_breaks: 5,
                bursts: 2,
                longest_burst: 3,
                ..FlowCounts::default()
            }
        );
    }

    #[test]
    fn a_burst_that_ends_inside_a_spill_is_counted() {
        // A bug of another tool: one packet far ahead spills the buffer past two whole bursts at once (1 to 3 and 5 to
        // 9), and the running count was zeroed before the longest was taken.
        let (totals, runs) = feed(&[0, 4, 10, 11, 40], 41);
        let lengths: Vec<_> = runs.iter().map(|run| (run.first, run.length)).collect();
        assert_eq!(lengths, [(1, 3), (5, 5), (12, 28)]);
        assert_eq!((totals.bursts, totals.longest_burst, totals.lost), (3, 28, 36));
    }

    #[test]
    fn a_burst_given_up_piece_by_piece_is_one_burst() {
        // Each packet after 10 declares one more of the nine missing ones lost.
        let (totals, runs) = feed(&[0, 10, 11, 12, 13, 14, 15, 16], 17);
        assert_eq!(
            runs,
            [LossRun {
                first: 1,
                length: 9,
                noticed_ns: 2
            }]
        );
        assert_eq!((totals.bursts, totals.longest_burst, totals.lost), (1, 9, 9));
    }

    #[test]
    fn a_late_packet_does_not_make_the_counts_run_wild() {
        // Another bug of that tool. 1 arrives long after it was declared lost, and twice.
        let (totals, runs) = feed(&[0, 2, 3, 4, 5, 6, 1, 7, 1, 8], 9);
        assert_eq!(
            runs,
            [LossRun {
                first: 1,
                length: 1,
                noticed_ns: 2
            }]
        );
        assert_eq!(
            (totals.lost, totals.late, totals.duplicates, totals.received),
            (1, 1, 1, 8)
        );
        assert_eq!((totals.reversals, totals.sequence_breaks), (2, 5));
    }

    #[test]
    fn a_late_packet_inside_a_run_that_still_grows_does_not_split_it() {
        // 20 makes 1 to 16 lost; 5 then arrives late; 21 to 24 make 17 to 19 lost.
        let (totals, runs) = feed(&[0, 20, 5, 21, 22, 23, 24], 25);
        assert_eq!(
            runs,
            [LossRun {
                first: 1,
                length: 19,
                noticed_ns: 2
            }]
        );
        assert_eq!((totals.lost, totals.late), (19, 1));
    }
}
