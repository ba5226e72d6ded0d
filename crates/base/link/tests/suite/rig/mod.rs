//! Shared parts of the link's tests: packets, specifications and ways of emptying a link.
pub mod aimd;

use weir_link::{
    Departure, DirectionSpec, DropCause, Ecn, FlowKey, Jitter, Link, Nanos, Packet, RateSpec, RouteSpec,
    Verdict,
};

pub fn flow(five_tuple: u64, host_pair: u64) -> FlowKey {
    FlowKey {
        five_tuple,
        host_pair,
        source_port: 0,
    }
}

/// A packet of a flow between the one pair of hosts.
pub fn packet<P>(length: u32, five_tuple: u64, payload: P) -> Packet<P> {
    packet_of(length, flow(five_tuple, 0), payload)
}

pub fn packet_of<P>(length: u32, flow: FlowKey, payload: P) -> Packet<P> {
    Packet {
        length,
        flow,
        ecn: Ecn::NotEct,
        payload,
    }
}

/// A route that has this rate and no fault.
pub fn fixed(rate: u64) -> RouteSpec {
    RouteSpec {
        rate: RateSpec::Fixed(rate),
        ..RouteSpec::clean()
    }
}

pub fn jitter(most_ns: u64, reorder: bool) -> Option<Jitter> {
    Some(Jitter { most_ns, reorder })
}

/// A link with the one route.
pub fn link_over<P: Clone>(route: RouteSpec) -> Link<P> {
    link_of(DirectionSpec::over(vec![route]), 1)
}

/// A link with this direction, which must be valid, and an MTU that passes all lengths.
pub fn link_of<P: Clone>(mut spec: DirectionSpec, seed: u64) -> Link<P> {
    if spec.mtu.bytes == 1500 {
        spec.mtu.bytes = 65_535;
    }
    spec.check("forward").expect("the test's link is possible");
    Link::new(&spec, seed)
}

/// All departures, each at the time that the link foretold.
pub fn drain<P: Clone>(link: &mut Link<P>) -> Vec<Departure<P>> {
    let mut departures = Vec::new();
    while let Some(at) = link.next_departure() {
        while let Some(departure) = link.poll(at) {
            departures.push(departure);
        }
    }
    assert_eq!(link.in_flight(), 0);
    departures
}

/// Offers a packet; why it was dropped.
pub fn offer<P: Clone>(link: &mut Link<P>, at: u64, packet: Packet<P>) -> Option<DropCause> {
    match link.enqueue(Nanos(at), packet) {
        Verdict::Accepted => None,
        Verdict::Dropped(cause, _) => Some(cause),
    }
}

/// Random numbers for tests, independent of the link's own generator: the multiplicative generator of
/// Lewis, Goodman and Miller (1969), x' = 16807 x mod (2^31 - 1).
pub struct Minstd(u64);

impl Minstd {
    pub fn new(seed: u32) -> Self {
        Self(u64::from(seed) % 2_147_483_646 + 1)
    }

    /// Above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        let mut next = || {
            self.0 = self.0 * 16_807 % 2_147_483_647;
            self.0 as f64
        };
        // Two draws, since one has only 31 bits.
        (next() + next() / 2_147_483_647.0) / 2_147_483_647.0
    }

    /// Exponentially distributed with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().min(1.0 - 1e-12).ln()
    }
}

/// Pearson's statistic.
pub fn chi_squared(observed: &[u64], expected: &[f64]) -> f64 {
    assert_eq!(observed.len(), expected.len());
    observed
        .iter()
        .zip(expected)
        .map(|(&seen, &awaited)| (seen as f64 - awaited).powi(2) / awaited)
        .sum()
}

/// The value that a chi-squared variable exceeds with probability 0.0001, by Wilson and Hilferty (1931); within
/// one percent of the tables from 1 degree of freedom on.
pub fn chi_squared_limit(degrees: usize) -> f64 {
    let degrees = degrees as f64;
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + 3.719 * part.sqrt()).powi(3)
}
