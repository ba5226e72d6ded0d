//! Sending packets of 8,100 bytes, for each protection and with FEC: bytes per second, and the share of a core at
//! 8 Gbit/s. Without the kernel's part.

// The macros of criterion make public functions without documentation.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_fec::CodeRate;
use weir_protect::{Protection, Secret, StreamSecrets};
use weir_stream_proto::{BreakerLimits, Fec, Pace, Sender, SenderConfig};
use weir_wire::{MediaFraming, SessionId, UnixNanos};

const PAYLOAD: u32 = 8_100;
/// 1080p in 10-bit 4:2:2: 640 packets a frame.
const FRAME_BYTES: usize = 5_184_000;
/// Of 8 Gbit/s.
const FRAME_NS: u64 = 5_184_000;
const FRAMES: u32 = 15;

fn sender(protection: Protection, fec: Option<Fec>) -> Sender {
    let config = SenderConfig {
        session: SessionId(1),
        secrets: StreamSecrets::new(protection, Secret::new([1; 32]), Secret::new([2; 32])),
        flows: 8,
        payload: PAYLOAD,
        segments: 4,
        pace: Pace::Rate { frame_ns: FRAME_NS },
        latency_ns: 20_000_000,
        fec,
        arq: true,
        most_bytes: 1 << 30,
        breaker: BreakerLimits {
            silence_ns: u64::MAX,
            ..BreakerLimits::default()
        },
        seed: 1,
        first_number: 0,
    };
    Sender::new(config, 0)
}

/// Sends frames in virtual time; buffers come back, as in earnest.
fn run(sender: &mut Sender, buffers: &mut Vec<Vec<u8>>, frames: std::ops::Range<u32>) -> usize {
    let (mut out, mut bytes) = (Vec::new(), 0);
    for number in frames {
        let start = u64::from(number) * FRAME_NS;
        while let Some(buffer) = sender.spare_buffer() {
            buffers.push(buffer);
        }
        let framing = MediaFraming {
            frame: number,
            frame_length: FRAME_BYTES as u32,
            ..MediaFraming::default()
        };
        let buffer = buffers.pop().unwrap_or_else(|| vec![7; FRAME_BYTES]);
        sender.push_frame(start, framing, buffer);
        for now in (start..start + FRAME_NS).step_by(100_000) {
            loop {
                sender.wake(now, UnixNanos(1_000_000_000 + now), &mut out);
                if out.is_empty() {
                    break;
                }
                for transmit in &out {
                    black_box(transmit.header());
                    bytes += sender.body(transmit).len();
                }
            }
        }
    }
    bytes
}

fn benchmark(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sender, 8100-byte packets");
    let bytes = u64::from(FRAMES) * FRAME_BYTES as u64;
    let tenth = CodeRate::new(10, 100).ok().map(Fec::Fixed);
    for (protection, fec) in [
        (Protection::Off, None),
        (Protection::Auth, None),
        (Protection::Aes128Gcm, None),
        (Protection::ChaCha20Poly1305, None),
        (Protection::Off, tenth),
        (Protection::Aes128Gcm, tenth),
    ] {
        let name = format!("{protection}{}", if fec.is_some() { ", FEC 10/100" } else { "" });
        group.throughput(Throughput::Bytes(bytes));
        let mut best = Duration::MAX;
        group.bench_function(&name, |bencher| {
            bencher.iter_custom(|passes| {
                let (mut sender, mut buffers) = (sender(protection, fec), Vec::new());
                run(&mut sender, &mut buffers, 0..FRAMES);
                let mut total = Duration::ZERO;
                for pass in 1..=passes as u32 {
                    let began = Instant::now();
                    black_box(run(&mut sender, &mut buffers, pass * FRAMES..(pass + 1) * FRAMES));
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
