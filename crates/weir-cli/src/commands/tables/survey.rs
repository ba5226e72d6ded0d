//! A survey as text, step by step and at its end.

use comfy_table::Table;
use weir_cli::units::{format_bytes, format_count, format_duration, format_percent, format_signed_duration};
use weir_diagnose::Diagnosis;
use weir_measure::flows::DirectionSummary;
use weir_measure::path_mtu::{MtuReport, MtuSummary};
use weir_measure::survey::{StepSummary, SurveySummary};
use weir_measure::tcp_throughput::TcpSummary;
use weir_results::Quantiles;

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
pub fn survey(summary: &SurveySummary, diagnosis: Option<&Diagnosis>) -> String {
    let mut text = String::from("\n");
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
    let recommends = diagnosis.is_some_and(|diagnosis| diagnosis.recommendation.is_some());
    if let Some(diagnosis) = diagnosis {
        text.push_str(&format!("{}\n", super::findings(diagnosis)));
    }
    // The recommendation has more to go by: what came out best is a matter of chance where several are equal.
    if let Some(best) = summary.best.as_ref().filter(|_| !recommends) {
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
            row.direction.as_str().to_owned(),
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
        cells.push(delay(&row.receiver.owd, row.receiver.owd.p99));
        shown.add_row(cells);
    }
    shown
}
