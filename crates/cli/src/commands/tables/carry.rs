//! Streams of `weir send` and `weir recv` as text: a status line while they run, and the result.

use crate::units::{format_count, format_duration, format_percent, format_rate};
use weir_stream::recv::{RecvSummary, SenderSummary};
use weir_stream::send::SendSummary;
use weir_stream::{Live, RecvLive, SendLive};
use weir_units::Rate;

use super::{counted, quantile_table, titled};

/// Status on one line.
pub fn live(live: &Live) -> String {
    match live {
        Live::Waiting(what) => format!("waiting {what}"),
        Live::Sending(live) => sending(live),
        Live::Receiving(live) => receiving(live),
    }
}

fn sending(live: &SendLive) -> String {
    let mut parts = vec![
        format_rate(live.rate),
        format!("{} frames", format_count(live.frames)),
        format!("{} of {} flows", live.flows.0, live.flows.1),
    ];
    parts.extend(counted([
        (live.repairs, "repairs"),
        (live.retransmitted, "retransmissions"),
        (live.skipped, "frames skipped"),
    ]));
    if let Some(receiver) = &live.receiver {
        parts.push(format!("receiver: {}", losses(receiver)));
    }
    parts.join(", ")
}

fn receiving(live: &RecvLive) -> String {
    let mut parts = vec![
        format_rate(live.rate),
        format!("{} frames", format_count(live.frames)),
        losses(live),
        format!(
            "{} of {} used",
            format_duration(live.used_ns),
            format_duration(live.budget_ns)
        ),
    ];
    parts.extend(counted([
        (live.late, "late"),
        (live.concealed, "frames concealed"),
        (live.dropped, "frames dropped"),
    ]));
    parts.join(", ")
}

/// Loss before and after repair.
fn losses(live: &RecvLive) -> String {
    let expected = live.received + live.unrepaired;
    if live.lost == 0 || expected == 0 {
        return "no loss".into();
    }
    format!(
        "{} lost, {} after repair ({} by FEC, {} by ARQ)",
        share(live.lost, expected),
        share(live.unrepaired, expected),
        format_count(live.recovered),
        format_count(live.retransmitted),
    )
}

fn share(part: u64, whole: u64) -> String {
    if part == 0 {
        return "0".into();
    }
    format_percent(part as f64 / whole.max(1) as f64)
}

/// The result of a sender.
pub fn sent(summary: &SendSummary) -> String {
    let seconds = summary.duration_ns as f64 / 1e9;
    let mut text = String::new();
    if let Some(format) = &summary.format {
        text.push_str(&format!("{format}, to {} receiver(s)\n", summary.receivers));
    }
    text.push_str(&format!(
        "{} frames in {}, {}; {} skipped\n",
        format_count(summary.counts.frames),
        format_duration(summary.duration_ns),
        format_rate(Rate::of(summary.counts.bytes, summary.duration_ns.max(1)).0),
        format_count(summary.counts.frames_skipped),
    ));
    text.push_str(&format!(
        "{} packets, {} repairs, {} retransmissions, {} flow probes; {} requested too late, {} refused by the kernel\n",
        format_count(summary.counts.sources),
        format_count(summary.counts.repairs),
        format_count(summary.counts.retransmitted),
        format_count(summary.counts.trials),
        format_count(summary.counts.refused),
        format_count(summary.counts.unsent),
    ));
    if seconds > 0.0 {
        let spent = (summary.cpu_ns, summary.process_cpu_ns);
        text.push_str(&cores(spent, seconds, "sending", summary.threads));
    }
    text
}

fn cores((thread_ns, process_ns): (u64, u64), seconds: f64, what: &str, threads: u16) -> String {
    let packet_threads = match threads {
        0 | 1 => format!("{what} thread"),
        more => format!("{more} {what} threads together"),
    };
    format!(
        "{packet_threads} {:.2} of a core, all threads {:.2}\n",
        thread_ns as f64 / 1e9 / seconds,
        process_ns as f64 / 1e9 / seconds,
    )
}

/// The result of a receiver.
pub fn received(summary: &RecvSummary) -> String {
    let mut text = String::new();
    if let Some(format) = &summary.format {
        text.push_str(&format!("{format}\n"));
    }
    text.push_str(&format!(
        "{} frames complete, {} damaged, {} lost, {} dropped for a slow reader, in {}\n",
        format_count(summary.frames),
        format_count(summary.frames_damaged),
        format_count(summary.frames_lost),
        format_count(summary.frames_dropped),
        format_duration(summary.duration_ns),
    ));
    let compared = summary.frames_verified + summary.frames_unequal;
    if compared > 0 {
        text.push_str(&format!(
            "{} of {} compared frames match the sender's hash\n",
            format_count(summary.frames_verified),
            format_count(compared)
        ));
    }
    for sender in &summary.senders {
        text.push_str(&from_sender(sender, summary.duration_ns));
    }
    if summary.delay.count > 0 {
        text.push('\n');
        let times = quantile_table(&[
            ("first packet sent to frame output", &summary.delay),
            ("  of which until frame complete", &summary.used),
        ]);
        let title = format!("times, latency budget {}", format_duration(summary.budget_ns));
        text.push_str(&titled(&title, &times));
    }
    let seconds = summary.duration_ns as f64 / 1e9;
    if seconds > 0.0 {
        let spent = (summary.cpu_ns, summary.process_cpu_ns);
        text.push_str(&cores(spent, seconds, "receiving", summary.threads));
    }
    text
}

fn from_sender(sender: &SenderSummary, duration_ns: u64) -> String {
    let expected = sender.received + sender.unrepaired;
    let mut text = format!(
        "{}: {}, {} packets, {} lost ({}); {} after repair\n",
        sender.from,
        format_rate(Rate::of(sender.bytes, duration_ns.max(1)).0),
        format_count(expected),
        format_count(sender.lost),
        share(sender.lost, expected),
        format_count(sender.unrepaired),
    );
    if sender.lost + sender.overtaken > 0 {
        text.push_str(&format!(
            "  repaired {} by FEC, {} by ARQ, {} by another sender; {} reordered; {} dropped at sockets\n",
            format_count(sender.recovered),
            format_count(sender.retransmitted),
            format_count(sender.elsewhere),
            format_count(sender.overtaken),
            format_count(sender.socket_drops),
        ));
    }
    text
}
