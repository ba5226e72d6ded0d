//! The stream over all its receivers: its settings, its totals, and where its events go.

use serde::Serialize;
use weir_control::Stop;
use weir_video::VideoFormat;

use super::config::SendConfig;
use super::door::Callers;
use crate::{Event, EventKind, Watch};

/// Totals of a sender.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SendSummary {
    /// Media type of the frames.
    pub format: Option<String>,
    /// Receivers that were served, one after the other.
    pub receivers: u64,
    /// Frames that were sent.
    pub frames: u64,
    /// Frames skipped without a receiver.
    pub frames_skipped: u64,
    /// Time in which frames were sent, nanoseconds.
    pub duration_ns: u64,
    /// Source packets, without retransmissions.
    pub sources: u64,
    /// UDP payload bytes of all packets.
    pub bytes: u64,
    /// Repair packets.
    pub repairs: u64,
    /// Retransmitted packets.
    pub retransmitted: u64,
    /// Copies sent to probe flows, or the end of the stream.
    pub trials: u64,
    /// Retransmission requests that could not be met in time.
    pub refused: u64,
    /// Packets dropped because the socket buffer was full.
    pub unsent: u64,
    /// Datagrams that were not feedback of the receiver.
    pub rejected: u64,
    /// CPU time of the sending thread, nanoseconds.
    pub cpu_ns: u64,
    /// CPU time of all threads, nanoseconds.
    pub process_cpu_ns: u64,
    /// Changes of flows' use.
    pub flow_changes: u64,
}

/// The stream over all its receivers.
pub(super) struct Stream<'a> {
    pub config: &'a SendConfig,
    pub callers: &'a Callers,
    pub stop: &'a Stop,
    pub watch: &'a dyn Watch,
    pub summary: &'a mut SendSummary,
    pub format: Option<VideoFormat>,
    /// Connections that were refused.
    pub strangers: u32,
}

impl Stream<'_> {
    pub(super) fn happened(&self, event: EventKind, detail: impl Into<String>) {
        let event = Event::now(None, event, detail);
        self.watch.record(event.record());
        self.watch.event(&event);
    }

    /// Duration of a frame, nanoseconds.
    pub(super) fn frame_ns(&self) -> u64 {
        self.format.map_or(40_000_000, |format| {
            let rate = format.frame_rate();
            u64::from(rate.denominator) * 1_000_000_000 / u64::from(rate.numerator)
        })
    }
}
