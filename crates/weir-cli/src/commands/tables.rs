//! Results as tables for people.

use comfy_table::{CellAlignment, Table, presets};
use weir_cli::units::{format_bytes, format_count, format_duration, format_percent, format_signed_duration};
use weir_measure::flows::{DirectionSummary, FlowsSummary};
use weir_measure::path_mtu::{MtuReport, MtuSummary};
use weir_measure::rtt::{GroupRow, RttSummary};
use weir_measure::survey::{StepSummary, SurveySummary, direction_name};
use weir_measure::tcp_throughput::TcpSummary;
use weir_results::{Quantiles, Run};

/// Groups of packets shown by length or position; more are thinned out, the database has them all.
const MOST_GROUPS: usize = 10;

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header.to_vec());
    for index in 1..header.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A table with a title, its lines without trailing space.
fn titled(title: &str, table: &Table) -> String {
    let lines: Vec<String> = table
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    format!("{title}\n{}\n", lines.concat())
}

fn quantile_row(name: &str, values: &Quantiles) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    if values.count == 0 {
        row.extend(std::iter::repeat_n("-".to_owned(), 6));
        return row;
    }
    let shown = [
        values.min,
        values.p50,
        values.p90,
        values.p99,
        values.p999,
        values.max,
    ];
    row.extend(shown.map(format_signed_duration));
    row
}

fn quantile_table(rows: &[(&str, &Quantiles)]) -> Table {
    let mut shown = table(&["", "min", "P50", "P90", "P99", "P99.9", "max"]);
    for (name, values) in rows {
        shown.add_row(quantile_row(name, values));
    }
    shown
}

/// Loss with its bounds, so that nothing lost in a short test is not taken for a loss of zero.
fn loss(lost: u64, loss: f64, bounds: (f64, f64)) -> String {
    format!(
        "{} ({}, 95 % sure between {} and {})",
        format_count(lost),
        format_percent(loss),
        format_percent(bounds.0),
        format_percent(bounds.1)
    )
}

/// An RTT test.
pub fn rtt(summary: &RttSummary) -> String {
    let mut text = format!(
        "{} packets sent, lost {}",
        format_count(summary.sent),
        loss(summary.lost, summary.loss, summary.loss_interval)
    );
    if let (Some(there), Some(back)) = (summary.lost_forward, summary.lost_reverse)
        && summary.lost > 0
    {
        text.push_str(&format!(
            ": {} on the way there, {} on the way back",
            format_count(there),
            format_count(back)
        ));
    }
    text.push_str(&format!(
        "; {} late, {} duplicates\n\n",
        format_count(summary.late),
        format_count(summary.duplicates)
    ));
    let times = quantile_table(&[
        ("RTT, application to application", &summary.rtt),
        (
            &format!("RTT on the network ({} timestamps)", summary.timestamps),
            &summary.network_rtt,
        ),
        ("time in both hosts' applications", &summary.application),
        ("one-way there (estimate)", &summary.owd_forward),
        ("one-way back (estimate)", &summary.owd_reverse),
    ]);
    text.push_str(&titled("times", &times));
    text.push_str(&format!(
        "jitter {} (RFC 3550), IPDV mean {} P99 {}",
        format_duration(summary.jitter_ns as u64),
        format_duration(summary.ipdv_mean_ns as u64),
        format_signed_duration(summary.ipdv_p99_ns)
    ));
    if let Some(hops) = summary.delta_ttl {
        text.push_str(&format!(", TTL went down by {hops}"));
    }
    if let Some(clock) = &summary.clock {
        text.push_str(&format!(
            "\nclocks differ by {}, give or take {} (estimate)",
            format_signed_duration(clock.offset_ns),
            format_duration(clock.uncertainty_ns)
        ));
    }
    text.push_str("\n\n");
    text.push_str(&groups("P90 by packet length", "bytes", &summary.by_length));
    text.push_str(&groups(
        "P90 by position in the window",
        "position",
        &summary.by_position,
    ));
    text
}

fn groups(title: &str, key: &str, rows: &[GroupRow]) -> String {
    if rows.len() < 2 {
        return String::new();
    }
    let mut shown = table(&[key, "packets", "P90"]);
    let step = rows.len().div_ceil(MOST_GROUPS);
    let last = rows.len() - 1;
    for (_, row) in rows
        .iter()
        .enumerate()
        .filter(|(index, _)| index % step == 0 || *index == last)
    {
        let name = if row.low == row.high {
            row.low.to_string()
        } else {
            format!("{}..{}", row.low, row.high)
        };
        shown.add_row([name, format_count(row.count), format_signed_duration(row.p90_ns)]);
    }
    titled(title, &shown)
}

