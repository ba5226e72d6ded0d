//! A database filled by hand, and looks into it and into documents.

use rusqlite::Connection;
use rusqlite::types::FromSql;
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_diagnose::Options;
use weir_measure::flows::FlowsPlan;
use weir_measure::rtt::RttPlan;
use weir_report::report_data;
use weir_results::*;
use weir_stats::{
    ArrivalCounters, FlowCounts, FrameCounters, HostCounts, Quantiles, SendCounts, SenderCounters,
};

pub const SECOND: u64 = 1_000_000_000;
/// When every run of a sample begins.
pub const START: u64 = 1_795_239_128 * SECOND + 315_371_242;

/// A database in a folder of its own.
pub struct Sample {
    _folder: TempDir,
    pub path: std::path::PathBuf,
    pub store: Store,
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
        }
    }

    /// A finished run with these records.
    pub fn run(&mut self, kind: &str, parent: Option<RunId>, records: &[Record]) -> RunId {
        let parameters = match kind {
            "rtt" => serde_json::to_value(RttPlan {
                interval_ns: 100_000_000,
                duration_ns: 3_000_000_000,
                ..RttPlan::default()
            })
            .unwrap(),
            "flows" => serde_json::to_value(FlowsPlan::default()).unwrap(),
            _ => json!({}),
        };
        let run = self
            .store
            .begin_run(&NewRun {
                kind: kind.into(),
                target: "far.example".into(),
                parent,
                parameters,
                local_host: json!({ "name": "near" }),
                started_unix_ns: START,
                weir_version: "0.1.0".into(),
            })
            .unwrap();
        self.store.append(run, records).unwrap();
        let ended = START + 10 * SECOND;
        self.store
            .end_run(run, Outcome::Finished, None, ended, &Value::Null)
            .unwrap();
        run
    }

    /// The document as a reader gets it.
    pub fn document(&self, runs: &[RunId]) -> Value {
        let data = report_data(&self.store, runs, START + 60 * SECOND, &Options::default()).unwrap();
        serde_json::from_str(&serde_json::to_string(&data).unwrap()).unwrap()
    }

    /// The first column of all rows that a query gives.
    pub fn sql<T: FromSql>(&self, sql: &str) -> Vec<T> {
        let connection = Connection::open(&self.path).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }
}

/// The integers of a column of the first run's series.
#[track_caller]
pub fn column(document: &Value, series: &str, name: &str) -> Vec<Option<i64>> {
    let values = &document["runs"][0]["series"][series]["columns"][name]["values"];
    let values = values
        .as_array()
        .unwrap_or_else(|| panic!("no {name} in {series}"));
    values.iter().map(Value::as_i64).collect()
}

/// 300 packets of three lengths in windows of 10, every 47th lost, with times that are all different.
pub fn packets() -> Vec<Record> {
    (0..300u64)
        .map(|sequence| {
            let lost = sequence % 47 == 46;
            // 7919 has no divisor in common with 300: every time comes once.
            let rtt = 100_000 + sequence * 7_919 % 300 * 1_000 + sequence;
            Record::RttPacket(RttPacket {
                sequence,
                window: sequence / 10,
                position: (sequence % 10) as u32,
                window_size: 10,
                length: [100, 700, 1400][(sequence / 10 % 3) as usize],
                sent_unix_ns: START + sequence / 10 * 100_000_000 + sequence % 10 * 1_500,
                rtt_ns: (!lost).then_some(rtt),
                network_rtt_ns: (!lost && sequence % 5 > 0).then_some(rtt - 40_000),
                lost,
                ..RttPacket::default()
            })
        })
        .collect()
}

pub fn quantiles(count: u64, by: i64) -> Quantiles {
    Quantiles {
        count,
        min: by - 500,
        p50: by,
        p90: by + 10,
        p99: by + 20,
        p999: by + 21,
        max: by + 700,
    }
}

