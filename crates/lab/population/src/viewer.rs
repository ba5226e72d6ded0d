//! The viewer of a household: the player's model, one segment at a time on one connection. It must not know TCP.

use std::sync::Arc;
use std::time::Duration;

use weir_pacing::{PaceBounds, PaceRequest};
use weir_player::{Action, Arrivals, Event, Manifest, Outcome, Player, Request, Settings};
use weir_units::Rate;

use crate::file::Grants;
use crate::wish::Wish;

/// A segment that was fetched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fetch {
    pub bytes: u64,
    /// From the request to the last byte.
    pub took_ns: u64,
}

/// A viewer.
#[derive(Debug)]
pub(crate) struct Viewer {
    player: Player,
    grants: Grants,
    /// The segment that is being fetched, and since when.
    fetching: Option<(Request, u64)>,
    arrivals: Arrivals,
    /// Highest pace that was granted, bits per second of payload.
    pub pace: Option<u64>,
    /// Time in which segments were fetched, the present one apart.
    fetched_ns: u64,
    pub fetches: Vec<Fetch>,
    /// How the session ended, and when.
    pub ended: Option<(Outcome, u64)>,
}

fn time(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

impl Viewer {
    /// A viewer who asks for the title at time 0.
    pub fn new(settings: Settings, manifest: &Arc<Manifest>, grants: Grants) -> Self {
        let mut player = Player::new(settings, Duration::ZERO);
        player.handle(Duration::ZERO, Event::Manifest(Arc::clone(manifest)));
        Viewer {
            player,
            grants,
            fetching: None,
            arrivals: Arrivals::default(),
            pace: None,
            fetched_ns: 0,
            fetches: Vec::new(),
            ended: None,
        }
    }

    /// What the viewer got until now.
    pub fn figures(&self, now_ns: u64) -> weir_player::Figures {
        self.player.figures(time(now_ns))
    }

    /// Whether a segment is being fetched.
    pub fn is_fetching(&self) -> bool {
        self.fetching.is_some()
    }

    /// Time in which segments were fetched so far.
    pub fn fetching_ns(&self, now_ns: u64) -> u64 {
        let present = self.fetching.as_ref().map_or(0, |(_, since)| now_ns - since);
        self.fetched_ns + present
    }

    /// What the player wants; only called while nothing is being fetched.
    pub fn poll(&mut self, now_ns: u64) -> Wish {
        loop {
            match self.player.poll(time(now_ns)) {
                Action::Fetch(request) => {
                    let pace = self.granted(&request).map(|rate| rate.0);
                    self.pace = self.pace.max(pace);
                    let bytes = request.expected_bytes;
                    self.fetching = Some((request, now_ns));
                    return Wish::Ask { bytes, pace };
                }
                // Only seeking cancels, and this viewer does not.
                Action::Cancel(_) => {}
                Action::Wait { until } => {
                    return Wish::Wait(
                        until.map(|until| u64::try_from(until.as_nanos()).unwrap_or(u64::MAX)),
                    );
                }
                Action::Finished(outcome) => {
                    self.ended.get_or_insert((outcome, now_ns));
                    return Wish::Wait(None);
                }
            }
        }
    }

    /// The pace that the server grants: it knows of the player what CMCD reports.
    fn granted(&self, request: &Request) -> Option<Rate> {
        let Grants::Bounds { factor } = self.grants else {
            return request.pace;
        };
        request.pace?;
        let asked = Ok(PaceRequest {
            keys: request.cmcd.clone(),
            header: None,
        });
        let bounds = PaceBounds {
            factor,
            ..PaceBounds::default()
        };
        bounds.decide(&asked, request.expected_bytes).rate
    }

    /// The answer has begun.
    pub fn begun(&mut self, now_ns: u64) {
        if let Some((request, _)) = &self.fetching {
            let request = request.id;
            self.player
                .handle(time(now_ns), Event::Bytes { request, bytes: 0 });
        }
    }

    /// Bytes of the answer have arrived.
    pub fn arrived(&mut self, now_ns: u64, bytes: u64) {
        self.arrivals.push(now_ns, bytes);
    }

    /// The answer is complete.
    pub fn complete(&mut self, now_ns: u64) {
        let Some((request, since)) = self.fetching.take() else {
            return;
        };
        let (id, bytes) = (request.id, request.expected_bytes);
        self.player
            .handle(time(now_ns), Event::Bytes { request: id, bytes });
        let arrivals = std::mem::take(&mut self.arrivals);
        let request = id;
        self.player
            .handle(time(now_ns), Event::Arrived { request, arrivals });
        self.player.handle(time(now_ns), Event::Complete { request });
        self.fetched_ns += now_ns - since;
        self.fetches.push(Fetch {
            bytes,
            took_ns: now_ns - since,
        });
    }
}
