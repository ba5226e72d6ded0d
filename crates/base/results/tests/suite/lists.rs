//! Lists of runs, counts of a running one, and gentle deletion.

use rusqlite::Connection;
use serde_json::{Value, json};
use weir_results::*;
use weir_stats::{ArrivalCounters, SenderCounters};

struct Sample {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    store: Store,
}

fn sample() -> Sample {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weir.db");
    let store = Store::open(&path).unwrap();
    Sample {
        _folder: folder,
        path,
        store,
    }
}

impl Sample {
    fn begin(&self, kind: &str, parent: Option<RunId>, started_unix_ns: u64) -> RunId {
        let new = NewRun {
            kind: kind.into(),
            target: "far.example".into(),
            parent,
            local_host: json!({ "name": "Near-Ä", "kernel": "6.1" }),
            started_unix_ns,
            ..NewRun::default()
        };
        self.store.begin_run(&new).unwrap()
    }

    fn numbers(&self, query: RunQuery) -> (Vec<i64>, bool) {
        let (lines, more) = self.store.run_lines(&query).unwrap();
        (lines.iter().map(|line| line.id.0).collect(), more)
    }
}

fn query() -> RunQuery {
    RunQuery {
        limit: 10,
        ..RunQuery::default()
    }
}

fn packet(sequence: u64, lost: bool) -> Record {
    Record::RttPacket(RttPacket {
        sequence,
        lost,
        ..RttPacket::default()
    })
}

#[test]
fn lines_say_what_runs_say() {
    let sample = sample();
    let run = sample.begin("flows", None, 50);
    sample.store.set_remote_host(run, &json!({ "name": 7 })).unwrap();
    sample.store.set_note(run, "a note").unwrap();
    sample.store.set_tags(run, &["tag".into()]).unwrap();
    sample
        .store
        .end_run(
            run,
            Outcome::Failed,
            Some("why"),
            60,
            &json!({ "long": "x".repeat(100_000) }),
        )
        .unwrap();
    let whole = sample.store.run(run).unwrap();
    let line = sample.store.run_line(run).unwrap();
    assert_eq!(
        sample.store.run_lines(&query()).unwrap(),
        (vec![line.clone()], false)
    );
    assert_eq!(line.last_unix_ns, whole.last_unix_ns);
    // Whatever both say they say alike.
    let [whole, line] = [json!(whole), json!(line)].map(|run| run.as_object().unwrap().clone());
    let shared: Vec<_> = line
        .iter()
        .filter(|(name, _)| whole.contains_key(*name))
        .collect();
    assert_eq!(shared.len(), 10);
    assert!(
        shared.iter().all(|(name, value)| whole[*name] == **value),
        "{line:?}"
    );
    assert_eq!(
        (&line["local_name"], &line["remote_name"]),
        (&json!("Near-Ä"), &Value::Null)
    );
    assert!(matches!(
        sample.store.run_line(RunId(9)),
        Err(StoreError::RunNotFound { .. })
    ));
    // One without a sign of life.
    let dead = sample.begin("rtt", None, 70);
    let connection = Connection::open(&sample.path).unwrap();
    connection
        .execute(
            "UPDATE runs SET last_unix_ns = 77, local_host = 'by hand' WHERE run_id = ?1",
            [dead.0],
        )
        .unwrap();
    let (whole, line) = (
        sample.store.run(dead).unwrap(),
        sample.store.run_line(dead).unwrap(),
    );
    assert_eq!(
        (line.outcome, line.ended_unix_ns, line.reason, line.local_name),
        (Outcome::Interrupted, Some(77), whole.reason, None)
    );
}

