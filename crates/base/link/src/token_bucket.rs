//! Exact token buckets: levels are whole numbers of billionths of a token, of which as many are added per nanosecond as
//! the rate has tokens per second. They must not know what a token stands for.

/// Billionths.
const PARTS: u64 = 1_000_000_000;

/// Rate and size, shared by any number of buckets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenRate {
    per_second: u64,
    full: u64,
}

/// Level of one bucket at its last update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    parts: u64,
    at: u64,
}

impl TokenRate {
    /// `burst` at most 1.8e10: beyond it, buckets are smaller than requested.
    pub(crate) fn new(per_second: u64, burst: u64) -> Self {
        Self {
            per_second,
            full: burst.saturating_mul(PARTS),
        }
    }

    /// A bucket that is full.
    pub(crate) fn full(&self, now: u64) -> Level {
        Level {
            parts: self.full,
            at: now,
        }
    }

    /// Takes `tokens` tokens, or none if there are too few.
    pub(crate) fn take(&self, level: &mut Level, now: u64, tokens: u64) -> bool {
        level.parts = self.parts(level, now);
        level.at = now;
        match tokens
            .checked_mul(PARTS)
            .and_then(|needed| level.parts.checked_sub(needed))
        {
            Some(left) => level.parts = left,
            None => return false,
        }
        true
    }

    /// Whether a bucket is full, so that dropping it changes nothing.
    pub(crate) fn is_full(&self, level: &Level, now: u64) -> bool {
        self.parts(level, now) == self.full
    }

    fn parts(&self, level: &Level, now: u64) -> u64 {
        let elapsed = u128::from(now.saturating_sub(level.at));
        let parts = u128::from(level.parts) + elapsed * u128::from(self.per_second);
        u64::try_from(parts).map_or(self.full, |parts| parts.min(self.full))
    }
}
