//! Playing in real time: a `weir-player` decides what to fetch and when, this fetches it and tells the player what came
//! of it. By HTTP/1.1 requests go one after the other on the viewer's connection; by HTTP/2 sound and pictures are
//! fetched at once, as players do.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use weir_media::cmcd;
use weir_net::clock::unix_ns;
use weir_player::{Action, Event, Figures, Manifest, Outcome, Player, Request, RequestId, Track};
use weir_units::Rate;

use super::fetching::Continuity;
use super::state::{RungChoice, Viewer};
use crate::client::{Answer, Failed};
use crate::clock::monotonic_ns;
use crate::manifest::{Media, MediaKind, Presentation, Segments, Set, UrlRange};
use crate::measure::{Cause, Kind, Segment, Session};

/// A player takes no segments that last no time; playlists have them.
const SHORTEST: Duration = Duration::from_millis(1);
/// The most that a player takes.
const MOST_RUNGS: usize = weir_player::MAX_RUNGS;

/// A track over all periods.
struct Playing {
    kind: Kind,
    /// Of each period: its set.
    sets: Vec<Set>,
    /// How many segments each period has.
    counts: Vec<usize>,
    /// Segments of rungs that are known, by period and rung.
    known: Vec<((usize, usize), Arc<Segments>)>,
    continuity: Continuity,
    /// Period, rung and number of the initialization segment that was fetched last.
    init: Option<(usize, usize, u32)>,
    key: Option<(usize, usize, u32)>,
}

/// A session that is going.
struct Sitting {
    began_ns: u64,
    player: Player,
    /// Those of which a segment is on its way are with it.
    tracks: Vec<Option<Playing>>,
    flights: Vec<Flight>,
}

/// A segment on its way.
type Flight = Pin<Box<dyn Future<Output = Landed>>>;

/// One that has come, or has failed to.
struct Landed {
    track: usize,
    playing: Option<Playing>,
    request: RequestId,
    /// Its record for the segment log, if requested.
    asked: Option<Segment>,
    got: Result<Answer, Failed>,
}

impl Sitting {
    fn now(&self) -> Duration {
        Duration::from_nanos(monotonic_ns().saturating_sub(self.began_ns))
    }

    /// The next that lands; never if there is none.
    async fn landing(&mut self) -> Landed {
        poll_fn(|context| {
            for number in 0..self.flights.len() {
                if let Poll::Ready(landed) = self.flights[number].as_mut().poll(context) {
                    drop(self.flights.swap_remove(number));
                    return Poll::Ready(landed);
                }
            }
            Poll::Pending
        })
        .await
    }
}

impl Viewer {
    /// One session, from the manifest to the end of the title, of the session, or of patience.
    pub(super) async fn watch(&mut self, title: &UrlRange) -> Result<(), Failed> {
        let began_ns = self.intended_ns.unwrap_or_else(monotonic_ns);
        let prepared = self.prepare(title, began_ns).await;
        let mut sitting = match prepared {
            Ok(sitting) => sitting,
            Err(failed) => {
                let session = Session {
                    gave_up: true,
                    ..Session::default()
                };
                self.shared.quality.borrow_mut().add(&session);
                return Err(failed);
            }
        };
        let outcome = self.sit(&mut sitting).await;
        let figures = sitting.player.figures(sitting.now());
        let session = session(&figures, outcome);
        self.shared.quality.borrow_mut().add(&session);
        match outcome {
            Outcome::GaveUp => Err(Failed(Cause::Timeout)),
            Outcome::Played | Outcome::Stopped => Ok(()),
        }
    }

    async fn prepare(&mut self, title: &UrlRange, began_ns: u64) -> Result<Sitting, Failed> {
        let presentation = self.open(title).await?;
        let first = presentation.periods.first();
        let main = first.and_then(|period| period.first(MediaKind::Video).or(period.sets.first()));
        let rungs = main.map_or(1, |set| set.rungs.len());
        let choice = match self.shared.behaviour.rung {
            RungChoice::Adaptive => None,
            _ => Some(self.rung(rungs)),
        };
        let mut tracks = Vec::new();
        let mut shared = Vec::new();
        for (wanted, kind) in self.wanted() {
            if let Some(track) = self
                .playing(&presentation, wanted, kind, choice, &mut shared)
                .await?
            {
                tracks.push((wanted, track));
            }
        }
        let manifest = self.player_manifest(&tracks, shared)?;
        let seed = (self.random.unit() * (1_u64 << 53) as f64) as u64;
        let behaviour = self.shared.behaviour.clone();
        let settings = behaviour.real_time.settings(choice, title, seed);
        let mut player = Player::new(settings, Duration::ZERO);
        let now = Duration::from_nanos(monotonic_ns().saturating_sub(began_ns));
        player.handle(now, Event::Manifest(manifest));
        Ok(Sitting {
            began_ns,
            player,
            tracks: tracks.into_iter().map(|(_, track)| Some(track)).collect(),
            flights: Vec::new(),
        })
    }

