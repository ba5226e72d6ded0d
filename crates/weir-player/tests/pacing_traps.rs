//! Pace rates that harm the viewer, each shown with the player over a stepped link in virtual time, beside the same session
//! with what avoids it. The tables of docs/player.md are printed here:
//!
//!     cargo test -p weir-player --test pacing_traps -- --nocapture --test-threads 1

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use weir_media::cmcd::{StreamingFormat, Version};
use weir_media::pace_bounds::{PaceBounds, PaceRequest};
use weir_player::virtual_time::{Session, Step, SteppedLink, play_from};

use weir_player::{
    AbrRule, CmcdSettings, Event, FirstRung, Manifest, MediaKind, Outcome, PacePolicy, Player, Request, Rung,
    Settings, Track,
};
use weir_units::Rate;

const LADDER_KBITS: [u64; 6] = [235, 560, 1_050, 1_750, 2_350, 3_300];
const TOP: usize = LADDER_KBITS.len() - 1;
const SAMMY: PacePolicy = PacePolicy::Sammy { c0: 3.2, c1: 2.8 };

/// Ten minutes in segments of 4 s.
fn manifest() -> Arc<Manifest> {
    let rungs = LADDER_KBITS.map(|kbits| Rung {
        bitrate: Rate(kbits * 1_000),
        segment_bytes: vec![],
    });
    let track = Track::new(MediaKind::Video, &[Duration::from_secs(4); 150], rungs.to_vec()).unwrap();
    Arc::new(Manifest::new(vec![track]).unwrap())
}

/// A link with these rates, in Mbit/s, for so many seconds each, and 20 ms.
fn link(steps: &[(u64, f64)]) -> SteppedLink {
    let step = |(seconds, mbits): &(u64, f64)| Step {
        duration: Duration::from_secs(*seconds),
        rate: (mbits * 1e6) as u64,
        latency: Duration::from_millis(20),
    };
    SteppedLink::new(steps.iter().map(step).collect()).unwrap()
}

/// From a server that does as it is asked.
fn session(name: &str, settings: Settings, link: &SteppedLink) -> Session {
    session_from(name, &|request| request.pace, settings, link)
}

/// What a server makes of `rtp` that bounds it as the origin does if nothing else is said: no less than twice `tb`, and no
/// pace at all on `su`, on `bs` or with less than two segments in the buffer. It knows of the player what CMCD tells it.
fn bounded(request: &Request) -> Option<Rate> {
    let query = format!("CMCD={}", request.cmcd.as_ref().unwrap().query());
    let asked = PaceRequest::read(std::iter::empty(), &query);
    PaceBounds::default().decide(&asked, 0).rate
}

fn session_from(
    name: &str,
    server: &dyn Fn(&Request) -> Option<Rate>,
    settings: Settings,
    link: &SteppedLink,
) -> Session {
    let cmcd = CmcdSettings {
        version: Version::V2,
        format: StreamingFormat::Dash,
        content_id: None,
    };
    let settings = Settings {
        cmcd: Some(cmcd),
        ..settings
    };
    let player = Player::new(settings, Duration::ZERO);
    let script = [(Duration::ZERO, Event::Manifest(manifest()))];
    let session = play_from(server, player, link, &script, Duration::from_secs(7_200));

    assert_eq!(session.outcome, Some(Outcome::Played));
    let figures = &session.figures;
    let mbits = |rate: Option<Rate>| rate.unwrap().0 as f64 / 1e6;
    println!(
        "| {name} | {:.2} | {} | {:.1} | {:.2} | {:.2} | {} | {:.1} | {:.1} |",
        figures.startup_delay.unwrap().as_secs_f64(),
        figures.stalls,
        figures.stalled.as_secs_f64(),
        mbits(figures.first_20_s_bitrate),
        mbits(figures.bitrate),
        figures.switches,
        highest_buffer(&session),
        throughput(&session),
    );
    session
}

fn heading(text: &str) {
    println!("\n{text}\n");
    println!(
        "| policy | start-up, s | stalls | stalled, s | first 20 s, Mbit/s | bitrate, Mbit/s | switches | highest buffer, s | throughput, Mbit/s |"
    );
    println!("| --- | --: | --: | --: | --: | --: | --: | --: | --: |");
}

/// Seconds in the buffer, at a request, at most.
fn highest_buffer(session: &Session) -> f64 {
    session
        .fetches
        .iter()
        .map(|fetch| fetch.buffer.as_secs_f64())
        .fold(0.0, f64::max)
}

/// Mbit/s while something was on its way.
fn throughput(session: &Session) -> f64 {
    let bits: u64 = session.fetches.iter().map(|fetch| fetch.bytes * 8).sum();
    let time: Duration = session.fetches.iter().map(|fetch| fetch.done - fetch.asked).sum();
    bits as f64 / 1e6 / time.as_secs_f64()
}

fn rungs(session: &Session) -> Vec<usize> {
    session.fetches.iter().map(|fetch| fetch.rung).collect()
}

