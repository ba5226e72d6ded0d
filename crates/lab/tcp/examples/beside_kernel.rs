//! What `benches/e2e/tcp.sh` compares with the kernel's TCP: connections that send for some seconds over the link of a file.
//!
//! `beside_kernel LINK reno|cubic|bbr CONNECTIONS SECONDS` prints payload in Mbit/s, mean and P95 of the smoothed RTT of the
//! first connection in milliseconds, packets offered to the link, and packets that it dropped.

use std::path::Path;

use weir_link::discrete::Network;
use weir_link::{DirectionSpec, LinkSpec, Nanos, profile};
use weir_tcp::{Algorithm, Receiver, Sender, endless};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Connections begin this long after each other, as those of `kernel_tcp.py` do.
const APART_NS: u64 = SECOND / 4;
/// Means of as many runs, in each of which they begin a millisecond further apart: it is chance which packets meet in the queue.
const RUNS: u64 = 5;
const SAMPLED_EACH: u64 = SECOND / 10;

fn main() -> Result<(), String> {
    let usage = "usage: beside_kernel LINK reno|cubic|bbr CONNECTIONS SECONDS";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [link, algorithm, connections, seconds] = &arguments[..] else {
        return Err(usage.to_owned());
    };
    let algorithm = match algorithm.as_str() {
        "reno" => Algorithm::NewReno,
        "cubic" => Algorithm::Cubic,
        "bbr" => Algorithm::Bbr,
        _ => return Err(usage.to_owned()),
    };
    let number = |text: &String| text.parse::<u64>().map_err(|_| usage.to_owned());
    let text = std::fs::read_to_string(link).map_err(|error| format!("cannot read {link}: {error}"))?;
    let spec = profile::parse(&text, link, Path::new(".")).map_err(|error| error.to_string())?;
    let means = means(&spec, algorithm, number(connections)?, number(seconds)? * SECOND);
    println!("{}", means.map(|mean| format!("{mean:.2}")).join("\t"));
    Ok(())
}

/// Payload in Mbit/s, mean and P95 of the RTT in ms, packets offered and dropped.
pub fn means(spec: &LinkSpec, algorithm: Algorithm, connections: u64, until_ns: u64) -> [f64; 5] {
    let mut means = [0.0; 5];
    for later in 0..RUNS {
        let figures = run(spec, algorithm, (connections, APART_NS + later * MS), until_ns);
        for (mean, figure) in means.iter_mut().zip(figures) {
            *mean += figure / RUNS as f64;
        }
    }
    means
}

fn run(
    spec: &LinkSpec,
    algorithm: Algorithm,
    (connections, apart_ns): (u64, u64),
    until_ns: u64,
) -> [f64; 5] {
    let delay_ns = |direction: &DirectionSpec| direction.routes[0].delay_ns;
    let rtt_ns = delay_ns(&spec.forward) + delay_ns(&spec.reverse);
    let (mut near, mut far) = endless(algorithm, connections, rtt_ns, apart_ns);
    let mut network = Network::new(spec);
    let (mut rtts_ns, mut sample_at) = (Vec::new(), SAMPLED_EACH);
    while let Some(at) = network.step(&mut near, &mut far, Nanos(until_ns)) {
        if at.0 >= sample_at {
            rtts_ns.extend(near.senders().next().and_then(Sender::rtt_ns));
            sample_at += SAMPLED_EACH;
        }
    }
    let bytes: u64 = far.receivers().map(Receiver::received).sum();
    rtts_ns.sort_unstable();
    let mean_ns = rtts_ns.iter().sum::<u64>() as f64 / rtts_ns.len().max(1) as f64;
    let p95_ns = rtts_ns.get(rtts_ns.len() * 95 / 100).copied().unwrap_or(0);
    let counters = network.forward().counters();
    [
        bytes as f64 * 8e3 / until_ns as f64,
        mean_ns / 1e6,
        p95_ns as f64 / 1e6,
        counters.offered as f64,
        counters.dropped.queue as f64,
    ]
}
