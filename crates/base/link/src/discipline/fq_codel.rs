//! FQ-CoDel (RFC 8290): flows are hashed to queues, each under CoDel, which take turns by deficit round robin; a queue
//! that was empty goes first. It must not know the rate.

use std::collections::VecDeque;

use super::codel::ControlLaw;
use crate::packet::{FlowKey, Nanos};
use crate::random::{mix, scale};
use crate::spec::{FqCodelSpec, QueueLimit};
use crate::waiting::{Fifo, QueueAccount, QueueDiscipline, Waiting};

/// Maximum number of packets dropped at once from a queue when the limit is reached (section 4.1).
const MOST_DROPPED: u64 = 64;

/// All queues.
pub(crate) struct FqCodel<P> {
    flows: FlowHash,
    queues: Box<[FlowQueue<P>]>,
    /// Queues that were empty, then those that had their turn (section 3.1).
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    quantum: i64,
    limit: QueueLimit,
    packets: u64,
    bytes: u64,
}

struct FlowQueue<P> {
    fifo: Fifo<P>,
    law: ControlLaw,
    deficit: i64,
    /// Whether it is in a list.
    listed: bool,
}

/// Which flows share a queue.
pub(crate) struct FlowHash {
    pub(crate) seed: u64,
    /// All flows of a pair of hosts are one.
    pub(crate) by_host_pair: bool,
}

impl FlowHash {
    /// The queue of a flow, of `queues`; section 4.1.1.
    fn queue(&self, flow: FlowKey, queues: usize) -> usize {
        let key = if self.by_host_pair {
            flow.host_pair
        } else {
            flow.five_tuple
        };
        let hash = mix(mix(key ^ self.seed).wrapping_add(self.seed));
        // Below the number of queues.
        scale(hash, queues as u128) as usize
    }
}

impl<P> FqCodel<P> {
    pub(crate) fn new(spec: &FqCodelSpec, limit: QueueLimit, flows: FlowHash) -> Self {
        let queue = |_| FlowQueue {
            fifo: Fifo::new(),
            law: ControlLaw::new(spec.codel),
            deficit: 0,
            listed: false,
        };
        Self {
            flows,
            queues: (0..spec.flows).map(queue).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            quantum: i64::from(spec.quantum),
            limit,
            packets: 0,
            bytes: 0,
        }
    }

    /// Drops half of the longest queue, in bytes, from its head (section 4.1).
    fn drop_from_longest(&mut self, account: &mut QueueAccount) {
        let mut longest = 0;
        for (index, queue) in self.queues.iter().enumerate() {
            if queue.fifo.bytes() > self.queues[longest].fifo.bytes() {
                longest = index;
            }
        }
        let queue = &mut self.queues[longest];
        let dropped = (queue.fifo.packets() / 2).clamp(1, MOST_DROPPED);
        for packet in (0..dropped).map_while(|_| queue.fifo.pop()) {
            self.packets -= 1;
            self.bytes -= u64::from(packet.packet.length);
            account.drop_for_room(packet.packet.flow);
        }
    }

    /// The list whose first queue has its turn, and that queue.
    fn turn(&mut self) -> Option<(bool, u32)> {
        let new = self.new.front().map(|index| (true, *index));
        new.or_else(|| self.old.front().map(|index| (false, *index)))
    }

    fn unlist_first(&mut self, new: bool) {
        let list = if new { &mut self.new } else { &mut self.old };
        list.pop_front();
    }
}

impl<P> QueueDiscipline<P> for FqCodel<P> {
    fn enqueue(
        &mut self,
        _now: Nanos,
        waiting: Waiting<P>,
        account: &mut QueueAccount,
    ) -> Result<(), Waiting<P>> {
        let index = self.flows.queue(waiting.packet.flow, self.queues.len());
        let queue = &mut self.queues[index];
        let length = waiting.packet.length;
        // The limit counts the packet as accepted, and drops where most wait.
        let overflows = !self.limit.admits(self.packets, self.bytes, length);
        self.packets += 1;
        self.bytes += u64::from(length);
        queue.fifo.push(waiting);
        if !queue.listed {
            queue.listed = true;
            queue.deficit = self.quantum;
            // At most 65,536 queues.
            self.new.push_back(index as u32);
        }
        if overflows {
            self.drop_from_longest(account);
        }
        Ok(())
    }

    /// Section 4.2.
    fn dequeue(&mut self, now: Nanos, account: &mut QueueAccount) -> Option<Waiting<P>> {
        loop {
            let (new, index) = self.turn()?;
            let queue = &mut self.queues[index as usize];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                self.unlist_first(new);
                self.old.push_back(index);
                continue;
            }
            let (packets, bytes) = (queue.fifo.packets(), queue.fifo.bytes());
            let next = queue.law.dequeue(&mut queue.fifo, now, account);
            self.packets -= packets - queue.fifo.packets();
            self.bytes -= bytes - queue.fifo.bytes();
            if let Some(next) = next {
                queue.deficit -= i64::from(next.packet.length);
                return Some(next);
            }
            queue.listed = new;
            self.unlist_first(new);
            if new {
                self.old.push_back(index);
            }
        }
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
