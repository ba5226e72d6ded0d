//! Archives, taken apart by the programs that a stranger has: tar, sha256sum and xmllint.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use serde_json::json;
use weir_evidence::{EvidenceError, Request, collect};
use weir_results::{NewRun, Outcome, PathId, Span, Store, WatchCell, WatchChange, WatchCount, WatchEvent};
use weir_watch::gather::sum;

const SECOND: u64 = 1_000_000_000;
/// 2026-03-01 00:00:00 UTC.
const START_S: u64 = 1_772_323_200;

/// Two hours of a path, of which the second is 10 ms slower, with a change, a dark flow and a host with markup in its name.
fn store(folder: &Path) -> Store {
    let store = Store::open(folder.join("weir.db")).unwrap();
    let path = store.watch_path("lon", "ams").unwrap();
    let mut seconds = Vec::new();
    for second in 0..7_200u64 {
        let mut cell = WatchCell {
            start_s: START_S + second,
            sent: 4,
            lost: u64::from(second % 100 == 7),
            hops: Some(12),
            ..WatchCell::default()
        };
        for packet in 0..4 - cell.lost {
            cell.rtt
                .record(20_000_000 + second / 3_600 * 10_000_000 + packet * 1_000);
        }
        seconds.push(cell);
    }
    let of_path = |cells: &[WatchCell]| -> Vec<(PathId, WatchCell)> {
        cells.iter().map(|cell| (path, cell.clone())).collect()
    };
    let minutes = sum(&seconds, 60);
    store.put_watch_cells(Span::Second, &of_path(&seconds)).unwrap();
    store.put_watch_cells(Span::Minute, &of_path(&minutes)).unwrap();
    store
        .put_watch_cells(Span::Hour, &of_path(&sum(&minutes, 3_600)))
        .unwrap();
    let change = WatchChange {
        metric: "p90".to_owned(),
        since_unix_ns: (START_S + 3_600) * SECOND,
        found_unix_ns: (START_S + 4_080) * SECOND,
        before: 20e6,
        after: 30e6,
        low: 29.5e6,
        high: 30.5e6,
        ..WatchChange::default()
    };
    store.put_watch_change(path, &change).unwrap();
    // Another path, on which nothing changes.
    let other = store.watch_path("lon", "par").unwrap();
    let minutes_of_other: Vec<_> = minutes.iter().map(|cell| (other, cell.clone())).collect();
    store.put_watch_cells(Span::Minute, &minutes_of_other).unwrap();
    let run = flow_test(&store);
    let event = |event: &str, state: &str, detail: &str| WatchEvent {
        unix_ns: (START_S + 1_800) * SECOND,
        event: event.to_owned(),
        state: state.to_owned(),
        subject: String::new(),
        run_id: Some(run),
        detail: detail.to_owned(),
    };
    let events = [
        event("flow_dark", "raised", "a flow to <b>ams</b> was dark"),
        event("test", "happened", "the flow test has ended"),
    ];
    let count = WatchCount {
        event: "flow_dark".to_owned(),
        day_s: START_S,
        watched_s: 14 * 86_400,
        events: 3,
    };
    let rows: Vec<_> = events.into_iter().map(|event| (path, event)).collect();
    store.put_watch_events(&rows, &[(path, count)]).unwrap();
    store
}

/// A flow test of two flows forward, of which the second carried nothing.
fn flow_test(store: &Store) -> i64 {
    let near = json!({ "name": "lon", "cloud": "aws", "zone_id": "euw2-az1", "instance_id": "i-0<1",
                       "clock_max_error_ns": 2_000_000 });
    let watch = store
        .begin_run(&NewRun {
            kind: "watch".to_owned(),
            parameters: json!({ "here": "lon" }),
            local_host: near.clone(),
            started_unix_ns: START_S * SECOND,
            ..NewRun::default()
        })
        .unwrap();
    let test = store
        .begin_run(&NewRun {
            kind: "flows".to_owned(),
            target: "192.0.2.1:4747".to_owned(),
            parent: Some(watch),
            started_unix_ns: (START_S + 1_780) * SECOND,
            local_host: near,
            ..NewRun::default()
        })
        .unwrap();
    let far = json!({ "name": "ams", "cloud": "gcp", "zone": "europe-west4-a", "instance_id": "77" });
    store.set_remote_host(test, &far).unwrap();
    let summary: serde_json::Value = serde_json::from_str(include_str!("flows-summary.json")).unwrap();
    store
        .end_run(
            test,
            Outcome::Finished,
            None,
            (START_S + 1_800) * SECOND,
            &summary,
        )
        .unwrap();
    test.0
}

