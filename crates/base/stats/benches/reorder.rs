//! Nanoseconds per packet of the sequence accounts: in order, with 1 % of the packets reordered, and with 1 % lost.

// The macros of criterion make public functions without documentation.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use weir_stats::{FlowAccount, ReorderAccount, ReorderDepth};

const PACKETS: u64 = 1_000_000;
/// 1.5 million packets a second.
const APART_NS: u64 = 667;
const DEPTH: ReorderDepth = ReorderDepth {
    packets: 1 << 14,
    time_ns: 50_000_000,
};

fn in_order() -> Vec<u64> {
    (0..PACKETS).collect()
}

/// Every hundredth packet arrives 20 packets late.
fn reordered() -> Vec<u64> {
    let mut sequences = in_order();
    for start in (0..sequences.len() - 100).step_by(100) {
        sequences[start..start + 21].rotate_left(1);
    }
    sequences
}

fn lossy() -> Vec<u64> {
    in_order()
        .into_iter()
        .filter(|sequence| sequence % 100 != 50)
        .collect()
}

fn accounts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("per packet");
    for (name, sequences) in [
        ("in order", in_order()),
        ("1 % reordered", reordered()),
        ("1 % lost", lossy()),
    ] {
        group.throughput(Throughput::Elements(sequences.len() as u64));
        group.bench_function(format!("ReorderAccount, {name}"), |bencher| {
            bencher.iter_batched_ref(
                || ReorderAccount::new(0, DEPTH),
                |account| {
                    let mut runs = 0_u64;
                    for (at, &sequence) in (0_u64..).zip(&sequences) {
                        black_box(account.on_packet(at * APART_NS, black_box(sequence), &mut |_| runs += 1));
                    }
                    runs
                },
                BatchSize::LargeInput,
            );
        });
        group.bench_function(format!("FlowAccount, {name}"), |bencher| {
            bencher.iter_batched_ref(
                || FlowAccount::new(0, DEPTH),
                |account| {
                    let mut runs = 0_u64;
                    for (at, &sequence) in (0_u64..).zip(&sequences) {
                        let arrival =
                            account.on_packet(at * APART_NS, black_box(sequence), 1_400, &mut |_| runs += 1);
                        black_box(arrival);
                    }
                    runs
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
    per_packet_summary();
}

/// Criterion prints millions of elements per second; this prints nanoseconds per packet, the unit of the packet path's
/// budget.
fn per_packet_summary() {
    for (name, sequences) in [
        ("in order", in_order()),
        ("1 % reordered", reordered()),
        ("1 % lost", lossy()),
    ] {
        let best_ns = (0..5).map(|_| time_once(&sequences)).min().unwrap_or_default();
        println!(
            "{name}: {:.2} ns per packet",
            best_ns as f64 / sequences.len() as f64
        );
    }
}

fn time_once(sequences: &[u64]) -> u128 {
    let mut account = ReorderAccount::new(0, DEPTH);
    let mut runs = 0_u64;
    let start = std::time::Instant::now();
    for (at, &sequence) in (0_u64..).zip(sequences) {
        black_box(account.on_packet(at * APART_NS, black_box(sequence), &mut |_| runs += 1));
    }
    black_box(runs);
    start.elapsed().as_nanos()
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(2));
    targets = accounts
}
criterion_main!(benches);
