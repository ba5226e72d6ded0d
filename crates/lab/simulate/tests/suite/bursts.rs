//! Bursts: what a stream sends back to back, and what a path loses in a row, as a recommendation takes them into account.

use weir_diagnose::{Options, Recovery, Verdict};
use weir_link::LossSpec;
use weir_units::Rate;

use crate::carried::{after_survey, keeps_target, link, one_in_ten_thousand};

#[test]
fn a_bucket_that_passes_the_bursts_of_tests_is_sent_no_longer_ones() {
    // 16 flows of the tests send 8 packets back to back, usual streams 23.
    let toml = "rtt = \"2ms\"\nseed = 4\n[forward]\nmtu = 1500\nflow-rate = { rate = \"250Mbit/s\", burst = \"26kB\" }";
    let (diagnosis, carried) = after_survey(&link(toml), Rate(2_500_000_000), &one_in_ten_thousand());
    let found = diagnosis.recommendation.expect("a recommendation");
    assert!(found.burst.is_some_and(|burst| burst <= 8), "{found:#?}");
    assert_eq!(carried.unrepaired, 0, "{found:#?}");
    let said = &diagnosis.answer.sentence;
    assert!(said.contains("bursts of 8, "), "{said}");
}

#[test]
fn a_stream_of_a_low_rate_is_measured_and_sent_in_bursts_as_short() {
    // Bursts of 256 kB, or of 33 kB a flow, would lose most of what is beyond the bucket.
    let toml = "rtt = \"2ms\"\nseed = 4\n[forward]\npacket-rate = { rate = 6000, burst = 32 }";
    let (diagnosis, carried) = after_survey(&link(toml), Rate(50_000_000), &one_in_ten_thousand());
    assert_eq!(
        diagnosis.answer.verdict,
        Verdict::Carries,
        "{:#?}",
        diagnosis.answer
    );
    assert!(keeps_target(&carried), "{carried:?}");
}

#[test]
fn a_loss_between_rare_packets_is_noticed_in_time_to_repair_it() {
    let toml = "mtu = 9000\nrtt = \"2ms\"\nloss = \"5%\"\nseed = 4";
    let (diagnosis, carried) = after_survey(&link(toml), Rate(50_000_000), &one_in_ten_thousand());
    let found = diagnosis.recommendation.expect("a recommendation");
    assert!(matches!(found.recovery, Recovery::Arq { .. }), "{found:#?}");
    assert!(keeps_target(&carried), "{carried:?} {found:#?}");
}

#[test]
fn a_code_costs_what_is_said() {
    for loss in ["4%", "8%"] {
        let toml = format!("rtt = \"80ms\"\nloss = \"{loss}\"\nseed = 4");
        let options = Options {
            latency_ns: Some(30_000_000),
            ..one_in_ten_thousand()
        };
        let (diagnosis, carried) = after_survey(&link(&toml), Rate(200_000_000), &options);
        let found = diagnosis.recommendation.expect("a recommendation");
        let Recovery::Fec { overhead, .. } = found.recovery else {
            panic!("{found:#?}")
        };
        let more = carried.sent_packets as f64 / carried.packets as f64 - 1.0;
        assert!(
            (more / overhead - 1.0).abs() < 0.1,
            "{loss}: {more} for {overhead}"
        );
        assert!(keeps_target(&carried), "{loss}: {carried:?}");
    }
}

/// Many short bursts and a few long ones: the mean says nothing of these.
#[test]
fn rare_long_bursts_are_repaired_too() {
    let mut lossy = link("rtt = \"150ms\"");
    let short = (0..400).flat_map(|burst| burst * 1_500..burst * 1_500 + 4);
    let long = (0..20).flat_map(|burst| burst * 30_000 + 700..burst * 30_000 + 850);
    let mut places: Vec<u64> = short.chain(long).collect();
    places.sort_unstable();
    lossy.forward.routes[0].loss = vec![LossSpec::Packets(places)];
    let (diagnosis, carried) = after_survey(&lossy, Rate(200_000_000), &one_in_ten_thousand());
    let found = diagnosis.recommendation.expect("a recommendation");
    assert!(found.meets_target, "{found:#?}");
    assert!(keeps_target(&carried), "{carried:?} {found:#?}");
}