/// A multi-flow test.
pub fn flows(summary: &FlowsSummary) -> String {
    summary
        .forward
        .iter()
        .chain(&summary.reverse)
        .map(direction)
        .collect::<Vec<String>>()
        .join("\n")
}

fn direction(summary: &DirectionSummary) -> String {
    let fields = &summary.receiver;
    let mut text = format!(
        "{}: {} over {} flow(s), {} bytes a packet, bursts of {}\n",
        direction_name(summary.direction),
        rate_against_asked(summary),
        summary.flows,
        summary.length,
        summary.burst
    );
    text.push_str(&format!(
        "{} packets sent, lost {}; {} late, {} duplicates, {} rejected\n",
        format_count(summary.sent),
        loss(summary.lost, summary.loss, summary.loss_interval),
        format_count(fields.late),
        format_count(fields.duplicates),
        format_count(fields.rejected)
    ));
    if summary.lost > 0 {
        text.push_str(&format!("lost {}\n", blame(summary)));
        text.push_str(&format!(
            "{} loss bursts, the longest {} packets; {}\n",
            format_count(fields.bursts),
            format_count(fields.longest_burst),
            correlation(summary)
        ));
    }
    text.push('\n');
    let times = quantile_table(&[
        ("one-way delay (estimate)", &fields.owd),
        ("sender behind its schedule", &summary.schedule_error),
    ]);
    text.push_str(&titled("times", &times));
    text.push_str(&titled("flows", &flow_table(summary)));
    text.push_str(&format!(
        "sender {:.2} of a core, {}; receiver {:.2} of a core, {}\n",
        share(summary.sender_cpu_ns, summary.sender_wall_ns),
        if summary.segmented {
            "GSO"
        } else {
            "one packet a message (no GSO)"
        },
        share(fields.receiver_cpu_ns, fields.receiver_wall_ns),
        if fields.merged_receive {
            format!("GRO, {:.1} packets a buffer", fields.packets_per_buffer)
        } else {
            "one packet a buffer (no GRO)".to_owned()
        }
    ));
    text
}

fn share(cpu_ns: u64, wall_ns: u64) -> f64 {
    cpu_ns as f64 / wall_ns.max(1) as f64
}

fn rate_against_asked(summary: &DirectionSummary) -> String {
    match summary.asked {
        Some(asked) => format!("{} received of {} asked", summary.rate, asked),
        None => format!("{} received, sent as fast as the host can", summary.rate),
    }
}

/// Whose fault the losses are.
fn blame(summary: &DirectionSummary) -> String {
    let shares = [
        (
            summary.attribution.socket,
            "at the receiving socket (its buffer was full)",
        ),
        (
            summary.attribution.host_receiver,
            "on the receiving host before the socket",
        ),
        (summary.attribution.host_sender, "on the sending host"),
        (
            summary.attribution.network,
            "seen on neither host, so in the network",
        ),
    ];
    let said: Vec<String> = shares
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, place)| format!("{} {place}", format_count(*count)))
        .collect();
    let estimate = if summary.attribution.estimated {
        " (estimate)"
    } else {
        ""
    };
    format!("{}{estimate}", said.join(", "))
}

fn correlation(summary: &DirectionSummary) -> String {
    let windows = &summary.receiver.windows_by_flows_losing;
    let several: u64 = windows
        .iter()
        .filter(|(flows, _)| **flows > 1)
        .map(|(_, count)| count)
        .sum();
    let all: u64 = windows.values().sum();
    format!(
        "{} of {} windows of 100 ms with loss had it on several flows",
        format_count(several),
        format_count(all)
    )
}

fn flow_table(summary: &DirectionSummary) -> Table {
    let mut shown = table(&[
        "port",
        "received",
        "lost",
        "late",
        "dup.",
        "reversals",
        "breaks",
        "bursts",
        "longest",
        "silent",
        "P99 delay",
    ]);
    for flow in &summary.receiver.per_flow {
        let delay = if flow.owd.count == 0 {
            "-".to_owned()
        } else {
            format_signed_duration(flow.owd.p99)
        };
        let silent = if flow.silences == 0 {
            "-".to_owned()
        } else {
            format_duration(flow.silent_ns)
        };
        let counts = [
            flow.received,
            flow.lost,
            flow.late,
            flow.duplicates,
            flow.reversals,
            flow.sequence_breaks,
            flow.bursts,
            flow.longest_burst,
        ];
        let mut row = vec![flow.port.to_string()];
        row.extend(counts.map(format_count));
        row.extend([silent, delay]);
        shown.add_row(row);
    }
    shown
}

