//! Encoding and decoding of packets of 8,100 bytes: bytes of source per second, and the share of a core at 8 Gbit/s.

// The macros of criterion make public functions without documentation.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_fec::{Adu, CodeRate, Decoder, DecoderConfig, Encoder, EncoderConfig, RepairPayloadId};

const PAYLOAD: usize = 8_100;
/// 81 MB, more than caches hold: packets come from memory, as they do from a network card.
const PACKETS: usize = 10_000;
const RATES: [(u16, u16); 5] = [(12, 96), (10, 80), (6, 48), (12, 48), (64, 128)];
const GBIT_8: f64 = 8e9;

struct Stream {
    packets: Vec<u8>,
}

impl Stream {
    fn new() -> Self {
        let packets = (0..PACKETS * PAYLOAD).map(|at| ((at * 31) >> 3) as u8).collect();
        Self { packets }
    }

    fn adus(&self) -> impl Iterator<Item = Adu<'_>> {
        self.packets
            .chunks_exact(PAYLOAD)
            .map(|payload| Adu { flow: 0, payload })
    }
}

/// Arriving packets: sources by number, repairs with their bytes.
enum Arriving {
    Source(usize),
    Repair(RepairPayloadId, Vec<u8>),
}

fn encode(encoder: &mut Encoder, stream: &Stream) -> usize {
    let mut repairs = 0;
    for adu in stream.adus() {
        let repair = encoder.push(adu);
        repairs += usize::from(black_box(repair).is_ok_and(|repair| repair.is_some()));
    }
    repairs
}

/// Loss and reordering of a stream on the path.
#[derive(Clone, Copy)]
struct Way {
    loss: f64,
    /// Packets go over eight flows, each delayed by this many packets more than the previous one.
    later: usize,
}

/// The stream without the lost sources, by a fixed sequence.
fn arriving(rate: CodeRate, stream: &Stream, way: Way) -> Vec<Arriving> {
    let mut encoder = Encoder::new(EncoderConfig::new(rate, PAYLOAD));
    let mut state = 1_u64;
    let mut arriving = Vec::new();
    for (number, adu) in stream.adus().enumerate() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        if (state >> 40) as f64 / (1 << 24) as f64 >= way.loss {
            arriving.push((number + number % 8 * way.later, Arriving::Source(number)));
        }
        if let Ok(Some(repair)) = encoder.push(adu) {
            let repair = Arriving::Repair(repair.id, repair.symbol.to_vec());
            arriving.push((number, repair));
        }
    }
    arriving.sort_by_key(|(at, _)| *at);
    arriving.into_iter().map(|(_, packet)| packet).collect()
}

/// With the page faults of the memory that a new decoder touches for the first time.
fn decode(stream: &Stream, arriving: &[Arriving], decoder: &mut Decoder) -> u64 {
    for packet in arriving {
        match packet {
            Arriving::Source(number) => {
                let payload = &stream.packets[number * PAYLOAD..][..PAYLOAD];
                decoder.source(*number as u32, Adu { flow: 0, payload });
                decoder.advance((*number as u32).saturating_sub(640));
            }
            Arriving::Repair(id, symbol) => {
                decoder.repair(*id, symbol);
            }
        }
        while let Some(packet) = decoder.poll_recovered() {
            black_box(packet);
        }
    }
    decoder.counters().recovered
}

/// CPU time of several passes, as a share of the time in which 8 Gbit/s deliver as many bytes. Several, since the kernel
/// updates a thread's CPU time only every few milliseconds.
fn core_share(mut pass: impl FnMut() -> Duration) -> f64 {
    const PASSES: u32 = 20;
    let all: Duration = (0..PASSES).map(|_| pass()).sum();
    all.as_secs_f64() / f64::from(PASSES) / ((PACKETS * PAYLOAD) as f64 * 8.0 / GBIT_8)
}

/// CPU time of this thread, where the kernel reports it: it does not depend on the load of other processes.
fn run_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn timed(work: impl FnOnce()) -> Duration {
    let (run_before, start) = (run_time(), Instant::now());
    work();
    let elapsed = start.elapsed();
    run_before
        .zip(run_time())
        .map_or(elapsed, |(before, after)| after - before)
}

fn code(criterion: &mut Criterion) {
    let stream = Stream::new();
    let mut group = criterion.benchmark_group("8100 B");
    group.throughput(Throughput::Bytes((PACKETS * PAYLOAD) as u64));
    let mut lines = Vec::new();
    for (n, w) in RATES {
        let Ok(rate) = CodeRate::new(n, w) else {
            continue;
        };
        let mut encoder = Encoder::new(EncoderConfig::new(rate, PAYLOAD));
        group.bench_function(format!("encode {rate}"), |bencher| {
            bencher.iter(|| encode(&mut encoder, &stream));
        });
        let share = core_share(|| {
            timed(|| {
                black_box(encode(&mut encoder, &stream));
            })
        });
        lines.push(format!(
            "encode {rate}: {:.1} % of a core at 8 Gbit/s",
            share * 100.0
        ));
    }
    let rate = CodeRate::new(12, 96).unwrap_or_else(|error| panic!("{error}"));
    let ways = [
        (0.0, 0, 0),
        (0.001, 0, 0),
        (0.01, 0, 0),
        (0.05, 0, 0),
        (0.0, 4, 0),
        (0.0, 4, 32),
        (0.01, 4, 32),
    ];
    for (loss, later, patience) in ways {
        let arriving = arriving(rate, &stream, Way { loss, later });
        let config = DecoderConfig {
            patience,
            ..DecoderConfig::new(rate.window(), 640, PAYLOAD)
        };
        let fresh = || Decoder::new(config).unwrap_or_else(|error| panic!("{error}"));
        let order = match (later, patience) {
            (0, _) => "",
            (_, 0) => ", reordered",
            _ => ", reordered, with patience",
        };
        let name = format!("decode {rate}, {} % lost{order}", loss * 100.0);
        group.bench_function(&name, |bencher| {
            bencher.iter_batched_ref(
                fresh,
                |decoder| decode(&stream, &arriving, decoder),
                criterion::BatchSize::PerIteration,
            );
        });
        let mut recovered = 0;
        let share = core_share(|| {
            let mut decoder = fresh();
            timed(|| recovered = black_box(decode(&stream, &arriving, &mut decoder)))
        });
        lines.push(format!(
            "{name}: {:.1} % of a core at 8 Gbit/s, {recovered} of {PACKETS} packets recovered",
            share * 100.0
        ));
    }
    group.finish();
    for line in lines {
        println!("{line}");
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    targets = code
}
criterion_main!(benches);
