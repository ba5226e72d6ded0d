//! Counts of what the origin does, kept as it does it and read by whoever asks. It must not know what a request or a
//! read is, only that one was made.

mod histogram;
mod request;
mod text;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weir_pacing::{Pace, PaceReason};

pub use histogram::Histogram;
pub use request::{CacheStatus, RequestReads, counted_for, counted_for_current, counting_for};

/// What bytes are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// MPDs, playlists, and what titles are described by in storage.
    Manifest,
    /// Reads that locate the samples of a file.
    Index,
    /// Initialisation segments.
    Init,
    /// Media segments.
    Media,
    /// Subtitles.
    Subtitles,
    /// Stored files as they are.
    File,
    /// Health, metrics, and what there is nothing at.
    Other,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 7] = [
        Kind::Manifest,
        Kind::Index,
        Kind::Init,
        Kind::Media,
        Kind::Subtitles,
        Kind::File,
        Kind::Other,
    ];

    /// As labels and logs say it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Manifest => "manifest",
            Kind::Index => "index",
            Kind::Init => "init",
            Kind::Media => "media",
            Kind::Subtitles => "subtitles",
            Kind::File => "file",
            Kind::Other => "other",
        }
    }
}

/// Where something that was wanted again was found, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// In memory.
    Memory,
    /// In the folder beside.
    Disk,
    /// In a read that another request had begun.
    Shared,
    /// Nowhere.
    Missed,
}

impl Tier {
    /// All of them.
    pub const ALL: [Tier; 4] = [Tier::Memory, Tier::Disk, Tier::Shared, Tier::Missed];

    /// As labels say it.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Memory => "memory",
            Tier::Disk => "disk",
            Tier::Shared => "shared",
            Tier::Missed => "missed",
        }
    }
}

/// How a handshake of TLS ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Both sides agreed.
    Done,
    /// They did not, or the client went.
    Failed,
    /// The client was too slow.
    TimedOut,
}

impl Handshake {
    /// All of them.
    pub const ALL: [Handshake; 3] = [Handshake::Done, Handshake::Failed, Handshake::TimedOut];

    /// As labels say it.
    pub fn name(self) -> &'static str {
        match self {
            Handshake::Done => "done",
            Handshake::Failed => "failed",
            Handshake::TimedOut => "timed_out",
        }
    }
}

/// The status of requests that were cut off before they had an answer: none of HTTP, but the one that nginx gives them.
pub const CUT_OFF: u16 = 499;

/// Statuses that are told apart; others count together.
const STATUSES: [u16; 21] = [
    200, 204, 206, 304, 400, 403, 404, 405, 408, 412, 414, 416, 429, 431, CUT_OFF, 500, 501, 502, 503, 504, 0,
];

/// Causes of errors that are told apart, as `StorageError::cause` and the server's own say them; others count together.
const CAUSES: [&str; 23] = [
    "storage_not_found",
    "storage_forbidden",
    "storage_changed",
    "storage_unreachable",
    "storage_broke_off",
    "storage_timed_out",
    "storage_unavailable",
    "storage_wrong_answer",
    "storage_no_lists",
    "storage_file",
    "bad_path",
    "bad_query",
    "bad_media",
    "key_unavailable",
    "key_wrong",
    "protected",
    "not_encrypted",
    "bad_licence_request",
    "not_found",
    "method",
    "client_stalled",
    "client_gone",
    "other",
];

type PerKind = [AtomicU64; Kind::ALL.len()];

/// All counts, from the start of the process.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: [[AtomicU64; STATUSES.len()]; Kind::ALL.len()],
    bytes_out: PerKind,
    bytes_in: PerKind,
    reads: PerKind,
    retries: AtomicU64,
    hedges: AtomicU64,
    hedges_won: AtomicU64,
    storage_connections: AtomicU64,
    cache: [[AtomicU64; Tier::ALL.len()]; Kind::ALL.len()],
    errors: [AtomicU64; CAUSES.len()],
    connections: AtomicU64,
    connections_total: AtomicU64,
    http2_connections: AtomicU64,
    handshakes: [AtomicU64; Handshake::ALL.len()],
    log_lines_lost: AtomicU64,
    paces: [AtomicU64; PaceReason::ALL.len()],
    pace_bits: AtomicU64,
    paced_connections: AtomicU64,
    storage_latency: Histogram,
    first_byte: Histogram,
}

impl Metrics {
    /// A request was answered with that status; its first byte left after `first_byte`.
    pub fn answered(&self, kind: Kind, status: u16, first_byte: Duration) {
        self.ended(kind, status);
        self.first_byte.add(first_byte);
    }

    /// A request was cut off before it had an answer, by its client or by its time.
    pub fn cut_off(&self) {
        self.ended(Kind::Other, CUT_OFF);
    }

