//! Stages of a packet before it gets a route: the MTU, caps on rates, and losses that depend on length
//! or on the number of flows. It must not know about routes.

use crate::packet::{DropCause, FlowKey, Nanos};
use crate::random::{Purpose, Stream};
use crate::recent_flows::RecentFlows;
use crate::spec::{DirectionSpec, LongPacketLoss, Mtu, TooBig};
use crate::token_bucket::{Level, TokenRate};

/// How long a flow counts as active.
const FLOW_MEMORY_NS: u64 = 1_000_000_000;

/// The checks of one direction and their state.
pub(crate) struct Admission {
    mtu: Mtu,
    long_packets: Option<(LongPacketLoss, Stream)>,
    flow_rate: Option<FlowRates>,
    packet_rate: Option<(TokenRate, Level)>,
    extra_flows: Option<ExtraFlows>,
}

impl Admission {
    pub(crate) fn new(spec: &DirectionSpec, seed: u64) -> Self {
        Self {
            mtu: spec.mtu,
            long_packets: spec
                .long_packet_loss
                .map(|loss| (loss, Stream::new(seed, Purpose::LongPackets, 0))),
            flow_rate: spec.flow_rate.map(|cap| FlowRates {
                // One token is one bit, so that both rate and burst are whole numbers.
                rate: TokenRate::new(cap.rate, cap.burst.saturating_mul(8)),
                levels: RecentFlows::new(),
                by_host_pair: spec.hide_five_tuple,
            }),
            packet_rate: spec.packet_rate.map(|cap| {
                let rate = TokenRate::new(cap.rate, cap.burst);
                (rate, rate.full(0))
            }),
            extra_flows: (spec.extra_flow_loss > 0.0).then(|| ExtraFlows {
                loss: spec.extra_flow_loss,
                last_seen: RecentFlows::new(),
                stream: Stream::new(seed, Purpose::ExtraFlows, 0),
            }),
        }
    }

    /// Admits a packet, or returns why not.
    pub(crate) fn admit(&mut self, now: Nanos, length: u32, flow: FlowKey) -> Result<(), DropCause> {
        if length > self.mtu.bytes {
            return Err(match self.mtu.too_big {
                TooBig::Drop => DropCause::TooBig,
                TooBig::Icmp => DropCause::TooBigTold,
            });
        }
        if let Some((long, stream)) = &mut self.long_packets
            && length > long.above
            && stream.chance(long.loss)
        {
            return Err(DropCause::LongPacket);
        }
        if let Some(rates) = &mut self.flow_rate
            && !rates.admit(now.0, length, flow)
        {
            return Err(DropCause::FlowRate);
        }
        if let Some((rate, level)) = &mut self.packet_rate
            && !rate.take(level, now.0, 1)
        {
            return Err(DropCause::PacketRate);
        }
        if let Some(extra) = &mut self.extra_flows
            && extra.loses(now.0, flow.five_tuple)
        {
            return Err(DropCause::ExtraFlow);
        }
        Ok(())
    }
}

/// A token bucket for each flow. Full buckets are dropped, which changes nothing; beyond
/// [`MOST_FLOWS`](crate::recent_flows::MOST_FLOWS) the flow idle for longest is dropped, too, and starts with a full
/// bucket when it returns.
struct FlowRates {
    rate: TokenRate,
    levels: RecentFlows<Level>,
    by_host_pair: bool,
}

impl FlowRates {
    fn admit(&mut self, now: u64, length: u32, flow: FlowKey) -> bool {
        let rate = self.rate;
        self.levels.forget_while(|level| rate.is_full(level, now));
        let flow = if self.by_host_pair {
            flow.host_pair
        } else {
            flow.five_tuple
        };
        rate.take(
            self.levels.seen(flow, || rate.full(now)),
            now,
            u64::from(length) * 8,
        )
    }
}

/// Loss that grows with the number of flows.
struct ExtraFlows {
    loss: f64,
    last_seen: RecentFlows<u64>,
    stream: Stream,
}

impl ExtraFlows {
    fn loses(&mut self, now: u64, flow: u64) -> bool {
        *self.last_seen.seen(flow, || now) = now;
        self.last_seen.forget_while(|&seen| now - seen >= FLOW_MEMORY_NS);
        let extra = self.last_seen.len() - 1;
        self.stream.chance(self.loss * extra as f64)
    }
}
