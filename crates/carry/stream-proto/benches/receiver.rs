//! Receiving packets of 8,100 bytes from one sender and from two: bytes per second, and the share of a core at 8 Gbit/s.

// The macros of criterion make public functions without documentation.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_protect::{Lane, Protection, Sealer, Secret, StreamSecrets};
use weir_stream_proto::{Join, OutputFrame, Receiver, ReceiverConfig, SenderTerms, SwitchLimits};
use weir_wire::{
    FlowId, MAX_FEEDBACK_LENGTH, MEDIA_HEADER_LENGTH, MediaData, MediaFraming, Sequence, SessionId, UnixNanos,
};

const PAYLOAD: u32 = 8_100;
/// 1080p in 10-bit 4:2:2: 640 packets a frame.
const FRAME_BYTES: u32 = 5_184_000;
const PACKETS: u32 = 640;
/// 78 MB, more than caches hold: packets come from memory, as they do from a network card.
const FRAMES: u32 = 15;
const FLOWS: u32 = 8;
/// From packet to packet at 8 Gbit/s.
const GAP_NS: u64 = 8_100;

/// Frames of which only the first packet is sent, so that the receiver has its buffers before the measurement.
const FIRST_FRAMES: u32 = 8;

fn secrets(protection: Protection) -> StreamSecrets {
    StreamSecrets::new(protection, Secret::new([1; 32]), Secret::new([2; 32]))
}

/// The packets of one sender, one of `one_in` left out.
fn datagrams(protection: Protection, session: u64, one_in: u32) -> Vec<(u64, Vec<u8>)> {
    let first = FIRST_FRAMES * PACKETS;
    let all = (first..first + FRAMES * PACKETS).filter(|symbol| *symbol % one_in != one_in - 1);
    let begin = (0..FIRST_FRAMES).map(|frame| frame * PACKETS);
    let mut sealer = Sealer::new(&secrets(protection));
    begin
        .chain(all)
        .map(|symbol| datagram(&mut sealer, session, symbol))
        .collect()
}

fn datagram(sealer: &mut Sealer, session: u64, symbol: u32) -> (u64, Vec<u8>) {
    let at = u64::from(symbol) * GAP_NS;
    let framing = MediaFraming {
        frame: symbol / PACKETS,
        offset: symbol % PACKETS * PAYLOAD,
        frame_length: FRAME_BYTES,
        ..MediaFraming::default()
    };
    let session = SessionId(session);
    let mut bytes = vec![symbol as u8; MEDIA_HEADER_LENGTH + PAYLOAD as usize];
    let (header, payload) = bytes.split_at_mut(MEDIA_HEADER_LENGTH);
    let context = MediaData::context(session, &framing);
    let sealed = sealer.seal(Lane::Source, u64::from(symbol), &context, payload);
    let data = MediaData {
        session,
        symbol: Sequence(symbol),
        flow_sequence: Sequence(symbol / FLOWS),
        flow: FlowId((symbol % FLOWS) as u16),
        flags: 0,
        sent: UnixNanos(1_000_000 + at),
        framing,
        sealed: sealed.expect("symbols rise"),
    };
    let mut encoded = [0; MEDIA_HEADER_LENGTH];
    data.encode(sealer.present_header_key(), &mut encoded);
    header.copy_from_slice(&encoded);
    (at, bytes)
}

fn receiver(protection: Protection, join: Join, senders: usize) -> Receiver {
    let config = ReceiverConfig {
        latency_ns: 20_000_000,
        payload: PAYLOAD,
        frames: 8,
        frame_bytes: FRAME_BYTES,
        join,
    };
    let mut receiver = Receiver::new(config).expect("a receiver");
    for session in 0..senders as u64 {
        let terms = SenderTerms {
            session: SessionId(session),
            secrets: secrets(protection).of_other_end(),
            flows: FLOWS as u16,
            fec_window: None,
            fec_history: 0,
            arq: true,
            rtt_ns: 1_000_000,
            rank: session as u16,
        };
        receiver.add_sender(0, terms).expect("a sender");
    }
    receiver
}

/// Passes all packets to the receiver in bursts of 32, as the driver would, and takes its output.
fn run(receiver: &mut Receiver, senders: &[&[(u64, Vec<u8>)]]) -> u64 {
    let mut buffer = vec![0; MEDIA_HEADER_LENGTH + PAYLOAD as usize];
    let indices: Vec<_> = receiver.senders().collect();
    let (mut frames, mut feedback) = (0, [0; MAX_FEEDBACK_LENGTH]);
    let most = senders.iter().map(|packets| packets.len()).max().unwrap_or(0);
    for from in (0..most).step_by(32) {
        let mut now = 0;
        for (sender, packets) in indices.iter().zip(senders) {
            for (at, packet) in packets.iter().skip(from).take(32) {
                now = now.max(*at);
                // As the kernel copies it: it is opened in place.
                let datagram = &mut buffer[..packet.len()];
                datagram.copy_from_slice(packet);
                receiver.receive(*at, *sender, datagram);
            }
        }
        while let Some(given) = receiver.poll_frame(now) {
            if let OutputFrame::Frame(frame) = given {
                frames += 1;
                receiver.recycle(frame);
            }
        }
        for sender in &indices {
            black_box(receiver.poll_feedback(now, *sender, &mut feedback));
        }
        black_box(receiver.next_wake(now));
    }
    frames
}

fn benchmark(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("receiver, 8100-byte packets");
    let bytes = u64::from(FRAMES) * u64::from(FRAME_BYTES);
    let (off, sealed) = (Protection::Off, Protection::Aes128Gcm);
    let clean = [0, 1].map(|session| datagrams(off, session, u32::MAX));
    let lossy = [datagrams(off, 0, 1_000), datagrams(off, 1, 990)];
    let encrypted = [0, 1].map(|session| datagrams(sealed, session, u32::MAX));
    let switch = Join::Switch(SwitchLimits::default());
    for (name, protection, join, senders) in [
        ("one sender", off, Join::Merge, &clean[..1]),
        ("one sender, AES-128-GCM", sealed, Join::Merge, &encrypted[..1]),
        ("one sender, 0.1 % lost", off, Join::Merge, &lossy[..1]),
        ("two senders merged", off, Join::Merge, &clean[..]),
        (
            "two senders merged, AES-128-GCM",
            sealed,
            Join::Merge,
            &encrypted[..],
        ),
        (
            "two senders merged, 0.1 % lost by each",
            off,
            Join::Merge,
            &lossy[..],
        ),
        ("one of two senders", off, switch, &clean[..1]),
    ] {
        group.throughput(Throughput::Bytes(bytes * senders.len() as u64));
        let mut best = Duration::MAX;
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|passes| {
                let mut total = Duration::ZERO;
                for _ in 0..passes {
                    let standby = usize::from(join != Join::Merge);
                    let mut receiver = receiver(protection, join, senders.len() + standby);
                    let first = FIRST_FRAMES as usize;
                    let begin: Vec<_> = senders.iter().map(|packets| &packets[..first]).collect();
                    let rest: Vec<_> = senders.iter().map(|packets| &packets[first..]).collect();
                    run(&mut receiver, &begin);
                    let began = Instant::now();
                    black_box(run(&mut receiver, &rest));
                    let took = began.elapsed();
                    best = best.min(took);
                    total += took;
                }
                total
            });
        });
        let stream = bytes as f64 * 8.0 / 8e9;
        println!(
            "  {name}: {:.1} % of a core at 8 Gbit/s",
            best.as_secs_f64() / stream * 100.0
        );
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(3));
    targets = benchmark
}
criterion_main!(benches);
