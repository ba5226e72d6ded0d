//! Arguments of `weir load`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, value_parser};

use super::load_commands::LoadCommand;
use crate::fail_if::FailIf;
use crate::units::TimeSpan;

/// Most viewers that a run may have.
const MOST_VIEWERS: u32 = 1_000_000;

/// Arguments of `weir load`.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_help_heading = "Other commands",
    subcommand_value_name = "COMMAND"
)]
#[command(after_help = "\
Example:
    $ weir load http://127.0.0.1:8080/film/manifest.mpd --viewers 0..50 --over 60s
    $ weir load http://127.0.0.1:8080/film/master.m3u8 --play real-time --viewers 500 --for 5min --fail-if 'p99 > 500ms'
    $ weir load locustfile > locustfile.py; weir load --locust-master locust.example.net:5557
    $ weir load --titles list.txt --zipf 0.8 --arrivals 20/s --poisson --session 2min --play real-time --for 1h

Only hosts that have agreed to it: other hosts than this one get more than a trifle only with
--yes-really-load-this-host.")]
pub struct LoadArgs {
    /// What to do besides one run.
    #[command(subcommand)]
    pub command: Option<LoadCommand>,
    /// Address of a manifest (DASH) or playlist (HLS); several are chosen from by chance.
    ///
    /// The word 'locustfile' alone prints the file that a Locust master needs to know Weir's classes.
    #[arg(value_name = "URL", required_unless_present_any = ["titles", "locust_master"])]
    pub urls: Vec<String>,
    /// File with an address a line, the most popular first.
    #[arg(long, value_name = "FILE")]
    pub titles: Option<PathBuf>,
    /// How much more popular the first titles are: the k-th is chosen in proportion to 1/k^N (Zipf).
    #[arg(long, value_name = "N", default_value_t = 0.0, value_parser = exponent)]
    pub zipf: f64,

    /// Viewers at once: N, a ramp FROM..TO, or steps N,N,N [default: 1].
    #[arg(
        long,
        value_name = "VIEWERS",
        conflicts_with = "arrivals",
        help_heading = "Viewers"
    )]
    pub viewers: Option<Viewers>,
    /// How long the ramp takes, or each step.
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive, requires = "viewers", help_heading = "Viewers")]
    pub over: Option<TimeSpan>,
    /// Viewers that come each second, however many are there (open loop); each leaves after one session.
    #[arg(long, value_name = "N/s", help_heading = "Viewers")]
    pub arrivals: Option<PerSecond>,
    /// Let them come by chance, each by itself (Poisson), and not evenly.
    #[arg(long, requires = "arrivals", help_heading = "Viewers")]
    pub poisson: bool,
    /// How long to go on [default: as long as the ramp or the steps take, else 60s].
    #[arg(long = "for", value_name = "TIME", value_parser = TimeSpan::positive, help_heading = "Viewers")]
    pub duration: Option<TimeSpan>,
    /// Longest session of a viewer.
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::positive, help_heading = "Viewers")]
    pub session: Option<TimeSpan>,
    /// Pause of a viewer between two sessions: a time, or FROM..TO.
    #[arg(long, value_name = "TIME", default_value = "0s", help_heading = "Viewers")]
    pub think: TimeRange,
    /// Number that all chance follows from.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Viewers")]
    pub seed: u64,

    /// What a viewer does.
    #[arg(long, value_name = "HOW", default_value = "loop", help_heading = "Playing")]
    pub play: PlayMode,
    /// Which rung it takes.
    #[arg(
        long,
        value_name = "RUNG",
        default_value = "highest",
        help_heading = "Playing"
    )]
    pub rung: RungMode,
    /// Requests a second of all viewers together, at times of their own, however late answers are.
    ///
    /// Times are then measured from when a request should have been sent, so that an origin that stalls does not hold up
    /// its own measurement.
    #[arg(
        long,
        value_name = "N/s",
        conflicts_with = "arrivals",
        help_heading = "Playing"
    )]
    pub rate: Option<PerSecond>,
    /// Fetch subtitles, too.
    #[arg(long, help_heading = "Playing")]
    pub subtitles: bool,
    /// Look into segments: whole MP4 boxes, and decode times that go on from segment to segment.
    #[arg(long, help_heading = "Playing")]
    pub verify: bool,

    /// Take certificates that are signed by those in this file (PEM), instead of public authorities.
    #[arg(long, value_name = "FILE", help_heading = "Connections")]
    pub ca: Option<PathBuf>,
    /// Take any certificate.
    #[arg(long, conflicts_with = "ca", help_heading = "Connections")]
    pub insecure: bool,
    /// How long a connection may take.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive, help_heading = "Connections")]
    pub connect_timeout: TimeSpan,
    /// How long an origin may say nothing.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = TimeSpan::positive, help_heading = "Connections")]
    pub timeout: TimeSpan,
    /// Threads that viewers are spread over; one is enough for thousands of them.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=1024), help_heading = "Connections")]
    pub threads: u16,
    /// Load a host other than this one: it has agreed to it.
    #[arg(long, help_heading = "Connections")]
    pub yes_really_load_this_host: bool,

    /// Be a worker of the Locust master at this host and port; what to load and how comes from its page.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["viewers", "arrivals", "duration", "titles", "rate"], help_heading = "Locust")]
    pub locust_master: Option<String>,

    /// Address of the origin's metrics (Prometheus), read once a second.
    #[arg(long, value_name = "URL", help_heading = "Measuring")]
    pub scrape: Option<String>,
    /// Counter of the bytes that the origin reads from its storage.
    #[arg(
        long,
        value_name = "NAME",
        requires = "scrape",
        default_value = "weir_origin_storage_bytes_total",
        help_heading = "Measuring"
    )]
    pub scrape_in: String,
    /// Counter of the bytes that the origin sends.
    #[arg(
        long,
        value_name = "NAME",
        requires = "scrape",
        default_value = "weir_origin_sent_bytes_total",
        help_heading = "Measuring"
    )]
    pub scrape_out: String,
    /// Record CPU, memory and network of this host, for an origin that runs on it.
    #[arg(long, help_heading = "Measuring")]
    pub watch_host: bool,
    /// Exit with status 1 if this holds of the whole run, as in 'p99 > 500ms'; may be given more than once.
    ///
    /// Metrics: p50, p90, p99, p99.9, min and max (time to the last byte), rate (bits received a second), failures
    /// and rebuffer (a percentage or a ratio).
    #[arg(long, value_name = "EXPR", help_heading = "Measuring")]
    pub fail_if: Vec<FailIf>,
    /// End as soon as this holds of the last ten seconds; the metrics are those of --fail-if.
    #[arg(long, value_name = "EXPR", help_heading = "Measuring")]
    pub stop_if: Vec<FailIf>,
}

