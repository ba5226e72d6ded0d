//! `weir mesh window`: the rate that a TCP window allows over a round trip, and the window that a rate needs.

use crate::args::{GlobalOptions, WindowArgs};
use crate::units::{format_bytes, format_duration, format_rate};
use serde::Serialize;
use weir_measure::tcp_sweep::{rate_of, window_of};
use weir_units::{Rate, count_of};

use super::super::Failure;
use super::super::output::print;
use super::super::run_store::json;

/// What is printed.
#[derive(Serialize)]
struct Calculated {
    rtt_ns: u64,
    window_bytes: u64,
    rate: Rate,
    /// Connections with that window that carry the rate of `--rate`.
    streams: Option<u64>,
}

/// Calculates and prints.
pub fn run(args: &WindowArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let rtt_ns = args.rtt.0;
    let asked = args.window.map(|window| window.0);
    let calculated = match (asked, args.rate) {
        (Some(window_bytes), rate) => {
            let one = rate_of(window_bytes, rtt_ns);
            Calculated {
                rtt_ns,
                window_bytes,
                rate: one,
                streams: rate.map(|rate| rate.0.div_ceil(one.0.max(1))),
            }
        }
        (None, rate) => {
            let rate = rate.unwrap_or(Rate(0));
            Calculated {
                rtt_ns,
                window_bytes: window_of(rate, rtt_ns),
                rate,
                streams: None,
            }
        }
    };
    if global.json {
        return print(&format!("{}\n", json(&calculated)));
    }
    print(&text(args, &calculated))
}

fn text(args: &WindowArgs, calculated: &Calculated) -> String {
    let Calculated {
        rtt_ns,
        window_bytes,
        rate,
        streams,
    } = calculated;
    let (rtt, window) = (format_duration(*rtt_ns), format_bytes(*window_bytes));
    let exact = args.window.map_or(window, |window| window.to_string());
    let mut text = if args.window.is_some() {
        format!(
            "a window of {exact} at an RTT of {rtt}: at most {}\n",
            format_rate(rate.0)
        )
    } else {
        format!("{} at an RTT of {rtt}: a window of {exact}\n", rate.rounded())
    };
    if let (Some(streams), Some(wanted)) = (streams, args.rate) {
        text.push_str(&format!(
            "{}: {}, or a window of {}\n",
            wanted.rounded(),
            count_of(*streams, "connection"),
            format_bytes(window_of(wanted, *rtt_ns))
        ));
    }
    text
}
