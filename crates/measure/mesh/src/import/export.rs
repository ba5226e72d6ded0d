//! Tests between places as CSV. It knows rows, not where they are read from.

use std::io::Write;

use weir_record::{MeshTest, RunId};

/// The RTT that a pair is known by: the median, or the mean where a program gives only that.
pub fn rtt_ns(test: &MeshTest) -> Option<u64> {
    test.rtt_p50_ns.or(test.rtt_mean_ns)
}

const COLUMNS: [&str; 45] = [
    "run_id",
    "unix_ns",
    "source",
    "outcome",
    "reason",
    "from_cloud",
    "from_region",
    "from_zone",
    "from_host",
    "from_latitude",
    "from_longitude",
    "to_cloud",
    "to_region",
    "to_zone",
    "to_host",
    "to_latitude",
    "to_longitude",
    "distance_m",
    "faster_than_light",
    "rtt_count",
    "rtt_min_ns",
    "rtt_mean_ns",
    "rtt_p50_ns",
    "rtt_p95_ns",
    "rtt_max_ns",
    "rtt_jitter_ns",
    "tcp_bps",
    "tcp_streams",
    "tcp_streams_bps",
    "tcp_retransmits",
    "tcp_cwnd_bytes",
    "tcp_rtt_ns",
    "congestion_control",
    "udp_bps",
    "udp_sent",
    "udp_loss",
    "udp_jitter_ns",
    "udp_pdv_ns",
    "udp_reordered",
    "bytes",
    "from_window_bytes",
    "to_window_bytes",
    "tcp_streams_retransmits",
    "tcp_streams_cwnd_bytes",
    "tcp_streams_rtt_ns",
];

/// Writes one row a test, with a header; what is not known is an empty field.
///
/// # Errors
/// When the destination does not take it.
pub fn export_csv<'t>(
    tests: impl Iterator<Item = &'t (RunId, MeshTest)>,
    writer: impl Write,
) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_writer(writer);
    csv.write_record(COLUMNS)?;
    for (run, test) in tests {
        csv.write_record(row(*run, test))?;
    }
    csv.flush()?;
    Ok(())
}

fn row(run: RunId, test: &MeshTest) -> Vec<String> {
    let count = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let real = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let outcome = if test.reason.is_some() {
        "failed"
    } else {
        "finished"
    };
    let mut row = vec![
        run.to_string(),
        test.unix_ns.to_string(),
        test.source.clone(),
        outcome.to_owned(),
        test.reason.clone().unwrap_or_default(),
    ];
    for end in [&test.from, &test.to] {
        row.extend([&end.cloud, &end.region, &end.zone, &end.host].map(Clone::clone));
        row.extend([real(end.latitude), real(end.longitude)]);
    }
    row.extend([
        count(test.distance_m),
        u8::from(test.faster_than_light).to_string(),
        test.rtt_count.to_string(),
    ]);
    row.extend(
        [
            test.rtt_min_ns,
            test.rtt_mean_ns,
            test.rtt_p50_ns,
            test.rtt_p95_ns,
            test.rtt_max_ns,
            test.rtt_jitter_ns,
            test.tcp_bps,
            test.tcp_streams,
            test.tcp_streams_bps,
            test.tcp_retransmits,
            test.tcp_cwnd_bytes,
            test.tcp_rtt_ns,
        ]
        .map(count),
    );
    row.push(test.congestion_control.clone().unwrap_or_default());
    row.extend([count(test.udp_bps), count(test.udp_sent), real(test.udp_loss)]);
    let last = [
        test.udp_jitter_ns,
        test.udp_pdv_ns,
        test.udp_reordered,
        Some(test.bytes),
        test.from_window_bytes,
        test.to_window_bytes,
        test.tcp_streams_retransmits,
        test.tcp_streams_cwnd_bytes,
        test.tcp_streams_rtt_ns,
    ];
    row.extend(last.map(count));
    row
}
