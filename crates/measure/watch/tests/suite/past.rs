//! The past of a mesh as it is read from a store: figures, changes, rates, zones, and whose fault.

use serde_json::json;
use weir_record::{WatchCell, WatchChange, WatchCount, WatchEvent};
use weir_results::{NewRun, Outcome, PathId, Span, Store};
use weir_watch::history::{Asked, Kind, cells, read};

const DAY_S: u64 = 86_400;
/// 2026-01-01 00:00:00 UTC.
const START_S: u64 = 1_767_225_600;
const SECOND_NS: u64 = 1_000_000_000;
const DAYS: u64 = 20;

fn cell(start_s: u64, lost: u64) -> WatchCell {
    let mut cell = WatchCell {
        start_s,
        sent: 100,
        lost,
        ..WatchCell::default()
    };
    (lost..100).for_each(|packet| cell.rtt.record(20_000_000 + packet * 10_000));
    cell
}

fn at(day: u64, minute: u64) -> u64 {
    (START_S + day * DAY_S + minute * 60) * SECOND_NS
}

/// Four hosts, each to each, of which two are in a zone by the file and one by the facts of a test.
fn store(folder: &tempfile::TempDir) -> Store {
    let store = Store::open(folder.path().join("weir.db")).unwrap();
    let watch = NewRun {
        kind: "watch".to_owned(),
        parameters: json!({ "here": "lon", "zones": { "ams": "west", "lon": "west" } }),
        ..NewRun::default()
    };
    let watch = store.begin_run(&watch).unwrap();
    let test = NewRun {
        kind: "flows".to_owned(),
        parent: Some(watch),
        ..NewRun::default()
    };
    let test = store.begin_run(&test).unwrap();
    store.set_remote_host(test, &json!({ "zone": "east" })).unwrap();
    store
        .end_run(test, Outcome::Finished, None, 1, &serde_json::Value::Null)
        .unwrap();
    let hosts = ["ams", "fra", "lon", "par"];
    for near in hosts {
        for far in hosts.into_iter().filter(|far| *far != near) {
            let path = store.watch_path(near, far).unwrap();
            fill(&store, path, (near, far), test.0);
        }
    }
    store
}

fn fill(store: &Store, path: PathId, (near, far): (&str, &str), test: i64) {
    let hours: Vec<_> = (0..DAYS * 24)
        .map(|hour| (path, cell(START_S + hour * 3_600, u64::from(hour == 100))))
        .collect();
    store.put_watch_cells(Span::Hour, &hours).unwrap();
    // Everything loses packets in two minutes in a row, on the fifth day.
    let lossy = START_S + 100 * 3_600;
    let minutes: Vec<_> = (0..60)
        .map(|minute| {
            (
                path,
                cell(lossy + 60 * minute, u64::from(minute == 7 || minute == 8)),
            )
        })
        .collect();
    store.put_watch_cells(Span::Minute, &minutes).unwrap();
    let event = |unix_ns, event: &str, state: &str, run_id| {
        let event = WatchEvent {
            unix_ns,
            event: event.to_owned(),
            state: state.to_owned(),
            run_id,
            ..WatchEvent::default()
        };
        (path, event)
    };
    let mut events = Vec::new();
    if near == "ams" || far == "ams" {
        // A host that goes three times, seen by its paths within seconds.
        let seen = u64::from(near == "ams") * SECOND_NS;
        events.extend([2, 9, 16].map(|day| event(at(day, 30) + seen, "unreachable", "raised", None)));
        events.extend([2, 9, 16].map(|day| event(at(day, 40) + seen, "unreachable", "cleared", None)));
    }
    if (near, far) == ("lon", "par") {
        events.push(event(at(1, 0), "test", "happened", Some(test)));
        events.push(event(at(1, 0), "flow_dark", "raised", Some(test)));
    }
    let count = WatchCount {
        event: "flow_dark".to_owned(),
        day_s: START_S,
        watched_s: 14 * DAY_S,
        events: 3,
    };
    store.put_watch_events(&events, &[(path, count)]).unwrap();
    if ["ams", "lon"].contains(&near) || ["ams", "lon"].contains(&far) {
        let change = WatchChange {
            metric: "p50".to_owned(),
            since_unix_ns: at(12, 3),
            found_unix_ns: at(12, 11),
            before: 20e6,
            after: 21e6,
            low: 20.9e6,
            high: 21.1e6,
            ..WatchChange::default()
        };
        store.put_watch_change(path, &change).unwrap();
    }
}

