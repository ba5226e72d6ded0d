//! Hosts with connections on a link.

use std::path::Path;

use weir_link::discrete::Network;
use weir_link::profile::parse;
use weir_link::{Counters, LinkSpec, Nanos};
use weir_tcp::{Algorithm, Host, Receiver, ReceiverConfig, Sender, SenderConfig, SenderCounters};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

/// A connection: who sends, how much, and from when on.
#[derive(Clone, Copy)]
pub struct Flow {
    pub config: SenderConfig,
    pub bytes: u64,
    pub from_ns: u64,
}

impl Flow {
    /// One that never ends.
    pub fn endless(algorithm: Algorithm) -> Self {
        Self {
            config: SenderConfig::new(algorithm),
            bytes: u64::MAX / 4,
            from_ns: 0,
        }
    }

    /// One that ends after `bytes`.
    pub fn of(algorithm: Algorithm, bytes: u64) -> Self {
        Self {
            bytes,
            ..Self::endless(algorithm)
        }
    }
}

/// What was seen of the connections.
pub struct Seen {
    pub received: Vec<u64>,
    pub counters: Vec<SenderCounters>,
    /// Smoothed round-trip times of the first sender, each 100 ms, nanoseconds.
    pub rtts_ns: Vec<u64>,
    pub forward: Counters,
    pub ended_ns: u64,
    /// Bytes that were received after each second, in all.
    pub by_second: Vec<Vec<u64>>,
}

impl Seen {
    /// Bits of payload per second of a connection from one second to another.
    pub fn rate(&self, connection: usize, from: usize, to: usize) -> f64 {
        let bytes = self.by_second[to][connection] - self.by_second[from][connection];
        bytes as f64 * 8.0 / (to - from) as f64
    }

    /// Mean queue, bytes.
    pub fn mean_queue(&self) -> f64 {
        self.forward.queued_byte_ns as f64 / self.ended_ns as f64
    }
}

pub fn link(text: &str) -> LinkSpec {
    parse(text, "test", Path::new(".")).expect("a link")
}

/// Runs until `until_ns`, or until nothing happens any more.
pub fn run(spec: &LinkSpec, flows: &[Flow], until_ns: u64) -> Seen {
    let (mut near, mut far) = (Host::default(), Host::default());
    let receiver = ReceiverConfig {
        window: 64 << 20,
        ..ReceiverConfig::default()
    };
    for (flow, seed) in flows.iter().zip(1..) {
        let config = SenderConfig { seed, ..flow.config };
        let mut sender = Sender::new(config, receiver.window.into());
        sender.write(flow.from_ns, flow.bytes);
        near.add_sender(sender, flow.from_ns);
        far.add_receiver(Receiver::new(receiver));
    }
    let mut network = Network::new(spec);
    let (mut rtts_ns, mut by_second, mut ended_ns) = (Vec::new(), Vec::new(), 0);
    while let Some(at) = network.step(&mut near, &mut far, Nanos(until_ns)) {
        ended_ns = at.0;
        while at.0 >= by_second.len() as u64 * SECOND {
            by_second.push(far.receivers().map(Receiver::received).collect());
        }
        if at.0 >= rtts_ns.len() as u64 * 100 * MS {
            let first = near.senders().next().expect("a sender");
            rtts_ns.push(first.rtt_ns().unwrap_or(0));
        }
    }
    by_second.push(far.receivers().map(Receiver::received).collect());
    Seen {
        received: far.receivers().map(Receiver::received).collect(),
        counters: near.senders().map(Sender::counters).collect(),
        rtts_ns,
        forward: network.forward().counters(),
        ended_ns,
        by_second,
    }
}
