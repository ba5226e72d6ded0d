//! From RTT packets to cells of seconds, and from those to cells of minutes and hours. Pure: records come in, cells go out;
//! it knows no clock and no store.

use std::collections::BTreeMap;

use weir_measure::ClockEstimate;
use weir_record::{RttPacket, WatchCell};

use crate::change::{MINUTE_NS, Minute};

/// Seconds that are kept open for packets that settle late; a packet of an older second opens it anew.
const OPEN: usize = 120;

/// A second that is open.
#[derive(Clone, Debug, Default)]
struct Open {
    cell: WatchCell,
    /// It has changed since the last [`take`](Gather::take).
    changed: bool,
    /// That of the [`take`](Gather::take) after its last change.
    taken: u64,
    /// It was measured before, and the cell lacks that.
    again: bool,
}

/// The seconds of a path that are still open.
#[derive(Clone, Debug, Default)]
pub struct Gather {
    /// By start, Unix seconds.
    open: BTreeMap<u64, Open>,
    /// Number of calls of [`take`](Self::take).
    takes: u64,
    /// The latest second so far, Unix seconds.
    latest_s: Option<u64>,
    last_answer_ns: Option<u64>,
    /// All packets so far.
    total: WatchCell,
    clock: Option<ClockEstimate>,
}

impl Gather {
    /// A path of which seconds up to `latest_s` (Unix seconds) are stored.
    #[must_use]
    pub fn after(latest_s: Option<u64>) -> Self {
        Gather {
            latest_s,
            ..Gather::default()
        }
    }

    /// Adds a packet whose fate is settled.
    pub fn add(&mut self, packet: &RttPacket) {
        let start_s = packet.sent_unix_ns / 1_000_000_000;
        let latest_s = self.latest_s;
        let open = self.open.entry(start_s).or_insert_with(|| Open {
            again: latest_s.is_some_and(|latest_s| start_s <= latest_s),
            ..Open::default()
        });
        self.latest_s = latest_s.max(Some(start_s));
        open.cell.start_s = start_s;
        open.changed = true;
        count(&mut open.cell, packet);
        count(&mut self.total, packet);
        if !packet.lost {
            // Packets are settled in the order in which they were sent, also when the clock is set back.
            self.last_answer_ns = Some(packet.sent_unix_ns);
        }
    }

    /// Seconds that were measured before, Unix seconds: the clock was set back. [`join`](Self::join) what is stored of them, so
    /// that the next [`take`](Self::take) has both.
    #[must_use]
    pub fn again(&self) -> Vec<u64> {
        let again = self.open.values().filter(|open| open.again);
        again.map(|open| open.cell.start_s).collect()
    }

    /// Adds what is stored of a second that is measured again; none if nothing is.
    pub fn join(&mut self, start_s: u64, stored: Option<&WatchCell>) {
        if let Some(open) = self.open.get_mut(&start_s).filter(|open| open.again) {
            open.again = false;
            if let Some(stored) = stored {
                let mut whole = stored.clone();
                whole.merge(&open.cell);
                open.cell = whole;
            }
        }
    }

    /// Cells that have changed since the last call, whole, in order of time.
    pub fn take(&mut self) -> Vec<WatchCell> {
        self.takes += 1;
        let takes = self.takes;
        let changed = self.open.values_mut().filter(|open| open.changed);
        let taken = changed.map(|open| {
            (open.changed, open.taken) = (false, takes);
            open.cell.clone()
        });
        let taken = taken.collect();
        while self.open.len() > OPEN {
            // Not the earliest one: that may be the present second, if the clock was set back.
            let idle = self
                .open
                .iter()
                .min_by_key(|(start_s, open)| (open.taken, **start_s));
            let idle = idle.map(|(start_s, _)| *start_s);
            idle.and_then(|start_s| self.open.remove(&start_s));
        }
        taken
    }

    /// Takes what is known of the far host's clock.
    pub fn set_clock(&mut self, clock: ClockEstimate) {
        self.clock = Some(clock);
    }

    /// The far host's clock against this one's; none before the first answer.
    #[must_use]
    pub fn clock(&self) -> Option<ClockEstimate> {
        self.clock
    }

    /// All packets so far, as one cell.
    #[must_use]
    pub fn total(&self) -> &WatchCell {
        &self.total
    }

    /// Forgets when a packet was answered last: the clock was set.
    pub fn forget_answers(&mut self) {
        self.last_answer_ns = None;
    }

    /// Send time of the last packet that was answered, Unix nanoseconds.
    #[must_use]
    pub fn last_answer_ns(&self) -> Option<u64> {
        self.last_answer_ns
    }
}

/// Adds a packet to a cell.
fn count(cell: &mut WatchCell, packet: &RttPacket) {
    cell.sent += 1;
    cell.lost += u64::from(packet.lost);
    cell.duplicates += u64::from(packet.duplicates);
    if let Some(rtt_ns) = packet.rtt_ns.filter(|_| !packet.lost) {
        cell.rtt.record(rtt_ns);
    }
    let hops = packet.delta_ttl.and_then(|hops| u32::try_from(hops).ok());
    cell.hops = hops.or(cell.hops);
}

