//! `weir agent`: the far end.

use std::net::IpAddr;

use crate::args::{AgentArgs, GlobalOptions};
use serde_json::json;
use weir_measure::agent::{Agent, AgentConfig};
use weir_measure::{Limits, MeasureError, Stop};
use weir_net::host::HostFacts;
use weir_net::{allocator, bounded_file};
use weir_units::Rate;

use super::output::{print, say};
use super::{Failure, connect};

/// Serves until interrupted.
pub fn run(args: &AgentArgs, global: &GlobalOptions, stop: Stop) -> Result<(), Failure> {
    let token = connect::token(args.token_file.as_deref())?;
    let guarded = !token.is_open();
    if guarded && args.open {
        return Err(Failure::usage(
            "--open conflicts with the token in WEIR_TOKEN; unset WEIR_TOKEN to accept clients without a token",
        ));
    }
    if !guarded && !args.open && args.listen.iter().any(|address| !is_loopback(*address)) {
        return Err(Failure::usage(
            "--listen names an address that other hosts can reach, but there is no token; set --token-file or WEIR_TOKEN, or --open to accept clients without a token",
        ));
    }
    let stamp_key = args.stamp_key_file.as_deref().map(read_key).transpose()?;
    let config = AgentConfig {
        listen: args.listen.clone(),
        port: args.port,
        udp_ports: args.udp_ports.first..=args.udp_ports.last,
        token,
        open: args.open,
        limits: Limits {
            max_rate: Rate(args.max_rate.0),
            max_duration_ns: args.max_duration.0,
            max_length: args.max_length,
            max_sessions: args.max_sessions,
            max_flows: args.max_flows,
            max_threads: args.max_threads.unwrap_or_else(weir_measure::threads_of_cores),
        },
        stamp_port: args.stamp_port,
        stamp_key,
    };
    allocator::share_arenas();
    let agent = Agent::bind(config, stop)?;
    // Asked before the first session, which then does not wait for it.
    weir_net::cloud::this_host();
    announce(&agent, args, global, guarded)?;
    agent.run();
    Ok(())
}

fn announce(agent: &Agent, args: &AgentArgs, global: &GlobalOptions, guarded: bool) -> Result<(), Failure> {
    let (control, stamp) = (agent.addresses(), agent.stamp_addresses());
    if global.json {
        let ports = [args.udp_ports.first, args.udp_ports.last];
        let line = json!({
            "control": control,
            "udp_ports": ports,
            "stamp": stamp,
            "token": guarded,
            "host": HostFacts::read(None).instance,
        });
        return print(&format!("{line}\n"));
    }
    if global.quiet {
        return Ok(());
    }
    for address in control {
        say(&format!(
            "weir agent: control on {address}, tests on UDP ports {}",
            args.udp_ports
        ));
    }
    for address in stamp {
        let mode = if args.stamp_key_file.is_some() {
            "authenticated"
        } else {
            "unauthenticated"
        };
        say(&format!("weir agent: STAMP reflector on {address}, {mode}"));
    }
    if args.open {
        say("weir agent: open: any client can use it without a token, within the limits");
    } else if !guarded {
        say("weir agent: no token, so loopback only; set --token-file or WEIR_TOKEN to serve other hosts");
    }
    Ok(())
}

fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback()
}

/// Reads a STAMP key: the file's bytes without surrounding white space.
pub fn read_key(path: &std::path::Path) -> Result<Vec<u8>, MeasureError> {
    bounded_file::read_secret(path, "STAMP key").map_err(MeasureError::Parameters)
}
