//! Packets a second through the discrete-event driver: a paced sender of eight flows over two routes with a queue
//! before a transmitter, a delay, and bursty loss.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weir_link::discrete::{Endpoint, run};
use weir_link::{
    Departure, DirectionSpec, FlowKey, LinkSpec, LossSpec, Nanos, Packet, QueueSpec, RateSpec, RouteSpec,
};

const PACKETS: u64 = 200_000;
const FLOWS: u64 = 8;
/// 8,100-byte packets at about 2.5 Gbit/s.
const INTERVAL_NS: u64 = 26_000;

struct Sender {
    sent: u64,
}

impl Endpoint<u64> for Sender {
    fn next_wake(&self) -> Option<Nanos> {
        (self.sent < PACKETS).then_some(Nanos(self.sent * INTERVAL_NS))
    }

    fn wake(&mut self, _now: Nanos, out: &mut Vec<Packet<u64>>) {
        let flow = FlowKey {
            five_tuple: self.sent % FLOWS,
            host_pair: 0,
        };
        out.push(Packet {
            length: 8100,
            flow,
            payload: self.sent,
        });
        self.sent += 1;
    }

    fn receive(&mut self, _departure: Departure<u64>, _out: &mut Vec<Packet<u64>>) {}
}

#[derive(Default)]
struct Receiver {
    received: u64,
    sum: u64,
}

impl Endpoint<u64> for Receiver {
    fn next_wake(&self) -> Option<Nanos> {
        None
    }

    fn wake(&mut self, _now: Nanos, _out: &mut Vec<Packet<u64>>) {}

    fn receive(&mut self, departure: Departure<u64>, _out: &mut Vec<Packet<u64>>) {
        self.received += 1;
        self.sum ^= departure.packet.payload ^ departure.at.0;
    }
}

fn network() -> LinkSpec {
    let route = |delay_ns| RouteSpec {
        rate: RateSpec::Fixed(10_000_000_000),
        overhead: 14,
        delay_ns,
        queue: QueueSpec::Bytes(1_000_000),
        loss: vec![LossSpec::GilbertElliott {
            to_bad: 0.0005,
            to_good: 0.1,
            loss_good: 0.0,
            loss_bad: 1.0,
        }],
        ..RouteSpec::clean()
    };
    let mut forward = DirectionSpec::over(vec![route(10_000_000), route(10_400_000)]);
    forward.mtu.bytes = 9000;
    LinkSpec {
        name: "bench".to_owned(),
        seed: 1,
        interface_mtu: 9000,
        reverse: forward.clone(),
        forward,
    }
}

fn discrete(criterion: &mut Criterion) {
    let spec = network();
    let mut group = criterion.benchmark_group("discrete");
    group.throughput(Throughput::Elements(PACKETS));
    group
        .sample_size(20)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(5));
    group.bench_function("8_flows_2_routes", |bencher| {
        bencher.iter(|| {
            let mut receiver = Receiver::default();
            let outcome = run(&spec, &mut Sender { sent: 0 }, &mut receiver, Nanos(u64::MAX));
            assert_eq!(outcome.forward.delivered, receiver.received);
            assert_eq!(outcome.forward.offered, PACKETS);
            black_box(receiver.sum)
        });
    });
    group.finish();
}

criterion_group!(benches, discrete);
criterion_main!(benches);
