//! What a viewer is: how it behaves, what it shares with the others of its thread, and how it waits.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::real_time::RealTime;
use super::titles::{PlayerManifests, Titles};
use crate::client::{Client, Dialer, Failed};
use crate::clock::monotonic_ns;
use crate::manifest::UrlRange;
use crate::measure::{Account, Cause, Quality, Segment};
use crate::schedule::{Popularity, Random};

/// What a viewer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Play {
    /// Manifest, then audio and video of segment after segment, and again, as fast as answers come.
    Loop,
    /// In real time, with a player's buffer.
    RealTime,
    /// Manifest, then random segments, as fast as responses arrive.
    Random,
    /// The manifest again and again.
    Manifest,
}

/// Which rung a viewer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RungChoice {
    /// The highest.
    Highest,
    /// The lowest.
    Lowest,
    /// A random rung for each session.
    Random,
    /// As a player adapts; without a player, the highest.
    Adaptive,
}

/// What all viewers do alike.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// Addresses of manifests, the most popular first; at least one.
    pub titles: Vec<UrlRange>,
    /// How often each is chosen.
    pub popularity: Popularity,
    /// What they do.
    pub play: Play,
    /// Which rung they take.
    pub rung: RungChoice,
    /// How they play in real time.
    pub real_time: RealTime,
    /// Whether they fetch subtitles.
    pub subtitles: bool,
    /// Whether they look into segments.
    pub verify: bool,
    /// Between two sessions, from the least to the most.
    pub think: (Duration, Duration),
    /// Longest session.
    pub session: Option<Duration>,
    /// Whether a viewer leaves after one session.
    pub one_session: bool,
    /// Requests at times of their own, however late answers are: time between two of one viewer.
    pub pace: Option<Duration>,
    /// What chance follows from.
    pub seed: u64,
}

/// What the viewers of one thread share.
pub struct Shared {
    /// What they do.
    pub behaviour: Arc<Behaviour>,
    /// How they connect.
    pub dialer: Rc<Dialer>,
    /// Requests of this second.
    pub account: RefCell<Account>,
    /// Sessions that ended in this second.
    pub quality: RefCell<Quality>,
    /// Segments of this second, with a segment log.
    pub segments: RefCell<Vec<Segment>>,
    pub(super) titles: RefCell<Titles>,
    pub(super) players: RefCell<PlayerManifests>,
}

impl Shared {
    /// For viewers of one thread.
    pub fn new(behaviour: Arc<Behaviour>, dialer: Dialer) -> Self {
        Shared {
            behaviour,
            dialer: Rc::new(dialer),
            account: RefCell::default(),
            quality: RefCell::default(),
            segments: RefCell::default(),
            titles: RefCell::default(),
            players: RefCell::default(),
        }
    }

    /// Notes that something was done later than it should have been.
    pub fn note_lateness(&self, intended_ns: u64, now_ns: u64) {
        let late = i64::try_from(now_ns.saturating_sub(intended_ns)).unwrap_or(i64::MAX);
        self.account.borrow_mut().schedule_error.record(late);
    }
}

/// Tells a viewer to leave: it finishes the request that it waits for, and goes.
#[derive(Debug, Default)]
pub struct Leaving {
    told: Cell<bool>,
    notify: Notify,
}

impl Leaving {
    /// Tells it.
    pub fn tell(&self) {
        self.told.set(true);
        self.notify.notify_waiters();
    }

    /// Whether it was asked to leave.
    pub fn is_told(&self) -> bool {
        self.told.get()
    }

    /// Waits until then (monotonic nanoseconds); false if it is to leave instead.
    pub(super) async fn sleep_until(&self, due_ns: u64) -> bool {
        if self.is_told() {
            return false;
        }
        let left = Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
        if left.is_zero() {
            return true;
        }
        tokio::select! {
            () = tokio::time::sleep(left) => true,
            () = self.notify.notified() => false,
        }
    }
}

/// The first pause after a failure that no answer came of; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// One viewer.
#[derive(Clone)]
pub(super) struct Viewer {
    pub number: u64,
    pub shared: Rc<Shared>,
    pub leaving: Rc<Leaving>,
    pub client: Client,
    pub random: Random,
    /// When the next request should be sent, where that has a time of its own.
    pub intended_ns: Option<u64>,
    /// Requests in a row that failed.
    pub failures: u32,
}

impl Viewer {
    /// How long to wait after the failures so far.
    pub(super) fn pause(&self) -> Duration {
        let doubled = FIRST_PAUSE.saturating_mul(1 << self.failures.saturating_sub(1).min(10));
        doubled.min(LONGEST_PAUSE)
    }

    /// After a failure that no answer came of, waits: an origin that is down is not asked a hundred thousand times a
    /// second. One that answers with an error is.
    pub(super) async fn pause_after(&mut self, failed: Failed) {
        let answered = matches!(
            failed.0,
            Cause::Http4xx | Cause::Http5xx | Cause::HttpOther | Cause::BadMedia | Cause::WrongRange
        );
        if !answered {
            let again = monotonic_ns() + self.pause().as_nanos() as u64;
            self.leaving.sleep_until(again).await;
        }
    }

    /// When the next request is due: at its own time if it has one, else now.
    pub(super) async fn due(&mut self) -> u64 {
        let now = monotonic_ns();
        let due = self.intended_ns.unwrap_or(now);
        if let Some(pace) = self.shared.behaviour.pace {
            self.intended_ns = Some(due + pace.as_nanos() as u64);
        } else {
            self.intended_ns = None;
        }
        // How late one is that waited for the answer before is the origin's doing; it is in the times.
        if now < due && self.leaving.sleep_until(due).await {
            self.shared.note_lateness(due, monotonic_ns());
        }
        due
    }
}
