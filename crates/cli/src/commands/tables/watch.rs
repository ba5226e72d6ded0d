//! Plans of watchers as tables.

use weir_units::{count_of, format_utc};
use weir_watch::change::Metric;
use weir_watch::config::Budget;
use weir_watch::history::{Fault, History, Kind, PathHistory, PathTrend, Rates, TimeOfDay};
use weir_watch::plan::{MONTH_DAYS, Plan};
use weir_watch::rare::figures;

use super::{or_dash, table, titled};
use crate::units::{format_bytes, format_count, format_duration, format_percent, format_signed_duration};

/// Maximum number of rows of a table.
const MOST_ROWS: usize = 50;

/// The schedule with its traffic and cost.
pub fn watch_plan(plan: &Plan, budget: &Budget) -> String {
    let mut rows = table(&[
        "pair",
        "here",
        "RTT",
        "flows",
        "survey round",
        "a day",
        "USD a month",
    ]);
    for pair in plan.pairs.iter().take(MOST_ROWS) {
        let recurs = |every: Option<u64>| {
            let every = every.filter(|_| !pair.stamp);
            or_dash(every, |every_ns| format!("every {}", format_duration(every_ns)))
        };
        rows.add_row(vec![
            format!("{} to {}", pair.from, pair.to),
            if pair.own { "yes" } else { "no" }.to_owned(),
            format!("every {}", format_duration(plan.rtt_interval_ns)),
            recurs(plan.flows_every_ns),
            or_dash(pair.survey_round, |round| (round + 1).to_string()),
            format_bytes(pair.bytes_a_day),
            or_dash(pair.usd_a_month, |usd| format!("{usd:.2}")),
        ]);
    }
    let mut text = titled(&count_of(plan.pairs.len() as u64, "pair"), &rows);
    if plan.pairs.len() > MOST_ROWS {
        text.push_str(&format!("... and {} more\n", plan.pairs.len() - MOST_ROWS));
    }
    if let Some(survey) = &plan.survey {
        text.push_str(&format!(
            "surveys: each pair every {}, {}, one survey a host at a time, at most {} and {} each\n",
            format_duration(survey.every_ns),
            count_of(survey.rounds as u64, "round"),
            format_bytes(survey.bytes),
            format_duration(survey.longest_ns)
        ));
        if survey.every_ns > survey.asked_every_ns {
            text.push_str(&format!(
                "note: the file asks for a survey every {}; the budget and the rounds allow one every {}\n",
                format_duration(survey.asked_every_ns),
                format_duration(survey.every_ns)
            ));
        }
    }
    let of_bytes = or_else(budget.bytes_a_day.map(|limit| format_bytes(limit.0)));
    let of_usd = or_else(budget.usd_a_month.map(|limit| format!("{limit:.2} USD")));
    text.push_str(&format!(
        "at most {} a day{of_bytes}, {:.2} USD in {MONTH_DAYS} days{of_usd}; IP packets of both ends\n",
        format_bytes(plan.bytes_a_day),
        plan.usd_a_month
    ));
    if plan.unpriced_pairs > 0 {
        text.push_str(&format!(
            "note: no price for {}: name the cloud of both hosts\n",
            count_of(plan.unpriced_pairs as u64, "pair")
        ));
    }
    text
}

fn or_else(limit: Option<String>) -> String {
    limit.map_or(String::new(), |limit| format!(" (budget {limit})"))
}

/// What a watcher starts with, in a line.
pub fn watch_start(plan: &Plan) -> String {
    let own: Vec<_> = plan.pairs.iter().filter(|pair| pair.own).collect();
    let bytes: u64 = own.iter().map(|pair| pair.bytes_a_day).sum();
    format!(
        "weir watch: {} from here, at most {} a day; Ctrl-C ends it, SIGHUP reads the file again",
        count_of(own.len() as u64, "pair"),
        format_bytes(bytes)
    )
}

/// The past of paths: figures, trends, patterns, rates, and whose fault.
pub fn watch_history(history: &History) -> String {
    let mut text = format!("{}\n", watch_figures(&history.pairs).trim_end());
    let trends: Vec<String> = history.pairs.iter().flat_map(trend_lines).collect();
    text.push_str(&section(
        "trends",
        &trends,
        "no figure rises or falls for certain",
    ));
    let placed: Vec<String> = history.pairs.iter().flat_map(placement_lines).collect();
    if !placed.is_empty() {
        text.push_str(&section("placement", &placed, ""));
    }
    let patterns: Vec<String> = history.pairs.iter().flat_map(pattern_lines).collect();
    text.push_str(&section("by the time of day", &patterns, "no pattern"));
    text.push_str(&watch_rates(&history.rates()));
    text
}

/// Rates of rare events by path, and by what paths have in common.
pub fn watch_rates(rates: &Rates) -> String {
    let of_pair = rates.pairs.iter().flat_map(|pair| {
        let each = pair.rates.iter();
        each.map(move |rate| format!("{} to {}: {}", pair.from, pair.to, rate.in_words()))
    });
    let mut text = section("rare events", &of_pair.collect::<Vec<_>>(), "none was looked for");
    text.push_str(&watch_faults(&rates.faults));
    text
}

