//! `weir mesh status`: launched machines and their cost so far.

use std::collections::BTreeSet;

use crate::args::{GlobalOptions, StatusArgs};
use serde_json::{Value, json};
use weir_mesh::cloud::leftovers::Leftover;
use weir_mesh::cloud::record::Record;
use weir_mesh::held::now_unix_s;

use super::super::output::print;
use super::super::{Failure, tables};
use super::launch::place_json;
use super::launches::{find, looks, state_folder};

/// Prints the launches and tagged resources.
pub fn run(args: &StatusArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let presses = super::presses::watch()?;
    let now = now_unix_s();
    let (mut launches, mut failed) = (Vec::new(), Vec::new());
    for mut folder in state_folder(args.tagged.state.as_deref())?.runs()? {
        match folder.record() {
            Ok(record) => {
                let is_held = !folder.try_lock()?;
                launches.push((record, is_held, folder.path.display().to_string()));
            }
            Err(error) => failed.push(error.to_string()),
        }
    }
    let looks = looks(&args.tagged, &presses.kill)?;
    let (found, not_found) = find(&looks, &presses.kill);
    failed.extend(not_found);
    let known: BTreeSet<&str> = launches.iter().map(|(record, ..)| record.run.as_str()).collect();
    let tagged: Vec<(&str, &Leftover)> = found
        .iter()
        .filter(|(_, leftover)| !known.contains(leftover.run.as_str()))
        .map(|(look, leftover)| (looks[*look].name.as_str(), leftover))
        .collect();
    if global.json {
        let objects: Vec<Value> = launches
            .iter()
            .map(|(record, is_held, path)| launch_json(record, *is_held, path, now))
            .collect();
        let tagged: Vec<Value> = tagged
            .iter()
            .map(|(place, one)| tagged_json(place, one))
            .collect();
        let object = json!({ "launches": objects, "tagged": tagged, "failed": failed });
        print(&format!("{object}\n"))?;
    } else {
        let mut text = String::new();
        for (record, is_held, path) in &launches {
            let held = if *is_held {
                "held by its process"
            } else {
                "its process is gone; remove it with 'weir mesh sweep'"
            };
            text.push_str(&tables::mesh_machines(record, now));
            text.push_str(&format!("launch {} in {path}: {held}\n\n", record.run));
        }
        if !looks.is_empty() || !tagged.is_empty() {
            text.push_str(&tables::mesh_tagged(&tagged, now));
        } else if launches.is_empty() {
            text.push_str("no launch records on this host\n");
        }
        print(&text)?;
    }
    match failed.first() {
        None => Ok(()),
        Some(first) => Err(Failure::environment(format!("the status is incomplete: {first}"))),
    }
}

fn launch_json(record: &Record, is_held: bool, path: &str, now: i64) -> Value {
    let usd: f64 = record.places.iter().filter_map(|place| place.usd(now)).sum();
    let unpriced = record
        .places
        .iter()
        .filter(|place| place.usd(now).is_none())
        .count();
    json!({
        "launch": record.run,
        "held": is_held,
        "folder": path,
        "begun_unix_s": record.begun_unix_s,
        "delete_after_unix_s": record.delete_after_unix_s,
        "usd": usd,
        "unpriced_places": unpriced,
        "places": record.places.iter().map(|place| place_json(place, now)).collect::<Vec<Value>>(),
    })
}

/// A tagged resource, as JSON.
pub fn tagged_json(place: &str, leftover: &Leftover) -> Value {
    json!({
        "place": place,
        "launch": leftover.run,
        "delete_after_unix_s": leftover.delete_after_unix_s,
        "kind": leftover.kind,
        "id": leftover.id,
    })
}
