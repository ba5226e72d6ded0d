//! Verdicts on runs: stored, taken back when a run goes on or a newer Weir asks, and gone with the run.

use rusqlite::Connection;
use weir_results::*;

fn sample(kinds: &[(&str, Option<RunId>)]) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("weir.db")).unwrap();
    for (kind, parent) in kinds {
        let new = NewRun {
            kind: (*kind).into(),
            parent: *parent,
            ..NewRun::default()
        };
        store.begin_run(&new).unwrap();
    }
    (folder, store)
}

fn found() -> RunVerdict {
    RunVerdict {
        answer: Some("carries".into()),
        faults: 0,
        notices: 1,
        worst: Some("the sender did not keep its schedule".into()),
    }
}

#[test]
fn a_verdict_counts_for_the_run_as_it_was_and_for_the_version_that_made_it() {
    let (_folder, store) = sample(&[("rtt", None), ("lab", None)]);
    let last = store.run(RunId(1)).unwrap().last_unix_ns;
    assert_eq!(store.verdict(RunId(1), "1").unwrap(), None);
    store.set_verdict(RunId(1), last, "1", Some(&found())).unwrap();
    assert_eq!(store.verdict(RunId(1), "1").unwrap(), Some(Some(found())));
    assert_eq!(store.verdict(RunId(1), "2").unwrap(), None, "another version");
    store
        .set_verdict(RunId(1), last - 1, "1", Some(&found()))
        .unwrap();
    assert_eq!(store.verdict(RunId(1), "1").unwrap(), None, "the run went on");
    let last = store.run(RunId(2)).unwrap().last_unix_ns;
    store.set_verdict(RunId(2), last, "1", None).unwrap();
    assert_eq!(store.verdict(RunId(2), "1").unwrap(), Some(None), "no diagnosis");
    assert!(store.set_verdict(RunId(9), last, "1", None).is_err());
}

#[test]
fn a_verdict_goes_with_its_run() {
    let (_folder, store) = sample(&[("rtt", None)]);
    store.set_verdict(RunId(1), 1, "1", Some(&found())).unwrap();
    store
        .end_run(RunId(1), Outcome::Finished, None, 2, &serde_json::Value::Null)
        .unwrap();
    store.delete_run(RunId(1)).unwrap();
    let left: i64 = Connection::open(store.path())
        .unwrap()
        .query_row("SELECT count(*) FROM verdicts", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

#[test]
fn kinds_are_those_of_runs_that_stand_alone() {
    let (_folder, store) = sample(&[]);
    assert_eq!(store.kinds().unwrap(), Vec::<String>::new());
    let parts = [
        ("survey", None),
        ("mtu", Some(RunId(1))),
        ("flows", Some(RunId(1))),
        ("load", None),
        ("load", None),
    ];
    let (_folder, store) = sample(&parts);
    assert_eq!(store.kinds().unwrap(), ["load", "survey"]);
}
