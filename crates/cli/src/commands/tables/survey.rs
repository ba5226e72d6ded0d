//! A survey as text, step by step and at its end.

use crate::units::{format_bytes, format_count, format_duration, format_percent, format_signed_duration};
use comfy_table::Table;
use weir_diagnose::Diagnosis;
use weir_measure::flows::DirectionSummary;
use weir_measure::path_mtu::{MtuReport, MtuSummary};
use weir_measure::survey::{FamilySummary, LimitedStep, Settings, StepSummary, SurveySummary};
use weir_measure::tcp_throughput::TcpSummary;
use weir_stats::Quantiles;

use super::{table, titled};

/// A delay, or a dash where nothing arrived.
fn delay(quantiles: &Quantiles, value: i64) -> String {
    if quantiles.count == 0 {
        "-".to_owned()
    } else {
        format_signed_duration(value)
    }
}

/// A finished step of a survey in one line.
pub fn step_line(title: &str, summary: &StepSummary) -> String {
    let found = match summary {
        StepSummary::Mtu(mtu) => mtu_line(mtu),
        StepSummary::Rtt(rtt) => format!(
            "P50 {}, P90 {}, lost {}",
            delay(&rtt.rtt, rtt.rtt.p50),
            delay(&rtt.rtt, rtt.rtt.p90),
            format_percent(rtt.loss)
        ),
        StepSummary::Tcp(tcp) => format!(
            "{}, {} retransmits",
            tcp.goodput.rounded(),
            format_count(tcp.retransmits)
        ),
        StepSummary::Flows(flows) => {
            let directions = flows.forward.iter().chain(&flows.reverse);
            let said: Vec<String> = directions
                .map(|row| format!("{}, lost {}", row.rate.rounded(), format_percent(row.loss)))
                .collect();
            said.join("; ")
        }
    };
    format!("{title}: {found}")
}

/// A step with which a host did not keep up, in one line.
pub fn limited_line(step: &LimitedStep) -> String {
    match step.repeated_at {
        Some(rate) => format!("  {}: repeated at {}", step.limit, rate.rounded()),
        None => format!("  {}: not repeated, the result may be the host's", step.limit),
    }
}

fn mtu_line(mtu: &MtuSummary) -> String {
    let said = |report: &MtuReport| {
        report
            .path_mtu
            .map_or_else(|| "none found".to_owned(), |size| format!("{size} bytes"))
    };
    format!("{} forward, {} reverse", said(&mtu.forward), said(&mtu.reverse))
}

/// A survey: the answer and the findings, then the tables, then, where `details` are wanted, the evidence.
pub fn survey(summary: &SurveySummary, diagnosis: Option<&Diagnosis>, details: bool) -> String {
    let mut text = diagnosis.map_or(String::new(), |diagnosis| {
        super::answer_and_findings(diagnosis, details)
    });
    text.push('\n');
    text.push_str(&tables(summary));
    if let Some(diagnosis) = diagnosis.filter(|_| details) {
        text.push_str(&format!("{}\n", super::evidence(diagnosis)));
    }
    // The recommendation of a diagnosis knows more: where several settings are equal, one of them is best at random.
    if diagnosis.is_none_or(|diagnosis| diagnosis.recommendation.is_none())
        && let Some(best) = &summary.best
    {
        text.push_str(&best_line(best));
    }
    text.push_str(&format!("{} sent in all\n", format_bytes(summary.bytes)));
    if summary.hit_byte_limit {
        text.push_str("note: --max-bytes ended the survey before all steps were measured\n");
    }
    text
}

fn best_line(best: &Settings) -> String {
    let held = if best.held {
        "carried the media"
    } else {
        "came nearest to carrying the media"
    };
    format!(
        "best: {} flow(s) of {} byte payloads {held}: {}, {} lost\n",
        best.flows,
        best.length,
        best.rate.rounded(),
        format_percent(best.loss)
    )
}

fn tables(summary: &SurveySummary) -> String {
    let mut text = String::new();
    if let Some(mtu) = &summary.mtu {
        text.push_str(&format!("path MTU  {}\n", mtu_line(mtu)));
    }
    if let Some(rtt) = &summary.rtt {
        text.push_str(&format!(
            "RTT       P50 {}, P90 {}, P99 {}, max {}, lost {} of {}\n",
            delay(&rtt.rtt, rtt.rtt.p50),
            delay(&rtt.rtt, rtt.rtt.p90),
            delay(&rtt.rtt, rtt.rtt.p99),
            delay(&rtt.rtt, rtt.rtt.max),
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
                "TCP was limited to {} by the agent's --max-rate: the path may carry more\n\n",
                ceiling.rounded()
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
    text.push_str(&rates(summary));
    if let Some(row) = &summary.by_source_port {
        text.push_str(&titled(
            "flows that differ in their source port",
            &sweep_table(std::slice::from_ref(row)),
        ));
    }
    if let Some(reverse) = &summary.reverse {
        text.push_str(&titled(
            "reverse direction",
            &sweep_table(std::slice::from_ref(reverse)),
        ));
    }
    if !summary.families.is_empty() {
        text.push_str(&titled("IPv4 and IPv6", &family_table(&summary.families)));
    }
    text
}

/// The tests at lower rates, and where loss begins.
fn rates(summary: &SurveySummary) -> String {
    if summary.by_rate.is_empty() {
        return String::new();
    }
    let mut text = titled("by rate", &sweep_table(&summary.by_rate));
    let said = match &summary.onset {
        Some(onset) => format!(
            "with {} flow(s) of {} byte payloads loss begins between {} and {}\n\n",
            onset.flows,
            onset.length,
            onset.carried.rounded(),
            onset.lossy.rounded()
        ),
        None => "no rate at which loss begins: it does not depend on the rate alone\n\n".to_owned(),
    };
    text.push_str(&said);
    text
}

/// IPv4 beside IPv6.
fn family_table(families: &[FamilySummary]) -> Table {
    let mut shown = table(&[
        "IP version",
        "longest payload",
        "RTT P50",
        "payload",
        "received",
        "loss",
    ]);
    let dash = || "-".to_owned();
    for family in families {
        let rtt = family.rtt.as_ref().map(|rtt| delay(&rtt.rtt, rtt.rtt.p50));
        let longest = family.longest_payload().map(|bytes| bytes.to_string());
        let of_flows = |of: &dyn Fn(&DirectionSummary) -> String| family.flows.as_ref().map(of);
        shown.add_row([
            family.version.as_str().to_owned(),
            longest.unwrap_or_else(dash),
            rtt.unwrap_or_else(dash),
            of_flows(&|row| row.length.to_string()).unwrap_or_else(dash),
            of_flows(&|row| row.rate.rounded()).unwrap_or_else(dash),
            of_flows(&|row| format_percent(row.loss)).unwrap_or_else(dash),
        ]);
    }
    shown
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
            row.direction.as_str().to_owned(),
            row.streams.to_string(),
            row.goodput.rounded(),
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
            row.rate.rounded(),
            format_count(row.lost),
            format_percent(row.loss),
        ];
        cells.extend(counts.map(format_count));
        cells.push(delay(&row.receiver.owd, row.receiver.owd.p99));
        shown.add_row(cells);
    }
    shown
}
