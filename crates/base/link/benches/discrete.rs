//! Packets per second through the discrete-event driver: eight flows over two routes with bursty loss, a queue before a
//! transmitter, and a delay; sent one by one, so that hardly any packet waits, or eight at once, so that most do.

// The macros of criterion make public functions without documentation.
#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_link::discrete::{Endpoint, run};
use weir_link::{
    Departure, DirectionSpec, Ecn, FlowKey, LinkSpec, LossSpec, Nanos, Packet, QueueSpec, RateSpec, RouteSpec,
};

const PACKETS: u64 = 200_000;
const FLOWS: u64 = 8;
/// 8,100-byte packets at about 2.5 Gbit/s.
const INTERVAL_NS: u64 = 26_000;
const LENGTH: u32 = 8_100;

/// Sends `at_once` packets every `at_once` intervals, each on the next flow.
struct Sender {
    sent: u64,
    at_once: u64,
}

impl Endpoint<u64> for Sender {
    fn next_wake(&self) -> Option<Nanos> {
        (self.sent < PACKETS).then_some(Nanos(self.sent * INTERVAL_NS))
    }

    fn wake(&mut self, _now: Nanos, out: &mut Vec<Packet<u64>>) {
        for _ in 0..self.at_once {
            let flow = FlowKey {
                five_tuple: self.sent % FLOWS,
                host_pair: 0,
                source_port: 0,
            };
            out.push(Packet {
                length: LENGTH,
                flow,
                ecn: Ecn::NotEct,
                payload: self.sent,
            });
            self.sent += 1;
        }
    }

    fn receive(&mut self, _departure: Departure<u64>, _out: &mut Vec<Packet<u64>>) {}
}

#[derive(Default)]
struct Receiver {
    received: [u64; 2],
    sum: u64,
}

impl Endpoint<u64> for Receiver {
    fn next_wake(&self) -> Option<Nanos> {
        None
    }

    fn wake(&mut self, _now: Nanos, _out: &mut Vec<Packet<u64>>) {}

    fn receive(&mut self, departure: Departure<u64>, _out: &mut Vec<Packet<u64>>) {
        self.received[usize::from(departure.route)] += 1;
        self.sum ^= departure.packet.payload ^ departure.at.0;
    }
}

fn network() -> LinkSpec {
    let loss = LossSpec::gilbert(0.0005, 0.1);
    let route = |delay_ns| RouteSpec {
        rate: RateSpec::Fixed(5_000_000_000),
        overhead: 14,
        delay_ns,
        queue: QueueSpec::Bytes(1_000_000),
        loss: vec![loss.clone()],
        ..RouteSpec::clean()
    };
    let mut forward = DirectionSpec::over(vec![route(10_000_000), route(10_400_000)]);
    forward.mtu.bytes = 9_000;
    LinkSpec {
        name: "bench".to_owned(),
        seed: 1,
        interface_mtu: 9_000,
        reverse: forward.clone(),
        forward,
    }
}

fn discrete(criterion: &mut Criterion) {
    let spec = network();
    let mut group = criterion.benchmark_group("discrete, packets");
    group.throughput(Throughput::Elements(PACKETS));
    group
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(8));
    for at_once in [1, 8] {
        group.bench_function(format!("{at_once} at once"), |bencher| {
            bencher.iter(|| {
                let (mut sender, mut receiver) = (Sender { sent: 0, at_once }, Receiver::default());
                let outcome = run(&spec, &mut sender, &mut receiver, Nanos(u64::MAX)).forward;
                // Both routes are used, packets are lost, and they queue only in bursts.
                assert!(receiver.received.into_iter().all(|count| count > PACKETS / 10));
                assert_eq!(outcome.offered, PACKETS);
                assert_eq!(outcome.delivered + outcome.dropped.loss, PACKETS);
                assert!(outcome.dropped.loss > 0);
                assert_eq!(outcome.most_queued_bytes > 0, at_once > 1);
                black_box(receiver.sum)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, discrete);
criterion_main!(benches);
