//! Checks the crate against `data/vectors.txt`, which an independent implementation computed
//! (`data/make_vectors.py`).

use weir_protect::{Demand, Lane, Opener, Protection, Sealed, Sealer, Secret, StreamSecrets};
use weir_wire::stamp::{self, ErrorEstimate, Mode, NtpTimestamp, StampKey};
use weir_wire::{
    AgentHandshake, ClientHandshake, Established, FlowData, FlowId, FlowStatus, FrameOpener, FrameSealer,
    Hello, HelloAck, MAX_FEEDBACK_LENGTH, MEDIA_HEADER_LENGTH, MediaData, MediaFeedback, MediaFraming,
    MediaRepair, MissingRange, MtuAck, MtuProbe, REPAIR_HEADER_LENGTH, Role, RttReply, RttRequest, Sequence,
    SessionId, Spread, SpreadKind, Token, UdpKey, UnixNanos,
};

const VECTORS: &str = include_str!("../data/vectors.txt");

fn line(name: &str) -> &'static str {
    VECTORS
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .unwrap()
}

fn vector(name: &str) -> Vec<u8> {
    let digits = line(name);
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

fn message(name: &str) -> [u8; 56] {
    vector(name).try_into().unwrap()
}

const OFF: Demand = Demand::Exactly(Protection::Off);
const CIPHER: Demand = Demand::Exactly(Protection::ChaCha20Poly1305);
const SESSION: SessionId = SessionId(0x1122_3344_5566_7788);
const SENT: u64 = 1_767_225_600_123_456_789;

fn udp_key() -> UdpKey {
    UdpKey::new(std::array::from_fn(|index| 0x10 + index as u8))
}

macro_rules! check_udp {
    ($name:literal, $type:ident, $length:literal, $packet:expr) => {{
        let packet = $packet;
        let expected = vector($name);
        let mut encoded = [0; $length];
        packet.encode(&udp_key(), &mut encoded);
        assert_eq!(encoded[..], expected[..], $name);
        assert_eq!($type::decode(&udp_key(), SESSION, &expected), Ok(packet), $name);
    }};
}

/// The secrets of a stream's sender.
fn stream() -> StreamSecrets {
    let secret = |first: u8| Secret::new(std::array::from_fn(|index| first + index as u8));
    StreamSecrets::new(Protection::ChaCha20Poly1305, secret(0x20), secret(0x60))
}

const PAYLOAD: &[u8] = b"the payload of a source packet, or a repair symbol";

#[test]
fn media_packets() {
    let mut sealer = Sealer::new(&stream());
    let mut opener = Opener::new(&stream().of_other_end());
    let framing = MediaFraming {
        frame: 77,
        offset: 5_176_000,
        frame_length: 5_184_000,
        flags: MediaFraming::END,
        format: 3,
        timestamp_ns: 1_284_616_666,
    };
    let mut payload = PAYLOAD.to_vec();
    let context = MediaData::context(SESSION, &framing);
    let sealed = sealer.seal(Lane::Source, 4_000_000_000, &context, &mut payload);
    let data = MediaData {
        session: SESSION,
        symbol: Sequence(4_000_000_000),
        flow_sequence: Sequence(12_345),
        flow: FlowId(15),
        flags: MediaData::COPY,
        sent: UnixNanos(SENT),
        framing,
        sealed: sealed.unwrap(),
    };
    let mut header = [0; MEDIA_HEADER_LENGTH];
    data.encode(sealer.present_header_key(), &mut header);
    let mut expected = vector("media-data");
    assert_eq!([&header[..], &payload].concat(), expected);
    let key = |epoch| opener.header_key(epoch).copied();
    assert_eq!(MediaData::decode(key, SESSION, &expected), Ok(data));
    let Sealed { epoch, tag } = data.sealed;
    let place = (Lane::Source, 4_000_000_000);
    let payload = &mut expected[MEDIA_HEADER_LENGTH..];
    assert_eq!(opener.open(epoch, place, &context, tag, payload), Ok(()));
    assert_eq!(payload, PAYLOAD);

    let payload_id = [0xbe, 0xef, 0xf0, 0x60, 0xee, 0x6b, 0x27, 0xa0];
    let mut symbol = PAYLOAD.to_vec();
    let context = MediaRepair::context(SESSION, payload_id);
    let sealed = sealer.seal(Lane::Repair, 500, &context, &mut symbol);
    let repair = MediaRepair {
        session: SESSION,
        flow_sequence: Sequence(12_346),
        flow: FlowId(14),
        sent: UnixNanos(SENT),
        payload_id,
        number: Sequence(500),
        sealed: sealed.unwrap(),
    };
    let mut header = [0; REPAIR_HEADER_LENGTH];
    repair.encode(sealer.present_header_key(), &mut header);
    let expected = vector("media-repair");
    assert_eq!([&header[..], &symbol].concat(), expected);
    let key = |epoch| opener.header_key(epoch).copied();
    assert_eq!(MediaRepair::decode(key, SESSION, &expected), Ok(repair));
}

/// The keys of the second epoch, which follow from those of the first.
#[test]
fn a_renewed_key() {
    let mut sealer = Sealer::new(&StreamSecrets {
        packets_per_epoch: 1,
        ..stream()
    });
    sealer.seal(Lane::Source, 0, &[], &mut []).unwrap();
    let mut payload = PAYLOAD.to_vec();
    let sealed = sealer.seal(Lane::Source, 1, b"context", &mut payload).unwrap();
    let tag = sealer.present_header_key().tag(b"weir").to_be_bytes();
    let all = [&[sealed.epoch][..], &payload, &sealed.tag, &tag].concat();
    assert_eq!(all, vector("second-epoch"));
}

#[test]
fn media_feedback() {
    let feedback = MediaFeedback {
        session: SESSION,
        number: 41,
        newest: Sequence(4_000_000_020),
        settled: Sequence(3_999_999_990),
        received: 4_000_000,
        lost: 10,
        unrepaired: 1,
        echo: UnixNanos(SENT),
        held_ns: 250_000,
        late: 5,
    };
    let status = |newest, lost, silent_us| FlowStatus {
        newest: Sequence(newest),
        lost,
        silent_us,
    };
    let flows = [status(12_345, 7, 120), status(12_340, 0, u32::MAX)];
    let range = |first, count| MissingRange {
        first: Sequence(first),
        count,
    };
    let missing = [range(3_999_999_995, 2), range(4_000_000_010, 1)];
    let mut expected = vector("media-feedback");
    let mut encoded = [0; MAX_FEEDBACK_LENGTH];
    let receiver = stream().of_other_end();
    let length = feedback.encode(&mut Sealer::new(&receiver), &flows, &missing, &mut encoded);
    assert_eq!(encoded[..length.unwrap()], expected[..]);
    let mut opener = Opener::new(&stream());
    let (found, lists) = MediaFeedback::decode(&mut opener, 40, SESSION, &mut expected).unwrap();
    assert_eq!(found, feedback);
    assert!(lists.flows().eq(flows) && lists.missing().eq(missing));
}

#[test]
fn udp_headers() {
    let request = RttRequest {
        session: SESSION,
        sequence: Sequence(0xffff_fffe),
        window: 70_000,
        position: 49,
        window_size: 50,
        length: 8100,
        flags: 0,
        sent: UnixNanos(SENT),
    };
    check_udp!("rtt-request", RttRequest, 72, request);
    check_udp!(
        "rtt-reply",
        RttReply,
        72,
        RttReply {
            request,
            ttl: 57,
            reflector_kernel_receive: UnixNanos(SENT + 1),
            reflector_receive: UnixNanos(SENT + 20),
            reflector_send: UnixNanos(SENT + 300),
            reflector_sequence: 4000,
        }
    );
    check_udp!(
        "flow-data",
        FlowData,
        48,
        FlowData {
            session: SESSION,
            stream_sequence: Sequence(4_000_000_000),
            flow_sequence: Sequence(12_345),
            flow: FlowId(63),
            flags: FlowData::LAST_OF_FRAME,
            frame: 77,
            frame_offset: 5_184_000,
            sent: UnixNanos(SENT),
        }
    );
    let nonce = 0xa1b2_c3d4_e5f6_0718;
    let hello = Hello {
        session: SESSION,
        flow: FlowId(513),
        flags: 0,
        nonce,
    };
    check_udp!("hello", Hello, 32, hello);
    check_udp!("hello-ack", HelloAck, 32, HelloAck(hello));
    let probe = MtuProbe {
        session: SESSION,
        probe: 9,
        size: 8973,
        sent: UnixNanos(SENT),
    };
    check_udp!("mtu-probe", MtuProbe, 40, probe);
    check_udp!("mtu-ack", MtuAck, 40, MtuAck(probe));
}

/// Runs both sides against each other; every message and key must equal the independent one.
fn check_handshake(
    name: &str,
    (mut client, hello): (ClientHandshake, [u8; 56]),
    (token, demand): (&Token, Demand),
    key: Option<[u8; 32]>,
) -> Established {
    let named = |part: &str| format!("{name}-{part}");
    let agent_random = std::array::from_fn(|index| 0x80 + index as u8);
    assert_eq!(hello, message(&named("hello")));
    let (agent, challenge) = AgentHandshake::on_hello(&hello, token, demand, agent_random, |session| {
        assert_eq!(session, SESSION);
        Ok(key.unwrap())
    })
    .unwrap();
    assert_eq!(challenge, message(&named("challenge")));
    let proof = client.on_challenge(&challenge).unwrap();
    assert_eq!(proof, message(&named("proof")));
    let (at_agent, welcome) = agent.on_proof(&proof, || Ok(SESSION)).unwrap();
    assert_eq!(welcome, message(&named("welcome")));
    let at_client = client.on_welcome(&welcome).unwrap();
    for established in [&at_agent, &at_client] {
        assert_eq!(established.session, SESSION);
        assert_eq!(established.keys.control[..], vector(&named("control-key"))[..]);
        assert_eq!(
            established.keys.udp.tag(b"weir").to_be_bytes()[..],
            vector(&named("udp-tag"))[..]
        );
    }
    for (established, role) in [(&at_agent, Role::Agent), (&at_client, Role::Client)] {
        let media = established.keys.stream(role);
        assert_eq!(media.protection.number(), vector(&named("protection"))[0]);
        let (client, agent) = match role {
            Role::Client => (media.sending, media.receiving),
            Role::Agent => (media.receiving, media.sending),
        };
        assert_eq!(client.as_bytes()[..], vector(&named("client-media"))[..]);
        assert_eq!(agent.as_bytes()[..], vector(&named("agent-media"))[..]);
    }
    at_client
}

#[test]
fn handshakes() {
    let random = std::array::from_fn(|index| 0x40 + index as u8);
    let token = Token::new(b"correct horse battery staple".to_vec());
    let session = check_handshake(
        "control",
        ClientHandshake::control(&token, OFF, random),
        (&token, OFF),
        None,
    );
    let data = ClientHandshake::data(&session.keys.control, SESSION, 3, random);
    check_handshake("data", data, (&token, OFF), Some(session.keys.control));
    let open = Token::new(Vec::new());
    check_handshake(
        "open",
        ClientHandshake::control(&open, OFF, random),
        (&open, OFF),
        None,
    );
    let long = Token::new((0..200).collect());
    check_handshake(
        "long",
        ClientHandshake::control(&long, CIPHER, random),
        (&long, CIPHER),
        None,
    );
}

#[test]
fn frames() {
    let key = std::array::from_fn(|index| 0xc0 + index as u8);
    let mut client = FrameSealer::new(&key, Role::Client);
    let mut agent = FrameSealer::new(&key, Role::Agent);
    let long: Vec<u8> = (0..20).flat_map(|_| 0..=255u8).collect();
    let frame = |sealer: &mut FrameSealer, payload: &[u8]| {
        let mut payload = payload.to_vec();
        let header = sealer.seal(&mut payload).unwrap();
        [&header[..], &payload].concat()
    };
    let first = frame(&mut client, br#"{"hello":1}"#);
    assert_eq!(first, vector("frame-client-0"));
    assert_eq!(frame(&mut client, b""), vector("frame-client-1"));
    assert_eq!(frame(&mut agent, &long), vector("frame-agent-0"));
    let mut opener = FrameOpener::new(&key, Role::Agent);
    let (header, payload) = first.split_first_chunk().unwrap();
    let mut payload = payload.to_vec();
    assert_eq!(opener.open(header, &mut payload), Ok(()));
    assert_eq!(payload, br#"{"hello":1}"#);
}

#[test]
fn spreads() {
    for (kind, name) in [
        (SpreadKind::Random, "spread-random"),
        (SpreadKind::Permuted, "spread-permuted"),
    ] {
        let mut spread = Spread::new(kind, 11, 20_260_101);
        let expected: Vec<u16> = line(name).split(' ').map(|flow| flow.parse().unwrap()).collect();
        let flows: Vec<u16> = (0..expected.len() as u64)
            .map(|sequence| spread.flow(sequence).0)
            .collect();
        assert_eq!(flows, expected, "{name}");
    }
}

const SEQUENCE: u32 = 0x0102_0304;
const STAMP_SENT: NtpTimestamp = NtpTimestamp(0xe8d4_a510_1234_5678);
const RECEIVED: NtpTimestamp = NtpTimestamp(0xe8d4_a510_2345_6789);
const TRANSMITTED: NtpTimestamp = NtpTimestamp(0xe8d4_a510_3456_789a);

fn check_stamp(mode: Mode<'_>, sender_name: &str, reflector_name: &str) {
    let (sender, expected) = (vector(sender_name), vector(reflector_name));
    let mut out = vec![0xaa; 1500];
    let error = ErrorEstimate {
        synchronized: false,
        ptp: false,
        scale: 10,
        multiplier: 5,
    };
    let length = stamp::reflect(&sender, mode, RECEIVED, TRANSMITTED, 61, error, &mut out).unwrap();
    assert_eq!(out[..length], expected[..], "{reflector_name}");
    let (packet, _) = stamp::ReflectorPacket::decode(mode, &expected).unwrap();
    assert_eq!(
        packet,
        stamp::ReflectorPacket {
            sequence: SEQUENCE,
            timestamp: TRANSMITTED,
            error,
            ssid: 0xbeef,
            receive: RECEIVED,
            sender_sequence: SEQUENCE,
            sender_timestamp: STAMP_SENT,
            sender_error: sender_packet().error,
            sender_ttl: 61,
        }
    );
}

fn sender_packet() -> stamp::SenderPacket {
    stamp::SenderPacket {
        sequence: SEQUENCE,
        timestamp: STAMP_SENT,
        error: ErrorEstimate {
            synchronized: true,
            ptp: false,
            scale: 31,
            multiplier: 42,
        },
        ssid: 0xbeef,
    }
}

#[test]
fn stamp_unauthenticated() {
    let mode = Mode::Unauthenticated;
    let mut out = [0xaa; 1500];
    let length = sender_packet().encode(mode, &mut out).unwrap();
    assert_eq!(out[..length], vector("stamp-sender")[..]);
    let padded = sender_packet().encode_padded(mode, &mut out[..78]).unwrap();
    assert_eq!(out[..padded], vector("stamp-sender-padded")[..]);
    check_stamp(mode, "stamp-sender", "stamp-reflector");
    check_stamp(mode, "stamp-sender-padded", "stamp-reflector-padded");
    check_stamp(mode, "stamp-sender-tlvs", "stamp-reflector-tlvs");
}

#[test]
fn stamp_authenticated() {
    let key = StampKey::new(b"stamp key of the test");
    let mode = Mode::Authenticated(&key);
    let mut out = [0xaa; 1500];
    let length = sender_packet().encode(mode, &mut out).unwrap();
    assert_eq!(out[..length], vector("stamp-sender-auth")[..]);
    let length = stamp::append_tlv(&mut out, length, 200, &[0, 1, 2, 3, 4]).unwrap();
    let length = stamp::append_tlv(&mut out, length, stamp::TLV_EXTRA_PADDING, &[0; 30]).unwrap();
    let length = stamp::append_hmac(&key, mode, &mut out, length).unwrap();
    let length = stamp::append_tlv(&mut out, length, stamp::TLV_EXTRA_PADDING, &[0; 7]).unwrap();
    assert_eq!(out[..length], vector("stamp-sender-auth-tlvs")[..]);
    check_stamp(mode, "stamp-sender-auth", "stamp-reflector-auth");
    check_stamp(mode, "stamp-sender-auth-tlvs", "stamp-reflector-auth-tlvs");
    check_stamp(mode, "stamp-sender-auth-broken", "stamp-reflector-auth-broken");
    for (name, integrity) in [
        ("stamp-reflector-auth", stamp::TlvIntegrity::Unprotected),
        ("stamp-reflector-auth-tlvs", stamp::TlvIntegrity::Intact),
        ("stamp-reflector-auth-broken", stamp::TlvIntegrity::Broken),
    ] {
        assert_eq!(stamp::check_tlvs(mode, &vector(name)), Ok(integrity), "{name}");
    }
}
