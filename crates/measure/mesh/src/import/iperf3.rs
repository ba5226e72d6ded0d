//! The JSON that `iperf3 --json` prints: one test, or several documents after each other (`--json` of several runs, or
//! lines). The figure is the receiver's, as everywhere here.

use serde::Deserialize;
use serde_json::json;
use weir_record::{MeshEnd, MeshTest};

use super::{ImportOptions, Imported, MOST_TESTS};
use crate::MeshError;
use crate::fault::shown;
use crate::place::PlaceName;

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    start: Start,
    #[serde(default)]
    end: End,
    error: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Start {
    connected: Vec<Connected>,
    timestamp: Timestamp,
    test_start: TestStart,
    version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Connected {
    local_host: String,
    remote_host: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Timestamp {
    timesecs: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TestStart {
    protocol: String,
    num_streams: u64,
    reverse: u64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct End {
    streams: Vec<Stream>,
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
    sum: Option<Sum>,
    sender_tcp_congestion: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stream {
    sender: StreamSender,
    udp: StreamUdp,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamUdp {
    out_of_order: Option<u64>,
}

/// RTTs in microseconds, as the kernel gives them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamSender {
    mean_rtt: Option<f64>,
    min_rtt: Option<f64>,
    max_rtt: Option<f64>,
    max_snd_cwnd: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sum {
    bytes: f64,
    bits_per_second: f64,
    retransmits: Option<u64>,
    jitter_ms: Option<f64>,
    packets: Option<u64>,
    lost_packets: Option<u64>,
}

pub(super) fn read(file: &str, bytes: &[u8], options: &ImportOptions) -> Result<Imported, MeshError> {
    let (from, to) = options.pair.as_ref().ok_or_else(|| {
        MeshError::file(
            file,
            "iperf3 results do not name places: give them, as in --pair 'aws:us-east-1->gcp:us-central1'",
        )
    })?;
    let (mut tests, mut notes) = (Vec::new(), Vec::new());
    for document in serde_json::Deserializer::from_slice(bytes).into_iter::<Document>() {
        let document = document.map_err(|error| {
            MeshError::file(
                file,
                format!("not a result of iperf3 --json: {}", shown(&error.to_string())),
            )
        })?;
        if tests.len() == MOST_TESTS {
            return Err(MeshError::file(
                file,
                format!("it has more than {MOST_TESTS} tests: split it"),
            ));
        }
        let test = test_of(&document, from, to)
            .map_err(|what| MeshError::file(file, format!("test {}: {what}", tests.len() + 1)))?;
        tests.push(test);
    }
    if tests.iter().any(|test| test.rtt_mean_ns.is_some()) {
        notes.push("RTTs are those of loaded TCP connections (TCP_INFO), not of an idle path".into());
    }
    Ok(Imported {
        source: "iperf3",
        tests,
        notes,
    })
}

fn test_of(document: &Document, from: &PlaceName, to: &PlaceName) -> Result<MeshTest, String> {
    let (start, end) = (&document.start, &document.end);
    let hosts = start.connected.first();
    let place = |name: &PlaceName, host: Option<&String>| MeshEnd {
        cloud: name.cloud.clone(),
        region: name.region.clone(),
        host: host.map(|host| shown(host)).unwrap_or_default(),
        ..MeshEnd::default()
    };
    let client = place(from, hosts.map(|ends| &ends.local_host));
    let server = place(to, hosts.map(|ends| &ends.remote_host));
    // In a reverse test the server sends: the test is from there.
    let (from, to) = if start.test_start.reverse == 1 {
        (server, client)
    } else {
        (client, server)
    };
    let mut test = MeshTest {
        unix_ns: start.timestamp.timesecs.min(u64::MAX / 1_000_000_000) * 1_000_000_000,
        source: "iperf3".into(),
        reason: document.error.as_deref().map(shown),
        from,
        to,
        details: json!({ "version": shown(&start.version) }),
        ..MeshTest::default()
    };
    if document.error.is_some() {
        return Ok(test);
    }
    if start.test_start.protocol == "UDP" {
        take_udp(&mut test, end)?;
    } else {
        take_tcp(&mut test, start, end)?;
    }
    Ok(test)
}

fn take_tcp(test: &mut MeshTest, start: &Start, end: &End) -> Result<(), String> {
    let received = end
        .sum_received
        .as_ref()
        .ok_or("end.sum_received is missing: the test did not end")?;
    let rate = positive(received.bits_per_second).ok_or("its rate is not a number of 0 or more")?;
    let sent = end.sum_sent.as_ref();
    test.congestion_control = end.sender_tcp_congestion.as_deref().map(shown);
    test.bytes = sent.and_then(|sum| positive(sum.bytes)).unwrap_or(0);
    let of_streams = |field: fn(&StreamSender) -> Option<f64>| -> Vec<f64> {
        end.streams
            .iter()
            .filter_map(|stream| field(&stream.sender))
            .filter(|value| value.is_finite() && *value > 0.0)
            .collect()
    };
    let nanoseconds = |microseconds: f64| positive(microseconds * 1e3);
    let means = of_streams(|sender| sender.mean_rtt);
    if !means.is_empty() {
        test.rtt_mean_ns = nanoseconds(means.iter().sum::<f64>() / means.len() as f64);
    }
    let fold = |values: Vec<f64>, pick: fn(f64, f64) -> f64| values.into_iter().reduce(pick);
    test.rtt_min_ns = fold(of_streams(|sender| sender.min_rtt), f64::min).and_then(nanoseconds);
    test.rtt_max_ns = fold(of_streams(|sender| sender.max_rtt), f64::max).and_then(nanoseconds);
    let retransmits = sent.and_then(|sum| sum.retransmits);
    let cwnd_bytes = fold(of_streams(|sender| sender.max_snd_cwnd), f64::max).and_then(positive);
    if start.test_start.num_streams <= 1 {
        test.tcp_bps = Some(rate);
        test.tcp_retransmits = retransmits;
        test.tcp_cwnd_bytes = cwnd_bytes;
        test.tcp_rtt_ns = test.rtt_mean_ns;
    } else {
        test.tcp_streams = Some(start.test_start.num_streams);
        test.tcp_streams_bps = Some(rate);
        test.tcp_streams_retransmits = retransmits;
        test.tcp_streams_cwnd_bytes = cwnd_bytes;
        test.tcp_streams_rtt_ns = test.rtt_mean_ns;
    }
    Ok(())
}

fn take_udp(test: &mut MeshTest, end: &End) -> Result<(), String> {
    // From 3.1 on the receiver's own account is in `sum_received`; `sum` has its loss and jitter either way.
    let sum = end
        .sum
        .as_ref()
        .ok_or("end.sum is missing: the test did not end")?;
    let received = end.sum_received.as_ref().unwrap_or(sum);
    test.udp_bps = Some(positive(received.bits_per_second).ok_or("its rate is not a number of 0 or more")?);
    test.udp_sent = sum.packets;
    test.udp_loss = sum
        .lost_packets
        .zip(sum.packets)
        .filter(|(lost, sent)| *sent > 0 && lost <= sent)
        .map(|(lost, sent)| lost as f64 / sent as f64);
    test.udp_jitter_ns = sum.jitter_ms.and_then(|jitter| positive(jitter * 1e6));
    test.udp_reordered = end.streams.iter().map(|stream| stream.udp.out_of_order).sum();
    test.bytes = positive(sum.bytes).unwrap_or(0);
    Ok(())
}

fn positive(value: f64) -> Option<u64> {
    (value.is_finite() && (0.0..1e18).contains(&value)).then_some(value.round() as u64)
}
