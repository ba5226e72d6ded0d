//! What a multi-flow test found, from the accounts of both its ends. Pure: reports and counters come in, a summary
//! comes out; it knows no session and no clock.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use weir_record::{Direction, HostSecond, Record, Side};
use weir_stats::{Attribution, DroppedBuffers, DropsOfHosts, Quantiles, attribute, loss_interval};
use weir_units::Rate;
use weir_wire::Spread;

use super::{FlowsPlan, ReceiverReport, SenderReport, StreamAccountPlan};
use crate::MeasureError;
use crate::clock_prober::ClockEstimate;
use crate::host_watch::HostDrops;
use crate::threads::one;

/// A flow is silent after this long, or after this many of its usual gaps, whichever is longer.
const SILENCE_NS: u64 = 100_000_000;
const SILENCE_GAPS: u64 = 20;

/// One direction of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionSummary {
    /// Which way.
    pub direction: Direction,
    /// Asked media rate; none when unpaced.
    pub asked: Option<Rate>,
    /// Media received, over the time of sending or of receiving, whichever is longer: a receiver that a busy host kept from
    /// reading takes many packets at once, and would otherwise have had a rate far above the sender's, or none.
    pub rate: Rate,
    /// Packets sent.
    pub sent: u64,
    /// Packets received in time.
    pub received: u64,
    /// Packets lost after reordering.
    pub lost: u64,
    /// Packets sent of which the receiver does not know: it ended before it learned their number. 0 in a test
    /// that ran to its end.
    #[serde(default)]
    pub unaccounted: u64,
    /// Lost share of the sent, 0 to 1.
    pub loss: f64,
    /// Bounds of the loss, 95 % (Clopper-Pearson).
    pub loss_interval: (f64, f64),
    /// Where the packets that never came were lost; those that came too late are not among them.
    pub attribution: Attribution,
    /// UDP payload bytes of each packet.
    pub length: u32,
    /// Flows.
    pub flows: u16,
    /// Packets sent back to back.
    pub burst: u32,
    /// Trains were cut by the kernel or card on send (GSO).
    pub segmented: bool,
    /// How late bursts left the sender.
    pub schedule_error: Quantiles,
    /// Packet threads of the sender. Summaries stored before there could be several have none.
    #[serde(default = "one")]
    pub sender_threads: u16,
    /// CPU time of the sending threads, nanoseconds.
    pub sender_cpu_ns: u64,
    /// Time over which it was used, nanoseconds.
    pub sender_wall_ns: u64,
    /// Packets that the sender's kernel had no room for.
    pub refused: u64,
    /// The byte limit ended the test.
    pub hit_byte_limit: bool,
    /// The receiver's whole account.
    #[serde(flatten)]
    pub receiver: ReceiverFields,
}

/// The receiver's account without the fields that [`DirectionSummary`] has itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiverFields {
    /// Of the lost ones, those that came after all.
    pub late: u64,
    /// Copies of packets received before.
    pub duplicates: u64,
    /// Arrivals below the highest sequence before.
    pub reordered: u64,
    /// Datagrams that were not of this test.
    pub rejected: u64,
    /// Runs of lost packets.
    pub bursts: u64,
    /// The longest.
    pub longest_burst: u64,
    /// How many runs of each length.
    #[serde(deserialize_with = "number_keys")]
    pub burst_lengths: BTreeMap<u64, u64>,
    /// Windows of 100 ms with loss, by the number of flows that lost in them.
    #[serde(deserialize_with = "number_keys")]
    pub windows_by_flows_losing: BTreeMap<u32, u64>,
    /// Times that all flows were silent at once.
    pub stream_silences: u64,
    /// The longest of them, nanoseconds. Summaries stored before it was kept have none.
    #[serde(default)]
    pub longest_stream_silence_ns: u64,
    /// One-way delay, an estimate.
    pub owd: Quantiles,
    /// Each flow.
    pub per_flow: Vec<super::FlowReport>,
    /// Burst records that were counted but not kept one by one.
    pub events_merged: u64,
    /// The kernel merged datagrams on receive (GRO).
    pub merged_receive: bool,
    /// Datagrams in one receive buffer, on average.
    pub packets_per_buffer: f64,
    /// Receive buffer granted per flow, bytes as the kernel counts.
    pub receive_buffer: u64,
    /// Packet threads of the receiver. Summaries stored before there could be several have none.
    #[serde(default = "one")]
    pub receiver_threads: u16,
    /// CPU time of the receiving threads, and of the one that joins what several have read, nanoseconds.
    pub receiver_cpu_ns: u64,
    /// Time over which it was used, nanoseconds.
    pub receiver_wall_ns: u64,
    /// Why the receiver ended the test itself, if it did.
    pub aborted: Option<String>,
}

