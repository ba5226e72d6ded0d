//! Launched machines and tagged resources as tables.

use crate::units::format_duration;
use weir_mesh::cloud::leftovers::Leftover;
use weir_mesh::cloud::record::{Phase, Record};

use super::{or_dash, table, titled};

/// The places of a launch.
pub fn mesh_machines(record: &Record, now_unix_s: i64) -> String {
    let mut rows = table(&["place", "state", "machines", "address", "since", "USD so far"]);
    let (mut usd, mut unpriced) = (0.0, 0);
    for place in &record.places {
        let cost = place.usd(now_unix_s);
        match cost {
            Some(cost) => usd += cost,
            None => unpriced += 1,
        }
        let addresses: Vec<String> = place.hosts.iter().map(|host| host.address.to_string()).collect();
        let state = match (&place.problem, place.phase) {
            (Some(_), Phase::Planned | Phase::Gone) => "failed",
            (_, phase) => phase.as_str(),
        };
        rows.add_row(vec![
            place.place.to_string(),
            state.to_owned(),
            place.machines.to_string(),
            addresses.join(" "),
            or_dash(place.begun_unix_s, |begun| seconds(now_unix_s - begun)),
            or_dash(cost, |cost| format!("{cost:.4}")),
        ]);
    }
    let mut text = titled(&format!("launch {}", record.run), &rows);
    let left = record.delete_after_unix_s - now_unix_s;
    let end = if left > 0 {
        format!("machines terminate themselves in {}", seconds(left))
    } else {
        "machines should have terminated themselves".to_owned()
    };
    text.push_str(&format!("{end}; machines so far: {usd:.4} USD at list prices"));
    if unpriced > 0 {
        text.push_str(&format!(", excluding {unpriced} places without a known price"));
    }
    text.push('\n');
    text
}

/// Tagged resources without a record on this host.
pub fn mesh_tagged(tagged: &[(&str, &Leftover)], now_unix_s: i64) -> String {
    if tagged.is_empty() {
        return "no other tagged resources\n".to_owned();
    }
    let mut rows = table(&["place", "launch", "kind", "id", "time left"]);
    for (place, leftover) in tagged {
        let left = leftover
            .delete_after_unix_s
            .map(|due| due.saturating_sub(now_unix_s));
        rows.add_row(vec![
            (*place).to_owned(),
            leftover.run.clone(),
            leftover.kind.clone(),
            leftover.id.clone(),
            match left {
                Some(left) if left > 0 => seconds(left),
                Some(_) => "over".to_owned(),
                None => "-".to_owned(),
            },
        ]);
    }
    titled("tagged resources without a record on this host", &rows)
}

fn seconds(seconds: i64) -> String {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    format_duration(seconds.saturating_mul(1_000_000_000))
}
