//! Rules against an independent simulator: what Sabre (Spiteri et al., MMSys 2018) printed for its own videos and
//! network traces, with abandonment off. The data are not in this repository: they are looked for in the folder that
//! `WEIR_SHARED_DATA` names, else in `../shared/data` beside the checkout.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir_player::recorded::{Film, Trace};
use weir_player::virtual_time::{SteppedLink, play};
use weir_player::{AbrRule, Event, Manifest, MediaKind, Outcome, Player, Rung, Settings, Track};
use weir_rig::shared_data;

/// How far a time-average bitrate may be from Sabre's, as a share of it, and stalls, in seconds: no more than rounding.
const BITRATE_MARGIN: f64 = 1e-4;
const STALL_MARGIN: f64 = 1e-3;

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn movie(path: &Path) -> Arc<Manifest> {
    let film = Film::read(&text(path)).unwrap();
    let rungs = film.rungs.iter().enumerate().map(|(rung, bitrate)| Rung {
        bitrate: *bitrate,
        segment_bytes: film.bytes.iter().map(|sizes| sizes[rung]).collect(),
    });
    let durations = vec![film.segment; film.bytes.len()];
    let track = Track::new(MediaKind::Video, &durations, rungs.collect()).unwrap();
    Arc::new(Manifest::new(vec![track]).unwrap())
}

fn trace(path: &Path) -> SteppedLink {
    let trace = Trace::read(&text(path)).unwrap();
    assert!(trace.gaps.is_empty());
    SteppedLink::new(trace.steps).unwrap()
}

/// What Sabre printed: time-average bitrate in kbit/s, stalls in seconds and how many.
struct Printed {
    trace: String,
    movie: String,
    bitrate: f64,
    stalled: f64,
    stalls: f64,
}

fn printed(folder: &Path, rule: &str) -> Vec<Printed> {
    let text = text(&folder.join("sabre-results.csv"));
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column = |name: &str| names.iter().position(|other| *other == name).unwrap();
    let (set, trace, movie) = (column("set"), column("trace"), column("movie"));
    let (bitrate, stalled) = (column("time_average_played_bitrate"), column("total_rebuffer"));
    let (stalls, abandonment) = (column("total_rebuffer_events"), column("abandonment"));
    let of_rule = lines.filter(|line| line[column("abr")] == rule && line[abandonment] == "off");
    of_rule
        .map(|line| Printed {
            trace: format!("{}/{}", line[set], line[trace]),
            movie: line[movie].to_owned(),
            bitrate: line[bitrate].parse().unwrap(),
            stalled: line[stalled].parse().unwrap(),
            stalls: line[stalls].parse().unwrap(),
        })
        .collect()
}

/// Plays every video over every trace and prints both results side by side; none may be off by more than the margins.
fn check(name: &str, rule: AbrRule) {
    let Some(folder) = shared_data("abr", "Sabre") else {
        return;
    };
    let mut within: BTreeMap<String, bool> = BTreeMap::new();
    for printed in printed(&folder, name) {
        let manifest = movie(&folder.join(format!("{}.json", printed.movie)));
        let link = trace(&folder.join(&printed.trace));
        let player = Player::new(
            Settings {
                abr: rule,
                ..Settings::default()
            },
            Duration::ZERO,
        );
        let script = [(Duration::ZERO, Event::Manifest(manifest))];
        let session = play(player, &link, &script, Duration::from_secs(100_000));
        assert_eq!(session.outcome, Some(Outcome::Played));
        let figures = &session.figures;
        // Sabre's average is over all the time, start-up and stalls included.
        let shown = figures.bitrate.unwrap().0 as f64 / 1_000.0 * figures.played.as_secs_f64();
        let bitrate = shown / session.end.as_secs_f64();
        let stalled = figures.stalled.as_secs_f64();
        let off = (bitrate / printed.bitrate - 1.0).abs();
        let is_within = off <= BITRATE_MARGIN && (stalled - printed.stalled).abs() <= STALL_MARGIN;
        println!(
            "{name:10} {:16} {:11} {bitrate:8.1} {:8.1} kbit/s {:5.2} %  {stalled:7.3} {:7.3} s  {:2} {:2} stalls{}",
            printed.trace,
            printed.movie,
            printed.bitrate,
            off * 100.0,
            printed.stalled,
            figures.stalls,
            printed.stalls,
            if is_within { "" } else { "  <-- off" }
        );
        *within.entry(printed.trace).or_insert(true) &= is_within;
    }
    assert_eq!(within.len(), 16, "the data have 16 traces");
    let off: Vec<&String> = within
        .iter()
        .filter(|(_, is_within)| !**is_within)
        .map(|(trace, _)| trace)
        .collect();
    assert!(off.is_empty(), "{name} is off on {off:?}");
}

#[test]
fn the_throughput_rule_does_as_sabre() {
    check("throughput", AbrRule::Throughput);
}

#[test]
fn bola_does_as_sabre() {
    check("bola", AbrRule::Bola);
}

#[test]
fn bola_e_does_as_sabre() {
    check("bolae", AbrRule::BolaE);
}

#[test]
fn the_dynamic_rule_does_as_sabre() {
    check("dynamic", AbrRule::Dynamic);
}
