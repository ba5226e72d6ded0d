//! Quality of viewing sessions: start-up delay, stalls, bit rate. It must not know how a player decides.

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
    /// The player's last estimate of what the path would carry without a pace, bit/s; none if it had none.
    pub capacity: Option<u64>,
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
    /// Shares of the viewing time of each session that were stalled, in millionths.
    pub rebuffer_ppm: DurationHistogram,
    /// Mean bit rate of each session, bit/s.
    pub bitrates: DurationHistogram,
    /// Last estimate of the capacity of each session, bit/s.
    pub capacities: DurationHistogram,
}

impl Session {
    /// Share of its viewing time that was stalled; none if nothing was viewed.
    pub fn rebuffer_ratio(&self) -> Option<f64> {
        ratio(self.played_ns, self.stalled_ns)
    }
}

fn ratio(played_ns: u64, stalled_ns: u64) -> Option<f64> {
    let whole = played_ns as f64 + stalled_ns as f64;
    (whole > 0.0).then(|| stalled_ns as f64 / whole)
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
        if let Some(ratio) = session.rebuffer_ratio() {
            self.rebuffer_ppm.record((ratio * 1e6).round() as i64);
        }
        if let Some(bitrate) = session.bitrate {
            self.bitrates.record(i64::try_from(bitrate).unwrap_or(i64::MAX));
        }
        if let Some(capacity) = session.capacity {
            self.capacities
                .record(i64::try_from(capacity).unwrap_or(i64::MAX));
        }
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
        self.rebuffer_ppm.merge(&other.rebuffer_ppm);
        self.bitrates.merge(&other.bitrates);
        self.capacities.merge(&other.capacities);
    }

    /// Share of the viewing time that was stalled; none if nothing was viewed.
    pub fn rebuffer_ratio(&self) -> Option<f64> {
        ratio(self.played_ns, self.stalled_ns)
    }

    /// Mean bit rate of what was played, bit/s.
    pub fn bitrate(&self) -> Option<f64> {
        (self.played_ns > 0).then(|| self.played_bits * 1e9 / self.played_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Quality, Session};

    fn session(played_s: u64, stalled_s: u64, bitrate: u64) -> Session {
        Session {
            startup_ns: Some(1),
            played_ns: played_s * 1_000_000_000,
            stalls: u64::from(stalled_s > 0),
            stalled_ns: stalled_s * 1_000_000_000,
            bitrate: Some(bitrate),
            ..Session::default()
        }
    }

    #[test]
    fn each_session_counts_alike_in_the_distributions() {
        // One long session without a stall, and one short one that stalled for most of it: all in all 1 % of the time
        // was stalled, but half of the viewers saw a picture that stood still for 90 %.
        let mut quality = Quality::default();
        quality.add(&session(890, 0, 4_000_000));
        let mut other = Quality::default();
        other.add(&session(1, 9, 1_000_000));
        quality.merge(&other);
        // Nothing was viewed: it is in neither.
        quality.add(&Session::default());
        assert_eq!(quality.rebuffer_ratio(), Some(0.01));
        assert_eq!((quality.sessions, quality.stalled_sessions), (3, 1));
        let ratios = &quality.rebuffer_ppm;
        assert_eq!(
            (ratios.count(), ratios.min(), ratios.max()),
            (2, Some(0), Some(900_000))
        );
        let rates = &quality.bitrates;
        assert_eq!((rates.min(), rates.max()), (Some(1_000_000), Some(4_000_000)));
    }
}
