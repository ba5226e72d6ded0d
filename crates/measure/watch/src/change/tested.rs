//! Route sets and path MTUs of a path as flow tests find them, and their changes. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_record::Direction;

use super::mtu::MtuWatch;
use super::routes::{Hops, RouteWatch};
use super::{Change, Metric, Sensitivity};

/// One direction of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestedWay {
    /// Flows that arrived, by hops.
    pub hops: Hops,
    /// Path MTU, bytes of an IP packet; none if it was not searched or not found.
    pub mtu: Option<u32>,
}

/// The directions of a flow test.
pub type Tested = BTreeMap<Direction, TestedWay>;

/// Watches both directions of a path.
#[derive(Clone, Debug)]
pub struct TestWatch {
    ways: [(Direction, RouteWatch, MtuWatch); 2],
}

impl TestWatch {
    /// Knows nothing yet.
    #[must_use]
    pub fn new(sensitivity: Sensitivity) -> Self {
        let way = |direction| (direction, RouteWatch::new(sensitivity), MtuWatch::default());
        TestWatch {
            ways: [Direction::Forward, Direction::Reverse].map(way),
        }
    }

    /// Whether another path MTU search is to confirm the last one.
    #[must_use]
    pub fn is_mtu_in_doubt(&self) -> bool {
        self.ways.iter().any(|(_, _, mtu)| mtu.is_in_doubt())
    }

    /// Takes a test that ended at `unix_ns`, later than all before it; returns what has changed.
    pub fn push(&mut self, unix_ns: u64, test: &Tested) -> Vec<Change> {
        let mut changes = Vec::new();
        for (direction, routes, mtu) in &mut self.ways {
            let Some(way) = test.get(direction) else {
                continue;
            };
            let (of_routes, of_mtu) = match direction {
                Direction::Forward => (Metric::RoutesForward, Metric::MtuForward),
                Direction::Reverse => (Metric::RoutesReverse, Metric::MtuReverse),
            };
            let change = |metric, since_ns, (before, after): (f64, f64), detail| Change {
                metric,
                since_ns,
                found_ns: unix_ns,
                before,
                after,
                interval: (after, after),
                detail,
            };
            let found = routes.push(unix_ns, &way.hops);
            changes.extend(found.map(|found| {
                let (before, after) = found.routes;
                change(
                    of_routes,
                    found.since_ns,
                    (before as f64, after as f64),
                    found.detail,
                )
            }));
            let found = way.mtu.and_then(|bytes| mtu.push(unix_ns, bytes));
            changes.extend(found.map(|found| {
                let values = (f64::from(found.before), f64::from(found.after));
                change(of_mtu, found.since_ns, values, String::new())
            }));
        }
        changes
    }
}
