//! Streams over links in virtual time, by the transport's own state machines, and the settings that follow from them.

use std::path::Path as FilePath;

use tempfile::TempDir;
use weir_diagnose::{
    Carried, Diagnosis, Finding, FindingName, Options, Recovery, Stream, Survive, Transport, Verdict, load,
};
use weir_link::profile::parse;
use weir_link::{DarkSpan, LinkSpec};
use weir_measure::VideoFormat;
use weir_measure::survey::SurveyPlan;
use weir_results::Store;
use weir_simulate::{HostModel, Path, VirtualTransport, diagnose_by_trial};
use weir_stats::loss_interval;
use weir_units::{FrameRate, Rate};

const MS: u64 = 1_000_000;

pub(crate) fn link(toml: &str) -> LinkSpec {
    parse(toml, "test", FilePath::new(".")).expect("a link")
}

/// 200 Mbit/s in packets of 1,400 bytes: 19,000 packets a second.
fn stream(recovery: Recovery, latency_ns: u64) -> Stream {
    Stream {
        format: VideoFormat::of_rate(Rate(200_000_000), "25".parse::<FrameRate>().expect("a rate")),
        flows: 8,
        payload: 1_400,
        burst: None,
        recovery,
        latency_ns,
        dark: None,
        packets: 60_000,
        seed: 3,
    }
}

fn arq(rounds: u32, latency_ns: u64) -> Stream {
    let recovery = Recovery::Arq {
        latency_ns: Some(latency_ns),
        rounds,
    };
    stream(recovery, latency_ns)
}

fn fec(repair_packets: u32, span_packets: u32) -> Stream {
    let latency_ns = 40 * MS;
    let recovery = Recovery::Fec {
        overhead: f64::from(repair_packets) / f64::from(span_packets),
        repair_packets,
        span_packets,
        latency_ns,
    };
    stream(recovery, latency_ns)
}

fn carry(toml: &str, stream: &Stream) -> Carried {
    VirtualTransport.carry(&link(toml), stream).expect("a stream")
}

#[test]
fn a_clean_link_carries_every_packet_once() {
    let carried = carry("rtt = \"2ms\"", &stream(Recovery::None, 5 * MS));
    assert!(carried.packets >= 60_000);
    assert_eq!(
        (carried.lost, carried.unrepaired, carried.damaged_frames),
        (0, 0, 0)
    );
    assert_eq!(carried.sent_packets, carried.packets);
    assert_eq!(
        carried,
        carry("rtt = \"2ms\"", &stream(Recovery::None, 5 * MS)),
        "the same each time"
    );
}

#[test]
fn what_the_link_loses_is_missing_unless_it_is_repaired() {
    const LOSSY: &str = "rtt = \"10ms\"\nloss = \"1%\"\nseed = 7";
    let plain = carry(LOSSY, &stream(Recovery::None, 5 * MS));
    let (low, high) = loss_interval(600, 60_000);
    let share = plain.unrepaired as f64 / plain.packets as f64;
    assert!((low..high).contains(&share), "{share}");
    assert_eq!(plain.lost, plain.unrepaired);
    // Three rounds leave one packet in a hundred million.
    let again = carry(LOSSY, &arq(3, 60 * MS));
    assert_eq!(again.unrepaired, 0, "{again:?}");
    let more = again.sent_packets as f64 / again.packets as f64 - 1.0;
    assert!(
        (0.008..0.02).contains(&more),
        "each lost packet once more: {more}"
    );
    // A round trip of 10 ms has no place in 5 ms.
    assert!(carry(LOSSY, &arq(1, 5 * MS)).unrepaired > 500);
    // Twice as many repairs as losses over a long span; half as many are too few.
    let strong = carry(LOSSY, &fec(12, 400));
    assert!(strong.unrepaired < 5, "{strong:?}");
    let more = strong.sent_packets as f64 / strong.packets as f64 - 1.0;
    assert!((0.029..0.035).contains(&more), "{more}");
    assert!(carry(LOSSY, &fec(2, 400)).unrepaired > 200);
}

