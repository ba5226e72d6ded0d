//! Runs with records whose sums are easy to work out by hand.

use serde_json::json;
use weir_results::*;
use weir_stats::{FlowCounts, Quantiles};

use crate::numbered::numbered;

/// A database with one finished run that has rows in every table.
pub fn database() -> (tempfile::TempDir, std::path::PathBuf, RunId) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.db");
    let run = add_run(&path, &records());
    (directory, path, run)
}

/// Writes a finished run and returns its number.
pub fn add_run(path: &std::path::Path, records: &[Record]) -> RunId {
    let store = Store::open(path).unwrap();
    let run = store.begin_run(&new_run()).unwrap();
    let (recorder, handle) = Writer::spawn(path, run).unwrap();
    for record in records {
        recorder.record(record.clone());
    }
    let report = handle.finish().unwrap();
    assert_eq!(
        report,
        WriterReport {
            written: records.len() as u64,
            merged: 0,
            lost: 0
        }
    );
    store
        .set_remote_host(run, &json!({"host_name": "far", "mtu": 9001}))
        .unwrap();
    store
        .end_run(run, Outcome::Finished, None, 9_000, &json!({"loss": 0.25}))
        .unwrap();
    run
}

pub fn new_run() -> NewRun {
    NewRun {
        kind: "survey".into(),
        target: "far.example:5678".into(),
        parent: None,
        parameters: json!({"flows": 2, "rate": 1_000_000_000u64}),
        local_host: json!({"host_name": "near"}),
        started_unix_ns: 1_000,
        weir_version: "0.1.0".into(),
    }
}

/// Three seconds of two flows in one direction and one in the other, with the events that go with them.
pub fn records() -> Vec<Record> {
    use Direction::{Forward, Reverse};
    let mut records = rtt_packets();
    let stream = |direction, unix_ns, received, lost, duplicates| {
        Record::StreamSecond(
            direction,
            StreamSecond {
                unix_ns,
                duration_ns: 1_000_000_000,
                received,
                bytes: received * 1_250_000,
                lost,
                late: 1,
                duplicates,
                reordered: 2,
                rejected: 3,
                owd: quantiles(received),
            },
        )
    };
    records.extend([
        stream(Forward, 2_000, 100, 5, 1),
        stream(Reverse, 2_000, 40, 7, 0),
        stream(Forward, 3_000, 200, 0, 2),
        stream(Forward, 4_000, 50, 10, 4),
    ]);
    let stream_burst = |direction, unix_ns, first_sequence, length| {
        Record::StreamBurst(
            direction,
            StreamBurst {
                unix_ns,
                first_sequence,
                length,
            },
        )
    };
    records.extend([
        stream_burst(Forward, 1_500, 17, 5),
        stream_burst(Reverse, 1_600, 3, 7),
        stream_burst(Forward, 3_500, 331, 10),
    ]);
    records.extend(flows());
    records.extend(events());
    records.extend(media());
    records.extend(load());
    records.extend(lab());
    records
}

/// Seconds and bursts of the two flows.
fn flows() -> Vec<Record> {
    use Direction::Forward;
    let flow =
        |flow: u16, unix_ns, [received, bursts, longest_burst, reversals, sequence_breaks]: [u64; 5]| {
            Record::FlowSecond(
                Forward,
                FlowSecond {
                    unix_ns,
                    flow,
                    port: 5678 + flow,
                    owd: if flow == 0 {
                        quantiles(received)
                    } else {
                        Quantiles::default()
                    },
                    counts: FlowCounts {
                        received,
                        bytes: received * 1000,
                        lost: 5,
                        late: 1,
                        duplicates: 2,
                        reversals,
                        sequence_breaks,
                        bursts,
                        longest_burst,
                        socket_drops: 6,
                        ecn_marked: 7,
                        ecn_cleared: 8,
                    },
                },
            )
        };
    let mut records = Vec::from([
        flow(0, 2_000, [60, 1, 3, 0, 1]),
        flow(1, 2_000, [40, 2, 2, 1, 5]),
        flow(0, 3_000, [110, 0, 0, 4, 8]),
        flow(1, 3_000, [90, 1, 8, 0, 1]),
        flow(0, 4_000, [25, 1, 2, 0, 1]),
    ]);
    let burst = |flow: u16, unix_ns, length, received_before, bursts_before| {
        Record::FlowBurst(
            Forward,
            FlowBurst {
                unix_ns,
                flow,
                port: 5678 + flow,
                first_sequence: received_before,
                length,
                received_before,
                bytes_before: received_before * 1000,
                bursts_before,
            },
        )
    };
    records.extend([
        burst(0, 1_500, 3, 20, 1),
        burst(1, 1_510, 2, 21, 1),
        burst(1, 1_900, 1, 30, 2),
        burst(1, 2_400, 8, 55, 3),
        burst(0, 3_500, 2, 180, 2),
    ]);
    records
}