#[test]
fn figures_changes_and_rates_are_those_of_the_store_and_faults_have_their_scope() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let asked = Asked {
        pair: None,
        since_ns: at(0, 0),
        until_ns: at(DAYS, 0),
    };
    let history = read(&store, &asked).unwrap();
    assert_eq!(history.pairs.len(), 12);
    let pair = history
        .pairs
        .iter()
        .find(|pair| pair.from == "lon" && pair.to == "par")
        .unwrap();
    assert_eq!((pair.sent, pair.lost, pair.measured_s), (48_000, 1, DAYS * DAY_S));
    assert!((pair.p50_ns.unwrap() as f64 / 20.5e6 - 1.0).abs() < 0.01);
    assert_eq!(
        (pair.changes.len(), pair.changes[0].since_unix_ns),
        (1, at(12, 3))
    );
    assert!(
        pair.trends.iter().all(|trend| !trend.is_certain()),
        "{:?}",
        pair.trends
    );
    assert!(pair.time_of_day.iter().all(|found| !found.is_pattern));
    assert_eq!(pair.rates.len(), 1);
    assert_eq!(
        pair.rates[0].in_words(),
        "a flow went dark 3 times in 14 d: 0.04 to 0.63 a day"
    );
    let faults: Vec<_> = history
        .faults
        .iter()
        .map(|fault| (fault.name.as_str(), fault.event, fault.events))
        .collect();
    assert_eq!(
        faults,
        [
            ("host ams", Kind::Unreachable, 3),
            ("lon and par", Kind::FlowDark, 1),
            ("zone west", Kind::Change, 1),
            ("everything", Kind::Loss, 1),
        ]
    );
    // Three events in 20 days: 0.6187 to 8.7673 (Garwood 1936).
    assert!((history.faults[0].rate.low * 20.0 - 0.6187).abs() < 1e-3);
    assert!((history.faults[0].rate.high * 20.0 - 8.7673).abs() < 1e-3);
    let mesh = weir_watch::history::mesh(&store).unwrap();
    assert_eq!(
        (mesh.zones["ams"].as_str(), mesh.zones["par"].as_str()),
        ("west", "east")
    );

    // One path alone; the faults are those of the mesh.
    let alone = Asked {
        pair: Some(("lon".to_owned(), "par".to_owned())),
        ..asked
    };
    let history = read(&store, &alone).unwrap();
    assert_eq!((history.pairs.len(), history.faults.len()), (1, 4));
}

#[test]
fn each_packet_of_a_span_is_read_once_whatever_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    let path = store.watch_path("lon", "ams").unwrap();
    let of = |from_s, to_s| cells(&store, path, "lon", (START_S + from_s, START_S + to_s)).unwrap();
    // Minutes instead of their hour at both ends; where there are none, the hour is not split.
    let whole = of(100 * 3_600 + 300, 100 * 3_600 + 6 * DAY_S);
    let merged = whole.merged().unwrap();
    assert_eq!(merged.sent, (55 + 143) * 100);
    assert_eq!(whole.measured_s, 55 * 60 + 143 * 3_600);
    // A short span of a time of which hours alone are left.
    assert_eq!(of(10 * 3_600, 11 * 3_600).merged().unwrap().sent, 100);
    assert_eq!(of(100 * 3_600, 100 * 3_600 + 1_800).merged().unwrap().sent, 3_000);
    assert_eq!(of(DAYS * DAY_S, DAYS * DAY_S + 60).merged(), None);
}
