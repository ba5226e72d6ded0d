//! Tracks sent packets until their replies have arrived or timed out, and counts lost, late and
//! duplicated packets, each once. It must not know the packets' content or how they were sent.

use std::collections::VecDeque;

use crate::bitmap::SequenceBitmap;

/// Result of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reply {
    /// The first reply to a pending packet.
    First,
    /// A further reply to an answered packet, in time or late.
    Duplicate,
    /// The first reply to a packet that had been declared lost; it still counts as lost.
    Late,
    /// A reply to an unknown packet, or to one too old to remember.
    Unknown,
}

/// A packet with a final result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished<T> {
    /// Its sequence.
    pub sequence: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// Arrival time of its first reply; `None` if it was lost.
    pub answered: Option<u64>,
    /// Further replies before it was finished.
    pub duplicates: u32,
    /// The sender's data.
    pub payload: T,
}

impl<T> Finished<T> {
    /// From sending to the first reply, in nanoseconds; `None` if it was lost.
    pub fn rtt_ns(&self) -> Option<u64> {
        self.answered
            .map(|answered_ns| answered_ns.saturating_sub(self.sent_ns))
    }
}

/// The counts so far. When all is finished, `sent == received + lost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct RttTotals {
    /// Packets sent.
    pub sent: u64,
    /// Packets answered in time.
    pub received: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Of those, packets whose first reply arrived afterwards.
    pub late: u64,
    /// Replies beyond the first, in time or late.
    pub duplicates: u64,
    /// Packets with at least one such reply.
    pub duplicated: u64,
    /// Replies to unknown packets.
    pub unknown: u64,
    /// Packets finished early for lack of space; those without a reply are in `lost`.
    pub forced_out: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Answered(u64),
    Lost,
    /// Lost, and a reply arrived afterwards.
    Late,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    sequence: u64,
    sent_ns: u64,
    state: State,
    duplicates: u32,
    payload: T,
}

/// Tracks packets that await replies, in memory bounded by its capacity.
///
/// Packets are returned in the order of their sequences, each once, when they are answered or timed out and
/// `linger_ns` has passed since they were sent, so that duplicates of the reply until then are counted with them.
#[derive(Debug, Clone)]
pub struct RttTracker<T> {
    entries: VecDeque<Entry<T>>,
    capacity: usize,
    linger_ns: u64,
    /// Number of entries from the front that are not pending.
    settled: usize,
    /// The timeout of the last poll: a reply after it is late even if the poll follows the reply.
    timeout_ns: u64,
    /// One past the last sequence sent.
    next_sequence: u64,
    /// Of the returned packets: which were sent, which were answered, and which more than once.
    history: Option<History>,
    totals: RttTotals,
}

#[derive(Debug, Clone)]
struct History {
    sent: SequenceBitmap,
    answered: SequenceBitmap,
    duplicated: SequenceBitmap,
}

impl History {
    fn new(packets: usize, first: u64) -> Self {
        let empty = SequenceBitmap::new(packets as u64, first);
        Self {
            sent: empty.clone(),
            answered: empty.clone(),
            duplicated: empty,
        }
    }

    fn add<T>(&mut self, entry: &Entry<T>) {
        for bitmap in [&mut self.sent, &mut self.answered, &mut self.duplicated] {
            bitmap.cover(entry.sequence);
        }
        self.sent.set(entry.sequence);
        if matches!(entry.state, State::Answered(_) | State::Late) {
            self.answered.set(entry.sequence);
        }
        if entry.duplicates > 0 {
            self.duplicated.set(entry.sequence);
        }
    }
}

impl<T> RttTracker<T> {
    /// Tracks at most `capacity` packets (at least 1) at once and remembers about eight times as many
    /// returned ones. `linger_ns` is the minimum time from sending to return.
    pub fn new(capacity: usize, linger_ns: u64) -> Self {
        let capacity = capacity.max(1);
        Self {
            entries: VecDeque::with_capacity(capacity),
            capacity,
            linger_ns,
            settled: 0,
            timeout_ns: u64::MAX,
            next_sequence: 0,
            history: None,
            totals: RttTotals::default(),
        }
    }

    /// Notes that packet `sequence` was sent at `sent_ns`. If there is no space, the oldest packet is finished early
    /// and returned: answered, or lost. Sequences must ascend (gaps are allowed) and times must not descend;
    /// a sequence that does not ascend is ignored and not counted.
    pub fn sent(&mut self, sequence: u64, sent_ns: u64, payload: T) -> Option<Finished<T>> {
        if sequence < self.next_sequence || sequence == u64::MAX {
            return None;
        }
        let forced = if self.entries.len() >= self.capacity {
            self.totals.forced_out += 1;
            self.hand_back()
        } else {
            None
        };
        self.next_sequence = sequence + 1;
        self.totals.sent += 1;
        self.entries.push_back(Entry {
            sequence,
            sent_ns,
            state: State::Waiting,
            duplicates: 0,
            payload,
        });
        forced
    }

