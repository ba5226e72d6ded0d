//! All fuzz targets in one binary, so that the crates under test are linked once. The environment variable `FUZZ_TARGET` names
//! the target of a process; libFuzzer keeps its own arguments. `scripts/fuzz_smoke.sh` sets it.

#![no_main]

use std::process::exit;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

mod checks;

/// The list of targets. `table_of_targets.rs` takes every file of the folder into the table, so that a file without a line
/// here does not compile.
mod fuzz_targets {
    pub mod cloud_metadata;
    pub mod cmcd;
    pub mod decrypted_samples;
    pub mod fec_decoder;
    pub mod frames;
    pub mod handshake;
    pub mod hosts_file;
    pub mod ip_headers;
    pub mod link_profile;
    pub mod link_trace;
    pub mod load_answer;
    pub mod load_http2;
    pub mod load_manifest;
    pub mod media_receiver;
    pub mod mesh_cloud;
    pub mod mesh_import;
    pub mod mp4;
    pub mod neighbour_http;
    pub mod neighbour_packets;
    pub mod origin_request;
    pub mod origin_stored;
    pub mod pacing_scenario;
    pub mod protected_stream;
    pub mod recorded;
    pub mod slice_headers;
    pub mod stamp;
    pub mod stored_distribution;
    pub mod stored_index;
    pub mod title_manifest;
    pub mod trap_file;
    pub mod tun_segments;
    pub mod udp_packets;
    pub mod video_format;
    pub mod watch_file;
    pub mod webvtt;
    pub mod y4m;
    pub mod yaml;
}

type Target = fn(&[u8]);

/// Names of targets, in alphabetical order, and what they do with an input.
static TARGETS: &[(&str, Target)] = include!(concat!(env!("OUT_DIR"), "/table_of_targets.rs"));

static CHOSEN: OnceLock<Target> = OnceLock::new();

/// The target that `FUZZ_TARGET` names. Ends the process if there is none.
fn chosen() -> Target {
    let asked = std::env::var("FUZZ_TARGET").unwrap_or_default();
    match TARGETS.iter().find(|(name, _)| *name == asked) {
        Some((_, target)) => *target,
        None => {
            let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            eprintln!(
                "error: FUZZ_TARGET='{}' names no fuzz target; use one of: {}",
                asked.escape_debug(),
                names.join(" ")
            );
            exit(2);
        }
    }
}

fuzz_target!(
    init: {
        CHOSEN.get_or_init(chosen);
    },
    |input: &[u8]| CHOSEN.get_or_init(chosen)(input)
);
