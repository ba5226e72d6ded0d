//! An end of an emulated link with connections: the senders of some, the receivers of others.

use weir_link::discrete::Endpoint;
use weir_link::{Departure, Ecn, FlowKey, Nanos, Packet};

use crate::control::Algorithm;
use crate::receiver::{Receiver, ReceiverConfig};
use crate::segment::Segment;
use crate::sender::{Sender, SenderConfig};

/// Content of a packet: a segment of a connection, by the number that it has at both hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// The connection.
    pub connection: u32,
    /// Its segment.
    pub segment: Segment,
}

#[derive(Debug)]
enum End {
    Sender(Box<Sender>),
    Receiver(Box<Receiver>),
}

/// A host.
#[derive(Debug, Default)]
pub struct Host {
    /// The 5-tuple of the first connection; those of the others are the numbers after it.
    five_tuple: u64,
    ends: Vec<End>,
    wakes: Vec<Option<u64>>,
}

/// The hosts of connections that shake hands at time 0 in a round trip of `rtt_ns`, begin to send `apart_ns` after each other and
/// never end: that of the senders, and that of the receivers.
#[must_use]
pub fn endless(algorithm: Algorithm, connections: u64, rtt_ns: u64, apart_ns: u64) -> (Host, Host) {
    let (mut near, mut far) = (Host::default(), Host::default());
    for seed in 0..connections {
        let config = SenderConfig {
            seed,
            ..SenderConfig::new(algorithm)
        };
        let receiver = ReceiverConfig::default();
        let mut sender = Sender::new(config, receiver.window.into());
        sender.connected(0, rtt_ns);
        sender.write(0, u64::MAX / 4);
        near.add_sender(sender, seed * apart_ns);
        far.add_receiver(Receiver::new(receiver));
    }
    (near, far)
}

impl Host {
    /// A host without connections. `five_tuple` tells the first one apart, and the numbers after it those that follow.
    #[must_use]
    pub fn new(five_tuple: u64) -> Self {
        Self {
            five_tuple,
            ..Self::default()
        }
    }

    /// Adds the sending end of the next connection, which begins to send at `from_ns`.
    pub fn add_sender(&mut self, sender: Sender, from_ns: u64) {
        self.ends.push(End::Sender(Box::new(sender)));
        self.wakes.push(Some(from_ns));
    }

    /// Adds the receiving end of the next connection.
    pub fn add_receiver(&mut self, receiver: Receiver) {
        self.ends.push(End::Receiver(Box::new(receiver)));
        self.wakes.push(None);
    }

    /// The senders.
    pub fn senders(&self) -> impl Iterator<Item = &Sender> {
        self.ends.iter().filter_map(|end| match end {
            End::Sender(sender) => Some(&**sender),
            End::Receiver(_) => None,
        })
    }

    /// The receivers.
    pub fn receivers(&self) -> impl Iterator<Item = &Receiver> {
        self.ends.iter().filter_map(|end| match end {
            End::Receiver(receiver) => Some(&**receiver),
            End::Sender(_) => None,
        })
    }

    fn transmit(&mut self, now: Nanos, connection: usize, out: &mut Vec<Packet<Content>>) {
        let five_tuple = self.five_tuple.wrapping_add(connection as u64);
        let mut push = |segment: Segment, ecn| {
            let number = connection as u32;
            out.push(Packet {
                length: segment.packet_length(),
                flow: FlowKey {
                    five_tuple,
                    source_port: five_tuple as u16,
                    host_pair: 1,
                },
                ecn,
                payload: Content {
                    connection: number,
                    segment,
                },
            });
        };
        let next = match &mut self.ends[connection] {
            End::Sender(sender) => {
                let ecn = sender.ecn();
                while let Some(data) = sender.poll_transmit(now.0) {
                    push(Segment::Data(data), ecn);
                }
                sender.next_wake_ns()
            }
            End::Receiver(receiver) => {
                while let Some(ack) = receiver.poll_ack() {
                    push(Segment::Ack(ack), Ecn::NotEct);
                }
                receiver.next_wake_ns()
            }
        };
        self.wakes[connection] = next;
    }
}

impl Endpoint<Content> for Host {
    fn next_wake(&self) -> Option<Nanos> {
        self.wakes.iter().copied().flatten().min().map(Nanos)
    }

    fn wake(&mut self, now: Nanos, out: &mut Vec<Packet<Content>>) {
        for connection in 0..self.ends.len() {
            if self.wakes[connection].is_none_or(|at| at > now.0) {
                continue;
            }
            match &mut self.ends[connection] {
                End::Sender(sender) => sender.wake(now.0),
                End::Receiver(receiver) => receiver.wake(now.0),
            }
            self.transmit(now, connection, out);
        }
    }

    fn receive(&mut self, departure: Departure<Content>, out: &mut Vec<Packet<Content>>) {
        let Content { connection, segment } = departure.packet.payload;
        let connection = connection as usize;
        match (&mut self.ends[connection], segment) {
            (End::Sender(sender), Segment::Ack(ack)) => sender.receive(departure.at.0, &ack),
            (End::Receiver(receiver), Segment::Data(data)) => {
                receiver.receive(departure.at.0, &data, departure.packet.ecn);
            }
            // A host has one end of a connection, and the other host the other one.
            _ => return,
        }
        self.transmit(departure.at, connection, out);
    }
}