#[test]
fn a_flow_that_is_dark_for_a_second_is_survived_by_retransmission_over_the_others() {
    let dark = |stream: Stream| Stream {
        dark: Some((0, 500 * MS, 1_500 * MS)),
        ..stream
    };
    let plain = carry("rtt = \"4ms\"", &dark(stream(Recovery::None, 40 * MS)));
    assert!(plain.unrepaired > 0, "{plain:?}");
    let again = carry("rtt = \"4ms\"", &dark(arq(5, 40 * MS)));
    assert_eq!(again.unrepaired, 0, "{again:?}");
}

#[test]
fn streams_that_the_transport_does_not_take_are_refused() {
    let refused = |stream: Stream| VirtualTransport.carry(&link("rtt = \"1ms\""), &stream).is_none();
    for flows in [0, 65] {
        assert!(refused(Stream {
            flows,
            ..stream(Recovery::None, MS)
        }));
    }
    // An hour for a frame, or until it is repaired, is a damaged row.
    let slow = FrameRate {
        numerator: 1,
        denominator: 3_600,
    };
    assert!(refused(Stream {
        format: VideoFormat::of_rate(Rate(1_000), slow),
        ..stream(Recovery::None, MS)
    }));
    assert!(refused(stream(Recovery::None, 3_600_000 * MS)));
    assert!(refused(Stream {
        payload: 70,
        ..stream(Recovery::None, MS)
    }));
}

/// What is recommended after a survey in virtual time, and what it leaves on the network itself.
fn recommended(toml: &str, options: &Options) -> (Diagnosis, Carried) {
    after_survey(&link(toml), Rate(200_000_000), options)
}

/// The same for media of this rate.
pub(crate) fn after_survey(link: &LinkSpec, rate: Rate, options: &Options) -> (Diagnosis, Carried) {
    let folder = TempDir::new().expect("a folder");
    let mut store = Store::open(folder.path().join("weir.db")).expect("a store");
    let host = HostModel::default();
    let mut path = Path::new(link, &host, &host, "far", 5).expect("a path");
    let plan = SurveyPlan {
        format: VideoFormat::of_rate(rate, "25".parse().expect("a rate")),
        step_ns: 3_000 * MS,
        max_flows: 16,
        max_bytes: u64::MAX,
    };
    let run = path.survey(&plan, &mut store, &mut |_| {}).expect("a survey").run;
    let diagnosis = diagnose_by_trial(&load(&store, run).expect("a run"), options);
    let found = diagnosis.recommendation.clone().expect("a recommendation");
    let stream = Stream {
        format: plan.format,
        flows: found.flows,
        payload: found.payload,
        burst: found.burst,
        recovery: found.recovery,
        latency_ns: found.latency_ns,
        dark: None,
        packets: 1_000_000,
        seed: 99,
    };
    let carried = VirtualTransport.carry(link, &stream).expect("a stream");
    (diagnosis, carried)
}

#[test]
fn the_cheapest_settings_that_meet_the_target_do_so_on_the_network_itself() {
    let options = Options {
        target_loss: Some(1e-4),
        ..Options::default()
    };
    let (diagnosis, carried) = recommended("rtt = \"10ms\"\nloss = \"0.5%\"\nseed = 4", &options);
    let found = diagnosis.recommendation.expect("a recommendation");
    assert!(matches!(found.recovery, Recovery::Arq { .. }), "{found:#?}");
    assert!(found.meets_target && carried.unrepaired as f64 <= 1e-4 * carried.packets as f64);
    // Nothing was cheaper, and everything cheaper was tried.
    let (last, missed) = found.compared.split_last().expect("something");
    assert!(
        last.meets_target && missed.iter().all(|one| !one.meets_target),
        "{found:#?}"
    );
    assert_eq!(missed.first().map(|one| one.recovery), Some(Recovery::None));
    // A round trip that takes longer than the budget leaves a code.
    let options = Options {
        latency_ns: Some(30 * MS),
        ..options
    };
    let (diagnosis, carried) = recommended("rtt = \"80ms\"\nloss = \"0.5%\"\nseed = 4", &options);
    let found = diagnosis.recommendation.expect("a recommendation");
    assert!(matches!(found.recovery, Recovery::Fec { .. }), "{found:#?}");
    assert!(
        carried.unrepaired as f64 <= 1e-4 * carried.packets as f64,
        "{carried:?} {found:#?}"
    );
    assert_eq!(diagnosis.answer.verdict, Verdict::CarriesWithRepair);
}

