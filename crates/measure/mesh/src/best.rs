//! The best place for a given set of peers: by measured RTTs, or by what egress costs. It knows tests and prices, not
//! where either came from.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use weir_record::MeshTest;
use weir_stats::median;

use crate::import::rtt_ns;
use crate::place::{Place, PlaceName, Places};
use crate::price::Prices;
use crate::report::Report;

/// What the best place has least of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minimise {
    /// The longest RTT to any of the peers.
    MaxRtt,
    /// The mean of the RTTs to all peers.
    MeanRtt,
    /// What it costs to send a gigabyte to each peer.
    Egress,
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Its name.
    pub place: String,
    /// Longest RTT to a peer, nanoseconds.
    pub max_rtt_ns: f64,
    /// Mean RTT to the peers, nanoseconds.
    pub mean_rtt_ns: f64,
    /// What it costs to send a gigabyte to each peer, US dollars; none where a price is not known.
    pub egress_usd: Option<f64>,
    /// Peers to which the RTT was measured; to the others it is from the fit over distance.
    pub measured: usize,
}

/// Ranks every place that has tests, the best first. Where a pair was measured in
/// either direction, its RTT is the median of these tests; else it is what the fit of all tests gives for the distance.
/// A candidate without one of the two for some peer is left out. The peers themselves are candidates: the way to
/// themselves counts as nothing.
pub fn rank(
    tests: &[MeshTest],
    report: &Report,
    places: &Places,
    prices: &Prices,
    peers: &[Place],
    minimise: Minimise,
) -> Vec<Candidate> {
    let measured = measured(tests);
    let fit = report.groups.first().and_then(|group| group.rtt);
    let names: BTreeSet<PlaceName> = measured
        .keys()
        .flat_map(|(from, to)| [from.clone(), to.clone()])
        .collect();
    let tested = |name: &PlaceName| {
        places
            .get(name)
            .cloned()
            .unwrap_or_else(|| Place::own(name.clone(), None))
    };
    let rtt_to = |from: &Place, to: &Place| -> Option<(f64, bool)> {
        if from.name == to.name {
            return Some((0.0, true));
        }
        let both = [(&from.name, &to.name), (&to.name, &from.name)];
        let values: Vec<f64> = both
            .iter()
            .filter_map(|(from, to)| measured.get(&((*from).clone(), (*to).clone())))
            .flatten()
            .copied()
            .collect();
        if !values.is_empty() {
            return Some((median(values), true));
        }
        let (fit, metres) = (fit?, from.distance_m(to)?);
        let fitted = (fit.intercept + fit.slope * metres / 1e6) * 1e6;
        let floor = crate::distance::fibre_floor_ns(metres) as f64;
        Some((fitted.max(floor), false))
    };
    let mut candidates: Vec<Candidate> = names
        .iter()
        .map(tested)
        .filter_map(|place| {
            let rtts: Vec<(f64, bool)> = peers
                .iter()
                .map(|peer| rtt_to(&place, peer))
                .collect::<Option<_>>()?;
            Some(Candidate {
                place: place.name.to_string(),
                max_rtt_ns: rtts.iter().map(|(rtt, _)| *rtt).fold(0.0, f64::max),
                mean_rtt_ns: rtts.iter().map(|(rtt, _)| rtt).sum::<f64>() / peers.len().max(1) as f64,
                egress_usd: egress(&place, peers, prices),
                measured: rtts.iter().filter(|(_, measured)| *measured).count(),
            })
        })
        .filter(|candidate| minimise != Minimise::Egress || candidate.egress_usd.is_some())
        .collect();
    let cost = |candidate: &Candidate| match minimise {
        Minimise::MaxRtt => candidate.max_rtt_ns,
        Minimise::MeanRtt => candidate.mean_rtt_ns,
        Minimise::Egress => candidate.egress_usd.unwrap_or(f64::MAX),
    };
    candidates.sort_by(|one, other| {
        cost(one)
            .total_cmp(&cost(other))
            .then(one.mean_rtt_ns.total_cmp(&other.mean_rtt_ns))
            .then(one.place.cmp(&other.place))
    });
    candidates
}

fn egress(from: &Place, peers: &[Place], prices: &Prices) -> Option<f64> {
    peers
        .iter()
        .map(|peer| match from.name == peer.name {
            true => Some(0.0),
            false => prices.egress(from, peer).map(|price| price.usd),
        })
        .sum()
}

