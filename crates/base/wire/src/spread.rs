//! Which flow carries which packet of a stream: a rule of the protocol that both ends compute, so that a receiver can
//! attribute a gap in the stream to the flow that lost the packet. It must not know packets or sockets.
//!
//! `docs/wire-protocol.md` has the arithmetic; a change here changes the protocol.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::FlowId;

/// How a stream is spread over its flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadKind {
    /// Flow 0, 1, 2, ..., then 0 again.
    #[default]
    RoundRobin,
    /// Every flow once per round, in a new order for each round.
    Permuted,
    /// Each packet on a flow chosen at random, all equally likely.
    Random,
}

/// A name that is not a [`SpreadKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown spread; write round-robin, permuted or random")]
pub struct UnknownSpread;

impl fmt::Display for SpreadKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::RoundRobin => "round-robin",
            Self::Permuted => "permuted",
            Self::Random => "random",
        })
    }
}

impl FromStr for SpreadKind {
    type Err = UnknownSpread;

    fn from_str(name: &str) -> Result<Self, UnknownSpread> {
        match name {
            "round-robin" => Ok(Self::RoundRobin),
            "permuted" => Ok(Self::Permuted),
            "random" => Ok(Self::Random),
            _ => Err(UnknownSpread),
        }
    }
}

/// The flows of one of the `shares`, from 0, into which the flows of a stream are divided, each for a thread: consecutive
/// flows, as many as those of the others, or one more or less. Empty for some if there are fewer flows than shares.
#[must_use]
pub fn flows_of_share(share: u16, shares: u16, flows: u16) -> Range<u16> {
    let first = |share: u16| (u32::from(flows) * u32::from(share) / u32::from(shares.max(1))) as u16;
    first(share)..first(share + 1)
}

/// Step of SplitMix64's counter (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// 2014).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Output function of SplitMix64.
const fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// Output number `index` (from 0) of SplitMix64 seeded with `seed`, computed without the outputs before it.
const fn output(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(STEP.wrapping_mul(index.wrapping_add(1))))
}

/// The rule of one stream. Sender and receiver create it with the same kind, number of flows and seed.
#[derive(Clone, Debug)]
pub struct Spread {
    kind: SpreadKind,
    flows: u16,
    seed: u64,
    /// First packet of the round that was asked for last: within it, no division is needed. A multiple of `flows`.
    round_start: u64,
    /// The permutation of that round, of `flows` entries; empty for the other kinds. Allocated once, here.
    order: Vec<u16>,
}

impl Spread {
    /// A rule for `flows` flows. 0 counts as 1, so that a stream always has a flow; the number was checked when the
    /// session was set up.
    #[must_use]
    pub fn new(kind: SpreadKind, flows: u16, seed: u64) -> Self {
        let flows = flows.max(1);
        let permuted = kind == SpreadKind::Permuted;
        let mut spread = Self {
            kind,
            flows,
            seed,
            round_start: 0,
            order: vec![0; if permuted { usize::from(flows) } else { 0 }],
        };
        spread.shuffle(0);
        spread
    }

    /// Flows that the stream is spread over: 1 to 65 535.
    #[must_use]
    pub fn flows(&self) -> u16 {
        self.flows
    }

    /// The flow that carries packet `stream_sequence` ([extended](crate::Sequence::extend) to 64 bits) of the
    /// stream. The result does not depend on the order of calls; calls within a round are cheapest.
    pub fn flow(&mut self, stream_sequence: u64) -> FlowId {
        let flows = u64::from(self.flows);
        if self.kind == SpreadKind::Random {
            return FlowId((output(self.seed, stream_sequence) % flows) as u16);
        }
        let mut place = stream_sequence.wrapping_sub(self.round_start);
        if place >= flows {
            let round = stream_sequence / flows;
            self.round_start = round * flows;
            place = stream_sequence - self.round_start;
            self.shuffle(round);
        }
        // Without a permutation, flows are in their order.
        FlowId(self.order.get(place as usize).copied().unwrap_or(place as u16))
    }

