//! Where packets were lost, in the order in which they were sent: in the whole stream, and on each route by itself. On
//! a stream that is spread over flows, a burst of one route is scattered among packets of the others; and a burst that
//! several flows of a route share is scattered over their own sequences. Only the route's own sequence shows it whole.

use weir_measure::flows::{Burst, BurstPlaces, FlowsPlan};
use weir_results::StreamBurst;
use weir_stats::LossSequence;
use weir_wire::Spread;

use super::Step;
use crate::measured::FlowTest;

/// Lost packets of a test that are looked at.
const MOST_LOST: u64 = 100_000;
/// Lost packets of all flows in their own sequences that are looked at; bounds the memory where rows claim long bursts.
const MOST_LOST_BY_FLOWS: u64 = 2_000_000;
/// Packets of a burst of the sender that are looked at.
const MOST_OF_BURST: usize = 4_096;
/// From one loss to the next, packets are counted one by one up to this distance.
const LONG_WAY: u64 = 1_024;

/// The losses of one class of flows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClassLosses {
    /// Its flows.
    pub flows: Vec<u16>,
    /// Its losses among its own packets, outages left out.
    pub sequence: LossSequence,
}

/// Which packets are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Those that follow each other in the stream: their flows alternate.
    Stream,
    /// Those that left one after the other: a burst of the sender leaves flow by flow. A loss that lasts is scattered in the order
    /// of the stream, but flows that lose more than others look like bursts in this one.
    Sent,
}

/// Losses of each class of flows, in the classes' own sequences. None where the store does not hold every burst of losses.
pub(crate) fn by_class(step: &Step, classes: &[Vec<u16>], order: Order) -> Option<Vec<ClassLosses>> {
    let test = step.test;
    if !test.bursts_complete || test.stream_bursts.iter().map(|burst| burst.length).sum::<u64>() > MOST_LOST {
        return None;
    }
    let mut spread = Spread::new(test.plan.spread, test.flows.len() as u16, test.plan.seed);
    let mut losses: Vec<ClassLosses> = classes
        .iter()
        .map(|flows| ClassLosses::none(test, flows))
        .collect();
    let class_of: Vec<Option<usize>> = (0..spread.flows())
        .map(|flow| classes.iter().position(|flows| flows.contains(&flow)))
        .collect();
    let mut places = vec![ClassPosition::start(u64::from(test.plan.first_sequence)); classes.len()];
    let mut sent = (order == Order::Sent).then(|| SentOrder::new(&test.plan));
    for burst in &test.stream_bursts {
        for sequence in burst.first_sequence..burst.first_sequence + burst.length {
            let flow = spread.flow(sequence).0;
            let class = class_of[usize::from(flow)];
            if let Some(class) = class.filter(|_| !was_dark(step, flow, burst.unix_ns)) {
                let flows = classes[class].len() as u64;
                let within = |flow: u16| class_of[usize::from(flow)] == Some(class);
                let (first, before) = match &mut sent {
                    None => (sequence, 0),
                    Some(sent) => sent.place(sequence, flow, &mut spread, within),
                };
                places[class].advance(first, flows, &mut spread, within);
                losses[class].sequence.lost.push(places[class].before + before);
            }
        }
    }
    for class in &mut losses {
        let lost = &mut class.sequence.lost;
        lost.sort_unstable();
        lost.dedup();
        class.sequence.length = class.sequence.length.max(lost.last().map_or(0, |last| last + 1));
    }
    Some(losses)
}

/// The order in which the packets of a burst of the sender left.
struct SentOrder {
    places: BurstPlaces,
    burst: Option<Burst>,
    /// The burst's packets as (turn of their flow, sequence, flow), in this order.
    packets: Vec<(u64, u64, u16)>,
}

impl SentOrder {
    fn new(plan: &FlowsPlan) -> Self {
        SentOrder {
            places: BurstPlaces::new(plan),
            burst: None,
            packets: Vec::new(),
        }
    }

