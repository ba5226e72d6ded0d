//! What a plan takes, before anything happens: time, bytes and money. Pure; it knows what a test may send, not how it
//! is made.

use serde::{Deserialize, Serialize};

use crate::MeshError;
use crate::instances::Read;
use crate::price::{Price, Prices, What};
use crate::rounds::{Pair, fewest_rounds, rounds};
use crate::select::Node;
use weir_units::Rate;

/// What one test does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestShape {
    /// How long RTTs are measured, nanoseconds.
    pub rtt_ns: u64,
    /// How long each of the two TCP tests takes, nanoseconds; 0 leaves them out.
    pub tcp_ns: u64,
    /// Connections side by side in the second of them; fewer than two leave it out.
    pub streams: u16,
    /// How long the UDP test takes, nanoseconds; 0 leaves it out.
    pub udp_ns: u64,
    /// Its rate, bits per second.
    pub udp_bps: u64,
    /// Bytes that all of it may send.
    pub max_bytes: u64,
    /// Whether the whole survey of the pair follows, which may send as much again.
    #[serde(default)]
    pub survey: bool,
    /// Window of each TCP connection, bytes; none where the kernels choose it.
    #[serde(default)]
    pub window_bytes: Option<u64>,
}

/// Time that a test takes besides what it measures: connections over SSH, sessions, answers.
const SETUP_NS: u64 = 4_000_000_000;
/// Time to copy the program to all hosts and start it, and to clean up.
const AROUND_NS: u64 = 60_000_000_000;
/// Time of each step of a pair's survey, nanoseconds.
pub const SURVEY_STEP_NS: u64 = 1_000_000_000;
/// Most flows of a pair's survey.
pub const SURVEY_FLOWS: u16 = 8;
/// Time that such a survey takes, nanoseconds: path MTU, RTT sweep, eight TCP steps and twelve flow steps.
const SURVEY_NS: u64 = 50_000_000_000;
/// Steps of it that send as fast as TCP can, and those that send at the media rate.
const SURVEY_TCP_STEPS: u64 = 8;
const SURVEY_FLOW_STEPS: u64 = 12;
/// Bytes of RTT packets in a second, both ways, at most.
const RTT_BYTES_A_SECOND: u64 = 20_000;

impl TestShape {
    /// How long a test takes, nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        let tcp_tests = if self.streams > 1 { 2 } else { 1 };
        let survey = if self.survey { SURVEY_NS } else { 0 };
        [SETUP_NS, self.rtt_ns, self.udp_ns, survey]
            .into_iter()
            .fold(self.tcp_ns.saturating_mul(tcp_tests), u64::saturating_add)
    }

    /// Bytes that a test and its survey may send.
    pub fn most_bytes(&self) -> u64 {
        self.max_bytes.saturating_mul(if self.survey { 2 } else { 1 })
    }

    /// Bytes that a test sends at most, on a path that carries `bps`.
    pub fn bytes(&self, bps: u64) -> u64 {
        let over = |bps: u64, ns: u64| {
            u64::try_from(u128::from(bps) * u128::from(ns) / 8_000_000_000).unwrap_or(u64::MAX)
        };
        let tcp_tests = if self.streams > 1 { 2 } else { 1 };
        let tcp = over(bps, self.tcp_ns).saturating_mul(tcp_tests);
        let udp = over(self.udp_bps, self.udp_ns);
        let rtt = over(RTT_BYTES_A_SECOND * 8, self.rtt_ns);
        let test = tcp.saturating_add(udp).saturating_add(rtt).min(self.max_bytes);
        if !self.survey {
            return test;
        }
        let survey = over(bps, SURVEY_STEP_NS)
            .saturating_mul(SURVEY_TCP_STEPS)
            .saturating_add(over(self.udp_bps, SURVEY_STEP_NS).saturating_mul(SURVEY_FLOW_STEPS));
        test.saturating_add(survey.min(self.max_bytes))
    }
}

/// A part of a test that `max_bytes` ends early.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cut {
    /// The part: `udp`, `tcp`, `tcp-streams` or `survey`.
    pub part: &'static str,
    /// How long it is meant to take, nanoseconds.
    pub wanted_ns: u64,
    /// How long it takes at the expected rate, nanoseconds; 0 leaves it out.
    pub left_ns: u64,
}