    /// A track of a presentation, with the segments of the rung that is played first.
    async fn playing(
        &mut self,
        presentation: &Presentation,
        wanted: MediaKind,
        kind: Kind,
        choice: Option<usize>,
        shared: &mut Vec<Arc<Segments>>,
    ) -> Result<Option<Playing>, Failed> {
        let sets: Option<Vec<Set>> = presentation
            .periods
            .iter()
            .map(|period| period.first(wanted).cloned())
            .collect();
        // A kind that only some periods have is not played.
        let Some(sets) = sets else { return Ok(None) };
        let mut playing = Playing {
            kind,
            counts: Vec::new(),
            known: Vec::new(),
            continuity: Continuity::default(),
            init: None,
            key: None,
            sets,
        };
        for period in 0..playing.sets.len() {
            let rungs = playing.sets[period].rungs.len();
            let rung = choice.unwrap_or(0).min(rungs.saturating_sub(1));
            let segments = self.rung_segments(&mut playing, period, rung).await?;
            playing.counts.push(segments.list.len());
            shared.push(segments);
        }
        Ok(Some(playing))
    }

    async fn rung_segments(
        &mut self,
        track: &mut Playing,
        period: usize,
        rung: usize,
    ) -> Result<Arc<Segments>, Failed> {
        let known = track.known.iter().find(|(at, _)| *at == (period, rung));
        if let Some((_, segments)) = known {
            return Ok(segments.clone());
        }
        let media: Media = track.sets[period].rungs[rung].media.clone();
        let segments = self.segments(&media).await?;
        track.known.push(((period, rung), segments.clone()));
        Ok(segments)
    }

    /// The presentation as a player sees it.
    fn player_manifest(
        &self,
        tracks: &[(MediaKind, Playing)],
        shared: Vec<Arc<Segments>>,
    ) -> Result<Arc<Manifest>, Failed> {
        let mut players = self.shared.players.borrow_mut();
        if let Some(manifest) = players.of(&shared) {
            return Ok(manifest);
        }
        let mut segments = shared.iter();
        let made: Result<Vec<Track>, weir_player::ManifestError> = tracks
            .iter()
            .map(|(wanted, track)| {
                let periods = segments.by_ref().take(track.sets.len());
                let list = periods.flat_map(|segments| &segments.list);
                let durations: Vec<Duration> = list
                    .map(|segment| Duration::from_nanos(segment.duration_ns).max(SHORTEST))
                    .collect();
                Track::new(player_kind(*wanted), &durations, ladder(&track.sets[0]))
            })
            .collect();
        let manifest = made.and_then(Manifest::new).map_err(|error| {
            tracing::debug!("unplayable presentation: {error}");
            Failed(Cause::BadManifest)
        })?;
        Ok(players.keep(shared, manifest))
    }

    async fn sit(&mut self, sitting: &mut Sitting) -> Outcome {
        loop {
            if self.is_over(sitting.began_ns) {
                sitting.player.handle(sitting.now(), Event::Stop);
            }
            match sitting.player.poll(sitting.now()) {
                Action::Fetch(request) => {
                    // What the player waited for has its time; everything else is due now.
                    let intended_ns = self.intended_ns.take().unwrap_or_else(monotonic_ns);
                    let flight = self.take_off(sitting, request, intended_ns);
                    sitting.flights.push(flight);
                    if !self.client.multiplexes() {
                        let landed = sitting.landing().await;
                        self.land(sitting, landed);
                    }
                }
                // It comes only at the end, and requests that are on their way then come to theirs.
                Action::Cancel(_) => {}
                Action::Wait { until: Some(until) } => self.wait(sitting, until).await,
                Action::Wait { until: None } if !sitting.flights.is_empty() => {
                    let landed = sitting.landing().await;
                    self.land(sitting, landed);
                }
                Action::Wait { until: None } => sitting.player.handle(sitting.now(), Event::Stop),
                Action::Finished(outcome) => {
                    while !sitting.flights.is_empty() {
                        sitting.landing().await;
                    }
                    self.intended_ns = None;
                    return outcome;
                }
            }
        }
    }

