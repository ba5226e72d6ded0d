//! A multi-flow test as text.

use comfy_table::Table;
use weir_cli::units::{format_bytes, format_count, format_duration, format_signed_duration};
use weir_measure::flows::{DirectionSummary, FlowsSummary};

use super::{histogram, loss, quantile_table, table, titled};

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

/// How long the bursts of lost packets of the stream were, direction by direction; empty without loss.
pub fn burst_histograms(summary: &FlowsSummary, width: usize) -> String {
    let of_direction = |direction: &DirectionSummary| {
        let title = format!(
            "{}: bursts of lost packets by length",
            direction.direction.as_str()
        );
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

fn direction(summary: &DirectionSummary) -> String {
    let fields = &summary.receiver;
    let mut text = format!(
        "{}: {} over {} flow(s), {} bytes a packet, bursts of {}\n",
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
    let late = summary.receiver.late.min(summary.lost);
    let mut said: Vec<String> = shares
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, place)| format!("{} {place}", format_count(*count)))
        .collect();
    if late > 0 {
        said.push(format!("{} came after they were given up", format_count(late)));
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
