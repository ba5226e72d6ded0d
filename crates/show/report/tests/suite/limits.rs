//! What happens where there are more rows than a series may have.

use serde_json::{Value, json};
use weir_report::limits::*;
use weir_results::*;

use crate::sample::{SECOND, START, Sample, column, flow_second, host_second, stream_second};

fn sums(sample: &Sample, sql: &str) -> Vec<Option<i64>> {
    let began = "(SELECT started_unix_ns FROM runs WHERE run_id = 1)";
    sample.sql(&sql.replace("START", began))
}

#[test]
fn a_quarter_of_a_million_seconds_become_bins_that_sum_them() {
    let mut sample = Sample::new();
    let directions = [Direction::Forward, Direction::Reverse];
    let records: Vec<Record> = (0..125_000)
        .flat_map(|second| directions.map(|direction| stream_second(direction, second)))
        .collect();
    let run = sample.run("flows", None, &records);
    let document = sample.document(&[run]);
    let series = &document["runs"][0]["series"]["stream_seconds"];
    // 250,000 entries of a second, 125,000 of two, 50,000 of five.
    assert_eq!(
        (&series["bin_ns"], &series["rows"], &series["left_out"]),
        (&json!(5 * SECOND), &json!(250_000), &json!(0))
    );
    let by = "GROUP BY direction, (unix_ns - duration_ns - START) / 5000000000
              ORDER BY direction, (unix_ns - duration_ns - START) / 5000000000";
    for (name, rule) in [
        (
            "at_ns",
            "(unix_ns - duration_ns - START) / 5000000000 * 5000000000",
        ),
        ("duration_ns", "sum(duration_ns)"),
        ("received", "sum(received)"),
        ("bytes", "sum(bytes)"),
        ("lost", "sum(lost)"),
        ("owd_min_ns", "min(owd_min_ns)"),
        ("owd_max_ns", "max(owd_max_ns)"),
    ] {
        let expected = sums(&sample, &format!("SELECT {rule} FROM stream_seconds {by}"));
        assert_eq!(column(&document, "stream_seconds", name), expected, "{name}");
    }
    let medians = sums(
        &sample,
        "SELECT min(CASE WHEN 2 * place >= n THEN owd_p50_ns END) FROM (
             SELECT direction, bin, owd_p50_ns,
                    row_number() OVER (PARTITION BY direction, bin ORDER BY owd_p50_ns) AS place,
                    count(*) OVER (PARTITION BY direction, bin) AS n
             FROM (SELECT *, (unix_ns - duration_ns - START) / 5000000000 AS bin FROM stream_seconds)
         ) GROUP BY direction, bin ORDER BY direction, bin",
    );
    assert_eq!(column(&document, "stream_seconds", "owd_p50_ns"), medians);
    assert!(medians.len() as u64 <= MOST_SECONDS);
}

#[test]
fn bins_of_flows_cover_the_whole_run_and_its_earliest_events_are_kept() {
    let mut sample = Sample::new();
    let records: Vec<Record> = (0..62_500)
        .flat_map(|second| {
            (0..4).map(move |flow| {
                let mut record = flow_second(Direction::Forward, second, flow);
                if let Record::FlowSecond(_, row) = &mut record {
                    // Four of five rows are events.
                    row.counts.reversals = u64::from((second + u64::from(flow)) % 20 > 2);
                }
                record
            })
        })
        .collect();
    let run = sample.run("flows", None, &records);
    let document = sample.document(&[run]);
    let bins = &document["runs"][0]["series"]["flow_bins"];
    // 62,500 seconds in at most 1,000 bins: of 62.5 s or more; the next that people count in.
    assert_eq!(
        (&bins["bin_ns"], &bins["rows"]),
        (&json!(120 * SECOND), &json!(250_000))
    );
    let by = "GROUP BY flow, (unix_ns - 1000000000 - START) / 120000000000
              ORDER BY flow, (unix_ns - 1000000000 - START) / 120000000000";
    for (name, rule) in [
        (
            "at_ns",
            "(unix_ns - 1000000000 - START) / 120000000000 * 120000000000",
        ),
        ("flow", "flow"),
        ("received", "sum(received)"),
        ("lost", "sum(lost)"),
        ("reversals", "sum(reversals)"),
        ("owd_min_ns", "min(owd_min_ns)"),
    ] {
        let expected = sums(&sample, &format!("SELECT {rule} FROM flow_seconds {by}"));
        assert_eq!(column(&document, "flow_bins", name), expected, "{name}");
    }
    let is_event =
        "received = 0 OR lost > 0 OR late > 0 OR duplicates > 0 OR reversals > 0 OR socket_drops > 0";
    let all: Vec<i64> = sample.sql(&format!("SELECT count(*) FROM flow_seconds WHERE {is_event}"));
    let series = &document["runs"][0]["series"]["flow_events"];
    let most = MOST_FLOW_EVENTS as i64;
    assert_eq!(
        (&series["rows"], &series["left_out"]),
        (&json!(most), &json!(all[0] - most))
    );
    let mut kept = column(&document, "flow_events", "at_ns");
    kept.sort_unstable();
    let earliest = sums(
        &sample,
        &format!(
            "SELECT unix_ns - 1000000000 - START FROM flow_seconds WHERE {is_event} ORDER BY unix_ns LIMIT {most}"
        ),
    );
    assert_eq!(kept, earliest);
}

