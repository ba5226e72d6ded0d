//! What to serve, where, and how.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::tls::TlsFiles;
use crate::configuration::Configuration;
use crate::keys::KeySettings;
use crate::storage::{Access, Patience, StorageLocation};
use weir_pacing::Pacing;

/// Bounds on what clients may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at once; others wait to be let in.
    pub connections: usize,
    /// Requests at once on a connection of HTTP/2.
    pub streams: u32,
    /// Bytes of a request's line and headers.
    pub head: usize,
    /// How long a client may take for the headers of its next request, the wait between two requests included.
    pub head_time: Duration,
    /// How long a client may take for the handshake of TLS.
    pub handshake_time: Duration,
    /// How long an answer may take, from the headers of the request to its last byte.
    pub request_time: Duration,
    /// How long a client may take nothing of an answer.
    pub stalled: Duration,
    /// How long answers that are on their way may take when the server ends.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4096,
            streams: 100,
            head: 32 << 10,
            head_time: Duration::from_secs(20),
            handshake_time: Duration::from_secs(10),
            request_time: Duration::from_secs(600),
            stalled: Duration::from_secs(30),
            drain: Duration::from_secs(30),
        }
    }
}

/// Where the access log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTo {
    /// Standard output.
    StandardOutput,
    /// Appended to a file.
    File(PathBuf),
}

/// What to serve, where, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where media lies: the first place is preferred, the others hold the same.
    pub places: Vec<StorageLocation>,
    /// Where manifests and indexes are read, such as a cache before the places; none: there, too.
    pub index_place: Option<StorageLocation>,
    /// Options of object stores.
    pub access: Access,
    /// How long storage is waited for.
    pub patience: Patience,
    /// Address and port; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// Certificate and key, for HTTPS; none: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Threads that serve; none: as many as this host has cores.
    pub threads: Option<usize>,
    /// What is kept between requests.
    pub configuration: Configuration,
    /// Bytes of the cache in memory.
    pub memory_cache: u64,
    /// A folder for the cache on disk, and its bytes.
    pub disk_cache: Option<(PathBuf, u64)>,
    /// How long an object counts as unchanged, where it is kept, before storage is asked again.
    pub fresh: Duration,
    /// About how long segments are: from 2 to 10 seconds.
    pub segment: Duration,
    /// Stored files are served as they are, too.
    pub files: bool,
    /// Which titles are protected, and by which keys.
    pub keys: KeySettings,
    /// A page at `/` lists the titles and plays them.
    pub page: bool,
    /// Answers are sent as fast as players ask, within these bounds; none: as fast as the network carries them.
    pub pacing: Option<Pacing>,
    /// One line for each request.
    pub access_log: Option<LogTo>,
    /// Bounds on what clients may take.
    pub limits: Limits,
}

impl Config {
    /// One place, served on loopback, with what the command line takes where nothing is said.
    pub fn new(place: StorageLocation) -> Self {
        Config {
            places: vec![place],
            index_place: None,
            access: Access::default(),
            patience: Patience::default(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            tls: None,
            threads: None,
            configuration: Configuration::E,
            memory_cache: 512 << 20,
            disk_cache: None,
            fresh: Duration::from_secs(10),
            segment: Duration::from_secs(4),
            files: false,
            keys: KeySettings::default(),
            page: false,
            pacing: None,
            access_log: None,
            limits: Limits::default(),
        }
    }
}
