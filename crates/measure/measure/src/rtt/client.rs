//! Runs an RTT test from this end: one thread sends windows on time, another takes replies and timestamps.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weir_net::wait::Waiter;
use weir_net::{NetError, UdpOptions, UdpSocket, clock};
use weir_record::{Record, Side};
use weir_stats::SequenceExtender;
use weir_wire::{RTT_HEADER_LENGTH, Sequence};

use super::account::{ReplyTimes, RttAccount};
use super::codec::Codec;
use super::{Probe, ReflectorReport, RttPlan, RttRequest, RttSummary, WindowSender};
use crate::control::{FromAgent, READY_LIMIT, Stopped, ToAgent};
use crate::host_watch::HostWatch;
use crate::path_mtu;
use crate::{MeasureError, Progress, Session, Sink, Stop};

/// How often settled packets are handed on while waiting for the last ones.
const NAP_NS: u64 = 10_000_000;
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Runs a windowed RTT test against an agent.
///
/// # Errors
/// When the agent refuses or is lost, packets do not fit, or none comes back at all. Records taken until then
/// have gone to `sink`.
pub fn run(
    session: &mut Session,
    plan: &RttPlan,
    sink: &dyn Sink,
    stop: &Stop,
) -> Result<RttSummary, MeasureError> {
    plan.check(RTT_HEADER_LENGTH as u32)?;
    let rate = plan.peak_rate();
    session
        .limits
        .check(Some(rate), plan.duration_ns, plan.length.to, 1)?;
    path_mtu::check_fits(session.address().ip(), plan.length.to)?;
    session.send(&ToAgent::Rtt(RttRequest {
        max_length: plan.length.to,
        duration_ns: plan.duration_ns,
        timeout_ns: plan.timeout_ns,
        rate,
        host_counters: sink.wants_host_counters(),
    }))?;
    let port = match session.receive(READY_LIMIT)? {
        FromAgent::Ready(ready) if !ready.ports.is_empty() => ready.ports[0],
        other => return Err(session.unexpected("a ready reflector", &other)),
    };
    let socket = session.udp_socket(&probe_options())?;
    socket.connect(session.agent_port(port))?;
    let codec = Codec::Weir {
        session: session.id(),
        key: session.key(),
    };
    let interface = weir_net::host::interface_towards(session.address().ip());
    let prober = Prober::new(plan, codec, socket, interface);
    let stop = stop.child();
    let mut reported = None;
    let mut from_agent = || match session.receive_within(Duration::ZERO)? {
        Some(FromAgent::Records(records)) => {
            records.into_iter().for_each(|record| sink.record(record));
            Ok(true)
        }
        // An agent that was kept waiting has closed its reflector: what was sent until then is what there is.
        Some(FromAgent::Rtt(report)) => {
            reported = Some(report);
            stop.set();
            Ok(true)
        }
        Some(other) => Err(session.unexpected("records", &other)),
        None => Ok(false),
    };
    prober.run(sink, &stop, &mut from_agent)?;
    let report = match reported {
        Some(report) => report,
        None => {
            session.send(&ToAgent::Stop(Stopped::default()))?;
            await_report(session, sink)?
        }
    };
    let summary = prober.summary(Some(&report));
    nothing_came(&summary, &session.agent_port(port).to_string(), &stop)?;
    Ok(summary)
}

/// The socket that RTT probes are sent from.
pub(super) fn probe_options() -> UdpOptions {
    UdpOptions {
        receive_timestamps: true,
        transmit_timestamps: true,
        receive_buffer: 4 << 20,
        ..UdpOptions::default()
    }
}

/// A test in which nothing at all came back is a fault of the path's set-up, not a measurement.
pub(super) fn nothing_came(summary: &RttSummary, peer: &str, stop: &Stop) -> Result<(), MeasureError> {
    if summary.sent == 0 || summary.received > 0 || stop.is_set() {
        return Ok(());
    }
    Err(MeasureError::Blocked {
        peer: peer.to_owned(),
        hint: format!(
            "all {} packets were lost; does a firewall let UDP to that port pass, and is the reflector running?",
            summary.sent
        ),
    })
}

