//! The page of an archive: the answer first, then what it rests on. It needs no script and loads only the files beside it.

use std::fmt::Display;

use weir_results::WatchChange;
use weir_units::{format_bytes, format_count, format_duration, format_percent, format_utc};
use weir_watch::event::Event;
use weir_watch::rare::Rate;

use crate::File;
use crate::facts::{Facts, FlowRow, Test};
use crate::others::AtOnce;

/// Rows of a table of the page; the files have all.
const MOST_ROWS: usize = 100;
const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#111}\
    table{border-collapse:collapse;margin:.5rem 0;display:block;overflow-x:auto}\
    th,td{border:1px solid #ccc;padding:.2rem .6rem;text-align:left;vertical-align:top}th{background:#f3f3f3}\
    img{width:100%;height:auto;border:1px solid #ddd}code{word-break:break-all}.answer{font-size:1.15rem}";

/// A page in progress.
struct Page(String);

impl Page {
    fn heading(&mut self, text: &str) {
        self.0.push_str(&format!("<h2>{}</h2>\n", escaped(text)));
    }

    fn text(&mut self, text: &str) {
        self.0.push_str(&format!("<p>{}</p>\n", escaped(text)));
    }

    fn table(&mut self, columns: &[&str], rows: &[Vec<String>], all_in: &str) {
        let cells = |tag: &str, row: &mut dyn Iterator<Item = &str>| {
            row.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)))
                .collect::<String>()
        };
        let head = cells("th", &mut columns.iter().copied());
        self.0.push_str(&format!("<table><tr>{head}</tr>\n"));
        for row in rows.iter().take(MOST_ROWS) {
            let row = cells("td", &mut row.iter().map(String::as_str));
            self.0.push_str(&format!("<tr>{row}</tr>\n"));
        }
        self.0.push_str("</table>\n");
        if rows.len() > MOST_ROWS {
            self.text(&format!("{} more are in {all_in}.", rows.len() - MOST_ROWS));
        }
    }
}

pub(crate) fn html(facts: &Facts<'_>, files: &[File]) -> String {
    let (near, far) = (&facts.request.near, &facts.request.far);
    let title = escaped(format!("Network path from {near} to {far}"));
    let mut page = Page(format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n"
    ));
    answer(&mut page, facts);
    page.heading("Round-trip time and loss");
    page.0.push_str(
        "<img src=\"rtt.svg\" alt=\"Round-trip time over the span: median and 90th percentile\">\n\
         <img src=\"loss.svg\" alt=\"Loss rate over the span\">\n",
    );
    page.text(
        "Times are UTC. Dashed lines are changes. Where a line is broken, nothing was measured or answered.",
    );
    changes(&mut page, facts);
    others(&mut page, facts);
    dark_flows(&mut page, facts);
    alarms(&mut page, facts);
    hosts(&mut page, facts);
    clocks(&mut page, facts);
    excluded(&mut page, facts);
    method(&mut page, facts);
    page.heading("Files");
    let rows: Vec<Vec<String>> = files
        .iter()
        .map(|file| {
            vec![
                file.name.clone(),
                format_bytes(file.bytes.len() as u64),
                file.sha256(),
            ]
        })
        .collect();
    page.table(&["file", "length", "SHA-256"], &rows, "SHA256SUMS");
    page.text("To check them all: sha256sum --check SHA256SUMS");
    page.0.push_str("</body></html>\n");
    page.0
}

