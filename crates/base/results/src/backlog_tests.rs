//! The writer's backlog: which records of the same second are merged, and how, and what is dropped.

use super::*;
use weir_record::Side;
use weir_record::{
    FlowChange, FrameSecond, HostSecond, MediaEvent, RecvSecond, SendSecond, SenderSecond, StreamSecond,
    TcpSecond,
};
use weir_stats::{FlowCounts, HostCounts, Quantiles, SendCounts};

#[path = "../tests/suite/numbered.rs"]
mod numbered;
use numbered::numbered;

/// Two records into a backlog, and the one that comes out.
fn merged(first: Record, second: Record) -> Record {
    let mut backlog = Backlog::new(10);
    assert_eq!(backlog.put(first), Fate::Kept);
    assert_eq!(backlog.put(second), Fate::Merged);
    let mut records = backlog.take();
    assert_eq!((records.len(), backlog.len()), (1, 0));
    records.remove(0)
}

fn quantiles(count: u64, values: [i64; 6]) -> Quantiles {
    let [min, p50, p90, p99, p999, max] = values;
    Quantiles {
        count,
        min,
        p50,
        p90,
        p99,
        p999,
        max,
    }
}

#[test]
fn seconds_of_the_stream_and_its_sender_add_up() {
    let second = |unix_ns, received, owd| {
        let row = StreamSecond {
            unix_ns,
            duration_ns: 10,
            received,
            bytes: 5,
            lost: 1,
            late: 2,
            duplicates: 3,
            reordered: 4,
            rejected: u64::MAX,
            owd,
        };
        Record::StreamSecond(Direction::Reverse, row)
    };
    let sum = merged(
        second(100, 7, quantiles(3, [-5, 1, 2, 3, 4, 50])),
        second(90, 8, quantiles(4, [-6, 0, 3, 3, 3, 40])),
    );
    let Record::StreamSecond(Direction::Reverse, sum) = sum else {
        panic!("{sum:?}")
    };
    let counts = (
        sum.unix_ns,
        sum.duration_ns,
        sum.received,
        sum.bytes,
        sum.lost,
        sum.late,
    );
    assert_eq!(counts, (100, 20, 15, 10, 2, 4));
    assert_eq!((sum.duplicates, sum.reordered, sum.rejected), (6, 8, u64::MAX));
    assert_eq!(sum.owd, quantiles(7, [-6, 1, 3, 3, 4, 50]));

    let sender = |schedule_error| {
        let row = SenderSecond {
            counts: SendCounts {
                sent: 4,
                bytes: 40,
                sends: 2,
                refused: 1,
            },
            cpu_ns: 9,
            schedule_error,
            ..Default::default()
        };
        Record::SenderSecond(Direction::Forward, row)
    };
    let of_one = quantiles(1, [-1; 6]);
    let Record::SenderSecond(_, sum) = merged(sender(Quantiles::default()), sender(of_one)) else {
        panic!()
    };
    assert_eq!(
        (sum.counts, sum.cpu_ns),
        (
            SendCounts {
                sent: 8,
                bytes: 80,
                sends: 4,
                refused: 2
            },
            18
        )
    );
    assert_eq!(
        sum.schedule_error, of_one,
        "no values on one side leave the other as it is"
    );
}

#[test]
fn longest_bursts_host_loads_and_tcp_states_are_not_added_up() {
    let flow = |longest_burst| {
        Record::FlowSecond(
            Direction::Forward,
            FlowSecond {
                counts: FlowCounts {
                    bursts: 2,
                    longest_burst,
                    ..FlowCounts::default()
                },
                ..Default::default()
            },
        )
    };
    let Record::FlowSecond(_, sum) = merged(flow(9), flow(4)) else {
        panic!()
    };
    assert_eq!((sum.counts.bursts, sum.counts.longest_burst), (4, 9));

    let host = |cpu_busy, memory_bytes| {
        Record::HostSecond(HostSecond {
            unix_ns: 1,
            side: Side::Remote,
            counts: HostCounts {
                udp_rcvbuf_errors: 1,
                interface_tx_dropped: 7,
                ..HostCounts::default()
            },
            cpu_busy,
            cpu_steal: 0.5,
            cpu_softirq_core: cpu_busy / 10.0,
            memory_bytes,
            ..HostSecond::default()
        })
    };
    let mut backlog = Backlog::new(10);
    for (load, memory) in [(1.0, 5), (2.0, 9), (6.0, 7)] {
        backlog.put(host(load, memory));
    }
    let records = backlog.take();
    let [Record::HostSecond(sum)] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!((sum.cpu_busy, sum.cpu_steal, sum.memory_bytes), (3.0, 0.5, 9));
    assert_eq!(sum.cpu_softirq_core, 0.6);
    assert_eq!(
        (sum.counts.udp_rcvbuf_errors, sum.counts.interface_tx_dropped),
        (3, 21)
    );

    let tcp = |unix_ns, rtt_ns| {
        let row = TcpSecond {
            unix_ns,
            duration_ns: 10,
            streams: 4,
            stream: 1,
            bytes: 100,
            retransmits: 2,
            rtt_ns,
            cwnd_bytes: rtt_ns * 2,
            congestion_control: "cubic".into(),
        };
        Record::TcpSecond(Direction::Forward, row)
    };
    let Record::TcpSecond(_, sum) = merged(tcp(20, 7), tcp(10, 8)) else {
        panic!()
    };
    assert_eq!(
        (sum.unix_ns, sum.duration_ns, sum.bytes, sum.retransmits),
        (20, 20, 200, 4)
    );
    assert_eq!((sum.rtt_ns, sum.cwnd_bytes), (7, 14), "the later state stands");
}

