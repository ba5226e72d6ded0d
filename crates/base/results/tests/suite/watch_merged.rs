//! What several watchers keep, in one database.

use serde_json::{Value, json};
use weir_results::{
    NewRun, Outcome, PathId, RunId, Span, Store, StoreError, WatchCell, WatchChange, WatchCount, WatchEvent,
    WatchExcluded,
};

fn cell(start_s: u64, rtts_ms: &[u64]) -> WatchCell {
    let mut cell = WatchCell {
        start_s,
        sent: rtts_ms.len() as u64 + 1,
        lost: 1,
        hops: Some(9),
        ..WatchCell::default()
    };
    rtts_ms.iter().for_each(|rtt| cell.rtt.record(rtt * 1_000_000));
    cell
}

/// A watcher's database, with a run that has a part, and with one of another kind.
fn watcher(folder: &tempfile::TempDir, near: &str) -> (Store, RunId) {
    let store = Store::open(folder.path().join(format!("{near}.db"))).unwrap();
    let run = |kind: &str, parent| {
        let new = NewRun {
            kind: kind.to_owned(),
            parent,
            target: "ams".to_owned(),
            started_unix_ns: 1_000 + u64::from(near.as_bytes()[0]),
            parameters: json!({ "here": near }),
            ..NewRun::default()
        };
        let run = store.begin_run(&new).unwrap();
        store
            .end_run(run, Outcome::Finished, None, 2_000, &Value::Null)
            .unwrap();
        run
    };
    run("rtt", None);
    let watch = run("watch", None);
    let test = run("flows", Some(watch));
    let path = store.watch_path(near, "ams").unwrap();
    let event = WatchEvent {
        unix_ns: 5,
        event: "test".to_owned(),
        state: "happened".to_owned(),
        run_id: Some(test.0),
        ..WatchEvent::default()
    };
    let count = WatchCount {
        event: "flow_dark".to_owned(),
        day_s: 0,
        watched_s: 600,
        events: 1,
    };
    store
        .put_watch_events(&[(path, event)], &[(path, count)])
        .unwrap();
    let change = WatchChange {
        metric: "p50".to_owned(),
        found_unix_ns: 9,
        detail: "12 hops before, 13 hops after".to_owned(),
        ..WatchChange::default()
    };
    store.put_watch_change(path, &change).unwrap();
    let stalled = WatchExcluded {
        start_s: 3,
        cause: "stalled".to_owned(),
        value: 1e9,
    };
    store.put_watch_excluded(near, &[stalled]).unwrap();
    store
        .put_watch_cells(
            Span::Minute,
            &[(path, cell(0, &[20, 22])), (path, cell(60, &[24]))],
        )
        .unwrap();
    (store, watch)
}

fn path_of(store: &Store, near: &str) -> PathId {
    let paths = store.watch_paths().unwrap();
    paths.iter().find(|(_, name, _)| name == near).unwrap().0
}

#[test]
fn paths_of_all_watchers_come_with_what_is_kept_of_them_and_their_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (lon, _) = watcher(&folder, "lon");
    let (fra, _) = watcher(&folder, "fra");
    let all = Store::open(folder.path().join("all.db")).unwrap();
    for source in [&lon, &fra] {
        let added = all.add_watch(source.path()).unwrap();
        assert_eq!((added.paths, added.cells, added.runs.len()), (1, 2, 1));
        assert_eq!(all.run(added.runs[0]).unwrap().kind, "watch");
    }
    for (near, source) in [("lon", &lon), ("fra", &fra)] {
        let (here, there) = (path_of(&all, near), path_of(source, near));
        let read = |store: &Store, path| store.watch_cells(path, Span::Minute, 0, 1_000).unwrap();
        assert_eq!(read(&all, here), read(source, there));
        assert_eq!(
            all.watch_changes(here, 0).unwrap(),
            source.watch_changes(there, 0).unwrap()
        );
        assert_eq!(
            all.watch_counts(here, 0).unwrap(),
            source.watch_counts(there, 0).unwrap()
        );
        assert_eq!(all.watch_excluded(near, 0, 9).unwrap().len(), 1);
        // The event names the same test, by its number here.
        let test = all.last_watch_test(here).unwrap().unwrap();
        let test = all.run(RunId(test)).unwrap();
        let parent = all.run(test.parent.unwrap()).unwrap();
        assert_eq!(
            (test.kind.as_str(), parent.parameters["here"].as_str()),
            ("flows", Some(near))
        );
    }
    assert_eq!(all.kinds().unwrap(), ["watch"]);
}

