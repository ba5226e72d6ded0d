//! GB/s of the kernels beside a memory copy: hot (8 kB, a jumbo frame) and from memory (64 MB).

// The macros of criterion make public functions without documentation.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use weir_fec::{Engine, Kernel};

const LENGTHS: [(&str, usize); 2] = [("8 kB hot", 8_192), ("64 MB", 64 << 20)];
const COEFFICIENT: u8 = 0x8e;

fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    length: usize,
    best: &mut Vec<String>,
    mut work: impl FnMut(&mut [u8], &[u8]),
) {
    // Both start at a cache line, as the symbols of both ends of the code do.
    let (mut to, from) = (vec![1; length + 64], vec![2; length + 64]);
    let (to_start, from_start) = (to.as_ptr().align_offset(64), from.as_ptr().align_offset(64));
    let (to, from) = (&mut to[to_start..][..length], &from[from_start..][..length]);
    group.bench_function(name, |bencher| {
        bencher.iter(|| work(black_box(&mut *to), black_box(from)));
    });
    // The best of many runs is the one that other programs disturbed least.
    let calls = (1 << 18) / length + 1;
    let pass = || {
        let start = Instant::now();
        for _ in 0..calls {
            work(black_box(&mut *to), black_box(from));
        }
        start.elapsed().as_secs_f64()
    };
    let passes = if calls > 1 { 20_000 } else { 40 };
    let fastest = std::iter::repeat_with(pass)
        .take(passes)
        .fold(f64::INFINITY, f64::min);
    best.push(format!(
        "{name}: {:.1} GB/s",
        (length * calls) as f64 / fastest / 1e9
    ));
}

fn kernels(criterion: &mut Criterion) {
    for (what, length) in LENGTHS {
        let mut group = criterion.benchmark_group(what);
        // Bytes of the source: a copy reads one byte and writes one, the others read two and write one.
        group.throughput(Throughput::Bytes(length as u64));
        let best = &mut Vec::new();
        measure(&mut group, "copy", length, best, |to, from| {
            to.copy_from_slice(from)
        });
        for engine in Kernel::ALL.into_iter().filter_map(Engine::with) {
            let name = engine.kernel().name();
            measure(&mut group, &format!("xor {name}"), length, best, |to, from| {
                engine.xor_into(to, from);
            });
            measure(
                &mut group,
                &format!("multiply-add {name}"),
                length,
                best,
                |to, from| {
                    engine.multiply_add_into(to, from, COEFFICIENT);
                },
            );
            measure(&mut group, &format!("multiply {name}"), length, best, |to, _| {
                engine.multiply_in_place(to, COEFFICIENT);
            });
        }
        group.finish();
        for line in best {
            println!("{what}, best: {line}");
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = kernels
}
criterion_main!(benches);
