//! The sending end of a connection: what it sends, and when. No socket and no clock: the caller passes times, acknowledgements and bytes to send,
//! and asks again at [`Sender::next_wake_ns`].

mod acknowledged;

use weir_link::Ecn;

use crate::control::{Algorithm, Control, INITIAL_WINDOW, SlowStart, Window};
use crate::pacing::{Bursts, Pacing};
use crate::recovery::Phase;
use crate::rtt::RoundTrips;
use crate::scoreboard::{Judgement, Scoreboard, Stamp};
use crate::segment::{Data, HEADER_BYTES, USUAL_MSS};

/// Whether packets may be marked instead of dropped, and how the sender reacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnUse {
    /// Packets are not marked.
    #[default]
    Off,
    /// A mark counts as a loss (RFC 3168).
    Classic,
    /// The share of marked packets counts: L4S, for [`Algorithm::Scalable`].
    Accurate,
}

/// Less than a burst waits for an acknowledgement if another one left so recently; and the largest burst, packets.
const GATHERS_NS: u64 = 1_000_000;
const MOST_GATHERED: u64 = 44;

/// Parameters of a sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderConfig {
    /// Congestion control.
    pub algorithm: Algorithm,
    /// How its slow start ends.
    pub slow_start: SlowStart,
    /// Use of ECN.
    pub ecn: EcnUse,
    /// Payload of a full packet, bytes.
    pub mss: u32,
    /// Highest pace, bits per second of IP packets (`SO_MAX_PACING_RATE`).
    pub most_rate: Option<u64>,
    /// Most packets that leave back to back while there is a highest pace; none: as Linux chooses.
    pub most_burst: Option<u32>,
    /// Of random choices.
    pub seed: u64,
}

impl SenderConfig {
    /// As Linux has it, on a path with an MTU of 1,500 bytes.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            slow_start: algorithm.usual_slow_start(),
            ecn: EcnUse::Off,
            mss: USUAL_MSS,
            most_rate: None,
            most_burst: None,
            seed: 0,
        }
    }
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Packets, sent again or not.
    pub packets: u64,
    /// Packets sent again.
    pub again: u64,
    /// Packets that were presumed lost.
    pub lost: u64,
    /// Reductions of the window for losses.
    pub recoveries: u64,
    /// With classic ECN reductions of the window for marks, with accurate ECN marked packets.
    pub marks: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets that have arrived.
    pub delivered: u64,
}

/// Which packet was delivered that was sent last (RFC 8985 section 5.2).
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    sent_ns: u64,
    end: u64,
    rtt_ns: u64,
}

/// A probe for a lost tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Wanted,
    /// The last packet was sent again; all before `until` had been sent.
    Again {
        until: u64,
    },
}

/// Whether the window limits what is sent, judged once for each window.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    by_window: bool,
    most_out: u64,
    until: u64,
}

impl Limits {
    fn note(&mut self, out: u64, is_full: bool, (acked_until, sent_until): (u64, u64)) {
        let is_new = acked_until >= self.until;
        if is_new || is_full || (!self.by_window && out > self.most_out) {
            (self.by_window, self.most_out, self.until) = (is_full, out, sent_until);
        }
    }

    /// In slow start the window may be twice of what is used (RFC 7661 section 4.3 is stricter; Linux).
    fn limits(&self, window: &Window) -> bool {
        self.by_window || (window.in_slow_start() && window.packets < 2 * self.most_out)
    }
}