    /// Notes a reply to packet `sequence` at `now_ns`.
    pub fn reply(&mut self, sequence: u64, now_ns: u64) -> Reply {
        self.reply_with(sequence, now_ns, |_| ())
    }

    /// As [`reply`](Self::reply); `note` may write the reply's content into the payload if it is the first.
    pub fn reply_with(&mut self, sequence: u64, now_ns: u64, note: impl FnOnce(&mut T)) -> Reply {
        let Some(place) = self.place_of(sequence) else {
            return self.reply_to_finished(sequence);
        };
        let timeout_ns = self.timeout_ns;
        let entry = &mut self.entries[place];
        match entry.state {
            State::Waiting if now_ns.saturating_sub(entry.sent_ns) < timeout_ns => {
                entry.state = State::Answered(now_ns);
                note(&mut entry.payload);
                self.totals.received += 1;
                Reply::First
            }
            State::Answered(_) | State::Late => {
                entry.duplicates = entry.duplicates.saturating_add(1);
                self.totals.duplicates += 1;
                self.totals.duplicated += u64::from(entry.duplicates == 1);
                Reply::Duplicate
            }
            State::Waiting | State::Lost => {
                self.totals.lost += u64::from(entry.state == State::Waiting);
                self.totals.late += 1;
                entry.state = State::Late;
                Reply::Late
            }
        }
    }

    /// Declares packets lost after `timeout_ns`, and passes to `out`, in order of sequence,
    /// every finished packet after its linger time. A pending packet holds back later ones.
    pub fn poll(&mut self, now_ns: u64, timeout_ns: u64, out: &mut impl FnMut(Finished<T>)) {
        self.timeout_ns = timeout_ns;
        while let Some(entry) = self.entries.get_mut(self.settled) {
            if entry.state == State::Waiting {
                if now_ns.saturating_sub(entry.sent_ns) < timeout_ns {
                    break;
                }
                entry.state = State::Lost;
                self.totals.lost += 1;
            }
            self.settled += 1;
        }
        while self.settled > 0
            && self
                .entries
                .front()
                .is_some_and(|entry| now_ns.saturating_sub(entry.sent_ns) >= self.linger_ns)
        {
            if let Some(finished) = self.hand_back() {
                out(finished);
            }
        }
    }

    /// Ends the test: pending packets are lost, and all packets are returned.
    pub fn finish(&mut self, out: &mut impl FnMut(Finished<T>)) {
        while let Some(finished) = self.hand_back() {
            out(finished);
        }
    }

    /// The counts so far.
    pub fn totals(&self) -> RttTotals {
        self.totals
    }

    /// Packets not returned yet.
    pub fn pending(&self) -> usize {
        self.entries.len()
    }

    /// Index of the packet, if it has not been returned.
    fn place_of(&self, sequence: u64) -> Option<usize> {
        let ahead = sequence.checked_sub(self.entries.front()?.sequence)?;
        // Without gaps in the sequences the distance is the index; with gaps the index is lower.
        if let Some(place) = usize::try_from(ahead)
            .ok()
            .filter(|&place| place < self.entries.len())
            && self.entries[place].sequence == sequence
        {
            return Some(place);
        }
        self.entries
            .binary_search_by_key(&sequence, |entry| entry.sequence)
            .ok()
    }

    fn reply_to_finished(&mut self, sequence: u64) -> Reply {
        let totals = &mut self.totals;
        let Some(history) = self
            .history
            .as_mut()
            .filter(|history| history.sent.contains(sequence))
        else {
            totals.unknown += 1;
            return Reply::Unknown;
        };
        if !history.answered.contains(sequence) {
            history.answered.set(sequence);
            totals.late += 1;
            return Reply::Late;
        }
        totals.duplicates += 1;
        if !history.duplicated.contains(sequence) {
            history.duplicated.set(sequence);
            totals.duplicated += 1;
        }
        Reply::Duplicate
    }

