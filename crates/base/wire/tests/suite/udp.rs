//! UDP headers: round trips, and everything that must be refused.

use proptest::prelude::*;
use weir_protect::{Opener, Protection, Sealed, Sealer, Secret, StreamSecrets};
use weir_wire::{
    DecodeError, FlowData, FlowId, FlowStatus, Hello, HelloAck, Kind, MAX_FEEDBACK_LENGTH, MediaData,
    MediaFeedback, MediaFraming, MediaRepair, MissingRange, MtuAck, MtuProbe, RttReply, RttRequest, Sequence,
    SessionId, UdpKey, UnixNanos, peek,
};

const KEY: UdpKey = UdpKey::new(*b"key of the tests");
const OTHER_KEY: UdpKey = UdpKey::new(*b"key of the tesTs");

/// The key of kinds that have one for a whole session.
fn of_session(key: &UdpKey) -> &UdpKey {
    key
}

/// The same key for every epoch.
fn of_epoch(key: &UdpKey) -> impl Fn(u8) -> Option<UdpKey> {
    |_| Some(*key)
}

/// Checks one packet of one kind.
macro_rules! check {
    ($type:ident, $length:literal, $packet:expr) => {{
        let packet = $packet;
        check!($type, $length, packet, packet.session)
    }};
    ($type:ident, $length:literal, $packet:expr, $session:expr) => {
        check!($type, $length, $packet, $session, of_session)
    };
    ($type:ident, $length:literal, $packet:expr, $session:expr, $key:ident) => {{
        let (packet, session) = ($packet, $session);
        let decode = |datagram: &[u8]| $type::decode($key(&KEY), session, datagram);
        let mut header = [0xaa; $length];
        packet.encode(&KEY, &mut header);

        prop_assert_eq!(decode(&header), Ok(packet));
        prop_assert_eq!(peek(&header), Ok((Kind::$type, session)));
        // A payload of any length may follow, up to the largest of UDP.
        let mut datagram = vec![0x55; 65_507];
        datagram[..$length].copy_from_slice(&header);
        prop_assert_eq!(decode(&datagram), Ok(packet));

        for length in 0..$length {
            prop_assert_eq!(
                decode(&header[..length]),
                Err(DecodeError::Truncated {
                    needed: $length,
                    got: length
                })
            );
        }
        for bit in 0..$length * 8 {
            let mut changed = header;
            changed[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(&changed).is_err(), "bit {}", bit);
        }
        prop_assert_eq!(
            $type::decode($key(&OTHER_KEY), session, &header),
            Err(DecodeError::Tag)
        );
        let other_session = SessionId(session.0 ^ 1);
        prop_assert_eq!(
            $type::decode($key(&KEY), other_session, &header),
            Err(DecodeError::Session)
        );
    }};
}

fn session() -> impl Strategy<Value = SessionId> {
    any::<u64>().prop_map(SessionId)
}

prop_compose! {
    fn rtt_reply()(
        session in session(), sequence: u32, window: u32, (window_size, position) in
            (1..=u16::MAX).prop_flat_map(|size| (Just(size), 0..size)),
        length: u16, flags: u8, ttl: u8, times: [u64; 4], reflector_sequence: u32,
    ) -> RttReply {
        RttReply {
            request: RttRequest {
                session,
                sequence: Sequence(sequence),
                window,
                position,
                window_size,
                length,
                flags,
                sent: UnixNanos(times[0]),
            },
            ttl,
            reflector_kernel_receive: UnixNanos(times[1]),
            reflector_receive: UnixNanos(times[2]),
            reflector_send: UnixNanos(times[3]),
            reflector_sequence,
        }
    }
}

prop_compose! {
    fn flow_data()(
        session in session(), stream: u32, in_flow: u32, flow: u16, flags: u16, frame: u32, frame_offset: u32,
        sent: u64,
    ) -> FlowData {
        FlowData {
            session,
            stream_sequence: Sequence(stream),
            flow_sequence: Sequence(in_flow),
            flow: FlowId(flow),
            flags,
            frame,
            frame_offset,
            sent: UnixNanos(sent),
        }
    }
}

