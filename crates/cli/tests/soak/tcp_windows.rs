//! `weir tcp` across an emulated link of 80 ms and 1 Gbit/s: each window carries what it allows within 5 %, and the number of
//! connections that fill the link is found within one.

use weir_rig::{count, isolated, lab_run, see_own_processes};

const LINK: [&str; 6] = ["--rtt", "80ms", "--rate", "1Gbit/s", "--queue", "1bdp"];
/// Payload of TCP with timestamps in a packet of 1500 bytes, of 1 Gbit/s.
const PATH: f64 = 1e9 * 1448.0 / 1500.0;

#[test]
fn windows_over_the_round_trip_are_what_is_carried() {
    isolated!(heavy);
    see_own_processes();
    let line = "weir tcp far --json -q --window 64KiB..16MiB --for 8s --omit 4s";
    let (said, _) = lab_run(&LINK, &line.split(' ').collect::<Vec<_>>());
    for test in said["tests"].as_array().expect("tests") {
        let (goodput, allowed) = (count(&test["goodput"]), count(&test["window_rate"]));
        let ratio = goodput as f64 / (allowed as f64).min(PATH);
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}: {test}");
    }
}

#[test]
fn the_connections_that_fill_the_link_are_found() {
    isolated!(heavy);
    see_own_processes();
    for window in [512 << 10, 1 << 20, 4 << 20] {
        let line = format!("weir tcp far --json -q --window {window}B --fill --for 6s --omit 3s");
        let (said, _) = lab_run(&LINK, &line.split(' ').collect::<Vec<_>>());
        let exact = (PATH / (window as f64 * 8.0 / 0.080)).ceil();
        let streams = count(&said["fill"]["streams"]) as f64;
        assert!((streams - exact).abs() <= 1.0, "{streams}, not {exact}: {said}");
    }
}
