//! IPv4 beside IPv6, where the far host answers over both: which of them carries the same payloads worse.

use weir_measure::path_mtu::MtuSummary;
use weir_measure::survey::IpVersion;
use weir_results::RunId;
use weir_stats::{mann_whitney, median};
use weir_units::format_percent;

use super::severity_of_loss;
use crate::analysis::{CHANCE, Step};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::{Family, Measured, RttTest};
use crate::words::{loss, rows_of_runs, time};

/// Loss of the worse family is at least this multiple of the other's, this much more, and this many packets.
const TIMES: f64 = 2.0;
const MORE_LOSS: f64 = 1e-4;
const LEAST_LOST: u64 = 20;
/// RTT of the worse family is longer by at least this share, and by so much.
const LONGER: f64 = 0.1;
const LEAST_NS: f64 = 100_000.0;
/// What IPv6 headers are longer by than IPv4's: the payload of one MTU differs by as much.
const LONGER_HEADERS: u32 = 20;

/// Both families, each with what is compared.
struct Sides<'m> {
    families: [&'m Family; 2],
    steps: [Option<Step<'m>>; 2],
    rtts: [Vec<f64>; 2],
}

/// A way in which one family is worse.
struct Worse {
    /// Index of the worse.
    which: usize,
    brief: String,
    severity: Severity,
    p_value: Option<f64>,
}

/// The finding, where both families were compared.
pub(crate) fn find(measured: &Measured) -> Option<Finding> {
    let [first, second] = measured.families.as_slice() else {
        return None;
    };
    let families = [first, second];
    let sides = Sides {
        steps: families.map(|family| family.flows.as_ref().map(Step::new)),
        rtts: families.map(|family| family.rtt.as_ref().map_or_else(Vec::new, RttTest::idle_rtts_ns)),
        families,
    };
    let worse: Vec<Worse> = [sides.of_loss(), sides.of_rtt(), sides.of_payload()]
        .into_iter()
        .flatten()
        .collect();
    Some(describe(&sides, &worse))
}

/// The longest payload that the path MTU allows, bytes.
fn longest_payload(family: &Family) -> Option<u32> {
    let smallest = family.mtu.as_ref().and_then(MtuSummary::smallest)?;
    Some(smallest.saturating_sub(family.version.header_bytes()))
}

impl Sides<'_> {
    fn name(&self, which: usize) -> &'static str {
        self.families[which].version.as_str()
    }

    /// Flows are what is compared: each has a route and a loss of its own.
    fn of_loss(&self) -> Option<Worse> {
        let [Some(first), Some(second)] = &self.steps else {
            return None;
        };
        let steps = [first, second];
        if steps.iter().any(|step| step.is_limited_by_host()) {
            return None;
        }
        let losses = steps.map(Step::network_loss);
        let which = usize::from(losses[1].rate() > losses[0].rate());
        let (worse, better) = (losses[which], losses[1 - which]);
        let clearly = worse.events >= LEAST_LOST
            && worse.rate() >= TIMES * better.rate()
            && worse.rate() >= better.rate() + MORE_LOSS;
        let of_flows = steps.map(|step| {
            step.flow_loss
                .iter()
                .map(|flow| flow.rate())
                .collect::<Vec<f64>>()
        });
        let test = mann_whitney(&of_flows[0], &of_flows[1])?;
        // One flow of each has no rank, and its packets have to do.
        let p_value = (of_flows[0].len() > 1).then_some(test.p_value);
        (clearly && p_value.is_none_or(|p_value| p_value < CHANCE)).then(|| Worse {
            which,
            brief: format!(
                "{} loses {}, {} {}",
                self.name(which),
                format_percent(worse.rate()),
                self.name(1 - which),
                format_percent(better.rate())
            ),
            severity: severity_of_loss(worse.rate()),
            p_value,
        })
    }

    fn of_rtt(&self) -> Option<Worse> {
        let test = mann_whitney(&self.rtts[0], &self.rtts[1])?;
        let which = usize::from(test.shift > 0.0);
        let medians = [0, 1].map(|side| median(self.rtts[side].clone()));
        let longer = medians[which] - medians[1 - which];
        let clearly = longer >= LEAST_NS.max(LONGER * medians[1 - which]) && test.p_value < CHANCE;
        clearly.then(|| Worse {
            which,
            brief: format!(
                "the RTT over {} is {} longer ({} against {})",
                self.name(which),
                time(longer),
                time(medians[which]),
                time(medians[1 - which])
            ),
            severity: Severity::Notice,
            p_value: Some(test.p_value),
        })
    }

    fn of_payload(&self) -> Option<Worse> {
        let [Some(first), Some(second)] = self.families.map(longest_payload) else {
            return None;
        };
        let which = usize::from(second < first);
        let (short, long) = (first.min(second), first.max(second));
        (long - short > LONGER_HEADERS).then(|| Worse {
            which,
            brief: format!(
                "the path MTU allows payloads of {short} bytes over {}, {long} over {}",
                self.name(which),
                self.name(1 - which)
            ),
            severity: Severity::Notice,
            p_value: None,
        })
    }
}

