//! Runs of the database as text.

use crate::units::{format_count, format_duration};
use weir_results::{Run, RunVerdict};
use weir_units::{count_of, format_utc};

use super::table;

/// A list of runs with their verdicts.
pub fn runs(runs: &[(Option<RunVerdict>, Run)]) -> String {
    let mut shown = table(&[
        "run",
        "part of",
        "kind",
        "target",
        "started (UTC)",
        "took",
        "ended",
        "findings",
    ]);
    for (verdict, run) in runs {
        let took = run
            .ended_unix_ns
            .map(|ended| format_duration(ended.saturating_sub(run.started_unix_ns)));
        shown.add_row([
            run.id.to_string(),
            run.parent.map_or_else(String::new, |parent| parent.to_string()),
            run.kind.clone(),
            target(run),
            format_utc(run.started_unix_ns),
            took.unwrap_or_else(|| "-".to_owned()),
            run.outcome.to_string(),
            findings(verdict.as_ref()),
        ]);
    }
    shown
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

/// The far host; one that was simulated is not to be taken for one that was not.
fn target(run: &Run) -> String {
    let mark = if run.is_simulated() { " (simulated)" } else { "" };
    format!("{}{mark}", run.target)
}

/// What a diagnosis found, counted; a dash for a run without a diagnosis.
fn findings(verdict: Option<&RunVerdict>) -> String {
    let Some(verdict) = verdict else {
        return "-".to_owned();
    };
    let counted = |count: u64, name: &str| (count > 0).then(|| count_of(count, name));
    let found: Vec<String> = [
        counted(verdict.faults, "fault"),
        counted(verdict.notices, "notice"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if found.is_empty() {
        return "no findings".to_owned();
    }
    found.join(", ")
}

/// One run; `results` are its histograms and the like.
pub fn run(run: &Run, counts: &[(weir_results::Table, u64)], results: &str) -> String {
    let pretty = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap_or_default();
    // The target of a sender is its input.
    let way = match run.kind.as_str() {
        "send" => "of",
        "recv" => "from",
        _ => "to",
    };
    let mut text = format!(
        "run {}: {} {way} {}, {}\n",
        run.id,
        run.kind,
        target(run),
        run.outcome
    );
    text.push_str(&format!("started {} UTC", format_utc(run.started_unix_ns)));
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
    if !run.tags.is_empty() {
        text.push_str(&format!("tags: {}\n", run.tags.join(" ")));
    }
    if !run.note.is_empty() {
        text.push_str(&format!("note: {}\n", run.note.replace('\n', "\n      ")));
    }
    for (table, count) in counts.iter().filter(|(_, count)| *count > 0) {
        text.push_str(&format!("{} rows in {}\n", format_count(*count), table.name()));
    }
    if !results.is_empty() {
        text.push_str(&format!("\n{}\n\n", results.trim_end()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_counted() {
        let verdict = |faults: u64, notices: u64| RunVerdict {
            faults,
            notices,
            ..RunVerdict::default()
        };
        let shown = |faults, notices| findings(Some(&verdict(faults, notices)));
        assert_eq!(shown(2, 3), "2 faults, 3 notices");
        assert_eq!(shown(1, 0), "1 fault");
        assert_eq!(shown(0, 1), "1 notice");
        assert_eq!(shown(0, 0), "no findings");
        assert_eq!(findings(None), "-");
    }
}