    /// Waits until then, for what is on its way, or until it is time to leave.
    async fn wait(&mut self, sitting: &mut Sitting, until: Duration) {
        let mut due_ns = sitting.began_ns + until.as_nanos() as u64;
        if let Some(longest) = self.shared.behaviour.session {
            due_ns = due_ns.min(sitting.began_ns.saturating_add(longest.as_nanos() as u64));
        }
        if monotonic_ns() < due_ns {
            tokio::select! {
                landed = sitting.landing() => return self.land(sitting, landed),
                in_time = self.leaving.sleep_until(due_ns) => if in_time {
                    self.shared.note_lateness(due_ns, monotonic_ns());
                }
            }
        }
        self.intended_ns = Some(due_ns);
    }

    fn take_off(&self, sitting: &mut Sitting, request: Request, intended_ns: u64) -> Flight {
        let asked = self.asked(sitting, &request);
        let mut viewer = Viewer {
            intended_ns: None,
            failures: 0,
            ..self.clone()
        };
        let mut playing = sitting.tracks.get_mut(request.track).and_then(Option::take);
        Box::pin(async move {
            let got = match &mut playing {
                Some(track) => viewer.fetch_for(track, &request, intended_ns).await,
                None => Err(Failed(Cause::BadManifest)),
            };
            Landed {
                track: request.track,
                playing,
                request: request.id,
                asked,
                got,
            }
        })
    }

    fn land(&mut self, sitting: &mut Sitting, landed: Landed) {
        let Landed {
            track,
            mut playing,
            request,
            asked,
            got,
        } = landed;
        let arrivals = playing
            .as_mut()
            .map(|playing| std::mem::take(&mut playing.continuity.arrivals));
        if let Some(place) = sitting.tracks.get_mut(track) {
            *place = playing;
        }
        match got {
            Ok(ref answer) => {
                self.failures = 0;
                let at = |ns: u64| Duration::from_nanos(ns.saturating_sub(sitting.began_ns));
                let (first, last) = (at(answer.first_byte_ns), at(answer.last_byte_ns));
                let bytes = answer.body_bytes;
                sitting.player.handle(first, Event::Bytes { request, bytes: 0 });
                sitting.player.handle(last, Event::Bytes { request, bytes });
                let arrivals = arrivals.unwrap_or_default();
                sitting.player.handle(last, Event::Arrived { request, arrivals });
                sitting.player.handle(last, Event::Complete { request });
            }
            Err(_) => {
                self.failures = self.failures.saturating_add(1);
                sitting.player.handle(sitting.now(), Event::Failed { request });
            }
        }
        if let Some(asked) = asked {
            self.tell(sitting, track, asked, &got);
        }
    }

    /// Fetches a segment, with its initialization segment and key where those have changed.
    async fn fetch_for(
        &mut self,
        track: &mut Playing,
        request: &Request,
        intended_ns: u64,
    ) -> Result<Answer, Failed> {
        let (rung, index) = (request.rung, request.segment);
        let (period, at) = track.locate(index).ok_or(Failed(Cause::BadManifest))?;
        let rung = rung.min(track.sets[period].rungs.len().saturating_sub(1));
        let mut intended_ns = Some(intended_ns);
        let segments = self.rung_segments(track, period, rung).await?;
        let segment = segments.list.get(at).ok_or(Failed(Cause::BadManifest))?;
        if at == 0 || segment.starts_anew {
            track.continuity.begin_anew();
        }
        let named = |places: &[UrlRange], number: u32| {
            let place = places.get(number as usize).cloned();
            place.ok_or(Failed(Cause::BadManifest))
        };
        if let Some(number) = segment.init
            && track.init != Some((period, rung, number))
        {
            let place = named(&segments.inits, number)?;
            let due = intended_ns.take().unwrap_or_else(monotonic_ns);
            self.fetch_media(Kind::Init, &place, None, &mut track.continuity, due)
                .await?;
            track.init = Some((period, rung, number));
        }
        if let Some(number) = segment.key
            && track.key != Some((period, rung, number))
        {
            self.fetch(Kind::Key, &named(&segments.keys, number)?).await?;
            track.key = Some((period, rung, number));
        }
        let due = intended_ns.take().unwrap_or_else(monotonic_ns);
        let place = with_cmcd(&segment.place, request);
        self.fetch_media(track.kind, &place, Some(index), &mut track.continuity, due)
            .await
    }