/// What a multi-flow test found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowsSummary {
    /// From here to the agent.
    pub forward: Option<DirectionSummary>,
    /// From the agent to here.
    pub reverse: Option<DirectionSummary>,
    /// Offset of the clocks, by which one-way delays were corrected.
    pub clock: Option<ClockEstimate>,
    /// The addresses and ports that the summaries of the directions lack; of a test over sockets.
    #[serde(skip)]
    pub ends: Option<FlowEnds>,
}

/// Both ends of the flows of a test. With the destination ports of the directions, they make the 5-tuples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowEnds {
    /// Address of the host that ran the command.
    pub local: IpAddr,
    /// Address of the agent.
    pub remote: IpAddr,
    /// Source ports of the forward flows: one of each, or one of all.
    pub forward_sources: Vec<u16>,
    /// Source port of all reverse flows.
    pub reverse_source: Option<u16>,
}

impl FlowsSummary {
    /// Why an end gave the test up before its time, if one did: what is in the summary is then not the whole test.
    pub fn aborted(&self) -> Option<MeasureError> {
        let mut directions = self.forward.iter().chain(&self.reverse);
        directions.find_map(|direction| {
            let reason = direction.receiver.aborted.clone()?;
            Some(MeasureError::Aborted {
                reason,
                sent: direction.sent,
                unaccounted: direction.unaccounted,
            })
        })
    }
}

/// Joins the accounts of both ends of one test.
#[derive(Clone, Debug)]
pub struct BothEnds {
    plan: FlowsPlan,
    clock_at_start: ClockEstimate,
    local_drops: HostDrops,
    remote_drops: HostDrops,
}

impl BothEnds {
    /// The test of a plan; `clock_at_start` is the offset that the receiver at this end used.
    pub fn new(plan: FlowsPlan, clock_at_start: ClockEstimate) -> Self {
        BothEnds {
            plan,
            clock_at_start,
            local_drops: HostDrops::default(),
            remote_drops: HostDrops::default(),
        }
    }

    /// Corrects a record's one-way delays by the clock offset known now, and notes what the summary needs.
    pub fn correct(&mut self, record: &mut Record, clock: ClockEstimate) {
        match record {
            Record::StreamSecond(direction, row) => {
                row.owd.shift(self.correction(*direction, clock.offset_ns));
            }
            Record::FlowSecond(direction, row) => {
                row.owd.shift(self.correction(*direction, clock.offset_ns));
            }
            Record::HostSecond(row) => self.drops_of(row).add(row),
            _ => {}
        }
    }

    fn drops_of(&mut self, second: &HostSecond) -> &mut HostDrops {
        match second.side {
            Side::Local => &mut self.local_drops,
            Side::Remote => &mut self.remote_drops,
        }
    }

    /// What to add to a delay that was computed with the offset known to its receiver at the start.
    fn correction(&self, direction: Direction, offset: i64) -> i64 {
        match direction {
            Direction::Forward => -offset,
            Direction::Reverse => offset - self.clock_at_start.offset_ns,
        }
    }

    /// One direction, from its sender's and its receiver's reports and the clock offset at the end.
    pub fn summary(
        &self,
        direction: Direction,
        sender: SenderReport,
        mut receiver: ReceiverReport,
        clock: ClockEstimate,
    ) -> DirectionSummary {
        let (at_receiver, at_sender) = match direction {
            Direction::Forward => (self.remote_drops, self.local_drops),
            Direction::Reverse => (self.local_drops, self.remote_drops),
        };
        let correction = self.correction(direction, clock.offset_ns);
        receiver.owd.shift(correction);
        receiver
            .flows
            .iter_mut()
            .for_each(|flow| flow.owd.shift(correction));
        let socket_drops: u64 = receiver.flows.iter().map(|flow| flow.counts.socket_drops).sum();
        let socket_drops = socket_drops.saturating_sub(at_receiver.damaged);
        let counts = sender.counts;
        let trains = if sender.segmented { at_sender.send } else { 0 };
        let drops = DropsOfHosts {
            socket: DroppedBuffers {
                count: socket_drops,
                packets_each: receiver.packets_per_buffer,
            },
            receiving: at_receiver.receive,
            // A train that the host drops is many packets, but one in the host's count.
            trains: DroppedBuffers {
                count: trains,
                packets_each: counts.sent as f64 / counts.sends.max(1) as f64,
            },
            sending: at_sender.send - trains + at_sender.send_throttled + counts.refused,
        };
        let lost = receiver.lost - receiver.late.min(receiver.lost);
        let attribution = attribute(lost, drops, receiver.lost_in_runs);
        DirectionSummary {
            direction,
            asked: self.plan.rate(),
            rate: Rate::of(receiver.bytes, receiver.active_ns.max(sender.wall_ns)),
            sent: counts.sent,
            received: receiver.received,
            lost: receiver.lost,
            unaccounted: counts
                .sent
                .saturating_sub(receiver.received.saturating_add(receiver.lost)),
            loss: receiver.lost as f64 / counts.sent.max(1) as f64,
            loss_interval: loss_interval(receiver.lost.min(counts.sent), counts.sent),
            attribution,
            length: self.plan.length,
            flows: self.plan.flows,
            burst: self.plan.burst_packets(),
            segmented: sender.segmented,
            schedule_error: sender.schedule_error,
            sender_threads: sender.threads,
            sender_cpu_ns: sender.cpu_ns,
            sender_wall_ns: sender.wall_ns,
            refused: counts.refused,
            hit_byte_limit: sender.hit_byte_limit,
            receiver: receiver.into(),
        }
    }
}

