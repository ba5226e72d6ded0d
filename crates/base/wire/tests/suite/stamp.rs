//! STAMP: round trips, and a reflector's answers to bad packets. `vectors.rs` checks the bytes.

use proptest::prelude::*;
use weir_wire::stamp::{
    ErrorEstimate, Mode, NtpTimestamp, ReflectorPacket, SenderPacket, StampError, StampKey,
    TLV_EXTRA_PADDING, TLV_HMAC, TLV_INTEGRITY, TLV_MALFORMED, TLV_UNRECOGNIZED, TlvIntegrity, append_hmac,
    append_tlv, check_tlvs, reflect,
};

const ERROR: ErrorEstimate = ErrorEstimate {
    synchronized: true,
    ptp: false,
    scale: 5,
    multiplier: 9,
};

fn answer(request: &[u8], mode: Mode<'_>) -> Result<Vec<u8>, StampError> {
    let mut out = vec![0xaa; request.len()];
    let (receive, transmit) = (NtpTimestamp(11), NtpTimestamp(22));
    let length = reflect(request, mode, receive, transmit, 60, ERROR, &mut out)?;
    assert_eq!(length, request.len());
    Ok(out)
}

prop_compose! {
    fn sender()(sequence: u32, timestamp: u64, error: u16, ssid: u16) -> SenderPacket {
        let (timestamp, error) = (NtpTimestamp(timestamp), ErrorEstimate::from_bits(error));
        SenderPacket { sequence, timestamp, error, ssid }
    }
}

fn modes(key: &StampKey) -> [Mode<'_>; 2] {
    [Mode::Unauthenticated, Mode::Authenticated(key)]
}

