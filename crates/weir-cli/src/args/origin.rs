//! Arguments of `weir origin`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use weir_media::segments::{LONGEST_DURATION, SHORTEST_DURATION};
use weir_origin::{Configuration, Place};

use crate::units::{ByteCount, TimeSpan, UnitError};

/// Arguments of `weir origin`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir origin /srv/films --listen 0.0.0.0:8080
    $ weir origin s3://films/2026 --s3-endpoint https://s3.example.net --disk-cache /var/cache/weir

Credentials come from the variables of each provider's own tools: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_REGION; GOOGLE_APPLICATION_CREDENTIALS; AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY.")]
pub struct OriginArgs {
    /// Where the media lies: a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or https://HOST/PATH.
    #[arg(value_name = "FOLDER-OR-URL")]
    pub place: Place,
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
    /// Address of an S3 service other than Amazon's.
    #[arg(long, value_name = "URL", help_heading = "Storage")]
    pub s3_endpoint: Option<String>,
    /// Read a range a second time, from the next place if there is one, when its first byte takes longer than 99 of 100 did
    /// lately; whichever comes first is sent. At most one read in 20.
    #[arg(long, help_heading = "Storage")]
    pub hedge: bool,
    /// How buckets of S3 are addressed: in the path, or as a host name (virtual).
    #[arg(long, value_name = "STYLE", default_value = "path", help_heading = "Storage")]
    pub s3_style: BucketStyle,
    /// Region of S3 [default: AWS_REGION].
    #[arg(long, value_name = "REGION", help_heading = "Storage")]
    pub s3_region: Option<String>,
    /// Do not sign requests to S3 and Azure: what is read is public.
    #[arg(long, help_heading = "Storage")]
    pub anonymous: bool,
    /// How long the storage may take to begin an answer, or to go on with it.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive, help_heading = "Storage")]
    pub storage_timeout: TimeSpan,
    /// Requests to the storage for one read, the first one included.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u32).range(1..=20), help_heading = "Storage")]
    pub storage_tries: u32,
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

/// How buckets of S3 are addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BucketStyle {
    /// https://ENDPOINT/BUCKET/KEY
    Path,
    /// https://BUCKET.ENDPOINT/KEY
    Virtual,
}
