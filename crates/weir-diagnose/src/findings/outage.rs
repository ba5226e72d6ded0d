//! Flows that delivered nothing for a while although packets were sent on them: one flow, several, or all.

use weir_results::{FlowBurst, Silence};
use weir_stats::loss_interval;
use weir_units::{format_count, format_duration};

use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::{FlowTest, Measured};
use crate::words::{flows_with_ports, list, rows_of, way};

/// Consecutive losses that take less time are bursts, not outages.
const LEAST_NS: u64 = 30_000_000;
/// So many packets have to be missing: on a slow flow a few make a long time.
const LEAST_PACKETS: u64 = 20;
/// Two outages are one if they share this much of the shorter one's time.
const SHARED: f64 = 0.5;
/// A run of losses this likely by chance is no outage.
const CHANCE: f64 = 1e-3;

/// A time in which a flow lost every packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DarkFlow {
    /// The flow.
    pub flow: u16,
    /// Last packet before it, Unix nanoseconds; estimated where the flow's silence was too short to be noted.
    pub from_unix_ns: u64,
    /// How long, nanoseconds.
    pub duration_ns: u64,
    /// When the loss was noticed, Unix nanoseconds.
    pub noticed_unix_ns: u64,
    /// Flow sequence of the first lost packet.
    pub first_sequence: u64,
    /// Packets lost.
    pub lost: u64,
    /// Probability of such a run of losses by the loss of the rest of the flow.
    chance: f64,
}

/// Flows that were dark at the same time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outage {
    /// Ascending.
    pub flows: Vec<u16>,
    /// One for each flow.
    pub parts: Vec<DarkFlow>,
}

/// All findings of this name.
pub(crate) fn find(measured: &Measured) -> Vec<Finding> {
    let tests = measured.flow_tests.iter();
    tests
        .flat_map(|test| outages(test).into_iter().map(|outage| describe(test, &outage)))
        .collect()
}

/// Outages of a test, in order of time.
pub(crate) fn outages(test: &FlowTest) -> Vec<Outage> {
    let mut dark: Vec<DarkFlow> = (0..test.flows.len())
        .flat_map(|flow| dark_times(test, flow as u16))
        .collect();
    dark.sort_by_key(|part| (part.from_unix_ns, part.flow));
    let mut outages: Vec<Outage> = Vec::new();
    for part in dark {
        let together = outages.iter_mut().find(|outage| {
            !outage.flows.contains(&part.flow) && outage.parts.iter().any(|other| overlap(other, &part))
        });
        match together {
            Some(outage) => outage.parts.push(part),
            None => outages.push(Outage {
                flows: Vec::new(),
                parts: vec![part],
            }),
        }
        // The one just added to is among the few at the end, but the list is short either way.
        for outage in &mut outages {
            outage.parts.sort_by_key(|part| part.flow);
            outage.flows = outage.parts.iter().map(|part| part.flow).collect();
        }
    }
    outages
}

fn overlap(a: &DarkFlow, b: &DarkFlow) -> bool {
    let end = |part: &DarkFlow| part.from_unix_ns + part.duration_ns;
    let shared = end(a)
        .min(end(b))
        .saturating_sub(a.from_unix_ns.max(b.from_unix_ns));
    shared as f64 >= SHARED * a.duration_ns.min(b.duration_ns) as f64
}

fn dark_times(test: &FlowTest, flow: u16) -> Vec<DarkFlow> {
    let Some(counts) = test.flows.get(usize::from(flow)) else {
        return Vec::new();
    };
    if counts.sent == 0 {
        return Vec::new();
    }
    let gap_ns = test.active_ns as f64 / counts.sent as f64;
    let long = |burst: &&FlowBurst| {
        burst.flow == flow && burst.length >= LEAST_PACKETS && burst.length as f64 * gap_ns >= LEAST_NS as f64
    };
    let bursts: Vec<&FlowBurst> = test.flow_bursts.iter().filter(long).collect();
    let dark_lost: u64 = bursts.iter().map(|burst| burst.length).sum();
    let others = (
        counts.lost.saturating_sub(dark_lost),
        counts.sent.saturating_sub(dark_lost),
    );
    let (_, likely_loss) = loss_interval(others.0, others.1.max(1));
    bursts
        .into_iter()
        .map(|burst| dark_time(test, burst, gap_ns, likely_loss, counts.sent))
        .filter(|part| part.chance < CHANCE)
        .collect()
}