    /// Fisher-Yates shuffle of 0, 1, ... from the last entry down. Taking the remainder favours some flows by less than
    /// one part in 2^48.
    fn shuffle(&mut self, round: u64) {
        for (place, flow) in self.order.iter_mut().enumerate() {
            *flow = place as u16;
        }
        let round_seed = output(self.seed, round);
        for (draw, place) in (1..self.order.len()).rev().enumerate() {
            let other = output(round_seed, draw as u64) % (place as u64 + 1);
            self.order.swap(place, other as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [SpreadKind; 3] = [SpreadKind::RoundRobin, SpreadKind::Permuted, SpreadKind::Random];

    /// First outputs for seed 1234567, as published with several independent implementations.
    #[test]
    fn splitmix64_vector() {
        let outputs: Vec<u64> = (0..5).map(|index| output(1_234_567, index)).collect();
        assert_eq!(
            outputs,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }

    #[test]
    fn names_round_trip() {
        for kind in KINDS {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("Random".parse::<SpreadKind>(), Err(UnknownSpread));
    }

    #[test]
    fn a_permuted_round_holds_every_flow_once_and_rounds_differ() {
        for flows in [1u16, 2, 7, 64, 1000, u16::MAX] {
            let mut spread = Spread::new(SpreadKind::Permuted, flows, 42);
            let mut rounds = Vec::new();
            for round in 0..4u64 {
                let order: Vec<u16> = (0..u64::from(flows))
                    .map(|place| spread.flow(round * u64::from(flows) + place).0)
                    .collect();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert!(
                    sorted.iter().copied().eq(0..flows),
                    "{flows} flows, round {round}"
                );
                rounds.push(order);
            }
            if flows >= 7 {
                assert!(rounds.windows(2).all(|pair| pair[0] != pair[1]), "{flows} flows");
            }
        }
    }

    /// Sum of squared deviations over the expected count, for counts that should all be equal.
    fn chi_square(counts: &[u64]) -> f64 {
        let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
        counts
            .iter()
            .map(|&count| (count as f64 - expected).powi(2) / expected)
            .sum()
    }

    /// Upper bound with a false alarm rate below 10^-9: mean and variance of chi-square with k degrees of freedom are k
    /// and
    /// 2k, and 8 standard deviations leave room for its skew at these k. The sequences are fixed by their seeds, so the
    /// test gives the same result every time.
    fn bound(freedom: f64) -> f64 {
        freedom + 8.0 * (2.0 * freedom).sqrt()
    }

    #[test]
    fn random_is_even_over_flows_and_pairs() {
        for (flows, seed) in [(2u16, 0u64), (16, 1), (100, u64::MAX)] {
            let mut spread = Spread::new(SpreadKind::Random, flows, seed);
            let count = usize::from(flows);
            let (mut singles, mut pairs) = (vec![0u64; count], vec![0u64; count * count]);
            let mut before = usize::from(spread.flow(0).0);
            for sequence in 1..=1_000_000u64 {
                let flow = usize::from(spread.flow(sequence).0);
                singles[flow] += 1;
                pairs[before * count + flow] += 1;
                before = flow;
            }
            assert!(chi_square(&singles) < bound(count as f64 - 1.0), "{flows} flows");
            assert!(
                chi_square(&pairs) < bound((count * count) as f64 - 1.0),
                "pairs of {flows} flows"
            );
        }
    }

    #[test]
    fn a_permuted_round_puts_every_flow_in_every_place() {
        let flows = 8usize;
        let mut spread = Spread::new(SpreadKind::Permuted, 8, 7);
        let mut places = vec![0u64; flows * flows];
        for sequence in 0..800_000u64 {
            places[(sequence as usize % flows) * flows + usize::from(spread.flow(sequence).0)] += 1;
        }
        assert!(chi_square(&places) < bound(64.0));
    }

    proptest! {
        #[test]
        fn any_order_of_calls_gives_the_same_flows(
            kind in prop::sample::select(&KINDS[..]), flows in 0u16..300, seed: u64, start: u64,
            mut calls in prop::collection::vec(0u64..2000, 1..100),
        ) {
            let start = start >> 1;
            let mut sequential = Spread::new(kind, flows, seed);
            let expected: Vec<FlowId> = (0..2000).map(|offset| sequential.flow(start + offset)).collect();
            calls.push(0);
            let mut jumping = Spread::new(kind, flows, seed);
            for offset in calls {
                let flow = jumping.flow(start + offset);
                prop_assert_eq!(flow, expected[offset as usize]);
                prop_assert!(flow.0 < jumping.flows());
            }
        }
    }
}
