//! The parameters of a multi-flow test, as the user gives them and as they go to the agent.

use serde::{Deserialize, Serialize};
use weir_stats::ReorderDepth;
use weir_units::{FrameRate, Rate};
use weir_wire::SpreadKind;

use crate::threads::{Threads, one};
use crate::{Limits, MeasureError, VideoFormat};

/// Shortest payload: the packet header alone.
pub const SHORTEST: u32 = weir_wire::FLOW_HEADER_LENGTH as u32;

/// Longest payload: what an IPv4 packet holds.
const LONGEST: u32 = 65_507;
/// Payload length of a stored plan whose length the path MTU decides, which is found after the run has begun.
pub const LENGTH_FROM_PATH_MTU: u32 = 0;
/// Most flows in one test. Its final report has an entry for each, and travels in one control frame of at most 1 MiB.
pub const MOST_FLOWS: u16 = 1024;
/// Most bytes in one burst unless asked otherwise: what a receiving socket of default size can hold.
const BURST_BYTES: u32 = 256 * 1024;

/// Time that a burst of media stands for at most, nanoseconds: `weir send` sends no longer ones.
const MEDIA_BURST_NS: u64 = 2_000_000;

/// Longest time that a reordering buffer may wait: a receiver lives on for some times as long after a test.
const MOST_REORDER_NS: u64 = 10_000_000_000;
/// Longest burst that can be asked for, packets: bounds what a sender holds in memory at once.
const MOST_BURST: u32 = 1024;

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowsWays {
    /// From here to the agent.
    Forward,
    /// From the agent to here.
    Reverse,
    /// Both at once.
    Both,
}

impl FlowsWays {
    /// The client sends.
    pub fn forward(self) -> bool {
        self != FlowsWays::Reverse
    }

    /// The agent sends.
    pub fn reverse(self) -> bool {
        self != FlowsWays::Forward
    }

    /// What each sender may send so that all together send no more than `bytes`.
    pub fn share(self, bytes: u64) -> u64 {
        if self == FlowsWays::Both { bytes / 2 } else { bytes }
    }
}

/// Which port of its 5-tuple makes a flow another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariedPort {
    /// All flows leave from one port, each to a port of its own.
    #[default]
    Destination,
    /// Each flow leaves from a port of its own, all to one port. In the forward direction only.
    Source,
}

/// A multi-flow test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowsPlan {
    /// What is carried.
    pub format: VideoFormat,
    /// Send as fast as the host can rather than at the format's rate.
    pub unpaced: bool,
    /// UDP payload bytes of each packet, Weir's header included.
    pub length: u32,
    /// How many flows.
    pub flows: u16,
    /// How packets are assigned to flows.
    pub spread: SpreadKind,
    /// Most packets sent back to back; none: as many as 256 KiB hold.
    pub burst: Option<u32>,
    /// How long, nanoseconds.
    pub duration_ns: u64,
    /// Which way.
    pub ways: FlowsWays,
    /// How long the receiver waits for packets that others have overtaken.
    pub reorder_packets: u32,
    /// The same in nanoseconds; whichever is reached first counts.
    pub reorder_ns: u64,
    /// Let the kernel or card cut trains of packets (GSO).
    pub segment: bool,
    /// Let the kernel merge packets on receive (GRO).
    pub merge: bool,
    /// Receive buffer to ask for, per flow, bytes.
    pub receive_buffer: u32,
    /// First stream and flow sequence number; anything but 0 is for tests of the 32-bit wrap.
    pub first_sequence: u32,
    /// Seed of the assignment of packets to flows.
    pub seed: u64,
    /// UDP payload bytes that both hosts together may send, the path MTU search included; none: no limit.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// Send packets as capable of ECN, and count those that arrive with a congestion mark.
    #[serde(default)]
    pub ecn: bool,
    /// Which port of its 5-tuple makes a flow another one.
    #[serde(default)]
    pub varied: VariedPort,
    /// Packet threads at each end, in each direction.
    #[serde(default = "Threads::one")]
    pub threads: Threads,
}

