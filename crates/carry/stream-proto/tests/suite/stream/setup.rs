//! What a world of streams is made of: the plain case, what is changed from it, and the configurations that follow.

use weir_fec::CodeRate;
use weir_protect::{PACKETS_PER_EPOCH, Protection, Secret, StreamSecrets};
use weir_stream_proto::*;
use weir_wire::SessionId;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;
pub const SESSION: SessionId = SessionId(0x5e55);
/// Bytes of a payload and packets of a frame: short packets at the pace of long ones.
pub const PAYLOAD: u32 = 60;
pub const PACKETS: u32 = 64;
/// 26 microseconds from packet to packet: 2.5 Gbit/s of 8,100 bytes.
pub const FRAME_NS: u64 = PACKETS as u64 * 26_000;
pub const FRAME_BYTES: u32 = PACKETS * PAYLOAD - 20;

/// What is changed from the plain case.
#[derive(Clone)]
pub struct Setup {
    pub link: &'static str,
    pub flows: u16,
    pub fec: Option<Fec>,
    pub arq: bool,
    pub latency_ns: u64,
    pub rtt_ns: u64,
    pub join: Join,
    /// For how long the receiver may be silent.
    pub silence_ns: u64,
    /// The senders, by what is changed of each.
    pub stations: Vec<Plan>,
    pub for_ns: u64,
    /// Formats are described, and from this frame on there is another one.
    pub format_from: Option<u32>,
    /// No packet of this frame or later ones arrives, but the end does.
    pub lose_frames_from: Option<u32>,
    /// By how much everything is slower.
    pub slower: u64,
    pub seed: u64,
    pub protection: Protection,
    pub packets_per_epoch: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            link: "rtt = \"1ms\"",
            flows: 16,
            fec: None,
            arq: false,
            latency_ns: 20 * MS,
            rtt_ns: MS,
            join: Join::Merge,
            silence_ns: 3 * SECOND,
            stations: vec![Plan::default()],
            for_ns: 4 * SECOND,
            format_from: None,
            lose_frames_from: None,
            slower: 1,
            seed: 1,
            protection: Protection::Aes128Gcm,
            packets_per_epoch: PACKETS_PER_EPOCH,
        }
    }
}

/// What is changed of a sender.
#[derive(Clone, Default)]
pub struct Plan {
    /// Another link than that of all.
    pub link: Option<&'static str>,
    /// A flow that carries nothing, from when to when.
    pub dark: Option<(u16, u64, u64)>,
    pub dark_again: Option<(u16, u64, u64)>,
    /// Additional loss of one packet in this many, from when to when.
    pub worse: Option<(u64, u64, u32)>,
    /// The path carries nothing, from when to when.
    pub cut: Option<(u64, u64)>,
    /// It has no pictures, from when to when.
    pub pause: Option<(u64, u64)>,
    /// When it joins, and when it is killed.
    pub from_ns: u64,
    pub killed_ns: Option<u64>,
    /// When it is removed from the receiver.
    pub removed_ns: Option<u64>,
    /// How far the numbers of its frames are behind those of its pictures, modulo 2^32.
    pub numbers_behind: u32,
    /// Number of its first symbol, and of each flow's first packet.
    pub first_number: u64,
    /// How long after the time of the picture it sends a frame.
    pub lag_ns: u64,
    /// Its pictures are its own.
    pub own_pictures: bool,
    /// How fast its clock is, parts per million, and how far it is set on at a time, nanoseconds.
    pub drift_ppm: i64,
    pub step: Option<(u64, i64)>,
    pub rank: u16,
}

impl Plan {
    /// Its path carries nothing, from when to when.
    pub fn cut(from_ns: u64, to_ns: u64) -> Self {
        Plan {
            cut: Some((from_ns, to_ns)),
            ..Plan::default()
        }
    }

    /// This flow of its carries nothing, from when to when.
    pub fn dark(flow: u16, from_ns: u64, to_ns: u64) -> Self {
        Plan {
            dark: Some((flow, from_ns, to_ns)),
            ..Plan::default()
        }
    }

    /// It is killed and later removed from the receiver.
    pub fn killed(killed_ns: u64, removed_ns: u64) -> Self {
        Plan {
            killed_ns: Some(killed_ns),
            removed_ns: Some(removed_ns),
            ..Plan::default()
        }
    }

    /// It has a link of its own.
    pub fn over(link: &'static str) -> Self {
        Plan {
            link: Some(link),
            ..Plan::default()
        }
    }
}

/// A code rate that does not change.
pub fn code(sources: u16, window: u16) -> Option<Fec> {
    let rate = CodeRate::new(sources, window).expect("a code rate");
    Some(Fec::Fixed(rate))
}

pub fn session(index: usize) -> SessionId {
    SessionId(SESSION.0 + index as u64)
}

/// The secrets of a session, as its sender has them.
pub fn secrets(setup: &Setup, index: usize) -> StreamSecrets {
    let secret = |side: u8| Secret::new([side, index as u8].repeat(16).try_into().expect("32 bytes"));
    StreamSecrets {
        packets_per_epoch: setup.packets_per_epoch,
        ..StreamSecrets::new(setup.protection, secret(1), secret(2))
    }
}

pub fn sender_config(setup: &Setup, index: usize) -> SenderConfig {
    SenderConfig {
        session: session(index),
        secrets: secrets(setup, index),
        flows: setup.flows,
        payload: PAYLOAD,
        segments: 2,
        pace: Pace::Rate {
            frame_ns: setup.frame_ns(),
        },
        latency_ns: setup.latency_ns,
        fec: setup.fec,
        arq: setup.arq,
        most_bytes: 64 << 20,
        breaker: BreakerLimits {
            silence_ns: setup.silence_ns,
            ..BreakerLimits::default()
        },
        seed: setup.seed + index as u64,
        first_number: setup.stations[index].first_number,
    }
}

pub fn receiver_config(setup: &Setup) -> ReceiverConfig {
    ReceiverConfig {
        latency_ns: setup.latency_ns,
        payload: PAYLOAD,
        frames: 64,
        frame_bytes: FRAME_BYTES,
        join: setup.join,
    }
}

pub fn terms(setup: &Setup, index: usize) -> SenderTerms {
    SenderTerms {
        session: session(index),
        secrets: secrets(setup, index).of_other_end(),
        flows: setup.flows,
        fec_window: setup.fec.map(|fec| fec.window()),
        fec_history: 4_096,
        arq: setup.arq,
        rtt_ns: setup.rtt_ns,
        rank: setup.stations.get(index).map_or(0, |plan| plan.rank),
    }
}

impl Setup {
    pub fn frame_ns(&self) -> u64 {
        FRAME_NS * self.slower
    }
}