fn describe(sides: &Sides, worse: &[Worse]) -> Finding {
    let payload = sides.steps.iter().flatten().map(|step| step.test.payload).max();
    let same = payload.map_or(String::new(), |payload| {
        format!(" The same payloads of {payload} bytes were sent over both.")
    });
    let brief = if worse.is_empty() {
        "IPv4 and IPv6 perform alike".to_owned()
    } else {
        let ways: Vec<&str> = worse.iter().map(|one| one.brief.as_str()).collect();
        ways.join("; ")
    };
    let p_value = worse.iter().filter_map(|one| one.p_value).reduce(f64::max);
    let test = "loss of single flows and RTTs over IPv4 against IPv6 (Mann-Whitney)";
    Finding {
        name: FindingName::AddressFamilies,
        severity: worse
            .iter()
            .map(|one| one.severity)
            .max()
            .unwrap_or(Severity::Information),
        direction: None,
        sentence: format!("{brief}.{same}"),
        brief,
        evidence: evidence(sides),
        query: query(sides),
        confidence: match p_value {
            Some(p_value) => Confidence::by_test(test, p_value),
            None => Confidence::by_count(test, 1.0 - CHANCE),
        },
        action: action(sides, worse),
    }
}

/// Loss decides before delay, delay before the payload.
fn action(sides: &Sides, worse: &[Worse]) -> String {
    let Some(first) = worse.first() else {
        return "Use either; IPv4 has the shorter headers.".to_owned();
    };
    let better = sides.name(1 - first.which);
    let option = match sides.families[1 - first.which].version {
        IpVersion::Ipv4 => "-4",
        IpVersion::Ipv6 => "-6",
    };
    let differs = worse.iter().any(|one| one.which != first.which);
    let though = if differs {
        ", though it is worse in other respects"
    } else {
        ""
    };
    format!("Use {better}{though}: give its address, or {option}.")
}

fn evidence(sides: &Sides) -> Vec<Evidence> {
    let names = sides.families.map(|family| family.version.as_str());
    let median_rtt = |rtts: &Vec<f64>| (!rtts.is_empty()).then(|| median(rtts.clone()).round());
    let rtts: Vec<Option<f64>> = sides.rtts.iter().map(median_rtt).collect();
    let steps = || sides.steps.iter().flatten();
    let lost: Vec<u64> = steps().map(|step| step.test.lost).collect();
    let losses: Vec<String> = steps().map(|step| loss(step.network_loss())).collect();
    vec![
        Evidence::of("IP version", names.to_vec()),
        Evidence::in_unit("median RTT", rtts, "ns"),
        Evidence::of("packets lost", lost),
        Evidence::of("loss", losses),
        Evidence::in_unit(
            "longest payload of the path MTU",
            sides.families.map(longest_payload).to_vec(),
            "bytes",
        ),
    ]
}

fn query(sides: &Sides) -> String {
    let tests = || sides.steps.iter().flatten().map(|step| step.test);
    let runs: Vec<RunId> = tests().map(|test| test.run).collect();
    if let Some(test) = tests().next() {
        return format!(
            "SELECT run_id, sum(lost) AS \"packets lost\" FROM flow_seconds\nWHERE {} GROUP BY run_id ORDER BY run_id",
            rows_of_runs(&runs, test.direction)
        );
    }
    let runs = sides.families.iter().filter_map(|family| family.rtt.as_ref());
    let runs: Vec<String> = runs.map(|test| test.run.to_string()).collect();
    format!(
        "SELECT run_id, count(*) AS \"packets sent\" FROM rtt_packets\nWHERE run_id IN ({}) GROUP BY run_id ORDER BY run_id",
        runs.join(", ")
    )
}