#[test]
fn surviving_a_dark_flow_has_a_price_that_is_always_named() {
    const CLEAN: &str = "rtt = \"10ms\"";
    let (diagnosis, _) = recommended(CLEAN, &Options::default());
    let found = diagnosis.recommendation.expect("a recommendation");
    assert_eq!(
        diagnosis.answer.verdict,
        Verdict::Carries,
        "{}",
        diagnosis.answer.sentence
    );
    assert!(found.longer_test_ns.is_some());
    let [flow, route] = &found.survival[..] else {
        panic!("{found:#?}")
    };
    assert_eq!((flow.of, route.of), (Survive::Flow, Survive::Route));
    assert!(flow.recovery.is_some(), "{flow:?}");
    assert_eq!(route.recovery, None, "nothing survives the only route: {route:?}");
    let options = Options {
        survive: Some(Survive::Flow),
        ..Options::default()
    };
    let asked = recommended(CLEAN, &options)
        .0
        .recommendation
        .expect("a recommendation");
    assert_eq!(Some(asked.recovery), flow.recovery);
}

/// The second flow test of a survey meets half a second without one of two routes.
#[test]
fn an_outage_that_was_seen_is_survived_by_what_is_recommended() {
    const TWO_ROUTES: &str = "[[route]]\ndelay = \"5ms\"\n[[route]]\ndelay = \"6ms\"";
    let mut link = link(TWO_ROUTES);
    let from_ns = Path::stream_begins_ns(&link, 3) + 500 * MS;
    link.forward.routes[1].dark = vec![DarkSpan {
        from_ns,
        to_ns: from_ns + 500 * MS,
    }];
    let (diagnosis, _) = after_survey(&link, Rate(200_000_000), &Options::default());
    let outage = |finding: &Finding| finding.name == FindingName::Outage;
    assert!(diagnosis.findings.iter().any(outage), "{diagnosis:#?}");
    let found = diagnosis.recommendation.expect("a recommendation");
    let mut dark = link.clone();
    dark.forward.routes[1].dark = vec![DarkSpan {
        from_ns: 500 * MS,
        to_ns: 1_500 * MS,
    }];
    let stream = Stream {
        flows: found.flows,
        payload: found.payload,
        ..stream(found.recovery, found.latency_ns)
    };
    let carried = VirtualTransport.carry(&dark, &stream).expect("a stream");
    assert_eq!(carried.unrepaired, 0, "{found:#?}");
}

/// Options for a target that a trial can show.
pub(crate) fn one_in_ten_thousand() -> Options<'static> {
    Options {
        target_loss: Some(1e-4),
        ..Options::default()
    }
}

pub(crate) fn keeps_target(carried: &Carried) -> bool {
    carried.unrepaired as f64 <= 1e-4 * carried.packets as f64
}

