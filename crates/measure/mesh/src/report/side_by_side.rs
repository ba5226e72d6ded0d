//! Pairs of hosts that were tested over private and over public addresses. It must not know what makes them differ.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_record::MeshTest;
use weir_stats::median;

use super::{from, to};
use crate::filter::Over;
use crate::import::rtt_ns;

/// Tests of a pair over one kind of addresses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Tests.
    pub tests: usize,
    /// Median RTT, nanoseconds; none where it was not measured.
    pub rtt_ns: Option<f64>,
    /// Median throughput, of one or of several connections, whichever carried more, bit/s; none where it was not measured.
    pub bps: Option<f64>,
    /// Smallest path MTU of the tests, from the first host to the second, bytes; none where it was not measured.
    pub path_mtu: Option<u64>,
}

/// A pair of places whose hosts were tested over both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideBySide {
    /// Where the tests began: place and zone.
    pub from: String,
    /// Where they went.
    pub to: String,
    /// Over private addresses.
    pub private: Side,
    /// Over public addresses.
    pub public: Side,
}

/// The pairs that were tested over both, by name.
pub(super) fn side_by_side(tests: &[&MeshTest]) -> Vec<SideBySide> {
    let mut pairs: BTreeMap<[String; 2], [Vec<&MeshTest>; 2]> = BTreeMap::new();
    for test in tests {
        let end = |place: String, zone: &str| {
            if zone.is_empty() {
                place
            } else {
                format!("{place}/{zone}")
            }
        };
        let ends = [
            end(from(test).to_string(), &test.from.zone),
            end(to(test).to_string(), &test.to.zone),
        ];
        let [private, public] = pairs.entry(ends).or_default();
        match Over::of(&test.details) {
            Over::Private => private.push(test),
            Over::Public => public.push(test),
        }
    }
    let both = pairs
        .into_iter()
        .filter(|(_, sides)| sides.iter().all(|side| !side.is_empty()));
    both.map(|([from, to], [private, public])| SideBySide {
        from,
        to,
        private: side(&private),
        public: side(&public),
    })
    .collect()
}

fn side(tests: &[&MeshTest]) -> Side {
    let middle = |values: Vec<f64>| (!values.is_empty()).then(|| median(values));
    let rtts = tests.iter().filter_map(|test| rtt_ns(test)).map(|rtt| rtt as f64);
    let rates = tests
        .iter()
        .filter_map(|test| test.tcp_bps.max(test.tcp_streams_bps));
    let mtus = tests
        .iter()
        .filter_map(|test| test.details["path_mtu"]["forward"]["path_mtu"].as_u64());
    Side {
        tests: tests.len(),
        rtt_ns: middle(rtts.collect()),
        bps: middle(rates.map(|bps| bps as f64).collect()),
        path_mtu: mtus.min(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use weir_record::MeshEnd;

    fn test(to: &str, over: Over, rtt_ns: u64, bps: u64, mtu: u64) -> MeshTest {
        let end = |region: &str, zone: &str| MeshEnd {
            cloud: "aws".into(),
            region: region.into(),
            zone: zone.into(),
            ..MeshEnd::default()
        };
        MeshTest {
            from: end("us-east-1", "us-east-1a"),
            to: end(to, ""),
            rtt_p50_ns: Some(rtt_ns),
            tcp_bps: Some(bps),
            details: json!({ "addresses": over, "path_mtu": { "forward": { "path_mtu": mtu } } }),
            ..MeshTest::default()
        }
    }

    #[test]
    fn pairs_that_were_tested_over_both_have_their_medians_beside_each_other() {
        let tests = [
            test("eu-west-1", Over::Private, 70, 900, 8500),
            test("eu-west-1", Over::Private, 72, 1_000, 8500),
            test("eu-west-1", Over::Private, 90, 1_100, 8400),
            test("eu-west-1", Over::Public, 80, 400, 1500),
            test("us-west-2", Over::Public, 60, 400, 1500),
        ];
        let found = side_by_side(&tests.iter().collect::<Vec<_>>());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (found[0].from.as_str(), found[0].to.as_str()),
            ("aws:us-east-1/us-east-1a", "aws:eu-west-1")
        );
        let side = |tests, rtt, bps, mtu| Side {
            tests,
            rtt_ns: Some(rtt),
            bps: Some(bps),
            path_mtu: Some(mtu),
        };
        assert_eq!(found[0].private, side(3, 72.0, 1_000.0, 8400));
        assert_eq!(found[0].public, side(1, 80.0, 400.0, 1500));
        assert!(side_by_side(&[&tests[4]]).is_empty());
    }
}