/// How a viewer plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlayMode {
    /// Manifest, then audio and video of segment after segment, then again, as fast as answers come
    Loop,
    /// As a player does, with a buffer, in real time
    RealTime,
    /// Manifest, then segments by chance, as fast as answers come
    Random,
    /// The manifest again and again
    Manifest,
}

/// Which rung a viewer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RungMode {
    /// The highest
    Highest,
    /// The lowest
    Lowest,
    /// One by chance for each session
    Random,
    /// As the player adapts to its throughput (with --play real-time)
    Abr,
}

/// How many viewers there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Viewers {
    /// Always so many.
    Steady(u32),
    /// From one number to another.
    Ramp(u32, u32),
    /// One number after the other.
    Steps(Vec<u32>),
}

impl FromStr for Viewers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no number of viewers; write 50, 0..50 or 10,20,50");
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(number) if number <= MOST_VIEWERS => Ok(number),
            Ok(number) => Err(format!("{number} viewers are too many; at most {MOST_VIEWERS}")),
            Err(_) => Err(wrong()),
        };
        if let Some((from, to)) = text.split_once("..") {
            return Ok(Viewers::Ramp(number(from)?, number(to)?));
        }
        if text.contains(',') {
            let levels: Result<Vec<u32>, String> = text.split(',').map(number).collect();
            return levels.map(Viewers::Steps);
        }
        match number(text)? {
            0 => Err("no viewers load nothing; write at least 1".to_owned()),
            viewers => Ok(Viewers::Steady(viewers)),
        }
    }
}

/// A number of things a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerSecond(pub f64);

impl FromStr for PerSecond {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no number a second; write 20/s or 0.5/s");
        let number = text.trim().strip_suffix("/s").ok_or_else(wrong)?;
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        if number.is_finite() && number > 0.0 && number <= 1e6 {
            Ok(PerSecond(number))
        } else {
            Err(wrong())
        }
    }
}

/// A time, or from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The least.
    pub from: TimeSpan,
    /// The most, never below the least.
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
            return Err(format!("'{text}' runs backwards; write the shorter time first"));
        }
        Ok(TimeRange { from, to })
    }
}

/// Reads the exponent of a distribution.
fn exponent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is no number"))?;
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
            ("0", Err("no viewers load nothing; write at least 1".to_owned())),
            (
                "many",
                Err("'many' is no number of viewers; write 50, 0..50 or 10,20,50".to_owned()),
            ),
            (
                "2000000",
                Err("2000000 viewers are too many; at most 1000000".to_owned()),
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
        let range: TimeRange = "1s..5s".parse().expect("a range");
        assert_eq!(
            (range.from, range.to),
            (TimeSpan(1_000_000_000), TimeSpan(5_000_000_000))
        );
        assert!("5s..1s".parse::<TimeRange>().is_err());
        assert!("5".parse::<TimeRange>().is_err());
    }
}