impl Default for FlowsPlan {
    fn default() -> Self {
        FlowsPlan {
            format: VideoFormat {
                bytes_per_frame: 5_184_000,
                frame_rate: FrameRate::NTSC_60,
            },
            unpaced: false,
            length: 1400,
            flows: 8,
            spread: SpreadKind::Permuted,
            burst: None,
            duration_ns: 10_000_000_000,
            ways: FlowsWays::Forward,
            reorder_packets: 65_536,
            reorder_ns: 50_000_000,
            segment: true,
            merge: true,
            receive_buffer: 4 << 20,
            first_sequence: 0,
            seed: 1,
            max_bytes: None,
            ecn: false,
            varied: VariedPort::Destination,
            threads: Threads::one(),
        }
    }
}

impl FlowsPlan {
    /// Packets sent back to back: the asked number, or what 256 KiB hold, as whole rounds over all flows where
    /// that fits.
    pub fn burst_packets(&self) -> u32 {
        let most = self
            .burst
            .unwrap_or_else(|| (BURST_BYTES / self.length.max(1)).clamp(1, 128));
        let flows = u32::from(self.flows.max(1));
        if most > flows { most - most % flows } else { most }.max(1)
    }

    /// The same with bursts as media has them: of no longer than 2 ms of the rate, but of one packet of each flow at least.
    #[must_use]
    pub fn with_bursts_of_media(self) -> Self {
        let in_time = self.format.rate().bytes_in(MEDIA_BURST_NS) / u64::from(self.length.max(1));
        let short = u32::try_from(in_time).unwrap_or(u32::MAX).max(self.flows.into());
        let burst = Some(short).filter(|short| *short < self.burst_packets());
        FlowsPlan {
            burst: burst.or(self.burst),
            ..self
        }
    }

    /// How the receiver's reordering buffer is set.
    pub fn depth(&self) -> ReorderDepth {
        ReorderDepth {
            packets: self.reorder_packets,
            time_ns: self.reorder_ns,
        }
    }

    /// Media rate, or none when unpaced.
    pub fn rate(&self) -> Option<Rate> {
        (!self.unpaced).then(|| self.format.rate())
    }

    /// UDP payload bytes that each sender sends at most, without the limit of `max_bytes`: whole frames, or, unpaced,
    /// what `ceiling` allows and one more burst.
    pub fn most_bytes_each_way(&self, ceiling: Rate) -> u64 {
        if self.unpaced {
            let longest = if self.length == LENGTH_FROM_PATH_MTU {
                LONGEST
            } else {
                self.length
            };
            let burst = u64::from(self.burst_packets()) * u64::from(longest);
            return ceiling.bytes_in(self.duration_ns).saturating_add(burst);
        }
        // The last packet of a frame is as long as its header at least.
        let frame = u64::from(self.format.bytes_per_frame) + u64::from(SHORTEST);
        self.format
            .frame_rate
            .frames_in(self.duration_ns)
            .saturating_mul(frame)
    }

    /// UDP payload bytes of the first burst, which leaves whole or not at all.
    fn first_burst_bytes(&self) -> u64 {
        let packets = self.format.bytes_per_frame.div_ceil(self.length.max(1));
        u64::from(packets.min(self.burst_packets())) * u64::from(self.length)
    }

    /// Bytes that the test will send one way, UDP payload; `ceiling` bounds an unpaced test.
    pub fn bytes(&self, ceiling: Rate) -> u64 {
        self.rate().unwrap_or(ceiling).bytes_in(self.duration_ns)
    }

    /// Checks that there is a flow for each thread.
    ///
    /// # Errors
    /// [`MeasureError::Parameters`], naming the option.
    pub fn check_threads(&self) -> Result<(), MeasureError> {
        match self.threads {
            Threads::Exactly(count) if count > self.flows => Err(MeasureError::Parameters(format!(
                "--threads {count} needs a flow for each thread, and there are {}; give at least --flows {count}",
                self.flows
            ))),
            Threads::Exactly(_) | Threads::Auto => Ok(()),
        }
    }