#[test]
fn cells_of_the_same_path_and_time_are_added_bucket_by_bucket() {
    let folder = tempfile::tempdir().unwrap();
    let (lon, _) = watcher(&folder, "lon");
    let (more, _) = watcher(&folder, "more");
    let same = more.watch_path("lon", "ams").unwrap();
    more.put_watch_cells(
        Span::Minute,
        &[(same, cell(60, &[30, 31])), (same, cell(120, &[32]))],
    )
    .unwrap();
    let all = Store::open(folder.path().join("all.db")).unwrap();
    all.add_watch(lon.path()).unwrap();
    all.add_watch(more.path()).unwrap();
    let found = all
        .watch_cells(path_of(&all, "lon"), Span::Minute, 0, 1_000)
        .unwrap();
    // By hand: four packets of which one was lost in each part.
    let mut sum = cell(60, &[24, 30, 31]);
    (sum.sent, sum.lost) = (5, 2);
    assert_eq!(found, [cell(0, &[20, 22]), sum, cell(120, &[32])]);
}

#[test]
fn each_is_added_once_and_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (lon, watch) = watcher(&folder, "lon");
    let all = Store::open(folder.path().join("all.db")).unwrap();
    all.add_watch(lon.path()).unwrap();
    // Also a copy of it, and one that has grown.
    lon.put_watch_cells(Span::Minute, &[(path_of(&lon, "lon"), cell(600, &[20]))])
        .unwrap();
    let copy = folder.path().join("copy.db");
    let source = rusqlite::Connection::open(lon.path()).unwrap();
    source
        .execute("VACUUM INTO ?1", [copy.to_str().unwrap()])
        .unwrap();
    let before = all
        .watch_cells(path_of(&all, "lon"), Span::Minute, 0, 1_000)
        .unwrap();
    for again in [lon.path(), copy.as_path()] {
        assert!(matches!(
            all.add_watch(again),
            Err(StoreError::AddedBefore { .. })
        ));
    }
    assert_eq!(
        all.watch_cells(path_of(&all, "lon"), Span::Minute, 0, 1_000)
            .unwrap(),
        before
    );
    let empty = Store::open(folder.path().join("none.db")).unwrap();
    assert!(matches!(
        all.add_watch(empty.path()),
        Err(StoreError::NoWatcher { .. })
    ));
    std::fs::write(folder.path().join("text"), "no database at all").unwrap();
    assert!(all.add_watch(&folder.path().join("text")).is_err());
    // An invalid distribution spoils nothing.
    let (bad, _) = watcher(&folder, "bad");
    let same = bad.watch_path("lon", "ams").unwrap();
    bad.put_watch_cells(Span::Minute, &[(same, cell(0, &[1]))])
        .unwrap();
    let other = rusqlite::Connection::open(bad.path()).unwrap();
    other.execute("UPDATE watch_cells SET rtt = x'0102'", []).unwrap();
    assert!(all.add_watch(bad.path()).is_err());
    assert_eq!(
        all.watch_cells(path_of(&all, "lon"), Span::Minute, 0, 1_000)
            .unwrap(),
        before
    );
    assert_eq!(all.watch_paths().unwrap().len(), 1);
    assert!(watch.0 > 0);
}
