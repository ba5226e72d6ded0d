//! The stateless Session-Reflector: a sender's packet in, the answer out. It must not know addresses or
//! clocks.

use super::packet::{ReflectorPacket, SenderPacket};
use super::tlv::reflect_tlvs;
use super::{ErrorEstimate, Mode, NtpTimestamp, StampError};

/// Answers a sender's packet (RFC 8762 section 4.3, RFC 8972 section 4); returns the length of the answer, which equals
/// the length of the request, so that a reflector does not amplify.
///
/// The sequence number is the sender's: a reflector without state cannot count (RFC 8762 section 4.3).
/// `receive` is the arrival time of the request, `transmit` the send time of the answer, `ttl` the TTL of the request.
/// Drop a packet that gives an error: it is too short, or its HMAC is wrong.
pub fn reflect(
    request: &[u8],
    mode: Mode<'_>,
    receive: NtpTimestamp,
    transmit: NtpTimestamp,
    ttl: u8,
    error_estimate: ErrorEstimate,
    out: &mut [u8],
) -> Result<usize, StampError> {
    let (base, tlvs) = mode.split(request)?;
    let got = out.len();
    let out = out.get_mut(..request.len()).ok_or(StampError::Room {
        needed: request.len(),
        got,
    })?;
    let sent = SenderPacket::read(mode, base);
    let answer = ReflectorPacket {
        sequence: sent.sequence,
        timestamp: transmit,
        error: error_estimate,
        ssid: sent.ssid,
        receive,
        sender_sequence: sent.sequence,
        sender_timestamp: sent.timestamp,
        sender_error: sent.error,
        sender_ttl: ttl,
    };
    let length = answer.encode(mode, out)?;
    let out_tlvs = &mut out[length..];
    out_tlvs.copy_from_slice(tlvs);
    reflect_tlvs(mode, sent.sequence.to_be_bytes(), out_tlvs);
    Ok(request.len())
}