    /// Removes the first packet, lost if it is pending.
    fn hand_back(&mut self) -> Option<Finished<T>> {
        let mut entry = self.entries.pop_front()?;
        self.settled = self.settled.saturating_sub(1);
        if entry.state == State::Waiting {
            entry.state = State::Lost;
            self.totals.lost += 1;
        }
        self.history
            .get_or_insert_with(|| History::new(8 * self.capacity, entry.sequence))
            .add(&entry);
        let answered = match entry.state {
            State::Answered(at_ns) => Some(at_ns),
            State::Waiting | State::Lost | State::Late => None,
        };
        Some(Finished {
            sequence: entry.sequence,
            sent_ns: entry.sent_ns,
            answered,
            duplicates: entry.duplicates,
            payload: entry.payload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(tracker: &mut RttTracker<char>, now_ns: u64) -> Vec<(u64, Option<u64>, u32)> {
        let mut finished = Vec::new();
        tracker.poll(now_ns, 100, &mut |done| {
            finished.push((done.sequence, done.rtt_ns(), done.duplicates))
        });
        finished
    }

    #[test]
    fn hands_back_in_order_after_lingering() {
        let mut tracker = RttTracker::new(8, 50);
        for (sequence, payload) in [(10, 'a'), (11, 'b'), (13, 'c')] {
            assert_eq!(tracker.sent(sequence, sequence, payload), None);
        }
        assert_eq!(tracker.reply(13, 20), Reply::First);
        assert_eq!(tracker.reply(10, 25), Reply::First);
        assert_eq!(tracker.reply(10, 26), Reply::Duplicate);
        assert_eq!(tracker.reply(12, 27), Reply::Unknown);
        assert_eq!(collect(&mut tracker, 59), []);
        assert_eq!(collect(&mut tracker, 60), [(10, Some(15), 1)]);
        // 11 is pending and holds 13 back.
        assert_eq!(collect(&mut tracker, 110), []);
        assert_eq!(collect(&mut tracker, 111), [(11, None, 0), (13, Some(7), 0)]);
        assert_eq!(tracker.reply(11, 112), Reply::Late);
        assert_eq!(tracker.reply(11, 113), Reply::Duplicate);
        assert_eq!(tracker.reply(11, 114), Reply::Duplicate);
        assert_eq!(tracker.reply(10, 115), Reply::Duplicate);
        assert_eq!(
            tracker.totals(),
            RttTotals {
                sent: 3,
                received: 2,
                lost: 1,
                late: 1,
                duplicates: 4,
                duplicated: 2,
                unknown: 1,
                forced_out: 0
            }
        );
    }

    #[test]
    fn a_reply_past_the_timeout_is_late_whether_or_not_a_poll_came_first() {
        let mut tracker = RttTracker::new(8, 500);
        tracker.sent(0, 0, 'a');
        tracker.sent(1, 0, 'b');
        assert_eq!(collect(&mut tracker, 50), []);
        assert_eq!(tracker.reply(0, 100), Reply::Late);
        assert_eq!(collect(&mut tracker, 100), []);
        assert_eq!(tracker.reply(1, 101), Reply::Late);
        assert_eq!(tracker.reply(1, 102), Reply::Duplicate);
        assert_eq!(collect(&mut tracker, 500), [(0, None, 0), (1, None, 1)]);
        assert_eq!(tracker.reply(0, 600), Reply::Duplicate);
        let totals = tracker.totals();
        assert_eq!(
            (totals.lost, totals.late, totals.duplicates, totals.duplicated),
            (2, 2, 2, 2)
        );
    }

    #[test]
    fn each_lost_packet_is_reported_once_under_its_own_number() {
        // Another tool repeats one sequence number in its loss rows.
        let mut tracker = RttTracker::new(1_000, 0);
        for sequence in 0..300 {
            tracker.sent(sequence, sequence, 'x');
            if sequence % 3 != 0 {
                tracker.reply(sequence, sequence + 5);
            }
        }
        let mut lost = Vec::new();
        let mut gather = |done: Finished<char>| {
            if done.answered.is_none() {
                lost.push(done.sequence);
            }
        };
        for now_ns in 250..330 {
            tracker.poll(now_ns, 100, &mut gather);
        }
        tracker.reply(0, 330);
        tracker.finish(&mut gather);
        assert_eq!(lost, (0..300).step_by(3).collect::<Vec<_>>());
        let totals = tracker.totals();
        assert_eq!(
            (totals.sent, totals.received, totals.lost, totals.late),
            (300, 200, 100, 1)
        );
    }

    #[test]
    fn makes_room_by_finishing_the_oldest() {
        let mut tracker = RttTracker::new(2, 1_000);
        tracker.sent(0, 0, 'a');
        tracker.reply_with(0, 9, |payload| *payload = 'A');
        tracker.sent(1, 1, 'b');
        let forced = tracker.sent(2, 2, 'c').unwrap();
        assert_eq!(
            (forced.sequence, forced.rtt_ns(), forced.payload),
            (0, Some(9), 'A')
        );
        assert_eq!(tracker.sent(3, 3, 'd').unwrap().answered, None);
        assert_eq!(tracker.sent(3, 3, 'd'), None);
        assert_eq!(tracker.reply(1, 20), Reply::Late);
        assert_eq!(tracker.pending(), 2);
        tracker.finish(&mut |_| ());
        let totals = tracker.totals();
        assert_eq!(
            (totals.sent, totals.received, totals.lost, totals.forced_out),
            (4, 1, 3, 2)
        );
    }
}