/// RTTs by pair, nanoseconds.
fn measured(tests: &[MeshTest]) -> BTreeMap<(PlaceName, PlaceName), Vec<f64>> {
    let mut found: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for test in tests {
        if let (None, Some(rtt)) = (&test.reason, rtt_ns(test)) {
            let from = PlaceName::new(&test.from.cloud, &test.from.region);
            let to = PlaceName::new(&test.to.cloud, &test.to.region);
            found.entry((from, to)).or_default().push(rtt as f64);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_record::MeshEnd;

    fn test(from: &str, to: &str, rtt_ms: u64) -> MeshTest {
        let end = |name: &str| {
            let name = PlaceName::parse(name).unwrap();
            MeshEnd {
                cloud: name.cloud,
                region: name.region,
                ..MeshEnd::default()
            }
        };
        MeshTest {
            from: end(from),
            to: end(to),
            rtt_mean_ns: Some(rtt_ms * 1_000_000),
            ..MeshTest::default()
        }
    }

    #[test]
    fn the_best_place_depends_on_what_is_minimised() {
        // From a: 10 and 100 ms; from b: 60 and 60 ms; a has the lower mean, b the lower maximum.
        let tests = [
            test("aws:eu-west-1", "gcp:us-east4", 10),
            test("aws:eu-west-1", "gcp:us-west1", 100),
            test("oracle:us-ashburn-1", "gcp:us-east4", 60),
            test("gcp:us-west1", "oracle:us-ashburn-1", 60),
            test("gcp:us-west1", "gcp:us-east4", 300),
        ];
        let report = crate::report::report(&tests);
        let (places, prices) = (Places::known(), Prices::known().unwrap());
        let peers = ["gcp:us-east4", "gcp:us-west1"].map(|name| places.find(name).unwrap().clone());
        let best = |minimise| rank(&tests, &report, places, &prices, &peers, minimise)[0].clone();
        assert_eq!(best(Minimise::MaxRtt).place, "oracle:us-ashburn-1");
        assert_eq!(best(Minimise::MaxRtt).max_rtt_ns, 60e6);
        let mean = best(Minimise::MeanRtt);
        assert_eq!(
            (mean.place.as_str(), mean.mean_rtt_ns, mean.measured),
            ("aws:eu-west-1", 55e6, 2)
        );
        let cheapest = best(Minimise::Egress);
        assert_eq!(
            (cheapest.place.as_str(), cheapest.egress_usd),
            ("oracle:us-ashburn-1", Some(0.017))
        );
    }

    /// Every candidate by plain loops: RTTs of a table, whichever direction was measured; prices of the table asked one
    /// by one.
    #[test]
    fn the_ranking_is_that_of_trying_every_place() {
        let (places, prices) = (Places::known(), Prices::known().unwrap());
        let names = [
            "aws:us-east-1",
            "aws:eu-west-1",
            "gcp:us-central1",
            "gcp:asia-northeast1",
            "azure:westeurope",
            "azure:brazilsouth",
            "oracle:us-ashburn-1",
        ];
        let mut seed = 7u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 33
        };
        for round in 0..20 {
            // Each pair is measured once, in a random direction.
            let (mut rtts, mut tests) = (BTreeMap::new(), Vec::new());
            for (at, one) in names.iter().enumerate() {
                for other in &names[at + 1..] {
                    let rtt = 1 + next() % 300;
                    rtts.insert((*one, *other), rtt);
                    rtts.insert((*other, *one), rtt);
                    let (from, to) = if next() % 2 == 0 {
                        (one, other)
                    } else {
                        (other, one)
                    };
                    tests.push(test(from, to, rtt));
                }
            }
            let report = crate::report::report(&tests);
            let wanted = [names[round % 7], names[(round + 3) % 7], names[(round + 5) % 7]];
            let peers = wanted.map(|name| places.find(name).unwrap().clone());
            for minimise in [Minimise::MaxRtt, Minimise::MeanRtt, Minimise::Egress] {
                let cost = |name: &str| -> f64 {
                    let each = wanted
                        .iter()
                        .filter(|peer| **peer != name)
                        .map(|peer| match minimise {
                            Minimise::Egress => {
                                let (from, to) = (places.find(name).unwrap(), places.find(peer).unwrap());
                                prices.egress(from, to).unwrap().usd
                            }
                            _ => rtts[&(name, *peer)] as f64 * 1e6,
                        });
                    match minimise {
                        Minimise::MaxRtt => each.fold(0.0, f64::max),
                        Minimise::MeanRtt => each.sum::<f64>() / 3.0,
                        Minimise::Egress => each.sum(),
                    }
                };
                let least = names.iter().map(|name| cost(name)).fold(f64::MAX, f64::min);
                let ranked = rank(&tests, &report, places, &prices, &peers, minimise);
                assert_eq!(ranked.len(), names.len());
                assert_eq!(
                    cost(&ranked[0].place),
                    least,
                    "{minimise:?} of {wanted:?}: {ranked:?}"
                );
                let costs: Vec<f64> = ranked.iter().map(|candidate| cost(&candidate.place)).collect();
                assert!(costs.is_sorted(), "{minimise:?} of {wanted:?}: {costs:?}");
                for candidate in &ranked {
                    let told = match minimise {
                        Minimise::MaxRtt => candidate.max_rtt_ns,
                        Minimise::MeanRtt => candidate.mean_rtt_ns,
                        Minimise::Egress => candidate.egress_usd.unwrap(),
                    };
                    assert!(
                        (told - cost(&candidate.place)).abs() < 1e-6 * (1.0 + told),
                        "{candidate:?}"
                    );
                }
            }
        }
    }
}
