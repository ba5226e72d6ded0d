//! What a diagnosis consists of: names, sentences, evidence, confidence, advice. It must not know how they were found.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_results::Direction;

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingName {
    /// Lost packets that no other finding explains.
    UnexplainedLoss,
    /// How many routes the flows take, and which flow is on which.
    Routes,
    /// Which ports of a flow decide on its route.
    HashedPorts,
    /// Loss differs between routes or flows.
    RouteLoss,
    /// One flow, several or all delivered nothing for a while.
    Outage,
    /// Rate of loss and whether it is independent or comes in bursts.
    LossProcess,
    /// More flows change nothing or make it worse: the network does not tell them apart.
    FiveTupleIgnored,
    /// Each flow is held at a rate.
    FlowRateCap,
    /// Packets per second are held at a number.
    PacketRateCap,
    /// The path does not carry the rate: queues fill, then overflow.
    Congestion,
    /// Loss begins above a payload length though the path MTU is larger.
    PayloadCliff,
    /// Packets of one flow overtook each other.
    Reversals,
    /// Several flows lose packets in the same short windows.
    CorrelatedLoss,
    /// Packets were lost on a host.
    HostLoss,
    /// A hypervisor throttled a host: an allowance of its instance was exceeded.
    AllowanceExceeded,
    /// A receive queue of a driver was full.
    ReceiveQueueFull,
    /// A hypervisor gave CPU time of a host to others.
    CpuStolen,
    /// One core of a host receives the packets of all queues of its card.
    OneCore,
    /// The rate fell during a test and stayed lower: burst credits of an instance were spent.
    RateDrop,
    /// The sender could not keep its schedule.
    LateSender,
    /// The level of the RTT.
    RttLevel,
    /// The RTT is not what it was in the last run of the same pair.
    RttChange,
    /// The RTT grows with the position in a window: queueing and serialization.
    WindowGrowth,
    /// The RTT grows with the length of packets: store and forward, fragmentation.
    LengthGrowth,
    /// TCP is held by a window, and not by the path.
    TcpWindow,
    /// UDP loses packets where TCP, as fast, does not.
    UdpLoss,
    /// What a load adds to the RTT.
    DelayUnderLoad,
    /// IPv4 beside IPv6.
    AddressFamilies,
    /// Packets capable of ECN arrive as not capable of it.
    EcnCleared,
    /// Packets capable of ECN do not arrive.
    EcnDropped,
}

impl FindingName {
    /// The name as JSON has it.
    pub fn as_str(self) -> &'static str {
        match self {
            FindingName::UnexplainedLoss => "unexplained-loss",
            FindingName::Routes => "routes",
            FindingName::HashedPorts => "hashed-ports",
            FindingName::RouteLoss => "route-loss",
            FindingName::Outage => "outage",
            FindingName::LossProcess => "loss-process",
            FindingName::FiveTupleIgnored => "five-tuple-ignored",
            FindingName::FlowRateCap => "flow-rate-cap",
            FindingName::PacketRateCap => "packet-rate-cap",
            FindingName::Congestion => "congestion",
            FindingName::PayloadCliff => "payload-cliff",
            FindingName::Reversals => "reversals",
            FindingName::CorrelatedLoss => "correlated-loss",
            FindingName::HostLoss => "host-loss",
            FindingName::AllowanceExceeded => "allowance-exceeded",
            FindingName::ReceiveQueueFull => "receive-queue-full",
            FindingName::CpuStolen => "cpu-stolen",
            FindingName::OneCore => "one-core",
            FindingName::RateDrop => "rate-drop",
            FindingName::LateSender => "late-sender",
            FindingName::RttLevel => "rtt-level",
            FindingName::RttChange => "rtt-change",
            FindingName::WindowGrowth => "window-growth",
            FindingName::LengthGrowth => "length-growth",
            FindingName::TcpWindow => "tcp-window",
            FindingName::UdpLoss => "udp-loss",
            FindingName::DelayUnderLoad => "delay-under-load",
            FindingName::AddressFamilies => "address-families",
            FindingName::EcnCleared => "ecn-cleared",
            FindingName::EcnDropped => "ecn-dropped",
        }
    }
}

