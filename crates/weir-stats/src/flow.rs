//! The account of one flow: its losses, late packets and copies, and how far its packets came in order. It must not
//! know the other flows, nor which packets of the stream were sent on it.

use crate::reorder::{Arrival, DEFAULT_HISTORY, LossRun, ReorderAccount, ReorderDepth};

/// The counts of one flow so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct FlowTotals {
    /// Distinct packets that came in time.
    pub received: u64,
    /// Their bytes: no late packets, no copies.
    pub bytes: u64,
    /// Distinct packets given up.
    pub lost: u64,
    /// Packets that came after they were given up (still in `lost`), and those too old to tell.
    pub late: u64,
    /// Further copies of packets that came.
    pub duplicates: u64,
    /// Packets whose sequence is lower than that of the packet that came just before them on this flow, be it in
    /// time, late or a copy. A copy straight after its original is no reversal; one after a later packet is.
    pub reversals: u64,
    /// Packets whose sequence is not exactly one above that of the packet that came just before them. Every reversal
    /// is a break, so is the packet after a gap, and so is a copy straight after its original. The first packet to
    /// come has none before it and is never a break.
    pub sequence_breaks: u64,
    /// Runs of consecutive lost packets that have been reported; a run still growing is not in it.
    pub bursts: u64,
    /// Packets in the longest of them.
    pub longest_burst: u64,
    /// When the last packet of any kind came.
    pub last_arrival_ns: Option<u64>,
}

/// Accounts for the packets of one flow, by the flow's own sequence numbers.
#[derive(Debug, Clone)]
pub struct FlowAccount {
    account: ReorderAccount,
    previous: Option<u64>,
    bytes: u64,
    reversals: u64,
    sequence_breaks: u64,
    bursts: Bursts,
    last_arrival_ns: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bursts {
    count: u64,
    longest: u64,
}

impl Bursts {
    fn add(&mut self, run: &LossRun) {
        self.count += 1;
        self.longest = self.longest.max(run.length);
    }
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
            bytes: 0,
            reversals: 0,
            sequence_breaks: 0,
            bursts: Bursts::default(),
            last_arrival_ns: None,
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
            self.reversals += u64::from(sequence < previous);
            self.sequence_breaks += u64::from(sequence != previous.wrapping_add(1));
        }
        self.previous = Some(sequence);
        self.last_arrival_ns = Some(now_ns);
        let bursts = &mut self.bursts;
        let arrival = self.account.on_packet(now_ns, sequence, &mut |run| {
            bursts.add(&run);
            out(run);
        });
        if matches!(arrival, Arrival::InOrder | Arrival::Reordered) {
            self.bytes += u64::from(bytes);
        }
        arrival
    }

    /// Gives up the gaps that are past their time; see [`ReorderAccount::poll`].
    pub fn poll(&mut self, now_ns: u64, out: &mut impl FnMut(LossRun)) {
        let bursts = &mut self.bursts;
        self.account.poll(now_ns, &mut |run| {
            bursts.add(&run);
            out(run);
        });
    }

    /// Ends the test; see [`ReorderAccount::finish`].
    pub fn finish(&mut self, sent_end: Option<u64>, now_ns: u64, out: &mut impl FnMut(LossRun)) {
        let bursts = &mut self.bursts;
        self.account.finish(sent_end, now_ns, &mut |run| {
            bursts.add(&run);
            out(run);
        });
    }

    /// The counts so far.
    pub fn totals(&self) -> FlowTotals {
        let account = self.account.totals();
        FlowTotals {
            received: account.received,
            bytes: self.bytes,
            lost: account.lost,
            late: account.late,
            duplicates: account.duplicates,
            reversals: self.reversals,
            sequence_breaks: self.sequence_breaks,
            bursts: self.bursts.count,
            longest_burst: self.bursts.longest,
            last_arrival_ns: self.last_arrival_ns,
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

    fn feed(sequences: &[u64], sent_end: u64) -> (FlowTotals, Vec<LossRun>) {
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
            FlowTotals {
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
                last_arrival_ns: Some(10),
            }
        );
    }

    #[test]
    fn a_burst_that_ends_inside_a_spill_is_counted() {
        // The peer's fault: one packet far ahead spills the buffer past two whole bursts at once (1 to 3 and 5 to 9),
        // and the running count was zeroed before the longest was taken.
        let (totals, runs) = feed(&[0, 4, 10, 11, 40], 41);
        let lengths: Vec<_> = runs.iter().map(|run| (run.first, run.length)).collect();
        assert_eq!(lengths, [(1, 3), (5, 5), (12, 28)]);
        assert_eq!((totals.bursts, totals.longest_burst, totals.lost), (3, 28, 36));
    }

    #[test]
    fn a_burst_given_up_piece_by_piece_is_one_burst() {
        // Each packet after 10 gives up one more of the nine that are missing.
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
        // The peer's other fault. 1 comes when it has long been given up, and twice.
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
        // 20 gives up 1 to 16; 5 then comes late; 21 to 24 give up 17 to 19.
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