fn request(from_s: u64, to_s: u64) -> Request {
    Request {
        near: "lon".to_owned(),
        far: "ams".to_owned(),
        since_ns: (START_S + from_s) * SECOND,
        until_ns: (START_S + to_s) * SECOND,
        version: "0.1.0".to_owned(),
    }
}

/// What a program prints; it must not fail.
#[track_caller]
fn printed(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_archive_is_whole_readable_and_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let pack = || {
        let mut bytes = Vec::new();
        collect(&store, &request(0, 7_200))
            .unwrap()
            .write(&mut bytes)
            .unwrap();
        bytes
    };
    let packed = pack();
    assert_eq!(packed, pack());
    std::fs::write(folder.path().join("e.tar.gz"), &packed).unwrap();
    printed(folder.path(), "tar", &["xzf", "e.tar.gz"]);
    let inside = folder.path().join("evidence-lon-ams");
    printed(&inside, "sha256sum", &["--check", "--strict", "SHA256SUMS"]);
    printed(&inside, "xmllint", &["--noout", "rtt.svg", "loss.svg"]);
    printed(&inside, "xmllint", &["--noout", "--html", "index.html"]);
    let sums = std::fs::read_to_string(inside.join("SHA256SUMS")).unwrap();
    let page = std::fs::read_to_string(inside.join("index.html")).unwrap();
    for line in sums.lines().filter(|line| !line.ends_with("index.html")) {
        assert!(page.contains(line.split_once("  ").unwrap().0), "{line}");
    }

    // The answer comes first: 28,800 packets, 72 of them lost, and the median between both levels.
    let answer = page.split("<h2>").next().unwrap();
    for words in [
        "From 2026-03-01 00:00:00 to 2026-03-01 02:00:00 UTC, 28,800 test packets were sent from lon to ams",
        "over 2 h in all.",
        "0.25 % of them were lost",
        "One change was found.",
        "2026-03-01 01:00:00 UTC: lon to ams: P90 of the RTT changed +50.0 % from 20.0 ms to 30.0 ms",
        "a flow went dark 3 times in 14 d: 0.04 to 0.63 a day (95 % interval)",
    ] {
        assert!(answer.contains(words), "'{words}' is not in {answer}");
    }
    let rest = &page[answer.len()..];
    for words in [
        "<td>UDP</td><td>192.0.2.7:40001</td><td>192.0.2.1:4751</td><td>0 of 10</td>",
        "<td>i-0&lt;1</td>",
        "a flow to &lt;b&gt;ams&lt;/b&gt; was dark",
        "bounds its error to UTC by 2.00 ms",
        "<td>p90</td><td></td><td>lon to par</td><td>this path alone</td>",
    ] {
        assert!(rest.contains(words), "'{words}' is not in {rest}");
    }
    let rows = std::fs::read_to_string(inside.join("seconds.csv")).unwrap();
    assert_eq!(rows.lines().count(), 7_201);
    assert!(
        rows.contains("\n2026-03-01T00:00:07Z,1772323207,4,1,0,12,20000000,"),
        "{}",
        &rows[..600]
    );
}

#[test]
fn a_part_of_the_span_has_its_own_packets_and_what_is_not_there_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let archive = collect(&store, &request(3_600, 5_400)).unwrap();
    let page = archive
        .files()
        .iter()
        .find(|file| file.name == "index.html")
        .unwrap();
    let page = String::from_utf8(page.bytes.clone()).unwrap();
    assert!(page.contains(" 7,200 test packets"), "{page}");
    let refused = |request| collect(&store, &request).unwrap_err();
    let nothing = refused(request(86_400, 90_000));
    assert!(matches!(nothing, EvidenceError::Nothing { .. }));
    let said = nothing.to_string();
    assert!(
        said.ends_with("the store has 2026-03-01T00:00:00Z to 2026-03-01T01:59:59Z"),
        "{said}"
    );
    let unknown = Request {
        far: "mad".to_owned(),
        ..request(0, 7_200)
    };
    let said = refused(unknown).to_string();
    assert_eq!(
        said,
        "no watcher has measured from 'lon' to 'mad'; measured are lon..ams, lon..par"
    );
}
