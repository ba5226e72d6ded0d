//! The profiles of clouds, measured as their source did: its row of figures comes out again.

use weir_diagnose::load;
use weir_link::Profile;
use weir_measure::flows::FlowsPlan;
use weir_measure::rtt::RttPlan;
use weir_results::{Direction, Store};
use weir_simulate::{HostModel, Path};
use weir_stats::loss_interval;

/// A row of the table in Port 9 Labs, "Using uncompressed video in the cloud" (2022).
struct Row {
    profile: &'static str,
    /// 90 % quantile of the round trip, nanoseconds.
    p90_ns: u64,
    path_mtu: u32,
    /// Share of lost packets.
    loss: f64,
    flows: u16,
    /// Media in each packet, bytes.
    payload: u32,
}

const ROWS: [Row; 4] = [
    Row {
        profile: "google",
        p90_ns: 280_000,
        path_mtu: 8_896,
        loss: 0.0,
        flows: 8,
        payload: 8_100,
    },
    Row {
        profile: "aws",
        p90_ns: 133_000,
        path_mtu: 9_001,
        loss: 2e-8,
        flows: 8,
        payload: 8_100,
    },
    Row {
        profile: "oracle",
        p90_ns: 397_000,
        path_mtu: 9_000,
        loss: 3.08e-6,
        flows: 8,
        payload: 8_100,
    },
    Row {
        profile: "azure",
        p90_ns: 520_000,
        path_mtu: 4_036,
        loss: 3.660_1e-4,
        flows: 1,
        payload: 1_400,
    },
];
/// A round trip has four timestamps of kernels, each of which is 9 us late in the mean.
const TIMESTAMPS_NS: u64 = 50_000;
const SECOND_NS: u64 = 1_000_000_000;

#[test]
fn each_cloud_measures_as_its_source_did() {
    for row in ROWS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut store = Store::open(folder.path().join("weir.db")).expect("a store");
        let link = Profile::open(row.profile)
            .and_then(|profile| profile.spec())
            .expect("a profile");
        assert_eq!(link.forward.mtu.bytes, row.path_mtu, "{}", row.profile);
        // With another seed, the round trips take other routes.
        let mut trips: Vec<u64> = (1..=8)
            .flat_map(|seed| round_trips(&link, seed, &mut store))
            .collect();
        trips.sort_unstable();
        let p90 = trips[trips.len() * 9 / 10];
        let range = row.p90_ns..=row.p90_ns + TIMESTAMPS_NS;
        assert!(range.contains(&p90), "{}: {p90}", row.profile);

        let host = HostModel::default();
        let mut path = Path::new(&link, &host, &host, "far", 3).expect("a path");
        let plan = FlowsPlan {
            flows: row.flows,
            length: row.payload,
            duration_ns: 10 * SECOND_NS,
            ..FlowsPlan::default()
        };
        let made = path.flows(&plan, &mut store).expect("a flow test");
        let measured = load(&store, made.run).expect("a run");
        let forward = measured
            .flow_tests
            .iter()
            .find(|test| test.direction == Direction::Forward);
        let test = forward.expect("the forward direction");
        assert!(test.sent > 300_000, "{}: {}", row.profile, test.sent);
        // Bursts of four packets say as much as one.
        let (low, high) = loss_interval(test.lost / 4, test.sent / 4);
        assert!(
            (low..=high).contains(&row.loss),
            "{}: {} of {}",
            row.profile,
            test.lost,
            test.sent
        );
    }
}

/// Of the first packets of windows, by the kernels' timestamps.
fn round_trips(link: &weir_link::LinkSpec, seed: u64, store: &mut Store) -> Vec<u64> {
    let host = HostModel::default();
    let mut path = Path::new(link, &host, &host, "far", seed).expect("a path");
    let made = path.rtt(&RttPlan::default(), store).expect("an RTT test");
    let measured = load(store, made.run).expect("a run");
    let test = measured.rtt.expect("round trips");
    test.first_packets
        .iter()
        .filter_map(|packet| packet.network_rtt_ns)
        .collect()
}