/// A player that takes half of the throughput that it sees, and is sent 1.5 times what it took, sees three quarters.
#[test]
fn pacing_on_the_current_rung_walks_down_the_ladder() {
    heading("Half of the throughput, from the top rung; 40 Mbit/s, from 200 to 240 s 1.5 Mbit/s");
    let link = link(&[(200, 40.0), (40, 1.5), (2_000, 40.0)]);

    let settings = |pace: PacePolicy| Settings {
        abr: AbrRule::ThroughputShare(0.5),
        first_rung: FirstRung::Rung(TOP),
        pace,
        max_buffer: Duration::from_secs(40),
        ..Settings::default()
    };
    let unpaced = session("none", settings(PacePolicy::None), &link);
    let current = session("1.5 x rung", settings(PacePolicy::TimesRung(1.5)), &link);
    let top = session("2.5 x top rung", settings(PacePolicy::TimesTopRung(2.5)), &link);
    let sammy = session("Sammy", settings(SAMMY), &link);
    // Down, never up, to the bottom; though the link carries twelve times the top rung.
    assert!(rungs(&current).windows(2).all(|pair| pair[1] <= pair[0]));
    assert_eq!(rungs(&current)[20], 0);
    // The others go down for what the link does, and up again.
    for other in [&unpaced, &top, &sammy] {
        let rungs = rungs(other);
        assert!(rungs[..40].iter().all(|rung| *rung == TOP) && rungs.contains(&1));
        assert_eq!(rungs.last(), Some(&TOP));
    }
    assert!(throughput(&sammy) < 0.6 * throughput(&unpaced));
}

/// The `rtp` of dash.js falls below the bitrate when more than five segments are in the buffer: it does not fill, and what
/// the player sees of the network is less than the rung.
#[test]
fn the_rate_of_dash_js_starves_a_long_buffer() {
    heading("A buffer of 60 s; 20 Mbit/s, after 200 s nothing for 45 s");
    let link = link(&[(200, 20.0), (45, 0.0), (2_000, 20.0)]);
    let settings = |abr: AbrRule, pace: PacePolicy| Settings {
        abr,
        pace,
        max_buffer: Duration::from_secs(60),
        ..Settings::default()
    };
    let fixed = AbrRule::Fixed(TOP);
    let unpaced = session("none, top rung", settings(fixed, PacePolicy::None), &link);
    let dash_js = session(
        "dash.js's rtp, top rung",
        settings(fixed, PacePolicy::DashJs),
        &link,
    );
    let sammy = session("Sammy, top rung", settings(fixed, SAMMY), &link);
    assert_eq!((unpaced.figures.stalls, sammy.figures.stalls), (0, 0));
    assert!(dash_js.figures.stalls > 0);
    // Five segments, and one that is on its way.
    assert!(highest_buffer(&dash_js) < 26.0 && highest_buffer(&unpaced) > 50.0);

    let rule = AbrRule::Throughput;
    let unpaced = session("none, throughput rule", settings(rule, PacePolicy::None), &link);
    let dash_js = session(
        "dash.js's rtp, throughput rule",
        settings(rule, PacePolicy::DashJs),
        &link,
    );
    let sammy = session("Sammy, throughput rule", settings(rule, SAMMY), &link);
    let bitrate = |session: &Session| session.figures.bitrate.unwrap().0 as f64;
    assert!(bitrate(&dash_js) < 0.9 * bitrate(&unpaced));
    assert!(bitrate(&sammy) > 0.97 * bitrate(&unpaced));
    let name = "dash.js's rtp, bounded by the server, throughput rule";
    let held = session_from(name, &bounded, settings(rule, PacePolicy::DashJs), &link);
    assert!(bitrate(&held) > 0.97 * bitrate(&unpaced));
    assert_eq!(held.figures.stalls, 0);
}

/// Before playback every bit is waited for: a pace of four times the rung is slower than the link.
#[test]
fn four_times_the_rung_at_the_start_delays_play() {
    heading("Four times from the first byte on; 40 Mbit/s, 8 s before playback starts");
    let link = link(&[(600, 40.0)]);
    let settings = |pace: PacePolicy, first_rung: FirstRung| Settings {
        first_rung,
        pace,
        start_buffer: Duration::from_secs(8),
        max_buffer: Duration::from_secs(40),
        ..Settings::default()
    };
    for (first, name) in [
        (FirstRung::Lowest, "lowest rung first"),
        (FirstRung::Rung(3), "1.75 Mbit/s first"),
    ] {
        let unpaced = session(&format!("none, {name}"), settings(PacePolicy::None, first), &link);
        let naive = session(
            &format!("4 x rung, {name}"),
            settings(PacePolicy::TimesRung(4.0), first),
            &link,
        );
        let naive_top = session(
            &format!("4 x top rung, {name}"),
            settings(PacePolicy::TimesTopRung(4.0), first),
            &link,
        );
        let held_name = format!("4 x rung, bounded by the server, {name}");
        let held = session_from(
            &held_name,
            &bounded,
            settings(PacePolicy::TimesRung(4.0), first),
            &link,
        );
        let sammy = session(&format!("Sammy, {name}"), settings(SAMMY, first), &link);

        let delay = |session: &Session| session.figures.startup_delay.unwrap();
        assert!(delay(&naive) > 2 * delay(&unpaced));
        assert!(delay(&naive_top) > delay(&unpaced));
        assert_eq!((delay(&sammy), delay(&held)), (delay(&unpaced), delay(&unpaced)));

        assert_eq!(
            sammy.figures.first_20_s_bitrate,
            unpaced.figures.first_20_s_bitrate
        );
    }
}
