//! Packets that a host dropped, not the network.

use weir_results::Direction;
use weir_stats::{DroppedBuffers, DropsOfHosts, attribute};
use weir_units::{format_count, format_percent};

use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{rows_of, way};

/// A host that dropped this share of all packets harms the media.
const HARMFUL: f64 = 1e-5;

/// The finding, from the test in which hosts dropped the largest share.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    steps
        .with_set_aside()
        .filter_map(|step| Some((dropped(step)?, step)))
        .max_by_key(|(dropped, step)| {
            u128::from(dropped.all()) * 1_000_000_000 / u128::from(step.test.sent.max(1))
        })
        .map(|(dropped, step)| describe(step, &dropped))
}

/// Share of the lost packets that hosts dropped, 0 to 1.
pub(crate) fn share(step: &Step) -> f64 {
    dropped(step).map_or(0.0, |dropped| {
        (dropped.all() as f64 / step.test.lost.max(1) as f64).min(1.0)
    })
}

/// Packets that each place reports as dropped.
#[derive(Clone, Copy)]
struct Dropped {
    socket: u64,
    receiving: u64,
    sending: u64,
    estimated: bool,
    overclaimed: bool,
}

impl Dropped {
    fn all(&self) -> u64 {
        self.socket + self.receiving + self.sending
    }
}

/// By the test's own account; where it did not end, by the counters. None where no host dropped anything.
fn dropped(step: &Step) -> Option<Dropped> {
    let test = step.test;
    let dropped = match &test.summary {
        Some(summary) => Dropped {
            socket: summary.attribution.socket,
            receiving: summary.attribution.host_receiver,
            sending: summary.attribution.host_sender,
            estimated: summary.attribution.estimated,
            overclaimed: summary.attribution.overclaimed,
        },
        None => {
            let (receiving, sending) = (&test.receiving_host, &test.sending_host);
            let socket = test.flows.iter().map(|flow| flow.counts.socket_drops).sum();
            let before = receiving.counts.receive_drops()
                + receiving.counts.receive_throttled()
                + receiving.counts.udp_in_errors;
            let drops = DropsOfHosts {
                socket: DroppedBuffers::single(socket),
                receiving: before,
                sending: sending.counts.send_drops() + sending.counts.send_throttled() + test.sender.refused,
                ..DropsOfHosts::default()
            };
            let split = attribute(test.lost, drops, None);
            Dropped {
                socket: split.socket,
                receiving: split.host_receiver,
                sending: split.host_sender,
                estimated: true,
                overclaimed: split.overclaimed,
            }
        }
    };
    (dropped.all() > 0).then_some(dropped)
}

fn describe(step: &Step, dropped: &Dropped) -> Finding {
    let test = step.test;
    let (receiver, sender) = match test.direction {
        Direction::Forward => ("the agent's host", "this host"),
        Direction::Reverse => ("this host", "the agent's host"),
    };
    let places: Vec<String> = [
        (
            dropped.socket,
            format!("at the receiving socket of {receiver}, whose buffer was full"),
        ),
        (dropped.receiving, format!("on {receiver} before the socket")),
        (dropped.sending, format!("on {sender} while sending")),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, place)| format!("{} {place}", format_count(count)))
    .collect();
    let about = if dropped.estimated { "about " } else { "" };
    let share = dropped.all() as f64 / test.lost.max(1) as f64;
    let harmful = dropped.all() as f64 >= HARMFUL * test.sent as f64;
    Finding {
        name: FindingName::HostLoss,
        severity: if harmful {
            Severity::Fault
        } else {
            Severity::Notice
        },
        direction: Some(test.direction),
        brief: format!(
            "{about}{} of {} lost packets{} were dropped on a host",
            format_count(dropped.all()),
            format_count(test.lost),
            way(test.direction)
        ),
        sentence: format!(
            "{about}{} of {} lost packets{} ({}) were dropped on a host and not in the network: {}.",
            format_count(dropped.all()),
            format_count(test.lost),
            way(test.direction),
            format_percent(share.min(1.0)),
            places.join("; ")
        ),
        evidence: evidence(step, dropped),
        query: format!(
            "SELECT sum(socket_drops) AS \"buffers dropped at sockets\" FROM flow_seconds WHERE {}",
            rows_of(test.run, test.direction)
        ),
        confidence: confidence(step, dropped),
        action: action(step, dropped),
    }
}