    /// Checks what can be checked without the agent.
    ///
    /// # Errors
    /// [`MeasureError::Parameters`], naming the option.
    pub fn check(&self) -> Result<(), MeasureError> {
        let refuse = |text: String| Err(MeasureError::Parameters(text));
        if self.length < SHORTEST || self.length > LONGEST {
            return refuse(format!(
                "--length is {} bytes; it can be {SHORTEST} to {LONGEST}",
                self.length
            ));
        }
        if self.flows == 0 || self.flows > MOST_FLOWS {
            return refuse(format!("--flows is {}; it can be 1 to {MOST_FLOWS}", self.flows));
        }
        let frames = self.format.frame_rate;
        if self.format.bytes_per_frame == 0 || frames.numerator == 0 || frames.denominator == 0 {
            return refuse(
                "a rate of zero carries nothing; give --rate, or --bytes-per-frame and --frame-rate".into(),
            );
        }
        if self.burst.is_some_and(|burst| burst > MOST_BURST) {
            return refuse(format!(
                "--burst is more than {MOST_BURST} packets; bursts that long are lost in any queue"
            ));
        }
        if self.burst == Some(0) {
            return refuse("--burst is 0; use at least 1 packet".into());
        }
        if self.varied == VariedPort::Source && self.ways != FlowsWays::Forward {
            return refuse("source ports vary in the forward direction only".into());
        }
        if self.duration_ns == 0 {
            return refuse("--for is 0; give a duration such as --for 10s".into());
        }
        let burst = self.first_burst_bytes();
        if self.max_bytes.is_some_and(|limit| self.ways.share(limit) < burst) {
            let senders = if self.ways == FlowsWays::Both { 2 } else { 1 };
            return refuse(format!(
                "--max-bytes is less than the first burst; use at least {}B, or a lower --burst",
                senders * burst
            ));
        }
        if self.reorder_packets > 1 << 20 {
            return refuse(format!(
                "--reorder-depth is {} packets; at most 1048576",
                self.reorder_packets
            ));
        }
        if self.reorder_ns > MOST_REORDER_NS {
            return refuse("--reorder-depth is more than 10 s; media cannot wait so long".into());
        }
        self.check_threads()
    }

    /// A sender that follows this plan can have sent these packets, in all and on each flow. Reports of the far end are
    /// accepted up to that only: the receiver counts up to it. `ceiling` bounds an unpaced test.
    pub fn can_have_sent(&self, (all, per_flow): &(u64, Vec<u64>), ceiling: Rate) -> bool {
        let packets = if self.unpaced {
            ceiling.bytes_in(self.duration_ns) / u64::from(self.length.max(1))
        } else {
            let frames = self.format.frame_rate.frames_in(self.duration_ns);
            frames.saturating_mul(u64::from(
                self.format.bytes_per_frame.div_ceil(self.length.max(1)),
            ))
        };
        // An unpaced sender is held to its rate by the block.
        let most = packets.saturating_add(packets / 10 + 2 * u64::from(MOST_BURST));
        let sum = per_flow
            .iter()
            .try_fold(0_u64, |sum, sent| sum.checked_add(*sent));
        per_flow.len() == usize::from(self.flows) && sum == Some(*all) && *all <= most
    }
}

/// What the client asks of the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FlowsRequest {
    /// The test.
    pub plan: FlowsPlan,
    /// UDP payload bytes that the agent may send.
    pub max_bytes: u64,
    /// Packet threads of the agent, in each direction; the plan may leave their number open.
    #[serde(default = "one")]
    pub threads: u16,
}