impl std::fmt::Display for FindingName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.pad(self.as_str())
    }
}

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A property of the path.
    Information,
    /// Something to know before sending media.
    Notice,
    /// Something that harms media.
    Fault,
}

/// One number behind a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it is, as in "packets lost on route B".
    pub what: String,
    /// The number, or numbers, one for each row of the query where there are several.
    pub value: Value,
    /// Its unit, where it has one.
    pub unit: Option<String>,
}

impl Evidence {
    /// A count, a ratio or a word.
    pub fn of(what: impl Into<String>, value: impl Into<Value>) -> Self {
        Evidence {
            what: what.into(),
            value: value.into(),
            unit: None,
        }
    }

    /// A quantity.
    pub fn in_unit(what: impl Into<String>, value: impl Into<Value>, unit: &str) -> Self {
        Evidence {
            unit: Some(unit.to_owned()),
            ..Evidence::of(what, value)
        }
    }
}

/// How sure a finding is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// The statistical test, as in "chi-squared test of equal loss on all flows".
    pub test: String,
    /// Probability of evidence as strong as this if the finding were wrong; none where the test counts
    /// exactly.
    pub p_value: Option<f64>,
    /// That what was counted is there, 0 to 1.
    pub level: f64,
    /// That the named cause is the cause; none where the finding names none.
    #[serde(default)]
    pub cause: Option<Cause>,
}

/// How sure a cause is, beside what it is the cause of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// 0 to 1; none where nothing has judged it.
    pub level: Option<f64>,
    /// Why so.
    pub because: String,
}

impl Cause {
    /// Less sure by a factor, for a reason.
    pub(crate) fn doubt(&mut self, factor: f64, reason: &str) {
        self.level = self.level.map(|level| level * factor);
        self.because.push_str("; less sure since ");
        self.because.push_str(reason);
    }
}

impl Confidence {
    /// By a test that gave this probability; the level is what is left of it to 1.
    pub fn by_test(test: impl Into<String>, p_value: f64) -> Self {
        let p_value = p_value.clamp(0.0, 1.0);
        Confidence {
            test: test.into(),
            p_value: Some(p_value),
            level: 1.0 - p_value,
            cause: None,
        }
    }

    /// By counting; `level` is how far the counters themselves can be trusted.
    pub fn by_count(test: impl Into<String>, level: f64) -> Self {
        Confidence {
            test: test.into(),
            p_value: None,
            level,
            cause: None,
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is about.
    pub name: FindingName,
    /// How much it matters.
    pub severity: Severity,
    /// Direction in which it was measured; none where it has none.
    pub direction: Option<Direction>,
    /// What was found, in one line for lists: a clause without a full stop.
    pub brief: String,
    /// What was found, in a sentence.
    pub sentence: String,
    /// The numbers. A column of the query's result bears the name of the evidence that it yields.
    pub evidence: Vec<Evidence>,
    /// SQL on the results store that yields the counts among them.
    pub query: String,
    /// How sure it is.
    pub confidence: Confidence,
    /// What to do about it.
    pub action: String,
}

/// How lost packets are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Recovery {
    /// No loss was seen that needs any.
    None,
    /// Forward error correction.
    Fec {
        /// Repair packets per source packet, 0 to 1.
        overhead: f64,
        /// Repair packets for each span.
        repair_packets: u32,
        /// Source packets that one repair packet covers.
        span_packets: u32,
        /// How long the span is at the media's packet rate, nanoseconds.
        latency_ns: u64,
    },
    /// Retransmission.
    Arq {
        /// Latency to allow for, nanoseconds; none where the RTT was not measured.
        latency_ns: Option<u64>,
        /// Retransmissions of one packet that it has time for, at most.
        rounds: u32,
    },
}

impl Recovery {
    /// Latency to allow for, nanoseconds; none where there is none, or it is not known.
    pub fn latency_ns(&self) -> Option<u64> {
        match *self {
            Recovery::None => None,
            Recovery::Fec { latency_ns, .. } => Some(latency_ns),
            Recovery::Arq { latency_ns, .. } => latency_ns,
        }
    }

    /// It is a code.
    pub fn is_code(&self) -> bool {
        matches!(self, Recovery::Fec { .. })
    }