/// Twice every number of a record but its states, by the names that serde gives them.
fn doubled<T: serde::Serialize + serde::de::DeserializeOwned>(row: &T, states: &[&str]) -> T {
    let mut row = serde_json::to_value(row).unwrap();
    for (name, value) in row.as_object_mut().unwrap() {
        if let Some(count) = value.as_u64()
            && !states.contains(&name.as_str())
        {
            *value = (count * 2).into();
        }
    }
    serde_json::from_value(row).unwrap()
}

#[test]
fn seconds_of_media_add_up_and_the_later_state_stands() {
    let send = SendSecond {
        unix_ns: 20,
        receiver_rtt_ns: Some(1),
        fec_sources: Some(12),
        fec_window: Some(96),
        ..numbered(2)
    };
    let earlier = SendSecond {
        unix_ns: 10,
        receiver_rtt_ns: None,
        fec_sources: None,
        fec_window: None,
        ..send.clone()
    };
    let states = ["unix_ns", "receiver_rtt_ns", "fec_sources", "fec_window"];
    let sum = Record::SendSecond(doubled(&send, &states));
    let [send, earlier] = [send, earlier].map(Record::SendSecond);
    assert_eq!(merged(send.clone(), earlier.clone()), sum);
    assert_eq!(merged(earlier, send), sum);

    let recv = RecvSecond {
        unix_ns: 20,
        sender: 3,
        rtt_ns: 1,
        ..numbered(2)
    };
    let earlier = RecvSecond {
        unix_ns: 10,
        rtt_ns: 9,
        ..recv.clone()
    };
    let sum = Record::RecvSecond(doubled(&recv, &["unix_ns", "sender", "rtt_ns"]));
    let [recv, earlier] = [recv, earlier].map(Record::RecvSecond);
    assert_eq!(merged(recv.clone(), earlier.clone()), sum);
    assert_eq!(merged(earlier, recv), sum);

    let delay = quantiles(2, [1, 2, 3, 4, 5, 6]);
    let frames = FrameSecond {
        unix_ns: 20,
        budget_ns: 7,
        delay,
        ..numbered(1)
    };
    let earlier = FrameSecond {
        unix_ns: 10,
        budget_ns: 99,
        used: delay,
        ..frames.clone()
    };
    let sum = Record::FrameSecond(FrameSecond {
        delay: Quantiles { count: 4, ..delay },
        used: delay,
        ..doubled(&frames, &["unix_ns", "budget_ns"])
    });
    assert_eq!(
        merged(Record::FrameSecond(frames), Record::FrameSecond(earlier)),
        sum
    );
}

#[test]
fn senders_stay_apart_and_what_happened_is_never_merged() {
    let mut backlog = Backlog::new(5);
    let recv = |sender| {
        Record::RecvSecond(RecvSecond {
            sender,
            ..RecvSecond::default()
        })
    };
    let others = [
        Record::FlowChange(FlowChange::default()),
        Record::MediaEvent(MediaEvent::default()),
        Record::MediaEvent(MediaEvent::default()),
    ];
    for record in [recv(0), recv(1)].into_iter().chain(others.clone()) {
        assert_eq!(backlog.put(record), Fate::Kept);
    }
    assert_eq!(backlog.put(recv(1)), Fate::Merged);
    for record in others {
        assert_eq!(backlog.put(record), Fate::Lost);
    }
    assert_eq!(backlog.take().len(), 5);
}

#[test]
fn different_flows_and_directions_stay_apart_and_the_backlog_is_bounded() {
    let mut backlog = Backlog::new(3);
    assert_eq!(backlog.put(flow_second(1, 0, 1)), Fate::Kept);
    assert_eq!(backlog.put(flow_second(1, 1, 1)), Fate::Kept);
    assert_eq!(
        backlog.put(Record::FlowSecond(Direction::Reverse, FlowSecond::default())),
        Fate::Kept
    );
    assert_eq!(backlog.put(flow_second(1, 2, 1)), Fate::Lost);
    assert_eq!(backlog.put(packet(0)), Fate::Lost);
    assert_eq!(
        backlog.put(flow_second(2, 1, 1)),
        Fate::Merged,
        "what has a place still merges when full"
    );
    assert_eq!(backlog.take().len(), 3);
}