/// A sender.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    control: Control,
    window: Window,
    phase: Phase,
    board: Scoreboard,
    trips: RoundTrips,
    pacing: Pacing,
    newest: Newest,
    /// All bytes before have been sent, are acknowledged, and may be sent.
    sent_until: u64,
    acked_until: u64,
    write_until: u64,
    room_until: u64,
    /// End of the furthest packet that has arrived; whether packets have arrived out of order.
    highest_arrived: u64,
    reordered: bool,
    /// Marks that the other end has counted, and whether to tell it of the reaction to one.
    marked: u32,
    tell_reaction: bool,
    /// When the oldest loss is certain, when to probe, and when all is lost, nanoseconds.
    reorder_at: Option<u64>,
    probe_at: Option<u64>,
    timeout_at: Option<u64>,
    /// Timeouts in a row.
    expired: u32,
    probed: Option<Probe>,
    last_sent_ns: u64,
    limits: Limits,
    /// When a packet was delivered last, and when that one had been sent, nanoseconds.
    delivered_ns: u64,
    first_sent_ns: u64,
    /// Packets up to this count of delivered ones were sent when the application had no more.
    idle_until: u64,
    counters: SenderCounters,
}

impl Sender {
    /// A sender whose receiver has announced a window of `room` bytes.
    #[must_use]
    pub fn new(config: SenderConfig, room: u64) -> Self {
        Self {
            control: Control::new(config.algorithm, config.slow_start, config.seed),
            window: Window {
                packets: INITIAL_WINDOW,
                threshold: u64::MAX,
            },
            phase: Phase::Open,
            board: Scoreboard::default(),
            trips: RoundTrips::default(),
            pacing: Pacing::default(),
            newest: Newest::default(),
            sent_until: 0,
            acked_until: 0,
            write_until: 0,
            room_until: room,
            highest_arrived: 0,
            reordered: false,
            marked: 0,
            tell_reaction: false,
            reorder_at: None,
            probe_at: None,
            timeout_at: None,
            expired: 0,
            probed: None,
            last_sent_ns: 0,
            limits: Limits::default(),
            delivered_ns: 0,
            first_sent_ns: 0,
            idle_until: 0,
            counters: SenderCounters::default(),
            config,
        }
    }

    /// The handshake, over at `now_ns`, took `rtt_ns`: the first sample of the round-trip time, before data fill queues.
    pub fn connected(&mut self, now_ns: u64, rtt_ns: u64) {
        self.trips.connected(rtt_ns);
        self.control.connected(now_ns, rtt_ns);
    }

    /// The application has `bytes` more to send.
    pub fn write(&mut self, now_ns: u64, bytes: u64) {
        if self.board.is_empty() && self.write_until == self.sent_until {
            self.resume(now_ns);
        }
        self.write_until = self.write_until.saturating_add(bytes);
    }

    /// After a pause the window is what a new connection may send, by halves for each timeout (RFC 5681 section 4.1, RFC
    /// 2861).
    fn resume(&mut self, now_ns: u64) {
        let idle_ns = now_ns.saturating_sub(self.last_sent_ns);
        self.control.resumed(now_ns, idle_ns);
        let timeout_ns = self.trips.timeout_ns(0);
        if self.counters.packets == 0 || idle_ns <= timeout_ns || self.control.goes_by_model() {
            return;
        }
        self.window.threshold = self.kept_threshold();
        let halvings = (idle_ns / timeout_ns).min(63);
        let least = self.window.packets.min(INITIAL_WINDOW);
        self.window.packets = (self.window.packets >> halvings).max(least);
    }

    /// Three quarters of the window, which was of use.
    fn kept_threshold(&self) -> u64 {
        match self.window.threshold {
            u64::MAX => u64::MAX,
            threshold => threshold.max(self.window.packets * 3 / 4),
        }
    }

    /// Sets the highest pace, bits per second of IP packets, from now on (`SO_MAX_PACING_RATE`).
    pub fn set_most_rate(&mut self, rate: Option<u64>) {
        self.config.most_rate = rate;
    }

