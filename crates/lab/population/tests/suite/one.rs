//! One household at a time, beside what follows from its line by hand.

use weir_population::{Household, Played, play};

use crate::small::{changed, population};

const MS: f64 = 1e6;

fn played(text: &str) -> Vec<Played> {
    let population = population(text);
    let household = Household::draw(&population, 1, 0).unwrap_or_else(|error| panic!("{error}"));
    let variants = population.variants.iter();
    variants
        .map(|variant| play(&household, variant, population.grants, 0).expect("a line"))
        .collect()
}

fn assert_near(found: f64, expected: f64, share: f64) {
    assert!(
        (found / expected - 1.0).abs() <= share,
        "{found} beside {expected}"
    );
}

/// A segment that fits into the initial window takes one round trip, and what its packets and the request take on the line.
#[test]
fn start_up_is_a_round_trip_for_a_segment_within_the_initial_window() {
    // 10 packets of 1,448 bytes of payload: 14,480 bytes in 4 s are 28.96 kbit/s.
    let text = changed(
        &[("\"500kbit/s\", \"2Mbit/s\"", "\"28kbit/s\", \"28.96kbit/s\"")],
        "",
    );
    let session = &played(&text)[0].session;
    assert!(session.finished && session.stalls == 0);
    // The first rung: 14,000 bytes, with headers of 10 packets, and a request of 652 bytes, at 20 Mbit/s.
    let bits = 8.0 * (14_000.0 + 10.0 * 52.0 + 652.0);
    let expected = 40.0 * MS + bits / 20e6 * 1e9;
    assert_near(session.startup_ns.expect("a picture") as f64, expected, 0.001);
}

/// Long segments at a pace are that long: 2.5 times the top rung of 2 Mbit/s.
#[test]
fn a_paced_segment_arrives_at_its_pace() {
    let more = "\n[[variant]]\nname = \"paced\"\npace = \"top:2.5\"\n";
    let [unpaced, paced] = &played(&changed(&[("\"500kbit/s\", ", "")], more))[..] else {
        panic!("two variants")
    };
    // A segment of 1 MB: the first round trip carries nothing, the rest is at 5 Mbit/s.
    let expected = 8e6 / (0.04 + 8e6 / 5e6);
    assert_near(paced.session.throughput as f64, expected, 0.01);
    // Unpaced the line is 20 Mbit/s, of which headers take 52 of 1,500 bytes; slow start after each pause takes some round trips.
    let most = 20e6 * 1448.0 / 1500.0;
    assert!(
        (0.5 * most..most).contains(&(unpaced.session.throughput as f64)),
        "{unpaced:?}"
    );
    // Below the rate of the line its queue holds no more than the burst of a millisecond, at least two packets.
    assert_near(paced.session.smoothed_rtt_mean_ns as f64, 40.0 * MS, 0.05);
    assert_eq!(paced.session.retransmitted, 0);
    assert_eq!(paced.session.bitrate, 2_000_000);
}

/// The origin's bounds: not below twice the top rung.
#[test]
fn a_server_with_bounds_sends_at_twice_the_top_rung_at_least() {
    let more = "\n[[variant]]\nname = \"paced\"\npace = \"top:1.25\"\n";
    let slow = changed(&[("\"500kbit/s\", ", "")], more);
    let bounded = slow.replacen("obeys", "bounds", 1);
    let rate = |text: &str| played(text)[1].session.throughput as f64;
    assert_near(rate(&slow), 8e6 / (0.04 + 8e6 / 2.5e6), 0.01);
    assert_near(rate(&bounded), 8e6 / (0.04 + 8e6 / 4e6), 0.01);
}

const CALL: &str = "\n[[neighbour]]\nname = \"call\"\nkind = \"call\"\nshare = 1\n";

/// Alone on the line, a call's packets take half of the round trip and 200 bytes at 20 Mbit/s; beside a stream they wait.
#[test]
fn a_call_waits_behind_segments() {
    let quiet = changed(&[("\"500kbit/s\", \"2Mbit/s\"", "\"28kbit/s\"")], CALL);
    let call = &played(&quiet)[0].neighbours[0];
    let alone = 20.0 * MS + 200.0 * 8.0 / 20e6 * 1e9;
    assert_near(call.time_quantile_ns.expect("packets") as f64, alone, 0.002);
    assert_eq!((call.count, call.lost), (80 * 50, 0));
    let busy = &played(&changed(&[], CALL))[0].neighbours[0];
    assert!(busy.beside_time_mean_ns > Some(25_000_000), "{busy:?}");
    assert!(busy.time_mean_ns < busy.beside_time_mean_ns, "{busy:?}");
}

/// Downloads without a stream: rate and time are of each other.
#[test]
fn downloads_get_the_line_while_the_stream_pauses() {
    let more = r#"
[[neighbour]]
name = "file"
kind = "downloads"
share = 1
bytes = "5MB"
pause = "3s"
"#;
    let text = changed(&[("\"500kbit/s\", \"2Mbit/s\"", "\"28kbit/s\"")], more);
    let file = &played(&text)[0].neighbours[0];
    assert!(file.count > 10, "{file:?}");
    let rate = file.throughput.expect("downloads") as f64;
    assert_near(
        rate,
        5e6 * 8.0 * 1e9 / file.time_mean_ns.expect("downloads") as f64,
        0.001,
    );
    assert!((0.7 * 20e6..20e6).contains(&rate), "{rate}");
}

/// A line below the lowest rung: the session stalls, and ends at three times its length.
#[test]
fn a_session_that_cannot_be_played_ends() {
    let text = changed(&[("rate = \"20Mbit/s\"", "rate = \"150kbit/s\"")], "");
    let session = &played(&text)[0].session;
    assert!(!session.finished && session.stalls > 0, "{session:?}");
    // 240 s at 150 kbit/s are 18 segments of 250 kB at most.
    assert!(session.segments <= 18, "{session:?}");
}

/// The link's counters: every packet that the queue dropped was sent again.
#[test]
fn what_the_queue_drops_is_sent_again() {
    let text = changed(&[("\"2bdp\"", "\"20kB\""), ("\"cubic\"", "\"reno\"")], "");
    let session = &played(&text)[0].session;
    assert!(session.finished && session.queue_dropped > 0, "{session:?}");
    assert!(session.retransmitted >= session.queue_dropped, "{session:?}");
}