impl FlowsRequest {
    /// Checks the number of threads against the flows of the plan and the limits.
    ///
    /// # Errors
    /// [`MeasureError::Refused`].
    pub(crate) fn check_threads(&self, limits: &Limits) -> Result<(), MeasureError> {
        if self.threads == 0 || self.threads > self.plan.flows {
            let (threads, flows) = (self.threads, self.plan.flows);
            return Err(MeasureError::Refused(format!(
                "{threads} packet threads for {flows} flows"
            )));
        }
        limits.check_threads(self.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_believed_to_have_sent_more_than_the_plan() {
        let plan = FlowsPlan {
            flows: 2,
            ..FlowsPlan::default()
        };
        // 600 frames in 10 s, of ceil(5,184,000 / 1400) = 3703 packets.
        let sent = 600 * 3703;
        let ceiling = Rate(10_000_000_000);
        assert!(plan.can_have_sent(&(sent, vec![sent / 2; 2]), ceiling));
        assert!(!plan.can_have_sent(&(2 * sent, vec![sent; 2]), ceiling));
        assert!(!plan.can_have_sent(&(sent, vec![sent]), ceiling));
        assert!(!plan.can_have_sent(&(u64::MAX, vec![u64::MAX, 1]), ceiling));
        assert!(!plan.can_have_sent(&(sent, vec![u64::MAX, sent + 1]), ceiling));
    }

    #[test]
    fn an_agent_has_a_flow_for_each_thread_and_no_more_threads_than_it_allows() {
        let limits = Limits {
            max_threads: 4,
            ..Limits::default()
        };
        let plan = FlowsPlan {
            flows: 5,
            ..FlowsPlan::default()
        };
        for (threads, allowed) in [
            (0, false),
            (1, true),
            (4, true),
            (5, false),
            (6, false),
            (u16::MAX, false),
        ] {
            let request = FlowsRequest {
                plan: plan.clone(),
                max_bytes: 0,
                threads,
            };
            assert_eq!(request.check_threads(&limits).is_ok(), allowed, "{threads}");
        }
        // An end that says nothing about threads has one.
        let mut json = serde_json::to_value(plan).expect("JSON");
        let removed = json.as_object_mut().and_then(|plan| plan.remove("threads"));
        assert_eq!(removed, Some("1".into()));
        let said: FlowsPlan = serde_json::from_value(json).expect("a plan");
        assert_eq!(said.threads, Threads::one());
    }

    #[test]
    fn no_sender_sends_more_than_its_frames() {
        let plan = FlowsPlan {
            duration_ns: 30_000_000_000,
            ..FlowsPlan::default()
        };
        // 30 s of 60000/1001 frames are 1798.2, so 1799 begin; each may be filled up to a header of 48 bytes.
        let ceiling = Rate(1_000_000_000);
        assert_eq!(plan.most_bytes_each_way(ceiling), 1799 * (5_184_000 + 48));
        let unpaced = FlowsPlan {
            unpaced: true,
            length: 8100,
            ..plan
        };
        // 1 Gbit/s for 30 s, and a burst of 32 packets.
        assert_eq!(unpaced.most_bytes_each_way(ceiling), 3_750_000_000 + 32 * 8100);
    }

    #[test]
    fn a_limit_below_one_burst_is_refused_with_the_least_that_works() {
        let limited = |max_bytes, ways| FlowsPlan {
            length: 1000,
            burst: Some(16),
            max_bytes: Some(max_bytes),
            ways,
            ..FlowsPlan::default()
        };
        assert!(limited(16_000, FlowsWays::Forward).check().is_ok());
        assert!(limited(32_000, FlowsWays::Both).check().is_ok());
        let said = |plan: FlowsPlan| plan.check().expect_err("too low a limit").to_string();
        assert!(said(limited(15_999, FlowsWays::Reverse)).contains("at least 16000B"));
        assert!(said(limited(31_999, FlowsWays::Both)).contains("at least 32000B"));
    }

    #[test]
    fn bursts_of_media_are_of_2_milliseconds_and_of_a_packet_of_each_flow() {
        let burst = |megabits: u64, length, flows| {
            let plan = FlowsPlan {
                format: VideoFormat::of_rate(Rate(megabits * 1_000_000), FrameRate::NTSC_60),
                length,
                flows,
                ..FlowsPlan::default()
            };
            plan.with_bursts_of_media().burst_packets()
        };
        assert_eq!((burst(2_500, 1400, 8), burst(2_500, 8100, 8)), (128, 32));
        assert_eq!(burst(200, 1400, 8), 32);
        assert_eq!((burst(50, 1400, 8), burst(50, 8100, 16)), (8, 16));
        assert_eq!(burst(50, 8100, 1), 1);
    }

    #[test]
    fn bursts_are_whole_rounds() {
        let plan = |length, flows, burst| FlowsPlan {
            length,
            flows,
            burst,
            ..FlowsPlan::default()
        };
        assert_eq!(plan(8100, 8, None).burst_packets(), 32);
        assert_eq!(plan(1400, 8, None).burst_packets(), 128);
        assert_eq!(plan(8100, 16, Some(40)).burst_packets(), 32);
        assert_eq!(plan(8100, 16, Some(4)).burst_packets(), 4);
        assert_eq!(plan(65_507, 8, None).burst_packets(), 4);
    }
}
