//! Testbeds: workflows, functions, states, and results.

use crate::units::{format_bytes, format_count, format_duration, format_percent, format_rate};
use serde_json::Value;
use weir_testbed::{Function, Reach, Summary, TaskResult, TestbedState, Workflow};

use super::{or_dash, table, titled};

/// Tasks and connections of a workflow.
pub fn testbed_workflow(workflow: &Workflow) -> String {
    let mut tasks = table(&["task", "function", "host", "own cores", "CPU limit", "parameters"]);
    for task in &workflow.tasks {
        let defaults = &task.function.parameters;
        let set = task
            .parameters
            .iter()
            .filter(|(name, value)| defaults.get(*name).is_none_or(|spec| spec.default != **value));
        let set: Vec<String> = set.map(|(name, value)| format!("{name}={value}")).collect();
        tasks.add_row([
            task.name.clone(),
            task.function.id.clone(),
            on_host(task.host.as_ref()),
            or_dash(task.vcpu, |count| count.to_string()),
            or_dash(task.cpu_limit, |cores| format!("{cores} cores")),
            set.join(" "),
        ]);
    }
    let mut text = titled(
        &format!("workflow {}: {}", workflow.id, workflow.description),
        &tasks,
    );
    for connection in &workflow.connections {
        let (from, to) = (&workflow.tasks[connection.from], &workflow.tasks[connection.to]);
        let link = connection.link.as_ref().map_or("", |_| ", over an emulated link");
        text.push_str(&format!(
            "{} to {} (port {}){link}\n",
            from.name, to.name, connection.input
        ));
    }
    text
}

/// The host of a task, as tables show it.
fn on_host(name: Option<&String>) -> String {
    name.map_or("this", String::as_str).to_owned()
}

/// What was removed: testbeds of this host, folders on others, and launches of machines.
pub fn testbed_cleaned(cleaned: &[String], on_hosts: &[Value], launches: &[Value]) -> String {
    let mut text = String::new();
    for one in launches {
        let name = one["launch"].as_str().unwrap_or_default();
        text.push_str(&format!("removed the machines of launch {name}\n"));
    }
    if !cleaned.is_empty() {
        text.push_str(&format!("removed {}\n", cleaned.join(", ")));
    }
    for one in on_hosts {
        let word = |key: &str| one[key].as_str().unwrap_or_default();
        text.push_str(&format!("removed {} on {}\n", word("folder"), word("host")));
    }
    if text.is_empty() {
        text.push_str("nothing to remove\n");
    }
    text
}

/// Functions with their ports and parameters.
pub fn testbed_functions<'a>(functions: impl Iterator<Item = &'a Function>) -> String {
    let mut text = String::new();
    for function in functions {
        text.push_str(&format!("{}: {}\n", function.id, function.description));
        for (what, ports) in [
            ("in", &function.inputs),
            ("in, optional", &function.optional_inputs),
            ("out", &function.outputs),
        ] {
            if !ports.is_empty() {
                text.push_str(&format!("  ports {what}: {}\n", ports.join(", ")));
            }
        }
        for (name, spec) in &function.parameters {
            let default = if spec.default.is_empty() {
                String::new()
            } else {
                format!(" [default: {}]", spec.default)
            };
            text.push_str(&format!("  {name}: {}{default}\n", spec.description));
        }
    }
    text
}

/// Testbeds on this host.
pub fn testbed_states(states: &[TestbedState]) -> String {
    if states.is_empty() {
        return "no testbeds\n".to_owned();
    }
    let mut text = String::new();
    for state in states {
        let mut tasks = table(&["task", "function", "host", "state", "process", "namespace"]);
        for task in &state.tasks {
            tasks.add_row([
                task.task.clone(),
                task.function.clone(),
                on_host(task.host.as_ref()),
                task.state.name().to_owned(),
                or_dash(task.pid, |pid| pid.to_string()),
                task.namespace.clone(),
            ]);
        }
        let runner = match state.is_alive() {
            true => format!("runner is process {}", state.pid),
            false if state.has_ended() => "ended".to_owned(),
            false => "runner was killed; 'weir testbed clean' removes what it left".to_owned(),
        };
        text.push_str(&titled(
            &format!("{} (workflow {}): {runner}", state.name, state.workflow),
            &tasks,
        ));
    }
    text
}

/// The result of a run: the answers, then the figures of each task.
pub fn testbed(summary: &Summary) -> String {
    let mut tasks = table(&[
        "task",
        "function",
        "host",
        "cores",
        "IN",
        "OUT",
        "OUT/IN",
        "busy cores",
        "memory",
        "own IN",
        "own OUT",
        "received",
    ]);
    for task in &summary.tasks {
        let cores: Vec<String> = task.cores.iter().map(usize::to_string).collect();
        tasks.add_row([
            task.task.clone(),
            task.function.clone(),
            on_host(task.host.as_ref()),
            format!(
                "{}{}{}",
                cores.join(","),
                if task.own_cores { "" } else { " shared" },
                task.cpu_limit
                    .map_or(String::new(), |most| format!(", at most {most}")),
            ),
            format_bytes(task.taken.payload_bytes),
            format_bytes(task.given.payload_bytes),
            or_dash(task.efficiency, |ratio| format!("{ratio:.3}")),
            format!("{:.2}", task.busy_cores),
            format_bytes(task.memory_bytes),
            or_dash(task.own.and_then(|own| own.in_bytes), |count| {
                format_bytes(count as u64)
            }),
            or_dash(task.own.and_then(|own| own.out_bytes), |count| {
                format_bytes(count as u64)
            }),
            or_dash(task.sink, |sink| format_bytes(sink.received_bytes)),
        ]);
    }
    let title = format!(
        "TCP payload by the kernel's counters over {}, cores by {}",
        format_duration(summary.duration_ns),
        summary.pinned_by
    );
    answers(summary) + &titled(&title, &tasks)
}

