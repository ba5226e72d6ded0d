//! What held a host back while it measured: an allowance of its instance, a full receive queue, stolen CPU time, one core for
//! all queues.

use weir_results::Direction;
use weir_stats::HostCounts;
use weir_units::{format_count, format_percent};

use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::{HostTotals, Measured, Traits};
use crate::sold::Sold;
use crate::words::{list, way};

/// Packets, as a share of those sent, from which what a host does harms the media.
const HARMFUL: f64 = 1e-5;
/// Share of a core that has to be stolen over a test to be worth a finding.
const STOLEN: f64 = 0.05;

/// The findings, each from the test that shows it most.
pub(crate) fn find(steps: &Steps, measured: &Measured) -> Vec<Finding> {
    let ends = || {
        steps.with_set_aside().flat_map(|step| {
            let receiving = (step, End::new(step, true));
            [receiving, (step, End::new(step, false))]
        })
    };
    let throttled = ends().max_by_key(|(_, end)| end.exceeded().map(|(_, _, count)| count).sum::<u64>());
    let full = ends().max_by_key(|(_, end)| {
        (
            end.host.counts.driver_rx_dropped,
            end.host.counts.driver_rx_ring_empty,
        )
    });
    let stolen = ends().max_by(|one, other| one.1.stolen().total_cmp(&other.1.stolen()));
    let crowded = ends().max_by(|one, other| one.1.softirq().0.total_cmp(&other.1.softirq().0));
    let found = [
        throttled.and_then(|(step, end)| allowance(step, &end, measured)),
        full.and_then(|(step, end)| queue(step, &end)),
        stolen.and_then(|(step, end)| cpu(step, &end)),
        crowded.and_then(|(step, end)| one_core(step, &end, measured)),
    ];
    found.into_iter().flatten().collect()
}

/// One host in a test.
struct End<'a> {
    host: &'a HostTotals,
    receives: bool,
    /// As sentences name it.
    name: &'static str,
    /// As tables name it.
    side: &'static str,
}

impl<'a> End<'a> {
    fn new(step: &Step<'a>, receives: bool) -> Self {
        let test = step.test;
        let local = (test.direction == Direction::Reverse) == receives;
        End {
            host: if receives {
                &test.receiving_host
            } else {
                &test.sending_host
            },
            receives,
            name: if local { "this host" } else { "the agent's host" },
            side: if local { "local" } else { "remote" },
        }
    }

    /// Allowances that were exceeded: in words, the column, packets. Those of the other direction are left out, since this
    /// test has nothing to do with them.
    fn exceeded(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> + use<> {
        let counts = self.host.counts;
        let of_way = if self.receives {
            (
                "inbound bandwidth",
                "bw_in_allowance_exceeded",
                counts.bw_in_allowance_exceeded,
            )
        } else {
            (
                "outbound bandwidth",
                "bw_out_allowance_exceeded",
                counts.bw_out_allowance_exceeded,
            )
        };
        [
            of_way,
            (
                "packets per second",
                "pps_allowance_exceeded",
                counts.pps_allowance_exceeded,
            ),
            (
                "connection tracking",
                "conntrack_allowance_exceeded",
                counts.conntrack_allowance_exceeded,
            ),
            (
                "link-local traffic",
                "linklocal_allowance_exceeded",
                counts.linklocal_allowance_exceeded,
            ),
        ]
        .into_iter()
        .filter(|(.., count)| *count > 0)
    }

    /// Share of a core that was stolen over the test.
    fn stolen(&self) -> f64 {
        self.host.stolen_core_seconds / self.host.seconds.max(1) as f64
    }

    /// Mean of the cores in software interrupts, of all and of the one with most, over the test.
    fn softirq(&self) -> (f64, f64) {
        let seconds = self.host.seconds.max(1) as f64;
        (
            self.host.softirq_core_seconds / seconds,
            self.host.softirq_most_core_seconds / seconds,
        )
    }

    /// What it is.
    fn traits<'m>(&self, measured: &'m Measured) -> &'m Traits {
        if self.side == "local" {
            &measured.local
        } else {
            &measured.remote
        }
    }

    fn rows(&self, step: &Step) -> String {
        format!("run_id = {} AND side = '{}'", step.test.run, self.side)
    }
}

