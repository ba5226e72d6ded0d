//! Tables of `weir load`.

use crate::units::{format_bytes, format_count, format_percent, format_rate, format_signed_duration};
use weir_load::capacity::{Capacity, Trial, Verdict};
use weir_load::engine::{Second, SoFar};
use weir_load::measure::{
    Account, Cause, Distribution, KindSummary, LoadSummary, OriginSource, QualitySummary, Times,
};

use super::{or_dash, table, titled};
use weir_units::count_of;

/// The result of a run.
pub fn load(summary: &LoadSummary) -> String {
    let mut text = requests(summary);
    text.push_str(&times("time to first byte", summary, |kind| &kind.first_byte));
    text.push_str(&times("time to last byte", summary, |kind| &kind.last_byte));
    text.push_str(&failures(summary));
    if let Some(quality) = &summary.quality {
        text.push_str(&viewers(quality));
    }
    if let Some(origin) = &summary.origin {
        let ratio = or_dash(origin.efficiency, |ratio| format!("{ratio:.3}"));
        text.push_str(&format!(
            "origin: {} in, {} out, OUT/IN {ratio} ({})\n\n",
            format_bytes(origin.in_bytes),
            format_bytes(origin.out_bytes),
            match origin.source {
                OriginSource::Metrics => "from its own metrics",
                OriginSource::Host => "from this host's interfaces, including headers and other traffic",
            },
        ));
    }
    text.push_str(&generator(summary));
    text
}

fn rows(summary: &LoadSummary) -> impl Iterator<Item = &KindSummary> {
    summary.kinds.iter().chain([&summary.all])
}

fn requests(summary: &LoadSummary) -> String {
    let mut shown = table(&[
        "",
        "requests",
        "failed",
        "requests/s",
        "bodies",
        "rate",
        "connections",
    ]);
    for kind in rows(summary) {
        shown.add_row([
            kind.kind.clone(),
            format_count(kind.requests),
            format_count(kind.failed),
            format!("{:.1}", kind.requests_per_second),
            format_bytes(kind.body_bytes),
            format_rate(kind.bits_per_second as u64),
            format_count(kind.connections),
        ]);
    }
    titled("requests", &shown)
}

fn times(title: &str, summary: &LoadSummary, of: impl Fn(&KindSummary) -> &Times) -> String {
    let mut shown = table(&["", "min", "mean", "P50", "P90", "P99", "P99.9", "max"]);
    for kind in rows(summary) {
        let times = of(kind);
        if times.count == 0 {
            continue;
        }
        let values = [
            times.min,
            times.mean.round() as i64,
            times.p50,
            times.p90,
            times.p99,
            times.p999,
            times.max,
        ];
        let mut row = vec![kind.kind.clone()];
        row.extend(values.map(format_signed_duration));
        shown.add_row(row);
    }
    titled(title, &shown)
}

fn failures(summary: &LoadSummary) -> String {
    if summary.all.failed == 0 {
        return String::new();
    }
    let mut shown = table(&["cause", "requests", ""]);
    for (cause, count) in &summary.all.failures {
        let words = Cause::ALL.into_iter().find(|known| known.name() == cause);
        let words = words.map_or("", Cause::words);
        shown.add_row([cause.clone(), format_count(*count), words.to_owned()]);
    }
    titled("failures", &shown)
}

/// A line on rates of sessions; empty if there are none.
fn rates(what: &str, rates: &Distribution) -> String {
    if rates.count == 0 {
        return String::new();
    }
    let shown = [rates.min, rates.p50, rates.p90, rates.max].map(|rate| format_rate(rate as u64));
    format!(
        "  {what}: min {}, P50 {}, P90 {}, max {}\n",
        shown[0], shown[1], shown[2], shown[3],
    )
}