    /// It is retransmission.
    pub fn is_arq(&self) -> bool {
        matches!(self, Recovery::Arq { .. })
    }
}

/// `no FEC and no ARQ`, `FEC 3 per 640`, `ARQ of up to 2 rounds`.
impl fmt::Display for Recovery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Recovery::None => formatter.write_str("no FEC and no ARQ"),
            Recovery::Fec {
                repair_packets,
                span_packets,
                ..
            } => write!(formatter, "FEC {repair_packets} per {span_packets}"),
            Recovery::Arq { rounds: 1, .. } => formatter.write_str("ARQ of up to 1 round"),
            Recovery::Arq { rounds, .. } => write!(formatter, "ARQ of up to {rounds} rounds"),
        }
    }
}

/// Settings for media on this path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// Flows.
    pub flows: u16,
    /// UDP payload bytes.
    pub payload: u32,
    /// Packets that a flow sends back to back at most, `weir send --burst`; none: as usual.
    pub burst: Option<u32>,
    /// These flows and this payload were measured together.
    pub measured_together: bool,
    /// How lost packets are repaired.
    pub recovery: Recovery,
    /// Target residual loss, 0 to 1.
    pub target_loss: f64,
    /// Loss without recovery, by the fitted loss process: where nothing was lost, its upper bound.
    pub expected_loss: f64,
    /// Residual loss, by the fitted loss process.
    pub expected_residual_loss: f64,
    /// The same for the 95 % bounds of the loss.
    pub expected_residual_interval: (f64, f64),
    /// The recovery meets the target: by trial, or where failures are too rare to be counted by the forecast, corrected by
    /// a trial with more loss.
    pub meets_target: bool,
    /// Where nothing was lost, and that does not show the target: the duration of a test without loss that would,
    /// nanoseconds.
    pub longer_test_ns: Option<u64>,
    /// Residual loss by trial on the twin of the path, with the loss at its upper bound, and its 95 % bounds; none without a
    /// trial.
    pub simulated_residual_loss: Option<(f64, f64, f64)>,
    /// The forecast against a trial with so much loss that failures can be counted; none where there was no need.
    pub check: Option<ForecastCheck>,
    /// How long a receiver has to wait for repairs, `weir recv --latency`, nanoseconds.
    pub latency_ns: u64,
    /// What was compared, the cheapest first, up to the recommendation.
    pub compared: Vec<Compared>,
    /// The cost of surviving a flow and a route that are dark for a second; empty without trials.
    pub survival: Vec<Survival>,
    /// All of it in words.
    pub sentence: String,
}

/// What a stream is to survive: it is dark for a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Survive {
    /// One flow.
    Flow,
    /// The route with the most flows.
    Route,
}

/// The price of surviving something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Survival {
    /// What is dark for a second.
    pub of: Survive,
    /// Flows.
    pub flows: u16,
    /// The cheapest recovery that leaves nothing missing; none where nothing that was tried does.
    pub recovery: Option<Recovery>,
    /// Packets sent beyond those of the media, as a share of these.
    pub overhead: f64,
    /// How long a receiver has to wait for repairs, nanoseconds.
    pub latency_ns: u64,
    /// All of it in words.
    pub sentence: String,
}

/// A way to repair losses that was compared with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The recovery.
    pub recovery: Recovery,
    /// Packets sent beyond those of the media, as a share of these.
    pub overhead: f64,
    /// Residual loss by the forecast, with the loss at its upper bound.
    pub expected: f64,
    /// The same by trial on the twin of the path, with its 95 % bounds; none without a trial.
    pub simulated: Option<(f64, f64, f64)>,
    /// Packets of media in that trial.
    pub simulated_packets: u64,
    /// It meets the target.
    pub meets_target: bool,
}

/// A forecast of residual loss against a trial in which the recovery fails often enough to be counted: under more loss of
/// the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForecastCheck {
    /// What was tried.
    pub recovery: Recovery,
    /// Loss before recovery, 0 to 1.
    pub loss: f64,
    /// Residual loss by the forecast.
    pub expected: f64,
    /// By the trial, with its 95 % bounds.
    pub simulated: (f64, f64, f64),
    /// Packets of the trial.
    pub packets: u64,
}