    /// Bytes that were written and are not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        self.write_until - self.acked_until
    }

    /// Packets that may be in flight.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window.packets
    }

    /// Smoothed round-trip time, nanoseconds; none before the first acknowledgement.
    #[must_use]
    pub fn rtt_ns(&self) -> Option<u64> {
        self.trips.smoothed_ns()
    }

    /// What it has done so far.
    #[must_use]
    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// The ECN field of its packets.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        match self.config.ecn {
            EcnUse::Off => Ecn::NotEct,
            EcnUse::Classic => Ecn::Ect0,
            EcnUse::Accurate => Ecn::Ect1,
        }
    }

    /// When it is to be woken, nanoseconds.
    #[must_use]
    pub fn next_wake_ns(&self) -> Option<u64> {
        let may_send = self.has_to_send() && self.board.in_flight() < self.window.packets;
        let paced = (may_send && self.rate().is_some()).then(|| self.pacing.next_ns());
        let timer = self.timeout_at.map(|at| at.min(self.probe_at.unwrap_or(at)));
        [paced, timer, self.reorder_at].into_iter().flatten().min()
    }

    /// Looks at its timers; then it may have packets to send.
    pub fn wake(&mut self, now_ns: u64) {
        if self.reorder_at.is_some_and(|at| at <= now_ns) {
            self.find_lost(now_ns);
            self.react(false);
        }
        if self.timeout_at.is_some_and(|at| at <= now_ns) {
            self.time_out(now_ns);
        } else if self.probe_at.is_some_and(|at| at <= now_ns) {
            self.probe_at = None;
            self.probed = Some(Probe::Wanted);
        }
    }

    /// All that is in flight is lost, and the window begins anew (RFC 6298 section 5, RFC 5681 section 3.1).
    fn time_out(&mut self, now_ns: u64) {
        let lost = self.board.lose(|_| Judgement::Lost);
        self.counters.lost += lost;
        self.counters.timeouts += 1;
        if self.phase == Phase::Open {
            self.window.threshold = self.control.threshold(&self.window, true);
        }
        self.control.timed_out();
        self.window.packets = 1;
        self.phase = Phase::Restarting {
            until: self.sent_until,
        };
        self.expired += 1;
        self.timeout_at = Some(now_ns + self.trips.timeout_ns(self.expired));
        (self.probe_at, self.reorder_at) = (None, None);
    }

    /// The next packet to send now; call until there is none.
    pub fn poll_transmit(&mut self, now_ns: u64) -> Option<Data> {
        let rate = self.rate();
        if self.probed == Some(Probe::Wanted) {
            return self.probe(now_ns);
        }
        let wants = self.has_to_send();
        let is_full =
            self.board.in_flight() >= self.window.packets || (rate.is_none() && self.gathers(now_ns));
        let bursts = (self.control.bursts(), self.most_burst());
        let mut is_due = |rate| self.pacing.is_due(now_ns, rate, self.config.mss, bursts);
        if wants && !is_full && rate.is_some_and(|rate| !is_due(rate)) {
            return None;
        }
        if !wants || is_full {
            self.stop_sending(now_ns, is_full, rate);
            return None;
        }
        let stamp = self.stamp(now_ns);
        let (start, length) = match self.board.send_again(now_ns, stamp) {
            Some(again) => {
                self.counters.again += 1;
                again
            }
            None => self.send_new(now_ns, stamp),
        };
        Some(self.sent(now_ns, (start, length), rate))
    }

    /// Whether what there is room for waits for the next acknowledgement, as in Linux: it is less than a burst and a third of the
    /// window, another one has just left, nothing is being repaired, and there is more to send.
    fn gathers(&self, now_ns: u64) -> bool {
        let (Some(rate), Some(rtt_ns)) = (self.usual_rate(), self.trips.smoothed_ns()) else {
            return false;
        };
        let room = self.window.packets - self.board.in_flight();
        let burst = (rate / Bursts::OF_LINUX.per_second) as u64 / u64::from(self.config.mss);
        let burst = burst.clamp(Bursts::OF_LINUX.least_packets, MOST_GATHERED);
        let has_more =
            self.write_until.min(self.room_until) - self.sent_until > room * u64::from(self.config.mss);
        let next_is_near = self
            .board
            .oldest_sent_ns()
            .is_some_and(|at| now_ns - at >= rtt_ns / 2);
        self.phase == Phase::Open
            && now_ns - self.last_sent_ns <= GATHERS_NS
            && room < burst
            && 3 * room < self.window.packets
            && has_more
            && next_is_near
    }

    /// Whether there is a packet that the other end has room for.
    fn has_to_send(&self) -> bool {
        self.board.has_lost() || self.write_until.min(self.room_until) > self.sent_until
    }

    fn send_new(&mut self, now_ns: u64, stamp: Stamp) -> (u64, u32) {
        let left = self.write_until.min(self.room_until) - self.sent_until;
        let length = left.min(u64::from(self.config.mss)) as u32;
        let start = self.sent_until;
        self.board.send(start, length, now_ns, stamp);
        self.sent_until += u64::from(length);
        (start, length)
    }

    fn sent(&mut self, now_ns: u64, (start, length): (u64, u32), rate: Option<f64>) -> Data {
        if let Phase::Reducing { reduction, .. } = &mut self.phase {
            reduction.send();
        }
        if let Some(rate) = rate {
            self.pacing.sent(now_ns, length, rate);
        }
        self.counters.packets += 1;
        self.last_sent_ns = now_ns;
        if self.timeout_at.is_none() {
            self.timeout_at = Some(now_ns + self.trips.timeout_ns(self.expired));
        }
        self.arm_probe(now_ns);
        Data {
            start,
            length,
            reacted: std::mem::take(&mut self.tell_reaction),
        }
    }

    /// A packet beyond the window that shows whether the last ones were lost (RFC 8985 section 7.3).
    fn probe(&mut self, now_ns: u64) -> Option<Data> {
        self.probed = None;
        let stamp = self.stamp(now_ns);
        let (start, length) = if self.write_until.min(self.room_until) > self.sent_until {
            self.send_new(now_ns, stamp)
        } else {
            let again = self.board.probe(now_ns, stamp)?;
            self.counters.again += 1;
            self.probed = Some(Probe::Again {
                until: self.sent_until,
            });
            again
        };
        let data = self.sent(now_ns, (start, length), self.rate());
        self.probe_at = None;
        self.timeout_at = Some(now_ns + self.trips.timeout_ns(self.expired));
        Some(data)
    }

    fn stop_sending(&mut self, now_ns: u64, is_full: bool, rate: Option<f64>) {
        if let Some(rate) = rate {
            self.pacing.end_burst(now_ns, rate);
        }
        let out = self.board.outstanding();
        self.limits
            .note(out, is_full, (self.acked_until, self.sent_until));
        if !is_full {
            self.idle_until = self.counters.delivered + self.board.in_flight().max(1);
        }
    }

    /// What each packet keeps of the present, for samples of the delivery rate.
    fn stamp(&mut self, now_ns: u64) -> Stamp {
        if self.board.in_flight() == 0 {
            (self.first_sent_ns, self.delivered_ns) = (now_ns, now_ns);
        }
        Stamp {
            delivered: self.counters.delivered,
            delivered_ns: self.delivered_ns,
            first_sent_ns: self.first_sent_ns,
            idle: self.counters.delivered < self.idle_until,
        }
    }

    fn most_burst(&self) -> u64 {
        let of_pace = self.config.most_rate.and(self.config.most_burst);
        of_pace.map_or(u64::MAX, u64::from)
    }

    /// Bytes per second at which packets leave; none: as the window allows.
    fn rate(&self) -> Option<f64> {
        let most = self.config.most_rate.map(|rate| {
            let share = f64::from(self.config.mss) / f64::from(self.config.mss + HEADER_BYTES);
            rate as f64 / 8.0 * share
        });
        let own = self
            .control
            .pacing_rate(&self.window, self.config.mss, self.trips.smoothed_ns());
        match (own, most) {
            (Some(own), Some(most)) => Some(own.min(most)),
            (None, Some(most)) => Some(self.usual_rate().map_or(most, |usual| usual.min(most))),
            (own, None) => own,
        }
    }

    /// The pace of Linux where a control has none of its own: faster than the window, which is to be what limits.
    fn usual_rate(&self) -> Option<f64> {
        Some(self.window.rate(self.config.mss, self.trips.smoothed_ns()?, 1.2))
    }
}
