//! The offset between the two hosts' clocks, kept up to date while a test runs, by small RTT probes.
//!
//! One-way delays rest on it, so everything computed from it is marked as an estimate.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_net::{UdpOptions, UdpSocket, clock};
use weir_stats::{ClockOffset, Exchange, OffsetEstimator};
use weir_wire::{
    RTT_HEADER_LENGTH, RttReply, RttRequest as RttRequestPacket, Sequence, SessionId, UdpKey, UnixNanos,
};

use crate::{MeasureError, Stop};

/// Offset of the remote clock against the local one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockEstimate {
    /// Remote clock minus local clock, nanoseconds.
    pub offset_ns: i64,
    /// Bound on the error: half of the smallest round trip seen.
    pub uncertainty_ns: u64,
    /// How fast the two drift apart, parts per million; none before half a minute.
    pub drift_ppm: Option<f64>,
}

impl From<ClockOffset> for ClockEstimate {
    fn from(offset: ClockOffset) -> Self {
        ClockEstimate {
            offset_ns: offset.offset_ns,
            uncertainty_ns: offset.uncertainty_ns,
            drift_ppm: offset.drift_ppm,
        }
    }
}

const FIRST_PROBES: u32 = 16;
const FIRST_GAP: Duration = Duration::from_millis(5);
const GAP: Duration = Duration::from_millis(250);
const REPLY_LIMIT: Duration = Duration::from_millis(200);

/// A thread that probes the agent's reflector until dropped.
pub(crate) struct ClockWatch {
    current: Arc<Mutex<Option<ClockEstimate>>>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl ClockWatch {
    /// Sends a first volley and waits for its answers, then goes on in the background.
    pub(crate) fn start(socket: UdpSocket, session: SessionId, key: UdpKey) -> Result<Self, MeasureError> {
        socket.set_receive_timeout(REPLY_LIMIT)?;
        let mut prober = Prober {
            socket,
            session,
            key,
            sequence: 0,
            estimator: estimator(),
        };
        for _ in 0..FIRST_PROBES {
            prober.exchange();
            std::thread::sleep(FIRST_GAP);
        }
        let current = Arc::new(Mutex::new(prober.estimate()));
        let stop = Stop::default();
        let (shared, ended) = (current.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("clock-watch".into())
            .spawn(move || {
                while !ended.is_set() {
                    std::thread::sleep(GAP);
                    prober.exchange();
                    *shared.lock().unwrap_or_else(PoisonError::into_inner) = prober.estimate();
                }
            })
            .map_err(|error| MeasureError::Internal(format!("cannot start a thread: {error}")))?;
        Ok(ClockWatch {
            current,
            stop,
            thread: Some(thread),
        })
    }

    /// The estimate now; none when no probe has come back.
    pub(crate) fn estimate(&self) -> Option<ClockEstimate> {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClockWatch {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            // A watch that broke off leaves its last estimate behind.
            let _ = thread.join();
        }
    }
}

struct Prober {
    socket: UdpSocket,
    session: SessionId,
    key: UdpKey,
    sequence: u32,
    estimator: OffsetEstimator,
}

impl Prober {
    fn exchange(&mut self) {
        let sent = clock::unix_ns();
        let request = RttRequestPacket {
            session: self.session,
            sequence: Sequence(self.sequence),
            window_size: 1,
            length: RTT_HEADER_LENGTH as u16,
            sent: UnixNanos(sent),
            ..RttRequestPacket::default()
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut packet = [0; RTT_HEADER_LENGTH];
        request.encode(&self.key, &mut packet);
        // A probe that cannot be sent or is not answered leaves the estimate as it was.
        if self.socket.send(&packet).is_err() {
            return;
        }
        let mut buffer = [0; 256];
        while let Ok(Some((length, _, told))) = self.socket.receive_blocking(&mut buffer) {
            let received = told.kernel_ns.unwrap_or_else(clock::unix_ns);
            if let Ok(reply) = RttReply::decode(&self.key, self.session, &buffer[..length])
                && reply.sequence == request.sequence
            {
                let arrived = if reply.reflector_kernel_receive.0 != 0 {
                    reply.reflector_kernel_receive.0
                } else {
                    reply.reflector_receive.0
                };
                self.estimator.add(Exchange {
                    t1: sent,
                    t2: arrived,
                    t3: reply.reflector_send.0,
                    t4: received,
                });
                return;
            }
        }
    }

    fn estimate(&self) -> Option<ClockEstimate> {
        self.estimator.estimate(clock::unix_ns()).map(ClockEstimate::from)
    }
}

/// The offset rests on the best exchange of half a minute, the drift on the best of each ten seconds.
pub fn estimator() -> OffsetEstimator {
    OffsetEstimator::new(30_000_000_000, 10_000_000_000)
}

/// The socket that clock probes are sent from.
pub(crate) fn probe_options() -> UdpOptions {
    UdpOptions {
        receive_timestamps: true,
        ..UdpOptions::default()
    }
}
