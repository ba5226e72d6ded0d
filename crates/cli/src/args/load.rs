//! Arguments of `weir load`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, value_parser};

use super::load_player::PlayerArgs;
use crate::fail_if::FailIf;
use crate::units::TimeSpan;

/// Maximum number of viewers of a run.
const MOST_VIEWERS: u32 = 1_000_000;

/// Arguments of `weir load`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir load http://127.0.0.1:8080/film/manifest.mpd --viewers 0..50 --over 60s
    $ weir load http://127.0.0.1:8080/film/master.m3u8 --play real-time --viewers 500 --for 5min --fail-if 'p99 > 500ms'
    $ weir load locustfile > locustfile.py; weir load --locust-master locust.example.net:5557
    $ weir load --titles list.txt --zipf 0.8 --arrivals 20/s --poisson --session 2min --play real-time --for 1h

Load only hosts whose owners have agreed. A host other than this one needs --yes-really-load-this-host for more than
10 viewers, more than 10 requests per second, or --arrivals.")]
pub struct LoadArgs {
    /// URL of a DASH manifest or HLS playlist; from several, each session picks one at random.
    ///
    /// The word 'locustfile' alone prints the locustfile for a Locust master.
    #[arg(value_name = "URL", required_unless_present_any = ["titles", "locust_master"])]
    pub urls: Vec<String>,
    /// File with one URL per line, the most popular first.
    #[arg(long, value_name = "FILE")]
    pub titles: Option<PathBuf>,
    /// Zipf exponent of title popularity: the k-th title is chosen in proportion to 1/k^N.
    #[arg(long, value_name = "N", default_value_t = 0.0, value_parser = exponent)]
    pub zipf: f64,

