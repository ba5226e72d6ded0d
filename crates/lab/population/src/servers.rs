//! The far ends of a household's connections: servers that answer requests over TCP, at the pace that they were asked for,
//! and the other end of a call. They must not know viewers.

use weir_link::discrete::Endpoint;
use weir_link::{Departure, Ecn, Nanos, Packet};
use weir_stats::DurationHistogram;
use weir_tcp::{Ack, HEADER_BYTES, Segment, Sender, SenderCounters, USUAL_MSS};

use crate::packets::Content;

/// A packet of a call every 20 ms.
const VOICE_EVERY_NS: u64 = 20_000_000;

/// A connection.
#[derive(Debug)]
struct Served {
    sender: Sender,
    /// Number of the last request.
    answered: u64,
    wake: Option<u64>,
    /// Smoothed round-trip times, at each acknowledgement while there is something to send.
    trips: DurationHistogram,
}

/// All servers of a household.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    connections: Vec<Served>,
    /// When the next packet of the call is due; none: there is no call.
    voice_at: Option<u64>,
    voice_until: u64,
}

impl Servers {
    /// Adds a connection, which has the next number.
    pub fn add(&mut self, sender: Sender) {
        self.connections.push(Served {
            sender,
            answered: 0,
            wake: None,
            trips: DurationHistogram::new(),
        });
    }

    /// Begins a call now, which ends at `until_ns`.
    pub fn call(&mut self, until_ns: u64) {
        (self.voice_at, self.voice_until) = (Some(0), until_ns);
    }

    /// What the sender of a connection has done.
    pub fn counters(&self, connection: usize) -> SenderCounters {
        self.connections[connection].sender.counters()
    }

    /// Smoothed round-trip times of a connection while it delivers.
    pub fn trips(&self, connection: usize) -> &DurationHistogram {
        &self.connections[connection].trips
    }

    fn transmit(&mut self, now: Nanos, connection: usize, out: &mut Vec<Packet<Content>>) {
        let served = &mut self.connections[connection];
        let ecn = served.sender.ecn();
        while let Some(data) = served.sender.poll_transmit(now.0) {
            let segment = Segment::Data(data);
            out.push(Content::Segment { connection, segment }.packet(ecn));
        }
        served.wake = served.sender.next_wake_ns();
    }

    fn acknowledged(&mut self, now: Nanos, connection: usize, ack: &Ack) {
        let served = &mut self.connections[connection];
        let was_delivering = served.sender.unacknowledged() > 0;
        served.sender.receive(now.0, ack);
        if let Some(rtt_ns) = served.sender.rtt_ns().filter(|_| was_delivering) {
            served.trips.record(rtt_ns as i64);
        }
    }
}

/// The rate of IP packets that carry this rate of payload.
fn of_packets(rate: u64) -> u64 {
    let most = u128::from(rate) * u128::from(USUAL_MSS + HEADER_BYTES) / u128::from(USUAL_MSS);
    u64::try_from(most).unwrap_or(u64::MAX)
}

impl Endpoint<Content> for Servers {
    fn next_wake(&self) -> Option<Nanos> {
        let wakes = self.connections.iter().filter_map(|served| served.wake);
        wakes.chain(self.voice_at).min().map(Nanos)
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Content>>) {
        for connection in 0..self.connections.len() {
            let served = &mut self.connections[connection];
            if served.wake.is_some_and(|at| at <= now.0) {
                served.sender.wake(now.0);
                self.transmit(now, connection, out);
            }
        }
        if let Some(sent_ns) = self.voice_at.filter(|at| *at <= now.0) {
            out.push(Content::Voice { sent_ns }.packet(Ecn::NotEct));
            let next = sent_ns + VOICE_EVERY_NS;
            self.voice_at = (next < self.voice_until).then_some(next);
        }
    }

    fn receive(&mut self, departure: Departure<Content>, out: &mut Vec<Packet<Content>>) {
        let now = departure.at;
        let connection = match departure.packet.payload {
            Content::Segment {
                connection,
                segment: Segment::Ack(ack),
            } => {
                self.acknowledged(now, connection, &ack);
                connection
            }
            Content::Request { connection, asked } => {
                let served = &mut self.connections[connection];
                // One that was sent again, although its answer had begun.
                if asked.number <= served.answered {
                    return;
                }
                served.answered = asked.number;
                served.sender.set_most_rate(asked.pace.map(of_packets));
                served.sender.write(now.0, asked.bytes);
                connection
            }
            // Nothing else comes from a home.
            Content::Segment { .. } | Content::Voice { .. } => return,
        };
        self.transmit(now, connection, out);
    }
}
