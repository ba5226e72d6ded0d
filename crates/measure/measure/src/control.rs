//! What client and agent say to each other in a control session. It knows nothing of what a test measures beyond its
//! parameters.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_net::host::HostFacts;
use weir_net::tcp::TcpReading;
use weir_record::{Direction, Record};
use weir_units::{Rate, format_bytes};

use crate::MeasureError;
use crate::flows::{FlowsRequest, ReceiverReport, SenderReport};
use crate::limits::Limits;
use crate::path_mtu::MtuReport;
use crate::rtt::{ReflectorReport, RttRequest};

/// How long an agent may take to open its side of a test.
pub(crate) const READY_LIMIT: Duration = Duration::from_secs(20);

/// What a client says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToAgent {
    Rtt(RttRequest),
    Flows(FlowsRequest),
    Tcp(TcpRequest),
    /// Answer the client's path MTU probes, then search towards the client.
    Mtu,
    /// The client's sockets are ready: an agent that is to send may begin.
    Go,
    /// The client's part is over.
    Stop(Stopped),
    Beat,
}

/// What the client asks of the agent in a TCP test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpRequest {
    /// Which end sends.
    pub direction: Direction,
    /// Connections at once.
    pub streams: u16,
    /// How long, nanoseconds.
    pub duration_ns: u64,
    /// Rate of all connections together that is not to be passed.
    pub max_rate: Rate,
    /// Bytes to be sent at most, all connections together.
    pub max_bytes: u64,
    /// Window that the receiver holds for each connection, bytes; none where the kernels choose it.
    #[serde(default)]
    pub window_bytes: Option<u64>,
    /// Time at the beginning that does not count for the goodput, nanoseconds: connections are still growing.
    #[serde(default)]
    pub omit_ns: u64,
}

/// Bytes that the windows of a TCP test may have together: each end keeps buffers for them.
const MOST_WINDOWS: u64 = 1 << 30;

impl TcpRequest {
    /// Checks what limits of an agent do not: the room for windows.
    ///
    /// # Errors
    /// [`MeasureError::Refused`] with what to do.
    pub(crate) fn check_windows(&self) -> Result<(), MeasureError> {
        let window = self.window_bytes.unwrap_or(0);
        if window.saturating_mul(u64::from(self.streams)) > MOST_WINDOWS {
            return Err(MeasureError::Refused(format!(
                "windows of {} on {} connections are more than 1 GiB; lower --window or --streams",
                format_bytes(window),
                self.streams
            )));
        }
        Ok(())
    }
}

/// How the client's part of a test ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Stopped {
    /// Packets sent, where the client was the sender of flows.
    pub sent: u64,
    /// The same for each flow; empty where it was not.
    pub sent_per_flow: Vec<u64>,
    /// Before its time: the agent is to stop sending too.
    pub early: bool,
}

/// What an agent says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromAgent {
    Welcome {
        version: String,
        limits: Limits,
        host: Box<HostFacts>,
    },
    Ready(Ready),
    Records(Vec<Record>),
    TcpReadings(Vec<StreamReading>),
    Rtt(ReflectorReport),
    Flows(Box<FlowsReport>),
    /// The agent's part of a TCP test is over.
    Tcp,
    Mtu(MtuReport),
    /// What was asked for is more than is allowed, or makes no sense.
    Refused {
        reason: String,
    },
    /// What was asked for could not be done or finished.
    Failed {
        reason: String,
    },
    Beat,
}

/// The agent's side of a test is open.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ready {
    /// Destination ports for what the client sends.
    pub ports: Vec<u16>,
    /// Port that the agent sends from, for tests in the reverse direction.
    pub source_port: Option<u16>,
    /// Port that reflects clock probes while flows run.
    pub clock_port: Option<u16>,
}

/// The agent's account of a multi-flow test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FlowsReport {
    pub receiver: Option<ReceiverReport>,
    pub sender: Option<SenderReport>,
}

/// `TCP_INFO` of one stream in one second of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StreamReading {
    pub second: u32,
    pub stream: u16,
    pub reading: TcpReading,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::{FlowReport, MOST_FLOWS};
    use weir_stats::{FlowCounts, Quantiles};

    #[test]
    fn the_longest_report_fits_a_frame() {
        const FRAME: usize = 1_048_576;
        let owd = Quantiles {
            count: u64::MAX,
            min: i64::MIN,
            p50: i64::MIN,
            p90: i64::MIN,
            p99: i64::MIN,
            p999: i64::MIN,
            max: i64::MIN,
        };
        let most = u64::from(u32::MAX);
        // The largest value that each can take in a day at ten million packets a second, or in a test of a day.
        let flow = FlowReport {
            port: u16::MAX,
            sent: 1 << 40,
            silences: 1 << 20,
            silent_ns: 1 << 47,
            longest_silence_ns: 1 << 47,
            owd,
            jitter_ns: 1 << 47,
            ttl: Some(u8::MAX),
            counts: FlowCounts {
                received: 1 << 40,
                bytes: 1 << 56,
                lost: 1 << 40,
                late: 1 << 40,
                duplicates: 1 << 40,
                reversals: 1 << 40,
                sequence_breaks: 1 << 40,
                bursts: 1 << 40,
                longest_burst: 1 << 40,
                socket_drops: most,
                ecn_marked: 1 << 40,
                ecn_cleared: 1 << 40,
            },
        };
        let receiver = ReceiverReport {
            owd,
            flows: vec![flow; usize::from(MOST_FLOWS)],
            // As many different lengths as ten million lost packets can have.
            burst_lengths: (1..=4472).map(|length| (length, 1)).collect(),
            windows_by_flows_losing: (1..=u32::from(MOST_FLOWS))
                .map(|flows| (flows, 1 << 20))
                .collect(),
            ..ReceiverReport::default()
        };
        let sender = SenderReport {
            sent_per_flow: vec![1 << 40; usize::from(MOST_FLOWS)],
            ..SenderReport::default()
        };
        let report = FromAgent::Flows(Box::new(FlowsReport {
            receiver: Some(receiver),
            sender: Some(sender),
        }));
        let length = serde_json::to_vec(&report).expect("JSON").len();
        assert!((FRAME / 4..FRAME).contains(&length), "{length} bytes");
    }
}