impl From<ReceiverReport> for ReceiverFields {
    fn from(report: ReceiverReport) -> Self {
        ReceiverFields {
            late: report.late,
            duplicates: report.duplicates,
            reordered: report.reordered,
            rejected: report.rejected,
            bursts: report.bursts,
            longest_burst: report.longest_burst,
            burst_lengths: report.burst_lengths,
            windows_by_flows_losing: report.windows_by_flows_losing,
            stream_silences: report.stream_silences,
            longest_stream_silence_ns: report.longest_stream_silence_ns,
            owd: report.owd,
            per_flow: report.flows,
            events_merged: report.events_merged,
            merged_receive: report.merged_receive,
            packets_per_buffer: report.packets_per_buffer,
            receive_buffer: report.receive_buffer,
            receiver_threads: report.threads,
            receiver_cpu_ns: report.cpu_ns,
            receiver_wall_ns: report.wall_ns,
            aborted: report.aborted,
        }
    }
}

/// What the receiver of `direction` has to know beforehand.
pub fn account_plan(
    plan: &FlowsPlan,
    direction: Direction,
    ports: Vec<u16>,
    clock: ClockEstimate,
) -> StreamAccountPlan {
    let packet_ns = u64::from(plan.length) * 8_000_000_000 / plan.format.rate().0.max(1);
    let gap_ns = packet_ns * u64::from(plan.flows);
    StreamAccountPlan {
        direction,
        ports,
        depth: plan.depth(),
        spread: Spread::new(plan.spread, plan.flows, plan.seed),
        first_sequence: plan.first_sequence,
        silence_ns: SILENCE_NS.max(SILENCE_GAPS * gap_ns),
        // Receiver's clock minus sender's: this end is the receiver of the reverse direction.
        clock_offset_ns: if direction == Direction::Reverse {
            -clock.offset_ns
        } else {
            0
        },
    }
}

/// A map whose keys are numbers. JSON writes them as text, and a struct that is flattened into another is given them
/// as such.
fn number_keys<'de, D, K>(deserializer: D) -> Result<BTreeMap<K, u64>, D::Error>
where
    D: Deserializer<'de>,
    K: FromStr + Ord,
{
    BTreeMap::<String, u64>::deserialize(deserializer)?
        .into_iter()
        .map(|(key, count)| {
            let number = key
                .parse()
                .map_err(|_| Error::custom(format!("the key '{key}' is no number")))?;
            Ok((number, count))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use weir_stats::SendCounts;

    use super::*;

    #[test]
    fn a_summary_with_losses_comes_back_from_its_json() {
        let report = ReceiverReport {
            lost: 7,
            burst_lengths: BTreeMap::from([(1, 5), (2, 1)]),
            windows_by_flows_losing: BTreeMap::from([(1, 3)]),
            ..ReceiverReport::default()
        };
        let sender = SenderReport {
            counts: SendCounts {
                sent: 1_000,
                ..SendCounts::default()
            },
            ..SenderReport::default()
        };
        let summary = BothEnds::new(FlowsPlan::default(), ClockEstimate::default()).summary(
            Direction::Forward,
            sender,
            report,
            ClockEstimate::default(),
        );
        let json = serde_json::to_value(&summary).expect("a value");
        assert_eq!(json["burst_lengths"]["2"], 1);
        let back: DirectionSummary = serde_json::from_value(json.clone()).expect("a summary");
        assert_eq!(back, summary);
        let mut broken = json;
        broken["burst_lengths"]["two"] = 1.into();
        let said = serde_json::from_value::<DirectionSummary>(broken).expect_err("no number");
        assert!(said.to_string().contains("'two'"), "{said}");
    }

    #[test]
    fn the_rate_is_that_of_the_slower_end() {
        let rate = |wall_ns, active_ns| {
            let sender = SenderReport {
                wall_ns,
                ..SenderReport::default()
            };
            let receiver = ReceiverReport {
                bytes: 25_000_000,
                active_ns,
                ..ReceiverReport::default()
            };
            let clock = ClockEstimate::default();
            let ends = BothEnds::new(FlowsPlan::default(), clock);
            ends.summary(Direction::Forward, sender, receiver, clock).rate
        };
        assert_eq!(
            rate(1_000_000_000, 4_000_000_000),
            Rate(50_000_000),
            "a queue emptied after the last was sent"
        );
        assert_eq!(rate(1_000_000_000, 0), Rate(200_000_000), "all were read at once");
    }
}
