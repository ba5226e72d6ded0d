//! An emulated link and the hosts at its ends, driven from event to event. It must not know what is measured.

use weir_link::discrete::{Endpoint, Network};
use weir_link::{Departure, LinkSpec, Nanos, Packet, RouteSpec};

use crate::datagram::Datagram;
use crate::host::{Host, HostModel};
use crate::middlebox::{Behind, Device};
use crate::random::Random;

/// The link and the hosts at its ends.
pub(crate) struct Wire {
    pub spec: LinkSpec,
    pub network: Network<Datagram>,
    pub device: Option<Device>,
    pub near: HostModel,
    pub far: HostModel,
    pub random: Random,
    pub start_unix_ns: u64,
    pub now: u64,
}

impl Wire {
    /// Both hosts, with separate threads and noise for each step.
    pub fn hosts(&mut self) -> (Host, Host) {
        let (near, far) = (self.random.fork(), self.random.fork());
        (
            Host::new(&self.near, self.start_unix_ns, near),
            Host::new(&self.far, self.start_unix_ns, far),
        )
    }

    pub fn interface_mtu(&self) -> u32 {
        self.spec.interface_mtu
    }

    /// Propagation delay of the longest forward route plus the longest reverse route.
    pub fn round_trip_ns(&self) -> u64 {
        round_trip_ns(&self.spec)
    }

    /// Processes all events before `until`.
    pub fn run_until(
        &mut self,
        near: &mut dyn Endpoint<Datagram>,
        far: &mut dyn Endpoint<Datagram>,
        until: u64,
    ) {
        while self.step(near, far, until) {}
    }

    /// The same while `go_on` returns true; returns the time of the last event.
    pub fn run_while<N: Endpoint<Datagram>, F: Endpoint<Datagram>>(
        &mut self,
        near: &mut N,
        far: &mut F,
        until: u64,
        go_on: impl Fn(&N, &F) -> bool,
    ) -> u64 {
        while go_on(near, far) {
            if !self.step(near, far, until) {
                break;
            }
        }
        self.now
    }

    /// Processes the next event before `until`; returns false if there is none.
    fn step(
        &mut self,
        near: &mut dyn Endpoint<Datagram>,
        far: &mut dyn Endpoint<Datagram>,
        until: u64,
    ) -> bool {
        let event = match &mut self.device {
            None => self.network.step(near, far, Nanos(until)),
            Some(device) => self
                .network
                .step(&mut Behind { host: near, device }, far, Nanos(until)),
        };
        self.now = event.map_or(self.now, |now| now.0);
        event.is_some()
    }
}

/// Propagation delay of the longest forward route plus the longest reverse route, with all jitter.
pub(crate) fn round_trip_ns(link: &LinkSpec) -> u64 {
    let longest = |routes: &[RouteSpec]| {
        let delay = |route: &RouteSpec| route.delay_ns + route.jitter.map_or(0, |jitter| jitter.most_ns);
        routes.iter().map(delay).max().unwrap_or(0)
    };
    longest(&link.forward.routes) + longest(&link.reverse.routes)
}

/// A host that ignores packets still in flight after a test.
pub(crate) struct Nobody;

impl Endpoint<Datagram> for Nobody {
    fn next_wake(&self) -> Option<Nanos> {
        None
    }

    fn wake(&mut self, _now: Nanos, _out: &mut Vec<Packet<Datagram>>) {}

    fn receive(&mut self, _departure: Departure<Datagram>, _out: &mut Vec<Packet<Datagram>>) {}
}