/// Software interrupts of less of a core are no burden.
const BURDEN: f64 = 0.3;
/// A core with more has no room left.
const FULL: f64 = 0.9;
/// Share of the software interrupts that are on one core if one has all of them.
const ON_ONE: f64 = 0.95;
/// Fewer flows may well be in one queue.
const FLOWS: usize = 4;

fn severity(packets: u64, step: &Step) -> Severity {
    if packets as f64 >= HARMFUL * step.test.sent as f64 {
        Severity::Fault
    } else {
        Severity::Notice
    }
}

fn throttled(counts: &HostCounts, receives: bool) -> u64 {
    if receives {
        counts.receive_throttled()
    } else {
        counts.send_throttled()
    }
}

fn allowance(step: &Step, end: &End, measured: &Measured) -> Option<Finding> {
    let exceeded: Vec<_> = end.exceeded().collect();
    if exceeded.is_empty() {
        return None;
    }
    let counts = exceeded
        .iter()
        .map(|(what, _, count)| format!("{what} ({} packets)", format_count(*count)));
    let what = list(&counts.collect::<Vec<_>>());
    let columns = exceeded
        .iter()
        .map(|(what, column, _)| format!("sum({column}) AS \"{what}\""));
    let held = 8e9 * step.test.bytes as f64 / step.test.active_ns.max(1) as f64;
    let sold = Sold::of(measured, step.test.direction, held);
    let most = exceeded
        .iter()
        .max_by_key(|(.., count)| *count)
        .map_or("", |(what, ..)| *what);
    let action = match most {
        "connection tracking" => {
            "Open the ports of the test in the security group for all addresses in both directions, so that connections are \
             not tracked, or choose a larger instance; then measure again."
        }
        "link-local traffic" => {
            "Cache names and metadata on the host: requests to the provider's own services exceeded their allowance."
        }
        _ => {
            "Choose an instance with more network bandwidth and packets per second, or a lower rate; then measure again."
        }
    };
    Some(Finding {
        name: FindingName::AllowanceExceeded,
        severity: severity(throttled(&end.host.counts, end.receives), step),
        direction: Some(step.test.direction),
        brief: format!(
            "an allowance of the instance of {} was exceeded{}: {what}",
            end.name,
            way(step.test.direction)
        ),
        sentence: format!(
            "an allowance of the instance of {} was exceeded{}: {what}. The hypervisor queued or dropped these packets, not \
             the network.{}",
            end.name,
            way(step.test.direction),
            sold.sentences()
        ),
        evidence: exceeded
            .iter()
            .map(|(what, _, count)| Evidence::of(*what, *count))
            .chain([Evidence::in_unit("rate received", held.round() as u64, "bit/s")])
            .chain(sold.evidence())
            .collect(),
        query: format!(
            "SELECT {} FROM host_seconds\nWHERE {}",
            columns.collect::<Vec<_>>().join(", "),
            end.rows(step)
        ),
        confidence: Confidence::by_count("counters of the driver, of the whole host", 0.9),
        action: action.to_owned(),
    })
}

