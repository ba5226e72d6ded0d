//! Connections that share a link.

use weir_tcp::{Algorithm, EcnUse};

use super::world::{Flow, MS, SECOND, link, run};

#[test]
fn equal_connections_share_alike() {
    let spec = link("rtt = \"30ms\"\nforward.rate = \"40Mbit/s\"\nforward.queue = \"1bdp\"");
    for algorithm in [Algorithm::NewReno, Algorithm::Cubic] {
        let flows = [0, 300, 700, 1_100].map(|ms| Flow {
            from_ns: ms * MS,
            ..Flow::endless(algorithm)
        });
        let seen = run(&spec, &flows, 200 * SECOND);
        let rates: Vec<f64> = (0..4).map(|flow| seen.rate(flow, 20, 200)).collect();
        let sum: f64 = rates.iter().sum();
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        // Jain's index of fairness: 1 where all are equal, a quarter where one has all.
        assert!(sum * sum / (4.0 * squares) > 0.9, "{algorithm:?}: {rates:?}");
        assert!(sum > 0.93 * 40e6, "{algorithm:?}: {rates:?}");
    }
}

/// RFC 9332 section 2.1: a scalable connection and a classic one have about the same rate, whatever the capacity and the
/// round trip.
#[test]
fn dualpi2_gives_cubic_and_a_scalable_control_about_the_same_rate() {
    for mbit in [4, 12, 40, 120, 200] {
        for rtt_ms in [5, 20, 100] {
            let text = format!(
                "rtt = \"{rtt_ms}ms\"\nforward.rate = \"{mbit}Mbit/s\"\nforward.queue = {{ kind = \"dualpi2\" }}"
            );
            let mut scalable = Flow::endless(Algorithm::Scalable);
            scalable.config.ecn = EcnUse::Accurate;
            let mut cubic = Flow::endless(Algorithm::Cubic);
            cubic.config.ecn = EcnUse::Classic;
            let seen = run(&link(&text), &[scalable, cubic], 120 * SECOND);
            let rates = [0, 1].map(|flow| seen.rate(flow, 20, 120) / 1e6);
            let ratio = rates[0] / rates[1];
            println!(
                "{mbit:3} Mbit/s, {rtt_ms:3} ms: scalable {:6.2}, CUBIC {:6.2} Mbit/s, {ratio:.2}",
                rates[0], rates[1]
            );
            assert!(
                (0.5..=2.0).contains(&ratio),
                "{mbit} Mbit/s, {rtt_ms} ms: {ratio}"
            );
        }
    }
}

/// RFC 8033 section 4: the delay of PIE stays at its target of 15 ms whatever the number of connections.
#[test]
fn pie_keeps_its_delay_with_ten_and_with_a_hundred_connections() {
    let spec = link("rtt = \"50ms\"\nforward.rate = \"100Mbit/s\"\nforward.queue = { kind = \"pie\" }");
    for count in [10, 100] {
        let flows: Vec<Flow> = (0..count)
            .map(|index| Flow {
                from_ns: index * 10 * MS,
                ..Flow::endless(Algorithm::NewReno)
            })
            .collect();
        let seen = run(&spec, &flows, 60 * SECOND);
        let delay_ms = seen.mean_queue() * 8.0 / 100e6 * 1e3;
        eprintln!("{count} connections: mean delay {delay_ms:.1} ms");
        assert!((8.0..20.0).contains(&delay_ms), "{count}: {delay_ms} ms");
    }
}