fn await_report(session: &Session, sink: &dyn Sink) -> Result<ReflectorReport, MeasureError> {
    loop {
        match session.receive(ANSWER_LIMIT)? {
            FromAgent::Rtt(report) => return Ok(report),
            FromAgent::Records(records) => records.into_iter().for_each(|record| sink.record(record)),
            other => return Err(session.unexpected("a report", &other)),
        }
    }
}

/// State that both threads share.
struct Shared {
    account: Mutex<RttAccount>,
    /// Monotonic send time of each packet, by sequence modulo the ring.
    sent_at: Vec<AtomicU64>,
    /// Highest sequence sent.
    last_sent: AtomicU64,
    /// No send has failed: the kernel's numbers of what it sent are sequences.
    transmit_ids_hold: AtomicBool,
    over: AtomicBool,
    hardware: AtomicBool,
    codec: Codec,
    socket: UdpSocket,
}

impl Shared {
    fn sent_at(&self, sequence: u64) -> &AtomicU64 {
        &self.sent_at[sequence as usize % self.sent_at.len()]
    }

    fn account(&self) -> MutexGuard<'_, RttAccount> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A test in progress.
pub(super) struct Prober<'a> {
    plan: &'a RttPlan,
    interface: Option<String>,
    shared: Arc<Shared>,
}

impl<'a> Prober<'a> {
    pub(super) fn new(plan: &'a RttPlan, codec: Codec, socket: UdpSocket, interface: Option<String>) -> Self {
        let shared = Shared {
            account: Mutex::new(RttAccount::new(plan.clone())),
            sent_at: (0..plan.remembered()).map(|_| AtomicU64::new(0)).collect(),
            last_sent: AtomicU64::new(0),
            transmit_ids_hold: AtomicBool::new(true),
            over: AtomicBool::new(false),
            hardware: AtomicBool::new(false),
            codec,
            socket,
        };
        Prober {
            plan,
            interface,
            shared: Arc::new(shared),
        }
    }

    pub(super) fn summary(&self, report: Option<&ReflectorReport>) -> RttSummary {
        self.shared
            .account()
            .summary(report, self.shared.hardware.load(Ordering::Relaxed))
    }

    /// Sends all windows and waits for the last replies. `from_agent` is called now and then to take what the
    /// agent says; it returns whether there was anything.
    pub(super) fn run(
        &self,
        sink: &dyn Sink,
        stop: &Stop,
        from_agent: &mut dyn FnMut() -> Result<bool, MeasureError>,
    ) -> Result<(), MeasureError> {
        self.shared.socket.set_ttl(self.plan.ttl)?;
        if !sink.wants_details() {
            self.shared.account().leave_out_details();
        }
        let (host_records, host_inbox) = channel();
        let taking = Taking::new(self.shared.clone(), sink.patience_ns(), self.plan.length.to)?;
        let watch = sink
            .wants_host_counters()
            .then(|| HostWatch::start(Side::Local, self.interface.clone(), host_records))
            .transpose()?;
        let replies = std::thread::Builder::new()
            .name("rtt-receive".into())
            .spawn(move || taking.run())
            .map_err(|error| MeasureError::thread(&error))?;
        let mut hand_on = |shared: &Shared| -> Result<(), MeasureError> {
            let packets = {
                let mut account = shared.account();
                account.poll(clock::monotonic_ns(), clock::unix_ns());
                account.take_packets()
            };
            packets
                .into_iter()
                .for_each(|packet| sink.record(Record::RttPacket(packet)));
            host_inbox
                .try_iter()
                .flatten()
                .for_each(|record| sink.record(record));
            while from_agent()? {}
            Ok(())
        };
        let sent = self
            .send_windows(sink, stop, &mut hand_on)
            .and_then(|()| self.await_last(stop, &mut hand_on));
        self.shared.over.store(true, Ordering::Relaxed);
        // The thread ends within its waiting time; if it broke off, its last state is what there is.
        let _ = replies.join();
        drop(watch);
        self.shared.account().finish(clock::unix_ns());
        let last = self.shared.account().take_packets();
        last.into_iter()
            .for_each(|packet| sink.record(Record::RttPacket(packet)));
        host_inbox
            .try_iter()
            .flatten()
            .for_each(|record| sink.record(record));
        sent
    }

