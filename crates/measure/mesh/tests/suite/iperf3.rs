//! Results of the real iperf3 3.12 over loopback, kept in `data`: `iperf3 -c 127.0.0.1 -i 0 --json` with `-n 20M`, with
//! `-n 20M -P 4 -R`, with `-u -b 20M -t 1`, and to a port where nobody listens. The expected values are read off the
//! files.

use weir_mesh::import::{ImportOptions, import};
use weir_mesh::place::{PlaceName, Places};
use weir_record::MeshTest;

const TCP: &str = include_str!("../data/iperf3-tcp.json");
const REVERSE: &str = include_str!("../data/iperf3-streams-reverse.json");
const UDP: &str = include_str!("../data/iperf3-udp.json");
const REFUSED: &str = include_str!("../data/iperf3-refused.json");

fn options() -> ImportOptions {
    ImportOptions {
        pair: Some((PlaceName::new("aws", "eu-west-1"), PlaceName::new("", "cellar"))),
        ..ImportOptions::default()
    }
}

fn tests(text: &str) -> Vec<MeshTest> {
    import("iperf.json", text.as_bytes(), Places::known(), &options())
        .unwrap()
        .tests
}

#[test]
fn a_tcp_test_gives_the_receiver_s_rate_and_the_kernel_s_account() {
    let test = &tests(TCP)[0];
    assert_eq!(test.tcp_bps, Some(21_739_654_457));
    assert_eq!(
        (test.tcp_retransmits, test.tcp_cwnd_bytes),
        (Some(0), Some(2_095_456))
    );
    assert_eq!(
        (test.rtt_mean_ns, test.congestion_control.as_deref()),
        (Some(77_000), Some("bbr"))
    );
    assert_eq!(
        (
            test.from.region.as_str(),
            test.to.region.as_str(),
            test.to.host.as_str()
        ),
        ("eu-west-1", "cellar", "127.0.0.1")
    );
    assert_eq!(
        (test.bytes, test.unix_ns),
        (20_971_520, 1_795_361_009_000_000_000)
    );
    assert_eq!(test.distance_m, None, "the cellar's coordinates are not known");
}

#[test]
fn a_reverse_test_is_from_the_server() {
    let test = &tests(REVERSE)[0];
    assert_eq!(
        (test.tcp_bps, test.tcp_streams, test.tcp_streams_bps),
        (None, Some(4), Some(6_158_584_539))
    );
    assert_eq!(
        (test.from.region.as_str(), test.to.region.as_str()),
        ("cellar", "eu-west-1")
    );
    assert_eq!((test.tcp_streams_retransmits, test.rtt_mean_ns), (Some(5), None));
    assert_eq!(
        (test.tcp_retransmits, test.tcp_cwnd_bytes),
        (None, None),
        "those of one connection"
    );
}

#[test]
fn a_udp_test_gives_loss_and_jitter() {
    let test = &tests(UDP)[0];
    assert_eq!(
        (test.udp_bps, test.udp_sent, test.udp_loss),
        (Some(20_178_409), Some(77), Some(0.0))
    );
    assert_eq!(test.udp_jitter_ns, Some(5_048));
    assert_eq!(test.tcp_bps, None);
}

#[test]
fn several_documents_and_failed_tests_are_kept() {
    let all = tests(&[TCP, REFUSED, UDP].concat());
    let reasons: Vec<Option<&str>> = all.iter().map(|test| test.reason.as_deref()).collect();
    assert_eq!(
        reasons,
        [
            None,
            Some("unable to connect to server: Connection refused"),
            None
        ]
    );
}

#[test]
fn what_is_no_result_is_refused_in_one_line() {
    let read = |text: &str, options: &ImportOptions| {
        import("iperf.json", text.as_bytes(), Places::known(), options)
            .unwrap_err()
            .to_string()
    };
    assert!(read(TCP, &ImportOptions::default()).contains("--pair"));
    for (text, part) in [
        ("{", "not a result of iperf3"),
        ("{\"end\": {}}", "test 1: end.sum_received is missing"),
        (
            "{\"end\": {\"sum_received\": {\"bits_per_second\": -1}}}",
            "its rate is not a number",
        ),
        ("{\"start\": 7}", "not a result of iperf3"),
    ] {
        let error = read(text, &options());
        assert!(error.contains(part) && error.lines().count() == 1, "{error}");
    }
}
