//! What viewers lived through. It must not know how a player decides.

use weir_stats::DurationHistogram;

/// One session of a viewer, after it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Session {
    /// From the beginning to the first picture; none if there was none.
    pub startup_ns: Option<u64>,
    /// Media played.
    pub played_ns: u64,
    /// How often playback stopped for lack of media.
    pub stalls: u64,
    /// How long it stood still then.
    pub stalled_ns: u64,
    /// Mean bit rate of what was played, bit/s, as the manifest says it.
    pub bitrate: Option<u64>,
    /// Changes of the rung on the screen.
    pub switches: u64,
    /// Whether it ended because media could not be had.
    pub gave_up: bool,
}

/// Sessions that have ended, added up.
#[derive(Clone, Debug, Default)]
pub struct Quality {
    /// How many.
    pub sessions: u64,
    /// Of these, those that never showed a picture.
    pub never_started: u64,
    /// Of these, those that ended for lack of media.
    pub gave_up: u64,
    /// Of these, those that stalled.
    pub stalled_sessions: u64,
    /// Times to the first picture.
    pub startup: DurationHistogram,
    /// Media played.
    pub played_ns: u64,
    /// Stalls.
    pub stalls: u64,
    /// How long they took.
    pub stalled_ns: u64,
    /// Bits played: bit rates weighted by how long each was played.
    pub played_bits: f64,
    /// Changes of the rung.
    pub switches: u64,
}

impl Quality {
    /// Adds a session.
    pub fn add(&mut self, session: &Session) {
        self.sessions += 1;
        match session.startup_ns {
            Some(startup) => self.startup.record(i64::try_from(startup).unwrap_or(i64::MAX)),
            None => self.never_started += 1,
        }
        self.gave_up += u64::from(session.gave_up);
        self.stalled_sessions += u64::from(session.stalls > 0);
        self.played_ns = self.played_ns.saturating_add(session.played_ns);
        self.stalls += session.stalls;
        self.stalled_ns = self.stalled_ns.saturating_add(session.stalled_ns);
        self.played_bits += session.bitrate.unwrap_or(0) as f64 * session.played_ns as f64 / 1e9;
        self.switches += session.switches;
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Quality) {
        self.sessions += other.sessions;
        self.never_started += other.never_started;
        self.gave_up += other.gave_up;
        self.stalled_sessions += other.stalled_sessions;
        self.startup.merge(&other.startup);
        self.played_ns = self.played_ns.saturating_add(other.played_ns);
        self.stalls += other.stalls;
        self.stalled_ns = self.stalled_ns.saturating_add(other.stalled_ns);
        self.played_bits += other.played_bits;
        self.switches += other.switches;
    }

    /// Share of the viewing time that was stalled; none if nothing was viewed.
    pub fn rebuffer_ratio(&self) -> Option<f64> {
        let whole = self.played_ns as f64 + self.stalled_ns as f64;
        (whole > 0.0).then(|| self.stalled_ns as f64 / whole)
    }

    /// Mean bit rate of what was played, bit/s.
    pub fn bitrate(&self) -> Option<f64> {
        (self.played_ns > 0).then(|| self.played_bits * 1e9 / self.played_ns as f64)
    }
}
