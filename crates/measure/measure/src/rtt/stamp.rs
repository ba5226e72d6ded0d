//! STAMP (RFC 8762, with the session identifier and TLVs of RFC 8972) at both ends: the windowed RTT test against
//! any Session-Reflector, and a stateless Session-Reflector.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use weir_net::{UdpOptions, UdpSocket, clock};
use weir_units::Rate;
use weir_wire::UnixNanos;
use weir_wire::stamp::{Mode, NtpTimestamp, ReflectorPacket, StampKey, reflect};

use super::client::{Prober, nothing_came, probe_options};
use super::codec::{Codec, error_estimate};
use super::reflector::RateGate;
use super::{RttPlan, RttSummary};
use crate::{MeasureError, Sink, Stop};

pub use super::codec::StampCodec;

/// UDP port of STAMP (RFC 8762, section 4.1).
pub const STAMP_PORT: u16 = 862;
/// TTL that a Session-Sender must use (RFC 8762, section 4.2).
const STAMP_TTL: u8 = 255;

/// Highest rate of UDP payload, bits per second, and most packets in a second, of a test by STAMP and of all answers of a
/// reflector together. Neither end has been asked whether it agrees, so that both have to be harmless.
pub const CEILING: (Rate, u64) = (Rate(100_000_000), 10_000);

/// Checks a plan as [`RttPlan::check`] does, and against the [`CEILING`].
///
/// # Errors
/// [`MeasureError::Parameters`], naming the option.
pub fn check(plan: &RttPlan, codec: &StampCodec) -> Result<(), MeasureError> {
    plan.check(codec.shortest())?;
    let (rate, packets) = CEILING;
    if plan.peak_rate() > rate || plan.peak_packets() > packets {
        return Err(MeasureError::Parameters(format!(
            "--stamp sends at most {} and {packets} packets a second, since the reflector has not agreed to more; {} and {} packets were asked; lower --window or --length, or raise --interval",
            rate.rounded(),
            plan.peak_rate().rounded(),
            plan.peak_packets()
        )));
    }
    Ok(())
}

/// Runs the windowed RTT test against a STAMP Session-Reflector.
///
/// # Errors
/// When packets do not fit, or none comes back at all.
pub fn run(
    remote: SocketAddr,
    codec: &StampCodec,
    plan: &RttPlan,
    sink: &dyn Sink,
    stop: &Stop,
) -> Result<RttSummary, MeasureError> {
    check(plan, codec)?;
    crate::path_mtu::check_fits(remote.ip(), plan.length.to)?;
    let plan = RttPlan {
        ttl: STAMP_TTL,
        ..plan.clone()
    };
    let any = if remote.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let local: SocketAddr = any
        .parse()
        .map_err(|_| MeasureError::Internal("no local address".into()))?;
    let socket = UdpSocket::bind(local, &probe_options())?;
    socket.connect(remote)?;
    let interface = weir_net::host::interface_towards(remote.ip());
    let prober = Prober::new(&plan, Codec::Stamp(codec.clone()), socket, interface);
    prober.run(sink, stop, &mut || Ok(false))?;
    let summary = prober.summary(None);
    nothing_came(&summary, &remote.to_string(), stop)?;
    Ok(summary)
}

/// A stateless Session-Reflector on one port.
#[derive(Debug)]
pub struct StampReflector {
    socket: UdpSocket,
    key: Option<StampKey>,
}

impl StampReflector {
    /// Binds the reflector; in authenticated mode packets without the right HMAC get no answer.
    ///
    /// # Errors
    /// When the port is taken or needs privileges.
    pub fn bind(address: SocketAddr, key: Option<&[u8]>) -> Result<Self, MeasureError> {
        let options = UdpOptions {
            receive_timestamps: true,
            local_addresses: true,
            ..UdpOptions::default()
        };
        let socket = UdpSocket::bind(address, &options)?;
        socket.set_ttl(STAMP_TTL)?;
        socket.set_receive_timeout(Duration::from_millis(200))?;
        Ok(StampReflector {
            socket,
            key: key.map(StampKey::new),
        })
    }

    /// Where it listens.
    pub fn local(&self) -> SocketAddr {
        self.socket.local()
    }

    /// Reflects until `stop` is set.
    pub fn run(&self, stop: &Stop) {
        let mut request = vec![0; 65_536];
        let mut reply = vec![0; 65_536];
        let mut gate = Gate::new();
        let mode = self
            .key
            .as_ref()
            .map_or(Mode::Unauthenticated, Mode::Authenticated);
        while !stop.is_set() {
            // An error here is an ICMP answer to an earlier reply, and nobody's to handle.
            let Ok(Some((length, source, told))) = self.socket.receive_blocking(&mut request) else {
                continue;
            };
            let request = &request[..length];
            // What cannot be read or proven is dropped without an answer, as RFC 8762 section 4.4 asks.
            let Ok((as_answer, _)) = ReflectorPacket::decode(mode, request) else {
                continue;
            };
            let now = clock::unix_ns();
            let sent = NtpTimestamp::from_unix(UnixNanos(now));
            if !gate.lets_through(now, as_answer.sender_timestamp, length) {
                continue;
            }
            let received = NtpTimestamp::from_unix(UnixNanos(told.kernel_ns.unwrap_or(now)));
            let ttl = told.ttl.unwrap_or(0);
            let answer = reflect(request, mode, received, sent, ttl, error_estimate(), &mut reply);
            if let Ok(length) = answer {
                gate.answered(sent);
                self.answer(&reply[..length], source, told.local);
            }
        }
    }

