//! Arguments of what `weir origin` does besides serving, and of the storage that all of it reads.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};
use weir_origin::Place;

use crate::units::{TimeSpan, UnitError};

/// What `weir origin` does besides serving.
#[derive(Clone, Debug, Subcommand)]
pub enum OriginCommand {
    /// Build the indexes of titles ahead, so that no first request waits for one.
    ///
    /// Reads what is in each media file and keeps it beside the file in the storage, where every origin finds it, or in
    /// the folder of a disk cache. Files whose index is there already are passed over.
    Index(IndexArgs),
    /// Write the index of a media file as an MP4 that refers to it (dref MP4).
    ///
    /// The MP4 has all headers and sample tables and no media, and names the media file in its data reference. Other
    /// origins and players that know data references read it; 'weir origin' serves it as a title, and reads the media
    /// from the file that it names.
    Dref(DrefArgs),
    /// Make a short title and serve it, with a page that plays it.
    ///
    /// Makes with ffmpeg a title of three video rungs, audio in two languages and subtitles in both, serves it, and prints
    /// addresses that play: a page with dash.js, hls.js and shaka-player, the MPD of DASH and the playlist of HLS. It
    /// lasts until it is interrupted; then the title is removed, unless --folder keeps it.
    Demo(DemoArgs),
}

/// Arguments of `weir origin index`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir origin index s3://films/2026 --s3-endpoint https://s3.example.net
    $ weir origin index /srv/films sita oceans/manifest.ism -o /var/cache/weir")]
pub struct IndexArgs {
    /// Where the media lies, as for 'weir origin'.
    #[arg(value_name = "FOLDER-OR-URL")]
    pub place: Place,
    /// Titles below that place: folders, files or manifests of titles [default: every media file there].
    #[arg(value_name = "TITLE")]
    pub titles: Vec<String>,
    /// Keep the indexes beside their files, as FILE.weir-index; this is what is done unless -o is given.
    #[arg(long, conflicts_with = "output")]
    pub beside: bool,
    /// Keep them in this folder instead, which 'weir origin --disk-cache' takes.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// How the storage is asked.
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
    /// The media file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The MP4 to write [default: FILE with .dref.mp4 in place of its ending].
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
    /// Make the title in this folder and keep it there [default: a temporary one].
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// How long the title is, from 10 to 60 s.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = demo_time)]
    pub duration: TimeSpan,
    /// Address and port to serve on; port 0 takes any that is free and says which.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
}

/// Reads the duration of the title that is made.
fn demo_time(text: &str) -> Result<TimeSpan, String> {
    let time: TimeSpan = text.parse().map_err(|error: UnitError| error.to_string())?;
    if (10_000_000_000..=60_000_000_000).contains(&time.0) {
        return Ok(time);
    }
    Err("the title lasts from 10 to 60 seconds; write a time such as 30s".to_owned())
}

/// How storage is asked.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Storage")]
pub struct StorageArgs {
    /// Address of an S3 service other than Amazon's.
    #[arg(long, value_name = "URL")]
    pub s3_endpoint: Option<String>,
    /// How buckets of S3 are addressed: in the path, or as a host name (virtual).
    #[arg(long, value_name = "STYLE", default_value = "path")]
    pub s3_style: BucketStyle,
    /// Region of S3 [default: AWS_REGION].
    #[arg(long, value_name = "REGION")]
    pub s3_region: Option<String>,
    /// Do not sign requests to S3 and Azure: what is read is public.
    #[arg(long)]
    pub anonymous: bool,
    /// Take certificates of the storage that are signed by those in this file (PEM), instead of public authorities.
    #[arg(long, value_name = "FILE")]
    pub storage_ca: Option<PathBuf>,
    /// How long the storage may take to begin an answer, or to go on with it.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive)]
    pub storage_timeout: TimeSpan,
    /// Requests to the storage for one read, the first one included.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u32).range(1..=20))]
    pub storage_tries: u32,
}

/// How buckets of S3 are addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BucketStyle {
    /// https://ENDPOINT/BUCKET/KEY
    Path,
    /// https://BUCKET.ENDPOINT/KEY
    Virtual,
}
