//! Arguments of `weir origin`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, value_parser};
use weir_media::segments::{LONGEST_DURATION, SHORTEST_DURATION};
use weir_origin::{Configuration, StorageLocation};

use super::origin_commands::{OriginCommand, StorageArgs};
use super::origin_pacing::PacingArgs;
use crate::units::{ByteCount, TimeSpan, UnitError};

/// Arguments of `weir origin`.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_help_heading = "Other commands",
    subcommand_value_name = "COMMAND"
)]
#[command(after_help = "\
Example:
    $ weir origin /srv/films --listen 0.0.0.0:8080
    $ weir origin s3://films/2026 --s3-endpoint https://s3.example.net --disk-cache /var/cache/weir
    $ weir origin /srv/films --keys /etc/weir/keys.toml
    $ weir origin /srv/films --pace --pace-floor 2Mbit/s --access-log -

Credentials come from the variables of each provider's own tools: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_REGION; GOOGLE_APPLICATION_CREDENTIALS; AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY.")]
pub struct OriginArgs {
    /// Subcommand, instead of serving.
    #[command(subcommand)]
    pub command: Option<OriginCommand>,
    /// Media storage: a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or https://HOST/PATH.
    #[arg(value_name = "FOLDER-OR-URL", required = true)]
    pub place: Option<StorageLocation>,
    /// Storage with the same content, read while the ones before it fail; may be given more than once.
    #[arg(long, value_name = "FOLDER-OR-URL")]
    pub mirror: Vec<StorageLocation>,
    /// Storage with the same content, read for manifests and indexes alone, such as a cache before the media storage.
    #[arg(long, value_name = "FOLDER-OR-URL")]
    pub index_storage: Option<StorageLocation>,
    /// Address and port to serve on; port 0 selects a free port and prints it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Serve over TLS with this certificate chain (PEM, server certificate first); reloaded on SIGHUP.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Number of serving threads [default: number of cores].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Target duration of segments, from 2 to 10 s; segments begin at sync samples common to all video tracks.
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = segment_time)]
    pub segment: TimeSpan,
    /// Serve the stored files as well, unmodified.
    #[arg(long)]
    pub files: bool,
    /// File with the titles to encrypt and their keys: TOML, or JSON if its name ends in .json.
    #[arg(long, value_name = "FILE", help_heading = "Encryption")]
    pub keys: Option<PathBuf>,
    /// URL of a key server, asked for keys that are not in the file, as in https://keys.example.net/?title={title};
    /// titles that the file does not list are then encrypted as well.
    #[arg(long, value_name = "URL", help_heading = "Encryption")]
    pub key_server: Option<String>,
    /// Serve keys and ClearKey licences to every client, for tests and demonstrations.
    #[arg(long, help_heading = "Encryption")]
    pub serve_keys: bool,
    /// Serve a page at / that lists the titles to every client, and plays them.
    #[arg(long)]
    pub page: bool,
    /// Access log with one JSON line per request; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub access_log: Option<PathBuf>,
    /// Caching between requests: A, B, C, D or E.
    ///
    /// A: a new connection to the storage for each read, no cache; B: as A, index and manifests cached; C: connections
    /// reused, no cache; D: as C, everything cached; E: as C, index and manifests cached, media read for each request. Of
    /// folders of this host, B, D and E also cache segments of up to 64 KiB.
    #[arg(long, value_name = "NAME", default_value = "E", help_heading = "Caches")]
    pub configuration: Configuration,
    /// Time after which a cached object is revalidated with the storage.
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Caches")]
    pub fresh: TimeSpan,
    /// Maximum size of the memory cache.
    #[arg(long, value_name = "BYTES", default_value = "512MiB", help_heading = "Caches")]
    pub memory_cache: ByteCount,
    /// Folder of a disk cache, which persists across restarts.
    #[arg(long, value_name = "DIR", help_heading = "Caches")]
    pub disk_cache: Option<PathBuf>,
    /// Maximum size of the disk cache.
    #[arg(long, value_name = "BYTES", default_value = "10GiB", value_parser = ByteCount::positive, requires = "disk_cache", help_heading = "Caches")]
    pub disk_cache_size: ByteCount,
    /// Hedge reads: repeat a read, from the next mirror if there is one, when its first byte takes longer than the
    /// recent P99; the first to arrive is sent. At most one read in 20.
    #[arg(long, help_heading = "Storage")]
    pub hedge: bool,
    /// Storage options.
    #[command(flatten)]
    pub storage: StorageArgs,
    /// Pacing options.
    #[command(flatten)]
    pub pacing: PacingArgs,
    /// Maximum number of concurrent client connections; others wait.
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = value_parser!(u32).range(1..=1_000_000), help_heading = "Limits")]
    pub max_connections: u32,
    /// Maximum time for a response, from the request's headers to the last byte.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = TimeSpan::positive, help_heading = "Limits")]
    pub request_time: TimeSpan,
    /// Maximum time during which a client reads nothing of a response.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = TimeSpan::positive, help_heading = "Limits")]
    pub stalled_time: TimeSpan,
    /// Maximum time to complete responses in progress after Ctrl-C or SIGTERM.
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Limits")]
    pub drain: TimeSpan,
}

/// Parses a duration of segments.
fn segment_time(text: &str) -> Result<TimeSpan, String> {
    let time: TimeSpan = text.parse().map_err(|error: UnitError| error.to_string())?;
    let allowed = SHORTEST_DURATION.as_nanos()..=LONGEST_DURATION.as_nanos();
    if allowed.contains(&u128::from(time.0)) {
        return Ok(time);
    }
    Err("segments last from 2 to 10 seconds; write a time such as 4s".to_owned())
}