pub fn flow_second(direction: Direction, second: u64, flow: u16) -> Record {
    let salt = second * 31 + u64::from(flow) * 17 + u64::from(direction == Direction::Reverse);
    let lost = if salt.is_multiple_of(11) { salt % 5 } else { 0 };
    let received = if salt.is_multiple_of(97) {
        0
    } else {
        2_000 + salt % 7
    };
    Record::FlowSecond(
        direction,
        FlowSecond {
            unix_ns: START + (second + 1) * SECOND + 40_000 + salt % 1_000,
            flow,
            port: 4750 + flow,
            owd: if received == 0 {
                Quantiles::default()
            } else {
                quantiles(received, 50_000 + salt as i64 * 3 % 1_000)
            },
            counts: FlowCounts {
                received,
                bytes: received * 1_400,
                lost,
                late: lost / 2,
                duplicates: u64::from(salt.is_multiple_of(29)),
                reversals: u64::from(salt.is_multiple_of(23)),
                sequence_breaks: lost.min(1) + 2 * u64::from(salt.is_multiple_of(23)),
                bursts: lost.min(1),
                longest_burst: lost,
                socket_drops: u64::from(salt.is_multiple_of(41)),
                ecn_marked: u64::from(salt.is_multiple_of(43)),
                ecn_cleared: u64::from(salt.is_multiple_of(47)),
            },
        },
    )
}

pub fn stream_second(direction: Direction, second: u64) -> Record {
    let received = 8_000 + second * 13 % 100;
    Record::StreamSecond(
        direction,
        StreamSecond {
            unix_ns: START + (second + 1) * SECOND + second % 900,
            duration_ns: SECOND + second % 700,
            received,
            bytes: received * 1_400,
            lost: second % 3,
            late: second % 2,
            duplicates: second % 5,
            reordered: second % 7,
            rejected: 0,
            owd: quantiles(received, 50_000 + second as i64 * 7 % 1_000),
        },
    )
}

/// 100 seconds of four flows forward and two in reverse, with all their records.
pub fn stream() -> Vec<Record> {
    use Direction::{Forward, Reverse};
    let mut records = Vec::new();
    for second in 0..100 {
        for flow in 0..4 {
            records.push(flow_second(Forward, second, flow));
        }
        records.extend((0..2).map(|flow| flow_second(Reverse, second, flow)));
        for direction in [Forward, Reverse] {
            records.push(stream_second(direction, second));
            records.push(Record::SenderSecond(
                direction,
                SenderSecond {
                    unix_ns: START + (second + 1) * SECOND,
                    duration_ns: SECOND,
                    counts: SendCounts {
                        sent: 8_100,
                        bytes: 8_100 * 1_400,
                        sends: 900,
                        refused: second % 2,
                    },
                    schedule_error: quantiles(900, 3_000 + second as i64),
                    cpu_ns: 200_000_000,
                },
            ));
        }
        for side in [Side::Local, Side::Remote] {
            records.push(Record::HostSecond(host_second(side, second)));
        }
    }
    for number in 0..40u64 {
        let unix_ns = START + number * SECOND + 7;
        let length = [1, 1, 2, 1, 9][(number % 5) as usize];
        let direction = if number % 4 == 3 { Reverse } else { Forward };
        records.extend([
            Record::StreamBurst(
                direction,
                StreamBurst {
                    unix_ns,
                    first_sequence: number * 100,
                    length,
                },
            ),
            Record::FlowBurst(
                direction,
                FlowBurst {
                    unix_ns,
                    flow: (number % 2) as u16,
                    port: 4750,
                    first_sequence: number * 50,
                    length,
                    ..FlowBurst::default()
                },
            ),
            Record::Silence(
                direction,
                Silence {
                    unix_ns,
                    flow: 1,
                    duration_ns: 10_000_000 * (number + 1),
                },
            ),
            Record::LossWindow(
                direction,
                LossWindow {
                    unix_ns,
                    duration_ns: 100_000_000,
                    lost: length,
                    flows_losing: 1,
                    flows: vec![1],
                },
            ),
        ]);
    }
    records
}

pub fn host_second(side: Side, second: u64) -> HostSecond {
    HostSecond {
        unix_ns: START + (second + 1) * SECOND,
        side,
        counts: HostCounts {
            udp_rcvbuf_errors: second % 2,
            softnet_squeezed: second % 3,
            ..HostCounts::default()
        },
        cpu_busy: 0.25 * (second % 4) as f64,
        cpu_steal: if second == 3 { f64::NAN } else { 0.0 },
        cpu_weir: 0.5,
        cpu_softirq: 0.0,
        cpu_softirq_core: 0.0,
        memory_bytes: 20_000_000 + second,
    }
}

