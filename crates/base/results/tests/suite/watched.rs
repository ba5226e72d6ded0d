//! Cells of paths that are watched: kept, merged, deleted while others read; and files of before they had a table.

use rusqlite::Connection;
use weir_results::{PathId, Span, Store, WatchCell, WatchChange, WatchCount, WatchEvent};

fn cell(start_s: u64) -> WatchCell {
    let mut cell = WatchCell {
        start_s,
        sent: 4,
        lost: u64::from(start_s.is_multiple_of(10)),
        duplicates: 0,
        hops: Some(12),
        ..WatchCell::default()
    };
    for packet in 0..4 - cell.lost {
        cell.rtt
            .record(48_000_000 + (start_s * 7_919 + packet * 104_729) % 2_000_000);
    }
    cell
}

fn store() -> (tempfile::TempDir, Store, PathId) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("weir.db")).unwrap();
    let path = store.watch_path("lon", "ams").unwrap();
    (folder, store, path)
}

#[test]
fn cells_come_back_as_they_were_and_are_replaced() {
    let (_folder, store, path) = store();
    assert_eq!(store.watch_path("lon", "ams").unwrap(), path);
    let other = store.watch_path("ams", "lon").unwrap();
    assert_ne!(other, path);
    let cells: Vec<_> = (100..200).map(|start| (path, cell(start))).collect();
    store.put_watch_cells(Span::Second, &cells).unwrap();
    store.put_watch_cells(Span::Second, &cells[..50]).unwrap();
    store.put_watch_cells(Span::Minute, &[(path, cell(120))]).unwrap();
    let read = store.watch_cells(path, Span::Second, 0, 1_000).unwrap();
    assert_eq!(read, cells.into_iter().map(|(_, cell)| cell).collect::<Vec<_>>());
    assert_eq!(store.watch_cells(path, Span::Second, 110, 112).unwrap().len(), 2);
    assert_eq!(store.watch_cells(other, Span::Second, 0, 1_000).unwrap(), []);
    assert_eq!(store.last_watch_cell(path, Span::Second).unwrap(), Some(199));
    assert_eq!(store.first_watch_cell(path, Span::Minute).unwrap(), Some(120));
    assert_eq!(store.last_watch_cell(path, Span::Hour).unwrap(), None);

    assert_eq!(store.delete_watch_cells(path, Span::Second, 150, 30).unwrap(), 30);
    assert_eq!(store.delete_watch_cells(path, Span::Second, 150, 30).unwrap(), 20);
    assert_eq!(store.first_watch_cell(path, Span::Second).unwrap(), Some(150));
}

#[test]
fn a_reader_goes_on_while_cells_are_deleted() {
    let (folder, store, path) = store();
    let cells: Vec<_> = (0..1_000).map(|start| (path, cell(start))).collect();
    store.put_watch_cells(Span::Second, &cells).unwrap();
    let reader = Connection::open(folder.path().join("weir.db")).unwrap();
    let mut statement = reader
        .prepare("SELECT start_s FROM watch_cells ORDER BY start_s")
        .unwrap();
    let mut rows = statement.query([]).unwrap();
    rows.next().unwrap();
    assert_eq!(
        store.delete_watch_cells(path, Span::Second, 900, 2_000).unwrap(),
        900
    );
    let mut seen = 1;
    while rows.next().unwrap().is_some() {
        seen += 1;
    }
    assert_eq!(seen, 1_000, "the reader has one state of the file");
    assert_eq!(
        store.watch_cells(path, Span::Second, 0, 1_000).unwrap().len(),
        100
    );
}

#[test]
fn changes_come_back_in_order() {
    let (_folder, store, path) = store();
    let change = |metric: &str, found_unix_ns| WatchChange {
        metric: metric.to_owned(),
        since_unix_ns: found_unix_ns - 6,
        found_unix_ns,
        before: 48.5e6,
        after: 51e6,
        low: 50.5e6,
        high: 51.5e6,
        detail: "12 hops before, 13 hops after".to_owned(),
    };
    for (metric, found) in [("p90", 200), ("p50", 200), ("p50", 100), ("p50", 100)] {
        store.put_watch_change(path, &change(metric, found)).unwrap();
    }
    let expected = [change("p50", 100), change("p50", 200), change("p90", 200)];
    assert_eq!(store.watch_changes(path, 0).unwrap(), expected);
    assert_eq!(store.watch_changes(path, 101).unwrap(), expected[1..]);
}

