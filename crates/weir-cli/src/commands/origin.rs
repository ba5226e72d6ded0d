//! `weir origin`: media from storage, packaged as it is asked for.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use weir_cli::args::{BucketStyle, GlobalOptions, OriginArgs};
use weir_cli::units::TimeSpan;
use weir_measure::Stop;
use weir_origin::{Access, Config, Limits, LogTo, OriginError, Patience, S3Style, Server, TlsFiles};

use super::Failure;
use super::output::{print, say};

/// Serves until interrupted.
pub fn run(args: &OriginArgs, global: &GlobalOptions, stop: Stop) -> Result<(), Failure> {
    let server = Server::bind(&config(args))?;
    announce(args, server.address(), global)?;
    server.run(move || stop.is_set())?;
    Ok(())
}

fn config(args: &OriginArgs) -> Config {
    let waits = duration(args.storage_timeout);
    Config {
        places: std::iter::once(&args.place)
            .chain(&args.mirror)
            .cloned()
            .collect(),
        access: Access {
            s3_endpoint: args.s3_endpoint.clone(),
            s3_style: match args.s3_style {
                BucketStyle::Path => S3Style::Path,
                BucketStyle::Virtual => S3Style::Virtual,
            },
            s3_region: args.s3_region.clone(),
            anonymous: args.anonymous,
        },
        patience: Patience {
            answer: waits,
            stall: waits,
            tries: args.storage_tries,
            hedge: args.hedge,
            ..Patience::default()
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

fn duration(time: TimeSpan) -> Duration {
    Duration::from_nanos(time.0)
}

fn announce(args: &OriginArgs, address: SocketAddr, global: &GlobalOptions) -> Result<(), Failure> {
    let scheme = if args.tls_cert.is_some() { "https" } else { "http" };
    let url = super::url_on_this_host(scheme, address);
    let place = args.place.to_string();
    if global.json {
        let configuration = args.configuration.name();
        let line = json!({ "url": url, "address": address, "place": place, "configuration": configuration });
        return print(&format!("{line}\n"));
    }
    print(&format!("{url}\n"))?;
    if !global.quiet {
        say(&format!("weir origin: serves {place}; Ctrl-C ends it"));
    }
    Ok(())
}

impl From<OriginError> for Failure {
    fn from(error: OriginError) -> Self {
        Failure::environment(error.to_string())
    }
}
