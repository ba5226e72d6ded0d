//! The same connections as the kernel's, on the same links.

use weir_tcp::Algorithm::{self, Bbr, Cubic, NewReno};

use super::world::{SECOND, link};

#[path = "../../examples/beside_kernel.rs"]
#[expect(dead_code, reason = "it is a program as well")]
mod example;

const SLOW: &str = "rtt = \"20ms\"\nforward.rate = \"20Mbit/s\"\nforward.queue = \"2bdp\"";
const FAST: &str = "rtt = \"40ms\"\nforward.rate = \"50Mbit/s\"\nforward.queue = \"1bdp\"";

/// Means of two to five runs of `benches/e2e/tcp.sh` on Linux 6.18, 60 s each: control, connections, Mbit/s, mean RTT in ms,
/// and packets that the queue dropped.
type Row = (Algorithm, u64, f64, f64, f64);
const ON_SLOW: [Row; 6] = [
    (NewReno, 1, 19.3, 47.0, 148.0),
    (NewReno, 4, 19.3, 51.0, 652.0),
    (Cubic, 1, 19.3, 53.9, 25.5),
    (Cubic, 4, 19.3, 55.8, 322.0),
    (Bbr, 1, 19.0, 25.5, 25.0),
    (Bbr, 4, 19.1, 58.4, 10_030.0),
];
const ON_FAST: [Row; 6] = [
    (NewReno, 1, 48.1, 61.7, 347.0),
    (NewReno, 4, 48.1, 65.4, 641.0),
    (Cubic, 1, 48.1, 69.0, 33.0),
    (Cubic, 4, 48.1, 74.3, 150.0),
    (Bbr, 1, 47.1, 44.4, 381.0),
    (Bbr, 4, 47.5, 78.5, 26_400.0),
];

/// Payload within 3 %, the queue within 10 %, losses within 20 % or the chance of a count.
#[test]
fn connections_have_the_rates_delays_and_losses_of_the_kernels() {
    for (text, idle_ms, rows) in [(SLOW, 20.6, ON_SLOW), (FAST, 40.2, ON_FAST)] {
        for (control, connections, rate, rtt_ms, dropped) in rows {
            let [here, rtt_here_ms, _, _, dropped_here] =
                example::means(&link(text), control, connections, 60 * SECOND);
            println!(
                "{control:?} {connections}: {here:.1} Mbit/s for {rate}, {rtt_here_ms:.1} ms for {rtt_ms}, \
                 {dropped_here:.0} dropped for {dropped}"
            );
            assert!((here / rate - 1.0).abs() < 0.03);
            assert!(((rtt_here_ms - idle_ms) / (rtt_ms - idle_ms) - 1.0).abs() < 0.1);
            let chance = 2.0 * dropped.sqrt();
            assert!((dropped_here - dropped).abs() <= chance.max(0.2 * dropped));
        }
    }
}