impl TestShape {
    /// The parts that the bytes of a test cut short on paths that carry `bps`, in the order in which a test makes them: UDP first,
    /// then one connection with half of what is left, then several with the rest.
    pub fn cuts(&self, bps: u64) -> Vec<Cut> {
        let over = |bps: u64, ns: u64| Rate(bps).bytes_in(ns);
        let mut cuts = Vec::new();
        let mut left = self
            .max_bytes
            .saturating_sub(over(RTT_BYTES_A_SECOND * 8, self.rtt_ns));
        let mut part = |part, wanted_ns, bps: u64, most: u64| {
            let bytes = over(bps, wanted_ns);
            if bytes > most {
                let left_ns = u128::from(most) * 8_000_000_000 / u128::from(bps.max(1));
                let left_ns = u64::try_from(left_ns).unwrap_or(u64::MAX);
                cuts.push(Cut {
                    part,
                    wanted_ns,
                    left_ns,
                });
            }
            bytes.min(most)
        };
        left -= part("udp", self.udp_ns, self.udp_bps, left);
        if self.streams > 1 {
            left -= part("tcp", self.tcp_ns, bps, left / 2);
            part("tcp-streams", self.tcp_ns, bps, left);
        } else {
            part("tcp", self.tcp_ns, bps, left);
        }
        if self.survey {
            let flows_ns = SURVEY_STEP_NS * SURVEY_FLOW_STEPS;
            let tcp = over(bps, SURVEY_STEP_NS * SURVEY_TCP_STEPS);
            part(
                "survey",
                flows_ns,
                self.udp_bps,
                self.max_bytes.saturating_sub(tcp),
            );
        }
        cuts
    }
}

/// Limits that the user has set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// US dollars.
    pub max_usd: Option<f64>,
    /// Bytes.
    pub max_bytes: Option<u64>,
}

/// What a plan takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Hosts that take part.
    pub hosts: usize,
    /// Tests.
    pub tests: usize,
    /// Rounds of disjoint tests.
    pub rounds: usize,
    /// No schedule has fewer.
    pub fewest_rounds: usize,
    /// Time, nanoseconds.
    pub duration_ns: u64,
    /// Bytes that are sent at most.
    pub bytes: u64,
    /// What sending them costs, US dollars, as far as prices are known.
    pub egress_usd: f64,
    /// What the hosts cost for that time, US dollars, as far as prices are known and if they are launched for it.
    pub hosts_usd: f64,
    /// Tests whose egress has no known price.
    pub unpriced_tests: usize,
    /// Prices that were used and that nobody read at the provider's own pages.
    pub unchecked_prices: usize,
    /// The oldest month of the prices that were used; empty if none was.
    pub oldest_price: String,
    /// Parts of each test that its maximum of bytes ends early at the expected rate.
    pub cut: Vec<Cut>,
}

/// A plan: tests, their order, and their duration, traffic and cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Pairs, in the order of their worth.
    pub pairs: Vec<Pair>,
    /// Rounds: indices into `pairs`.
    pub rounds: Vec<Vec<usize>>,
    /// What a gigabyte of each pair costs, US dollars; none where it is not known.
    pub usd_per_gb: Vec<Option<f64>>,
    /// Duration, traffic and cost.
    pub estimate: Estimate,
}

/// Makes the plan of these pairs, on paths that are expected to carry `expected_bps`.
pub fn plan(nodes: &[Node], pairs: Vec<Pair>, shape: &TestShape, expected_bps: u64, prices: &Prices) -> Plan {
    let rounds = rounds(&pairs);
    let bytes = shape.bytes(expected_bps);
    let tests_ns = shape.duration_ns().saturating_mul(rounds.len() as u64);
    let duration_ns = tests_ns.saturating_add(AROUND_NS);
    let mut used: Vec<&Price> = Vec::new();
    let usd_per_gb: Vec<Option<f64>> = pairs
        .iter()
        .map(|(from, to)| {
            let price = prices.egress(&nodes[*from].place, &nodes[*to].place)?;
            used.push(price);
            Some(price.usd)
        })
        .collect();
    let taking_part: std::collections::BTreeSet<usize> =
        pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let hours = duration_ns as f64 / 3.6e12;
    let hosts_usd = taking_part
        .iter()
        .filter_map(|node| prices.of(&nodes[*node].place, What::VmHour))
        .map(|price| {
            used.push(price);
            price.usd * hours
        })
        .sum();
    let unchecked: std::collections::BTreeSet<(&str, u64)> = used
        .iter()
        .filter(|price| price.read() != Read::Provider)
        .map(|price| (price.source.as_str(), price.usd.to_bits()))
        .collect();
    let estimate = Estimate {
        hosts: taking_part.len(),
        tests: pairs.len(),
        rounds: rounds.len(),
        fewest_rounds: fewest_rounds(&pairs),
        duration_ns,
        bytes: bytes.saturating_mul(pairs.len() as u64),
        egress_usd: usd_per_gb
            .iter()
            .flatten()
            .map(|usd| usd * bytes as f64 / 1e9)
            .sum(),
        hosts_usd,
        unpriced_tests: usd_per_gb.iter().filter(|usd| usd.is_none()).count(),
        unchecked_prices: unchecked.len(),
        oldest_price: used
            .iter()
            .map(|price| price.date.as_str())
            .filter(|date| !date.is_empty())
            .min()
            .unwrap_or("")
            .to_owned(),
        cut: shape.cuts(expected_bps),
    };
    Plan {
        pairs,
        rounds,
        usd_per_gb,
        estimate,
    }
}

impl Estimate {
    /// Traffic and its cost of so many runs of the plan.
    pub fn repeat(&mut self, times: u64) {
        self.bytes = self.bytes.saturating_mul(times);
        self.egress_usd *= times as f64;
    }

