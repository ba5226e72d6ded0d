//! Series hold what SQL on the same database says.

use serde_json::{Value, json};

use crate::sample::{Sample, column, others, packets, stream};

/// Checks columns of a series against queries that give their values in order; START stands for the run's start.
#[track_caller]
fn same(sample: &Sample, document: &Value, series: &str, columns: &[(&str, &str)]) {
    for (name, sql) in columns {
        let sql = sql.replace("START", "(SELECT started_unix_ns FROM runs WHERE run_id = 1)");
        let expected: Vec<Option<i64>> = sample.sql(&sql);
        assert!(!expected.is_empty(), "no rows from: {sql}");
        assert_eq!(
            column(document, series, name),
            expected,
            "{name} of {series}: {sql}"
        );
    }
}

#[test]
fn rtt_by_length_and_position_is_that_of_the_database() {
    let mut sample = Sample::new();
    let run = sample.run("rtt", None, &packets());
    let document = sample.document(&[run]);
    for (series, key) in [("rtt_by_length", "length"), ("rtt_by_position", "position")] {
        let ranked = format!(
            "WITH ranked AS (
                 SELECT {key}, rtt_ns, row_number() OVER (PARTITION BY {key} ORDER BY rtt_ns) AS place,
                        count(*) OVER (PARTITION BY {key}) AS packets
                 FROM rtt_packets WHERE NOT lost
             ) "
        );
        let quantile = |share: &str| {
            format!(
                "{ranked} SELECT min(CASE WHEN place >= {share} * packets THEN rtt_ns END)
                 FROM ranked GROUP BY {key} ORDER BY {key}"
            )
        };
        same(
            &sample,
            &document,
            series,
            &[
                (
                    key,
                    &format!("SELECT DISTINCT {key} FROM rtt_packets ORDER BY {key}"),
                ),
                (
                    "count",
                    &format!("SELECT count(rtt_ns) FROM rtt_packets GROUP BY {key} ORDER BY {key}"),
                ),
                (
                    "lost",
                    &format!("SELECT sum(lost) FROM rtt_packets GROUP BY {key} ORDER BY {key}"),
                ),
                ("rtt_p50_ns", &quantile("0.5")),
                ("rtt_p90_ns", &quantile("0.9")),
                ("rtt_p99_ns", &quantile("0.99")),
            ],
        );
    }
    assert_eq!(
        document["runs"][0]["series"]["rtt_by_length"]["columns"]["length"]["unit"],
        "bytes"
    );
}

#[test]
fn every_point_of_the_distribution_is_that_of_the_database() {
    let mut sample = Sample::new();
    let run = sample.run("rtt", None, &packets());
    let document = sample.document(&[run]);
    let columns = &document["runs"][0]["series"]["rtt_distribution"]["columns"];
    let shares = columns["share"]["values"].as_array().unwrap();
    let values = columns["rtt_ns"]["values"].as_array().unwrap();
    assert!(shares.len() > 90 && shares.len() == values.len());
    assert_eq!(
        (&shares[0], &shares[shares.len() - 1]),
        (&json!(0.0), &json!(1.0))
    );
    for (share, value) in shares.iter().zip(values) {
        // The smallest RTT that at least this share of the packets does not exceed; a billionth for rounding.
        let expected: Vec<i64> = sample.sql(&format!(
            "SELECT min(rtt_ns) FROM rtt_packets AS one
             WHERE (SELECT count(*) FROM rtt_packets WHERE rtt_ns <= one.rtt_ns) + 1e-9
                   >= {share} * (SELECT count(rtt_ns) FROM rtt_packets)"
        ));
        assert_eq!(value, &json!(expected[0]), "share {share}");
    }
}

