//! A multi-flow test as text.

use crate::units::{format_bytes, format_count, format_duration, format_signed_duration};
use comfy_table::Table;
use weir_measure::ClockEstimate;
use weir_measure::flows::{DirectionSummary, FlowsSummary};

use super::{histogram, loss, quantile_table, table, titled};

/// A multi-flow test.
pub fn flows(summary: &FlowsSummary) -> String {
    summary
        .forward
        .iter()
        .chain(&summary.reverse)
        .map(|way| direction(way, summary.clock.as_ref()))
        .collect::<Vec<String>>()
        .join("\n")
}

/// Histogram of loss bursts of the stream by length, per direction; empty without loss.
pub fn burst_histograms(summary: &FlowsSummary, width: usize) -> String {
    let of_direction = |direction: &DirectionSummary| {
        let title = format!("{}: loss bursts by length", direction.direction.as_str());
        histogram::bursts(&title, &direction.receiver.burst_lengths, width)
    };
    let all: String = summary
        .forward
        .iter()
        .chain(&summary.reverse)
        .map(of_direction)
        .collect();
    if all.is_empty() { all } else { format!("\n{all}") }
}

fn direction(summary: &DirectionSummary, clock: Option<&ClockEstimate>) -> String {
    let fields = &summary.receiver;
    let mut text = format!(
        "{}: {} over {} flow(s), {} bytes per packet, bursts of {}\n",
        summary.direction.as_str(),
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
    if summary.hit_byte_limit {
        text.push_str("the sender stopped at the limit of --max-bytes\n");
    }
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
        ("sender's schedule error", &summary.schedule_error),
    ]);
    text.push_str(&titled("times", &times));
    text.push_str(&match clock {
        Some(clock) => format!(
            "one-way delays to within {}, the same for all packets: what the comparison of both clocks leaves open\n\n",
            format_duration(clock.uncertainty_ns)
        ),
        None => "one-way delays are relative: the clocks were not compared\n\n".to_owned(),
    });
    text.push_str(&titled("flows", &flow_table(summary)));
    text.push_str(&format!(
        "sender {}, {}; receiver {}, {}\n",
        cores(
            summary.sender_cpu_ns,
            summary.sender_wall_ns,
            summary.sender_threads
        ),
        if summary.segmented {
            "GSO"
        } else {
            "one packet per message (no GSO)"
        },
        cores(
            fields.receiver_cpu_ns,
            fields.receiver_wall_ns,
            fields.receiver_threads
        ),
        if fields.merged_receive {
            format!("GRO, {:.1} packets per buffer", fields.packets_per_buffer)
        } else {
            "one packet per buffer (no GRO)".to_owned()
        }
    ));
    text
}

fn cores(cpu_ns: u64, wall_ns: u64, threads: u16) -> String {
    let share = cpu_ns as f64 / wall_ns.max(1) as f64;
    let of_threads = match threads {
        1 => String::new(),
        several => format!(" ({several} threads)"),
    };
    format!("{share:.2} of a core{of_threads}")
}

fn rate_against_asked(summary: &DirectionSummary) -> String {
    match summary.asked {
        Some(asked) => format!(
            "{} received, {} requested",
            summary.rate.rounded(),
            asked.rounded()
        ),
        None => format!(
            "{} received, sent at the host's maximum rate",
            summary.rate.rounded()
        ),
    }
}

/// Attribution of losses.
fn blame(summary: &DirectionSummary) -> String {
    let shares = [
        (
            summary.attribution.socket,
            "at the receiving socket (buffer full)",
        ),
        (
            summary.attribution.host_receiver,
            "on the receiving host before the socket",
        ),
        (summary.attribution.host_sender, "on the sending host"),
        (summary.attribution.network, "in the network (not on either host)"),
    ];
    let late = summary.receiver.late.min(summary.lost);
    let mut said: Vec<String> = shares
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, place)| format!("{} {place}", format_count(*count)))
        .collect();
    if late > 0 {
        said.push(format!(
            "{} arrived after being declared lost",
            format_count(late)
        ));
    }
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
        "in {} of {} windows of 100 ms with loss, several flows lost packets",
        format_count(several),
        format_count(all)
    )
}

fn flow_table(summary: &DirectionSummary) -> Table {
    let flows = &summary.receiver.per_flow;
    let marks = flows.iter().any(|flow| flow.counts.ecn_marked > 0);
    let cleared = flows.iter().any(|flow| flow.counts.ecn_cleared > 0);
    let mut names = vec![
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
    ];
    names.extend(marks.then_some("ECN marks"));
    names.extend(cleared.then_some("ECN cleared"));
    let mut shown = table(&names);
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
            flow.counts.received,
            flow.counts.lost,
            flow.counts.late,
            flow.counts.duplicates,
            flow.counts.reversals,
            flow.counts.sequence_breaks,
            flow.counts.bursts,
            flow.counts.longest_burst,
        ];
        let mut row = vec![flow.port.to_string()];
        row.extend(counts.map(format_count));
        row.extend([silent, delay]);
        row.extend(marks.then(|| format_count(flow.counts.ecn_marked)));
        row.extend(cleared.then(|| format_count(flow.counts.ecn_cleared)));
        shown.add_row(row);
    }
    shown
}

/// Notes below a multi-flow test.
pub fn flows_notes(summary: &FlowsSummary) -> Vec<String> {
    let mut notes = Vec::new();
    for direction in summary.forward.iter().chain(&summary.reverse) {
        let fields = &direction.receiver;
        // The kernel doubles the requested size, to cover its own overhead.
        if fields.receive_buffer < 2 << 20 {
            notes.push(format!(
                "the receiver got a socket buffer of {} per flow; raise it there with 'sysctl -w net.core.rmem_max=4194304'",
                format_bytes(fields.receive_buffer / 2)
            ));
        }
        if fields.events_merged > 0 {
            let merged = format_count(fields.events_merged);
            notes.push(format!(
                "{merged} loss events are counted in their second but not stored individually"
            ));
        }
        if fields.stream_silences > 0 {
            notes.push(format!(
                "all flows were silent at once {} time(s), the longest {}",
                format_count(fields.stream_silences),
                format_duration(fields.longest_stream_silence_ns)
            ));
        }
        if let Some(reason) = &fields.aborted {
            notes.push(format!("the receiver ended the test: {reason}"));
        }
        if direction.refused > 0 {
            let refused = format_count(direction.refused);
            notes.push(format!(
                "the sender's kernel refused {refused} packets (socket buffer full)"
            ));
        }
        let held = direction
            .asked
            .is_none_or(|asked| direction.rate.0 as f64 >= 0.99 * asked.0 as f64);
        if !held && direction.loss < 0.01 {
            notes.push("the sender could not keep its schedule; see the sender's schedule error".to_owned());
        }
    }
    notes
}
