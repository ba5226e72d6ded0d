//! The agent's half of the RTT test: answers each authentic packet of its session once, with its own times.

use std::net::{IpAddr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_net::{UdpSocket, clock};
use weir_wire::{RTT_HEADER_LENGTH, RttReply, RttRequest as RequestPacket, SessionId, UdpKey, UnixNanos};

use crate::{MeasureError, Stop};

/// What the client asks of the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RttRequest {
    /// Longest packet that will be sent, bytes.
    pub max_length: u32,
    /// How long windows will be sent, nanoseconds.
    pub duration_ns: u64,
    /// How long replies to the last of them are waited for, nanoseconds.
    pub timeout_ns: u64,
    /// Highest rate of the test, averaged over an interval, bits per second.
    pub rate: weir_units::Rate,
    /// Whether seconds of the agent's host are wanted. A Weir that does not say so wants them.
    #[serde(default = "wanted")]
    pub host_counters: bool,
}

fn wanted() -> bool {
    true
}

/// The reflector's account of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReflectorReport {
    /// Packets answered, each once.
    pub answered: u64,
    /// Copies of answered packets, which got no answer.
    pub duplicates: u64,
    /// Datagrams with a wrong form, session, tag or source, which got no answer.
    pub rejected: u64,
}

/// What a reflector answers at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Longest packet, bytes.
    pub max_length: u32,
    /// Highest rate of answers.
    pub max_rate: weir_units::Rate,
}

/// How many sequence numbers back a copy is still recognised, as IPsec's anti-replay window does (RFC 4303,
/// 3.4.3), only wider.
const REPLAY_WINDOW: u64 = 1 << 16;

/// A reflecting thread; ends when stopped or dropped.
pub(crate) struct Reflector {
    thread: Option<JoinHandle<ReflectorReport>>,
    stop: Stop,
    port: u16,
}

