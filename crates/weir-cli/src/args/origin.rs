//! Arguments of `weir origin`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, value_parser};
use weir_media::segments::{LONGEST_DURATION, SHORTEST_DURATION};
use weir_origin::{Configuration, Place};

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
    /// What to do besides serving.
    #[command(subcommand)]
    pub command: Option<OriginCommand>,
    /// Where the media lies: a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or https://HOST/PATH.
    #[arg(value_name = "FOLDER-OR-URL", required = true)]
    pub place: Option<Place>,
    /// Another place that holds the same, read while those before it fail; may be given more than once.
    #[arg(long, value_name = "FOLDER-OR-URL")]
    pub mirror: Vec<Place>,
    /// Address and port to serve on; port 0 takes any that is free and says which.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Serve over TLS with this certificate, in PEM, with those that lead to its root behind it; read again on SIGHUP.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of that certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Threads that serve [default: as many as this host has cores].
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// About how long segments are, from 2 to 10 s: they begin at sync samples that all video tracks have.
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = segment_time)]
    pub segment: TimeSpan,
    /// Serve the stored files too, as they are.
    #[arg(long)]
    pub files: bool,
    /// Which titles are protected, and by which keys: a file in TOML, or in JSON if its name ends in .json.
    #[arg(long, value_name = "FILE", help_heading = "Encryption")]
    pub keys: Option<PathBuf>,
    /// Where keys are asked for that the file does not have, as in https://keys.example.net/?title={title}; what the file
    /// does not speak of is protected then.
    #[arg(long, value_name = "URL", help_heading = "Encryption")]
    pub key_server: Option<String>,
    /// Give everybody the keys and ClearKey licences: for tests and demonstrations.
    #[arg(long, help_heading = "Encryption")]
    pub serve_keys: bool,
    /// Serve a page at / that lists the titles to everybody, and plays them.
    #[arg(long)]
    pub page: bool,
    /// Write a line of JSON for each request to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub access_log: Option<PathBuf>,
    /// What is kept between requests: A, B, C, D or E.
    ///
    /// A: a connection to the storage for each read, nothing kept; B: as A, index and manifests kept; C: connections used
    /// again, nothing kept; D: as C, everything kept; E: as C, index and manifests kept, media read for each request.
    #[arg(long, value_name = "NAME", default_value = "E", help_heading = "Caches")]
    pub configuration: Configuration,
    /// How long a kept object counts as unchanged before the storage is asked again.
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Caches")]
    pub fresh: TimeSpan,
    /// Memory for what is kept.
    #[arg(long, value_name = "BYTES", default_value = "512MiB", help_heading = "Caches")]
    pub memory_cache: ByteCount,
    /// Folder for what is kept, which outlives the process.
    #[arg(long, value_name = "DIR", help_heading = "Caches")]
    pub disk_cache: Option<PathBuf>,
    /// Bytes of that folder.
    #[arg(long, value_name = "BYTES", default_value = "10GiB", value_parser = ByteCount::positive, requires = "disk_cache", help_heading = "Caches")]
    pub disk_cache_size: ByteCount,
    /// Read a range a second time, from the next place if there is one, when its first byte takes longer than 99 of 100 did
    /// lately; whichever comes first is sent. At most one read in 20.
    #[arg(long, help_heading = "Storage")]
    pub hedge: bool,
    /// How the storage is asked.
    #[command(flatten)]
    pub storage: StorageArgs,
    /// How fast answers are sent.
    #[command(flatten)]
    pub pacing: PacingArgs,
    /// Connections of clients at once; others wait.
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = value_parser!(u32).range(1..=1_000_000), help_heading = "Limits")]
    pub max_connections: u32,
    /// Longest time for an answer, from the request's headers to the last byte.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = TimeSpan::positive, help_heading = "Limits")]
    pub request_time: TimeSpan,
    /// How long a client may take nothing of an answer.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = TimeSpan::positive, help_heading = "Limits")]
    pub stalled_time: TimeSpan,
    /// How long answers that are on their way may take after Ctrl-C or SIGTERM.
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Limits")]
    pub drain: TimeSpan,
}

/// Reads a duration of segments.
fn segment_time(text: &str) -> Result<TimeSpan, String> {
    let time: TimeSpan = text.parse().map_err(|error: UnitError| error.to_string())?;
    let allowed = SHORTEST_DURATION.as_nanos()..=LONGEST_DURATION.as_nanos();
    if allowed.contains(&u128::from(time.0)) {
        return Ok(time);
    }
    Err("segments take from 2 to 10 seconds; write a time such as 4s".to_owned())
}
