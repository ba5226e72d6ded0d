//! Throughput beside the bandwidth that the sending instance is sold with. It must not know how an instance was found out.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_record::MeshTest;
use weir_stats::median;

use crate::instances::{Instance, Read, instance};

/// Tests from one type of instance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sold {
    /// Its cloud.
    pub cloud: String,
    /// Its type.
    pub instance: String,
    /// Tests from it.
    pub tests: usize,
    /// Median of their throughput, of one or of several connections, whichever carried more, bit/s.
    pub median_bps: f64,
    /// The highest, bit/s.
    pub highest_bps: u64,
    /// Rate that the type holds, bit/s; none where the table does not have it.
    pub baseline_bps: Option<u64>,
    /// Rate that it reaches on credits, or at most, bit/s.
    pub burst_bps: Option<u64>,
    /// Where these were read.
    pub read: Option<Read>,
    /// Price of an hour for each Gbit/s that the type holds, US dollars, without traffic.
    pub usd_per_gbit: Option<f64>,
    /// Where the worse of rate and price was read.
    pub usd_read: Option<Read>,
}

/// The types of the sending hosts, where these told them.
pub(super) fn sold(tests: &[&MeshTest]) -> Vec<Sold> {
    let mut by_type: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for test in tests {
        let name = test.details["from_instance"]
            .as_str()
            .filter(|name| !name.is_empty());
        let best = test.tcp_bps.max(test.tcp_streams_bps).filter(|bps| *bps > 0);
        if let (Some(name), Some(bps)) = (name, best) {
            by_type.entry((&test.from.cloud, name)).or_default().push(bps);
        }
    }
    let of_type = |((cloud, name), rates): ((&str, &str), Vec<u64>)| {
        let known = instance(cloud, name);
        let bps = |mbps: Option<u64>| mbps.map(|mbps| mbps.saturating_mul(1_000_000));
        Sold {
            cloud: cloud.to_owned(),
            instance: name.to_owned(),
            tests: rates.len(),
            highest_bps: rates.iter().copied().max().unwrap_or(0),
            median_bps: median(rates.into_iter().map(|bps| bps as f64).collect()),
            baseline_bps: bps(known.and_then(|known| known.baseline_mbps)),
            burst_bps: bps(known.and_then(|known| known.burst_mbps)),
            read: known.map(|known| known.read),
            usd_per_gbit: known.and_then(Instance::usd_per_gbit),
            usd_read: known.map(|known| known.read.max(known.usd_read)),
        }
    };
    by_type.into_iter().map(of_type).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use weir_record::MeshEnd;

    fn test(instance: serde_json::Value, one: u64, several: Option<u64>) -> MeshTest {
        MeshTest {
            from: MeshEnd {
                cloud: "aws".into(),
                ..MeshEnd::default()
            },
            tcp_bps: Some(one),
            tcp_streams_bps: several,
            details: json!({ "from_instance": instance }),
            ..MeshTest::default()
        }
    }

    #[test]
    fn tests_are_beside_the_rates_of_their_type_and_unknown_types_beside_none() {
        let tests = [
            test("c5.large".into(), 100, Some(900_000_000)),
            test("c5.large".into(), 700_000_000, None),
            test("c5.large".into(), 10, Some(800_000_000)),
            test("nobody.knows".into(), 5, None),
            test(json!(null), 5, None),
            test(json!(7), 5, None),
        ];
        let found = sold(&tests.iter().collect::<Vec<_>>());
        assert_eq!(found.len(), 2);
        let large = &found[0];
        assert_eq!(
            (large.tests, large.median_bps, large.highest_bps),
            (3, 8e8, 900_000_000)
        );
        assert_eq!(
            (large.baseline_bps, large.burst_bps),
            (Some(750_000_000), Some(10_000_000_000))
        );
        assert_eq!(
            (found[1].instance.as_str(), found[1].baseline_bps, found[1].read),
            ("nobody.knows", None, None)
        );
    }
}