fn evidence(step: &Step, dropped: &Dropped) -> Vec<Evidence> {
    let (receiving, sending) = (&step.test.receiving_host, &step.test.sending_host);
    let sockets: u64 = step.test.flows.iter().map(|flow| flow.counts.socket_drops).sum();
    vec![
        Evidence::of("packets lost at the socket", dropped.socket),
        Evidence::of("packets lost on the receiving host", dropped.receiving),
        Evidence::of("packets lost on the sending host", dropped.sending),
        Evidence::of("buffers dropped at sockets", sockets),
        Evidence::of(
            "receive buffer errors of the host",
            receiving.counts.udp_rcvbuf_errors,
        ),
        Evidence::of(
            "receive backlog drops of the host",
            receiving.counts.softnet_dropped,
        ),
        Evidence::of("interface receive drops", receiving.counts.interface_rx_dropped),
        Evidence::of("receive drops of the driver", receiving.counts.driver_rx_dropped),
        Evidence::of(
            "packets queued or dropped for an allowance on receive",
            receiving.counts.receive_throttled(),
        ),
        Evidence::of("interface send drops", sending.counts.interface_tx_dropped),
        Evidence::of("send drops of the driver", sending.counts.driver_tx_dropped),
        Evidence::of(
            "drops of the queueing discipline on send",
            sending.counts.qdisc_dropped,
        ),
        Evidence::of(
            "packets queued or dropped for an allowance on send",
            sending.counts.send_throttled(),
        ),
        Evidence::of("send buffer errors of the host", sending.counts.udp_sndbuf_errors),
        Evidence::of(
            "packets that the sender's kernel refused",
            step.test.sender.refused,
        ),
    ]
}

fn confidence(step: &Step, dropped: &Dropped) -> Confidence {
    // Counters of sockets are of this test alone; those of hosts include other traffic, and those of allowances packets
    // that only waited.
    let level = match (
        dropped.overclaimed || throttled(step) > 0,
        dropped.receiving + dropped.sending > 0,
        dropped.estimated,
    ) {
        (true, _, _) => 0.7,
        (false, true, _) => 0.8,
        (false, false, true) => 0.95,
        (false, false, false) => 0.99,
    };
    Confidence::by_count("drop counters of the sockets and of both hosts", level)
}

/// Packets that hypervisors queued or dropped on the test's way.
fn throttled(step: &Step) -> u64 {
    let (receiving, sending) = (&step.test.receiving_host, &step.test.sending_host);
    receiving.counts.receive_throttled() + sending.counts.send_throttled()
}

fn action(step: &Step, dropped: &Dropped) -> String {
    if 2 * throttled(step) > dropped.all() {
        "Follow the finding allowance-exceeded; then measure again before blaming the network.".to_owned()
    } else if dropped.socket >= dropped.receiving && dropped.socket >= dropped.sending {
        "Raise net.core.rmem_max on the receiving host, give the receiver a core of its own, or choose a larger instance; \
         then measure again before blaming the network."
            .to_owned()
    } else if dropped.receiving >= dropped.sending {
        "Raise net.core.netdev_max_backlog and the card's receive ring (ethtool -G), or spread its queues over more cores; \
         then measure again."
            .to_owned()
    } else {
        "Raise the send queue (txqueuelen, ethtool -G) or send shorter bursts ('--burst'); then measure again.".to_owned()
    }
}
