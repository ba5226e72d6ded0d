//! The stream over all its receivers: its settings, its totals, and where its events go.

use serde::Serialize;
use weir_control::Stop;
use weir_stats::SenderCounters;
use weir_video::VideoFormat;

use super::config::SendConfig;
use super::door::Callers;
use super::watched::Watched;
use crate::{Event, EventKind, Watch};

/// Totals of a sender.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SendSummary {
    /// Media type of the frames.
    pub format: Option<String>,
    /// Protection of the last session.
    pub protection: Option<&'static str>,
    /// Packet threads of the last session.
    pub threads: u16,
    /// Receivers that were served, one after the other.
    pub receivers: u64,
    /// Frames, packets and requests.
    #[serde(flatten)]
    pub counts: SenderCounters,
    /// Time in which frames were sent, nanoseconds.
    pub duration_ns: u64,
    /// CPU time of the sending threads, nanoseconds.
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
    pub watched: Watched<'a>,
}

impl Stream<'_> {
    pub(super) fn happened(&mut self, event: EventKind, detail: impl Into<String>) {
        let event = Event::now(None, event, detail);
        self.watched.announcer.announce(event);
    }

    /// Duration of a frame, nanoseconds.
    pub(super) fn frame_ns(&self) -> u64 {
        self.format.map_or(40_000_000, |format| {
            let rate = format.frame_rate();
            u64::from(rate.denominator) * 1_000_000_000 / u64::from(rate.numerator)
        })
    }
}
