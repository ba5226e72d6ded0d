//! Series of carried media hold what SQL on the same database says, and stay small.

use rusqlite::Connection;
use serde_json::{Value, json};
use weir_diagnose::Options;
use weir_report::limits::*;
use weir_results::*;

use crate::sample::{SECOND, START, Sample, column, frame_second, media, recv_second, send_second};

/// What a query gives; START stands for the run's start.
fn rows(sample: &Sample, sql: &str) -> Vec<Option<i64>> {
    let rows: Vec<Option<i64>> = sample.sql(&sql.replace("START", &START.to_string()));
    assert!(!rows.is_empty(), "no rows from: {sql}");
    rows
}

fn words(document: &Value, series: &str, name: &str) -> Vec<String> {
    let values = &document["runs"][0]["series"][series]["columns"][name]["values"];
    let values = values.as_array().unwrap().iter();
    values.map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_day_is_bins_of_five_seconds_that_sum_it_and_keep_its_extremes() {
    let mut sample = Sample::new();
    let records: Vec<Record> = (0..86_400)
        .flat_map(|second| [send_second(second), recv_second(0, second), frame_second(second)])
        .collect();
    let run = sample.run("recv", None, &records);
    let document = sample.document(&[run]);
    let bin = "(unix_ns - duration_ns - START) / 5000000000";
    let median = |name: &str, table: &str| {
        format!(
            "SELECT min(CASE WHEN 2 * place >= n THEN {name} END) FROM (
                 SELECT {name}, bin, row_number() OVER (PARTITION BY bin ORDER BY {name} IS NULL, {name}) AS place,
                        count({name}) OVER (PARTITION BY bin) AS n
                 FROM (SELECT *, {bin} AS bin FROM {table})
             ) GROUP BY bin ORDER BY bin"
        )
    };
    let by = |what: &str, table: &str| format!("SELECT {what} FROM {table} GROUP BY {bin} ORDER BY {bin}");
    for (table, sums, largest, medians) in [
        (
            "send_seconds",
            &["duration_ns", "frames_skipped", "trials", "cpu_ns"][..],
            &[][..],
            &["fec_sources", "fec_window", "receiver_rtt_ns"][..],
        ),
        (
            "recv_seconds",
            &["received", "lost", "recovered", "unrepaired"],
            &[],
            &["rtt_ns"],
        ),
        (
            "frame_seconds",
            &["frames", "damaged", "lost", "dropped", "delay_count"],
            &["delay_max_ns", "used_max_ns"],
            &["budget_ns", "delay_p50_ns", "delay_p999_ns", "used_p99_ns"],
        ),
    ] {
        let series = &document["runs"][0]["series"][table];
        assert_eq!(
            (&series["bin_ns"], &series["rows"]),
            (&json!(5 * SECOND), &json!(86_400)),
            "{table}"
        );
        assert!(column(&document, table, "at_ns").len() as u64 <= MOST_MEDIA_SECONDS);
        for name in sums {
            let expected = rows(&sample, &by(&format!("sum({name})"), table));
            assert_eq!(column(&document, table, name), expected, "{name} of {table}");
        }
        for name in largest {
            let expected = rows(&sample, &by(&format!("max({name})"), table));
            assert_eq!(column(&document, table, name), expected, "{name} of {table}");
        }
        for name in medians {
            let expected = rows(&sample, &median(name, table));
            assert_eq!(column(&document, table, name), expected, "{name} of {table}");
        }
    }
    let mut page = Vec::new();
    let data = weir_report::report_data(&sample.store, &[run], START, &Options::default()).unwrap();
    weir_report::write_page(weir_report::PAGE, &data, &mut page).unwrap();
    assert!(page.len() < 4_000_000, "a day takes {} bytes", page.len());
}

#[test]
fn too_many_changes_and_events_leave_the_earliest_whatever_their_order() {
    let mut sample = Sample::new();
    let mut records = Vec::new();
    for number in 0..60_000u64 {
        // Not in order: 7919 has no divisor in common with 60,000.
        let unix_ns = START + number * 7_919 % 60_000;
        records.push(Record::FlowChange(FlowChange {
            unix_ns,
            state: "used".into(),
            ..FlowChange::default()
        }));
        if number % 5 == 0 {
            records.push(Record::MediaEvent(MediaEvent {
                unix_ns,
                event: "slow_reader".into(),
                state: "happened".into(),
                detail: "ä".repeat(if unix_ns == START { 100_000 } else { 5 }),
                ..MediaEvent::default()
            }));
        }
    }
    let run = sample.run("recv", None, &records);
    let document = sample.document(&[run]);
    for (series, kept, all) in [
        ("flow_changes", MOST_FLOW_CHANGES, 60_000),
        ("media_events", MOST_MEDIA_EVENTS, 12_000),
    ] {
        let earliest = rows(
            &sample,
            &format!("SELECT unix_ns - START FROM {series} ORDER BY unix_ns LIMIT {kept}"),
        );
        assert_eq!(column(&document, series, "at_ns"), earliest, "{series}");
        assert_eq!(
            document["runs"][0]["series"][series]["left_out"],
            json!(all - kept)
        );
    }
    let long = &words(&document, "media_events", "detail")[0];
    assert_eq!(long.chars().count(), MOST_DETAIL_CHARACTERS + 1);
    assert!(long.ends_with('…'));
}

#[test]
fn carried_media_has_no_diagnosis_and_lacks_none() {
    let mut sample = Sample::new();
    for kind in ["send", "recv"] {
        let run = sample.run(kind, None, &media());
        let document = sample.document(&[run]);
        let shown = &document["runs"][0];
        assert_eq!(
            (&shown["diagnosis"], &shown["no_diagnosis"]),
            (&Value::Null, &Value::Null)
        );
        let error = weir_diagnose::load(&sample.store, run).unwrap_err().to_string();
        assert!(error.contains(&format!("'weir report {run}'")), "{error}");
    }
}

/// Markup of a far host cannot become part of the page, and rows that no Weir wrote are read or refused, never a panic.
#[test]
fn what_others_say_stays_text_and_strange_rows_are_named() {
    let mut sample = Sample::new();
    let run = sample.run("recv", None, &media());
    let data = weir_report::report_data(&sample.store, &[run], START, &Options::default()).unwrap();
    let mut page = Vec::new();
    weir_report::write_page(weir_report::PAGE, &data, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(!page.contains("<b>0</b>"));
    for (sql, named) in [
        ("UPDATE recv_seconds SET lost = 'many' WHERE id = 3", "lost"),
        (
            "UPDATE recv_seconds SET lost = 0, sender = 70000 WHERE id = 3",
            "sender",
        ),
        (
            "UPDATE recv_seconds SET sender = 0; UPDATE frame_seconds SET used_count = -1",
            "used_count",
        ),
        (
            "UPDATE frame_seconds SET used_count = 1; UPDATE media_events SET detail = x'ff'",
            "detail",
        ),
    ] {
        Connection::open(&sample.path)
            .unwrap()
            .execute_batch(sql)
            .unwrap();
        let error = weir_report::report_data(&sample.store, &[run], START, &Options::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(named), "{sql}: {error}");
    }
}
