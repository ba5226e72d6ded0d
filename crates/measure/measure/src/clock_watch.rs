//! The offset between the two hosts' clocks, kept up to date while a test runs, by small RTT probes.
//!
//! One-way delays rest on it, so everything computed from it is marked as an estimate.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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

/// Probes of the first volley.
const FIRST_PROBES: u32 = 16;
const FIRST_GAP: Duration = Duration::from_millis(5);
/// From one probe to the next after that.
const GAP: Duration = Duration::from_millis(250);
/// How long the first volley waits for its last answers once one has come, and for any at all.
const LAST_ANSWERS: Duration = Duration::from_millis(200);
const FIRST_ANSWER: Duration = Duration::from_secs(3);
/// How often a watch that waits looks whether it is to end.
const NAP: Duration = Duration::from_millis(5);
/// Probes whose answers count: those of the last 16 s, so that the round trip may be as long.
const REMEMBERED: usize = 64;

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
            exchanges: Exchanges::new(),
        };
        prober.first_volley();
        let current = Arc::new(Mutex::new(prober.estimate()));
        let stop = Stop::default();
        let (shared, ended) = (current.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("clock-watch".into())
            .spawn(move || {
                while !ended.is_set() {
                    prober.send();
                    prober.take_answers(GAP, |_| ended.is_set());
                    *shared.lock().unwrap_or_else(PoisonError::into_inner) = prober.estimate();
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
    exchanges: Exchanges,
}

impl Prober {
    /// A few exchanges close together, so that there is a good estimate before the test begins.
    fn first_volley(&mut self) {
        for _ in 0..FIRST_PROBES {
            self.send();
            self.take_answers(FIRST_GAP, |_| false);
        }
        let all = |exchanges: &Exchanges| exchanges.answered >= u64::from(FIRST_PROBES);
        self.take_answers(FIRST_ANSWER, |exchanges| exchanges.answered > 0);
        self.take_answers(LAST_ANSWERS, all);
    }

    fn send(&mut self) {
        let (sequence, sent) = self.exchanges.send(clock::unix_ns());
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

    /// Takes what comes within `limit`, to probes sent before as well; less when there is `enough`.
    fn take_answers(&mut self, limit: Duration, enough: impl Fn(&Exchanges) -> bool) {
        let deadline = Instant::now() + limit;
        let mut buffer = [0; 256];
        while Instant::now() < deadline && !enough(&self.exchanges) {
            match self.socket.receive_blocking(&mut buffer) {
                Ok(Some((length, _, told))) => {
                    let received = told.kernel_ns.unwrap_or_else(clock::unix_ns);
                    if let Ok(reply) = RttReply::decode(&self.key, self.session, &buffer[..length]) {
                        self.exchanges.answered(&reply, received);
                    }
                }
                Ok(None) => {}
                // A socket that fails at once must not be asked in a tight loop.
                Err(_) => std::thread::sleep(NAP),
            }
        }
    }

    fn estimate(&self) -> Option<ClockEstimate> {
        let estimator = &self.exchanges.estimator;
        estimator.estimate(clock::unix_ns()).map(ClockEstimate::from)
    }
}

/// Which probes are on their way, and what their answers say. Pure. The answer to any of the last probes counts: on a
/// long path several are under way at once.
struct Exchanges {
    /// Send times by sequence modulo their number; none once answered.
    sent: [Option<(u32, u64)>; REMEMBERED],
    next: u32,
    answered: u64,
    estimator: OffsetEstimator,
}

impl Exchanges {
    fn new() -> Self {
        Exchanges {
            sent: [None; REMEMBERED],
            next: 0,
            answered: 0,
            estimator: estimator(),
        }
    }

    /// A probe leaves; its number, and its time as given.
    fn send(&mut self, unix_ns: u64) -> (u32, u64) {
        let sequence = self.next;
        self.sent[sequence as usize % REMEMBERED] = Some((sequence, unix_ns));
        self.next = sequence.wrapping_add(1);
        (sequence, unix_ns)
    }

    /// An answer came at `received`. One that nobody waits for changes nothing.
    fn answered(&mut self, reply: &RttReply, received: u64) {
        let slot = &mut self.sent[reply.sequence.0 as usize % REMEMBERED];
        let Some((_, sent)) = slot.take_if(|(sequence, _)| *sequence == reply.sequence.0) else {
            return;
        };
        let arrived = match reply.reflector_kernel_receive.0 {
            0 => reply.reflector_receive.0,
            kernel => kernel,
        };
        self.answered += 1;
        self.estimator.add(Exchange {
            t1: sent,
            t2: arrived,
            t3: reply.reflector_send.0,
            t4: received,
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn answers_count_however_many_probes_are_under_way() {
        // A round trip of 700 ms, three probes long, to a clock that is an hour ahead.
        let (rtt, ahead) = (700 * MS, 3_600_000 * MS);
        let mut exchanges = Exchanges::new();
        let mut on_the_way = std::collections::VecDeque::new();
        for turn in 0..40 {
            let now = 1_000_000 * MS + turn * 250 * MS;
            while on_the_way.front().is_some_and(|(sent, _)| sent + rtt <= now) {
                let (sent, sequence) = on_the_way.pop_front().expect("there is one");
                let there = UnixNanos(sent + rtt / 2 + ahead);
                let reply = RttReply {
                    sequence: Sequence(sequence),
                    reflector_receive: there,
                    reflector_send: there,
                    ..RttReply::default()
                };
                exchanges.answered(&reply, sent + rtt);
                // A copy says nothing new.
                exchanges.answered(&reply, sent + 2 * rtt);
            }
            let (sequence, sent) = exchanges.send(now);
            on_the_way.push_back((sent, sequence));
        }
        assert_eq!(exchanges.answered, 40 - 3);
        let estimate = exchanges
            .estimator
            .estimate(1_010_000 * MS)
            .expect("answers have come");
        assert_eq!(estimate.offset_ns, ahead as i64);
        assert_eq!(estimate.uncertainty_ns, rtt / 2);
    }

    #[test]
    fn an_answer_to_a_probe_of_long_ago_is_not_taken_for_another() {
        let mut exchanges = Exchanges::new();
        for probe in 0..=REMEMBERED as u64 {
            exchanges.send(probe);
        }
        let old = RttReply::default();
        exchanges.answered(&old, 1);
        assert_eq!(exchanges.answered, 0);
    }
}
