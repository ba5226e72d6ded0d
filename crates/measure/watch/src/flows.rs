//! What flow tests of a path found, flow by flow: which flows are dark, what they carried so far, and which routes they took. Pure.

use std::collections::{BTreeMap, BTreeSet};

use weir_measure::flows::FlowsSummary;
use weir_measure::path_mtu::MtuSummary;
use weir_record::Direction;

use crate::change::{Hops, Tested, TestedWay};

/// A flow of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowResult {
    /// Which way.
    pub direction: Direction,
    /// Its number in the test.
    pub flow: usize,
    /// Destination port.
    pub port: u16,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
}

impl FlowResult {
    /// What it is called in events: a flow with this destination port, whatever its number.
    #[must_use]
    pub fn subject(&self) -> String {
        format!("{} flow to port {}", self.direction.as_str(), self.port)
    }
}

/// Packets of a flow number over all tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowTotal {
    /// Sent.
    pub sent: u64,
    /// Of those, not received.
    pub lost: u64,
}

/// What a test has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// Flows that went dark.
    pub dark: Vec<FlowResult>,
    /// Subjects of those that were dark in the test before, and no more.
    pub over: Vec<String>,
}

/// The flows of a path.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    dark: BTreeSet<String>,
    totals: BTreeMap<(&'static str, usize), FlowTotal>,
}

impl Flows {
    /// Flows of which these were dark in the last test.
    #[must_use]
    pub fn with_dark(subjects: impl IntoIterator<Item = String>) -> Self {
        Flows {
            dark: subjects.into_iter().collect(),
            totals: BTreeMap::new(),
        }
    }

    /// Takes a test. A flow is dark if nothing of it arrived while others of its direction carried packets.
    pub fn push(&mut self, test: &[FlowResult]) -> Turns {
        for flow in test {
            let total = self
                .totals
                .entry((flow.direction.as_str(), flow.flow))
                .or_default();
            total.sent += flow.sent;
            total.lost += flow.sent.saturating_sub(flow.received);
        }
        let carries = |direction: Direction| {
            test.iter()
                .any(|flow| flow.direction == direction && flow.received > 0)
        };
        let dark: Vec<&FlowResult> = test
            .iter()
            .filter(|flow| flow.sent > 0 && flow.received == 0 && carries(flow.direction))
            .collect();
        let subjects: BTreeSet<String> = dark.iter().map(|flow| flow.subject()).collect();
        let new = dark
            .into_iter()
            .filter(|flow| !self.dark.contains(&flow.subject()));
        let turns = Turns {
            dark: new.copied().collect(),
            over: self.dark.difference(&subjects).cloned().collect(),
        };
        self.dark = subjects;
        turns
    }

    /// Packets so far, by direction and number of the flow.
    pub fn totals(&self) -> impl Iterator<Item = (&'static str, usize, FlowTotal)> + '_ {
        let each = self.totals.iter();
        each.map(|((direction, flow), total)| (*direction, *flow, *total))
    }
}

/// The routes that a test found, and the path MTU, if that was searched.
#[must_use]
pub fn tested(summary: &FlowsSummary, mtu: Option<&MtuSummary>) -> Tested {
    let mut searched = searched(mtu);
    let directions = summary.forward.iter().chain(&summary.reverse);
    let ways = directions.map(|way| {
        let mut hops = Hops::new();
        for ttl in way.receiver.per_flow.iter().filter_map(|flow| flow.ttl) {
            *hops.entry(hops_of(ttl)).or_default() += 1;
        }
        let mtu = searched.remove(&way.direction).and_then(|found| found.mtu);
        (way.direction, TestedWay { hops, mtu })
    });
    ways.collect()
}

/// What a search of the path MTU found.
#[must_use]
pub fn searched(mtu: Option<&MtuSummary>) -> Tested {
    let both = mtu.iter().flat_map(|both| {
        [
            (Direction::Forward, both.forward.path_mtu),
            (Direction::Reverse, both.reverse.path_mtu),
        ]
    });
    let ways = both.map(|(direction, mtu)| {
        let hops = Hops::new();
        (direction, TestedWay { hops, mtu })
    });
    ways.collect()
}

/// Hops behind a packet that arrives with this TTL: it was sent with the next of those that systems send with.
fn hops_of(ttl: u8) -> u32 {
    let sent = [64, 128, 255].into_iter().find(|sent| ttl <= *sent);
    u32::from(sent.unwrap_or(u8::MAX) - ttl)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(received: [u64; 4]) -> Vec<FlowResult> {
        let flow = |flow: usize| FlowResult {
            direction: if flow < 2 {
                Direction::Forward
            } else {
                Direction::Reverse
            },
            flow: flow % 2,
            port: 5000 + flow as u16,
            sent: 10,
            received: received[flow],
        };
        (0..4).map(flow).collect()
    }

    #[test]
    fn hops_are_what_routers_took_of_the_usual_first_ttls() {
        assert_eq!(
            [64, 52, 1, 128, 113, 255, 240].map(hops_of),
            [0, 12, 63, 0, 15, 0, 15]
        );
    }

    #[test]
    fn a_flow_that_stays_dark_is_said_once_and_its_end_once() {
        let mut flows = Flows::default();
        let said = |turns: Turns| -> (Vec<String>, Vec<String>) {
            (turns.dark.iter().map(FlowResult::subject).collect(), turns.over)
        };
        let name = "forward flow to port 5001".to_owned();
        assert_eq!(
            said(flows.push(&test([10, 0, 10, 9]))),
            (vec![name.clone()], vec![])
        );
        assert_eq!(flows.push(&test([10, 0, 10, 10])), Turns::default());
        assert_eq!(
            said(flows.push(&test([10, 1, 10, 10]))),
            (vec![], vec![name.clone()])
        );
        // A direction in which nothing arrives has no dark flows.
        assert_eq!(flows.push(&test([0, 0, 10, 10])), Turns::default());
        // As after a restart.
        let mut again = Flows::with_dark([name]);
        assert_eq!(again.push(&test([10, 0, 10, 10])), Turns::default());
        let totals: Vec<_> = flows
            .totals()
            .map(|(_, _, total)| (total.sent, total.lost))
            .collect();
        assert_eq!(totals, [(40, 10), (40, 39), (40, 0), (40, 1)]);
    }
}