fn viewers(quality: &QualitySummary) -> String {
    let ratio = or_dash(quality.rebuffer_ratio, format_percent);
    let bitrate = or_dash(quality.bitrate, |rate| format_rate(rate as u64));
    let mut text = format!(
        "viewers: {}, {} stalled ({}), {} aborted, {} without a first picture\n",
        count_of(quality.sessions, "session"),
        format_count(quality.stalled_sessions),
        count_of(quality.stalls, "stall"),
        format_count(quality.gave_up),
        format_count(quality.never_started),
    );
    text.push_str(&format!(
        "  rebuffer ratio {ratio}, mean bit rate {bitrate}, {} switches\n",
        quality.switches
    ));
    let ratios = &quality.rebuffer_ratios;
    if ratios.count > 0 {
        text.push_str(&format!(
            "  rebuffer ratio per session: P50 {}, P90 {}, P99 {}, max {}\n",
            format_percent(ratios.p50),
            format_percent(ratios.p90),
            format_percent(ratios.p99),
            format_percent(ratios.max),
        ));
    }
    text.push_str(&rates("bit rate per session", &quality.bitrates));
    text.push_str(&rates("estimated capacity per session", &quality.capacities));
    if quality.startup.count > 0 {
        text.push_str(&format!(
            "  start-up delay: P50 {}, P90 {}, P99 {}, max {}\n",
            format_signed_duration(quality.startup.p50),
            format_signed_duration(quality.startup.p90),
            format_signed_duration(quality.startup.p99),
            format_signed_duration(quality.startup.max),
        ));
    }
    text.push('\n');
    text
}

fn generator(summary: &LoadSummary) -> String {
    let mut text = format!(
        "generator: at most {} viewers, busiest thread {} of a core",
        format_count(summary.most_viewers),
        format_percent(summary.busiest),
    );
    if summary.schedule_error.count > 0 {
        let late = format_signed_duration(summary.schedule_error.p99);
        text.push_str(&format!(", schedule error P99 {late}"));
    }
    text.push('\n');
    text
}

/// A second of a run: a line, and below it one per kind of request.
pub fn load_live(second: &Second, so_far: &SoFar) -> String {
    let seconds = second.duration_ns as f64 / 1e9;
    let total = second.account.total();
    let late = or_dash(total.last_byte.quantile(0.99), format_signed_duration);
    let mut text = format!(
        "{} viewers, {:.0} requests/s, {}, P99 {late}, {} failed",
        format_count(second.viewers),
        total.requests as f64 / seconds.max(1e-9),
        format_rate((total.all_bytes as f64 * 8.0 / seconds.max(1e-9)) as u64),
        format_count(failed(&so_far.account)),
    );
    for (kind, account) in second.account.kinds() {
        let time = |q| or_dash(account.last_byte.quantile(q), format_signed_duration);
        text.push_str(&format!(
            "\n  {:<9} {:>7.0}/s  {:>14}  P50 {:>9}  P99 {:>9}",
            kind.name(),
            account.requests as f64 / seconds.max(1e-9),
            format_rate((account.all_bytes as f64 * 8.0 / seconds.max(1e-9)) as u64),
            time(0.5),
            time(0.99),
        ));
    }
    text
}

fn failed(account: &Account) -> u64 {
    account.kinds().map(|(_, kind)| kind.failed()).sum()
}

/// The result of a capacity search.
pub fn capacity(capacity: &Capacity) -> String {
    let mut shown = table(&["viewers", "run", "requests/s", "failed", "measured", ""]);
    for trial in &capacity.trials {
        shown.add_row([
            format_count(u64::from(trial.viewers)),
            trial.run_id.to_string(),
            format!("{:.1}", trial.requests_per_second),
            format_count(trial.failed),
            measured(trial),
            verdict(trial.verdict).to_owned(),
        ]);
    }
    let known = &capacity.interval;
    let high = known
        .high
        .map_or("no number tried failed in all trials".to_owned(), |high| {
            format!("from {high} all trials failed")
        });
    format!(
        "{}capacity: {} viewers with {} (up to {} all trials passed, {high})\n\n",
        titled("trials", &shown),
        format_count(u64::from(known.viewers)),
        capacity.holds.join(" and "),
        known.low,
    )
}

/// A trial as a line.
pub fn trial(trial: &Trial) -> String {
    format!(
        "{} viewers: {}, {:.0} requests/s: {}",
        format_count(u64::from(trial.viewers)),
        measured(trial),
        trial.requests_per_second,
        verdict(trial.verdict),
    )
}

fn measured(trial: &Trial) -> String {
    let texts: Vec<&str> = trial
        .conditions
        .iter()
        .map(|condition| condition.text.as_str())
        .collect();
    texts.join(", ")
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "passed",
        Verdict::Broke => "failed",
        Verdict::Unclear => "the generator was the limit",
    }
}
