//! Series hold what SQL on the same database says.

use serde_json::{Value, json};

use weir_results::Record;

use crate::sample::{START, Sample, column, load, media, others, packets, stream};

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
fn lengths_of_bursts_are_counted_as_in_the_database() {
    let mut sample = Sample::new();
    let run = sample.run("flows", None, &stream());
    let document = sample.document(&[run]);
    let by = "GROUP BY direction, length_packets ORDER BY direction, length_packets";
    let of = |what: &str| format!("SELECT {what} FROM stream_bursts {by}");
    same(
        &sample,
        &document,
        "stream_burst_lengths",
        &[
            ("length_packets", &of("length_packets")),
            ("bursts", &of("count(*)")),
        ],
    );
}

const SECONDS: &str = "unix_ns - duration_ns";

/// A kind of run and its records; and its tables whose rows are entries, with their order and when a row begins.
type Tables = (
    &'static str,
    Vec<Record>,
    &'static [(&'static str, &'static str, &'static str)],
);

/// Tables of which a series has one entry for each row.
fn tables() -> [Tables; 4] {
    [
        (
            "flows",
            stream(),
            &[
                ("stream_seconds", "direction, unix_ns", SECONDS),
                ("sender_seconds", "direction, unix_ns", SECONDS),
                ("host_seconds", "side, unix_ns", "unix_ns - 1000000000"),
                ("flow_bursts", "direction, flow, unix_ns", "unix_ns"),
                ("silences", "direction, flow, unix_ns", "unix_ns"),
                ("loss_windows", "direction, unix_ns", "unix_ns"),
            ],
        ),
        (
            "lab",
            others(),
            &[
                ("tcp_seconds", "direction, unix_ns", SECONDS),
                ("mtu_probes", "direction, unix_ns", "unix_ns"),
                ("link_seconds", "direction, unix_ns", SECONDS),
            ],
        ),
        (
            "recv",
            media(),
            &[
                ("send_seconds", "unix_ns", SECONDS),
                ("recv_seconds", "sender, unix_ns", SECONDS),
                ("frame_seconds", "unix_ns", SECONDS),
                ("flow_changes", "sender, flow, unix_ns, id", "unix_ns"),
                ("media_events", "unix_ns, id", "unix_ns"),
            ],
        ),
        (
            "load",
            load(),
            &[
                ("load_seconds", "kind, unix_ns", SECONDS),
                ("viewer_seconds", "unix_ns", SECONDS),
            ],
        ),
    ]
}

/// Columns that no series has.
const LEFT_OUT: [&str; 18] = [
    "stream_seconds.rejected",
    "stream_seconds.owd_count",
    "stream_seconds.owd_p90_ns",
    "stream_seconds.owd_p999_ns",
    "sender_seconds.sends",
    "sender_seconds.schedule_error_count",
    "sender_seconds.schedule_error_min_ns",
    "sender_seconds.schedule_error_p90_ns",
    "sender_seconds.schedule_error_p999_ns",
    "flow_bursts.port",
    "flow_bursts.received_before",
    "flow_bursts.bytes_before",
    "flow_bursts.bursts_before",
    "loss_windows.flows",
    "load_seconds.first_byte_",
    "load_seconds.last_byte_count",
    "viewer_seconds.startup_",
    "viewer_seconds.schedule_error_",
];

#[test]
fn every_entry_has_the_values_of_its_row_and_new_columns_want_a_place() {
    for (kind, records, tables) in tables() {
        let mut sample = Sample::new();
        let run = sample.run(kind, None, &records);
        let document = sample.document(&[run]);
        for (table, order, began) in tables {
            let series = &document["runs"][0]["series"][table];
            assert_eq!(
                (&series["bin_ns"], &series["left_out"]),
                (&Value::Null, &json!(0)),
                "{table}"
            );
            let columns = series["columns"].as_object().expect(table);
            for (name, values) in columns {
                let what = if name == "at_ns" {
                    format!("{began} - {START}")
                } else {
                    name.clone()
                };
                let sql = format!("SELECT {what} FROM {table} ORDER BY {order}");
                let expected: Vec<Value> = sample.sql(&sql).into_iter().map(as_json).collect();
                assert!(!expected.is_empty(), "no rows from: {sql}");
                assert_eq!(values["values"], json!(expected), "{name} of {table}");
            }
            for name in sample.sql::<String>(&format!("SELECT name FROM pragma_table_info('{table}')")) {
                let time = ["id", "run_id", "unix_ns"].contains(&name.as_str());
                let left_out = LEFT_OUT
                    .iter()
                    .any(|known| format!("{table}.{name}").starts_with(known));
                assert!(
                    time || left_out || columns.contains_key(&name),
                    "{table} lacks {name}"
                );
            }
        }
    }
}

fn as_json(value: rusqlite::types::Value) -> Value {
    match value {
        rusqlite::types::Value::Integer(value) => value.into(),
        rusqlite::types::Value::Real(value) => value.into(),
        rusqlite::types::Value::Text(text) => text.into(),
        _ => Value::Null,
    }
}