fn dark_time(test: &FlowTest, burst: &FlowBurst, gap_ns: f64, loss: f64, sent: u64) -> DarkFlow {
    let lost_ns = (burst.length as f64 * gap_ns) as u64;
    // The flow's next packet came at most the reordering time before the gap was given up.
    let ended = burst.unix_ns.saturating_sub(test.plan.reorder_ns);
    let estimate = (ended.saturating_sub(lost_ns), lost_ns);
    let fits = |silence: &&Silence| {
        silence.flow == burst.flow
            && silence.unix_ns <= burst.unix_ns
            && silence.unix_ns + silence.duration_ns + lost_ns / 2 >= estimate.0
            && silence.duration_ns >= lost_ns / 2
    };
    let seen = test.silences.iter().filter(fits).next_back();
    let (from_unix_ns, duration_ns) = seen.map_or(estimate, |silence| (silence.unix_ns, silence.duration_ns));
    DarkFlow {
        flow: burst.flow,
        from_unix_ns,
        duration_ns,
        noticed_unix_ns: burst.unix_ns,
        first_sequence: burst.first_sequence,
        lost: burst.length,
        chance: (sent as f64 * (burst.length as f64 * loss.ln()).exp()).min(1.0),
    }
}

fn describe(test: &FlowTest, outage: &Outage) -> Finding {
    let longest = outage
        .parts
        .iter()
        .map(|part| part.duration_ns)
        .max()
        .unwrap_or(0);
    let start = outage
        .parts
        .iter()
        .map(|part| part.from_unix_ns)
        .min()
        .unwrap_or(0);
    let since = start.saturating_sub(test.started_unix_ns);
    let lost: u64 = outage.parts.iter().map(|part| part.lost).sum();
    let (who, meaning, action) = meaning(test, outage);
    let chance = outage.parts.iter().map(|part| part.chance).fold(0.0, f64::max);
    Finding {
        name: FindingName::Outage,
        severity: Severity::Fault,
        direction: Some(test.direction),
        sentence: format!(
            "{who} delivered nothing{} for {}, from {} into the test: {} packets lost. {meaning}",
            way(test.direction),
            format_duration(longest),
            format_duration(since),
            format_count(lost),
        ),
        evidence: evidence(test, outage, start, longest),
        query: query(test, outage),
        confidence: Confidence::by_test(
            "probability of a run of losses this long, at the loss rate of the rest of the flow",
            chance,
        ),
        action,
    }
}

fn meaning(test: &FlowTest, outage: &Outage) -> (String, String, String) {
    let all = test.flows.len();
    let share = outage.flows.len() as f64 / all.max(1) as f64 * 100.0;
    if all == 1 {
        let advice = "Split the media into several flows, so that one broken route takes a part of it only.";
        (
            "the only flow".to_owned(),
            "With one flow there is no telling a broken route from a stopped host.".to_owned(),
            advice.to_owned(),
        )
    } else if outage.flows.len() == all {
        (
            format!("all {all} flows"),
            "What all of them share stood still: a host, its link, or the only route that they take.".to_owned(),
            "Look at both hosts first (steal time, live migration, a stalled receiver), then keep a second host or \
             path ready: no FEC bridges this, and ARQ needs a latency longer than the outage."
                .to_owned(),
        )
    } else {
        let who = flows_with_ports(test, &outage.flows);
        let meaning = if outage.flows.len() == 1 {
            format!(
                "The other {} went on: that flow's route broke, until the network's control plane repaired it or moved \
                 the flow.",
                all - 1
            )
        } else {
            format!(
                "The other {} went on: these share a route that broke, until the network's control plane repaired it.",
                all - outage.flows.len()
            )
        };
        let action = format!(
            "Use FEC that replaces {share:.1} % of the packets, or ARQ, which finds the other flows working; with more \
             flows each carries less of the media."
        );
        (who, meaning, action)
    }
}

fn evidence(test: &FlowTest, outage: &Outage, start: u64, longest: u64) -> Vec<Evidence> {
    let lost: Vec<u64> = outage.parts.iter().map(|part| part.lost).collect();
    let kind = match outage.flows.len() {
        count if count == test.flows.len() && count > 1 => "all flows",
        1 => "one flow",
        _ => "several flows",
    };
    vec![
        Evidence::of("dark", kind),
        Evidence::of("flow", outage.flows.clone()),
        Evidence::of("packets lost in a row", lost),
        Evidence::in_unit("began", start, "Unix ns"),
        Evidence::in_unit("lasted", longest, "ns"),
    ]
}

fn query(test: &FlowTest, outage: &Outage) -> String {
    let shortest = outage.parts.iter().map(|part| part.lost).min().unwrap_or(0);
    let first = outage
        .parts
        .iter()
        .map(|part| part.noticed_unix_ns)
        .min()
        .unwrap_or(0);
    let last = outage
        .parts
        .iter()
        .map(|part| part.noticed_unix_ns)
        .max()
        .unwrap_or(0);
    format!(
        "SELECT flow, port, length_packets AS \"packets lost in a row\", unix_ns FROM flow_bursts\n\
         WHERE {} AND flow IN ({}) AND length_packets >= {shortest} AND unix_ns BETWEEN {first} AND {last}\n\
         ORDER BY flow",
        rows_of(test.run, test.direction),
        list(&outage.flows).replace(" and ", ", "),
    )
}