#[test]
fn hosts_in_bins_have_means_of_their_cpu_and_the_most_memory() {
    let mut sample = Sample::new();
    let sides = [Side::Local, Side::Remote];
    let records: Vec<Record> = (0..60_000)
        .flat_map(|second| sides.map(|side| Record::HostSecond(host_second(side, second))))
        .collect();
    let run = sample.run("flows", None, &records);
    let document = sample.document(&[run]);
    let columns = &document["runs"][0]["series"]["host_seconds"]["columns"];
    let means = columns["cpu_busy_cores"]["values"].as_array().unwrap();
    assert_eq!(means.len(), 60_000);
    assert_eq!(&means[..2], &[json!(0.125), json!(0.625)]);
    assert_eq!(
        columns["cpu_steal_cores"]["values"][1],
        json!(0.0),
        "one row of the two has none"
    );
    let memory = sums(
        &sample,
        "SELECT max(memory_bytes) FROM host_seconds GROUP BY side, (unix_ns - START) / 1000000000 / 2
         ORDER BY side, unix_ns",
    );
    let shown = column(&document, "host_seconds", "memory_bytes");
    // Rows begin a second before they end, so a bin of the document has the rows 0 and 1, 2 and 3.
    assert_eq!(shown[..2], [Some(20_000_001), Some(20_000_003)]);
    assert!(memory.len() >= shown.len() - 2);
}

#[test]
fn the_longest_bursts_and_silences_and_the_earliest_windows_are_kept() {
    let mut sample = Sample::new();
    let mut records = Vec::new();
    for number in 0..60_000u64 {
        // Not in order: 7919 has no divisor in common with 60,000.
        let size = number * 7_919 % 60_000 + 1;
        let unix_ns = START + size * 1_000;
        records.push(Record::FlowBurst(
            Direction::Forward,
            FlowBurst {
                unix_ns,
                length: size,
                ..FlowBurst::default()
            },
        ));
        records.push(Record::Silence(
            Direction::Reverse,
            Silence {
                unix_ns,
                flow: 3,
                duration_ns: size,
            },
        ));
        for half in 0..2 {
            records.push(Record::LossWindow(
                Direction::Forward,
                LossWindow {
                    unix_ns: unix_ns + half,
                    ..LossWindow::default()
                },
            ));
        }
    }
    let run = sample.run("flows", None, &records);
    let document = sample.document(&[run]);
    for (series, name) in [("flow_bursts", "length_packets"), ("silences", "duration_ns")] {
        let mut kept = column(&document, series, name);
        kept.sort_unstable();
        assert_eq!(
            (kept.len(), kept[0], kept[49_999]),
            (50_000, Some(10_001), Some(60_000))
        );
        assert_eq!(document["runs"][0]["series"][series]["left_out"], 10_000);
    }
    let windows = column(&document, "loss_windows", "at_ns");
    assert_eq!((windows.len(), windows[0]), (MOST_LOSS_WINDOWS, Some(1_000)));
    assert_eq!(windows[99_999], Some(50_000_001));
    assert_eq!(document["runs"][0]["series"]["loss_windows"]["left_out"], 20_000);
}

#[test]
fn more_than_200_lengths_become_equal_ranges_named_by_their_largest() {
    let mut sample = Sample::new();
    let records: Vec<Record> = (0..3_000u64)
        .map(|sequence| {
            Record::RttPacket(RttPacket {
                sequence,
                length: 100 + (sequence % 1_000) as u32,
                sent_unix_ns: START + sequence,
                rtt_ns: Some(1_000 + sequence * 7 % 3_000),
                ..RttPacket::default()
            })
        })
        .collect();
    let run = sample.run("rtt", None, &records);
    let document = sample.document(&[run]);
    // 1000 lengths from 100 to 1099 in 200 ranges of 5.
    let lengths = column(&document, "rtt_by_length", "length");
    assert_eq!(
        (lengths.len(), lengths[0], lengths[199]),
        (200, Some(104), Some(1_099))
    );
    assert!(
        column(&document, "rtt_by_length", "count")
            .iter()
            .all(|count| *count == Some(15))
    );
    let p90 = sums(
        &sample,
        "SELECT min(CASE WHEN place >= 0.9 * n THEN rtt_ns END) FROM (
             SELECT part, rtt_ns, row_number() OVER (PARTITION BY part ORDER BY rtt_ns) AS place,
                    count(*) OVER (PARTITION BY part) AS n
             FROM (SELECT (length - 100) / 5 AS part, rtt_ns FROM rtt_packets)
         ) GROUP BY part ORDER BY part",
    );
    assert_eq!(column(&document, "rtt_by_length", "rtt_p90_ns"), p90);
    assert_eq!(
        document["runs"][0]["series"]["rtt_by_length"]["left_out"],
        Value::from(0)
    );
}
