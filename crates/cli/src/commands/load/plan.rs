//! From arguments to a run.

use std::time::Duration;

use crate::args::{HttpMode, LoadArgs, PlayMode, PlayerArgs, RungMode, Viewers};
use crate::units::TimeSpan;
use clap::ValueEnum;
use serde_json::{Value, json};
use weir_load::client::{HttpVersion, Patience, Trust};
use weir_load::engine::{self, Config, Scrape, ScrapeNames};
use weir_load::manifest::UrlRange;
use weir_load::schedule::{Arrivals, Popularity};
use weir_load::viewer::{Behaviour, Play, RealTime, RungChoice};
use weir_media::cmcd::Version;
use weir_net::bounded_file;
use weir_player::PacePolicy;

use super::Failure;

/// Default duration of a run.
const DEFAULT_TIME: Duration = Duration::from_secs(60);
/// Maximum size of a list of titles, in bytes.
const MOST_LIST: u64 = 16 << 20;
/// Maximum number of titles.
const MOST_TITLES: usize = 100_000;

/// URLs of all titles, the most popular first.
pub fn titles(args: &LoadArgs) -> Result<Vec<String>, Failure> {
    let mut titles = args.urls.clone();
    if let Some(path) = &args.titles {
        let text = bounded_file::read_text(path, MOST_LIST).map_err(|error| {
            Failure::usage(format!("cannot read the titles in {}: {error}", path.display()))
        })?;
        let lines = text.lines().map(str::trim);
        titles.extend(
            lines
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .map(str::to_owned),
        );
    }
    match titles.len() {
        0 => Err(Failure::usage(
            "the list of titles is empty; give the URL of a manifest",
        )),
        count if count > MOST_TITLES => Err(Failure::usage(format!(
            "{count} titles are too many; the maximum is {MOST_TITLES}"
        ))),
        _ => Ok(titles),
    }
}

/// The configuration of the engine.
pub fn config(args: &LoadArgs, titles: &[String]) -> Result<Config, Failure> {
    let arrivals = arrivals(args);
    let duration = match (args.duration, arrivals.settles_after()) {
        (Some(time), _) => of_span(time),
        (None, Duration::ZERO) => DEFAULT_TIME,
        (None, settles) => settles,
    };
    let places: Result<Vec<UrlRange>, Failure> = titles.iter().map(|title| place(title)).collect();
    Ok(Config {
        behaviour: behaviour(args, places?, &arrivals)?,
        arrivals,
        duration: Some(duration),
        threads: usize::from(args.threads),
        http: match args.http {
            HttpMode::One => HttpVersion::One,
            HttpMode::Two => HttpVersion::Two,
            HttpMode::Auto => HttpVersion::Auto,
        },
        trust: match (&args.ca, args.insecure) {
            (Some(path), _) => Trust::File(path.clone()),
            (None, true) => Trust::Anyone,
            (None, false) => Trust::Public,
        },
        patience: Patience {
            connect: of_span(args.connect_timeout),
            silence: of_span(args.timeout),
        },
        leave: args.yes_really_load_this_host,
        scrape: scrape(args)?,
    })
}

fn behaviour(args: &LoadArgs, titles: Vec<UrlRange>, arrivals: &Arrivals) -> Result<Behaviour, Failure> {
    let play = match args.play {
        PlayMode::Loop => Play::Loop,
        PlayMode::RealTime => Play::RealTime,
        PlayMode::Random => Play::Random,
        PlayMode::Manifest => Play::Manifest,
    };
    let pace = match (args.rate, arrivals.most_viewers()) {
        (None, _) => None,
        (Some(_), _) if play == Play::RealTime => {
            return Err(Failure::usage(
                "--rate conflicts with --play real-time, where players schedule their requests",
            ));
        }
        (Some(rate), Some(viewers)) if matches!(args.viewers, None | Some(Viewers::Steady(_))) => {
            Some(Duration::from_secs_f64(f64::from(viewers) / rate.0))
        }
        (Some(_), _) => {
            return Err(Failure::usage(
                "--rate needs a constant number of viewers, such as --viewers 50",
            ));
        }
    };
    Ok(Behaviour {
        popularity: Popularity::zipf(titles.len(), args.zipf),
        titles,
        play,
        rung: match args.rung {
            RungMode::Highest => RungChoice::Highest,
            RungMode::Lowest => RungChoice::Lowest,
            RungMode::Random => RungChoice::Random,
            RungMode::Abr => RungChoice::Adaptive,
        },
        real_time: real_time(&args.player, play)?,
        subtitles: args.subtitles,
        verify: args.verify,
        think: (of_span(args.think.from), of_span(args.think.to)),
        session: args.session.map(of_span),
        one_session: arrivals.is_open(),
        pace,
        seed: args.seed,
    })
}

