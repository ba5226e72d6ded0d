//! One request of a viewer, with what is done with its body: counted, looked into, or read.

use std::sync::Arc;

use weir_player::Arrivals;

use super::state::{Play, Viewer};
use crate::client::{Answer, Failed, Request};
use crate::clock::monotonic_ns;
use crate::manifest::{self, Media, Segments, UrlRange};
use crate::measure::{Bins, Cause, Kind, Sample};
use crate::verify::{Defaults, Spans, Verdict, Verifier};

/// Most bytes of a segment index.
const MOST_INDEX: usize = 4 << 20;

/// What a viewer knows of a track from the segments before.
#[derive(Debug, Default)]
pub(super) struct Continuity {
    pub defaults: Defaults,
    /// How the bytes of the segment that was fetched last came.
    pub bins: Bins,
    /// When they came, for a player.
    pub arrivals: Arrivals,
    /// Which segment came last, and when its media begin and end.
    last: Option<(usize, Spans)>,
}

impl Continuity {
    /// What comes next has times of its own: another period, or what stands behind a discontinuity.
    pub(super) fn begin_anew(&mut self) {
        self.last = None;
    }

    /// Applies an initialization segment. With another timescale, decode times cannot be compared with earlier ones.
    fn initialize(&mut self, defaults: Defaults) {
        if !self.defaults.has_clocks_of(&defaults) {
            self.last = None;
        }
        self.defaults = defaults;
    }
}

impl Viewer {
    /// Fetches something whose body is only counted.
    pub(super) async fn fetch(&mut self, kind: Kind, place: &UrlRange) -> Result<Answer, Failed> {
        let intended_ns = self.due().await;
        let got = self.request(kind, place, intended_ns, &mut |_| {}).await;
        self.settle(got, |_| Ok(()))
    }

    /// Fetches a media segment, the `index`-th of its track, or an initialization segment if there is no index.
    pub(super) async fn fetch_media(
        &mut self,
        kind: Kind,
        place: &UrlRange,
        index: Option<usize>,
        continuity: &mut Continuity,
        intended_ns: u64,
    ) -> Result<Answer, Failed> {
        let told_of = self.shared.behaviour.real_time.tell_segments;
        let plays = matches!(self.shared.behaviour.play, Play::RealTime);
        let (mut bins, mut arrivals) = (Bins::default(), Arrivals::default());
        let mut verifier = self
            .shared
            .behaviour
            .verify
            .then(|| Verifier::new(&continuity.defaults));
        let mut look = |bytes: &[u8]| {
            if told_of || plays {
                let now_ns = monotonic_ns();
                if told_of {
                    bins.add(now_ns, bytes.len() as u64);
                }
                arrivals.push(now_ns, bytes.len() as u64);
            }
            if let Some(verifier) = &mut verifier {
                verifier.push(bytes);
            }
        };
        let got = self.request(kind, place, intended_ns, &mut look).await;
        (continuity.bins, continuity.arrivals) = (bins, arrivals);
        let Some(verifier) = verifier else {
            return self.settle(got, |_| Ok(()));
        };
        self.settle(got, |_| match (verifier.finish(), index) {
            (Verdict::Init(defaults), None) => {
                continuity.initialize(defaults);
                Ok(())
            }
            (Verdict::Media(spans), Some(index)) => {
                let last = continuity.last.replace((index, spans));
                let now = continuity.last.as_ref().map(|(_, spans)| spans);
                match (last, now) {
                    (Some((before, last)), Some(now)) if before + 1 == index && !now.follows(&last) => {
                        Err(Cause::BadMedia)
                    }
                    _ => Ok(()),
                }
            }
            (Verdict::Other, _) => Ok(()),
            _ => Err(Cause::BadMedia),
        })
    }