/// What a run says, line by line: the whole, each task that serves, caches, and viewers.
fn answers(summary: &Summary) -> String {
    let rate = |bps: f64| format_rate(bps.round() as u64);
    let mut text = format!(
        "{}: {} to viewers from {} of storage, OUT/IN {}\n",
        summary.workflow,
        rate(summary.viewers_bps),
        rate(summary.storage_bps),
        or_dash(summary.efficiency, |ratio| format!("{ratio:.3}"))
    );
    for task in summary.tasks.iter().filter(|task| task.out_bps > 0.0) {
        text.push_str(&format!("{}\n", answer(task)));
    }
    for task in &summary.tasks {
        if let Some(sink) = &task.sink {
            text.push_str(&format!(
                "{}: {} requests ({} failed), {:.1} requests/s, mean {}, P99 {}\n",
                task.task,
                format_count(sink.requests),
                format_count(sink.failed),
                sink.requests_per_second,
                format_duration(sink.mean_ns as u64),
                format_duration(sink.p99_ns as u64),
            ));
        }
    }
    for (task, cache) in summary.tasks.iter().filter_map(|task| Some((task, task.cache?))) {
        text.push_str(&format!(
            "{}: {} hits, {} misses, {} passed on\n",
            task.task,
            format_count(cache.hits),
            format_count(cache.misses),
            format_count(cache.passed),
        ));
    }
    for (task, found) in summary
        .tasks
        .iter()
        .filter_map(|task| Some((task, task.capacity?)))
    {
        text.push_str(&format!(
            "{}: at most {} viewers; at {} no trial broke, at {} none held\n",
            task.task,
            found.viewers,
            found.low,
            or_dash(found.high, |high| high.to_string()),
        ));
    }
    text
}

fn answer(task: &TaskResult) -> String {
    let rate = |bps: f64| format_rate(bps.round() as u64);
    let from = match task.efficiency {
        Some(ratio) => format!(", IN {}, OUT/IN {ratio:.3}", rate(task.in_bps)),
        None => String::new(),
    };
    let limit = if task.limit { ": the limit" } else { "" };
    let machine = task.machine.as_ref().map_or(String::new(), |machine| {
        let cost = machine.usd_per_gbit_hour;
        let cost = cost.map_or(String::new(), |usd| format!(", {usd:.4} USD/h per Gbit/s"));
        format!("; on {}{cost}", machine.kind)
    });
    format!(
        "{} ({}): OUT {}, peak {}{from}, {:.2} cores busy, peak {:.2}{limit}{machine}",
        task.task,
        task.function,
        rate(task.out_bps),
        rate(task.peak_out_bps),
        task.busy_cores,
        task.peak_busy_cores,
    )
}

/// Runs beside each other: a header and a row each.
pub fn testbed_comparison(rows: &[Vec<String>]) -> String {
    let Some((header, rows)) = rows.split_first() else {
        return String::new();
    };
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut shown = table(&header);
    for row in rows {
        shown.add_row(row);
    }
    titled("runs beside each other", &shown)
}

/// Viewers of an origin's output, and costs.
pub fn testbed_audience(reach: &Reach) -> String {
    let audience = &reach.audience;
    let count = |viewers: f64| format_count(viewers as u64);
    let mut text = format!("{} viewers at once", count(reach.viewers_at_once));
    if audience.at_once < 1.0 {
        text.push_str(&format!(
            ", {} of an audience of {}",
            format_percent(audience.at_once),
            count(reach.viewers)
        ));
    }
    text.push_str(&format!(
        "\n{} from the origin; a viewer plays {}, of which caches answer {} and the origin {}\n",
        format_rate(audience.out_bps as u64),
        format_rate(audience.viewer_bps as u64),
        format_percent(audience.hit_ratio),
        format_rate(audience.caused_bps() as u64),
    ));
    if let Some(catalogue) = &reach.catalogue {
        text.push_str(&format!(
            "hit ratio: a cache of {} of {} titles with popularity n^-{}, independent requests\n",
            format_count(catalogue.cached.into()),
            format_count(catalogue.titles.into()),
            catalogue.zipf
        ));
    }
    if let Some(wanted) = &reach.wanted {
        text.push_str(&format!(
            "{} viewers need a hit ratio of {}\n",
            format_count(wanted.viewers),
            format_percent(wanted.hit_ratio)
        ));
    }
    let mut costs = table(&[
        "machines",
        "sold rate",
        "USD/h",
        "USD/h per Gbit/s",
        "USD/h per 1,000 viewers",
        "as of",
    ]);
    for cost in &reach.costs {
        let mark = |read: bool| if read { "" } else { " (unverified)" };
        let machine = &cost.machine;
        costs.add_row([
            format!("{} x {}", cost.count, machine.name),
            format!(
                "{}{}",
                format_rate(machine.holds_bps as u64),
                mark(machine.rate_read)
            ),
            format!("{:.3}{}", cost.usd_hour, mark(machine.price_read)),
            format!("{:.3}", cost.usd_gbit_hour),
            format!("{:.5}", cost.usd_thousand_viewers_hour),
            machine.date.clone(),
        ]);
    }
    text.push_str(&titled("what holds it by its sold rate, without traffic", &costs));
    text
}