#[test]
fn the_payload_that_passes_is_found_between_a_length_and_a_limit_on_packets() {
    // Of the lengths that every survey sends, the short ones lose to the one, and the long ones to the other.
    let toml = "mtu = 4036\nrtt = \"2ms\"\nseed = 4\n[forward]\npacket-rate = 13000\n\
                long-packets = { above = 2242, loss = \"33%\" }";
    let (diagnosis, carried) = recommended(toml, &one_in_ten_thousand());
    assert_eq!(
        diagnosis.answer.verdict,
        Verdict::Carries,
        "{:#?}",
        diagnosis.answer
    );
    let found = diagnosis.recommendation.expect("a recommendation");
    assert!((2_100..=2_214).contains(&found.payload), "{found:#?}");
    assert!(keeps_target(&carried), "{carried:?}");
}

#[test]
fn a_trial_decides_whether_much_loss_can_be_repaired() {
    let (diagnosis, carried) = recommended("rtt = \"2ms\"\nloss = \"8%\"\nseed = 4", &one_in_ten_thousand());
    assert_eq!(
        diagnosis.answer.verdict,
        Verdict::CarriesWithRepair,
        "{:#?}",
        diagnosis.answer
    );
    assert!(keeps_target(&carried), "{carried:?}");
    // Nothing repairs two thirds.
    let (diagnosis, _) = recommended("rtt = \"2ms\"\nloss = \"66%\"\nseed = 4", &one_in_ten_thousand());
    assert_eq!(diagnosis.answer.verdict, Verdict::DoesNotCarry);
}

#[test]
fn a_trial_whose_flows_take_no_route_that_loses_decides_nothing() {
    // By the seed of trials, none of eight flows takes the second route.
    let toml = "rtt = \"2ms\"\nseed = 4\n[[forward.route]]\nweight = 7\n[[forward.route]]\nweight = 1\nloss = \"0.6%\"";
    let (diagnosis, _) = recommended(toml, &one_in_ten_thousand());
    let found = diagnosis.recommendation.expect("a recommendation");
    assert_ne!(found.recovery, Recovery::None, "{found:#?}");
    for one in &found.compared {
        let (left, _, _) = one.simulated.expect("a trial");
        assert!(left > 0.0 || one.recovery != Recovery::None, "{one:#?}");
    }
}

#[test]
fn retransmissions_are_awaited_as_long_as_the_longest_route_takes() {
    // One round trip was measured, on a route that nobody knows; half of the flows take 20 ms longer.
    let toml =
        "seed = 4\nloss = \"1%\"\n[[forward.route]]\ndelay = \"5ms\"\n[[forward.route]]\ndelay = \"25ms\"";
    let (diagnosis, carried) = recommended(toml, &one_in_ten_thousand());
    let found = diagnosis.recommendation.expect("a recommendation");
    let rounds = match found.recovery {
        Recovery::Arq {
            rounds,
            latency_ns: Some(latency_ns),
        } => latency_ns / u64::from(rounds),
        other => panic!("not retransmitted: {other:?}"),
    };
    assert!(rounds >= 26 * MS, "{found:#?}");
    assert!(keeps_target(&carried), "{carried:?} {found:#?}");
}

#[test]
fn what_routes_of_unequal_length_lose_is_repaired_as_what_equal_ones_lose() {
    for (longer, latency) in [(5, 60), (10, 60), (25, 90)] {
        let toml = format!(
            "seed = 4\nloss = \"1%\"\n[[forward.route]]\ndelay = \"5ms\"\n[[forward.route]]\ndelay = \"{longer}ms\"\n\
             [[reverse.route]]\ndelay = \"5ms\""
        );
        let recovery = Recovery::Arq {
            latency_ns: Some(latency * MS),
            rounds: 1,
        };
        let stream = Stream {
            format: VideoFormat::of_rate(Rate(200_000_000), FrameRate::NTSC_60),
            packets: 120_000,
            ..stream(recovery, latency * MS)
        };
        let carried = VirtualTransport.carry(&link(&toml), &stream).expect("a stream");
        assert!(
            carried.lost > 1_000 && carried.unrepaired == 0,
            "{longer} ms: {carried:?}"
        );
    }
}
