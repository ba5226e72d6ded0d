//! Runs of the database as text.

use crate::units::{format_count, format_duration};
use weir_results::{Run, RunVerdict};

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
            utc(run.started_unix_ns),
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
    let counted = |count: u64, name: &str| {
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{} {name}{plural}", format_count(count)))
    };
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

/// Unix nanoseconds as a date and time, UTC; the calendar by Howard Hinnant's `civil_from_days`.
pub fn utc(unix_ns: u64) -> String {
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

    #[test]
    fn dates_are_those_of_date_1() {
        // Values from `date -u -d @N '+%F %T'`.
        assert_eq!(utc(0), "1970-01-01 00:00:00");
        assert_eq!(utc(951_782_399_000_000_000), "2000-02-28 23:59:59");
        assert_eq!(utc(951_868_800_000_000_000), "2000-03-01 00:00:00");
        assert_eq!(utc(1_795_231_496_999_999_999), "2026-11-21 03:24:56");
    }
}
