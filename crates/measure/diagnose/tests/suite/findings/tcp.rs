//! TCP that a window holds, that fares better than UDP, and that fills queues.

use weir_diagnose::measured::{FirstPacket, RttTest};
use weir_diagnose::{FindingName, Measured, Severity};
use weir_measure::rtt::RttPlan;
use weir_measure::tcp_throughput::TcpSummary;
use weir_results::{Direction, RunId};
use weir_units::Rate;

use super::sample::{assert_near, assert_says, clean, losing, named, number, of_tests, the};

/// A connection of 800 Mbit/s over 40 ms: 4 MB per RTT.
fn test(streams: u16, receiver_limited: Option<f64>, sender_limited: Option<f64>) -> TcpSummary {
    TcpSummary {
        direction: Direction::Forward,
        streams,
        bytes: 300_000_000,
        goodput: Rate(800_000_000 * u64::from(streams)),
        retransmits: 0,
        rtt_ns: 40_000_000,
        cwnd_bytes: 9_000_000,
        congestion_control: "cubic".into(),
        hit_byte_limit: false,
        receiver_limited,
        sender_limited,
        window: None,
    }
}

fn of(tests: Vec<TcpSummary>) -> Measured {
    Measured {
        tcp: tests.into_iter().map(|test| (RunId(50), test)).collect(),
        // 2.048 Gbit/s without a loss.
        ..of_tests(vec![clean(8, 8000, 32_000)])
    }
}

fn value(measured: &Measured, what: &str) -> u64 {
    let finding = the(measured, FindingName::TcpWindow);
    let found = finding.evidence.iter().find(|evidence| evidence.what == what);
    found
        .and_then(|evidence| evidence.value.as_u64())
        .expect("a number")
}

#[test]
fn a_connection_that_a_window_holds_is_told_from_a_slow_path() {
    let measured = of(vec![test(1, Some(0.93), Some(0.01))]);
    let found = the(&measured, FindingName::TcpWindow);
    assert_eq!(found.severity, Severity::Notice);
    assert_says(
        &found.sentence,
        "the receiver's window held TCP for 93 % of the time",
    );
    assert_eq!(value(&measured, "window used"), 4_000_000);
    // The flows' 2.048 Gbit/s over 40 ms.
    assert_eq!(value(&measured, "window that would fill the path"), 10_240_000);
    assert_says(&found.action, "or use 3 connections");
    assert_says(&found.action, "tcp_rmem");

    let by_sender = of(vec![test(1, Some(0.02), Some(0.7))]);
    assert_says(&the(&by_sender, FindingName::TcpWindow).action, "tcp_wmem");
}

#[test]
fn a_connection_that_the_path_or_an_old_kernel_does_not_explain_is_no_finding() {
    for (receiver, sender) in [(Some(0.1), Some(0.15)), (None, None)] {
        let measured = of(vec![test(1, receiver, sender)]);
        assert_eq!(named(&measured, FindingName::TcpWindow), []);
    }
}

#[test]
fn a_rate_that_lost_packets_is_not_what_the_path_carries() {
    let lossy = losing(clean(8, 8000, 32_000), 0..8, 50);
    let measured = Measured {
        tcp: of(vec![test(1, Some(0.9), None)]).tcp,
        ..of_tests(vec![lossy])
    };
    // Nothing shows that the path carries more: whoever reads may be what is slow.
    assert_eq!(named(&measured, FindingName::TcpWindow), []);
}

/// UDP of 2.048 Gbit/s that loses one packet in `every`, beside TCP of 2.4 Gbit/s that sends `again` segments again.
fn beside(every: u64, again: u64) -> Measured {
    let mut tcp = test(3, Some(0.0), Some(0.0));
    tcp.retransmits = again;
    Measured {
        tcp: vec![(RunId(50), tcp)],
        ..of_tests(vec![losing(clean(8, 8000, 32_000), 0..8, every)])
    }
}

#[test]
fn udp_that_loses_where_tcp_as_fast_does_not_is_told() {
    let found = the(&beside(50, 3), FindingName::UdpLoss);
    assert_eq!(found.severity, Severity::Fault);
    assert_says(&found.sentence, "UDP at 2.048 Gbit/s lost 2 %");
    assert_says(&found.sentence, "TCP carried 2.400 Gbit/s");
    let cause = found.confidence.cause.expect("a cause");
    assert_eq!(cause.level, None, "nobody has judged it");

    // 300 MB in segments of 9,000 bytes: 1.5 % are 500.
    assert_eq!(named(&beside(50, 500), FindingName::UdpLoss), []);
    let mut slower = beside(50, 3);
    slower.tcp[0].1.goodput = Rate(2_000_000_000);
    assert_eq!(
        named(&slower, FindingName::UdpLoss),
        [],
        "TCP might have lost at UDP's rate"
    );
}

/// Packets with nothing in front of them take 8 ms.
fn idle() -> RttTest {
    let first = FirstPacket {
        length: 100,
        rtt_ns: 8_100_000,
        network_rtt_ns: Some(8_000_000),
    };
    RttTest {
        run: RunId(9),
        plan: RttPlan::default(),
        started_unix_ns: 0,
        sent: 10,
        lost: 0,
        rtt: None,
        blocks: Vec::new(),
        first_packets: vec![first; 10],
        windows: Vec::new(),
    }
}

#[test]
fn round_trips_under_load_are_counted_against_those_without() {
    let loaded = Measured {
        rtt: Some(idle()),
        ..of(vec![test(1, None, None), test(4, None, None)])
    };
    let found = the(&loaded, FindingName::DelayUnderLoad);
    assert_eq!(found.severity, Severity::Notice);
    assert_near(number(&found, "responsiveness under load"), 1_500.0, 1e-9);
    assert_near(number(&found, "responsiveness without load"), 7_500.0, 1e-9);
    assert_says(&found.sentence, "media over 8 flows waited");

    let media = Measured {
        rtt: Some(idle()),
        ..of(Vec::new())
    };
    let found = the(&media, FindingName::DelayUnderLoad);
    assert_eq!(found.severity, Severity::Information);
    assert_near(number(&found, "RTT without load"), 8e6, 1e-9);

    let unknown = of(vec![test(1, None, None)]);
    assert_eq!(named(&unknown, FindingName::DelayUnderLoad), []);
}