/// Probes, silences and the seconds of hosts, connections and links.
fn events() -> Vec<Record> {
    use Direction::{Forward, Reverse};
    let probe = |unix_ns, size, acknowledged| {
        Record::MtuProbe(
            Forward,
            MtuProbe {
                unix_ns,
                size,
                acknowledged,
                refused_locally: !acknowledged,
            },
        )
    };
    vec![
        Record::Silence(
            Forward,
            Silence {
                unix_ns: 2_100,
                flow: 1,
                duration_ns: 12_000_000,
            },
        ),
        Record::LossWindow(
            Forward,
            LossWindow {
                unix_ns: 1_500,
                duration_ns: 1_000_000,
                lost: 5,
                flows_losing: 2,
                flows: vec![0, 1],
            },
        ),
        Record::LossWindow(Reverse, LossWindow::default()),
        Record::SenderSecond(
            Forward,
            SenderSecond {
                unix_ns: 2_000,
                duration_ns: 1_000_000_000,
                schedule_error: quantiles(9),
                ..numbered(900)
            },
        ),
        host_second(Side::Local),
        host_second(Side::Remote),
        Record::TcpSecond(
            Reverse,
            TcpSecond {
                unix_ns: 2_000,
                congestion_control: "cubic".into(),
                ..numbered(700)
            },
        ),
        probe(1_100, 9001, false),
        probe(1_200, 1500, true),
        Record::LinkSecond(
            Reverse,
            LinkSecond {
                unix_ns: 2_000,
                lateness: quantiles(12),
                ..numbered(1000)
            },
        ),
    ]
}

/// Two seconds of load on an origin.
fn load() -> Vec<Record> {
    let requests = |unix_ns, kind: &str, from: u64| {
        Record::LoadSecond(LoadSecond {
            unix_ns,
            kind: kind.into(),
            first_byte: quantiles(from + 20),
            last_byte: quantiles(from + 21),
            ..numbered(from)
        })
    };
    let viewers = |unix_ns, from: u64, startup: Quantiles| {
        Record::ViewerSecond(ViewerSecond {
            unix_ns,
            startup,
            schedule_error: quantiles(from + 20),
            ..numbered(from)
        })
    };
    let metric = |source: &str, value| {
        Record::LoadMetric(LoadMetric {
            unix_ns: 2_000,
            source: source.into(),
            name: "bytes_total{kind=\"media\"}".into(),
            value,
        })
    };
    vec![
        requests(2_000, "audio", 800),
        requests(2_000, "video", 900),
        requests(3_000, "audio", 1000),
        Record::LoadFailure(LoadFailure {
            unix_ns: 2_000,
            kind: "video".into(),
            cause: "http_5xx".into(),
            count: 77,
        }),
        viewers(2_000, 1100, Quantiles::default()),
        viewers(3_000, 1200, quantiles(3)),
        metric("scrape", 1.5),
        metric("host", 1e18),
        Record::LoadHistogram(LoadHistogram {
            unix_ns: 3_000,
            duration_ns: 2_000,
            kind: "audio".into(),
            time: "last_byte".into(),
            count: 1301,
            min_ns: 1302,
            max_ns: 1303,
            sum_ns: 1304,
            buckets: "[[1302,1300],[1303,1]]".into(),
        }),
    ]
}

/// A session and a neighbour of a simulated household, and a second of a testbed's task.
fn lab() -> Vec<Record> {
    vec![
        Record::HouseholdSession(HouseholdSession {
            unix_ns: 3_000,
            household: 1401,
            variant: "unpaced".into(),
            rate: 1402,
            up_rate: 1403,
            rtt_ns: 1404,
            queue: "2bdp".into(),
            congestion: "cubic".into(),
            device: "television".into(),
            abr: "hyb".into(),
            length_ns: 1405,
            finished: true,
            segments: 1406,
            throughput: 1407,
            fetching_ns: 1408,
            packets: 1409,
            retransmitted: 1410,
            smoothed_rtt_mean_ns: 1411,
            smoothed_rtt_p95_ns: 1412,
            startup_ns: Some(1413),
            stalls: 1414,
            stalled_ns: 1415,
            played_ns: 1416,
            bitrate: 1417,
            first_20_s_bitrate: 1418,
            switches: 1419,
            queue_mean_bytes: 1420,
            queue_dropped: 1421,
            queue_marked: 1422,
            media_sojourn_mean_ns: Some(1427),
            media_sojourn_p99_ns: None,
            media_dropped: 1428,
            media_marked: 1429,
            pace: Some(1430),
            capacity: None,
        }),
        Record::HouseholdNeighbour(HouseholdNeighbour {
            unix_ns: 3_000,
            household: 1401,
            variant: "unpaced".into(),
            neighbour: "pages".into(),
            kind: "downloads".into(),
            count: 1423,
            lost: 0,
            time_mean_ns: Some(1424),
            time_quantile_ns: Some(1425),
            beside_time_mean_ns: None,
            throughput: Some(1426),
            beside_throughput: None,
            sojourn_mean_ns: Some(1430),
            sojourn_p50_ns: Some(1431),
            sojourn_p99_ns: None,
            dropped: 1432,
            marked: 1433,
        }),
        Record::TaskSecond(TaskSecond {
            unix_ns: 3_000,
            duration_ns: 1_000,
            task: "middle".into(),
            function: "origin".into(),
            in_bytes: 1427,
            in_packets: 1428,
            in_payload_bytes: 1429,
            out_bytes: 1430,
            out_packets: 1431,
            out_payload_bytes: 1432,
            cpu_ns: 1433,
            memory_bytes: 1434,
        }),
    ]
}

