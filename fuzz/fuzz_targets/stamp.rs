//! STAMP: no packet may crash the reflector or the parsers; answers are as long as requests and carry the
//! same TLVs.
//!
//! The first byte: bit 0 picks authenticated mode, bit 1 has the base packet written by the crate (so that
//! its HMAC is right) with the rest of the input as TLVs, bit 2 appends a right HMAC TLV.

use weir_wire::stamp::{
    ErrorEstimate, Mode, NtpTimestamp, ReflectorPacket, SenderPacket, StampKey, TLV_HMAC, TLV_INTEGRITY,
    TlvIntegrity, append_hmac, check_tlvs, reflect,
};

pub fn run(input: &[u8]) {
    let Some((&how, rest)) = input.split_first() else {
        return;
    };
    let key = StampKey::new(b"stamp key of the test");
    let mode = if how & 1 == 0 {
        Mode::Unauthenticated
    } else {
        Mode::Authenticated(&key)
    };
    let error = ErrorEstimate::from_bits(0x0a05);
    let mut request = rest.to_vec();
    if how & 2 != 0 {
        let packet = SenderPacket {
            sequence: 7,
            timestamp: NtpTimestamp(8),
            error,
            ssid: 9,
        };
        let base = mode.base_length();
        request = vec![0; base];
        assert_eq!(packet.encode(mode, &mut request), Ok(base));
        request.extend_from_slice(rest);
        if how & 4 != 0 {
            let length = request.len();
            request.resize(length + 20, 0);
            assert_eq!(append_hmac(&key, mode, &mut request, length), Ok(length + 20));
        }
    }

    let (receive, transmit) = (NtpTimestamp(10), NtpTimestamp(11));
    let mut answer = vec![0xaa; request.len()];
    let reflected = reflect(&request, mode, receive, transmit, 64, error, &mut answer);
    let sent = SenderPacket::decode(mode, &request);
    assert_eq!(reflected.is_ok(), sent.is_ok());
    let _ = ReflectorPacket::decode(mode, &request);
    let Ok((sent, asked)) = sent else { return };
    assert_eq!(reflected, Ok(request.len()));

    let Ok((packet, answered)) = ReflectorPacket::decode(mode, &answer) else {
        panic!("the answer cannot be read")
    };
    assert_eq!(
        (packet.sequence, packet.sender_sequence),
        (sent.sequence, sent.sequence)
    );
    assert_eq!(
        (packet.sender_timestamp, packet.sender_error),
        (sent.timestamp, sent.error)
    );
    assert_eq!(packet.ssid, sent.ssid);
    let _ = sent.timestamp.to_unix();
    let before = check_tlvs(mode, &request);
    let broken = before == Ok(TlvIntegrity::Broken);
    // Intact or unprotected TLVs stay so; broken ones are not repaired.
    assert_eq!(
        check_tlvs(mode, &answer).is_ok_and(|after| after == TlvIntegrity::Broken),
        broken
    );
    assert_eq!(asked.clone().count(), answered.clone().count());
    for (before, after) in asked.zip(answered) {
        assert_eq!(
            (before.kind, before.at, before.truncated),
            (after.kind, after.at, after.truncated)
        );
        if before.kind != TLV_HMAC {
            assert_eq!(before.value, after.value);
        }
        assert_eq!(after.flags & TLV_INTEGRITY != 0, broken);
    }
}
