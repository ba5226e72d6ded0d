//! Playback as fast as responses arrive: the loop of the background's workload generator, random segments, or manifests
//! only.

use std::sync::Arc;

use super::fetching::Continuity;
use super::state::{Play, RungChoice, Viewer};
use crate::client::Failed;
use crate::clock::monotonic_ns;
use crate::manifest::{self, MediaKind, Period, Presentation, Rung, Segments, UrlRange};
use crate::measure::Kind;

/// A track that is being fetched.
struct Track {
    kind: Kind,
    segments: Arc<Segments>,
    continuity: Continuity,
    key: Option<u32>,
}

impl Viewer {
    /// Fetches what a title's manifest says.
    pub(super) async fn open(&mut self, title: &UrlRange) -> Result<Arc<Presentation>, Failed> {
        let read = |viewer: &mut Viewer, url: &str, bytes: &[u8]| {
            viewer.shared.titles.borrow_mut().presentation(url, bytes)
        };
        self.fetch_whole(Kind::Manifest, title, manifest::MOST_BYTES, read)
            .await
    }

    /// The kinds that are fetched, in the order of the background's loop: sound before pictures.
    pub(super) fn wanted(&self) -> impl Iterator<Item = (MediaKind, Kind)> + use<> {
        let subtitles = self.shared.behaviour.subtitles;
        let all = [
            (MediaKind::Audio, Kind::Audio),
            (MediaKind::Video, Kind::Video),
            (MediaKind::Subtitle, Kind::Subtitle),
        ];
        all.into_iter().take(if subtitles { 3 } else { 2 })
    }

    /// Which of `count` rungs to take, from the lowest up.
    pub(super) fn rung(&mut self, count: usize) -> usize {
        match self.shared.behaviour.rung {
            RungChoice::Highest | RungChoice::Adaptive => count.saturating_sub(1),
            RungChoice::Lowest => 0,
            RungChoice::Random => self.random.below(count),
        }
    }

    /// One round: the manifest, and the segments of all periods.
    pub(super) async fn go_round(&mut self, title: &UrlRange) -> Result<(), Failed> {
        let began_ns = monotonic_ns();
        let presentation = self.open(title).await?;
        if self.shared.behaviour.play == Play::Manifest {
            return Ok(());
        }
        for period in &presentation.periods {
            let mut tracks = self.tracks(period).await?;
            let count = tracks.iter().map(|track| track.segments.list.len()).max();
            for step in 0..count.unwrap_or(0) {
                let index = match self.shared.behaviour.play {
                    Play::Random => self.random.below(count.unwrap_or(0)),
                    _ => step,
                };
                for track in &mut tracks {
                    if self.is_over(began_ns) {
                        return Ok(());
                    }
                    if let Err(failed) = self.segment(track, index).await {
                        self.pause_after(failed).await;
                    }
                }
            }
        }
        Ok(())
    }

    async fn tracks(&mut self, period: &Period) -> Result<Vec<Track>, Failed> {
        let mut tracks = Vec::new();
        for (wanted, kind) in self.wanted() {
            let Some(set) = period.first(wanted) else { continue };
            let rung: &Rung = &set.rungs[self.rung(set.rungs.len())];
            tracks.push(Track {
                kind,
                segments: self.segments(&rung.media).await?,
                continuity: Continuity::default(),
                key: None,
            });
        }
        Ok(tracks)
    }

    async fn segment(&mut self, track: &mut Track, index: usize) -> Result<(), Failed> {
        let segments = track.segments.clone();
        let Some(segment) = segments.list.get(index) else {
            return Ok(());
        };
        if segment.key != track.key
            && let Some(key) = segment.key.and_then(|key| segments.keys.get(key as usize))
        {
            self.fetch(Kind::Key, key).await?;
        }
        track.key = segment.key;
        if segment.starts_anew {
            track.continuity.begin_anew();
        }
        let intended_ns = self.due().await;
        let continuity = &mut track.continuity;
        self.fetch_media(track.kind, &segment.place, Some(index), continuity, intended_ns)
            .await?;
        Ok(())
    }
}
