//! The stream over all its receivers: its settings, and where its totals and events go.

use weir_control::Stop;
use weir_video::VideoFormat;

use super::config::SendConfig;
use super::door::Callers;
use super::summary::SendSummary;
use super::watched::Watched;
use crate::{Event, EventKind, Watch};

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
