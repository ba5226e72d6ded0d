//! What a session agrees on: from the configuration, the receiver's request and the format, the terms and the configurations
//! of the senders' cores. It must not know sockets or threads.

use std::net::SocketAddr;

use weir_measure::path_mtu::largest_payload;
use weir_net::host::HostFacts;
use weir_protect::Protection;
use weir_stream_proto::{AdaptiveLimits, Fec, PACKET_OVERHEAD, Pace, SenderConfig, Shares, usual_burst};
use weir_video::VideoFormat;
use weir_wire::frame::Role;
use weir_wire::{SessionId, SessionKeys};

use super::config::{FecPlan, Pacing, SendConfig};
use super::load::Load;
use crate::messages::{Terms, Want};
use crate::{StreamError, Threads};

/// Longest payload where the interface has no limit of its own: with the 64 KiB of loopback a call would send one packet.
const MOST_LENGTH: u32 = 8972;
/// Longest window of an adaptive code, packets: longer ones cost more CPU time than they save loss.
const LONGEST_WINDOW: u16 = 256;
/// Overhead that an adaptive code usually has.
const USUAL_OVERHEAD: f64 = 0.1;
/// Maximum bytes of frames kept for retransmission.
const MOST_BYTES: u64 = 4 << 30;

/// The agreed parameters.
pub(super) struct Agreed {
    pub want: Want,
    pub terms: Terms,
    pub format: VideoFormat,
    pub fec: Option<Fec>,
    /// How the stream is divided among threads.
    pub shares: Shares,
}

impl Agreed {
    /// Agrees with a receiver, before the sockets are open: the terms have no ports yet.
    pub(super) fn with(
        config: &SendConfig,
        (want, peer, protection): (Want, SocketAddr, Protection),
        (format, frame_ns): (VideoFormat, u64),
    ) -> Result<Self, StreamError> {
        let length = length(config, peer)?;
        let mut load = Load {
            frame_bytes: format.frame_bytes() as u64,
            payload: length - PACKET_OVERHEAD,
            frame_ns,
            protection,
            repairs: 0.0,
        };
        let whole = fec(config, load.packets_per_second(), want.latency_ns)?;
        load.repairs = whole.map_or(0.0, repairs);
        let host = HostFacts::read(Some(peer.ip()));
        let threads = threads(config, &want, (&host, &load))?;
        let shares = Shares::new(threads, load.payload)
            .ok_or_else(|| StreamError::Internal(format!("{threads} threads")))?;
        let fec = fec(
            config,
            load.packets_per_second() / f64::from(threads),
            want.latency_ns,
        )?;
        let terms = Terms {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host,
            flows: config.flows,
            threads,
            length,
            ports: Vec::new(),
            fec_window: fec.map(|fec| fec.window()),
            arq: config.arq,
            format: format.media_type(),
            frame_bytes: load.frame_bytes,
            frame_ns,
        };
        Ok(Agreed {
            want,
            terms,
            format,
            fec,
            shares,
        })
    }

    /// The configuration of a share's sender.
    pub(super) fn sender(
        &self,
        config: &SendConfig,
        (session, keys): (SessionId, &SessionKeys),
        share: u16,
    ) -> SenderConfig {
        let terms = &self.terms;
        let shares = self.shares;
        let frame_ns = terms.frame_ns;
        let latency_ns = self.want.latency_ns;
        // Frames kept for the budget and for the feedback's delay, and some that wait.
        let frames = (latency_ns + 50_000_000) / frame_ns.max(1) + 5;
        let largest = terms.frame_bytes.saturating_mul(frames).saturating_mul(2);
        let largest = largest.clamp(64 << 20, MOST_BYTES) / u64::from(shares.count());
        let rate = terms.frame_bytes as f64 * 8e9 / frame_ns.max(1) as f64;
        let usual = || usual_burst(terms.length, terms.flows, rate);
        SenderConfig {
            session,
            secrets: shares.secrets(share, keys.stream(Role::Agent)),
            flows: shares.flows(share, terms.flows).len() as u16,
            payload: terms.payload(),
            segments: config.segments.unwrap_or_else(usual),
            pace: match config.pacing {
                Pacing::FrameRate => Pace::Rate { frame_ns },
                Pacing::Input => Pace::AsGiven { frame_ns },
            },
            latency_ns,
            fec: self.fec,
            arq: config.arq,
            most_bytes: usize::try_from(largest).unwrap_or(usize::MAX),
            breaker: config.breaker,
            seed: session.0.wrapping_add(share.into()),
            first_number: 0,
        }
    }
}

/// The code for this many packets per second of a thread.
fn fec(config: &SendConfig, packets_per_second: f64, latency_ns: u64) -> Result<Option<Fec>, StreamError> {
    Ok(match &config.fec {
        FecPlan::Off => None,
        FecPlan::Fixed(choice) => {
            let rate = choice.at(packets_per_second);
            let rate = rate.map_err(|error| StreamError::Parameters(error.to_string()))?;
            Some(Fec::Fixed(rate))
        }
        FecPlan::Adaptive(most_overhead) => {
            let limits = adaptive_limits(packets_per_second, latency_ns, *most_overhead);
            Some(Fec::Adaptive(limits))
        }
    })
}

/// Repair packets that cover a source packet: of an adaptive code as many as of one of a usual overhead.
fn repairs(fec: Fec) -> f64 {
    match fec {
        Fec::Fixed(rate) => f64::from(rate.window()) / f64::from(rate.sources()),
        Fec::Adaptive(limits) => f64::from(limits.window) * USUAL_OVERHEAD,
    }
}

/// The number of packet threads, and so of shares.
fn threads(config: &SendConfig, want: &Want, (host, load): (&HostFacts, &Load)) -> Result<u16, StreamError> {
    let refused = |reason: String| Err(StreamError::Parameters(reason));
    let packets = load.frame_bytes.div_ceil(u64::from(load.payload));
    match config.threads {
        Threads::Exactly(count) if u64::from(count) > packets => refused(format!(
            "--threads {count} is more than the format has packets per frame, {packets}"
        )),
        Threads::Exactly(count) => Ok(count),
        Threads::Auto => {
            let most = u64::from(want.threads).min(config.flows.into()).min(packets);
            Ok(load
                .threads(host.cores.min(want.host.cores))
                .min(most as u16)
                .max(1))
        }
    }
}

/// UDP payload of a packet: `--length`, or the interface's MTU.
fn length(config: &SendConfig, peer: SocketAddr) -> Result<u32, StreamError> {
    let mtu = weir_net::host::route_mtu(peer.ip());
    let most = mtu.map_or(MOST_LENGTH, |mtu| largest_payload(peer.ip(), mtu));
    let length = config.length.unwrap_or(most.min(MOST_LENGTH));
    if length > most {
        return Err(StreamError::Parameters(format!(
            "--length {length} does not fit the interface to {}: give at most {most}",
            peer.ip()
        )));
    }
    if length <= PACKET_OVERHEAD {
        return Err(StreamError::Parameters(format!(
            "--length {length} is too short for video; give more than {PACKET_OVERHEAD}"
        )));
    }
    Ok(length)
}

/// The window covers at most three quarters of the budget: later repairs arrive too late.
fn adaptive_limits(packets_per_second: f64, latency_ns: u64, most_overhead: f64) -> AdaptiveLimits {
    let within = packets_per_second * latency_ns as f64 / 1e9 * 0.75;
    AdaptiveLimits {
        window: (within as u16).clamp(4, LONGEST_WINDOW),
        most_overhead,
    }
}
