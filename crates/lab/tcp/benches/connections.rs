//! TCP packets per second and core, data and acknowledgements counted: one connection, and ten on one line, of each control.

// The macros of criterion make public functions without documentation.
#![allow(missing_docs)]

use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use weir_link::discrete::Network;
use weir_link::{LinkSpec, Nanos, profile};
use weir_tcp::{Algorithm, endless};

const LINE: &str = "rtt = \"30ms\"\nforward.rate = \"100Mbit/s\"\nforward.queue = \"1bdp\"";
const SECONDS: u64 = 10;

/// Runs so many connections; returns the packets of both directions.
fn run(spec: &LinkSpec, algorithm: Algorithm, connections: u64) -> u64 {
    let (mut near, mut far) = endless(algorithm, connections, 20_000_000, 0);
    let mut network = Network::new(spec);
    while network
        .step(&mut near, &mut far, Nanos(SECONDS * 1_000_000_000))
        .is_some()
    {}
    network.forward().counters().offered + network.reverse().counters().offered
}

fn connections(criterion: &mut Criterion) {
    let spec = profile::parse(LINE, "line", Path::new(".")).expect("a link");
    let mut group = criterion.benchmark_group("connections");
    group.sample_size(10).measurement_time(Duration::from_secs(4));
    for algorithm in [
        Algorithm::NewReno,
        Algorithm::Cubic,
        Algorithm::Bbr,
        Algorithm::Scalable,
    ] {
        for count in [1, 10] {
            group.throughput(Throughput::Elements(run(&spec, algorithm, count)));
            let name = BenchmarkId::new(format!("{algorithm:?}"), count);
            group.bench_function(name, |bencher| bencher.iter(|| run(&spec, algorithm, count)));
        }
    }
    group.finish();
}

criterion_group!(benches, connections);
criterion_main!(benches);
