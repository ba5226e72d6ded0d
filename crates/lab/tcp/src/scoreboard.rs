//! Packets in flight: which have arrived, which are lost, and which are to be sent again. It must not know congestion
//! controls, timers or the application.

use std::collections::VecDeque;
use std::ops::Range;

use crate::ranges::Ranges;

/// State of a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On its way, as far as known.
    Sent,
    /// Acknowledged by a block.
    Arrived,
    /// Presumed lost, and not sent again yet.
    Lost,
}

/// A packet, as it was sent last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub start: u64,
    pub length: u32,
    pub sent_ns: u64,
    /// How often it was sent.
    pub times: u32,
    /// Presumed lost once.
    was_lost: bool,
    /// For the samples of the delivery rate.
    pub stamp: Stamp,
    state: State,
}

/// What was known when a packet was sent (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stamp {
    /// Packets delivered until then, and when the last of them was, nanoseconds.
    pub delivered: u64,
    pub delivered_ns: u64,
    /// When the packet that was delivered last had been sent, nanoseconds.
    pub first_sent_ns: u64,
    /// The application had nothing to send.
    pub idle: bool,
}

/// A transmission in the order of time.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    number: u64,
    times: u32,
}

/// All packets that are not acknowledged cumulatively.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    packets: VecDeque<Sent>,
    /// Number of the first of them.
    first: u64,
    arrived: Ranges,
    arrived_packets: u64,
    lost: VecDeque<u64>,
    unrepaired: u64,
    transmissions: VecDeque<Transmission>,
}

impl Scoreboard {
    /// Packets that are neither acknowledged nor presumed lost (RFC 6675 section 2: pipe).
    pub fn in_flight(&self) -> u64 {
        self.packets.len() as u64 - self.arrived_packets - self.lost.len() as u64
    }

    /// Packets that are not acknowledged cumulatively.
    pub fn outstanding(&self) -> u64 {
        self.packets.len() as u64
    }

    /// When the oldest of them was sent.
    pub fn oldest_sent_ns(&self) -> Option<u64> {
        self.packets.front().map(|packet| packet.sent_ns)
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Packets that were presumed lost, sent again or not, and are not acknowledged.
    pub fn unrepaired(&self) -> u64 {
        self.unrepaired
    }

    /// Packets that have arrived beyond a gap.
    pub fn arrived(&self) -> u64 {
        self.arrived_packets
    }

    /// Notes a packet that is sent for the first time.
    pub fn send(&mut self, start: u64, length: u32, now_ns: u64, stamp: Stamp) {
        self.transmissions.push_back(Transmission {
            number: self.first + self.packets.len() as u64,
            times: 1,
        });
        self.packets.push_back(Sent {
            start,
            length,
            sent_ns: now_ns,
            times: 1,
            was_lost: false,
            stamp,
            state: State::Sent,
        });
    }

    /// The first lost packet, which is now sent again.
    pub fn send_again(&mut self, now_ns: u64, stamp: Stamp) -> Option<(u64, u32)> {
        let number = self.lost.pop_front()?;
        Some(self.sent_again(number, now_ns, stamp))
    }

    /// The last packet, which is sent again as a probe unless it has arrived.
    pub fn probe(&mut self, now_ns: u64, stamp: Stamp) -> Option<(u64, u32)> {
        let last = self.packets.back()?;
        let number = self.first + self.packets.len() as u64 - 1;
        match last.state {
            State::Arrived => return None,
            State::Lost => self.lost.retain(|lost| *lost != number),
            State::Sent => {}
        }
        Some(self.sent_again(number, now_ns, stamp))
    }

    fn sent_again(&mut self, number: u64, now_ns: u64, stamp: Stamp) -> (u64, u32) {
        let packet = &mut self.packets[(number - self.first) as usize];
        packet.state = State::Sent;
        packet.sent_ns = now_ns;
        packet.times += 1;
        packet.stamp = stamp;
        let sent = (packet.start, packet.length);
        self.transmissions.push_back(Transmission {
            number,
            times: packet.times,
        });
        sent
    }

    /// Takes what an acknowledgement says; each packet that it acknowledges for the first time goes to `came`, the
    /// cumulatively acknowledged ones in their order first.
    pub fn acknowledge(
        &mut self,
        until: u64,
        blocks: impl Iterator<Item = Range<u64>>,
        mut came: impl FnMut(&Sent),
    ) {
        while let Some(packet) = self.packets.front()
            && packet.start + u64::from(packet.length) <= until
        {
            if packet.state != State::Arrived {
                self.unrepaired -= u64::from(packet.was_lost);
            }
            match packet.state {
                State::Arrived => self.arrived_packets -= 1,
                State::Lost => {
                    let number = self.first;
                    self.lost.retain(|lost| *lost != number);
                    came(packet);
                }
                State::Sent => came(packet),
            }
            self.packets.pop_front();
            self.first += 1;
        }
        self.arrived.remove_before(until);
        let mut arrived = std::mem::take(&mut self.arrived);
        for block in blocks.filter(|block| block.start >= until && block.end > block.start) {
            arrived.add(block, |new| self.arrive(&new, &mut came));
        }
        self.arrived = arrived;
    }

    fn arrive(&mut self, new: &Range<u64>, came: &mut impl FnMut(&Sent)) {
        let from = self.packets.partition_point(|packet| packet.start < new.start);
        for place in from..self.packets.len() {
            let packet = &mut self.packets[place];
            if packet.start + u64::from(packet.length) > new.end {
                return;
            }
            if packet.state == State::Lost {
                let number = self.first + place as u64;
                self.lost.retain(|lost| *lost != number);
            }
            if packet.state != State::Arrived {
                packet.state = State::Arrived;
                self.unrepaired -= u64::from(packet.was_lost);
                self.arrived_packets += 1;
                came(packet);
            }
        }
    }

    /// Goes through transmissions in the order of their times: `judge` decides about each whether it is lost, or stops. Returns
    /// the number of packets that are lost now.
    pub fn lose(&mut self, mut judge: impl FnMut(&Sent) -> Judgement) -> u64 {
        let mut lost = 0;
        while let Some(oldest) = self.transmissions.front().copied() {
            let place = oldest.number.checked_sub(self.first);
            let packet = place.and_then(|place| self.packets.get_mut(place as usize));
            let on_its_way =
                packet.filter(|packet| packet.state == State::Sent && packet.times == oldest.times);
            if let Some(packet) = on_its_way {
                match judge(packet) {
                    Judgement::Stop => break,
                    Judgement::Lost => packet.state = State::Lost,
                }
                let place = self.lost.partition_point(|number| *number < oldest.number);
                self.lost.insert(place, oldest.number);
                lost += 1;
                self.unrepaired += u64::from(!std::mem::replace(&mut packet.was_lost, true));
            }
            self.transmissions.pop_front();
        }
        lost
    }
}

/// Of a packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Lost,
    /// Neither it nor any that was sent later.
    Stop,
}
