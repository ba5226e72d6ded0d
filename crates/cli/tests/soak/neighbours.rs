//! Downloads of `weir lab neighbour` across links of known delay and rate: what TCP of this kernel carries agrees with the
//! settings and the counts of the link.

use serde_json::Value;

use weir_rig::{count, isolated, lab_run, see_own_processes};

/// What a neighbour and then the link said, after `weir lab neighbour KIND far:7000` with these arguments.
#[track_caller]
fn neighbour(link: &str, kind: &str) -> (Value, Value) {
    see_own_processes();
    let serve = "weir lab neighbour serve --listen 198.18.0.2:7000";
    let link: Vec<&str> = ["--no-agent", "--far", serve]
        .into_iter()
        .chain(link.split(' '))
        .collect();
    let (kind, options) = kind.split_once(' ').expect("options");
    let command = format!("weir lab neighbour {kind} far:7000 --json {options}");
    lab_run(&link, &command.split(' ').collect::<Vec<_>>())
}

fn ms(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number")) / 1e6
}

#[test]
fn a_download_fills_the_link() {
    isolated!(heavy);
    // The link counts what a busy machine carried, and the client has to report the same.
    let link = "--rate 20Mbit/s --rtt 20ms --queue 2bdp";
    let (bulk, account) = neighbour(link, "bulk --congestion reno --streams 2 --for 4s");
    let figures = &bulk["figures"];
    let (down, bytes) = (&account["reverse"], count(&figures["bytes"]));
    let (delivered, dropped) = (count(&down["delivered"]), count(&down["dropped"]["queue"]));
    let sender = &figures["sender"];
    assert_eq!(sender["congestion"], "reno");
    // 1,448 of each 1,500 bytes are payload. Of what the link delivered the client had all, but for what came twice and
    // for three BDPs and the senders' own buffers on the way at the end.
    let again = count(&sender["retransmits"]);
    let most = count(&down["delivered_bytes"]) * 1_448 / 1_500;
    let least = most.saturating_sub((again + 300) * 1_448);
    assert!(
        (least..=most).contains(&bytes),
        "{bytes} of {most}, {again} again"
    );
    assert!(count(&figures["rate"]) <= 19_310_000, "{figures}");
    // A full queue of two BDPs makes three of the round trip.
    let waited = ms(&sender["rtt"]["max"]);
    assert!(waited >= 40.0 && ms(&sender["rtt"]["min"]) >= 20.0, "{sender}");
    // What was dropped is sent again, and what a late link made the sender give up comes twice.
    let twice = delivered - bytes / 1_448;
    assert!(
        again > 0 && again <= dropped + twice,
        "{again} again, {dropped} dropped, {twice} twice"
    );
    let samples = bulk["samples"].as_array().expect("samples");
    assert_eq!(samples.len(), 40);
    assert_eq!(
        samples.iter().map(|sample| count(&sample["bytes"])).sum::<u64>(),
        count(&figures["bytes"])
    );
    let again = samples
        .iter()
        .filter_map(|sample| sample["retransmits"].as_u64())
        .sum::<u64>();
    assert!(again <= count(&sender["retransmits"]), "{again}");
}

#[test]
fn repeated_downloads_take_the_time_that_the_link_takes() {
    isolated!();
    let link = "--rate 10Mbit/s --rtt 20ms --queue 2bdp";
    let kind = "http --bytes 500kB --pause 100ms --for 4s";
    let (http, _) = neighbour(link, kind);
    let figures = &http["figures"];
    // 346 segments of 1,500 bytes on 10 Mbit/s, and the round trip; none faster.
    let least = ms(&figures["completion"]["min"]);
    assert!(least >= 425.0, "{least} ms");
    assert!(ms(&figures["first_byte"]["min"]) >= 20.0);
    let downloads = count(&figures["downloads"]);
    assert!(downloads <= 7, "{figures}");
    assert!(downloads >= 6, "{figures}");
    assert_eq!(
        figures["times"].as_array().map(|times| times.len() as u64),
        Some(downloads)
    );
    let bytes = count(&figures["bytes"]);
    assert!(
        (downloads * 500_000..=(downloads + 1) * 500_000).contains(&bytes),
        "{bytes}"
    );
}
