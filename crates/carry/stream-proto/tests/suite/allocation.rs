//! The receiver allocates for no packet and for no frame, once it has room for those that it puts together; garbage does
//! not make it grow.

use weir_fec::CodeRate;
use weir_protect::{Lane, Protection, Sealer, Secret, StreamSecrets};
use weir_stream_proto::{
    BreakerLimits, Fec, Join, OutputFrame, Pace, Receiver, ReceiverConfig, Sender, SenderConfig, SenderIndex,
    SenderTerms,
};
use weir_wire::{
    FlowId, MAX_FEEDBACK_LENGTH, MEDIA_HEADER_LENGTH, MediaData, MediaFraming, Sequence, SessionId, UnixNanos,
};

const PAYLOAD: u32 = 100;
const PACKETS: u32 = 50;
const FRAME_BYTES: u32 = PACKETS * PAYLOAD;
const GAP_NS: u64 = 20_000;

/// As the sender has them.
fn secrets() -> StreamSecrets {
    let secret = |side| Secret::new([side; 32]);
    StreamSecrets::new(Protection::Aes128Gcm, secret(1), secret(2))
}

fn receiver(senders: u64) -> (Receiver, Vec<SenderIndex>) {
    let config = ReceiverConfig {
        latency_ns: 5_000_000,
        payload: PAYLOAD,
        frames: 16,
        frame_bytes: FRAME_BYTES,
        join: Join::Merge,
    };
    let mut receiver = Receiver::new(config).expect("a receiver");
    let add = |session| {
        let terms = SenderTerms {
            session: SessionId(session),
            secrets: secrets().of_other_end(),
            flows: 4,
            fec_window: None,
            fec_history: 0,
            arq: true,
            rtt_ns: 1_000_000,
            rank: 0,
        };
        receiver.add_sender(0, terms).expect("a sender")
    };
    let indices = (0..senders).map(add).collect();
    (receiver, indices)
}

fn datagram(session: u64, symbol: u32, frame: u32, now: u64) -> [u8; MEDIA_HEADER_LENGTH + PAYLOAD as usize] {
    // A new one for each packet, since some tests take symbols in any order.
    let mut sealer = Sealer::new(&secrets());
    let framing = MediaFraming {
        frame,
        offset: symbol % PACKETS * PAYLOAD,
        frame_length: FRAME_BYTES,
        ..MediaFraming::default()
    };
    let session = SessionId(session);
    let mut bytes = [symbol as u8; MEDIA_HEADER_LENGTH + PAYLOAD as usize];
    let (header, payload) = bytes.split_at_mut(MEDIA_HEADER_LENGTH);
    let context = MediaData::context(session, &framing);
    let sealed = sealer.seal(Lane::Source, u64::from(symbol), &context, payload);
    let data = MediaData {
        session,
        symbol: Sequence(symbol),
        flow_sequence: Sequence(symbol / 4),
        flow: FlowId((symbol % 4) as u16),
        flags: 0,
        sent: UnixNanos(1_000_000_000 + now),
        framing,
        sealed: sealed.expect("a new sealer"),
    };
    let mut encoded = [0; MEDIA_HEADER_LENGTH];
    data.encode(sealer.present_header_key(), &mut encoded);
    header.copy_from_slice(&encoded);
    bytes
}

/// Takes the output, and returns the number of frames.
fn take(receiver: &mut Receiver, indices: &[SenderIndex], now: u64) -> u32 {
    let (mut frames, mut feedback) = (0, [0; MAX_FEEDBACK_LENGTH]);
    while let Some(given) = receiver.poll_frame(now) {
        if let OutputFrame::Frame(frame) = given {
            frames += u32::from(frame.missing.is_empty());
            receiver.recycle(frame);
        }
    }
    for index in indices {
        let _ = receiver.poll_feedback(now, *index, &mut feedback);
    }
    let _ = receiver.next_wake(now);
    frames
}

/// Symbols from both senders, each of which loses one in a hundred, but never the same. Gives the whole frames.
fn run(receiver: &mut Receiver, indices: &[SenderIndex], symbols: std::ops::Range<u32>) -> u32 {
    let mut whole = 0;
    for symbol in symbols {
        let now = u64::from(symbol) * GAP_NS;
        for (session, index) in indices.iter().enumerate() {
            if symbol % 100 != 40 + session as u32 {
                let mut bytes = datagram(session as u64, symbol, symbol / PACKETS, now);
                receiver.receive(now, *index, &mut bytes);
            }
        }
        whole += take(receiver, indices, now);
    }
    whole
}