impl Reflector {
    /// Starts to reflect on `socket` for one session and one client host.
    pub(crate) fn start(
        socket: UdpSocket,
        session: SessionId,
        key: UdpKey,
        client: IpAddr,
        bounds: Bounds,
    ) -> Result<Self, MeasureError> {
        socket.set_receive_timeout(Duration::from_millis(100))?;
        let stop = Stop::default();
        let (ended, port) = (stop.clone(), socket.local().port());
        let state = Reflecting {
            session,
            key,
            client,
            bounds,
            rate: RateGate::new(bounds.max_rate),
            source: None,
            seen: Seen::default(),
            report: ReflectorReport::default(),
        };
        let thread = std::thread::Builder::new()
            .name("rtt-reflect".into())
            .spawn(move || state.run(&socket, &ended))
            .map_err(|error| MeasureError::thread(&error))?;
        Ok(Reflector {
            thread: Some(thread),
            stop,
            port,
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Stops and reports.
    pub(crate) fn finish(mut self) -> ReflectorReport {
        self.stop.set();
        self.thread
            .take()
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for Reflector {
    fn drop(&mut self) {
        self.stop.set();
    }
}

struct Reflecting {
    session: SessionId,
    key: UdpKey,
    client: IpAddr,
    bounds: Bounds,
    rate: RateGate,
    /// The client's socket, fixed by its first authentic packet.
    source: Option<SocketAddr>,
    seen: Seen,
    report: ReflectorReport,
}

impl Reflecting {
    fn run(mut self, socket: &UdpSocket, stop: &Stop) -> ReflectorReport {
        // A packet that is too long fills it.
        let mut buffer = vec![0; self.bounds.max_length as usize + 1];
        while !stop.is_set() {
            // An error here is an ICMP answer to an earlier reply; the client's own count shows the loss.
            let Ok(Some((length, source, told))) = socket.receive_blocking(&mut buffer) else {
                continue;
            };
            let received = clock::unix_ns();
            let Some(request) = self.admit(&buffer[..length], source) else {
                continue;
            };
            if !self.rate.is_within(received, length) {
                self.report.rejected += 1;
                continue;
            }
            let mut reply = RttReply {
                request,
                ttl: told.ttl.unwrap_or(0),
                reflector_kernel_receive: UnixNanos(told.kernel_ns.unwrap_or(0)),
                reflector_receive: UnixNanos(received),
                reflector_send: UnixNanos(0),
                reflector_sequence: self.report.answered as u32,
            };
            reply.reflector_send = UnixNanos(clock::unix_ns());
            let mut header = [0; RTT_HEADER_LENGTH];
            reply.encode(&self.key, &mut header);
            buffer[..RTT_HEADER_LENGTH].copy_from_slice(&header);
            // As long as the request, never longer.
            if socket.send_to(&buffer[..length], source).is_ok() {
                self.report.answered += 1;
            }
        }
        self.report
    }

    /// The request, if it is authentic, from the client and not a copy.
    fn admit(&mut self, datagram: &[u8], source: SocketAddr) -> Option<RequestPacket> {
        let known = self.source.is_none_or(|known| known == source) && source.ip() == self.client;
        let known = known && datagram.len() <= self.bounds.max_length as usize;
        let request = RequestPacket::decode(&self.key, self.session, datagram).ok();
        let (true, Some(request)) = (known, request) else {
            self.report.rejected += 1;
            return None;
        };
        self.source = Some(source);
        if !self.seen.is_new(request.sequence.0) {
            self.report.duplicates += 1;
            return None;
        }
        Some(request)
    }
}

/// Holds answers to a rate, counted by whole seconds. Pure.
pub(super) struct RateGate {
    max_rate: weir_units::Rate,
    /// Unix second that `bytes` counts.
    second: u64,
    bytes: u64,
}

impl RateGate {
    const SECOND_NS: u64 = 1_000_000_000;

    pub(super) fn new(max_rate: weir_units::Rate) -> Self {
        RateGate {
            max_rate,
            second: 0,
            bytes: 0,
        }
    }

    /// Nothing was counted yet in the second of `unix_ns`.
    pub(super) fn is_new_second(&self, unix_ns: u64) -> bool {
        unix_ns / Self::SECOND_NS != self.second || self.bytes == 0
    }

    /// Whether an answer of `length` bytes keeps to the rate.
    pub(super) fn is_within(&mut self, unix_ns: u64, length: usize) -> bool {
        if self.is_new_second(unix_ns) {
            (self.second, self.bytes) = (unix_ns / Self::SECOND_NS, 0);
        }
        self.bytes += length as u64;
        self.bytes <= self.max_rate.bytes_in(Self::SECOND_NS)
    }
}

/// Sequence numbers already answered.
struct Seen {
    extender: weir_stats::SequenceExtender,
    highest: Option<u64>,
    bits: Vec<u64>,
}

impl Default for Seen {
    fn default() -> Self {
        Seen {
            extender: weir_stats::SequenceExtender::new(0),
            highest: None,
            bits: vec![0; (REPLAY_WINDOW / 64) as usize],
        }
    }
}

impl Seen {
    fn is_new(&mut self, sequence: u32) -> bool {
        let Some(sequence) = self.extender.extend(sequence) else {
            return false;
        };
        let slot = |sequence: u64| {
            (
                ((sequence % REPLAY_WINDOW) / 64) as usize,
                1_u64 << (sequence % 64),
            )
        };
        match self.highest {
            Some(highest) if sequence + REPLAY_WINDOW <= highest => return false,
            Some(highest) if sequence <= highest => {}
            highest => {
                let from = highest.map_or(sequence, |highest| highest + 1);
                for passed in from.max(sequence.saturating_sub(REPLAY_WINDOW - 1))..=sequence {
                    let (word, bit) = slot(passed);
                    self.bits[word] &= !bit;
                }
                self.highest = Some(sequence);
            }
        }
        let (word, bit) = slot(sequence);
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_new_once_in_any_order() {
        let mut seen = Seen::default();
        assert!(seen.is_new(5) && seen.is_new(3) && seen.is_new(0));
        assert!(!seen.is_new(5) && !seen.is_new(3) && !seen.is_new(0));
        assert!(seen.is_new(4));
        assert!(seen.is_new(5 + REPLAY_WINDOW as u32));
        // Just outside of the window: indistinguishable from a replay, so it is one.
        assert!(!seen.is_new(2));
        assert!(seen.is_new(6));
    }
}