fn watch_figures(pairs: &[PathHistory]) -> String {
    let mut rows = table(&[
        "pair", "measured", "packets", "loss", "P50", "P90", "P99", "changes",
    ]);
    for pair in pairs {
        let quantile = |value: Option<u64>| or_dash(value, format_duration);
        rows.add_row(vec![
            format!("{} to {}", pair.from, pair.to),
            format_duration(pair.measured_s.saturating_mul(1_000_000_000)),
            format_count(pair.sent),
            format_percent(pair.lost as f64 / pair.sent.max(1) as f64),
            quantile(pair.p50_ns),
            quantile(pair.p90_ns),
            quantile(pair.p99_ns),
            pair.changes.len().to_string(),
        ]);
    }
    titled(&count_of(pairs.len() as u64, "pair"), &rows)
}

fn section(title: &str, lines: &[String], none: &str) -> String {
    let lines: String = match lines.is_empty() {
        true => format!("  {none}\n"),
        false => lines.iter().map(|line| format!("  {line}\n")).collect(),
    };
    format!("\n{title}\n{lines}")
}

fn title_of(metric: Metric) -> &'static str {
    match metric {
        Metric::P50 => "P50",
        Metric::P90 => "P90",
        Metric::Loss => "loss",
        Metric::Hops => "hops",
        Metric::RoutesForward | Metric::RoutesReverse => "routes",
        Metric::MtuForward | Metric::MtuReverse => "path MTU",
    }
}

fn trend_lines(pair: &PathHistory) -> impl Iterator<Item = String> {
    let certain = pair.trends.iter().filter(|trend| trend.is_certain());
    certain.map(move |trend| format!("{} to {}: {}", pair.from, pair.to, trend_words(trend)))
}

fn trend_words(trend: &PathTrend) -> String {
    let value = |value: f64| match trend.metric {
        Metric::Loss => format!("{:+.2e}", value),
        _ => format_signed_duration(value as i64),
    };
    let days = (trend.until_s - trend.since_s) as f64 / 86_400.0;
    let verb = if trend.per_day > 0.0 { "rises" } else { "falls" };
    format!(
        "{} {verb} by {} a day (95 % interval {} to {}), {:+.1} % in {days:.0} d",
        title_of(trend.metric),
        value(trend.per_day.abs()).trim_start_matches('+'),
        value(trend.low),
        value(trend.high),
        100.0 * trend.per_day * days / trend.level.max(f64::MIN_POSITIVE)
    )
}

fn placement_lines(pair: &PathHistory) -> impl Iterator<Item = String> {
    let each = pair.placements.iter();
    each.map(move |step| {
        let ends = step
            .ends
            .iter()
            .map(|end| match end.instance_before == end.instance_after {
                true => format!(
                    "{} in {}: {} before and after",
                    end.host, end.zone, end.instance_before
                ),
                false => format!(
                    "{} in {}: {} before, {} after",
                    end.host, end.zone, end.instance_before, end.instance_after
                ),
            });
        let changed = if step.is_replaced {
            "changed"
        } else {
            "may have changed"
        };
        format!(
            "{} to {}: placement {changed} at {}, by a step of {}; {}",
            pair.from,
            pair.to,
            format_utc(step.since_unix_ns),
            step.metrics
                .join(" and ")
                .to_uppercase()
                .replace(" AND ", " and "),
            ends.collect::<Vec<_>>().join("; ")
        )
    })
}

fn pattern_lines(pair: &PathHistory) -> impl Iterator<Item = String> {
    let patterns = pair.time_of_day.iter().filter(|found| found.is_pattern);
    patterns.map(move |found| format!("{} to {}: {}", pair.from, pair.to, pattern_words(found)))
}

fn pattern_words(found: &TimeOfDay) -> String {
    let of_hour = |hour: u8| found.hours.iter().find(|one| one.hour == hour);
    let spread = of_hour(found.highest).map_or(String::new(), |hour| {
        format!(", {:.2} to {:.2} on 80 % of the days", hour.low, hour.high)
    });
    format!(
        "{} is {:.1} % higher at {:02} h than at {:02} h (UTC): {:.2} of its day's median{spread}; {} days",
        title_of(found.metric),
        100.0 * found.swing,
        found.highest,
        found.lowest,
        of_hour(found.highest).map_or(0.0, |hour| hour.median),
        found.days
    )
}

fn watch_faults(faults: &[Fault]) -> String {
    let line = |fault: &Fault| {
        let event = match fault.event {
            Kind::Change => "changed",
            Kind::Unreachable => "became unreachable",
            Kind::FlowDark => "had dark flows",
            Kind::Loss => "lost packets",
        };
        let times = match fault.events {
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            more => format!("{more} times"),
        };
        format!(
            "{} {event} {times}: {} to {} a day",
            fault.name,
            figures(fault.rate.low),
            figures(fault.rate.high)
        )
    };
    let mut lines: Vec<String> = faults.iter().take(MOST_ROWS).map(line).collect();
    if faults.len() > MOST_ROWS {
        lines.push(format!("... and {} more", faults.len() - MOST_ROWS));
    }
    section("whose fault", &lines, "no events")
}