#[test]
fn seconds_of_round_trips_are_those_of_the_database() {
    let mut sample = Sample::new();
    let run = sample.run("rtt", None, &packets());
    let document = sample.document(&[run]);
    let series = &document["runs"][0]["series"]["rtt_seconds"];
    assert_eq!(
        (&series["bin_ns"], &series["rows"]),
        (&json!(1_000_000_000), &json!(300))
    );
    let by =
        "GROUP BY (sent_unix_ns - START) / 1000000000 ORDER BY 1 - 1 + (sent_unix_ns - START) / 1000000000";
    let quantile = |value: &str, share: &str| {
        format!(
            "SELECT min(CASE WHEN place >= {share} * packets THEN value END) FROM (
                 SELECT second, value, row_number() OVER (PARTITION BY second ORDER BY value) AS place,
                        count(*) OVER (PARTITION BY second) AS packets
                 FROM (SELECT (sent_unix_ns - START) / 1000000000 AS second, {value} AS value
                       FROM rtt_packets WHERE {value} IS NOT NULL)
             ) GROUP BY second ORDER BY second"
        )
    };
    let all = |what: &str| format!("SELECT {what} FROM rtt_packets {by}");
    same(
        &sample,
        &document,
        "rtt_seconds",
        &[
            ("at_ns", &all("(sent_unix_ns - START) / 1000000000 * 1000000000")),
            ("sent", &all("count(*)")),
            ("lost", &all("sum(lost)")),
            ("rtt_min_ns", &all("min(rtt_ns)")),
            ("rtt_max_ns", &all("max(rtt_ns)")),
            ("rtt_p50_ns", &quantile("rtt_ns", "0.5")),
            ("rtt_p90_ns", &quantile("rtt_ns", "0.9")),
            ("rtt_p99_ns", &quantile("rtt_ns", "0.99")),
            ("network_p50_ns", &quantile("network_rtt_ns", "0.5")),
        ],
    );
}

#[test]
fn totals_of_flows_and_their_events_are_those_of_the_database() {
    let mut sample = Sample::new();
    let run = sample.run("flows", None, &stream());
    let document = sample.document(&[run]);
    let total = |what: &str| {
        format!("SELECT {what} FROM flow_seconds GROUP BY direction, flow ORDER BY direction, flow")
    };
    let mut columns = vec![
        ("flow", total("flow")),
        ("port", total("max(port)")),
        ("longest_burst", total("max(longest_burst)")),
    ];
    for name in [
        "received",
        "bytes",
        "lost",
        "late",
        "duplicates",
        "reversals",
        "sequence_breaks",
        "bursts",
        "socket_drops",
    ] {
        columns.push((name, total(&format!("sum({name})"))));
    }
    let columns: Vec<(&str, &str)> = columns.iter().map(|(name, sql)| (*name, sql.as_str())).collect();
    same(&sample, &document, "flow_totals", &columns);
    let directions = &document["runs"][0]["series"]["flow_totals"]["columns"]["direction"]["values"];
    assert_eq!(
        directions,
        &json!(["forward", "forward", "forward", "forward", "reverse", "reverse"])
    );

    let event = |what: &str| {
        format!(
            "SELECT {what} FROM flow_seconds
             WHERE received = 0 OR lost > 0 OR late > 0 OR duplicates > 0 OR reversals > 0 OR socket_drops > 0
             ORDER BY direction, flow, unix_ns"
        )
    };
    let mut columns = vec![("at_ns", event("unix_ns - 1000000000 - START"))];
    for name in [
        "flow",
        "received",
        "lost",
        "late",
        "duplicates",
        "reversals",
        "bursts",
        "longest_burst",
        "socket_drops",
    ] {
        columns.push((name, event(name)));
    }
    let columns: Vec<(&str, &str)> = columns.iter().map(|(name, sql)| (*name, sql.as_str())).collect();
    same(&sample, &document, "flow_events", &columns);
}

#[test]
fn seconds_of_streams_senders_and_hosts_are_the_rows_of_the_database() {
    let mut sample = Sample::new();
    let run = sample.run("flows", None, &stream());
    let document = sample.document(&[run]);
    for (series, subject, names) in [
        (
            "stream_seconds",
            "direction",
            &[
                "duration_ns",
                "received",
                "bytes",
                "lost",
                "late",
                "duplicates",
                "reordered",
                "owd_min_ns",
                "owd_p50_ns",
                "owd_p99_ns",
                "owd_max_ns",
            ][..],
        ),
        (
            "sender_seconds",
            "direction",
            &[
                "duration_ns",
                "sent",
                "bytes",
                "refused",
                "schedule_error_p50_ns",
                "schedule_error_p99_ns",
                "schedule_error_max_ns",
                "cpu_ns",
            ],
        ),
        (
            "host_seconds",
            "side",
            &[
                "udp_rcvbuf_errors",
                "udp_in_errors",
                "udp_sndbuf_errors",
                "softnet_dropped",
                "softnet_squeezed",
                "interface_rx_dropped",
                "interface_tx_dropped",
                "memory_bytes",
            ],
        ),
    ] {
        assert_eq!(
            document["runs"][0]["series"][series]["bin_ns"],
            Value::Null,
            "{series}"
        );
        let sql = |what: &str| format!("SELECT {what} FROM {series} ORDER BY {subject}, unix_ns");
        let length = if subject == "side" {
            "1000000000"
        } else {
            "duration_ns"
        };
        let at = sql(&format!("unix_ns - {length} - START"));
        let all: Vec<(&str, String)> = names.iter().map(|name| (*name, sql(name))).collect();
        let mut columns = vec![("at_ns", at.as_str())];
        columns.extend(all.iter().map(|(name, sql)| (*name, sql.as_str())));
        same(&sample, &document, series, &columns);
        let words: Vec<String> = sample.sql(&sql(subject));
        assert_eq!(
            document["runs"][0]["series"][series]["columns"][subject]["values"],
            json!(words)
        );
    }
    let cpu = &document["runs"][0]["series"]["host_seconds"]["columns"];
    assert_eq!(cpu["cpu_busy_cores"]["values"][2], json!(0.5));
    assert_eq!(cpu["cpu_steal_cores"]["values"][3], Value::Null);
    assert_eq!(cpu["cpu_steal_cores"]["unit"], "cores");
}

