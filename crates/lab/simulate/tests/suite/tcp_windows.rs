//! TCP over windows, and over numbers of connections, across a link of 80 ms and 1 Gbit/s in virtual time: beside the window
//! over the RTT, and the rate over that.

use weir_link::{LinkSpec, Mtu, QueueSpec, RateSpec, RouteSpec, TooBig};
use weir_measure::tcp_sweep::{SweepPlan, SweepSummary};
use weir_results::{Direction, RunFilter};
use weir_simulate::Path;

use crate::paths::{bench, link, still};

const SECOND: u64 = 1_000_000_000;
const RATE: u64 = 1_000_000_000;
const RTT_S: f64 = 0.080;
/// Share of a full packet that is payload of TCP with timestamps.
const PAYLOAD: f64 = 1448.0 / 1500.0;

/// A long link, whose queue takes what a round trip carries.
fn long() -> LinkSpec {
    let route = RouteSpec {
        rate: RateSpec::Fixed(RATE),
        queue: QueueSpec::Bytes(10_000_000),
        delay_ns: 40_000_000,
        ..RouteSpec::clean()
    };
    let mut link = link(vec![route]);
    link.interface_mtu = 1500;
    for direction in [&mut link.forward, &mut link.reverse] {
        direction.mtu = Mtu {
            bytes: 1500,
            too_big: TooBig::Drop,
        };
    }
    link
}

fn tested(windows: &[u64], fill: bool) -> SweepSummary {
    let mut bench = bench();
    let mut path = Path::new(&long(), &still(), &still(), "far", 7).expect("a path");
    let plan = SweepPlan {
        direction: Direction::Forward,
        windows: windows.to_vec(),
        streams: 1,
        fill,
        duration_ns: 4 * SECOND,
        omit_ns: 2 * SECOND,
        max_bytes: u64::MAX,
    };
    let (run, summary) = path.sweep(&plan, &mut bench.store).expect("a sweep");
    let runs = bench.store.runs(&RunFilter::default()).expect("runs");
    let parts = runs
        .iter()
        .filter(|part| part.parent == Some(run) && part.kind == "tcp");
    assert_eq!(parts.count(), summary.tests.len());
    summary
}

#[test]
fn throughput_is_a_window_per_round_trip_or_what_the_link_carries() {
    let windows: Vec<u64> = (16..=24).map(|power| 1 << power).collect();
    let found = tested(&windows, false);
    assert_eq!(found.tests.len(), windows.len());
    for (row, window) in found.tests.iter().zip(windows) {
        let allowed = (window as f64 * 8.0 / RTT_S).min(RATE as f64 * PAYLOAD);
        let ratio = row.test.goodput.0 as f64 / allowed;
        assert!((ratio - 1.0).abs() < 0.05, "{window} bytes: {ratio} of {allowed}");
        let own = row.window_rate.expect("a window").0 as f64;
        // With more under way than the link holds, packets wait, and the RTT grows.
        assert!((row.test.goodput.0 as f64 / own - 1.0).abs() < 0.05, "{row:?}");
    }
}

#[test]
fn connections_that_fill_the_link_are_its_rate_over_that_of_one() {
    for window in [512 << 10, 1 << 20, 4 << 20] {
        let found = tested(&[window], true);
        let exact = (RATE as f64 * PAYLOAD / (window as f64 * 8.0 / RTT_S)).ceil();
        let streams = f64::from(found.fill.expect("a search").streams.expect("a number"));
        assert!(
            (streams - exact).abs() <= 1.0,
            "{window} bytes: {streams}, not {exact}"
        );
    }
}