#[test]
fn lists_go_on_where_they_ended() {
    let sample = sample();
    // Run 3 was measured elsewhere, and before the others.
    let runs: Vec<i64> = [100, 200, 50, 200]
        .map(|at| sample.begin("rtt", None, at).0)
        .into();
    let part = sample.begin("mtu", Some(RunId(runs[0])), 500);
    let page = |before: Option<i64>| {
        sample.numbers(RunQuery {
            limit: 2,
            before: before.map(RunId),
            ..query()
        })
    };
    assert_eq!(page(None), (vec![4, 2], true));
    assert_eq!(page(Some(2)), (vec![1, 3], false));
    assert_eq!(page(Some(3)), (vec![], false));
    // The last one of the page before was deleted meanwhile.
    sample
        .store
        .end_run(RunId(2), Outcome::Finished, None, 300, &Value::Null)
        .unwrap();
    sample.store.delete_run(RunId(2)).unwrap();
    assert_eq!(page(Some(2)), (vec![1], false));
    let with = |change: fn(&mut RunQuery)| {
        let mut query = query();
        change(&mut query);
        sample.numbers(query).0
    };
    assert_eq!(with(|query| query.parts = true), [part.0, 4, 1, 3]);
    assert_eq!(with(|query| query.kind = Some("mtu".into())), [0; 0]);
    assert_eq!(with(|query| query.search = "NEAR-ä FAR".into()), [4, 1, 3]);
    assert_eq!(with(|query| query.search = "near none".into()), [0; 0]);
    sample
        .store
        .set_tags(RunId(3), &["one".into(), "two".into()])
        .unwrap();
    assert_eq!(with(|query| query.tag = Some("two".into())), [3]);
    assert_eq!(with(|query| query.tag = Some("tw".into())), [0; 0]);
    assert_eq!(with(|query| query.search = "tw".into()), [3]);
}

#[test]
fn counting_on_gives_what_counting_anew_gives() {
    let mut sample = sample();
    let (other, run) = (sample.begin("rtt", None, 1), sample.begin("rtt", None, 2));
    let mut kept = SoFar::default();
    sample.store.count_on(run, &mut kept).unwrap();
    assert_eq!((kept.clone(), kept.loss()), (SoFar::default(), None));
    let mut expected = (0, 0);
    for round in 0..5u64 {
        let records: Vec<Record> = (0..round * 3).map(|n| packet(n, n % 4 == 0)).collect();
        sample.store.append(other, &[packet(0, true)]).unwrap();
        sample.store.append(run, &records).unwrap();
        sample.store.append(other, &[packet(1, true)]).unwrap();
        expected.0 += records.len() as u64;
        expected.1 += (0..round * 3).filter(|n| n % 4 == 0).count() as u64;
        sample.store.count_on(run, &mut kept).unwrap();
        let mut anew = SoFar::default();
        sample.store.count_on(run, &mut anew).unwrap();
        assert_eq!(kept, anew);
        assert_eq!(
            (kept.expected, kept.lost, kept.rate),
            (expected.0, expected.1, None)
        );
    }
}

