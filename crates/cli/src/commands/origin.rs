//! `weir origin`: media from storage, packaged on request.

use std::net::SocketAddr;
use std::time::Duration;

use crate::args::{GlobalOptions, OriginArgs, OriginCommand, PacingArgs};
use crate::units::TimeSpan;
use weir_measure::Stop;
use weir_origin::{
    Config, KeySettings, Limits, Listening, LogTo, Patience, Server, StorageLocation, TlsFiles,
};
use weir_pacing::{PaceBounds, Pacing};

use super::origin_storage::{access, patience};
use super::output::{print, say};
use super::run_store::json as to_json;
use super::{Failure, origin_demo, origin_dref, origin_index};

/// Serves until interrupted.
pub fn run(args: &OriginArgs, global: &GlobalOptions, stop: Stop) -> Result<(), Failure> {
    match &args.command {
        Some(OriginCommand::Index(args)) => return origin_index::run(args, global, &stop),
        Some(OriginCommand::Dref(args)) => return origin_dref::run(args, global),
        Some(OriginCommand::Demo(args)) => return origin_demo::run(args, global, stop),
        None => {}
    }
    let place = args.place.as_ref();
    let place =
        place.ok_or_else(|| Failure::usage("FOLDER-OR-URL is missing; name the storage of the media"))?;
    let server = Server::bind(&config(args, place))?;
    announce(place, args, server.address(), global)?;
    server.run(move || stop.is_set())?;
    Ok(())
}

fn config(args: &OriginArgs, place: &StorageLocation) -> Config {
    Config {
        places: std::iter::once(place).chain(&args.mirror).cloned().collect(),
        index_place: args.index_storage.clone(),
        access: access(&args.storage),
        patience: Patience {
            hedge: args.hedge,
            ..patience(&args.storage)
        },
        listen: args.listen,
        tls: args
            .tls_cert
            .clone()
            .zip(args.tls_key.clone())
            .map(|(certificate, key)| TlsFiles { certificate, key }),
        threads: args.threads.map(usize::from),
        configuration: args.configuration,
        memory_cache: args.memory_cache.0,
        disk_cache: args
            .disk_cache
            .clone()
            .map(|folder| (folder, args.disk_cache_size.0)),
        fresh: duration(args.fresh),
        segment: duration(args.segment),
        files: args.files,
        keys: KeySettings {
            file: args.keys.clone(),
            server: args.key_server.clone(),
            serve: args.serve_keys,
        },
        page: args.page,
        pacing: args.pacing.pace.then(|| pacing(&args.pacing)),
        access_log: args.access_log.clone().map(|path| match path.to_str() {
            Some("-") => LogTo::StandardOutput,
            _ => LogTo::File(path),
        }),
        limits: Limits {
            // At most a million.
            connections: args.max_connections as usize,
            request_time: duration(args.request_time),
            stalled: duration(args.stalled_time),
            drain: duration(args.drain),
            ..Limits::default()
        },
    }
}

fn pacing(args: &PacingArgs) -> Pacing {
    Pacing {
        bounds: PaceBounds {
            factor: args.pace_factor,
            floor: args.pace_floor,
            ceiling: args.pace_ceiling,
            low_buffer: duration(args.pace_low_buffer),
            longest: duration(args.pace_time),
        },
        burst: args.pace_burst,
    }
}

fn duration(time: TimeSpan) -> Duration {
    Duration::from_nanos(time.0)
}

fn announce(
    place: &StorageLocation,
    args: &OriginArgs,
    address: SocketAddr,
    global: &GlobalOptions,
) -> Result<(), Failure> {
    let scheme = if args.tls_cert.is_some() { "https" } else { "http" };
    let url = super::url_on_this_host(scheme, address);
    let place = place.to_string();
    if global.json {
        let configuration = args.configuration.name().to_owned();
        let listening = Listening {
            url,
            address,
            place,
            configuration,
        };
        return print(&format!("{}\n", to_json(&listening)));
    }
    print(&format!("{url}\n"))?;
    if !global.quiet {
        say(&format!("weir origin: serving {place}; Ctrl-C stops it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command};
    use clap::Parser;

    use super::*;

    fn told(options: &str) -> Config {
        let words = ["weir", "origin", "/srv/films"].into_iter();
        let cli = Cli::try_parse_from(words.chain(options.split_whitespace())).expect(options);
        let Command::Origin(args) = cli.command else {
            panic!("{options}: another command");
        };
        config(&args, args.place.as_ref().expect("a place"))
    }

    #[test]
    fn what_is_not_said_is_as_the_library_has_it() {
        let (told, usual) = (told(""), Config::new("/srv/films".parse().expect("a place")));
        assert_eq!(format!("{told:?}"), format!("{usual:?}"));
    }

    #[test]
    fn each_option_reaches_the_library() {
        let places = |config: Config| -> Vec<String> {
            config.places.iter().map(StorageLocation::to_string).collect()
        };
        assert_eq!(
            places(told("--mirror s3://films/2026 --mirror /mnt/films")),
            ["/srv/films", "s3://films/2026", "/mnt/films"]
        );
        let indexes = told("--index-storage http://127.0.0.1:81/").index_place;
        assert_eq!(
            indexes.map(|place| place.to_string()).as_deref(),
            Some("http://127.0.0.1:81/")
        );
        assert!(told("--hedge").patience.hedge);
        assert!(told("--anonymous").access.anonymous);
        let patience = told("--storage-timeout 700ms --storage-tries 7").patience;
        assert_eq!(
            (patience.answer, patience.stall, patience.tries),
            (Duration::from_millis(700), Duration::from_millis(700), 7)
        );
        let limits = told("--max-connections 17 --request-time 90s --stalled-time 5s --drain 2min").limits;
        assert_eq!(limits.connections, 17);
        assert_eq!(
            [limits.request_time, limits.stalled, limits.drain].map(|time| time.as_secs()),
            [90, 5, 120]
        );
        assert_eq!(told("--memory-cache 64MiB").memory_cache, 64 << 20);
        let kept = told("--disk-cache /var/cache/weir --disk-cache-size 3GiB --fresh 1s");
        assert_eq!(kept.disk_cache, Some(("/var/cache/weir".into(), 3 << 30)));
        assert_eq!(kept.fresh, Duration::from_secs(1));
    }
}
