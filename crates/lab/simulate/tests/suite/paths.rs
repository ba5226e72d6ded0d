//! Results of a simulated measurement against the parameters of its network.

use weir_link::{DarkSpan, DirectionSpec, LinkSpec, LossSpec, Mtu, QueueSpec, RateSpec, RouteSpec, TooBig};
use weir_measure::VideoFormat;
use weir_measure::flows::{DirectionSummary, FlowsPlan, FlowsWays};
use weir_measure::survey::{StepSummary, SurveyPlan};
use weir_results::{Direction, Outcome, Record, RunFilter, Store};
use weir_simulate::{HostModel, Path, StepTruth};
use weir_units::{FrameRate, Rate};

const SECOND: u64 = 1_000_000_000;

pub(crate) fn route() -> RouteSpec {
    RouteSpec {
        rate: RateSpec::Fixed(10_000_000_000),
        queue: QueueSpec::Bytes(4 << 20),
        delay_ns: 100_000,
        ..RouteSpec::clean()
    }
}

pub(crate) fn link(routes: Vec<RouteSpec>) -> LinkSpec {
    let direction = DirectionSpec {
        mtu: Mtu {
            bytes: 8896,
            too_big: TooBig::Drop,
        },
        ..DirectionSpec::over(routes)
    };
    LinkSpec {
        name: "test".into(),
        seed: 1,
        interface_mtu: 9001,
        forward: direction.clone(),
        reverse: direction,
    }
}

/// A host without noise.
pub(crate) fn still() -> HostModel {
    HostModel {
        stalls_per_second: 0.0,
        timestamp_noise_ns: 0.0,
        cold_ns: 0.0,
        ..HostModel::default()
    }
}

fn format(rate: u64) -> VideoFormat {
    VideoFormat::of_rate(Rate(rate), FrameRate::NTSC_60)
}

pub(crate) fn flows(rate: u64, flows: u16) -> FlowsPlan {
    FlowsPlan {
        format: format(rate),
        length: 1400,
        flows,
        duration_ns: 3 * SECOND,
        ..FlowsPlan::default()
    }
}

pub(crate) struct Bench {
    _directory: tempfile::TempDir,
    pub(crate) store: Store,
}

pub(crate) fn bench() -> Bench {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(directory.path().join("weir.db")).expect("a store");
    Bench {
        _directory: directory,
        store,
    }
}

fn run(link: &LinkSpec, hosts: (&HostModel, &HostModel), plan: &FlowsPlan) -> (StepTruth, Vec<Record>) {
    let mut bench = bench();
    let mut path = Path::new(link, hosts.0, hosts.1, "far", 7).expect("a path");
    let truth = path.flows(plan, &mut bench.store).expect("a test");
    let records = bench.store.records(truth.run).expect("its records");
    (truth, records)
}