    /// Number of concurrent viewers: N, a ramp FROM..TO, or steps N,N,N [default: 1].
    #[arg(
        long,
        value_name = "VIEWERS",
        conflicts_with = "arrivals",
        help_heading = "Viewers"
    )]
    pub viewers: Option<Viewers>,
    /// Duration of the ramp, or of each step.
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive, requires = "viewers", help_heading = "Viewers")]
    pub over: Option<TimeSpan>,
    /// Viewers that arrive per second, independent of the number present (open loop); each leaves after one session.
    #[arg(long, value_name = "N/s", help_heading = "Viewers")]
    pub arrivals: Option<PerSecond>,
    /// Space arrivals at random (Poisson), instead of evenly.
    #[arg(long, requires = "arrivals", help_heading = "Viewers")]
    pub poisson: bool,
    /// Duration of the run [default: that of the ramp or the steps, else 60s].
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive, help_heading = "Viewers")]
    pub duration: Option<TimeSpan>,
    /// Maximum duration of a viewer's session.
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive, help_heading = "Viewers")]
    pub session: Option<TimeSpan>,
    /// Pause between two sessions of a viewer: a time, or FROM..TO.
    #[arg(long, value_name = "TIME", default_value = "0s", help_heading = "Viewers")]
    pub think: TimeRange,
    /// Random seed.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Viewers")]
    pub seed: u64,

    /// Behaviour of a viewer.
    #[arg(long, value_name = "HOW", default_value = "loop", help_heading = "Playing")]
    pub play: PlayMode,
    /// Rung that a viewer selects.
    #[arg(
        long,
        value_name = "RUNG",
        default_value = "highest",
        help_heading = "Playing"
    )]
    pub rung: RungMode,
    /// Requests per second of all viewers together, on a fixed schedule, however late responses are (open loop).
    ///
    /// Times are then measured from the scheduled start of each request, so that a stalled origin does not delay its
    /// own measurement (coordinated omission).
    #[arg(
        long,
        value_name = "N/s",
        conflicts_with = "arrivals",
        help_heading = "Playing"
    )]
    pub rate: Option<PerSecond>,
    /// Request subtitles as well.
    #[arg(long, help_heading = "Playing")]
    pub subtitles: bool,
    /// Verify segments: complete MP4 boxes, and decode times continuous from segment to segment.
    #[arg(long, help_heading = "Playing")]
    pub verify: bool,

    /// Player options.
    #[command(flatten)]
    pub player: PlayerArgs,

    /// HTTP version; auto negotiates HTTP/2 over TLS, as browsers do, and uses HTTP/1.1 without TLS.
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "auto",
        help_heading = "Connections"
    )]
    pub http: HttpMode,
    /// CA certificates (PEM) to verify the origin with, instead of the public authorities.
    #[arg(long, value_name = "FILE", help_heading = "Connections")]
    pub ca: Option<PathBuf>,
    /// Accept any certificate.
    #[arg(long, conflicts_with = "ca", help_heading = "Connections")]
    pub insecure: bool,
    /// Timeout for connecting.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive, help_heading = "Connections")]
    pub connect_timeout: TimeSpan,
    /// Timeout of the origin, for the first byte and between reads.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive, help_heading = "Connections")]
    pub timeout: TimeSpan,
    /// Number of threads; one serves thousands of viewers.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=1024), help_heading = "Connections")]
    pub threads: u16,
    /// Allow more than 10 viewers or 10 requests per second, and --arrivals, on a host other than this one.
    #[arg(long, help_heading = "Connections")]
    pub yes_really_load_this_host: bool,

    /// Run as a worker of the Locust master at this host and port, which sets load and targets.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["viewers", "arrivals", "duration", "titles", "rate"], help_heading = "Locust")]
    pub locust_master: Option<String>,

    /// URL of the origin's Prometheus metrics, read once per second.
    #[arg(long, value_name = "URL", help_heading = "Measuring")]
    pub scrape: Option<String>,
    /// Name of the counter of bytes that the origin reads from its storage.
    #[arg(
        long,
        value_name = "NAME",
        requires = "scrape",
        default_value = "weir_origin_storage_bytes_total",
        help_heading = "Measuring"
    )]
    pub scrape_in: String,
    /// Name of the counter of bytes that the origin sends.
    #[arg(
        long,
        value_name = "NAME",
        requires = "scrape",
        default_value = "weir_origin_sent_bytes_total",
        help_heading = "Measuring"
    )]
    pub scrape_out: String,
    /// Record CPU, memory and network of this host, for an origin on this host.
    #[arg(long, help_heading = "Measuring")]
    pub watch_host: bool,
    /// Exit with status 1 if this condition holds for the whole run, as in 'p99 > 500ms'; may be given more than once.
    ///
    /// Metrics: p50, p90, p99, p99.9, min and max (time to last byte), rate (bits received per second), failures and
    /// rebuffer (a percentage or a ratio).
    #[arg(long, value_name = "EXPR", help_heading = "Measuring")]
    pub fail_if: Vec<FailIf>,
    /// Stop as soon as this condition holds for the last 10 s; the metrics are those of --fail-if.
    #[arg(long, value_name = "EXPR", help_heading = "Measuring")]
    pub stop_if: Vec<FailIf>,
}

/// Behaviours of a viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlayMode {
    /// Manifest, then audio and video segment by segment, then from the start, as fast as responses arrive
    Loop,
    /// Like a player, with a buffer, in real time
    RealTime,
    /// Manifest, then segments at random, as fast as responses arrive
    Random,
    /// The manifest repeatedly
    Manifest,
}

/// Choices of the rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RungMode {
    /// The highest
    Highest,
    /// The lowest
    Lowest,
    /// A random one for each session
    Random,
    /// As the ABR rule of the player chooses (with --play real-time)
    Abr,
}

/// HTTP versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HttpMode {
    /// HTTP/1.1
    #[value(name = "1.1")]
    One,
    /// HTTP/2, also without TLS (prior knowledge)
    #[value(name = "2")]
    Two,
    /// HTTP/2 over TLS where the origin negotiates it, else HTTP/1.1
    Auto,
}

/// Number of viewers over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Viewers {
    /// A constant number.
    Steady(u32),
    /// A ramp from one number to another.
    Ramp(u32, u32),
    /// Steps, one number after the other.
    Steps(Vec<u32>),
}