#[test]
fn what_media_came_to_so_far_is_what_stayed_lost_and_the_rate_of_all_senders() {
    const SECOND: u64 = 1_000_000_000;
    let mut sample = sample();
    let run = sample.begin("recv", None, 1);
    let second = |sender, second: u64, [received, lost, retransmitted, overtaken, unrepaired]: [u64; 5]| {
        Record::RecvSecond(RecvSecond {
            unix_ns: second * SECOND + u64::from(sender) * 1_000,
            duration_ns: SECOND,
            sender,
            counts: ArrivalCounters {
                received,
                bytes: received * 1_000,
                lost,
                retransmitted,
                overtaken,
                unrepaired,
                ..ArrivalCounters::default()
            },
            ..RecvSecond::default()
        })
    };
    let mut kept = SoFar::default();
    // 100 packets: 90 arrived, 10 did not; of these 4 were retransmitted, 3 were late, and 1 was never received.
    let first = [second(0, 1, [90, 10, 0, 0, 0]), second(1, 1, [50, 0, 0, 0, 0])];
    sample.store.append(run, &first).unwrap();
    sample.store.count_on(run, &mut kept).unwrap();
    assert_eq!((kept.expected, kept.lost, kept.rate), (150, 0, Some(140 * 8_000)));
    sample
        .store
        .append(run, &[second(0, 2, [7, 0, 4, 3, 1]), second(1, 2, [0; 5])])
        .unwrap();
    sample.store.count_on(run, &mut kept).unwrap();
    assert_eq!(
        (kept.expected, kept.lost, kept.rate),
        (150, 1, Some(7 * 8_000)),
        "what came again is counted once"
    );
    let mut anew = SoFar::default();
    sample.store.count_on(run, &mut anew).unwrap();
    assert_eq!(kept, anew);

    let run = sample.begin("send", None, 2);
    let sent = Record::SendSecond(SendSecond {
        unix_ns: SECOND,
        duration_ns: SECOND / 2,
        counts: SenderCounters {
            bytes: 1_000,
            ..SenderCounters::default()
        },
        ..SendSecond::default()
    });
    sample.store.append(run, &[sent]).unwrap();
    let mut sent = SoFar::default();
    sample.store.count_on(run, &mut sent).unwrap();
    assert_eq!((sent.loss(), sent.rate), (None, Some(16_000)));
}

#[test]
fn a_run_deleted_gently_is_gone_with_its_parts_and_no_other() {
    let mut sample = sample();
    let (kept, run) = (sample.begin("rtt", None, 1), sample.begin("survey", None, 2));
    let part = sample.begin("rtt", Some(run), 3);
    let records: Vec<Record> = (0..5_000).map(|n| packet(n, false)).collect();
    sample.store.append(kept, &records).unwrap();
    sample.store.append(part, &records).unwrap();
    for begun in [run, part] {
        let refused = sample.store.delete_run_gently(begun).unwrap_err();
        assert!(matches!(refused, StoreError::StillRunning { .. }), "{refused}");
    }
    for run in [part, run, kept] {
        sample
            .store
            .end_run(run, Outcome::Finished, None, 9, &Value::Null)
            .unwrap();
    }
    assert!(
        sample
            .store
            .counts(part)
            .unwrap()
            .contains(&(Table::RttPackets, 5_000))
    );
    sample.store.delete_run_gently(run).unwrap();
    assert_eq!(
        sample
            .numbers(RunQuery {
                parts: true,
                ..query()
            })
            .0,
        [kept.0]
    );
    assert!(
        sample
            .store
            .counts(kept)
            .unwrap()
            .contains(&(Table::RttPackets, 5_000))
    );
    let connection = Connection::open(&sample.path).unwrap();
    let rows: i64 = connection
        .query_row("SELECT count(*) FROM rtt_packets", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 5_000);
    let refused = sample.store.delete_run_gently(run).unwrap_err();
    assert!(matches!(refused, StoreError::RunNotFound { .. }), "{refused}");
}

#[test]
fn note_and_tags_change_together_or_not_at_all() {
    let sample = sample();
    let run = sample.begin("rtt", None, 1);
    let said = || {
        let run = sample.store.run(run).unwrap();
        (run.note, run.tags)
    };
    sample
        .store
        .describe(run, Some("note"), Some(&["tag".into()]))
        .unwrap();
    assert_eq!(said(), ("note".into(), vec!["tag".into()]));
    let refused = sample
        .store
        .describe(run, Some("other"), Some(&["two words".into()]));
    assert!(matches!(refused, Err(StoreError::BadNote { .. })));
    assert_eq!(said(), ("note".into(), vec!["tag".into()]));
    sample.store.describe(run, None, Some(&[])).unwrap();
    assert_eq!(said(), ("note".into(), vec![]));
    let missing = sample.store.describe(RunId(9), None, None).unwrap_err();
    assert!(matches!(missing, StoreError::RunNotFound { .. }));
}