#[test]
fn counts_of_a_day_add_up_and_events_come_back_as_they_came() {
    let (_folder, store, path) = store();
    let count = |event: &str, day_s, watched_s, events| WatchCount {
        event: event.to_owned(),
        day_s,
        watched_s,
        events,
    };
    let minutes = [(path, cell(60)), (path, cell(120))];
    let first = [
        (path, count("loss", 0, 120, 1)),
        (path, count("loss", 86_400, 60, 0)),
    ];
    store.put_watch_minutes(&minutes, &first).unwrap();
    store
        .put_watch_events(
            &[],
            &[
                (path, count("loss", 0, 60, 2)),
                (path, count("flow_dark", 0, 600, 1)),
            ],
        )
        .unwrap();
    let expected = [
        count("flow_dark", 0, 600, 1),
        count("loss", 0, 180, 3),
        count("loss", 86_400, 60, 0),
    ];
    assert_eq!(store.watch_counts(path, 0).unwrap(), expected);
    assert_eq!(store.watch_counts(path, 1).unwrap(), expected[2..]);
    assert_eq!(
        store.watch_cells(path, Span::Minute, 0, 1_000).unwrap(),
        [cell(60), cell(120)]
    );

    let event = |unix_ns, state: &str| WatchEvent {
        unix_ns,
        event: "flow_dark".to_owned(),
        state: state.to_owned(),
        subject: "forward port 5003".to_owned(),
        run_id: Some(7),
        detail: "words".to_owned(),
    };
    let events = [event(20, "raised"), event(10, "cleared"), event(20, "cleared")];
    let rows: Vec<_> = events.iter().map(|event| (path, event.clone())).collect();
    store.put_watch_events(&rows, &[]).unwrap();
    let read = store.watch_events(path, 0, 100).unwrap();
    assert_eq!(read, [events[1].clone(), events[0].clone(), events[2].clone()]);
    assert_eq!(store.watch_events(path, 10, 20).unwrap().len(), 1);
    // A state that the table does not know: none of the rows is stored, and no count changes.
    let wrong = [rows[0].clone(), (path, event(30, "gone"))];
    assert!(
        store
            .put_watch_events(&wrong, &[(path, count("loss", 0, 60, 2))])
            .is_err()
    );
    assert_eq!(store.watch_counts(path, 0).unwrap(), expected);
    assert_eq!(store.watch_events(path, 0, 100).unwrap().len(), 3);
}

#[test]
fn a_file_of_before_is_read_as_it_is_and_gets_the_tables_when_it_is_written() {
    let (folder, store, _) = store();
    drop(store);
    let file = folder.path().join("weir.db");
    let names = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name LIKE 'watch%'";
    let tables = || -> i64 {
        let connection = Connection::open(&file).unwrap();
        connection.query_row(names, [], |row| row.get(0)).unwrap()
    };
    let before = Connection::open(&file).unwrap();
    before
        .execute_batch(
            "DROP TABLE watch_events; DROP TABLE watch_excluded; DROP TABLE watch_counts; DROP TABLE watch_changes; DROP TABLE watch_cells;
             DROP TABLE watch_paths",
        )
        .unwrap();
    drop(before);
    let reader = Store::open_read_only(&file).unwrap();
    assert_eq!(reader.watch_changes(PathId(1), 0).unwrap(), []);
    assert_eq!(reader.watch_cells(PathId(1), Span::Hour, 0, 1).unwrap(), []);
    drop(reader);
    assert_eq!(tables(), 0);
    let writer = Store::open(&file).unwrap();
    writer.watch_path("lon", "ams").unwrap();
    assert_eq!(tables(), 6);
}

#[test]
fn a_damaged_cell_is_an_error_and_no_panic() {
    let (folder, store, path) = store();
    store.put_watch_cells(Span::Second, &[(path, cell(7))]).unwrap();
    let other = Connection::open(folder.path().join("weir.db")).unwrap();
    other.execute("UPDATE watch_cells SET rtt = x'0102'", []).unwrap();
    let said = store
        .watch_cells(path, Span::Second, 0, 9)
        .unwrap_err()
        .to_string();
    assert!(said.contains("read what was watched"), "{said}");
}
