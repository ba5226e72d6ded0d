//! The control session between client and agent: what they say to each other, and the authenticated frames on
//! the TCP connection that carry it. It knows nothing of what a test measures beyond its parameters.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use weir_net::host::HostFacts;
use weir_net::tcp::TcpReading;
use weir_results::Record;
use weir_wire::frame::{FrameOpener, FrameSealer, Role};

use crate::flows::{FlowsRequest, ReceiverReport, SenderReport};
use crate::limits::Limits;
use crate::path_mtu::MtuReport;
use crate::rtt::{ReflectorReport, RttRequest};
use crate::tcp_throughput::TcpRequest;

/// A peer that says nothing for this long is gone.
pub(crate) const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// How long an agent may take to open its side of a test.
pub(crate) const READY_LIMIT: Duration = Duration::from_secs(20);
/// How often each side says that it is there.
const BEAT_INTERVAL: Duration = Duration::from_secs(1);

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

/// The control connection failed.
#[derive(Debug, Error)]
pub(crate) enum ControlError {
    #[error("the control connection was closed")]
    Closed,
    #[error("nothing heard on the control connection for {} s", SILENCE_LIMIT.as_secs())]
    Silent,
    #[error("the control connection failed: {0}")]
    Io(io::Error),
    #[error("an unreadable control message: {0}")]
    Message(String),
}

impl From<io::Error> for ControlError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted => ControlError::Closed,
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ControlError::Silent,
            _ => ControlError::Io(error),
        }
    }
}

/// The sending half; clones share the connection.
#[derive(Clone)]
pub(crate) struct ControlWriter {
    inner: Arc<Mutex<(TcpStream, FrameSealer)>>,
}

impl ControlWriter {
    pub(crate) fn send<M: Serialize>(&self, message: &M) -> Result<(), ControlError> {
        let payload =
            serde_json::to_vec(message).map_err(|error| ControlError::Message(error.to_string()))?;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (stream, sealer) = &mut *inner;
        let header = sealer
            .seal(&payload)
            .map_err(|error| ControlError::Message(error.to_string()))?;
        let mut frame = Vec::with_capacity(header.len() + payload.len());
        frame.extend_from_slice(&header);
        frame.extend_from_slice(&payload);
        stream.write_all(&frame)?;
        Ok(())
    }

    fn close(&self) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection that is already gone cannot be shut down; both end the same.
        let _ = inner.0.shutdown(Shutdown::Both);
    }
}

/// Both halves. A thread reads, another keeps the connection alive; both end when this is dropped.
pub(crate) struct Control<M> {
    pub writer: ControlWriter,
    pub incoming: Receiver<Result<M, ControlError>>,
}

impl<M: DeserializeOwned + Send + 'static> Control<M> {
    /// Takes over a connection whose handshake is done. `beat` is the message that says "I am here".
    pub(crate) fn start<B: Serialize + Send + 'static>(
        stream: TcpStream,
        control_key: &[u8; 32],
        role: Role,
        beat: B,
    ) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_LIMIT))?;
        stream.set_write_timeout(Some(SILENCE_LIMIT))?;
        let mut reading = stream.try_clone()?;
        let mut opener = FrameOpener::new(control_key, role);
        let writer = ControlWriter {
            inner: Arc::new(Mutex::new((stream, FrameSealer::new(control_key, role)))),
        };
        let (sender, incoming) = channel();
        std::thread::Builder::new()
            .name("control-read".into())
            .spawn(move || {
                loop {
                    let message = read_message(&mut reading, &mut opener);
                    let ended = message.is_err();
                    if sender.send(message).is_err() || ended {
                        break;
                    }
                }
            })?;
        let beating = writer.clone();
        std::thread::Builder::new()
            .name("control-beat".into())
            .spawn(move || {
                while beating.send(&beat).is_ok() {
                    std::thread::sleep(BEAT_INTERVAL);
                }
            })?;
        Ok(Control { writer, incoming })
    }
}

impl<M> Drop for Control<M> {
    fn drop(&mut self) {
        self.writer.close();
    }
}

fn read_message<M: DeserializeOwned>(
    stream: &mut TcpStream,
    opener: &mut FrameOpener,
) -> Result<M, ControlError> {
    let mut header = [0; 20];
    stream.read_exact(&mut header)?;
    let bad = |error: &dyn std::fmt::Display| ControlError::Message(error.to_string());
    let length = opener.payload_length(&header).map_err(|error| bad(&error))?;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    opener.open(&header, &payload).map_err(|error| bad(&error))?;
    serde_json::from_slice(&payload).map_err(|error| bad(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::{FlowReport, MOST_FLOWS};
    use weir_results::Quantiles;

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
            received: 1 << 40,
            bytes: 1 << 56,
            lost: 1 << 40,
            late: 1 << 40,
            duplicates: 1 << 40,
            reversals: 1 << 40,
            sequence_breaks: 1 << 40,
            bursts: 1 << 40,
            longest_burst: 1 << 40,
            silences: 1 << 20,
            silent_ns: 1 << 47,
            longest_silence_ns: 1 << 47,
            socket_drops: most,
            owd,
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