impl FromStr for Viewers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a number of viewers; write 50, 0..50 or 10,20,50");
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(number) if number <= MOST_VIEWERS => Ok(number),
            Ok(number) => Err(format!(
                "{number} viewers are too many; the maximum is {MOST_VIEWERS}"
            )),
            Err(_) => Err(wrong()),
        };
        let (viewers, most) = if let Some((from, to)) = text.split_once("..") {
            let (from, to) = (number(from)?, number(to)?);
            (Viewers::Ramp(from, to), from.max(to))
        } else if text.contains(',') {
            let levels = text
                .split(',')
                .map(number)
                .collect::<Result<Vec<u32>, String>>()?;
            let most = levels.iter().copied().max().unwrap_or(0);
            (Viewers::Steps(levels), most)
        } else {
            let viewers = number(text)?;
            (Viewers::Steady(viewers), viewers)
        };
        match most {
            0 => Err("0 viewers generate no load; write at least 1".to_owned()),
            _ => Ok(viewers),
        }
    }
}

/// A number of events per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerSecond(pub f64);

impl FromStr for PerSecond {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a rate per second; write 20/s or 0.5/s");
        let number = text.trim().strip_suffix("/s").ok_or_else(wrong)?;
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        if number == 0.0 {
            return Err("a rate of zero sends nothing; write a rate such as 20/s or 0.5/s".to_owned());
        }
        if number.is_finite() && number > 0.0 && number <= 1e6 {
            Ok(PerSecond(number))
        } else {
            Err(wrong())
        }
    }
}

/// A time, or a range of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// Minimum.
    pub from: TimeSpan,
    /// Maximum, never below the minimum.
    pub to: TimeSpan,
}

impl FromStr for TimeRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = |text: &str| text.parse::<TimeSpan>().map_err(|error| error.to_string());
        let (from, to) = match text.split_once("..") {
            Some((from, to)) => (time(from)?, time(to)?),
            None => (time(text)?, time(text)?),
        };
        if from > to {
            return Err(format!(
                "'{text}' is a reversed range; write the shorter time first"
            ));
        }
        Ok(TimeRange { from, to })
    }
}

/// Parses the exponent of a distribution.
fn exponent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if (0.0..=10.0).contains(&number) {
        Ok(number)
    } else {
        Err("write a number from 0 to 10, such as 0.8".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_viewers() {
        let table = [
            ("50", Ok(Viewers::Steady(50))),
            ("0..50", Ok(Viewers::Ramp(0, 50))),
            ("50..0", Ok(Viewers::Ramp(50, 0))),
            ("10,20,50", Ok(Viewers::Steps(vec![10, 20, 50]))),
            (
                "0",
                Err("0 viewers generate no load; write at least 1".to_owned()),
            ),
            (
                "0..0",
                Err("0 viewers generate no load; write at least 1".to_owned()),
            ),
            (
                "0,0",
                Err("0 viewers generate no load; write at least 1".to_owned()),
            ),
            ("0,5", Ok(Viewers::Steps(vec![0, 5]))),
            (
                "many",
                Err("'many' is not a number of viewers; write 50, 0..50 or 10,20,50".to_owned()),
            ),
            (
                "2000000",
                Err("2000000 viewers are too many; the maximum is 1000000".to_owned()),
            ),
        ];
        for (text, read) in table {
            assert_eq!(text.parse::<Viewers>(), read, "{text}");
        }
    }

    #[test]
    fn numbers_a_second_and_ranges_of_times() {
        assert_eq!("20/s".parse(), Ok(PerSecond(20.0)));
        for text in ["20", "-1/s", "0/s", "inf/s", "/s", "20/min"] {
            assert!(text.parse::<PerSecond>().is_err(), "{text}");
        }
        assert_eq!(
            "0/s".parse::<PerSecond>(),
            Err("a rate of zero sends nothing; write a rate such as 20/s or 0.5/s".to_owned())
        );
        let range: TimeRange = "1s..5s".parse().expect("a range");
        assert_eq!(
            (range.from, range.to),
            (TimeSpan(1_000_000_000), TimeSpan(5_000_000_000))
        );
        assert!("5s..1s".parse::<TimeRange>().is_err());
        assert!("5".parse::<TimeRange>().is_err());
    }
}