/// Options of players, with --play real-time.
fn real_time(player: &PlayerArgs, play: Play) -> Result<RealTime, Failure> {
    if play != Play::RealTime && *player != PlayerArgs::default() {
        return Err(Failure::usage(
            "--abr, --buffer, --pace, --cmcd and --segment-log need --play real-time",
        ));
    }
    let plain = RealTime::default();
    let paced = player.pace.filter(|pace| *pace != PacePolicy::None);
    Ok(RealTime {
        abr: player.abr.unwrap_or(plain.abr),
        pace: paced.unwrap_or(plain.pace),
        max_buffer: player.buffer.map_or(plain.max_buffer, of_span),
        // A pace rate is sent as a CMCD key.
        cmcd: match (player.cmcd, paced) {
            (Some(1), _) => Some(Version::V1),
            (Some(_), _) | (None, Some(_)) => Some(Version::V2),
            (None, None) => None,
        },
        tell_segments: player.segment_log.is_some(),
    })
}

fn arrivals(args: &LoadArgs) -> Arrivals {
    if let Some(rate) = args.arrivals {
        return Arrivals::Rate {
            per_second: rate.0,
            poisson: args.poisson,
        };
    }
    let over = args.over.map(of_span);
    match &args.viewers {
        None => Arrivals::steady(1),
        Some(Viewers::Steady(viewers)) => Arrivals::Ramp {
            // With --over, a ramp from 0.
            from: if over.is_some() { 0 } else { *viewers },
            to: *viewers,
            over: over.unwrap_or_default(),
        },
        Some(Viewers::Ramp(from, to)) => Arrivals::Ramp {
            from: *from,
            to: *to,
            over: over.unwrap_or(DEFAULT_TIME),
        },
        Some(Viewers::Steps(levels)) => Arrivals::Steps {
            levels: levels.clone(),
            each: over.unwrap_or(DEFAULT_TIME),
        },
    }
}

fn scrape(args: &LoadArgs) -> Result<Option<Scrape>, Failure> {
    let Some(url) = &args.scrape else { return Ok(None) };
    Ok(Some(Scrape {
        place: place(url)?,
        names: ScrapeNames {
            taken: args.scrape_in.clone(),
            sent: args.scrape_out.clone(),
        },
    }))
}

fn place(text: &str) -> Result<UrlRange, Failure> {
    engine::place(text).ok_or_else(|| {
        Failure::usage(format!(
            "'{text}' is not a URL; write it like http://127.0.0.1:8080/film/manifest.mpd"
        ))
    })
}

fn of_span(time: TimeSpan) -> Duration {
    Duration::from_nanos(time.0)
}

/// Raises the limit on file descriptors, and warns if it stays below the number that viewers need.
pub fn room(config: &Config) -> Vec<String> {
    let room = engine::raise_descriptors();
    let wanted = config.arrivals.most_viewers().map_or(0, u64::from);
    if wanted <= room {
        return Vec::new();
    }
    vec![format!(
        "the limit on open files allows {room} connections, fewer than {wanted} viewers need; raise it with 'ulimit -n {}'",
        wanted + 1000
    )]
}

/// A choice as it is written on the command line.
fn word(choice: impl ValueEnum) -> Option<String> {
    choice
        .to_possible_value()
        .map(|value| value.get_name().to_owned())
}