/// What to know about a multi-flow test beside its numbers.
pub fn flows_notes(summary: &FlowsSummary) -> Vec<String> {
    let mut notes = Vec::new();
    for direction in summary.forward.iter().chain(&summary.reverse) {
        let fields = &direction.receiver;
        // The kernel counts twice what was asked for, to cover its own overhead.
        if fields.receive_buffer < 2 << 20 {
            notes.push(format!(
                "the receiver got {} of socket buffer a flow; raise it there with 'sysctl -w net.core.rmem_max=4194304'",
                format_bytes(fields.receive_buffer / 2)
            ));
        }
        if fields.events_merged > 0 {
            let merged = format_count(fields.events_merged);
            notes.push(format!(
                "{merged} loss events were counted in their second but not kept one by one"
            ));
        }
        if let Some(reason) = &fields.aborted {
            notes.push(format!("the receiver ended the test: {reason}"));
        }
        if direction.refused > 0 {
            let refused = format_count(direction.refused);
            notes.push(format!("the sender's kernel had no room for {refused} packets"));
        }
        let held = direction
            .asked
            .is_none_or(|asked| direction.rate.0 as f64 >= 0.99 * asked.0 as f64);
        if !held && direction.loss < 0.01 {
            notes.push(
                "the sender could not hold the rate; see how far it was behind its schedule".to_owned(),
            );
        }
    }
    notes
}

/// A finished step of a survey in one line.
pub fn step_line(title: &str, summary: &StepSummary) -> String {
    let found = match summary {
        StepSummary::Mtu(mtu) => mtu_line(mtu),
        StepSummary::Rtt(rtt) => format!(
            "P50 {}, P90 {}, lost {}",
            format_signed_duration(rtt.rtt.p50),
            format_signed_duration(rtt.rtt.p90),
            format_percent(rtt.loss)
        ),
        StepSummary::Tcp(tcp) => format!("{}, {} retransmits", tcp.goodput, format_count(tcp.retransmits)),
        StepSummary::Flows(flows) => {
            let directions = flows.forward.iter().chain(&flows.reverse);
            let said: Vec<String> = directions
                .map(|row| format!("{}, lost {}", row.rate, format_percent(row.loss)))
                .collect();
            said.join("; ")
        }
    };
    format!("{title}: {found}")
}

fn mtu_line(mtu: &MtuSummary) -> String {
    let said = |report: &MtuReport| {
        report
            .path_mtu
            .map_or_else(|| "none found".to_owned(), |size| format!("{size} bytes"))
    };
    format!("{} forward, {} reverse", said(&mtu.forward), said(&mtu.reverse))
}

/// A survey.
pub fn survey(summary: &SurveySummary) -> String {
    let mut text = String::from("\n");
    if let Some(mtu) = &summary.mtu {
        text.push_str(&format!("path MTU  {}\n", mtu_line(mtu)));
    }
    if let Some(rtt) = &summary.rtt {
        text.push_str(&format!(
            "RTT       P50 {}, P90 {}, P99 {}, max {}, lost {} of {}\n",
            format_signed_duration(rtt.rtt.p50),
            format_signed_duration(rtt.rtt.p90),
            format_signed_duration(rtt.rtt.p99),
            format_signed_duration(rtt.rtt.max),
            format_count(rtt.lost),
            format_count(rtt.sent)
        ));
    }
    text.push('\n');
    if !summary.tcp.is_empty() {
        text.push_str(&titled("TCP throughput", &tcp_table(&summary.tcp)));
        let ceiling = summary.tcp_ceiling;
        if summary
            .tcp
            .iter()
            .any(|row| row.goodput.0 as f64 > 0.9 * ceiling.0 as f64)
        {
            text.push_str(&format!(
                "TCP was held at {ceiling} by the agent's --max-rate: the path may carry more\n\n"
            ));
        }
    }
    let sweeps = [
        ("by number of flows", &summary.by_flows),
        ("by payload length", &summary.by_length),
    ];
    for (title, rows) in sweeps.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        text.push_str(&titled(title, &sweep_table(rows)));
    }
    if let Some(reverse) = &summary.reverse {
        text.push_str(&titled(
            "the other way",
            &sweep_table(std::slice::from_ref(reverse)),
        ));
    }
    if let Some(best) = &summary.best {
        let held = if best.held {
            "carried the media"
        } else {
            "came nearest to carrying the media"
        };
        text.push_str(&format!(
            "best: {} flow(s) of {} byte payloads {held}: {}, {} lost\n",
            best.flows,
            best.length,
            best.rate,
            format_percent(best.loss)
        ));
    }
    text.push_str(&format!("{} sent in all\n", format_bytes(summary.bytes)));
    if summary.hit_byte_limit {
        text.push_str("note: --max-bytes ended the survey before all steps were made\n");
    }
    text
}