#[test]
fn events_are_those_of_the_database() {
    let mut sample = Sample::new();
    let run = sample.run("flows", None, &stream());
    let document = sample.document(&[run]);
    same(
        &sample,
        &document,
        "stream_burst_lengths",
        &[
            (
                "length_packets",
                "SELECT length_packets FROM stream_bursts GROUP BY direction, length_packets
                 ORDER BY direction, length_packets",
            ),
            (
                "bursts",
                "SELECT count(*) FROM stream_bursts GROUP BY direction, length_packets
                 ORDER BY direction, length_packets",
            ),
        ],
    );
    for (series, names, order) in [
        (
            "flow_bursts",
            &["flow", "first_sequence", "length_packets"][..],
            "direction, flow, unix_ns",
        ),
        ("silences", &["flow", "duration_ns"], "direction, flow, unix_ns"),
        (
            "loss_windows",
            &["duration_ns", "lost", "flows_losing"],
            "direction, unix_ns",
        ),
    ] {
        let sql = |what: &str| format!("SELECT {what} FROM {series} ORDER BY {order}");
        let all: Vec<(&str, String)> = names.iter().map(|name| (*name, sql(name))).collect();
        let at = sql("unix_ns - START");
        let mut columns = vec![("at_ns", at.as_str())];
        columns.extend(all.iter().map(|(name, sql)| (*name, sql.as_str())));
        same(&sample, &document, series, &columns);
    }
}

#[test]
fn probes_connections_and_links_are_the_rows_of_the_database() {
    let mut sample = Sample::new();
    let run = sample.run("lab", None, &others());
    let document = sample.document(&[run]);
    for (series, names, began) in [
        (
            "tcp_seconds",
            &[
                "duration_ns",
                "streams",
                "stream",
                "bytes",
                "retransmits",
                "rtt_ns",
                "cwnd_bytes",
            ][..],
            "unix_ns - duration_ns",
        ),
        (
            "mtu_probes",
            &["size", "acknowledged", "refused_locally"],
            "unix_ns",
        ),
        (
            "link_seconds",
            &[
                "duration_ns",
                "offered",
                "dropped_loss",
                "most_queued_bytes",
                "lateness_count",
                "lateness_p90_ns",
                "cpu_ns",
            ],
            "unix_ns - duration_ns",
        ),
    ] {
        let sql = |what: &str| format!("SELECT {what} FROM {series} ORDER BY direction, unix_ns");
        let all: Vec<(&str, String)> = names.iter().map(|name| (*name, sql(name))).collect();
        let at = sql(&format!("{began} - START"));
        let mut columns = vec![("at_ns", at.as_str())];
        columns.extend(all.iter().map(|(name, sql)| (*name, sql.as_str())));
        same(&sample, &document, series, &columns);
    }
    let series = &document["runs"][0]["series"];
    assert_eq!(
        series["tcp_seconds"]["columns"]["congestion_control"]["values"],
        json!(["cubic", "cubic", "cubic", "bbr", "bbr", "bbr"])
    );
    let link: Vec<&String> = series["link_seconds"]["columns"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    for name in sample.sql::<String>("SELECT name FROM pragma_table_info('link_seconds')") {
        let time = ["id", "run_id", "unix_ns"].contains(&name.as_str());
        assert!(time || link.contains(&&name), "link_seconds lacks {name}");
    }
    let host: Vec<String> = sample.sql("SELECT name FROM pragma_table_info('host_seconds')");
    assert_eq!(
        host.len(),
        15,
        "a new column of host_seconds wants a place in the series"
    );
}
