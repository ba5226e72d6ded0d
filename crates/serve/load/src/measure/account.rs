//! Adds up requests by kind: counts, bytes, failures by cause and full distributions of times.

use std::collections::BTreeMap;

use weir_stats::DurationHistogram;

use super::{Cause, Kind};

/// One request, as it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// What it was for.
    pub kind: Kind,
    /// Whether it left this host: there was a connection for it.
    pub sent: bool,
    /// From when it should have been sent to the first byte of the answer; none if none came.
    pub first_byte_ns: Option<u64>,
    /// From when it should have been sent to the last byte of the answer, or to when it failed.
    pub last_byte_ns: u64,
    /// Bytes of the body.
    pub body_bytes: u64,
    /// Bytes of the answer, its head included.
    pub all_bytes: u64,
    /// Connections that were opened for it.
    pub connections: u64,
    /// How often it was sent again because a kept connection had been closed.
    pub retries: u64,
    /// Why it failed, if it did.
    pub failure: Option<Cause>,
}

impl Sample {
    /// A request of which nothing is known yet.
    pub fn of(kind: Kind) -> Self {
        Sample {
            kind,
            sent: true,
            first_byte_ns: None,
            last_byte_ns: 0,
            body_bytes: 0,
            all_bytes: 0,
            connections: 0,
            retries: 0,
            failure: None,
        }
    }
}

/// Requests of one kind.
#[derive(Clone, Debug, Default)]
pub struct KindAccount {
    /// Requests that were made, failed ones included.
    pub requests: u64,
    /// Of these, those that left this host.
    pub sent: u64,
    /// Of these, those that failed, by cause.
    pub failures: BTreeMap<Cause, u64>,
    /// Bytes of bodies.
    pub body_bytes: u64,
    /// Bytes of answers, heads included.
    pub all_bytes: u64,
    /// Connections opened.
    pub connections: u64,
    /// Requests sent again because a kept connection had been closed.
    pub retries: u64,
    /// To the first byte.
    pub first_byte: DurationHistogram,
    /// To the last byte, or to the failure.
    pub last_byte: DurationHistogram,
    /// The same as Locust tells it: milliseconds, rounded to two digits.
    pub rounded_ms: BTreeMap<u64, u64>,
}

/// Milliseconds as Locust's statistics round them.
fn rounded_ms(ns: u64) -> u64 {
    let ms = ns.saturating_add(500_000) / 1_000_000;
    let unit = match ms {
        0..100 => 1,
        100..1_000 => 10,
        1_000..10_000 => 100,
        _ => 1_000,
    };
    (ms + unit / 2) / unit * unit
}

impl KindAccount {
    fn add(&mut self, sample: &Sample) {
        self.requests += 1;
        self.sent += u64::from(sample.sent);
        self.body_bytes += sample.body_bytes;
        self.all_bytes += sample.all_bytes;
        self.connections += sample.connections;
        self.retries += sample.retries;
        if let Some(cause) = sample.failure {
            *self.failures.entry(cause).or_default() += 1;
        }
        if let Some(first_byte) = sample.first_byte_ns {
            self.first_byte.record(signed(first_byte));
        }
        self.last_byte.record(signed(sample.last_byte_ns));
        *self
            .rounded_ms
            .entry(rounded_ms(sample.last_byte_ns))
            .or_default() += 1;
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &KindAccount) {
        self.requests += other.requests;
        self.sent += other.sent;
        self.body_bytes += other.body_bytes;
        self.all_bytes += other.all_bytes;
        self.connections += other.connections;
        self.retries += other.retries;
        for (cause, count) in &other.failures {
            *self.failures.entry(*cause).or_default() += count;
        }
        self.first_byte.merge(&other.first_byte);
        self.last_byte.merge(&other.last_byte);
        for (ms, count) in &other.rounded_ms {
            *self.rounded_ms.entry(*ms).or_default() += count;
        }
    }

    /// Requests that failed.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Requests of all kinds, and how late the generator itself was.
#[derive(Clone, Debug, Default)]
pub struct Account {
    kinds: BTreeMap<Kind, KindAccount>,
    /// From when something should have been done to when it was: viewers' arrivals and requests that have a time.
    pub schedule_error: DurationHistogram,
}

impl Account {
    /// Adds a request.
    pub fn add(&mut self, sample: &Sample) {
        self.kinds.entry(sample.kind).or_default().add(sample);
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Account) {
        for (kind, account) in &other.kinds {
            self.kinds.entry(*kind).or_default().merge(account);
        }
        self.schedule_error.merge(&other.schedule_error);
    }

    /// Each kind of which there was a request.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, &KindAccount)> {
        self.kinds.iter().map(|(kind, account)| (*kind, account))
    }

    /// Adds requests of one kind that somebody else has counted.
    pub fn add_kind(&mut self, kind: Kind, account: &KindAccount) {
        self.kinds.entry(kind).or_default().merge(account);
    }

    /// All kinds together.
    pub fn total(&self) -> KindAccount {
        let mut total = KindAccount::default();
        for account in self.kinds.values() {
            total.merge(account);
        }
        total
    }
}
