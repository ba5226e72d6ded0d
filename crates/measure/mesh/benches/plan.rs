//! The plan of all pairs of 150 regions: selection, rounds and estimate.

// The macros of criterion make public functions without documentation.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use weir_mesh::estimate::{TestShape, plan};
use weir_mesh::filter::Filters;
use weir_mesh::place::Places;
use weir_mesh::price::Prices;
use weir_mesh::select::{Node, Tested, select};

const SHAPE: TestShape = TestShape {
    rtt_ns: 3_000_000_000,
    tcp_ns: 5_000_000_000,
    streams: 8,
    udp_ns: 3_000_000_000,
    udp_bps: 20_000_000,
    max_bytes: 500_000_000,
    survey: false,
    window_bytes: None,
};

fn whole_plan(criterion: &mut Criterion) {
    let nodes: Vec<Node> = Places::known()
        .iter()
        .take(150)
        .map(|place| Node {
            name: place.name.to_string(),
            place: place.clone(),
            zone: String::new(),
            network: String::new(),
        })
        .collect();
    let prices = Prices::known().expect("the table that comes with Weir");
    criterion.bench_function("plan of 150 regions, 22,350 pairs", |bencher| {
        bencher.iter(|| {
            let pairs = select(&nodes, &Filters::default(), &Tested::new()).expect("pairs");
            black_box(plan(&nodes, pairs, &SHAPE, 1_000_000_000, &prices))
        });
    });
}

criterion_group!(benches, whole_plan);
criterion_main!(benches);
