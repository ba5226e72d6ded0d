//! Route selection: by a hash of the flow, as routers with several equal paths do (RFC 2992), or per
//! packet. It must not know the routes' properties.

use crate::packet::FlowKey;
use crate::random::{Purpose, Stream, derive, mix, scale};
use crate::spec::{DirectionSpec, RouteChoice};

/// Chooses routes.
#[derive(Clone, Debug)]
pub(crate) struct RouteChooser {
    by: By,
    /// Cumulative weights of the routes.
    bounds: Box<[u64]>,
    total: u64,
}

#[derive(Clone, Debug)]
enum By {
    FiveTuple { seed: u64 },
    HostPair { seed: u64 },
    SourcePort { seed: u64 },
    Packet(Stream),
}

impl RouteChooser {
    pub(crate) fn new(spec: &DirectionSpec, seed: u64) -> Self {
        let mut total = 0;
        let bounds = spec
            .routes
            .iter()
            .map(|route| {
                total += u64::from(route.weight);
                total
            })
            .collect();
        let hash_seed = derive(seed, Purpose::Ecmp, 0);
        let by = match (spec.choice, spec.hide_five_tuple) {
            (RouteChoice::FiveTuple, false) => By::FiveTuple { seed: hash_seed },
            (RouteChoice::SourcePort, false) => By::SourcePort { seed: hash_seed },
            (RouteChoice::FiveTuple | RouteChoice::SourcePort, true) => By::HostPair { seed: hash_seed },
            (RouteChoice::PerPacket, _) => By::Packet(Stream::new(seed, Purpose::RoutePerPacket, 0)),
        };
        Self { by, bounds, total }
    }

    /// The route of the next packet of this flow.
    pub(crate) fn choose(&mut self, flow: FlowKey) -> usize {
        let number = match &mut self.by {
            By::Packet(stream) => stream.number(),
            _ => return self.of_flow(flow).unwrap_or(0),
        };
        self.at(number)
    }

    /// The route of all packets of this flow, where they have one.
    pub(crate) fn of_flow(&self, flow: FlowKey) -> Option<usize> {
        let (seed, key) = match self.by {
            By::FiveTuple { seed } => (seed, flow.five_tuple),
            By::HostPair { seed } => (seed, flow.host_pair),
            By::SourcePort { seed } => (seed, mix(flow.host_pair).wrapping_add(flow.source_port.into())),
            By::Packet(_) => return None,
        };
        if self.bounds.len() == 1 {
            return Some(0);
        }
        Some(self.at(mix(mix(key ^ seed).wrapping_add(seed))))
    }

    fn at(&self, number: u64) -> usize {
        let share = scale(number, u128::from(self.total));
        self.bounds.partition_point(|&bound| bound <= share)
    }
}