    /// Answers from the address that was asked: the sender takes no other.
    fn answer(&self, reply: &[u8], source: SocketAddr, asked: Option<IpAddr>) {
        // An answer that cannot be sent is lost, which the sender's count shows.
        let _ = match asked {
            Some(local) => self.socket.send_from(local, reply, source),
            None => self.socket.send_to(reply, source),
        };
    }
}

/// Which requests get an answer. Pure.
///
/// No answer to an answer: two reflectors that were brought together by one forged packet would go on for ever. Both
/// are as long and come to the same port, but an answer gives back the time that the reflector put into its own. And
/// no more answers in a second than the [`CEILING`] allows, since a source can be forged.
struct Gate {
    rate: RateGate,
    packets_left: u64,
    /// Times put into the last answers, by themselves modulo their number.
    recent: Vec<NtpTimestamp>,
}

impl Gate {
    /// Answers remembered: those of 1.6 s at the highest rate, which a round trip does not take.
    const REMEMBERED: usize = 1 << 14;

    fn new() -> Self {
        Gate {
            rate: RateGate::new(CEILING.0),
            packets_left: 0,
            recent: vec![NtpTimestamp::default(); Self::REMEMBERED],
        }
    }

    fn slot(time: NtpTimestamp) -> usize {
        // The lowest bits of a fraction made from nanoseconds are the most even.
        (time.0 % Self::REMEMBERED as u64) as usize
    }

    /// Whether a packet gets an answer; `echoed` is what stands where an answer has the time of what it answers.
    fn lets_through(&mut self, unix_ns: u64, echoed: NtpTimestamp, length: usize) -> bool {
        if echoed.0 != 0 && self.recent[Self::slot(echoed)] == echoed {
            return false;
        }
        if self.rate.is_new_second(unix_ns) {
            self.packets_left = CEILING.1;
        }
        let counts = self.packets_left > 0 && self.rate.is_within(unix_ns, length);
        self.packets_left -= u64::from(counts);
        counts
    }

    /// An answer with this time leaves.
    fn answered(&mut self, sent: NtpTimestamp) {
        self.recent[Self::slot(sent)] = sent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::Span;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn an_answer_to_an_answer_is_not_answered() {
        let mut gate = Gate::new();
        let sent = NtpTimestamp::from_unix(UnixNanos(1_700_000_000 * SECOND + 123_456_789));
        assert!(gate.lets_through(0, sent, 44), "nothing was sent yet");
        gate.answered(sent);
        for other in 1..1_000 {
            gate.answered(NtpTimestamp::from_unix(UnixNanos(
                1_700_000_001 * SECOND + other * 100_000,
            )));
        }
        assert!(!gate.lets_through(0, sent, 44));
        assert!(gate.lets_through(0, NtpTimestamp(sent.0 + 1), 44));
        // A request has zeros there.
        assert!(gate.lets_through(0, NtpTimestamp(0), 44));
    }

    #[test]
    fn answers_of_a_second_are_bounded_in_packets_and_bytes() {
        let mut gate = Gate::new();
        let mut answered = |from: u64, length: usize| {
            (0..20_000)
                .filter(|packet| gate.lets_through(from + packet * 50_000, NtpTimestamp(0), length))
                .count()
        };
        assert_eq!(answered(10 * SECOND, 44), 10_000);
        // 12.5 MB are 8928 packets of 1400 bytes.
        assert_eq!(answered(11 * SECOND, 1400), 8928);
        assert_eq!(answered(12 * SECOND, 44), 10_000);
    }

    #[test]
    fn a_test_that_nobody_agreed_to_is_bounded() {
        let codec = StampCodec::new(None, 0);
        let plan = |window, length, interval_ns| RttPlan {
            window: Span::fixed(window),
            length: Span::fixed(length),
            interval_ns,
            ..RttPlan::default()
        };
        assert!(check(&plan(10, 100, 1_000_000), &codec).is_ok());
        assert!(check(&plan(8900, 1400, SECOND), &codec).is_ok());
        for beyond in [plan(11, 44, 1_000_000), plan(9000, 1400, SECOND)] {
            let said = check(&beyond, &codec).expect_err("too fast").to_string();
            assert!(said.contains("--window") && said.contains("--interval"), "{said}");
        }
    }
}