proptest! {
    #[test]
    fn packets_round_trip(
        sent in sender(), reflected in sender(), receive: u64, sender_ttl: u8, padding in 4usize..1000,
    ) {
        let key = StampKey::new(b"key");
        for mode in modes(&key) {
            let mut out = vec![0xaa; mode.base_length() + padding];
            prop_assert_eq!(sent.encode_padded(mode, &mut out), Ok(out.len()));
            let (packet, mut tlvs) = SenderPacket::decode(mode, &out).unwrap();
            prop_assert_eq!(packet, sent);
            let tlv = tlvs.next().unwrap();
            let found = (tlv.flags, tlv.kind, tlv.value.len(), tlv.truncated);
            prop_assert_eq!(found, (TLV_UNRECOGNIZED, TLV_EXTRA_PADDING, padding - 4, false));
            prop_assert_eq!(tlvs.next(), None);

            let reply = ReflectorPacket {
                sequence: reflected.sequence,
                timestamp: reflected.timestamp,
                error: reflected.error,
                ssid: reflected.ssid,
                receive: NtpTimestamp(receive),
                sender_sequence: sent.sequence,
                sender_timestamp: sent.timestamp,
                sender_error: sent.error,
                sender_ttl,
            };
            let length = reply.encode(mode, &mut out).unwrap();
            prop_assert_eq!(ReflectorPacket::decode(mode, &out[..length]).unwrap().0, reply);
        }
    }

    /// Values and types of TLVs survive any reflector; the answer is as long as the request.
    #[test]
    fn any_tail_is_reflected(sent in sender(), tail in prop::collection::vec(any::<u8>(), 0..120)) {
        let key = StampKey::new(b"key");
        for mode in modes(&key) {
            let mut request = vec![0; mode.base_length()];
            sent.encode(mode, &mut request).unwrap();
            request.extend_from_slice(&tail);
            let answer = answer(&request, mode).unwrap();
            let (packet, answered) = ReflectorPacket::decode(mode, &answer).unwrap();
            prop_assert_eq!(packet.sender_timestamp, sent.timestamp);
            let (_, asked) = SenderPacket::decode(mode, &request).unwrap();
            prop_assert_eq!(asked.clone().count(), answered.clone().count());
            for (before, after) in asked.zip(answered) {
                prop_assert_eq!((before.kind, before.value, before.at), (after.kind, after.value, after.at));
                prop_assert_eq!(after.flags & TLV_MALFORMED != 0, before.truncated
                    || (matches!(mode, Mode::Authenticated(_)) && before.kind == TLV_HMAC
                        && before.value.len() != 16));
            }
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let key = StampKey::new(b"key");
        for mode in modes(&key) {
            let _ = answer(&bytes, mode);
            let _ = check_tlvs(mode, &bytes);
            let _ = ReflectorPacket::decode(mode, &bytes);
        }
    }
}

fn packet() -> SenderPacket {
    SenderPacket {
        sequence: 5,
        timestamp: NtpTimestamp(6),
        error: ERROR,
        ssid: 7,
    }
}

#[test]
fn short_packets_and_short_rooms() {
    let key = StampKey::new(b"key");
    for mode in modes(&key) {
        let needed = mode.base_length();
        let mut request = vec![0; needed];
        packet().encode(mode, &mut request).unwrap();
        for got in 0..needed {
            let truncated = StampError::Truncated { needed, got };
            assert_eq!(answer(&request[..got], mode), Err(truncated));
            assert_eq!(
                SenderPacket::decode(mode, &request[..got]).unwrap_err(),
                truncated
            );
            let mut room = vec![0; got];
            assert_eq!(
                packet().encode(mode, &mut room),
                Err(StampError::Room { needed, got })
            );
            let zero = NtpTimestamp(0);
            let reflected = reflect(&request, mode, zero, zero, 0, ERROR, &mut room);
            assert_eq!(reflected, Err(StampError::Room { needed, got }));
        }
        for padding in [1, 2, 3, 65_540] {
            let mut room = vec![0; needed + padding];
            assert_eq!(
                packet().encode_padded(mode, &mut room),
                Err(StampError::Padding(padding))
            );
        }
    }
}

#[test]
fn no_changed_bit_of_an_authenticated_packet_is_accepted() {
    let key = StampKey::new(b"key");
    let mode = Mode::Authenticated(&key);
    let mut request = [0; 112];
    packet().encode(mode, &mut request).unwrap();
    for bit in 0..request.len() * 8 {
        let mut changed = request;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(answer(&changed, mode), Err(StampError::Hmac), "bit {bit}");
    }
    let other = StampKey::new(b"kez");
    assert_eq!(
        answer(&request, Mode::Authenticated(&other)),
        Err(StampError::Hmac)
    );
}

/// A request with an unknown TLV, padding, the HMAC TLV and, if asked for, padding after it.
fn protected(key: &StampKey, after: bool) -> Vec<u8> {
    let mode = Mode::Authenticated(key);
    let mut room = [0; 300];
    let length = packet().encode(mode, &mut room).unwrap();
    let length = append_tlv(&mut room, length, 99, b"what").unwrap();
    let length = append_tlv(&mut room, length, TLV_EXTRA_PADDING, &[3; 10]).unwrap();
    let mut length = append_hmac(key, mode, &mut room, length).unwrap();
    if after {
        length = append_tlv(&mut room, length, TLV_EXTRA_PADDING, &[0; 2]).unwrap();
    }
    room[..length].to_vec()
}

#[test]
fn protected_tlvs_come_back_protected() {
    let key = StampKey::new(b"key");
    let mode = Mode::Authenticated(&key);
    for after in [false, true] {
        let request = protected(&key, after);
        assert_eq!(check_tlvs(mode, &request), Ok(TlvIntegrity::Intact));
        let answer = answer(&request, mode).unwrap();
        assert_eq!(check_tlvs(mode, &answer), Ok(TlvIntegrity::Intact));
        let (_, tlvs) = ReflectorPacket::decode(mode, &answer).unwrap();
        let flags: Vec<u8> = tlvs.map(|tlv| tlv.flags).collect();
        assert_eq!(flags[..3], [TLV_UNRECOGNIZED, 0, 0]);
    }
}

#[test]
fn no_changed_bit_of_protected_tlvs_is_accepted() {
    let key = StampKey::new(b"key");
    let mode = Mode::Authenticated(&key);
    let request = protected(&key, false);
    // The flags of the HMAC TLV itself are the reflector's to set: nothing covers them (RFC 8972 section
    // 4.8).
    let hmac_flags = request.len() - 20;
    for bit in 112 * 8..request.len() * 8 {
        if bit / 8 == hmac_flags {
            continue;
        }
        let mut changed = request.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(check_tlvs(mode, &changed), Ok(TlvIntegrity::Broken), "bit {bit}");
        let answer = answer(&changed, mode).unwrap();
        let (_, tlvs) = ReflectorPacket::decode(mode, &answer).unwrap();
        for tlv in tlvs {
            assert_ne!(tlv.flags & TLV_INTEGRITY, 0, "bit {bit}");
        }
    }
}

#[test]
fn where_the_hmac_tlv_must_be() {
    let key = StampKey::new(b"key");
    let mode = Mode::Authenticated(&key);
    let mut room = [0; 300];
    // Padding alone needs none.
    packet().encode_padded(mode, &mut room).unwrap();
    assert_eq!(check_tlvs(mode, &room), Ok(TlvIntegrity::Unprotected));
    // Another TLV does.
    let base = packet().encode(mode, &mut room).unwrap();
    let length = append_tlv(&mut room, base, 99, b"what").unwrap();
    assert_eq!(check_tlvs(mode, &room[..length]), Ok(TlvIntegrity::Broken));
    // Nothing but padding may follow it.
    let length = append_hmac(&key, mode, &mut room, length).unwrap();
    assert_eq!(check_tlvs(mode, &room[..length]), Ok(TlvIntegrity::Intact));
    let length = append_tlv(&mut room, length, 99, b"more").unwrap();
    assert_eq!(check_tlvs(mode, &room[..length]), Ok(TlvIntegrity::Broken));
    // Without a key nothing can be checked.
    let base = packet().encode(Mode::Unauthenticated, &mut room).unwrap();
    let length = append_hmac(&key, Mode::Unauthenticated, &mut room, base).unwrap();
    assert_eq!(
        check_tlvs(Mode::Unauthenticated, &room[..length]),
        Ok(TlvIntegrity::Unprotected)
    );
    let answer = answer(&room[..length], Mode::Unauthenticated).unwrap();
    assert_eq!(answer[base], TLV_UNRECOGNIZED);
}