fn sealed() -> impl Strategy<Value = Sealed> {
    any::<(u8, [u8; 16])>().prop_map(|(epoch, tag)| Sealed { epoch, tag })
}

prop_compose! {
    fn media_data()(
        session in session(), symbol: u32, in_flow: u32, flow: u16, flags: u8, sent: u64, frame: u32,
        (offset, frame_length, format) in any::<(u32, u32, u16)>(), framing_flags: u16, timestamp_ns: u64,
        sealed in sealed(),
    ) -> MediaData {
        MediaData {
            session,
            symbol: Sequence(symbol),
            flow_sequence: Sequence(in_flow),
            flow: FlowId(flow),
            flags,
            sent: UnixNanos(sent),
            framing: MediaFraming { frame, offset, frame_length, flags: framing_flags, format, timestamp_ns },
            sealed,
        }
    }
}

prop_compose! {
    fn media_feedback()(
        session in session(), (number, newest, settled) in (0..u64::MAX, any::<u32>(), any::<u32>()), received: u32, lost: u32, unrepaired: u32,
        echo: u64, held_ns: u32, late: u32,
    ) -> MediaFeedback {
        MediaFeedback {
            session,
            number,
            newest: Sequence(newest),
            settled: Sequence(settled),
            received,
            lost,
            unrepaired,
            echo: UnixNanos(echo),
            held_ns,
            late,
        }
    }
}

fn flow_status() -> impl Strategy<Value = FlowStatus> {
    any::<(u32, u32, u32)>().prop_map(|(newest, lost, silent_us)| FlowStatus {
        newest: Sequence(newest),
        lost,
        silent_us,
    })
}

