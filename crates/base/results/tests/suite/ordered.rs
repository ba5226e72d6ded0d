//! Records in other orders, and their aggregates.

use weir_results::*;

use crate::sample;

#[test]
fn records_come_by_subject_and_begin_whatever_the_order_they_were_stored_in() {
    let (_directory, path, _) = sample::database();
    let mut backwards = sample::records();
    backwards.reverse();
    let run = sample::add_run(&path, &backwards);
    let store = Store::open_read_only(&path).unwrap();
    let mut seen = Vec::new();
    store
        .each_record_by_time(run, Table::FlowSeconds, |record| {
            if let Record::FlowSecond(direction, row) = record {
                seen.push((direction, row.flow, row.unix_ns));
            }
            Ok(())
        })
        .unwrap();
    let forward = Direction::Forward;
    assert_eq!(
        seen,
        [
            (forward, 0, 2_000),
            (forward, 0, 3_000),
            (forward, 0, 4_000),
            (forward, 1, 2_000),
            (forward, 1, 3_000)
        ]
    );
    let mut seen = Vec::new();
    store
        .each_record_by_time(run, Table::RecvSeconds, |record| {
            if let Record::RecvSecond(row) = record {
                seen.push((row.sender, row.unix_ns));
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, [(0, 2_000), (0, 3_000), (1, 2_000)]);
    for table in Table::ALL {
        let (mut rows, mut in_order) = (0, 0);
        store
            .each_record(run, table, |_| {
                rows += 1;
                Ok::<(), StoreError>(())
            })
            .unwrap();
        store
            .each_record_by_time(run, table, |_| {
                in_order += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(store.count(run, table).unwrap(), rows);
        assert_eq!(rows, in_order, "{table}");
    }
}

#[test]
fn bins_are_counted_by_subject_and_before_the_start_too() {
    let (_directory, path, run) = sample::database();
    let store = Store::open_read_only(&path).unwrap();
    // Packets were sent from 1000 to 1020 ns.
    for (origin, bin, bins) in [
        (1_000, 1_000, 1),
        (1_000, 10, 3),
        (1_010, 1_000, 2),
        (1_005, 10, 3),
        (0, 1, 21),
    ] {
        let counted = store
            .count_bins(run, Table::RttPackets, Subjects::Each, origin, bin)
            .unwrap();
        assert_eq!(counted, bins, "bins of {bin} from {origin}");
    }
    // Flow 0 has rows at 2000, 3000 and 4000, flow 1 at 2000 and 3000.
    let bins = |subjects, bin| {
        store
            .count_bins(run, Table::FlowSeconds, subjects, 0, bin)
            .unwrap()
    };
    assert_eq!(
        (bins(Subjects::Each, 1_000), bins(Subjects::Together, 1_000)),
        (5, 3)
    );
    assert_eq!(bins(Subjects::Each, 1 << 62), 2);
    let subjects = Table::ALL.map(|table| store.count_subjects(run, table).unwrap());
    assert_eq!(subjects[..4], [(1, 21), (2, 3), (2, 3), (2, 2)]);
    // A sender; two senders at a receiver; frames; a flow of a sender; events.
    assert_eq!(subjects[12..17], [(1, 2), (2, 2), (1, 2), (1, 4), (1, 16)]);
    // Two kinds of requests, failures of one, viewers, metrics of two sources, and the distribution of one time.
    assert_eq!(subjects[17..22], [(2, 2), (1, 1), (1, 2), (2, 1), (1, 1)]);
    // A household with one variant, and a neighbour of it; a task of a testbed.
    assert_eq!(subjects[22..], [(1, 1), (1, 1), (1, 1)]);
}

#[test]
fn round_trip_times_ascend_within_their_group() {
    let (_directory, path, run) = sample::database();
    let store = Store::open_read_only(&path).unwrap();
    let _one_state = store.snapshot().unwrap();
    let read = |groups| {
        let mut seen = Vec::new();
        store
            .each_rtt(run, groups, |group, rtt| seen.push((group, rtt)))
            .unwrap();
        seen
    };
    let lengths = RttGroups::Lengths {
        first: 100,
        width: 1_000,
    };
    let expected: Vec<(u64, u64)> = (1..=10)
        .map(|place| (0, place * 100))
        .chain((1..=10).map(|place| (1, place * 200)))
        .collect();
    assert_eq!(read(lengths), expected);
    for groups in [RttGroups::All, RttGroups::Positions] {
        let seen = read(groups);
        assert_eq!(seen.len(), 20);
        assert!(seen.is_sorted(), "{seen:?}");
    }
    let group = |group, answered, lost| RttGroup {
        group,
        answered,
        lost,
    };
    assert_eq!(
        store.rtt_groups(run, lengths).unwrap(),
        [group(0, 10, 1), group(1, 10, 0)]
    );
    assert_eq!(store.rtt_lengths(run).unwrap(), (2, 100, 1400));
}

#[test]
fn a_clock_set_back_while_media_was_carried_is_found_for_each_sender_alone() {
    let (_directory, path, _) = sample::database();
    const SECOND: u64 = 1_000_000_000;
    let send = |second: u64| {
        Record::SendSecond(SendSecond {
            unix_ns: second * SECOND,
            duration_ns: SECOND,
            ..SendSecond::default()
        })
    };
    let recv = |sender, second: u64| {
        Record::RecvSecond(RecvSecond {
            unix_ns: second * SECOND,
            duration_ns: SECOND,
            sender,
            ..RecvSecond::default()
        })
    };
    let steps = |records: &[Record]| {
        let run = sample::add_run(&path, records);
        let steps = Store::open_read_only(&path).unwrap().clock_steps(run).unwrap();
        steps
            .iter()
            .map(|step| (step.unix_ns / SECOND, step.back_ns / SECOND))
            .collect::<Vec<_>>()
    };
    // One began an hour before the other, as far as rows can tell; neither went back.
    assert_eq!(
        steps(&[recv(0, 9_000), recv(1, 5_000), recv(0, 9_001), recv(1, 5_001)]),
        []
    );
    assert_eq!(
        steps(&[recv(0, 9_000), recv(0, 9_001), recv(0, 8_002)]),
        [(8_001, 1_000)]
    );
    assert_eq!(steps(&[send(70), send(71), send(62)]), [(61, 10)]);
}
