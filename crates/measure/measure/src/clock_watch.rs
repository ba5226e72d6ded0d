//! The clock watch of a test: a socket and a thread around [`ClockProber`].

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use weir_net::{UdpOptions, UdpSocket, clock};
use weir_wire::{
    RTT_HEADER_LENGTH, RttReply, RttRequest as RttRequestPacket, Sequence, SessionId, UdpKey, UnixNanos,
};

use crate::clock_prober::{ClockEstimate, ClockProber};
use crate::{MeasureError, Stop};

/// How often a watch that waits looks whether it is to end.
const NAP: Duration = Duration::from_millis(5);

/// A thread that probes the agent's reflector until dropped.
pub(crate) struct ClockWatch {
    current: Arc<Mutex<Option<ClockEstimate>>>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl ClockWatch {
    /// Sends a first volley and waits for its answers, then goes on in the background.
    pub(crate) fn start(socket: UdpSocket, session: SessionId, key: UdpKey) -> Result<Self, MeasureError> {
        socket.set_receive_timeout(NAP)?;
        let mut prober = Prober {
            socket,
            session,
            key,
            core: ClockProber::new(clock::monotonic_ns()),
        };
        while !prober.core.is_ready(clock::monotonic_ns()) {
            prober.turn();
        }
        let current = Arc::new(Mutex::new(prober.estimate()));
        let stop = Stop::default();
        let (shared, ended) = (current.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("clock-watch".into())
            .spawn(move || {
                while !ended.is_set() {
                    if prober.turn() {
                        *shared.lock().unwrap_or_else(PoisonError::into_inner) = prober.estimate();
                    }
                }
            })
            .map_err(|error| MeasureError::thread(&error))?;
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
    core: ClockProber,
}

impl Prober {
    /// Sends a probe if one is due, and waits for an answer, a nap at most; returns whether one came.
    fn turn(&mut self) -> bool {
        let now = clock::monotonic_ns();
        if now >= self.core.next_wake() {
            let (sequence, sent) = self.core.wake(now, clock::unix_ns());
            self.send(sequence, sent);
        }
        let mut buffer = [0; 256];
        match self.socket.receive_blocking(&mut buffer) {
            Ok(Some((length, _, ancillary))) => {
                let received = ancillary.kernel_ns.unwrap_or_else(clock::unix_ns);
                let Ok(reply) = RttReply::decode(&self.key, self.session, &buffer[..length]) else {
                    return false;
                };
                let arrived = match reply.reflector_kernel_receive.0 {
                    0 => reply.reflector_receive.0,
                    kernel => kernel,
                };
                let there = (arrived, reply.reflector_send.0);
                self.core
                    .answered(clock::monotonic_ns(), reply.request.sequence.0, there, received)
            }
            Ok(None) => false,
            // A socket that fails at once must not be asked in a tight loop.
            Err(_) => {
                std::thread::sleep(NAP);
                false
            }
        }
    }

    fn send(&self, sequence: u32, sent: u64) {
        let request = RttRequestPacket {
            session: self.session,
            sequence: Sequence(sequence),
            window_size: 1,
            length: RTT_HEADER_LENGTH as u16,
            sent: UnixNanos(sent),
            ..RttRequestPacket::default()
        };
        let mut packet = [0; RTT_HEADER_LENGTH];
        request.encode(&self.key, &mut packet);
        // A probe that cannot be sent or is not answered leaves the estimate as it was.
        let _ = self.socket.send(&packet);
    }

    fn estimate(&self) -> Option<ClockEstimate> {
        self.core.estimate(clock::unix_ns())
    }
}

/// The socket that clock probes are sent from.
pub(crate) fn probe_options() -> UdpOptions {
    UdpOptions {
        receive_timestamps: true,
        ..UdpOptions::default()
    }
}
