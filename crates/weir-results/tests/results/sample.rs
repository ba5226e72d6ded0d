//! Runs with records whose sums are easy to work out by hand.

use serde_json::json;
use weir_results::*;

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
    let flow =
        |flow: u16, unix_ns, [received, bursts, longest_burst, reversals, sequence_breaks]: [u64; 5]| {
            Record::FlowSecond(
                Forward,
                FlowSecond {
                    unix_ns,
                    flow,
                    port: 5678 + flow,
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
                    owd: if flow == 0 {
                        quantiles(received)
                    } else {
                        Quantiles::default()
                    },
                },
            )
        };
    records.extend([
        flow(0, 2_000, [60, 1, 3, 0, 1]),
        flow(1, 2_000, [40, 2, 2, 1, 5]),
        flow(0, 3_000, [110, 0, 0, 4, 8]),
        flow(1, 3_000, [90, 1, 8, 0, 1]),
        flow(0, 4_000, [25, 1, 2, 0, 1]),
    ]);
    records.extend([
        Record::StreamBurst(
            Forward,
            StreamBurst {
                unix_ns: 1_500,
                first_sequence: 17,
                length: 5,
            },
        ),
        Record::StreamBurst(
            Reverse,
            StreamBurst {
                unix_ns: 1_600,
                first_sequence: 3,
                length: 7,
            },
        ),
        Record::StreamBurst(
            Forward,
            StreamBurst {
                unix_ns: 3_500,
                first_sequence: 331,
                length: 10,
            },
        ),
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
    records.extend([
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
                sent: 105,
                bytes: 131_250_000,
                sends: 9,
                refused: 1,
                schedule_error: quantiles(9),
                cpu_ns: 400_000_000,
            },
        ),
        host_second(Side::Local),
        host_second(Side::Remote),
        Record::TcpSecond(
            Reverse,
            TcpSecond {
                unix_ns: 2_000,
                duration_ns: 500_000_000,
                streams: 2,
                stream: 1,
                bytes: 62_500_000,
                retransmits: 12,
                rtt_ns: 20_000_000,
                cwnd_bytes: 1_000_000,
                congestion_control: "cubic".into(),
            },
        ),
        Record::MtuProbe(
            Forward,
            MtuProbe {
                unix_ns: 1_100,
                size: 9001,
                acknowledged: false,
                refused_locally: true,
            },
        ),
        Record::MtuProbe(
            Forward,
            MtuProbe {
                unix_ns: 1_200,
                size: 1500,
                acknowledged: true,
                refused_locally: false,
            },
        ),
        Record::LinkSecond(
            Reverse,
            LinkSecond {
                unix_ns: 2_000,
                duration_ns: 1_000_000_000,
                offered: 1000,
                offered_bytes: 1001,
                delivered: 1002,
                delivered_bytes: 1003,
                dropped_too_big: 1004,
                dropped_long_packet: 1005,
                dropped_flow_rate: 1006,
                dropped_packet_rate: 1007,
                dropped_extra_flow: 1008,
                dropped_dark: 1009,
                dropped_loss: 1010,
                dropped_queue: 1011,
                duplicated: 1012,
                corrupted: 1013,
                own_losses: 1014,
                most_queued_bytes: 1015,
                lateness: quantiles(12),
                cpu_ns: 100_000_000,
            },
        ),
    ]);
    records.extend(media());
    records.extend(load());
    records
}

/// Two seconds of load on an origin.
fn load() -> Vec<Record> {
    let requests = |unix_ns, kind: &str, from: u64| {
        Record::LoadSecond(LoadSecond {
            unix_ns,
            duration_ns: 1_000,
            kind: kind.into(),
            requests: from + 1,
            failed: from + 2,
            body_bytes: from + 3,
            all_bytes: from + 4,
            connections: from + 5,
            first_byte: quantiles(from + 6),
            last_byte: quantiles(from + 7),
        })
    };
    let viewers = |unix_ns, from: u64, startup: Quantiles| {
        Record::ViewerSecond(ViewerSecond {
            unix_ns,
            duration_ns: 1_000,
            viewers: from + 1,
            arrivals: from + 2,
            sessions: from + 3,
            gave_up: from + 4,
            played_ns: from + 5,
            stalls: from + 6,
            stalled_ns: from + 7,
            switches: from + 8,
            startup,
            schedule_error: quantiles(from + 9),
            cpu_ns: from + 10,
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

/// Two seconds of media from two senders, the second of which has a flow go silent. Numbers are all different, so that
/// no column can stand for another.
fn media() -> Vec<Record> {
    let send = |unix_ns, from: u64, fec: Option<(u32, u32)>| {
        Record::SendSecond(SendSecond {
            unix_ns,
            duration_ns: 1_000,
            receiver_rtt_ns: fec.map(|_| from + 1),
            frames: from + 2,
            frames_skipped: from + 3,
            sources: from + 4,
            bytes: from + 5,
            repairs: from + 6,
            retransmitted: from + 7,
            trials: from + 8,
            refused: from + 9,
            unsent: from + 10,
            rejected: from + 11,
            fec_sources: fec.map(|(sources, _)| sources),
            fec_window: fec.map(|(_, window)| window),
            cpu_ns: from + 12,
        })
    };
    let recv = |unix_ns, sender, from: u64| {
        Record::RecvSecond(RecvSecond {
            unix_ns,
            duration_ns: 1_000,
            sender,
            rtt_ns: from + 1,
            received: from + 2,
            bytes: from + 3,
            repairs: from + 4,
            lost: from + 5,
            recovered: from + 6,
            retransmitted: from + 7,
            overtaken: from + 8,
            elsewhere: from + 9,
            unrepaired: from + 10,
            late: from + 11,
            duplicates: from + 12,
            rejected: from + 13,
            asked: from + 14,
            socket_drops: from + 15,
            cpu_ns: from + 16,
        })
    };
    let frames = |unix_ns, from: u64, used: Quantiles| {
        Record::FrameSecond(FrameSecond {
            unix_ns,
            duration_ns: 1_000,
            frames: from + 1,
            damaged: from + 2,
            lost: from + 3,
            dropped: from + 4,
            verified: from + 5,
            unequal: from + 6,
            budget_ns: from + 7,
            delay: quantiles(from + 8),
            used,
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
        udp_rcvbuf_errors: 1,
        udp_in_errors: 2,
        udp_sndbuf_errors: 3,
        softnet_dropped: 4,
        softnet_squeezed: 5,
        interface_rx_dropped: 6,
        interface_tx_dropped: 7,
        cpu_busy: 1.75,
        cpu_steal: 0.25,
        cpu_weir: 0.5,
        memory_bytes: 8_000_000,
    })
}
