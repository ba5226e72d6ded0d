//! Links as text.

use crate::units::{format_bytes, format_count, format_duration, format_signed_duration};
use weir_lab::{Account, DirectionAccount, LinkState};

use super::{counted, table, titled};

/// Profiles, one line each.
pub fn profiles(rows: &[(&str, &str)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter()
        .map(|(name, headline)| format!("{name:width$}  {headline}\n"))
        .collect()
}

/// Statistics of a link.
pub fn account(name: &str, account: &Account) -> String {
    let mut shown = table(&[
        "",
        "offered",
        "delivered",
        "dropped",
        "late P50",
        "P99",
        "max",
        "CPU",
    ]);
    let ways = [("forward", &account.forward), ("reverse", &account.reverse)];
    for (way, direction) in ways {
        shown.add_row(direction_row(way, direction, account.duration_ns));
    }
    let causes: String = ways
        .iter()
        .filter_map(|(way, direction)| causes(direction).map(|causes| format!("{way}: {causes}\n")))
        .collect();
    let title = format!("link {name}, up for {}", format_duration(account.duration_ns));
    let table = titled(&title, &shown);
    let priority = match account.duration_ns > 0 && !account.has_real_time_priority() {
        true => "the link runs without real-time priority, which needs root\n",
        false => "",
    };
    format!("{}\n{causes}{priority}", table.trim_end())
}

fn direction_row(way: &str, direction: &DirectionAccount, duration_ns: u64) -> Vec<String> {
    let late = |value: i64| match direction.lateness.count {
        0 => "-".to_owned(),
        _ => format_signed_duration(value),
    };
    let cpu = 100.0 * direction.cpu_ns as f64 / duration_ns.max(1) as f64;
    vec![
        way.to_owned(),
        format_count(direction.offered),
        format_count(direction.delivered),
        format_count(direction.dropped.total()),
        late(direction.lateness.p50),
        late(direction.lateness.p99),
        late(direction.lateness.max),
        format!("{cpu:.1} %"),
    ]
}

/// Counts of packets that were not simply delivered; none if there are none.
fn causes(direction: &DirectionAccount) -> Option<String> {
    let (dropped, own) = (&direction.dropped, &direction.own_losses);
    let mut parts: Vec<String> = counted([
        (dropped.loss, "lost"),
        (dropped.queue, "dropped by a full queue"),
        (dropped.dark, "dropped on a dark route"),
        (dropped.too_big, "longer than the MTU"),
        (dropped.long_packet, "lost by length"),
        (dropped.flow_rate, "above the flow rate"),
        (dropped.packet_rate, "above the packet rate"),
        (dropped.extra_flow, "lost by number of flows"),
        (direction.duplicated, "duplicated"),
        (direction.corrupted, "corrupted"),
        (own.total(), "dropped by overload of the link itself"),
    ])
    .collect();
    if direction.most_queued_bytes > 0 {
        parts.push(format!(
            "queue at most {}",
            format_bytes(direction.most_queued_bytes)
        ));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// How to run commands on the hosts of a link.
pub fn where_to_attach(state: &LinkState) -> String {
    let mut text = String::new();
    for (name, host) in [("near", &state.near), ("far", &state.far)] {
        text.push_str(&format!(
            "{name:4}  {}  {}  ip netns exec {}\n",
            host.ipv4, host.ipv6, host.namespace
        ));
    }
    text.push_str(&format!("or: weir lab link shell near {}\n", state.name));
    text
}