fn tcp_table(rows: &[TcpSummary]) -> Table {
    let mut shown = table(&[
        "direction",
        "streams",
        "goodput",
        "retransmits",
        "RTT",
        "cwnd",
        "congestion control",
    ]);
    for row in rows {
        shown.add_row([
            direction_name(row.direction).to_owned(),
            row.streams.to_string(),
            row.goodput.to_string(),
            format_count(row.retransmits),
            format_duration(row.rtt_ns),
            format_bytes(row.cwnd_bytes),
            row.congestion_control.clone(),
        ]);
    }
    shown
}

fn sweep_table(rows: &[DirectionSummary]) -> Table {
    let mut shown = table(&[
        "flows",
        "payload",
        "received",
        "lost",
        "loss",
        "at socket",
        "at hosts",
        "network",
        "P99 delay",
    ]);
    for row in rows {
        let hosts = row.attribution.host_receiver + row.attribution.host_sender;
        let counts = [row.attribution.socket, hosts, row.attribution.network];
        let mut cells = vec![
            row.flows.to_string(),
            row.length.to_string(),
            row.rate.to_string(),
            format_count(row.lost),
            format_percent(row.loss),
        ];
        cells.extend(counts.map(format_count));
        cells.push(format_signed_duration(row.receiver.owd.p99));
        shown.add_row(cells);
    }
    shown
}

/// A list of runs.
pub fn runs(runs: &[Run]) -> String {
    let mut shown = table(&[
        "run",
        "part of",
        "kind",
        "target",
        "started (UTC)",
        "took",
        "ended",
    ]);
    for run in runs {
        let took = run
            .ended_unix_ns
            .map(|ended| format_duration(ended.saturating_sub(run.started_unix_ns)));
        shown.add_row([
            run.id.to_string(),
            run.parent.map_or_else(String::new, |parent| parent.to_string()),
            run.kind.clone(),
            run.target.clone(),
            utc(run.started_unix_ns),
            took.unwrap_or_else(|| "-".to_owned()),
            run.outcome.to_string(),
        ]);
    }
    shown
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// One run.
pub fn run(run: &Run, counts: &[(weir_results::Table, u64)]) -> String {
    let pretty = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let mut text = format!(
        "run {}: {} to {}, {}\n",
        run.id, run.kind, run.target, run.outcome
    );
    text.push_str(&format!("started {} UTC", utc(run.started_unix_ns)));
    if let Some(ended) = run.ended_unix_ns {
        text.push_str(&format!(
            ", took {}",
            format_duration(ended.saturating_sub(run.started_unix_ns))
        ));
    }
    text.push_str(&format!(", Weir {}\n", run.weir_version));
    if let Some(reason) = &run.reason {
        text.push_str(&format!("reason: {reason}\n"));
    }
    for (table, count) in counts.iter().filter(|(_, count)| *count > 0) {
        text.push_str(&format!("{} rows in {}\n", format_count(*count), table.name()));
    }
    let parts = [
        ("parameters", &run.parameters),
        ("this host", &run.local_host),
        ("far host", &run.remote_host),
        ("summary", &run.summary),
    ];
    for (name, value) in parts.into_iter().filter(|(_, value)| !value.is_null()) {
        text.push_str(&format!("{name}: {}\n", pretty(value)));
    }
    text
}

/// Unix nanoseconds as a date and time, UTC; the calendar by Howard Hinnant's `civil_from_days`.
fn utc(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (days, of_day) = ((seconds / 86_400) as i64, seconds % 86_400);
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 {
        month_index + 3
    } else {
        month_index - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_date_1() {
        // Values from `date -u -d @N '+%F %T'`.
        assert_eq!(utc(0), "1970-01-01 00:00:00");
        assert_eq!(utc(951_782_399_000_000_000), "2000-02-28 23:59:59");
        assert_eq!(utc(951_868_800_000_000_000), "2000-03-01 00:00:00");
        assert_eq!(utc(1_795_231_496_999_999_999), "2026-11-21 03:24:56");
    }

    #[test]
    fn what_was_not_measured_is_a_dash_and_not_zero() {
        let row = quantile_row("x", &Quantiles::default());
        assert_eq!(row[1..], ["-"; 6]);
    }
}