/// The steps of a survey that are neither: probes and TCP; and a link.
pub fn others() -> Vec<Record> {
    let mut records = Vec::new();
    for second in 0..6u64 {
        records.push(Record::TcpSecond(
            Direction::Forward,
            TcpSecond {
                unix_ns: START + (second + 1) * SECOND,
                duration_ns: SECOND - 5,
                streams: 2,
                stream: (second % 2) as u16,
                bytes: 1_000_000 * second,
                retransmits: second,
                rtt_ns: 200_000 + second,
                cwnd_bytes: 65_536,
                congestion_control: if second < 3 { "cubic" } else { "bbr" }.into(),
            },
        ));
        records.push(Record::MtuProbe(
            Direction::Reverse,
            MtuProbe {
                unix_ns: START + second,
                size: 1_500 + second as u32,
                acknowledged: second < 4,
                refused_locally: second == 5,
            },
        ));
        records.push(Record::LinkSecond(
            Direction::Forward,
            LinkSecond {
                unix_ns: START + (second + 1) * SECOND,
                duration_ns: SECOND,
                offered: 1_000 + second,
                dropped_loss: second,
                most_queued_bytes: 5_000 + second,
                lateness: if second == 0 {
                    Quantiles::default()
                } else {
                    quantiles(9, 900)
                },
                ..LinkSecond::default()
            },
        ));
    }
    records
}

pub fn send_second(second: u64) -> Record {
    let fec = (second >= 2).then_some(12 + second as u32 % 3);
    Record::SendSecond(SendSecond {
        unix_ns: START + (second + 1) * SECOND + second % 900,
        duration_ns: SECOND + second % 700,
        receiver_rtt_ns: (second > 0).then_some(3_000_000 + second),
        counts: SenderCounters {
            frames: 60 - second % 2,
            sources: 18_000 + second % 50,
            repairs: 1_500 + second % 11,
            retransmitted: second % 7,
            trials: second % 5,
            refused: second % 4,
            rejected: second % 13,
            frames_skipped: second % 2,
            bytes: 160_000_000 + second,
            unsent: second % 3,
        },
        fec_sources: fec,
        fec_window: fec.map(|sources| sources * 8),
        cpu_ns: 400_000_000 + second,
    })
}

pub fn recv_second(sender: u16, second: u64) -> Record {
    let salt = second * 31 + u64::from(sender) * 17;
    Record::RecvSecond(RecvSecond {
        unix_ns: START + (second + 1) * SECOND + salt % 900,
        duration_ns: SECOND + salt % 700,
        sender,
        rtt_ns: 3_000_000 + salt % 999,
        counts: ArrivalCounters {
            received: 18_000 + salt % 50,
            bytes: 160_000_000 + salt,
            repairs: 1_500 + salt % 3,
            lost: salt % 41,
            recovered: salt % 11,
            retransmitted: salt % 7,
            overtaken: salt % 5,
            elsewhere: salt % 3,
            unrepaired: salt % 2,
            late: salt % 13,
            duplicates: salt % 17,
            rejected: salt % 19,
            asked: salt % 23,
        },
        socket_drops: salt % 29,
        cpu_ns: 300_000_000 + salt,
    })
}

pub fn frame_second(second: u64) -> Record {
    let none = second % 10 == 9;
    let known = |by: i64| {
        if none {
            Quantiles::default()
        } else {
            quantiles(60, by)
        }
    };
    Record::FrameSecond(FrameSecond {
        unix_ns: START + (second + 1) * SECOND + second % 900,
        duration_ns: SECOND + second % 700,
        counts: FrameCounters {
            frames: if none { 0 } else { 60 },
            damaged: second % 3,
            lost: second % 5,
            dropped: second % 7,
            verified: second % 61,
            unequal: second % 2,
        },
        budget_ns: 20_000_000 + second % 4 * 1_000_000,
        delay: known(21_000_000 + second as i64 * 13 % 1_000),
        used: known(4_000_000 + second as i64 * 7 % 1_000),
    })
}