    /// The record of a segment, as far as it is known before the request.
    fn asked(&self, sitting: &Sitting, request: &Request) -> Option<Segment> {
        if !self.shared.behaviour.real_time.tell_segments {
            return None;
        }
        let track = sitting.tracks.get(request.track)?.as_ref()?;
        let (period, _) = track.locate(request.segment)?;
        let rung = track.sets.get(period)?.rungs.get(request.rung)?;
        Some(Segment {
            viewer: self.number,
            unix_ns: unix_ns(),
            kind: track.kind.name(),
            segment: request.segment as u64,
            rung: request.rung as u64,
            bitrate: rung.bandwidth,
            buffer_ns: ns(sitting.player.buffer(request.track)),
            pace: request.pace.map(|rate| rate.0),
            ..Segment::default()
        })
    }

    fn tell(&self, sitting: &Sitting, track: usize, asked: Segment, got: &Result<Answer, Failed>) {
        let mut segment = asked;
        match got {
            Ok(answer) => {
                segment.bytes = answer.body_bytes;
                segment.capacity = sitting.player.capacity().map(|rate| rate.0);
                segment.first_byte_ns = Some(answer.first_byte_ns.saturating_sub(answer.sent_ns));
                segment.last_byte_ns = answer.last_byte_ns.saturating_sub(answer.sent_ns);
                let rates = sitting
                    .tracks
                    .get(track)
                    .and_then(|track| track.as_ref()?.continuity.bins.rates());
                (segment.bin_rate, segment.bin_deviation) = rates.unzip();
            }
            Err(failed) => {
                segment.last_byte_ns = unix_ns().saturating_sub(segment.unix_ns);
                segment.failed(failed.0);
            }
        }
        self.shared.segments.borrow_mut().push(segment);
    }
}

impl Playing {
    /// The period of a segment, and its place in there.
    fn locate(&self, mut index: usize) -> Option<(usize, usize)> {
        for (period, count) in self.counts.iter().enumerate() {
            if index < *count {
                return Some((period, index));
            }
            index -= count;
        }
        None
    }
}

fn player_kind(kind: MediaKind) -> weir_player::MediaKind {
    match kind {
        MediaKind::Video => weir_player::MediaKind::Video,
        MediaKind::Audio => weir_player::MediaKind::Audio,
        MediaKind::Subtitle => weir_player::MediaKind::Text,
    }
}

/// The bit rates of a set. A player wants them to rise; manifests may say the same twice.
fn ladder(set: &Set) -> Vec<weir_player::Rung> {
    let mut before = 0;
    let rungs = set.rungs.iter().take(MOST_RUNGS).map(|rung| {
        before = rung.bandwidth.max(before + 1);
        weir_player::Rung {
            bitrate: Rate(before),
            segment_bytes: Vec::new(),
        }
    });
    rungs.collect()
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The place with what the player tells the server by CMCD, as an argument of the query.
fn with_cmcd(place: &UrlRange, request: &Request) -> UrlRange {
    let Some(keys) = &request.cmcd else {
        return place.clone();
    };
    let joint = if place.target.contains('?') { '&' } else { '?' };
    let target = format!("{}{joint}{}={}", place.target, cmcd::QUERY_ARGUMENT, keys.query());
    UrlRange {
        target: target.into(),
        ..place.clone()
    }
}

fn session(figures: &Figures, outcome: Outcome) -> Session {
    Session {
        startup_ns: figures.startup_delay.map(ns),
        played_ns: ns(figures.played),
        stalls: u64::from(figures.stalls),
        stalled_ns: ns(figures.stalled),
        bitrate: figures.bitrate.map(|rate| rate.0),
        switches: u64::from(figures.switches),
        capacity: figures.capacity.map(|rate| rate.0),
        gave_up: outcome == Outcome::GaveUp,
    }
}