    fn ended(&self, kind: Kind, status: u16) {
        let place = STATUSES
            .iter()
            .position(|known| *known == status)
            .unwrap_or(STATUSES.len() - 1);
        add(&self.requests[kind as usize][place], 1);
    }

    /// Bytes of bodies went to clients.
    pub fn sent(&self, kind: Kind, bytes: u64) {
        add(&self.bytes_out[kind as usize], bytes);
    }

    /// A read of storage was begun, a retry included.
    pub fn reading(&self, kind: Kind) {
        add(&self.reads[kind as usize], 1);
    }

    /// The storage's answer to a read began after this time.
    pub fn storage_answered(&self, after: Duration) {
        self.storage_latency.add(after);
    }

    /// Bytes of bodies came from storage.
    pub fn received(&self, kind: Kind, bytes: u64) {
        add(&self.bytes_in[kind as usize], bytes);
        request::received(bytes);
    }

    /// A read was tried again.
    pub fn retried(&self) {
        add(&self.retries, 1);
    }

    /// A read that was slow was made a second time.
    pub fn hedged(&self) {
        add(&self.hedges, 1);
    }

    /// The answer to a second read came first.
    pub fn hedge_won(&self) {
        add(&self.hedges_won, 1);
    }

    /// A connection to storage was opened.
    pub fn storage_connected(&self) {
        add(&self.storage_connections, 1);
    }

    /// Something was looked for in a cache.
    pub fn looked_up(&self, kind: Kind, tier: Tier) {
        add(&self.cache[kind as usize][tier as usize], 1);
        request::found(kind, tier.into());
    }

    /// The same of something that storage was asked about, which had not changed.
    pub fn revalidated(&self, kind: Kind, tier: Tier) {
        add(&self.cache[kind as usize][tier as usize], 1);
        request::found(kind, CacheStatus::Revalidated);
    }

    /// Storage could not be asked about something, and what was known of it is used.
    pub fn used_stale(&self, kind: Kind) {
        request::found(kind, CacheStatus::Stale);
    }

    /// Something is read that is not kept.
    pub fn bypassed(&self, kind: Kind) {
        request::found(kind, CacheStatus::Bypass);
    }

    /// Something went wrong, for that cause.
    pub fn failed(&self, cause: &str) {
        let place = CAUSES
            .iter()
            .position(|known| *known == cause)
            .unwrap_or(CAUSES.len() - 1);
        add(&self.errors[place], 1);
    }

    /// It was decided how fast an answer is sent.
    pub fn paced(&self, pace: Pace) {
        add(&self.paces[pace.reason as usize], 1);
        add(&self.pace_bits, pace.rate.map_or(0, |rate| rate.0));
    }

    /// A connection had a rate, or not, and has one now, or not.
    pub fn pacing_changed(&self, before: bool, now: bool) {
        match (before, now) {
            (false, true) => add(&self.paced_connections, 1),
            (true, false) => {
                self.paced_connections.fetch_sub(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// A client connected.
    pub fn connected(&self) {
        add(&self.connections, 1);
        add(&self.connections_total, 1);
    }

    /// A client's connection ended.
    pub fn disconnected(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// A client began to speak HTTP/2.
    pub fn began_http2(&self) {
        add(&self.http2_connections, 1);
    }

    /// A handshake of TLS ended.
    pub fn shook_hands(&self, result: Handshake) {
        add(&self.handshakes[result as usize], 1);
    }

    /// A line of the access log could not be written.
    pub fn log_line_lost(&self) {
        add(&self.log_lines_lost, 1);
    }

    /// Reads of storage so far, retries included.
    pub fn reads(&self, kind: Kind) -> u64 {
        get(&self.reads[kind as usize])
    }

    /// Reads that were made a second time, and how many of these were answered first.
    pub fn hedges(&self) -> (u64, u64) {
        (get(&self.hedges), get(&self.hedges_won))
    }

    /// Connections to storage so far.
    pub fn storage_connections(&self) -> u64 {
        get(&self.storage_connections)
    }

    /// Bytes that came from storage so far.
    pub fn bytes_in(&self, kind: Kind) -> u64 {
        get(&self.bytes_in[kind as usize])
    }

    /// Bytes that went to clients so far.
    pub fn bytes_out(&self, kind: Kind) -> u64 {
        get(&self.bytes_out[kind as usize])
    }

    /// How often something was found there, or not.
    pub fn lookups(&self, kind: Kind, tier: Tier) -> u64 {
        get(&self.cache[kind as usize][tier as usize])
    }

    /// Requests of that kind that were answered with that status.
    pub fn requests(&self, kind: Kind, status: u16) -> u64 {
        let place = STATUSES.iter().position(|known| *known == status);
        place.map_or(0, |place| get(&self.requests[kind as usize][place]))
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
