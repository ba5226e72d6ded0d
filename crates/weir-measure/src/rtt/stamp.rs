//! STAMP (RFC 8762, with the session identifier and TLVs of RFC 8972) at both ends: the windowed RTT test against
//! any Session-Reflector, and a stateless Session-Reflector.

use std::net::SocketAddr;
use std::time::Duration;

use weir_net::{UdpOptions, UdpSocket, clock};
use weir_wire::UnixNanos;
use weir_wire::stamp::{
    AUTHENTICATED_LENGTH, ErrorEstimate, Mode, NtpTimestamp, ReflectorPacket, SenderPacket, StampKey,
    UNAUTHENTICATED_LENGTH, reflect,
};

use super::client::{Answer, Codec, Prober, nothing_came, probe_options};
use super::{RttPlan, RttSummary};
use crate::{MeasureError, Sink, Stop};

/// UDP port of STAMP (RFC 8762, section 4.1).
pub const STAMP_PORT: u16 = 862;
/// TTL that a Session-Sender must use (RFC 8762, section 4.2).
const STAMP_TTL: u8 = 255;

/// What is claimed of this host's clock: a millisecond, not known to be synchronised.
fn error_estimate() -> ErrorEstimate {
    ErrorEstimate::from_nanos(1_000_000, false)
}

/// Writes and reads STAMP packets.
#[derive(Clone, Debug)]
pub struct StampCodec {
    key: Option<StampKey>,
    ssid: u16,
}

impl StampCodec {
    /// Authenticated when there is a key; `ssid` is the session identifier of RFC 8972.
    pub fn new(key: Option<&[u8]>, ssid: u16) -> Self {
        StampCodec {
            key: key.map(StampKey::new),
            ssid,
        }
    }

    /// Shortest packet of the mode, bytes.
    pub fn shortest(&self) -> u32 {
        if self.key.is_some() {
            AUTHENTICATED_LENGTH as u32
        } else {
            UNAUTHENTICATED_LENGTH as u32
        }
    }

    fn mode(&self) -> Mode<'_> {
        self.key
            .as_ref()
            .map_or(Mode::Unauthenticated, Mode::Authenticated)
    }

    pub(super) fn encode(&self, packet: &mut [u8], sequence: u32, sent: u64) -> Result<(), MeasureError> {
        let request = SenderPacket {
            sequence,
            timestamp: NtpTimestamp::from_unix(UnixNanos(sent)),
            error: error_estimate(),
            ssid: self.ssid,
        };
        let length = packet.len();
        request
            .encode_padded(self.mode(), packet)
            .map(|_| ())
            .map_err(|error| {
                MeasureError::Parameters(format!(
                    "--length {length} cannot be a STAMP packet: {error}; use {} or at least {}",
                    self.shortest(),
                    self.shortest() + if self.key.is_some() { 24 } else { 4 }
                ))
            })
    }

    pub(super) fn decode(&self, datagram: &[u8]) -> Option<Answer> {
        let (reply, _) = ReflectorPacket::decode(self.mode(), datagram).ok()?;
        if reply.ssid != self.ssid && reply.ssid != 0 {
            return None;
        }
        Some(Answer {
            sequence: reply.sender_sequence,
            sent: reply.sender_timestamp.to_unix().0,
            // Whichever clock reading the reflector takes, its time between the two stamps is not the network's.
            reflector_kernel: Some(reply.error.time_of(reply.receive).0),
            reflector_received: reply.error.time_of(reply.receive).0,
            reflector_sent: reply.error.time_of(reply.timestamp).0,
            ttl: Some(reply.sender_ttl).filter(|ttl| *ttl != 0),
        })
    }
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
    plan.check(codec.shortest())?;
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
    let interface = weir_net::host::HostFacts::read(Some(remote.ip())).interface;
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
        let mode = self
            .key
            .as_ref()
            .map_or(Mode::Unauthenticated, Mode::Authenticated);
        while !stop.is_set() {
            // An error here is an ICMP answer to an earlier reply, and nobody's to handle.
            let Ok(Some((length, source, told))) = self.socket.receive_blocking(&mut request) else {
                continue;
            };
            let received = told.kernel_ns.unwrap_or_else(clock::unix_ns);
            let answer = reflect(
                &request[..length],
                mode,
                NtpTimestamp::from_unix(UnixNanos(received)),
                NtpTimestamp::from_unix(UnixNanos(clock::unix_ns())),
                told.ttl.unwrap_or(0),
                error_estimate(),
                &mut reply,
            );
            // What cannot be read or proven is dropped without an answer, as RFC 8762 section 4.4 asks.
            if let Ok(length) = answer {
                let _ = self.socket.send_to(&reply[..length], source);
            }
        }
    }
}