    /// Checks the plan against the user's limits.
    ///
    /// # Errors
    /// When it would pass one of them.
    pub fn check(&self, limits: &Limits) -> Result<(), MeshError> {
        const ADVICE: &str =
            "raise the limit, or test fewer pairs (--max-tests) or fewer bytes (--max-bytes)";
        let usd = self.egress_usd + self.hosts_usd;
        if let Some(most) = limits.max_usd.filter(|most| usd > *most) {
            return Err(MeshError::OverLimit {
                what: format!("cost about {usd:.2} USD"),
                limit: format!("--max-usd {most}"),
                advice: ADVICE,
            });
        }
        if let Some(most) = limits.max_bytes.filter(|most| self.bytes > *most) {
            return Err(MeshError::OverLimit {
                what: format!("send up to {:.3} GB", self.bytes as f64 / 1e9),
                limit: format!("--max-gb {}", most as f64 / 1e9),
                advice: ADVICE,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Places;

    const SHAPE: TestShape = TestShape {
        rtt_ns: 2_000_000_000,
        tcp_ns: 5_000_000_000,
        streams: 8,
        udp_ns: 2_000_000_000,
        udp_bps: 20_000_000,
        max_bytes: 300_000_000,
        survey: false,
        window_bytes: None,
    };

    fn node(name: &str) -> Node {
        Node {
            name: name.to_owned(),
            place: Places::known().find(name).unwrap().clone(),
            zone: String::new(),
            network: String::new(),
        }
    }

    #[test]
    fn a_test_takes_what_its_parts_take_and_no_more_bytes_than_it_may() {
        assert_eq!(SHAPE.duration_ns(), 18_000_000_000);
        // 2 * 10 Mbit/s * 5 s / 8 + 20 Mbit/s * 2 s / 8 + 2 s * 20 kB/s.
        assert_eq!(SHAPE.bytes(10_000_000), 12_500_000 + 5_000_000 + 40_000);
        assert_eq!(SHAPE.bytes(u64::MAX), 300_000_000);
        let surveyed = TestShape {
            survey: true,
            ..SHAPE
        };
        assert_eq!(surveyed.duration_ns(), 68_000_000_000);
        // The same, and 8 * 10 Mbit/s * 1 s / 8 + 12 * 20 Mbit/s * 1 s / 8.
        assert_eq!(surveyed.bytes(10_000_000), 17_540_000 + 10_000_000 + 30_000_000);
        assert_eq!(
            (surveyed.bytes(u64::MAX), surveyed.most_bytes()),
            (600_000_000, 600_000_000)
        );
    }

    #[test]
    fn what_the_bytes_of_a_test_cut_short_is_named_with_its_time() {
        let named = |shape: &TestShape, bps| -> Vec<(&'static str, u64)> {
            let cuts = shape.cuts(bps).into_iter();
            cuts.map(|cut| (cut.part, cut.left_ns / 1_000_000)).collect()
        };
        // 12.54 MB of 300 MB.
        assert_eq!(named(&SHAPE, 10_000_000), []);
        // 300 MB less 40 kB less 5 MB; half of it at 1 Gbit/s, and the other half.
        assert_eq!(
            named(&SHAPE, 1_000_000_000),
            [("tcp", 1_179), ("tcp-streams", 1_179)]
        );
        let single = TestShape { streams: 1, ..SHAPE };
        assert_eq!(named(&single, 1_000_000_000), [("tcp", 2_359)]);
        // 2.5 Gbit/s of UDP for two seconds are 625 MB.
        let fast = TestShape {
            udp_bps: 2_500_000_000,
            survey: true,
            ..SHAPE
        };
        let cut = named(&fast, 1_000_000_000);
        assert_eq!(cut, [("udp", 959), ("tcp", 0), ("tcp-streams", 0), ("survey", 0)]);
    }

    #[test]
    fn money_is_bytes_and_hours_times_prices() {
        let nodes = ["aws:eu-west-1", "gcp:europe-west1"].map(node);
        let prices = Prices::known().unwrap();
        let plan = plan(&nodes, vec![(0, 1), (1, 0)], &SHAPE, u64::MAX, &prices);
        let estimate = &plan.estimate;
        assert_eq!((estimate.hosts, estimate.tests, estimate.rounds), (2, 2, 2));
        assert_eq!(estimate.bytes, 600_000_000);
        // 0.3 GB at 0.09 and at 0.12.
        assert!((estimate.egress_usd - 0.063).abs() < 1e-9, "{estimate:?}");
        let hours = (60.0 + 2.0 * 18.0) / 3600.0;
        assert!((estimate.hosts_usd - hours * (0.085 + 0.067)).abs() < 1e-9);
        let over = |max_usd, max_bytes| {
            estimate
                .check(&Limits { max_usd, max_bytes })
                .unwrap_err()
                .to_string()
        };
        assert!(over(Some(0.05), None).contains("--max-usd 0.05"));
        assert!(over(None, Some(1_000_000)).contains("up to 0.600 GB"));
        assert_eq!(
            estimate.check(&Limits {
                max_usd: Some(0.07),
                max_bytes: Some(600_000_000)
            }),
            Ok(())
        );
    }
}