    fn send_windows(
        &self,
        sink: &dyn Sink,
        stop: &Stop,
        hand_on: &mut dyn FnMut(&Shared) -> Result<(), MeasureError>,
    ) -> Result<(), MeasureError> {
        clock::sharpen_timers();
        let start = clock::monotonic_ns() + 1_000_000;
        let mut packet = vec![0; self.plan.length.to as usize];
        let mut windows = WindowSender::new(self.plan, start);
        let mut next_progress = start;
        while let Some(due) = windows.next_wake().filter(|_| !stop.is_set()) {
            let now = clock::monotonic_ns();
            if now < due {
                if now >= next_progress {
                    next_progress = now + 500_000_000;
                    self.tell(sink, now - start);
                }
                hand_on(&self.shared)?;
                clock::sleep_until(due.min(now + sink.patience_ns()));
            } else if let Some(probe) = windows.wake() {
                self.send_one(&mut packet[..probe.window.length as usize], &probe)?;
            }
        }
        Ok(())
    }

    fn send_one(&self, packet: &mut [u8], probe: &Probe) -> Result<(), MeasureError> {
        let (shared, sequence) = (&self.shared, probe.sequence);
        shared
            .account()
            .sent(clock::monotonic_ns(), probe, clock::unix_ns());
        let now = clock::monotonic_ns();
        shared.sent_at(sequence).store(now, Ordering::Release);
        shared.last_sent.store(sequence, Ordering::Release);
        shared.codec.encode(packet, probe, clock::unix_ns())?;
        match shared.socket.send(packet) {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(weir_net::EMSGSIZE) => {
                Err(path_mtu::too_long_for(&shared.socket, packet.len() as u32))
            }
            // The far port keeps answering by ICMP, or the host is out of buffers: this packet was not sent and
            // will count as lost, which it is. Whether the kernel counted it is not known, so its counts of what it
            // sent later cannot be trusted.
            Err(error)
                if error.kind() == std::io::ErrorKind::ConnectionRefused
                    || error.raw_os_error() == Some(weir_net::ENOBUFS) =>
            {
                shared.transmit_ids_hold.store(false, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => Err(NetError::io("send a probe from", shared.socket.local(), error).into()),
        }
    }

    /// Waits until all packets are settled.
    fn await_last(
        &self,
        stop: &Stop,
        hand_on: &mut dyn FnMut(&Shared) -> Result<(), MeasureError>,
    ) -> Result<(), MeasureError> {
        let deadline = clock::monotonic_ns() + self.plan.timeout_ns;
        while self.shared.account().pending() > 0 && clock::monotonic_ns() < deadline && !stop.is_set() {
            hand_on(&self.shared)?;
            clock::sleep_until(clock::monotonic_ns() + NAP_NS);
        }
        hand_on(&self.shared)
    }

    fn tell(&self, sink: &dyn Sink, elapsed_ns: u64) {
        let account = self.shared.account();
        let (expected, _, lost) = account.counts();
        let bits = 8.0 * account.answered_bytes() as f64;
        let clock = account.clock();
        drop(account);
        if let Some(estimate) = clock {
            sink.clock(estimate);
        }
        sink.progress(Progress {
            elapsed_ns,
            total_ns: self.plan.duration_ns,
            expected,
            lost,
            rate: (bits * 1e9 / elapsed_ns.max(1) as f64) as u64,
        });
    }
}

/// The receiving thread's state. It is made, and its memory touched, before the first packet is sent: a page fault
/// would be measured as round-trip time.
struct Taking {
    shared: Arc<Shared>,
    waiter: Waiter,
    /// Longest wait: how soon it sees that the test is over, milliseconds.
    patience_ms: u32,
    buffer: Vec<u8>,
    /// Sequence, transmit time, and whether the card gave it, by sequence modulo the ring.
    transmit: Vec<(u64, u64, bool)>,
    transmit_extender: SequenceExtender,
}

impl Taking {
    /// Replies are as long as requests, `longest` bytes at most; one that is too long fills the buffer.
    fn new(shared: Arc<Shared>, patience_ns: u64, longest: u32) -> Result<Self, NetError> {
        let wait = |error| NetError::io("wait for", shared.socket.local(), error);
        let waiter = Waiter::new().map_err(wait)?;
        waiter.add(shared.socket.as_raw_fd(), 0).map_err(wait)?;
        Ok(Taking {
            waiter,
            patience_ms: (patience_ns / 1_000_000) as u32,
            buffer: vec![0xff; longest as usize + 1],
            transmit: vec![(u64::MAX, 0, false); shared.sent_at.len()],
            transmit_extender: SequenceExtender::new(0),
            shared,
        })
    }

    /// Takes replies and transmit timestamps until the test is over.
    fn run(mut self) {
        clock::sharpen_timers();
        while !self.shared.over.load(Ordering::Relaxed) {
            // A wait that fails is tried again; the main thread ends the test in any case.
            let _ = self.waiter.wait(self.patience_ms);
            self.take_transmit_timestamps();
            while self.take_reply() {}
        }
    }

    fn take_transmit_timestamps(&mut self) {
        while let Ok(Some(told)) = self.shared.socket.transmit_timestamp() {
            let Some(sequence) = told.transmit_id.and_then(|id| self.transmit_extender.extend(id)) else {
                continue;
            };
            if !self.shared.transmit_ids_hold.load(Ordering::Relaxed) {
                continue;
            }
            let ring = self.transmit.len();
            let slot = &mut self.transmit[sequence as usize % ring];
            match (told.hardware_ns, told.kernel_ns) {
                (Some(card), _) => *slot = (sequence, card, true),
                // The card's own time comes in a message of its own, and is better.
                (None, Some(kernel)) if slot.0 != sequence => *slot = (sequence, kernel, false),
                _ => {}
            }
        }
    }

    fn take_reply(&mut self) -> bool {
        let shared = self.shared.clone();
        let received = shared.socket.receive(&mut self.buffer);
        let (now, unix) = (clock::monotonic_ns(), clock::unix_ns());
        let (length, told) = match received {
            Ok(Some((length, _, told))) => (length, told),
            Ok(None) => return false,
            // A socket that is broken shows in the packets that count as lost.
            Err(_) => return false,
        };
        let Some(answer) = shared.codec.decode(&self.buffer[..length]) else {
            return true;
        };
        // What was never sent is not answered: forged numbers must not move the count ahead.
        let last_sent = shared.last_sent.load(Ordering::Acquire);
        let sequence = Sequence(answer.sequence).extend(last_sent);
        if sequence > last_sent {
            return true;
        }
        self.take_transmit_timestamps();
        let (of, at, by_card) = self.transmit[sequence as usize % self.transmit.len()];
        // Both ends of an interval must come from the same clock.
        let (kernel_sent, kernel_received) = match (of == sequence, by_card, told.hardware_ns) {
            (false, _, _) => (None, told.kernel_ns),
            (true, true, Some(card)) => {
                shared.hardware.store(true, Ordering::Relaxed);
                (Some(at), Some(card))
            }
            (true, true, None) => (None, told.kernel_ns),
            (true, false, _) => (Some(at), told.kernel_ns),
        };
        let sent_at = shared.sent_at(sequence).load(Ordering::Acquire);
        let times = ReplyTimes {
            rtt_ns: now.saturating_sub(sent_at),
            sent: answer.sent,
            received: unix,
            kernel_sent,
            kernel_received,
            reflector_kernel: answer.reflector_kernel,
            reflector_received: answer.reflector_received,
            reflector_sent: answer.reflector_sent,
            ttl: answer.ttl,
        };
        shared.account().reply(now, sequence, times);
        true
    }
}