pub(crate) fn forward(truth: &StepTruth) -> &DirectionSummary {
    match &truth.summary {
        StepSummary::Flows(flows) => flows.forward.as_ref().expect("a forward direction"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn marked_runs_name_their_link_and_equal_seeds_give_equal_bytes() {
    let exported = |seed| {
        let mut bench = bench();
        let host = HostModel::default();
        let path = Path::new(&link(vec![route(); 4]), &host, &host, "far", seed).expect("a path");
        let mut path = path.starting_at(1_800_000_000 * SECOND).marked();
        let plan = SurveyPlan {
            format: format(20_000_000),
            step_ns: SECOND / 2,
            max_flows: 2,
            max_bytes: u64::MAX,
        };
        let made = path
            .survey(&plan, &mut bench.store, &mut |_| {})
            .expect("a survey");
        for run in bench.store.runs(&RunFilter::default()).expect("runs") {
            assert!(run.is_simulated(), "{:?}", run.local_host);
            assert_eq!(run.tags, ["simulated"]);
            assert!(run.started_unix_ns >= 1_800_000_000 * SECOND);
        }
        let mut text = Vec::new();
        bench.store.export_json(made.run, &mut text).expect("an export");
        text
    };
    assert!(exported(7) == exported(7));
    assert!(exported(7) != exported(8));
}

#[test]
fn a_survey_of_a_clean_path_finds_it_clean_and_is_stored_as_the_command_does() {
    let mut bench = bench();
    let host = HostModel::default();
    let mut path = Path::new(&link(vec![route(); 4]), &host, &host, "far", 7).expect("a path");
    let plan = SurveyPlan {
        format: format(200_000_000),
        step_ns: SECOND,
        max_flows: 16,
        max_bytes: u64::MAX,
    };
    let surveyed = path
        .survey(&plan, &mut bench.store, &mut |_| {})
        .expect("a survey");
    let mtu = surveyed.summary.mtu.expect("a path MTU");
    assert_eq!(
        (mtu.forward.path_mtu, mtu.reverse.path_mtu),
        (Some(8896), Some(8896))
    );
    let rtt = surveyed.summary.rtt.expect("an RTT");
    assert_eq!(rtt.lost, 0);
    assert!(
        (200_000..260_000).contains(&rtt.network_rtt.min),
        "{:?}",
        rtt.network_rtt
    );
    // 1,200 to 8,868 bytes with 8 flows; then 1, 2, 4 and 16 flows of 8,868 bytes; 8 flows of these are in both.
    assert_eq!(
        surveyed
            .summary
            .by_flows
            .iter()
            .map(|row| row.flows)
            .collect::<Vec<_>>(),
        [1, 2, 4, 8, 16]
    );
    assert_eq!(
        surveyed
            .summary
            .by_length
            .iter()
            .map(|row| row.length)
            .collect::<Vec<_>>(),
        [1200, 1400, 3900, 6000, 8100, 8868]
    );
    let rows = surveyed
        .summary
        .by_flows
        .iter()
        .chain(&surveyed.summary.by_length);
    assert!(rows.map(|row| row.lost).eq([0; 11]));
    assert_eq!(surveyed.summary.reverse.expect("a way back").lost, 0);

    let runs = bench.store.runs(&RunFilter::default()).expect("runs");
    assert_eq!(runs.len(), 1 + surveyed.steps.len());
    assert!(
        runs.iter()
            .all(|run| run.outcome == Outcome::Finished && run.target == "far")
    );
    let kinds: Vec<&str> = surveyed.steps.iter().map(|step| step.step.kind()).collect();
    assert_eq!(kinds[..3], ["mtu", "rtt", "flows"]);
    let parts = runs.iter().filter(|run| run.parent == Some(surveyed.run)).count();
    assert_eq!(parts, surveyed.steps.len());
}

#[test]
fn every_packet_that_the_link_loses_is_counted_once() {
    let mut lossy = link(vec![route(); 2]);
    for route in &mut lossy.forward.routes {
        route.loss.push(LossSpec::Bernoulli(0.01));
    }
    let (truth, records) = run(&lossy, (&still(), &still()), &flows(200_000_000, 8));
    let (before, after) = truth.forward;
    let found = forward(&truth);
    // Besides the stream, the link carries the probes of the clock watch.
    let lost_probes = (after.offered - before.offered - found.sent).saturating_sub(found.sent);
    assert_eq!(lost_probes, 0);
    assert!(
        after.dropped.loss - before.dropped.loss - found.lost <= 3,
        "{:?} {}",
        after,
        found.lost
    );
    assert!(found.lost > 300, "{}", found.lost);
    let of_flows: u64 = found.receiver.per_flow.iter().map(|flow| flow.counts.lost).sum();
    assert_eq!(of_flows, found.lost);
    let rows: u64 = records
        .iter()
        .filter_map(|record| match record {
            Record::StreamSecond(Direction::Forward, second) => Some(second.lost),
            _ => None,
        })
        .sum();
    assert_eq!(rows, found.lost);
    assert_eq!(found.attribution.network, found.lost);
}

#[test]
fn exactly_the_listed_packets_are_lost() {
    let mut lossy = link(vec![route()]);
    // The first 16 packets of the route are those of the clock watch; its later ones come four a second.
    lossy.forward.routes[0].loss = vec![LossSpec::Packets(vec![1000, 1001, 1002, 5000])];
    let (truth, _) = run(&lossy, (&still(), &still()), &flows(200_000_000, 1));
    let found = forward(&truth);
    assert_eq!(found.lost, 4);
    let bursts: Vec<(u64, u64)> = found.receiver.burst_lengths.clone().into_iter().collect();
    assert_eq!(bursts, [(1, 1), (3, 1)]);
}

#[test]
fn each_flow_keeps_its_route_and_the_next_test_spreads_anew() {
    let mut bench = bench();
    let mut path = Path::new(&link(vec![route(); 4]), &still(), &still(), "far", 7).expect("a path");
    let mut seen = Vec::new();
    for _ in 0..3 {
        let truth = path
            .flows(&flows(100_000_000, 16), &mut bench.store)
            .expect("a test");
        let routes: Vec<u16> = truth
            .forward_routes
            .flows
            .iter()
            .map(|routes| {
                assert_eq!(routes.len(), 1, "a flow on several routes");
                *routes.keys().next().expect("a route")
            })
            .collect();
        assert_eq!(routes.len(), 16);
        seen.push(routes);
    }
    assert!(seen[0] != seen[1] && seen[1] != seen[2]);
}

#[test]
fn a_dark_route_silences_its_flows_for_as_long_as_it_is_dark() {
    let mut dark = link(vec![route(); 2]);
    let begins = Path::stream_begins_ns(&dark, 0) + SECOND;
    dark.forward.routes[1].dark.push(DarkSpan {
        from_ns: begins,
        to_ns: begins + SECOND / 2,
    });
    let (truth, records) = run(&dark, (&still(), &still()), &flows(200_000_000, 8));
    let on_it: Vec<u16> = (0..)
        .zip(&truth.forward_routes.flows)
        .filter(|(_, routes)| routes.contains_key(&1))
        .map(|(flow, _)| flow)
        .collect();
    let mut silent: Vec<(u16, u64)> = records
        .iter()
        .filter_map(|record| match record {
            Record::Silence(Direction::Forward, silence) => Some((silence.flow, silence.duration_ns)),
            _ => None,
        })
        .collect();
    silent.sort_unstable();
    assert!(!on_it.is_empty() && on_it.len() < 8);
    assert!(silent.iter().map(|(flow, _)| *flow).eq(on_it), "{silent:?}");
    // A flow's own gap between two bursts and a late wake-up are the only additions.
    let right = |duration: u64| (SECOND / 2..SECOND / 2 + 20_000_000).contains(&duration);
    assert!(silent.iter().all(|(_, duration)| right(*duration)), "{silent:?}");
}

#[test]
fn clocks_that_disagree_do_not_show_in_delays() {
    let far = HostModel {
        clock_offset_ns: -3_000_000,
        clock_drift_ppm: 15.0,
        ..still()
    };
    let mut longer = link(vec![route()]);
    longer.forward.routes[0].delay_ns = 2_000_000;
    longer.reverse.routes[0].delay_ns = 2_000_000;
    let plan = FlowsPlan {
        ways: FlowsWays::Both,
        ..flows(100_000_000, 4)
    };
    let (truth, _) = run(&longer, (&still(), &far), &plan);
    let StepSummary::Flows(found) = &truth.summary else {
        panic!("{truth:?}");
    };
    for way in [&found.forward, &found.reverse] {
        let owd = way.as_ref().expect("both ways").receiver.owd;
        // Quantiles are right to a thousandth of what was measured, 5 ms with the clocks' disagreement.
        assert!((owd.min - 2_000_000).abs() < 60_000, "{owd:?}");
    }
}

#[test]
fn a_receiver_held_up_overflows_its_sockets_and_the_host_is_blamed() {
    let far = HostModel {
        receive_buffer: 212_992,
        stalls_per_second: 2.0,
        stall_mean_ns: 2e8,
        ..still()
    };
    let (truth, records) = run(&link(vec![route()]), (&still(), &far), &flows(400_000_000, 4));
    let found = forward(&truth);
    assert!(found.lost > 1_000, "{}", found.lost);
    // After a stall, one socket is read while others wait: their packets came in time.
    assert_eq!(found.receiver.late, 0);
    assert_eq!(found.attribution.socket, found.lost);
    let counted: u64 = records
        .iter()
        .filter_map(|record| match record {
            Record::HostSecond(second) => Some(second.counts.udp_rcvbuf_errors),
            _ => None,
        })
        .sum();
    assert_eq!(counted, found.lost);
}

#[test]
fn equal_seeds_leave_equal_records() {
    let mut lossy = link(vec![route(); 3]);
    lossy.forward.routes[0].loss.push(LossSpec::Bernoulli(0.001));
    let host = HostModel::default();
    let plan = flows(200_000_000, 8);
    let first = run(&lossy, (&host, &host), &plan);
    assert_eq!(first.1, run(&lossy, (&host, &host), &plan).1);
    lossy.seed = 2;
    assert_ne!(first.1, run(&lossy, (&host, &host), &plan).1);
}

/// The queue holds as much as the path: TCP fills the line, and waits for what it has queued itself.
#[test]
fn tcp_steps_fill_a_line_and_its_queue() {
    let mut line = route();
    line.rate = RateSpec::Fixed(50_000_000);
    line.delay_ns = 20_000_000;
    line.queue = QueueSpec::Bytes(250_000);
    let spec = link(vec![line]);
    let plan = SurveyPlan {
        format: format(5_000_000),
        step_ns: 10 * SECOND,
        max_flows: 1,
        max_bytes: u64::MAX,
    };
    let mut bench = bench();
    let mut path = Path::new(&spec, &still(), &still(), "far", 1)
        .expect("a path")
        .with_tcp();
    let made = path
        .survey(&plan, &mut bench.store, &mut |_| {})
        .expect("a survey");
    let tested: Vec<_> = made
        .steps
        .iter()
        .filter_map(|step| match &step.summary {
            StepSummary::Tcp(tcp) => Some((tcp, step.run)),
            _ => None,
        })
        .collect();
    assert!(tested.iter().any(|(tcp, _)| tcp.direction == Direction::Reverse));
    for (tcp, run) in tested {
        // 8,844 bytes of payload in packets of 8,896; the first second is slow start.
        let share = tcp.goodput.0 as f64 / (50e6 * 8_844.0 / 8_896.0);
        assert!((0.95..=1.0).contains(&share), "{tcp:?}");
        let rtt_ms = tcp.rtt_ns as f64 / 1e6;
        // 40 ms of propagation, 40 ms of a full queue, and packets of 1.4 ms, of which one may wait for a second one.
        assert!((45.0..=84.0).contains(&rtt_ms), "{tcp:?}");
        let rows = bench.store.records(run).expect("its records");
        let bytes = |row: &Record| match row {
            Record::TcpSecond(_, row) => row.bytes,
            other => panic!("{other:?} in a TCP test"),
        };
        assert_eq!(rows.iter().map(bytes).sum::<u64>(), tcp.bytes);
    }
}