/// Parameters of the run, for the store.
pub fn parameters(args: &LoadArgs, titles: &[String]) -> Value {
    let first: Vec<&String> = titles.iter().take(100).collect();
    json!({
        "titles": first,
        "title_count": titles.len(),
        "zipf": args.zipf,
        "viewers": args.viewers.as_ref().map(|viewers| match viewers {
            Viewers::Steady(count) => count.to_string(),
            Viewers::Ramp(from, to) => format!("{from}..{to}"),
            Viewers::Steps(levels) => levels.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        }),
        "over_ns": args.over.map(|time| time.0),
        "arrivals_per_second": args.arrivals.map(|rate| rate.0),
        "poisson": args.poisson,
        "for_ns": args.duration.map(|time| time.0),
        "session_ns": args.session.map(|time| time.0),
        "think_ns": [args.think.from.0, args.think.to.0],
        "seed": args.seed,
        "play": word(args.play),
        "rung": word(args.rung),
        "abr": args.player.abr.map(|rule| rule.to_string()),
        "buffer_ns": args.player.buffer.map(|time| time.0),
        "pace": args.player.pace.map(|policy| policy.to_string()),
        "cmcd": args.player.cmcd,
        "rate_per_second": args.rate.map(|rate| rate.0),
        "subtitles": args.subtitles,
        "verify": args.verify,
        "http": word(args.http),
        "threads": args.threads,
        "scrape": args.scrape,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use weir_player::AbrChoice;

    use super::*;
    use crate::args::{Cli, Command};

    fn told(options: &str) -> Config {
        let line = format!("weir load http://127.0.0.1/list.mpd {options}");
        let cli = Cli::try_parse_from(line.split_whitespace()).expect(options);
        let Command::Load(line) = cli.command else {
            panic!("{options}: another command");
        };
        let titles = titles(&line.load).expect(options);
        config(&line.load, &titles).unwrap_or_else(|error| panic!("{options}: {error:?}"))
    }

    #[test]
    fn each_option_reaches_the_engine() {
        let rungs = [
            ("lowest", RungChoice::Lowest),
            ("random", RungChoice::Random),
            ("abr", RungChoice::Adaptive),
        ];
        for (word, rung) in rungs {
            assert_eq!(told(&format!("--rung {word}")).behaviour.rung, rung);
        }
        let plain = told("").behaviour;
        assert_eq!(
            (plain.rung, plain.play, plain.subtitles),
            (RungChoice::Highest, Play::Loop, false)
        );
        assert_eq!(told("--play manifest").behaviour.play, Play::Manifest);
        assert!(told("--subtitles").behaviour.subtitles);
        assert_eq!(told("--seed 7").behaviour.seed, 7);
        let playing = |options: &str| told(&format!("--play real-time {options}")).behaviour.real_time;
        let usual = RealTime::default();
        assert_eq!(playing("").cmcd, None);
        assert_eq!(playing("--cmcd 1").cmcd, Some(Version::V1));
        let paced = playing("--pace rung:100 --abr bba --buffer 10s");
        assert_eq!((paced.cmcd, paced.abr), (Some(Version::V2), AbrChoice::Bba));
        assert_eq!(paced.max_buffer, Duration::from_secs(10));
        assert!(paced.pace != usual.pace && usual.abr != AbrChoice::Bba);
        let patience = told("--timeout 200ms --connect-timeout 3s").patience;
        let times = (patience.silence, patience.connect);
        assert_eq!(times, (Duration::from_millis(200), Duration::from_secs(3)));
    }

    #[test]
    fn titles_are_lines_of_a_file_the_first_the_most_popular() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = folder.path().join("titles");
        std::fs::write(
            &list,
            "# two\n\nhttp://127.0.0.1/2.mpd\n http://127.0.0.1/3.mpd \n",
        )
        .expect("a list");
        let config = told(&format!("--titles {} --zipf 1", list.display()));
        assert_eq!(config.behaviour.titles.len(), 3);
        assert_eq!(config.behaviour.popularity, Popularity::zipf(3, 1.0));
    }
}
