//! Congestion controls: how large the window is, and how fast packets leave. They must not know packets or timers.

mod bbr;
mod cubic;
mod hystart;
mod reno;
mod scalable;

use bbr::Bbr;
use cubic::Cubic;
pub use hystart::SlowStart;
use reno::Reno;
use scalable::Scalable;

use crate::pacing::Bursts;

/// Window of a new connection, packets (RFC 6928).
pub(crate) const INITIAL_WINDOW: u64 = 10;
/// Least window after a reduction, packets (RFC 5681 section 3.1).
const LEAST_WINDOW: u64 = 2;

/// A congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681 and RFC 6582.
    NewReno,
    /// RFC 9438, with the hybrid slow start of Linux.
    Cubic,
    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr,
    /// Reacts to the share of marked packets, as L4S asks (RFC 9331 section 4.3), by the rule of RFC 8257.
    Scalable,
}

impl Algorithm {
    /// The slow start that Linux has with it.
    #[must_use]
    pub fn usual_slow_start(self) -> SlowStart {
        match self {
            Self::Cubic => SlowStart::Hybrid,
            Self::NewReno | Self::Bbr | Self::Scalable => SlowStart::Standard,
        }
    }
}

/// The window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// Packets that may be in flight.
    pub packets: u64,
    /// Slow start ends there.
    pub threshold: u64,
}

impl Window {
    pub fn in_slow_start(&self) -> bool {
        self.packets < self.threshold
    }

    /// Bytes per second: so many windows in a round trip, and two while slow start has far to go, as in Linux.
    pub fn rate(&self, packet_bytes: u32, rtt_ns: u64, windows: f64) -> f64 {
        let windows = if self.packets < self.threshold / 2 {
            2.0
        } else {
            windows
        };
        windows * (self.packets * u64::from(packet_bytes)) as f64 * 1e9 / rtt_ns.max(1) as f64
    }
}

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RateSample {
    /// Packets delivered in the interval, which is in nanoseconds.
    pub packets: u64,
    pub interval_ns: u64,
    /// Packets delivered before the newest one that this acknowledgement covers was sent.
    pub before: u64,
    /// The application had nothing to send.
    pub idle: bool,
}

/// What is done about a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    None,
    /// The window goes down.
    Reducing,
    /// All was lost at a timeout, and the window begins anew.
    Restarting,
}

/// What an acknowledgement shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub now_ns: u64,
    /// Packets that it says have arrived, and those of them that were marked.
    pub packets: u64,
    pub marked: u64,
    /// Packets presumed lost with it.
    pub lost: u64,
    /// From its newest packet.
    pub rtt_ns: Option<u64>,
    /// Least one of the last minutes.
    pub least_rtt_ns: u64,
    /// Packets in flight before it and after it.
    pub in_flight: (u64, u64),
    /// All packets delivered, and presumed lost, so far.
    pub delivered: u64,
    pub lost_so_far: u64,
    pub rate: Option<RateSample>,
    /// All bytes before are acknowledged; all before the other have been sent.
    pub until: u64,
    pub sent_until: u64,
    pub repair: Repair,
    /// The window, and not the application, limits what is sent.
    pub is_limited: bool,
    /// Packets leave by a pace.
    pub is_paced: bool,
}

/// A control with its state.
#[derive(Debug)]
pub(crate) enum Control {
    Reno(Reno),
    Cubic(Box<Cubic>),
    Bbr(Box<Bbr>),
    Scalable(Scalable),
}

impl Control {
    /// `seed` decides where BBR begins its cycle.
    pub fn new(algorithm: Algorithm, slow_start: SlowStart, seed: u64) -> Self {
        match algorithm {
            Algorithm::NewReno => Self::Reno(Reno::new(slow_start)),
            Algorithm::Cubic => Self::Cubic(Box::new(Cubic::new(slow_start))),
            Algorithm::Bbr => Self::Bbr(Box::new(Bbr::new(seed))),
            Algorithm::Scalable => Self::Scalable(Scalable::new(slow_start)),
        }
    }

    /// Learns how long the handshake took.
    pub fn connected(&mut self, now_ns: u64, rtt_ns: u64) {
        if let Self::Bbr(bbr) = self {
            bbr.connected(now_ns, rtt_ns);
        }
    }

    /// Learns from each acknowledgement, and sets the window, unless a loss is being repaired by reduction.
    pub fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        match self {
            Self::Reno(reno) => reno.acknowledged(window, acked),
            Self::Cubic(cubic) => cubic.acknowledged(window, acked),
            Self::Bbr(bbr) => bbr.acknowledged(window, acked),
            Self::Scalable(scalable) => scalable.acknowledged(window, acked),
        }
    }

    /// The window to go down to, once for each window with a loss or, with classic ECN, a mark.
    pub fn threshold(&mut self, window: &Window, is_loss: bool) -> u64 {
        match self {
            Self::Reno(_) => (window.packets / 2).max(LEAST_WINDOW),
            Self::Cubic(cubic) => cubic.threshold(window),
            // It goes by its model, and not by losses.
            Self::Bbr(bbr) => bbr.threshold(window),
            Self::Scalable(scalable) => scalable.threshold(window, is_loss),
        }
    }

    /// All packets are lost.
    pub fn timed_out(&mut self) {
        match self {
            Self::Cubic(cubic) => cubic.timed_out(),
            Self::Bbr(bbr) => bbr.timed_out(),
            Self::Reno(_) | Self::Scalable(_) => {}
        }
    }

    /// Sending goes on after `idle_ns` in which there was nothing to send.
    pub fn resumed(&mut self, now_ns: u64, idle_ns: u64) {
        if let Self::Cubic(cubic) = self {
            cubic.resumed(now_ns, idle_ns);
        }
    }

    /// Whether it sets the window itself, whatever is lost.
    pub fn goes_by_model(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    /// Bytes per second at which packets leave, if it says; `rtt_ns` is smoothed.
    pub fn pacing_rate(&self, window: &Window, packet_bytes: u32, rtt_ns: Option<u64>) -> Option<f64> {
        match self {
            Self::Bbr(bbr) => bbr.pacing_rate(packet_bytes),
            Self::Scalable(_) => Some(window.rate(packet_bytes, rtt_ns?, 1.0)),
            Self::Reno(_) | Self::Cubic(_) => None,
        }
    }

    /// In which bursts they leave.
    pub fn bursts(&self) -> Bursts {
        match self {
            Self::Scalable(_) => Bursts::OF_L4S,
            _ => Bursts::OF_LINUX,
        }
    }
}