/// Sums cells, in order of time, into cells of `span_s` seconds.
#[must_use]
pub fn sum(cells: &[WatchCell], span_s: u64) -> Vec<WatchCell> {
    let mut sums: Vec<WatchCell> = Vec::new();
    for cell in cells {
        let start_s = cell.start_s - cell.start_s % span_s.max(1);
        match sums.last_mut().filter(|sum| sum.start_s == start_s) {
            Some(sum) => sum.merge(cell),
            None => sums.push(WatchCell {
                start_s,
                ..cell.clone()
            }),
        }
    }
    sums
}

/// A cell of a minute, as change points take it.
#[must_use]
pub fn minute(cell: &WatchCell) -> Minute {
    debug_assert_eq!(cell.start_s % (MINUTE_NS / 1_000_000_000), 0);
    Minute {
        start_ns: cell.start_s.saturating_mul(1_000_000_000),
        p50_ns: cell.rtt.quantile(0.5),
        p90_ns: cell.rtt.quantile(0.9),
        sent: cell.sent,
        lost: cell.lost,
        hops: cell.hops,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sent_ms: u64, rtt_ms: Option<u64>) -> RttPacket {
        RttPacket {
            sent_unix_ns: sent_ms * 1_000_000,
            rtt_ns: rtt_ms.map(|rtt| rtt * 1_000_000),
            lost: rtt_ms.is_none(),
            delta_ttl: rtt_ms.map(|_| 9),
            ..RttPacket::default()
        }
    }

    #[test]
    fn packets_come_into_the_second_in_which_they_were_sent() {
        let mut gather = Gather::default();
        [
            packet(60_000, Some(20)),
            packet(60_999, Some(30)),
            packet(61_000, Some(40)),
        ]
        .iter()
        .for_each(|packet| gather.add(packet));
        let cells = gather.take();
        assert_eq!(
            cells
                .iter()
                .map(|cell| (cell.start_s, cell.sent))
                .collect::<Vec<_>>(),
            [(60, 2), (61, 1)]
        );
        assert_eq!(gather.take(), []);
        // A loss settles two seconds late, and the cell is whole again.
        gather.add(&packet(60_500, None));
        let again = gather.take();
        assert_eq!(
            (again.len(), again[0].sent, again[0].lost, again[0].hops),
            (1, 3, 1, Some(9))
        );
        assert_eq!(again[0].rtt.max(), Some(30_000_000));
        assert_eq!(gather.last_answer_ns(), Some(61_000_000_000));
    }

    #[test]
    fn seconds_that_come_again_have_the_packets_of_both_times() {
        let mut gather = Gather::after(Some(1_000));
        (0..500).for_each(|second| gather.add(&packet(1_001_000 + 1_000 * second, Some(20))));
        let first = gather.take();
        assert_eq!((first.len(), gather.again().len()), (500, 0));
        // Set back by six minutes: the last of the open seconds are later than these.
        for second in 1_140..1_145 {
            gather.add(&packet(1_000 * second, Some(30)));
            assert_eq!(gather.again(), [second]);
            gather.join(second, Some(&first[second as usize - 1_001]));
            gather.add(&packet(1_000 * second + 500, None));
            let again = gather.take();
            assert_eq!(
                again
                    .iter()
                    .map(|cell| (cell.start_s, cell.sent, cell.lost))
                    .collect::<Vec<_>>(),
                [(second, 3, 1)]
            );
            // It stays open for what settles late.
            gather.add(&packet(1_000 * second + 700, None));
            assert_eq!(gather.take()[0].sent, 4);
        }
        assert_eq!(gather.last_answer_ns(), Some(1_144_000_000_000));
        assert_eq!(gather.open.len(), OPEN);
    }

    #[test]
    fn sums_are_those_of_all_packets_of_the_span() {
        let mut gather = Gather::default();
        let mut all = Gather::default();
        for place in 0..1_000u64 {
            let rtt = (!place.is_multiple_of(37)).then_some(20 + place % 17);
            gather.add(&packet(119_000 + place * 200, rtt));
            all.add(&packet(120_000, rtt));
        }
        let seconds = gather.take();
        assert_eq!(seconds.len(), 200);
        let minutes = sum(&seconds, 60);
        assert_eq!(
            minutes.iter().map(|cell| cell.start_s).collect::<Vec<_>>(),
            [60, 120, 180, 240, 300]
        );
        let mut whole = minutes[0].clone();
        minutes[1..].iter().for_each(|minute| whole.merge(minute));
        let expected = &all.take()[0];
        assert_eq!(
            (whole.sent, whole.lost, &whole.rtt),
            (expected.sent, expected.lost, &expected.rtt)
        );
        let seen = minute(&minutes[1]);
        assert_eq!((seen.start_ns, seen.sent), (120_000_000_000, 300));
    }
}
