//! `weir runs merge` for watchers: what several of them keep, in one results store.

use std::path::PathBuf;

use serde_json::json;
use weir_results::Store;

use crate::args::{GlobalOptions, RunIn};
use crate::commands::Failure;
use crate::commands::output::print;
use crate::commands::progress::Waiting;
use crate::commands::run_store::find;
use crate::commands::runs::is_same_file;
use weir_units::count_of;

/// Adds the stores in which these runs are to that of `--db`, each once.
pub fn merge(names: &[RunIn], global: &GlobalOptions) -> Result<(), Failure> {
    let mut sources: Vec<PathBuf> = Vec::new();
    for name in names {
        let path = name.database.as_ref().unwrap_or(&global.db);
        let source = Store::open_read_only(path)?;
        let run = source.run(find(&source, name.run)?)?;
        if run.kind != "watch" {
            return Err(Failure::usage(format!(
                "run {} of {} is of kind {}; a watcher's merges with those of other watchers only",
                run.id,
                path.display(),
                run.kind
            )));
        }
        let is_known = sources.iter().any(|known| is_same_file(known, path));
        if !is_known && !is_same_file(path, &global.db) {
            sources.push(path.clone());
        }
    }
    if sources.is_empty() {
        return Err(Failure::usage(
            "these watchers keep the same results store; name runs in others, such as ams.db:last",
        ));
    }
    let store = Store::open(&global.db)?;
    let (mut lines, mut objects) = (String::new(), Vec::new());
    for source in sources {
        let waiting = Waiting::new(&format!("adding {}", source.display()), global.quiet);
        let added = store.add_watch(&source)?;
        drop(waiting);
        lines.push_str(&format!(
            "{}: {}, {}, {} of watchers\n",
            source.display(),
            count_of(added.paths, "path"),
            count_of(added.cells, "cell"),
            count_of(added.runs.len() as u64, "run")
        ));
        objects.push(json!({
            "from": source.display().to_string(), "paths": added.paths, "cells": added.cells, "runs": added.runs
        }));
    }
    if global.json {
        let object = json!({ "database": global.db.display().to_string(), "added": objects });
        return print(&format!("{object}\n"));
    }
    print(&lines)
}
