//! A database filled by hand.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use weir_measure::rtt::RttPlan;
use weir_results::*;

pub const SECOND: u64 = 1_000_000_000;
/// When the first run of a sample begins; each later one a minute after the one before.
pub const START: u64 = 1_700_000_000 * SECOND + 123_456_789;

/// A database in a folder of its own.
pub struct Sample {
    _folder: TempDir,
    pub path: PathBuf,
    pub store: Store,
    begun: u64,
}

impl Sample {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weir.db");
        let store = Store::open(&path).unwrap();
        Sample {
            _folder: folder,
            path,
            store,
            begun: 0,
        }
    }

    pub fn begin(&mut self, kind: &str, target: &str, parent: Option<RunId>, parameters: Value) -> RunId {
        self.begun += 1;
        self.store
            .begin_run(&NewRun {
                kind: kind.into(),
                target: target.into(),
                parent,
                parameters,
                local_host: json!({ "name": "near" }),
                started_unix_ns: START + self.begun * 60 * SECOND,
                weir_version: "0.1.0".into(),
            })
            .unwrap()
    }

    pub fn end(&self, run: RunId) {
        let ended = self.store.run(run).unwrap().started_unix_ns + 10 * SECOND;
        self.store
            .end_run(run, Outcome::Finished, None, ended, &Value::Null)
            .unwrap();
    }

    /// A finished run of round trips, every 47th packet lost.
    pub fn rtt(&mut self, target: &str) -> RunId {
        let plan = serde_json::to_value(RttPlan::default()).unwrap();
        let run = self.begin("rtt", target, None, plan);
        self.store.append(run, &packets(100)).unwrap();
        self.end(run);
        run
    }

    /// A finished run without records.
    pub fn empty(&mut self, kind: &str, target: &str, parent: Option<RunId>) -> RunId {
        let run = self.begin(kind, target, parent, json!({}));
        self.end(run);
        run
    }
}

pub fn packets(count: u64) -> Vec<Record> {
    (0..count)
        .map(|sequence| {
            let lost = sequence % 47 == 46;
            let rtt = 100_000 + sequence * 7_919 % 300 * 100;
            Record::RttPacket(RttPacket {
                sequence,
                window: sequence / 10,
                position: (sequence % 10) as u32,
                window_size: 10,
                length: 100,
                sent_unix_ns: START + sequence / 10 * SECOND + sequence % 10 * 1_500,
                rtt_ns: (!lost).then_some(rtt),
                lost,
                ..RttPacket::default()
            })
        })
        .collect()
}

/// A second of a stream of 1000 packets of 1250 bytes, which is 10 Mbit/s.
pub fn stream_second(second: u64, lost: u64) -> Record {
    Record::StreamSecond(
        Direction::Forward,
        StreamSecond {
            unix_ns: START + second * SECOND,
            duration_ns: SECOND,
            received: 1_000 - lost,
            bytes: (1_000 - lost) * 1_250,
            lost,
            ..StreamSecond::default()
        },
    )
}

/// This host's clock.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    since.as_nanos() as u64
}