/// 60 seconds of media from two senders, flows that were left and used again, and events.
pub fn media() -> Vec<Record> {
    let mut records = Vec::new();
    for second in 0..60 {
        records.extend([send_second(second), frame_second(second)]);
        records.extend([1, 0].map(|sender| recv_second(sender, second)));
    }
    for number in 0..20u64 {
        records.push(Record::FlowChange(FlowChange {
            unix_ns: START + number % 6 * SECOND,
            sender: (number % 2) as u16,
            flow: (number % 3) as u16,
            state: FlowChange::STATES[number as usize % 4].into(),
        }));
        records.push(Record::MediaEvent(MediaEvent {
            unix_ns: START + (20 - number) * SECOND,
            sender: (number % 3 > 0).then(|| (number % 3) as u16 - 1),
            event: MediaEvent::EVENTS[number as usize % 16].into(),
            state: MediaEvent::STATES[number as usize % 3].into(),
            detail: format!("</script><b>{number}</b>"),
        }));
    }
    records
}

/// A minute of load on an origin: requests of two kinds, and viewers.
pub fn load() -> Vec<Record> {
    let times = |from: i64| Quantiles {
        count: 10,
        min: from,
        p50: from + 1,
        p90: from + 2,
        p99: from + 3,
        p999: from + 4,
        max: from + 5,
    };
    let mut records = Vec::new();
    for second in 0..60u64 {
        let unix_ns = START + (second + 1) * SECOND;
        for (number, kind) in ["video", "audio"].into_iter().enumerate() {
            let number = number as u64;
            records.push(Record::LoadSecond(LoadSecond {
                unix_ns,
                duration_ns: SECOND,
                kind: kind.into(),
                requests: 10 + second + number,
                failed: number,
                body_bytes: 1_000 * second,
                all_bytes: 1_000 * second + 300,
                connections: 1,
                first_byte: times(1_000 + second as i64),
                last_byte: if second == 7 {
                    Quantiles::default()
                } else {
                    times(5_000 + second as i64)
                },
            }));
        }
        records.push(Record::ViewerSecond(ViewerSecond {
            unix_ns,
            duration_ns: SECOND,
            viewers: second,
            arrivals: 1,
            sessions: second % 2,
            played_ns: 3 * SECOND,
            stalls: second % 3,
            stalled_ns: 17,
            schedule_error: times(40),
            cpu_ns: 100 + second,
            ..ViewerSecond::default()
        }));
    }
    records.extend(load_histograms());
    records
}

/// Stalls and bit rates of 100 sessions, in two rows each, a row that is of no viewers and one that is damaged. Values are so
/// small that buckets hold one each.
fn load_histograms() -> Vec<Record> {
    let row = |half: u64, kind: &str, time: &str, value: &dyn Fn(i64) -> i64| {
        let values: Vec<i64> = (0..100).filter(|n| *n as u64 % 2 == half).map(value).collect();
        let buckets: Vec<(i64, u64)> = values.iter().map(|value| (*value, 1)).collect();
        Record::LoadHistogram(LoadHistogram {
            unix_ns: START + (half + 1) * 30 * SECOND,
            duration_ns: 30 * SECOND,
            kind: kind.into(),
            time: time.into(),
            count: 50,
            min_ns: values[0],
            max_ns: values[49],
            sum_ns: values.iter().sum(),
            buckets: serde_json::to_string(&buckets).unwrap(),
        })
    };
    let mut records = Vec::new();
    for half in 0..2 {
        records.push(row(half, "viewers", "startup", &|n| 500 + n));
        records.push(row(half, "viewers", "rebuffer_ppm", &|n| 10 * n));
        records.push(row(half, "viewers", "bitrate", &|n| 1_000 - (99 - n)));
        records.push(row(half, "viewers", "schedule_error", &|n| n));
        records.push(row(half, "video", "last_byte", &|n| n));
    }
    records.push(Record::LoadHistogram(LoadHistogram {
        kind: "viewers".into(),
        time: "startup".into(),
        buckets: "[[".into(),
        ..LoadHistogram::default()
    }));
    records
}
