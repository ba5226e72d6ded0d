//! Plans of watchers as tables.

use weir_watch::config::Budget;
use weir_watch::plan::{MONTH_DAYS, Plan};

use super::{or_dash, table, titled};
use crate::units::{format_bytes, format_duration};

/// Maximum number of pairs in the table.
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
    let mut text = titled(&format!("{} pairs", plan.pairs.len()), &rows);
    if plan.pairs.len() > MOST_ROWS {
        text.push_str(&format!("... and {} more\n", plan.pairs.len() - MOST_ROWS));
    }
    if let Some(survey) = &plan.survey {
        text.push_str(&format!(
            "surveys: each pair every {}, {} rounds, one survey a host at a time, at most {} and {} each\n",
            format_duration(survey.every_ns),
            survey.rounds,
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
            "note: {} pairs have no price: name the cloud of both hosts\n",
            plan.unpriced_pairs
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
        "weir watch: {} pairs from here, at most {} a day; Ctrl-C ends it, SIGHUP reads the file again",
        own.len(),
        format_bytes(bytes)
    )
}
