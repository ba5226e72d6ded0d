//! How RTT packets are written and read: Weir's own, and STAMP's. It must not know sockets.

use weir_wire::stamp::{
    AUTHENTICATED_LENGTH, ErrorEstimate, Mode, NtpTimestamp, ReflectorPacket, SenderPacket, StampKey,
    UNAUTHENTICATED_LENGTH,
};
use weir_wire::{
    RTT_HEADER_LENGTH, RttReply, RttRequest as RequestPacket, Sequence, SessionId, UdpKey, UnixNanos,
};

use super::Probe;
use crate::MeasureError;

/// How packets are written and read.
pub(super) enum Codec {
    /// Weir's own packets.
    Weir { session: SessionId, key: UdpKey },
    /// STAMP.
    Stamp(StampCodec),
}

/// What a reply says.
pub(super) struct Answer {
    pub sequence: u32,
    pub sent: u64,
    pub reflector_kernel: Option<u64>,
    pub reflector_received: u64,
    pub reflector_sent: u64,
    pub ttl: Option<u8>,
}

impl Codec {
    pub(super) fn encode(&self, packet: &mut [u8], probe: &Probe, sent: u64) -> Result<(), MeasureError> {
        let (sequence, window) = (probe.sequence as u32, &probe.window);
        match self {
            Codec::Weir { session, key } => {
                let request = RequestPacket {
                    session: *session,
                    sequence: Sequence(sequence),
                    window: window.number as u32,
                    position: probe.position as u16,
                    window_size: window.packets as u16,
                    length: window.length as u16,
                    flags: 0,
                    sent: UnixNanos(sent),
                };
                let mut header = [0; RTT_HEADER_LENGTH];
                request.encode(key, &mut header);
                packet[..RTT_HEADER_LENGTH].copy_from_slice(&header);
                Ok(())
            }
            Codec::Stamp(stamp) => stamp.encode(packet, sequence, sent),
        }
    }

    pub(super) fn decode(&self, datagram: &[u8]) -> Option<Answer> {
        match self {
            Codec::Weir { session, key } => {
                let reply = RttReply::decode(key, *session, datagram).ok()?;
                Some(Answer {
                    sequence: reply.request.sequence.0,
                    sent: reply.request.sent.0,
                    reflector_kernel: Some(reply.reflector_kernel_receive.0).filter(|ns| *ns != 0),
                    reflector_received: reply.reflector_receive.0,
                    reflector_sent: reply.reflector_send.0,
                    ttl: Some(reply.ttl).filter(|ttl| *ttl != 0),
                })
            }
            Codec::Stamp(stamp) => stamp.decode(datagram),
        }
    }
}

/// What is claimed of this host's clock: a millisecond, not known to be synchronised.
pub(super) fn error_estimate() -> ErrorEstimate {
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

    fn encode(&self, packet: &mut [u8], sequence: u32, sent: u64) -> Result<(), MeasureError> {
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

    fn decode(&self, datagram: &[u8]) -> Option<Answer> {
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