fn answer(page: &mut Page, facts: &Facts<'_>) {
    let (whole, request) = (&facts.whole, facts.request);
    let quantile = |q: f64| match whole.rtt.quantile(q) {
        Some(value) => format_duration(value),
        None => "-".to_owned(),
    };
    let loss = match (whole.sent, whole.lost) {
        (_, 0) => "None of them was".to_owned(),
        (sent, lost) => format!(
            "{} of them were",
            format_percent(lost as f64 / sent.max(1) as f64)
        ),
    };
    let mut text = format!(
        "From {} to {} UTC, {} test packets were sent from {} to {} and answered or lost, over {} in all. {loss} \
         lost. The round-trip time was {} in the median; 90 % of the packets took less than {}.",
        format_utc(request.since_ns),
        format_utc(request.until_ns),
        format_count(whole.sent),
        request.near,
        request.far,
        format_duration(facts.measured_s.saturating_mul(1_000_000_000)),
        quantile(0.5),
        quantile(0.9)
    );
    let plural = |count: usize, one: &str, many: &str| match count {
        0 => format!(" No {one}"),
        1 => format!(" One {one}"),
        count => format!(" {count} {many}"),
    };
    text.push_str(&plural(
        facts.changes.len(),
        "change was found.",
        "changes were found.",
    ));
    page.0
        .push_str(&format!("<p class=\"answer\">{}</p>\n<ul>\n", escaped(&text)));
    let said = facts
        .changes
        .iter()
        .rev()
        .take(3)
        .map(|change| in_words(facts, change));
    let rates = facts.rates.iter().map(Rate::in_words);
    for line in said.chain(rates.map(|rate| format!("{rate} (95 % interval)"))) {
        page.0.push_str(&format!("<li>{}</li>\n", escaped(&line)));
    }
    page.0.push_str("</ul>\n");
}

/// A change with its moment, as the watcher reported it.
fn in_words(facts: &Facts<'_>, change: &WatchChange) -> String {
    let names = (facts.request.near.as_str(), facts.request.far.as_str());
    let said = Event::of_change(names, change).detail;
    let said = said.rsplit_once(',').map_or(said.as_str(), |(said, _found)| said);
    format!("{} UTC: {said}", format_utc(change.since_unix_ns))
}

fn changes(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Changes");
    if facts.changes.is_empty() {
        return page.text("None was found.");
    }
    let rows: Vec<Vec<String>> = facts
        .changes
        .iter()
        .map(|change| {
            vec![
                format_utc(change.since_unix_ns),
                format_utc(change.found_unix_ns),
                in_words(facts, change)
                    .split_once(": ")
                    .map_or(String::new(), |(_, said)| said.to_owned()),
            ]
        })
        .collect();
    page.table(
        &["first minute after it (UTC)", "found (UTC)", "what"],
        &rows,
        "changes.csv",
    );
}

/// Whether other paths changed at the same time: whose fault it can be.
fn others(page: &mut Page, facts: &Facts<'_>) {
    if facts.changes.is_empty() {
        return;
    }
    page.heading("Other paths at the time of these changes");
    if facts.others.is_empty() {
        return page.text("The store has no other path that was measured then.");
    }
    let row = |change: &WatchChange| {
        let ends = (facts.request.near.as_str(), facts.request.far.as_str());
        let at_once = AtOnce::of(change, ends, &facts.others, &facts.zones);
        let mut row = vec![format_utc(change.since_unix_ns), change.metric.clone()];
        row.extend([
            at_once.changed.join(", "),
            at_once.unchanged.join(", "),
            at_once.scope,
        ]);
        row
    };
    let rows: Vec<Vec<String>> = facts.changes.iter().map(row).collect();
    let columns = [
        "time (UTC)",
        "metric",
        "changed within 15 min",
        "did not change",
        "so it is common to",
    ];
    page.table(&columns, &rows, "the store");
}

fn dark_flows(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Flows that carried nothing while others did");
    let is_dark = |test: &Test, flow: &FlowRow| {
        let others = test
            .flows
            .iter()
            .any(|other| other.result.direction == flow.result.direction && other.result.received > 0);
        flow.result.sent > 0 && flow.result.received == 0 && others
    };
    let mut rows = Vec::new();
    for test in &facts.tests {
        for flow in test.flows.iter().filter(|flow| is_dark(test, flow)) {
            rows.push(vec![
                format_utc(test.started_ns),
                format_utc(test.ended_ns),
                "UDP".to_owned(),
                flow.source.clone(),
                flow.destination.clone(),
                format!("0 of {}", flow.result.sent),
                test.run.0.to_string(),
            ]);
        }
    }
    if rows.is_empty() {
        return page.text(&format!("None in {} flow tests.", facts.tests.len()));
    }
    let columns = [
        "from (UTC)",
        "to (UTC)",
        "protocol",
        "source",
        "destination",
        "packets received",
        "run",
    ];
    page.table(&columns, &rows, "flows.csv");
}