    /// Fetches something of at most `most` bytes and keeps it; `read` says what it is.
    pub(super) async fn fetch_whole<T>(
        &mut self,
        kind: Kind,
        place: &UrlRange,
        most: usize,
        read: impl FnOnce(&mut Viewer, &str, &[u8]) -> Result<T, manifest::ManifestError>,
    ) -> Result<T, Failed> {
        let intended_ns = self.due().await;
        let mut whole = Vec::new();
        let mut keep = |bytes: &[u8]| {
            // One byte too many is enough to refuse it.
            let room = (most + 1).saturating_sub(whole.len()).min(bytes.len());
            whole.extend_from_slice(&bytes[..room]);
        };
        let (answer, sample) = self.request(kind, place, intended_ns, &mut keep).await?;
        let read = if whole.len() > most {
            Err(manifest::ManifestError::TooLong)
        } else {
            read(self, &answer.url, &whole)
        };
        let judged = read.map_err(|error| {
            tracing::debug!("{}: {error}", answer.url);
            Cause::BadManifest
        });
        let mut value = None;
        self.settle(Ok((answer, sample)), |_| {
            value = Some(judged?);
            Ok(())
        })?;
        value.ok_or(Failed(Cause::BadManifest))
    }

    /// The segments of a rung, fetched if they are not known yet.
    pub(super) async fn segments(&mut self, media: &Media) -> Result<Arc<Segments>, Failed> {
        match media {
            Media::Known(segments) => Ok(segments.clone()),
            Media::Playlist(place) => {
                let read = |viewer: &mut Viewer, url: &str, bytes: &[u8]| {
                    viewer.shared.titles.borrow_mut().playlist(url, bytes)
                };
                self.fetch_whole(Kind::Manifest, place, manifest::MOST_BYTES, read)
                    .await
            }
            Media::Indexed { index, init } => {
                let read = |viewer: &mut Viewer, url: &str, bytes: &[u8]| {
                    let mut titles = viewer.shared.titles.borrow_mut();
                    titles.index(url, bytes, index, init.as_ref())
                };
                self.fetch_whole(Kind::Init, index, MOST_INDEX, read).await
            }
        }
    }

    /// Sends a request. Its sample comes back, so that what was found in the body can still make it a failure.
    async fn request(
        &mut self,
        kind: Kind,
        place: &UrlRange,
        intended_ns: u64,
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<(Answer, Sample), Failed> {
        let shared = self.shared.clone();
        let mut last: Option<Sample> = None;
        let mut account = |sample: Sample| {
            if let Some(before) = last.replace(sample) {
                shared.account.borrow_mut().add(&before);
            }
        };
        let request = Request {
            kind,
            place,
            intended_ns,
        };
        let got = self.client.get(request, &mut account, body).await;
        match (got, last) {
            (Ok(answer), Some(sample)) => Ok((answer, sample)),
            (Ok(_), None) => Err(Failed(Cause::BadResponse)),
            (Err(failed), last) => {
                if let Some(sample) = last {
                    self.shared.account.borrow_mut().add(&sample);
                }
                self.failures = self.failures.saturating_add(1);
                Err(failed)
            }
        }
    }

    /// Accounts for a request after its body was judged.
    fn settle(
        &mut self,
        got: Result<(Answer, Sample), Failed>,
        judge: impl FnOnce(&Answer) -> Result<(), Cause>,
    ) -> Result<Answer, Failed> {
        let (answer, mut sample) = got?;
        let judged = judge(&answer);
        sample.failure = judged.err();
        self.shared.account.borrow_mut().add(&sample);
        match judged {
            Ok(()) => {
                self.failures = 0;
                Ok(answer)
            }
            Err(cause) => {
                self.failures = self.failures.saturating_add(1);
                Err(Failed(cause))
            }
        }
    }

    /// Whether a session that began then has lasted long enough.
    pub(super) fn is_over(&self, began_ns: u64) -> bool {
        let longest = self.shared.behaviour.session;
        self.leaving.is_told()
            || longest.is_some_and(|longest| {
                u128::from(monotonic_ns().saturating_sub(began_ns)) >= longest.as_nanos()
            })
    }
}
