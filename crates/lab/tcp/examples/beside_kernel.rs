//! What `benches/e2e/tcp.sh` compares with the kernel's TCP: connections that send for some seconds over the link of a file.
//!
//! `beside_kernel LINK reno|cubic|bbr CONNECTIONS SECONDS` prints payload in Mbit/s, mean and P95 of the smoothed RTT of the
//! first connection in milliseconds, packets offered to the link, and packets that it dropped.

use std::path::Path;

use weir_link::discrete::Network;
use weir_link::{LinkSpec, Nanos, profile};
use weir_tcp::{Algorithm, Receiver, Sender, endless};

const SECOND: u64 = 1_000_000_000;
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
    run(&spec, algorithm, number(connections)?, number(seconds)? * SECOND);
    Ok(())
}

fn run(spec: &LinkSpec, algorithm: Algorithm, connections: u64, until_ns: u64) {
    let (mut near, mut far) = endless(algorithm, connections);
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
    println!(
        "{:.2}\t{:.2}\t{:.2}\t{}\t{}",
        bytes as f64 * 8e3 / until_ns as f64,
        mean_ns / 1e6,
        p95_ns as f64 / 1e6,
        counters.offered,
        counters.dropped.queue,
    );
}