fn alarms(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Alarms");
    if facts.alarms.is_empty() {
        return page.text("None.");
    }
    let row = |event: &weir_results::WatchEvent| {
        vec![
            format_utc(event.unix_ns),
            event.state.clone(),
            event.detail.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = facts.alarms.iter().map(row).collect();
    page.table(&["time (UTC)", "state", "what"], &rows, "alarms.csv");
}

fn hosts(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Hosts");
    let rows: Vec<Vec<String>> = facts
        .hosts
        .iter()
        .map(|host| {
            let zone = [&host.zone, &host.zone_id].map(String::as_str).join(" ");
            [
                host.end,
                &host.name,
                &host.cloud,
                &host.region,
                zone.trim(),
                &host.instance_id,
                &host.instance_type,
                &host.first_seen,
                &host.last_seen,
            ]
            .map(str::to_owned)
            .to_vec()
        })
        .collect();
    let columns = [
        "end",
        "host",
        "cloud",
        "region",
        "zone, zone id",
        "instance id",
        "instance type",
        "first seen",
        "last seen",
    ];
    page.table(&columns, &rows, "hosts.csv");
    page.text(
        "The far host is known from flow tests and surveys. A new line is a new instance, zone or kernel.",
    );
}

fn clocks(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Clocks");
    let near = || facts.hosts.iter().filter(|host| host.end == "near");
    let bound = near()
        .filter_map(|host| host.clock_max_error_ns.parse::<u64>().ok())
        .max();
    page.text(&match bound {
        Some(bound) => format!(
            "Times are those of the near host's clock. Its kernel bounds its error to UTC by {}.",
            format_duration(bound)
        ),
        None => "Times are those of the near host's clock. Its kernel knows no bound of its error to UTC."
            .to_owned(),
    });
    if near().any(|host| host.clock_synchronised == "false") {
        page.text("Nothing kept the near host's clock right when the watcher started.");
    }
    let known = || facts.tests.iter().filter_map(|test| test.clock);
    if let Some((offset_ns, error_ns)) = known().max_by_key(|(offset_ns, _)| offset_ns.unsigned_abs()) {
        page.text(&format!(
            "In flow tests, the far host's clock differed from it by at most {} (error of this comparison at most {}).",
            format_duration(offset_ns.unsigned_abs()),
            format_duration(error_ns)
        ));
    }
    page.text("Round-trip times are measured with the near host's clock alone.");
}

fn excluded(page: &mut Page, facts: &Facts<'_>) {
    page.heading("What the hosts lost themselves");
    let sum = |of: fn(&Test) -> u64| facts.tests.iter().map(of).sum::<u64>();
    let (network, hosts) = (sum(|test| test.lost.network), sum(|test| test.lost.hosts));
    page.text(&format!(
        "Of the packets that flow tests lost, {} were dropped on one of both hosts, by the counters of their sockets and \
         interfaces; {} were not, and are attributed to the network.",
        format_count(hosts),
        format_count(network)
    ));
    let of_cause = |cause: &str| {
        facts
            .excluded
            .iter()
            .filter(|second| second.cause == cause)
            .count()
    };
    page.text(&format!(
        "In {} seconds of the span the near host was disturbed: in {} the program did not run for a while, in {} the \
         hypervisor took much of the CPU time, in {} the clock was set, in {} the host dropped packets. Minutes and hours, and \
         the changes found in them, leave these seconds out; of the last kind, those with loss.",
        format_count(facts.excluded.len() as u64),
        of_cause("stalled"),
        of_cause("stolen"),
        of_cause("clock"),
        of_cause("dropped")
    ));
}

fn method(page: &mut Page, facts: &Facts<'_>) {
    page.heading("Method");
    let request = facts.request;
    let span_s = request.until_ns.saturating_sub(request.since_ns) / 1_000_000_000;
    let minutes = facts.over_time.len();
    page.text(&format!(
        "Weir {} on the near host sent windows of small UDP packets to the far host all the time and took the time until each \
         was answered. Quantiles are those of all packets of a time, from distributions with an error of at most 0.4 %. The span \
         is {}; the plots have {minutes} points. Changes are found by CUSUM tests with a false-alarm rate of one a path in 90 \
         days. Intervals of rates are exact (Garwood). Flow tests send several UDP flows with different ports at once, in both \
         directions.",
        request.version,
        format_duration(span_s.saturating_mul(1_000_000_000)),
    ));
}

/// A text in HTML.
fn escaped(text: impl Display) -> String {
    let mut safe = String::new();
    for letter in text.to_string().chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}