fn missing_range() -> impl Strategy<Value = MissingRange> {
    any::<(u32, u16)>().prop_map(|(first, count)| MissingRange {
        first: Sequence(first),
        count,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rtt(reply in rtt_reply()) {
        check!(RttReply, 72, reply, reply.request.session);
        check!(RttRequest, 72, reply.request);
    }

    #[test]
    fn flow(packet in flow_data()) {
        check!(FlowData, 48, packet);
    }

    #[test]
    fn media(packet in media_data(), flow_sequence: u32, number: u32, payload_id: [u8; 8]) {
        prop_assert_eq!(packet.is_copy(), packet.flags & 1 == 1);
        check!(MediaData, 80, packet, packet.session, of_epoch);
        let MediaData { session, flow, sent, sealed, .. } = packet;
        let [flow_sequence, number] = [flow_sequence, number].map(Sequence);
        let repair = MediaRepair { session, flow_sequence, flow, sent, payload_id, number, sealed };
        check!(MediaRepair, 64, repair, session, of_epoch);
    }

    #[test]
    fn feedback(
        feedback in media_feedback(), flows in prop::collection::vec(flow_status(), 0..70),
        missing in prop::collection::vec(missing_range(), 0..60),
        protection in prop::sample::select(&Protection::ALL[..]),
    ) {
        let secrets = StreamSecrets::new(protection, Secret::new([1; 32]), Secret::new([2; 32]));
        let mut opener = Opener::new(&secrets.of_other_end());
        let mut bytes = [0xaa; MAX_FEEDBACK_LENGTH];
        let length = feedback.encode(&mut Sealer::new(&secrets), &flows, &missing, &mut bytes).unwrap();
        let (flows, missing) = (&flows[..flows.len().min(64)], &missing[..missing.len().min(56)]);
        prop_assert_eq!(length, 60 + 12 * flows.len() + 6 * missing.len() + 24);
        let (session, near) = (feedback.session, feedback.number);
        let mut decode = |mut bytes: Vec<u8>| {
            let found = MediaFeedback::decode(&mut opener, near, session, &mut bytes);
            found.map(|(found, lists)| (found, lists.flows().collect::<Vec<_>>(), lists.missing().collect::<Vec<_>>()))
        };
        let sent = &bytes[..length];
        prop_assert_eq!(decode(sent.to_vec()), Ok((feedback, flows.to_vec(), missing.to_vec())));
        for shorter in 0..length {
            prop_assert!(decode(sent[..shorter].to_vec()).is_err(), "{} bytes", shorter);
        }
        prop_assert!(decode([sent, &[0]].concat()).is_err());
        for bit in 0..length * 8 {
            let mut changed = sent.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(changed).is_err(), "bit {}", bit);
        }
        let mut at_sender = Opener::new(&secrets);
        let reflected = MediaFeedback::decode(&mut at_sender, near, session, &mut bytes[..length]);
        prop_assert!(matches!(reflected, Err(DecodeError::Tag)));
    }

    #[test]
    fn hello(session in session(), flow: u16, flags: u16, nonce: u64) {
        let flow = FlowId(flow);
        check!(Hello, 32, Hello { session, flow, flags, nonce });
        check!(HelloAck, 32, HelloAck(Hello { session, flow, flags, nonce }), session);
    }

    #[test]
    fn mtu(session in session(), probe: u32, size: u32, sent: u64) {
        let sent = UnixNanos(sent);
        check!(MtuProbe, 40, MtuProbe { session, probe, size, sent });
        check!(MtuAck, 40, MtuAck(MtuProbe { session, probe, size, sent }), session);
    }

    #[test]
    fn the_payload_is_not_covered(packet in flow_data(), payload: [u8; 32], bit in 0..256usize) {
        let mut header = [0; 48];
        packet.encode(&KEY, &mut header);
        let mut datagram = [&header[..], &payload].concat();
        datagram[48 + bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(FlowData::decode(&KEY, packet.session, &datagram), Ok(packet));
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let session = SessionId(1);
        let _ = peek(&bytes);
        let _ = RttRequest::decode(&KEY, session, &bytes);
        prop_assert!(FlowData::decode(&KEY, session, &bytes).is_err());
    }
}

/// Changes one byte of a header and makes the tag right again.
fn forge(header: &mut [u8], at: usize, value: u8) {
    header[at] = value;
    let tag_at = header.len() - 8;
    let tag = KEY.tag(&header[..tag_at]);
    header[tag_at..].copy_from_slice(&tag.to_be_bytes());
}

#[test]
fn a_key_holder_s_nonsense_is_refused() {
    let request = RttRequest {
        window_size: 50,
        position: 49,
        ..RttRequest::default()
    };
    let mut header = [0; 72];

    let reply = RttReply {
        request,
        ..RttReply::default()
    };
    reply.encode(&KEY, &mut header);
    forge(&mut header, 21, 50);
    let error = DecodeError::Field {
        field: "position",
        value: 50,
    };
    assert_eq!(RttReply::decode(&KEY, request.session, &header), Err(error));

    request.encode(&KEY, &mut header);
    for (at, field) in [
        (27, "ttl"),
        (43, "reflector_kernel_receive"),
        (51, "reflector_receive"),
        (59, "reflector_send"),
        (63, "reflector_sequence"),
    ] {
        let mut forged = header;
        forge(&mut forged, at, 7);
        let error = DecodeError::Field { field, value: 7 };
        assert_eq!(RttRequest::decode(&KEY, request.session, &forged), Err(error));
    }

    let mut header = [0; 40];
    MtuProbe::default().encode(&KEY, &mut header);
    forge(&mut header, 23, 1);
    let error = DecodeError::Field {
        field: "reserved",
        value: 1,
    };
    assert_eq!(MtuProbe::decode(&KEY, SessionId(0), &header), Err(error));
}

#[test]
fn errors_say_what_is_wrong() {
    let mut header = [0; 48];
    FlowData::default().encode(&KEY, &mut header);
    let decode = |header: &[u8]| FlowData::decode(&KEY, SessionId(0), header);
    for (at, value, error) in [
        (0, 0, DecodeError::Magic),
        (2, 1, DecodeError::Version(1)),
        (3, 4, DecodeError::Kind(4)),
        (3, 0, DecodeError::Kind(0)),
        (3, 8, DecodeError::Kind(8)),
        (11, 1, DecodeError::Session),
        (40, !header[40], DecodeError::Tag),
    ] {
        let mut changed = header;
        changed[at] = value;
        assert_eq!(decode(&changed), Err(error));
    }
    assert_eq!(
        peek(&header[..11]),
        Err(DecodeError::Truncated { needed: 12, got: 11 })
    );
}
