//! Runs copied from another database: a survey with its parts, and files that are not databases.

use rusqlite::Connection;
use serde_json::Value;
use weir_results::{Outcome, Run, RunFilter, RunId, SCHEMA_VERSION, Store, Table};

use crate::sample;

/// The content of a run except its numbers and its target.
fn content(store: &Store, run: RunId) -> (Run, Vec<(Table, u64)>) {
    let found = store.run(run).unwrap();
    let content = Run {
        id: RunId(0),
        parent: None,
        target: String::new(),
        ..found
    };
    (content, store.counts(run).unwrap())
}

#[test]
fn a_run_and_its_parts_come_with_all_their_records() {
    let (_far, far, top) = sample::database();
    let mut far_store = Store::open(&far).unwrap();
    let part = {
        let mut new = sample::new_run();
        new.parent = Some(top);
        new.kind = "rtt".into();
        let part = far_store.begin_run(&new).unwrap();
        far_store.append(part, &sample::records()).unwrap();
        far_store
            .end_run(part, Outcome::Finished, None, 9_000, &Value::Null)
            .unwrap();
        part
    };
    let (_near, near, _) = sample::database();
    let store = Store::open(&near).unwrap();
    let parent = store.begin_run(&sample::new_run()).unwrap();
    for _twice in 0..2 {
        let taken = store.adopt(&far, parent, "a -> b").unwrap();
        assert_eq!(taken.len(), 1);
        let adopted = store.run(taken[0]).unwrap();
        assert_eq!(
            (adopted.parent, adopted.target.as_str()),
            (Some(parent), "a -> b")
        );
        assert_eq!(content(&store, taken[0]), content(&far_store, top));
        assert_eq!(store.records(taken[0]).unwrap(), far_store.records(top).unwrap());
        let parts = store
            .runs(&RunFilter {
                parent: Some(taken[0]),
                ..RunFilter::default()
            })
            .unwrap();
        assert_eq!(parts.len(), 1);
        assert_eq!(content(&store, parts[0].id), content(&far_store, part));
        assert_eq!(parts[0].target, far_store.run(part).unwrap().target);
        assert!(!content(&store, parts[0].id).1.is_empty());
    }
}

#[test]
fn what_is_no_results_database_is_refused_and_nothing_is_taken() {
    let (folder, near, _) = sample::database();
    let store = Store::open(&near).unwrap();
    let parent = store.begin_run(&sample::new_run()).unwrap();
    let runs = store.runs(&RunFilter::default()).unwrap().len();
    let whole = std::fs::read(&near).unwrap();
    let text = b"no database at all".repeat(100);
    for (name, bytes) in [("text.db", &text[..]), ("cut.db", &whole[..5_000])] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let error = store.adopt(&file, parent, "x").unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    // Ours by its marks, but what should be tables are views, which could hold anything.
    let file = folder.path().join("views.db");
    let odd = Connection::open(&file).unwrap();
    odd.execute_batch(&format!(
        "PRAGMA application_id = 0x57454952; PRAGMA user_version = {SCHEMA_VERSION};
         CREATE VIEW runs AS SELECT 1 AS run_id, NULL AS parent_run_id, 'running' AS outcome, 0 AS last_unix_ns;"
    ))
    .unwrap();
    drop(odd);
    assert!(store.adopt(&file, parent, "x").is_err());
    assert_eq!(store.runs(&RunFilter::default()).unwrap().len(), runs);
    assert!(
        store
            .adopt(&folder.path().join("nowhere.db"), parent, "x")
            .is_err()
    );
}