fn queue(step: &Step, end: &End) -> Option<Finding> {
    let counts = &end.host.counts;
    let (dropped, empty) = (counts.driver_rx_dropped, counts.driver_rx_ring_empty);
    if dropped == 0 && empty == 0 {
        return None;
    }
    let mut what = Vec::new();
    if dropped > 0 {
        what.push(format!("{} packets were dropped", format_count(dropped)));
    }
    if empty > 0 {
        what.push(format!("a ring ran empty {} times", format_count(empty)));
    }
    let said = format!(
        "a receive queue of the driver of {} was full{}: {}",
        end.name,
        way(step.test.direction),
        what.join("; ")
    );
    Some(Finding {
        name: FindingName::ReceiveQueueFull,
        severity: severity(dropped, step),
        direction: Some(step.test.direction),
        sentence: format!("{said}. The host did not take packets from the card in time."),
        brief: said,
        evidence: vec![
            Evidence::of("receive drops of the driver", dropped),
            Evidence::of("times that a receive ring was empty", empty),
        ],
        query: format!(
            "SELECT sum(driver_rx_dropped) AS \"receive drops of the driver\",\n       sum(driver_rx_ring_empty) AS \"times that \
             a receive ring was empty\" FROM host_seconds\nWHERE {}",
            end.rows(step)
        ),
        confidence: Confidence::by_count("counters of the driver, of the whole host", 0.9),
        action: "Enlarge the receive ring (ethtool -G INTERFACE rx N), spread its queues over more cores, or choose a larger \
                 instance; then measure again."
            .to_owned(),
    })
}

fn cpu(step: &Step, end: &End) -> Option<Finding> {
    let stolen = end.stolen();
    if stolen < STOLEN {
        return None;
    }
    let said = format!(
        "the hypervisor gave {} of a core of {} to others{}",
        format_percent(stolen),
        end.name,
        way(step.test.direction)
    );
    Some(Finding {
        name: FindingName::CpuStolen,
        severity: Severity::Notice,
        direction: Some(step.test.direction),
        sentence: format!("{said}. Delay and loss while it did so are the host's, not the network's."),
        brief: said,
        evidence: vec![
            Evidence::in_unit("mean CPU steal", stolen, "cores"),
            Evidence::in_unit("CPU steal in the worst second", end.host.most_stolen_cores, "cores"),
        ],
        query: format!(
            "SELECT avg(cpu_steal_cores) AS \"mean CPU steal\", max(cpu_steal_cores) AS \"CPU steal in the worst second\"\nFROM \
             host_seconds WHERE {}",
            end.rows(step)
        ),
        confidence: Confidence::by_count("CPU time by the kernel", 1.0),
        action: "Use an instance with cores of its own (not a burstable or shared type), and measure again before judging the \
                 network."
            .to_owned(),
    })
}

/// A card with several queues, all of whose packets one of several cores receives.
fn one_core(step: &Step, end: &End, measured: &Measured) -> Option<Finding> {
    let (all, most) = end.softirq();
    let Traits { cores, queues, .. } = end.traits(measured);
    let (cores, queues) = ((*cores)?, (*queues)?);
    if all < BURDEN || most < ON_ONE * all || cores < 2 || queues < 2 || step.flow_count() < FLOWS {
        return None;
    }
    let said = format!(
        "one core of {} received the packets of all {queues} queues of its card{}: {} of its time went to software interrupts",
        end.name,
        way(step.test.direction),
        format_percent(most)
    );
    Some(Finding {
        name: FindingName::OneCore,
        severity: if most >= FULL { Severity::Fault } else { Severity::Notice },
        direction: Some(step.test.direction),
        sentence: format!("{said}, and nearly none of that of the {} other cores.", cores - 1),
        brief: said,
        evidence: vec![
            Evidence::in_unit("mean of software interrupts", all, "cores"),
            Evidence::in_unit("the same of the core with most", most, "cores"),
            Evidence::of("queues of the card", queues),
            Evidence::of("cores", cores),
        ],
        query: format!(
            "SELECT avg(cpu_softirq_cores) AS \"mean of software interrupts\",\n       avg(cpu_softirq_most_cores) AS \"the same of \
             the core with most\" FROM host_seconds\nWHERE {}",
            end.rows(step)
        ),
        confidence: Confidence::by_count("CPU time by the kernel", 1.0),
        action: "Spread the interrupts of the card's queues over the cores (irqbalance, or /proc/irq/*/smp_affinity), or turn on \
                 receive packet steering (/sys/class/net/INTERFACE/queues/rx-*/rps_cpus); then measure again."
            .to_owned(),
    })
}