/// A sender that seals every packet where it lies, and makes repairs.
#[test]
fn no_allocation_for_sent_packets() {
    let config = SenderConfig {
        session: SessionId(0),
        secrets: StreamSecrets {
            // Keys are renewed many times.
            packets_per_epoch: 1_000,
            ..secrets()
        },
        flows: 4,
        payload: PAYLOAD,
        // Blocks of up to 20 packets are sorted without a buffer.
        segments: 2,
        pace: Pace::Rate {
            frame_ns: u64::from(PACKETS) * GAP_NS,
        },
        latency_ns: 5_000_000,
        fec: Some(Fec::Fixed(CodeRate::new(10, 50).expect("a code rate"))),
        arq: true,
        most_bytes: 1 << 20,
        breaker: BreakerLimits {
            silence_ns: u64::MAX,
            ..BreakerLimits::default()
        },
        seed: 1,
        first_number: 0,
    };
    let mut sender = Sender::new(config, 0);
    let (mut out, mut pushed) = (Vec::new(), 0);
    let mut buffers: Vec<Vec<u8>> = (0..16).map(|_| vec![0; FRAME_BYTES as usize]).collect();
    let mut run = |until: u32| {
        while pushed < until {
            let now = u64::from(pushed) * u64::from(PACKETS) * GAP_NS;
            while let Some(buffer) = sender.spare_buffer() {
                buffers.push(buffer);
            }
            let framing = MediaFraming {
                frame: pushed,
                frame_length: FRAME_BYTES,
                ..MediaFraming::default()
            };
            sender.push_frame(now, framing, buffers.pop().expect("a buffer comes back"));
            pushed += 1;
            for step in 0..4 * u64::from(PACKETS) {
                let now = now + step * GAP_NS / 4;
                sender.wake(now, UnixNanos(1_000_000_000 + now), &mut out);
                assert!(out.iter().all(|sent| sender.body(sent).len() >= PAYLOAD as usize));
            }
        }
    };
    // Until its queues have their length.
    run(300);
    let info = allocation_counter::measure(|| run(800));
    assert_eq!(info.count_total, 0, "{info:?}");
    assert!(sender.key_renewals() > 20, "{}", sender.key_renewals());
}

#[test]
fn no_allocation_for_packets_nor_for_frames() {
    let (mut receiver, indices) = receiver(2);
    let first = 100 * PACKETS;
    run(&mut receiver, &indices, 0..first);
    let info = allocation_counter::measure(|| {
        let whole = run(&mut receiver, &indices, first..first + 2_000 * PACKETS);
        assert_eq!(whole, 2_000);
    });
    assert_eq!(info.count_total, 0);
    assert!(receiver.counters(indices[0]).lost > 900);
}

/// A sender that holds a key and sends garbage: any frame, any symbol. The other one's frames come all the same.
#[test]
fn memory_is_bounded_whatever_frames_are_named() {
    let (mut receiver, indices) = receiver(2);
    let mut random = 7u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 32) as u32
    };
    let info = allocation_counter::measure(|| {
        let mut whole = 0;
        for symbol in 0..1_000 * PACKETS {
            let now = u64::from(symbol) * GAP_NS;
            let mut honest = datagram(0, symbol, symbol / PACKETS, now);
            let mut garbage = datagram(1, next() >> (next() % 32), next(), now);
            receiver.receive(now, indices[0], &mut honest);
            receiver.receive(now, indices[1], &mut garbage);
            whole += take(&mut receiver, &indices, now);
        }
        assert_eq!(whole, 1_000);
    });
    println!("{info:?}");
    // Symbols that are missing, mostly: 2^17 of 40 bytes, in a buffer that doubles.
    assert!(info.bytes_max < 16 << 20, "{info:?}");
    assert!(info.count_total < 1_000, "{info:?}");
    let seen = receiver.counters(indices[1]);
    assert!(seen.rejected + seen.duplicates + seen.late > 40_000, "{seen:?}");
}

/// The only sender names far frames now and then, for as long as it likes.
#[test]
fn far_frames_change_nothing_but_a_counter() {
    let (mut receiver, indices) = receiver(1);
    let mut whole = 0;
    let mut symbol = 0;
    for at in 0..500 * PACKETS {
        let now = u64::from(at) * GAP_NS;
        let far = at % PACKETS == 10;
        let frame = if far {
            1_000_000 + at * 77_777
        } else {
            at / PACKETS
        };
        let mut data = datagram(0, symbol, frame, now);
        if far {
            // It has the place of the packet that it replaces, which is sent again after it.
            receiver.receive(now, indices[0], &mut data);
            symbol += PACKETS;
            data = datagram(0, symbol, at / PACKETS, now);
        }
        receiver.receive(now, indices[0], &mut data);
        symbol += 1;
        whole += take(&mut receiver, &indices, now);
    }
    let seen = receiver.counters(indices[0]);
    assert_eq!((whole, seen.rejected), (500, 500), "{seen:?}");
}
