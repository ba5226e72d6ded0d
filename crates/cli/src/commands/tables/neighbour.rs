//! Results of neighbours of a stream as text.

use crate::units::{
    format_bytes, format_count, format_duration, format_percent, format_rate, format_signed_duration,
};
use weir_neighbour::{BulkFigures, DelayFigures, GameFigures, HttpFigures, Measured, Times, VoiceFigures};

use super::{table, titled};

/// A measurement of any kind.
pub fn neighbour(measured: &Measured) -> String {
    let (title, seconds, (times, rows)) = match measured {
        Measured::Delay(report) => (report.kind, report.seconds, delay(&report.figures)),
        Measured::Game(report) => (report.kind, report.seconds, game(&report.figures)),
        Measured::Bulk(report) => (report.kind, report.seconds, bulk(&report.figures)),
        Measured::Http(report) => (report.kind, report.seconds, http(&report.figures)),
    };
    let interrupted = if measured.is_interrupted() {
        ", interrupted"
    } else {
        ""
    };
    let mut shown = table(&["", "min", "P50", "P95", "P99", "max"]);
    for (name, times) in times {
        shown.add_row(times_row(name, times));
    }
    let title = format!("{title}, {seconds:.1} s{interrupted}");
    format!("{}\n{}", titled(&title, &shown).trim_end(), rows.concat())
}

fn times_row(name: &str, times: Option<Times>) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    match times {
        None => row.extend(std::iter::repeat_n("-".to_owned(), 5)),
        Some(times) => {
            let shown = [times.min, times.p50, times.p95, times.p99, times.max];
            row.extend(shown.map(format_signed_duration));
        }
    }
    row
}

/// Times by what took them, and the lines below their table.
type Shown = (Vec<(&'static str, Option<Times>)>, Vec<String>);

fn delay(figures: &DelayFigures) -> Shown {
    let mut rows = vec![
        format!(
            "{} of {} packets lost ({}), at most {} in a row; {} reordered, {} duplicates\n",
            format_count(figures.lost),
            format_count(figures.packets_sent),
            format_percent(figures.loss),
            format_count(figures.longest_loss),
            format_count(figures.reordered),
            format_count(figures.duplicates),
        ),
        format!(
            "{}; jitter mean {}, max {} (RFC 3550)\n",
            format_rate(figures.rate),
            format_duration(figures.jitter_mean_ns as u64),
            format_duration(figures.jitter_max_ns as u64),
        ),
    ];
    rows.extend(figures.voice.as_ref().map(voice));
    rows.extend(own_faults(figures.refused_by_sender, figures.dropped_here));
    (vec![("one-way delay", figures.owd)], rows)
}

fn voice(voice: &VoiceFigures) -> String {
    format!(
        "MOS {:.2}, R {:.1}: playout delay {}, {} packets late for it, {} lost or late\n",
        voice.rating.mos,
        voice.rating.r,
        format_signed_duration(voice.playout_ns),
        format_count(voice.late),
        format_percent(voice.loss),
    )
}

fn own_faults(refused_by_sender: u64, dropped_here: u64) -> Option<String> {
    (refused_by_sender + dropped_here > 0).then(|| {
        format!(
            "note: {} packets refused by the sender's host, {} dropped by this host\n",
            format_count(refused_by_sender),
            format_count(dropped_here)
        )
    })
}

fn game(figures: &GameFigures) -> Shown {
    let times = vec![
        ("frame completion", figures.completion),
        ("input to frame", figures.input_to_frame),
    ];
    let mut rows = vec![
        format!(
            "{} frames, {} late ({}), {} incomplete ({}); longest freeze {}\n",
            format_count(figures.frames_sent),
            format_count(figures.late),
            format_percent(figures.late_share),
            format_count(figures.incomplete),
            format_percent(figures.incomplete_share),
            format_duration(figures.longest_freeze_ns),
        ),
        format!(
            "{}; {} of {} packets lost ({}); {} of {} inputs answered\n",
            format_rate(figures.rate),
            format_count(figures.lost),
            format_count(figures.packets_sent),
            format_percent(figures.loss),
            format_count(figures.inputs_answered),
            format_count(figures.inputs_sent),
        ),
    ];
    rows.extend(own_faults(figures.refused_by_sender, figures.dropped_here));
    (times, rows)
}

fn bulk(figures: &BulkFigures) -> Shown {
    let rtt = figures.sender.as_ref().and_then(|sender| sender.rtt);
    let connections = match figures.streams {
        1 => "1 connection".to_owned(),
        many => format!("{many} connections"),
    };
    let mut rows = vec![format!(
        "{} in {}, {connections}\n",
        format_rate(figures.rate),
        format_bytes(figures.bytes)
    )];
    rows.push(match &figures.sender {
        None => "note: no kernel data (TCP_INFO) from the sender\n".to_owned(),
        Some(sender) => format!(
            "{}: {} segments retransmitted ({}), window at most {}\n",
            sender.congestion,
            format_count(sender.retransmits),
            format_percent(sender.retransmit_share),
            format_bytes(sender.cwnd_max_bytes),
        ),
    });
    (vec![("RTT of the sender", rtt)], rows)
}

fn http(figures: &HttpFigures) -> Shown {
    let times = vec![
        ("completion", figures.completion),
        ("first byte", figures.first_byte),
    ];
    let unfinished = match figures.unfinished {
        0 => "",
        _ => ", and one unfinished at the end",
    };
    let rows = vec![format!(
        "{} downloads of {}{unfinished}; {}\n",
        format_count(figures.downloads),
        format_bytes(figures.length),
        format_rate(figures.rate)
    )];
    (times, rows)
}