    /// The first sequence of the burst with this packet, and packets of it, of those flows, that left before this one; its own sequence
    /// and none where bursts are too long to look at.
    fn place(
        &mut self,
        sequence: u64,
        flow: u16,
        spread: &mut Spread,
        within: impl Fn(u16) -> bool,
    ) -> (u64, u64) {
        let known = self.burst.take();
        let known = known.filter(|burst| burst.sequences.contains(&sequence));
        let burst = known.unwrap_or_else(|| {
            let burst = self.places.burst_of(sequence);
            let packet = |sequence: u64| {
                let flow = spread.flow(sequence).0;
                (burst.turn(flow), sequence, flow)
            };
            self.packets.clear();
            self.packets
                .extend(burst.sequences.clone().take(MOST_OF_BURST).map(packet));
            self.packets.sort_unstable();
            burst
        });
        let own = (burst.turn(flow), sequence, flow);
        let first = burst.sequences.start;
        self.burst = Some(burst);
        if self.packets.len() == MOST_OF_BURST {
            return (sequence, 0);
        }
        let earlier = self.packets.iter().take_while(|packet| **packet < own);
        (first, earlier.filter(|packet| within(packet.2)).count() as u64)
    }
}

impl ClassLosses {
    fn none(test: &FlowTest, flows: &[u16]) -> Self {
        ClassLosses {
            flows: flows.to_vec(),
            sequence: LossSequence {
                lost: Vec::new(),
                length: test.sent * flows.len() as u64 / test.flows.len().max(1) as u64,
            },
        }
    }
}

/// How many packets of a class come before one of the stream.
#[derive(Clone, Copy)]
struct ClassPosition {
    sequence: u64,
    before: u64,
}

impl ClassPosition {
    fn start(first: u64) -> Self {
        ClassPosition {
            sequence: first,
            before: 0,
        }
    }

    /// Moves to a later packet. Over a long way the mean does: only neighbours have to be told apart.
    fn advance(&mut self, to: u64, flows: u64, spread: &mut Spread, within: impl Fn(u16) -> bool) {
        let way = to.saturating_sub(self.sequence);
        self.before += if way > LONG_WAY {
            way * flows / u64::from(spread.flows())
        } else {
            let between = self.sequence..to;
            between
                .filter(|sequence| within(spread.flow(*sequence).0))
                .count() as u64
        };
        self.sequence = self.sequence.max(to);
    }
}

/// Bursts of lost packets of the stream that began while the flow of their first packet was not dark, in the order of their packets.
pub(crate) fn undisturbed<'s>(step: &'s Step<'_>) -> impl Iterator<Item = &'s StreamBurst> {
    let test = step.test;
    let mut spread = Spread::new(test.plan.spread, test.flows.len() as u16, test.plan.seed);
    let is_dark = move |burst: &&StreamBurst| {
        let flow = spread.flow(burst.first_sequence).0;
        !was_dark(step, flow, burst.unix_ns)
    };
    test.stream_bursts.iter().filter(is_dark)
}

/// The flow had an outage when this loss was noticed.
fn was_dark(step: &Step, flow: u16, noticed_unix_ns: u64) -> bool {
    let margin = 2 * step.test.plan.reorder_ns + 10_000_000;
    step.outages
        .iter()
        .flat_map(|outage| &outage.parts)
        .filter(|part| part.flow == flow)
        .any(|part| {
            let end = part.from_unix_ns + part.duration_ns + margin;
            (part.from_unix_ns..=end).contains(&noticed_unix_ns)
        })
}

/// Losses of each flow in its own sequence, outages left out.
pub(crate) fn by_flow(step: &Step) -> Vec<LossSequence> {
    let test = step.test;
    let first = u64::from(test.plan.first_sequence);
    let mut sequences: Vec<LossSequence> = test
        .flows
        .iter()
        .map(|flow| LossSequence {
            lost: Vec::new(),
            length: flow.sent,
        })
        .collect();
    let dark = |flow: u16, sequence: u64| {
        let mut parts = step.outages.iter().flat_map(|outage| &outage.parts);
        parts.any(|part| part.flow == flow && part.first_sequence == sequence)
    };
    let mut room = MOST_LOST_BY_FLOWS;
    for burst in test
        .flow_bursts
        .iter()
        .filter(|burst| !dark(burst.flow, burst.first_sequence))
    {
        if let Some(sequence) = sequences.get_mut(usize::from(burst.flow)) {
            let length = burst.length.min(MOST_LOST);
            let Some(left) = room.checked_sub(length) else {
                // What follows is not looked at: the sequences end here.
                sequences.iter_mut().for_each(|sequence| sequence.length = 0);
                break;
            };
            room = left;
            let start = burst.first_sequence.saturating_sub(first);
            sequence.lost.extend(start..start + length);
        }
    }
    for sequence in &mut sequences {
        sequence.lost.sort_unstable();
        sequence.lost.dedup();
        sequence.length = sequence
            .length
            .max(sequence.lost.last().map_or(0, |last| last + 1));
    }
    sequences
}