/// Two seconds of media from two senders, the second of which has a flow go silent.
fn media() -> Vec<Record> {
    let send = |unix_ns, from: u64, fec: Option<(u32, u32)>| {
        Record::SendSecond(SendSecond {
            unix_ns,
            receiver_rtt_ns: fec.map(|_| from + 20),
            fec_sources: fec.map(|(sources, _)| sources),
            fec_window: fec.map(|(_, window)| window),
            ..numbered(from)
        })
    };
    let recv = |unix_ns, sender, from: u64| {
        Record::RecvSecond(RecvSecond {
            unix_ns,
            sender,
            ..numbered(from)
        })
    };
    let frames = |unix_ns, from: u64, used: Quantiles| {
        Record::FrameSecond(FrameSecond {
            unix_ns,
            delay: quantiles(from + 20),
            used,
            ..numbered(from)
        })
    };
    let mut records = vec![
        send(2_000, 100, None),
        send(3_000, 200, Some((12, 96))),
        recv(2_000, 0, 300),
        recv(2_000, 1, 400),
        recv(3_000, 0, 500),
        frames(2_000, 600, quantiles(9)),
        frames(3_000, 700, Quantiles::default()),
    ];
    records.extend(FlowChange::STATES.into_iter().zip(1u64..).map(|(state, place)| {
        Record::FlowChange(FlowChange {
            unix_ns: 2_000 + place,
            sender: 1,
            flow: 3,
            state: state.into(),
        })
    }));
    records.extend(MediaEvent::EVENTS.into_iter().zip(1u64..).map(|(event, place)| {
        Record::MediaEvent(MediaEvent {
            unix_ns: 1_000 * place,
            sender: (place % 2 == 0).then_some(1),
            event: event.into(),
            detail: format!("</script> \u{202e} \"{place}\"\n"),
            state: MediaEvent::STATES[place as usize % 3].into(),
        })
    }));
    records
}

/// RTTs of 100, 200 .. 1000 ns at length 100 and twice that at length 1400, not in order, and one lost packet.
fn rtt_packets() -> Vec<Record> {
    let mut packets = Vec::new();
    for (length, factor) in [(100, 1), (1400, 2)] {
        for place in 0..10u64 {
            // 7 and 10 have no common divisor: every RTT comes once.
            let rtt = (place * 7 % 10 + 1) * 100 * factor;
            packets.push(RttPacket {
                length,
                rtt_ns: Some(rtt),
                network_rtt_ns: Some(rtt - 50),
                owd_forward_ns: Some(-3),
                owd_reverse_ns: Some(rtt as i64),
                delta_ttl: Some(place as i32 % 2),
                duplicates: u32::from(place == 3),
                ..Default::default()
            });
        }
    }
    packets.insert(
        5,
        RttPacket {
            length: 100,
            lost: true,
            ..Default::default()
        },
    );
    for (sequence, packet) in packets.iter_mut().enumerate() {
        packet.sequence = sequence as u64;
        packet.window = sequence as u64 / 7;
        packet.position = sequence as u32 % 7;
        packet.window_size = 7;
        packet.sent_unix_ns = 1_000 + sequence as u64;
    }
    packets.into_iter().map(Record::RttPacket).collect()
}

fn quantiles(count: u64) -> Quantiles {
    Quantiles {
        count,
        min: -40,
        p50: 10,
        p90: 20,
        p99: 30,
        p999: 31,
        max: 500,
    }
}

fn host_second(side: Side) -> Record {
    Record::HostSecond(HostSecond {
        unix_ns: 2_000,
        side,
        cpu_busy: 1.75,
        cpu_steal: 0.25,
        cpu_weir: 0.5,
        cpu_softirq: 0.125,
        cpu_softirq_core: 0.0625,
        ..numbered(1)
    })
}
