//! Joins what several threads have read to one sequence in the order of arrival, as one thread would have read it. Pure:
//! packets and times come in and go out; it knows no socket and no clock.

use std::collections::VecDeque;
use std::vec::IntoIter;

use weir_wire::FlowData;

use super::account::StreamAccount;

/// A packet of a test as it was read. Times are monotonic nanoseconds, but for that named `unix`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Before this time, all that arrived had been read when this was.
    pub at_ns: u64,
    /// The best timestamp of its arrival.
    pub unix_ns: u64,
    pub packet: FlowData,
    /// UDP payload bytes.
    pub bytes: u32,
    /// A router has marked it for congestion.
    pub is_marked: bool,
    /// It arrived as not capable of ECN, where sockets tell that.
    pub is_cleared: bool,
    /// TTL or hop limit that it arrived with.
    pub ttl: Option<u8>,
}

impl Arrived {
    /// Enters it into the account.
    pub(super) fn enter(&self, account: &mut StreamAccount) {
        account.on_packet(self.at_ns, self.unix_ns, &self.packet, self.bytes);
        if self.is_marked || self.is_cleared {
            account.on_ecn(&self.packet, self.is_marked);
        }
        if let Some(ttl) = self.ttl {
            account.on_ttl(&self.packet, ttl);
        }
    }
}

/// What a thread has read since its last batch.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// In the order of arrival.
    pub packets: Vec<Arrived>,
    /// Datagrams that were not packets of the test.
    pub rejected: u64,
    /// What the thread reads later arrives at this time or later.
    pub until_ns: u64,
}

/// The batches of one thread.
#[derive(Debug)]
struct Lane {
    batches: VecDeque<IntoIter<Arrived>>,
    until_ns: u64,
}

impl Lane {
    /// When its next packet arrived, or no packet did before.
    fn next_ns(&self) -> u64 {
        let first = self.batches.front().and_then(|batch| batch.as_slice().first());
        first.map_or(self.until_ns, |packet| packet.at_ns)
    }

    fn take(&mut self) -> Option<Arrived> {
        let batch = self.batches.front_mut()?;
        let packet = batch.next();
        if batch.len() == 0 {
            self.batches.pop_front();
        }
        packet
    }
}

/// Packets of all threads.
#[derive(Debug)]
pub(super) struct Interleaver {
    lanes: Vec<Lane>,
}

impl Interleaver {
    /// So many threads, which begin to read at `now_ns`.
    pub(super) fn new(threads: u16, now_ns: u64) -> Self {
        let lane = |_| Lane {
            batches: VecDeque::new(),
            until_ns: now_ns,
        };
        Interleaver {
            lanes: (0..threads).map(lane).collect(),
        }
    }

    /// Takes the next batch of a thread.
    pub(super) fn add(&mut self, thread: u16, batch: Batch) {
        let Some(lane) = self.lanes.get_mut(usize::from(thread)) else {
            return;
        };
        lane.until_ns = lane.until_ns.max(batch.until_ns);
        if !batch.packets.is_empty() {
            lane.batches.push_back(batch.packets.into_iter());
        }
    }

    /// No batch follows: the packets that are there need not wait for any.
    pub(super) fn end(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.until_ns = u64::MAX);
    }

    /// The next packet, unless a thread may still bring an earlier one.
    pub(super) fn next(&mut self) -> Option<Arrived> {
        // Of those with the same time, one that is there goes before one that may come.
        let next = |lane: &&mut Lane| (lane.next_ns(), lane.batches.is_empty());
        self.lanes.iter_mut().min_by_key(next)?.take()
    }

    /// All packets that arrived before this time have been taken, once [`next`](Self::next) gives none.
    pub(super) fn until_ns(&self) -> u64 {
        self.lanes.iter().map(Lane::next_ns).min().unwrap_or(u64::MAX)
    }
}
