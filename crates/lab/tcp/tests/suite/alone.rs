//! One connection on a link with a queue, against figures that follow from the specification of its control.

use weir_tcp::{Algorithm, EcnUse, SenderConfig, SlowStart};

use super::world::{Flow, MS, SECOND, link, run};

const USUAL: &str = "rtt = \"40ms\"\nforward.rate = \"50Mbit/s\"\nforward.queue = \"250kB\"";
/// Packets of 1,500 bytes that the path and its queue hold: 50 Mbit/s for 40 ms, and 250 kB, and the one in transmission.
const HELD: f64 = 166.7 + 166.0 + 1.0;
/// A packet each 240 us.
const RATE: f64 = 1e9 / 240_000.0;

/// RFC 5681: the window grows by a packet for each round trip from half of what path and queue hold.
#[test]
fn newreno_saws_between_half_of_what_fits_and_all() {
    let seen = run(&link(USUAL), &[Flow::endless(Algorithm::NewReno)], 300 * SECOND);
    let counters = seen.counters[0];
    assert_eq!(
        counters.lost, seen.forward.dropped.queue,
        "all that was dropped, and no more"
    );
    assert_eq!((counters.again, counters.timeouts), (counters.lost, 0));
    // The round trip of a window of w packets takes w / RATE where the queue never empties: so a tooth has
    // (HELD^2 - (HELD / 2)^2) / 2 packets.
    let tooth_s = (HELD.powi(2) - (HELD / 2.0).powi(2)) / 2.0 / RATE;
    let teeth = (counters.recoveries - 2) as f64;
    let expected = 299.0 / tooth_s;
    assert!(
        (teeth - expected).abs() <= 0.1 * expected,
        "{teeth} teeth, {expected} by the rule"
    );
    // The queue is full at the top of a tooth and as good as empty at its foot. With x for the window as a share of
    // HELD, time passes as x dx: its mean is the integral of x^2 dx over x dx from 1/2 to 1.
    let mean = HELD * ((1.0 - 0.125) / 3.0) / ((1.0 - 0.25) / 2.0) - 166.7;
    let queue = seen.mean_queue() / 1_500.0;
    assert!(
        (queue - mean).abs() < 0.1 * mean,
        "mean queue {queue}, by the rule {mean}"
    );
}

/// RFC 9438 section 4.1 and 4.2: between two losses K = cbrt(W_max (1 - beta) / C) seconds pass, if the window follows the
/// cubic function alone; that of a connection with a long round trip does.
#[test]
fn cubic_comes_back_to_its_window_after_k_seconds() {
    let text = "rtt = \"100ms\"\nforward.rate = \"100Mbit/s\"\nforward.queue = \"0.5bdp\"";
    let seen = run(&link(text), &[Flow::endless(Algorithm::Cubic)], 400 * SECOND);
    let most = 833.0 * 1.5_f64;
    let k = (most * 0.3 / 0.4).cbrt();
    let teeth = seen.counters[0].recoveries as f64;
    // After K the window goes on beyond W_max, slowly at first, until a packet is lost.
    let each = 400.0 / teeth;
    assert!(each > k && each < 1.35 * k, "a loss each {each} s, K is {k} s");
    assert!(seen.rate(0, 20, 400) > 0.99 * 100e6 * 1448.0 / 1500.0);
}

/// A model of rate and round trip fills the pipe and leaves the queue empty.
#[test]
fn bbr_fills_the_pipe_and_not_the_queue() {
    let seen = run(&link(USUAL), &[Flow::endless(Algorithm::Bbr)], 60 * SECOND);
    assert!(seen.rate(0, 5, 60) > 0.97 * 50e6 * 1448.0 / 1500.0);
    let mut rtts: Vec<u64> = seen.rtts_ns[50..].to_vec();
    rtts.sort_unstable();
    // A tenth of the round trip; the kernel on the same link: 45.8 ms on average.
    assert!(rtts[rtts.len() / 2] < 44 * MS, "{}", rtts[rtts.len() / 2]);
    // It begins with a rate far too high, and probes later with a quarter more for a round trip.
    assert!(seen.counters[0].recoveries <= 3, "{:?}", seen.counters[0]);
}

/// HyStart++ ends slow start before the queue is full (RFC 9406).
#[test]
fn hystart_loses_less_than_the_standard_slow_start() {
    let deep = USUAL.replace("250kB", "2MB");
    let lost = |slow_start| {
        let mut flow = Flow::endless(Algorithm::NewReno);
        flow.config.slow_start = slow_start;
        run(&link(&deep), &[flow], 3 * SECOND).counters[0].lost
    };
    let (standard, plus) = (lost(SlowStart::Standard), lost(SlowStart::HyStartPlusPlus));
    assert!(standard > 100 && plus < standard / 3, "{standard}, {plus}");
}

/// RFC 3168: a mark counts as a loss, and nothing is lost.
#[test]
fn marks_take_the_place_of_losses() {
    let text = "rtt = \"20ms\"\nforward.rate = \"20Mbit/s\"\nforward.queue = { kind = \"codel\" }";
    for (algorithm, ecn, kind) in [
        (Algorithm::NewReno, EcnUse::Classic, "codel"),
        (Algorithm::Cubic, EcnUse::Classic, "codel"),
        (Algorithm::Scalable, EcnUse::Accurate, "dualpi2"),
    ] {
        let mut flow = Flow::endless(algorithm);
        flow.config = SenderConfig { ecn, ..flow.config };
        let seen = run(&link(&text.replace("codel", kind)), &[flow], 30 * SECOND);
        let counters = seen.counters[0];
        assert_eq!((counters.lost, counters.timeouts), (0, 0), "{algorithm:?}");
        assert!(counters.marks > 0 && seen.forward.marked > 0, "{algorithm:?}");
        assert!(seen.rate(0, 5, 30) > 0.85 * 20e6, "{algorithm:?}");
    }
}

/// A pace below the capacity leaves no queue, and is kept.
#[test]
fn a_pace_is_kept() {
    let mut flow = Flow::endless(Algorithm::Cubic);
    flow.config.most_rate = Some(20_000_000);
    let seen = run(&link(USUAL), &[flow], 30 * SECOND);
    let rate = seen.rate(0, 5, 30) * 1500.0 / 1448.0;
    assert!((rate - 20e6).abs() < 0.01 * 20e6, "{rate}");
    assert_eq!(seen.counters[0].lost, 0);
    assert!(
        seen.forward.most_queued_bytes <= 2 * 1_500,
        "bursts of two packets"
    );
}
