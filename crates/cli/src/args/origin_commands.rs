//! Arguments of the subcommands of `weir origin`, and of its storage.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};
use weir_origin::StorageLocation;

use crate::units::{TimeSpan, UnitError};

/// Subcommands of `weir origin`.
#[derive(Clone, Debug, Subcommand)]
pub enum OriginCommand {
    /// Build the indexes of titles in advance, so that no request waits for one.
    ///
    /// Indexes each media file and stores the index beside it, where every origin finds it, or in the folder of a disk
    /// cache. Skips files that have an index.
    Index(IndexArgs),
    /// Write the index of a media file as an MP4 that references it (dref MP4).
    ///
    /// The MP4 contains all headers and sample tables but no media, and names the media file in its data reference.
    /// Origins and players that support data references can read it; 'weir origin' serves it as a title and reads the
    /// media from the named file.
    Dref(DrefArgs),
    /// Generate a short title and serve it, with a page that plays it.
    ///
    /// Generates a title with ffmpeg (three video rungs, audio and subtitles in two languages), serves it, and prints
    /// its URLs: a page with dash.js, hls.js and shaka-player, the DASH MPD and the HLS playlist. Runs until
    /// interrupted, then removes the title unless --folder is given.
    Demo(DemoArgs),
}

/// Arguments of `weir origin index`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir origin index s3://films/2026 --s3-endpoint https://s3.example.net
    $ weir origin index /srv/films sita oceans/manifest.ism -o /var/cache/weir")]
pub struct IndexArgs {
    /// Media storage, as for 'weir origin'.
    #[arg(value_name = "FOLDER-OR-URL")]
    pub place: StorageLocation,
    /// Titles in the storage: folders, files or manifests [default: every media file].
    #[arg(value_name = "TITLE")]
    pub titles: Vec<String>,
    /// Store the indexes beside their files, as FILE.weir-index (default without -o).
    #[arg(long, conflicts_with = "output")]
    pub beside: bool,
    /// Store the indexes in this folder instead, for 'weir origin --disk-cache'.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Storage options.
    #[command(flatten)]
    pub storage: StorageArgs,
}

/// Arguments of `weir origin dref`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir origin dref sita/1080p.mp4
    sita/1080p.dref.mp4")]
pub struct DrefArgs {
    /// Media file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// MP4 to write [default: FILE with the extension .dref.mp4].
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
}

/// Arguments of `weir origin demo`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir origin demo
    page  http://127.0.0.1:8080/
    DASH  http://127.0.0.1:8080/demo/manifest.mpd
    HLS   http://127.0.0.1:8080/demo/master.m3u8")]
pub struct DemoArgs {
    /// Folder to generate the title in; it is kept [default: a temporary folder].
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Duration of the title, from 10 to 60 s.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = demo_time)]
    pub duration: TimeSpan,
    /// Address and port to serve on; port 0 selects a free port and prints it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
}

/// Parses the duration of the generated title.
fn demo_time(text: &str) -> Result<TimeSpan, String> {
    let time: TimeSpan = text.parse().map_err(|error: UnitError| error.to_string())?;
    if (10_000_000_000..=60_000_000_000).contains(&time.0) {
        return Ok(time);
    }
    Err("the title lasts from 10 to 60 seconds; write a time such as 30s".to_owned())
}

/// Storage options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Storage")]
pub struct StorageArgs {
    /// URL of an S3 service other than Amazon's.
    #[arg(long, value_name = "URL")]
    pub s3_endpoint: Option<String>,
    /// Addressing of S3 buckets: in the path, or as a host name (virtual).
    #[arg(long, value_name = "STYLE", default_value = "path")]
    pub s3_style: BucketStyle,
    /// S3 region [default: AWS_REGION].
    #[arg(long, value_name = "REGION")]
    pub s3_region: Option<String>,
    /// Do not sign requests to S3 and Azure, for public data.
    #[arg(long)]
    pub anonymous: bool,
    /// CA certificates (PEM) to verify the storage with, instead of the public authorities.
    #[arg(long, value_name = "FILE")]
    pub storage_ca: Option<PathBuf>,
    /// Timeout of the storage, for the first byte and between reads.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive)]
    pub storage_timeout: TimeSpan,
    /// Maximum number of requests to the storage per read, the first included.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u32).range(1..=20))]
    pub storage_tries: u32,
}

/// Addressing of S3 buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BucketStyle {
    /// https://ENDPOINT/BUCKET/KEY
    Path,
    /// https://BUCKET.ENDPOINT/KEY
    Virtual,
}
