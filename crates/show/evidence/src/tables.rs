//! The rows behind the page, as CSV: times in UTC and as Unix time, delays in nanoseconds.

use serde::Serialize;
use weir_results::WatchCell;
use weir_units::UtcTime;

use crate::facts::Facts;
use crate::{EvidenceError, File};

#[derive(Serialize)]
struct CellRow {
    start: String,
    start_unix_s: u64,
    sent: u64,
    lost: u64,
    duplicates: u64,
    hops: Option<u32>,
    rtt_min_ns: Option<u64>,
    rtt_p50_ns: Option<u64>,
    rtt_p90_ns: Option<u64>,
    rtt_p99_ns: Option<u64>,
    rtt_max_ns: Option<u64>,
}

#[derive(Serialize)]
struct ChangeRow<'a> {
    since: String,
    found: String,
    metric: &'a str,
    before: f64,
    after: f64,
    low_95: f64,
    high_95: f64,
    detail: &'a str,
}

#[derive(Serialize)]
struct AlarmRow<'a> {
    time: String,
    unix_ns: u64,
    event: &'a str,
    state: &'a str,
    subject: &'a str,
    run_id: Option<i64>,
    detail: &'a str,
}

#[derive(Serialize)]
struct FlowCsvRow<'a> {
    run_id: i64,
    started: String,
    ended: String,
    direction: &'a str,
    flow: usize,
    protocol: &'a str,
    source: &'a str,
    destination: &'a str,
    sent: u64,
    received: u64,
    lost: u64,
}

#[derive(Serialize)]
struct ExcludedRow<'a> {
    start: String,
    start_unix_s: u64,
    cause: &'a str,
    value: f64,
}

/// All tables that have rows.
pub(crate) fn all(facts: &Facts<'_>) -> Result<Vec<File>, EvidenceError> {
    let utc = |unix_ns: u64| UtcTime(unix_ns).to_string();
    let changes = facts.changes.iter().map(|change| ChangeRow {
        since: utc(change.since_unix_ns),
        found: utc(change.found_unix_ns),
        metric: &change.metric,
        before: change.before,
        after: change.after,
        low_95: change.low,
        high_95: change.high,
        detail: &change.detail,
    });
    let alarms = facts.alarms.iter().map(|event| AlarmRow {
        time: utc(event.unix_ns),
        unix_ns: event.unix_ns,
        event: &event.event,
        state: &event.state,
        subject: &event.subject,
        run_id: event.run_id,
        detail: &event.detail,
    });
    let flows = facts.tests.iter().flat_map(|test| {
        test.flows.iter().map(|flow| FlowCsvRow {
            run_id: test.run.0,
            started: utc(test.started_ns),
            ended: utc(test.ended_ns),
            direction: flow.result.direction.as_str(),
            flow: flow.result.flow,
            protocol: "UDP",
            source: &flow.source,
            destination: &flow.destination,
            sent: flow.result.sent,
            received: flow.result.received,
            lost: flow.result.sent.saturating_sub(flow.result.received),
        })
    });
    let excluded = facts.excluded.iter().map(|second| ExcludedRow {
        start: utc(second.start_s.saturating_mul(1_000_000_000)),
        start_unix_s: second.start_s,
        cause: &second.cause,
        value: second.value,
    });
    let mut tables = vec![
        table("seconds.csv", facts.seconds.iter().map(cell))?,
        table("minutes.csv", facts.minutes.iter().map(cell))?,
        table("hours.csv", facts.hours.iter().map(cell))?,
        table("changes.csv", changes)?,
        table("alarms.csv", alarms)?,
        table("flows.csv", flows)?,
        table("hosts.csv", facts.hosts.iter())?,
        table("excluded.csv", excluded)?,
    ];
    tables.retain(|table| !table.bytes.is_empty());
    Ok(tables)
}

fn cell(cell: &WatchCell) -> CellRow {
    CellRow {
        start: UtcTime(cell.start_s.saturating_mul(1_000_000_000)).to_string(),
        start_unix_s: cell.start_s,
        sent: cell.sent,
        lost: cell.lost,
        duplicates: cell.duplicates,
        hops: cell.hops,
        rtt_min_ns: cell.rtt.min(),
        rtt_p50_ns: cell.rtt.quantile(0.5),
        rtt_p90_ns: cell.rtt.quantile(0.9),
        rtt_p99_ns: cell.rtt.quantile(0.99),
        rtt_max_ns: cell.rtt.max(),
    }
}

/// Empty, without a head, if there are no rows.
fn table<T: Serialize>(name: &str, rows: impl Iterator<Item = T>) -> Result<File, EvidenceError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.into_iter().try_for_each(|row| writer.serialize(row))?;
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(File {
        name: name.to_owned(),
        bytes,
    })
}
