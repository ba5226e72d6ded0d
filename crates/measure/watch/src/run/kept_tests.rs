//! A day of a watcher in virtual time, over a real store: what it keeps in memory does not grow.

use weir_record::{Direction, RttPacket, WatchCell};
use weir_results::{Span, Store};

use super::executor::Done;
use super::host_alarm::HostAlarm;
use super::keeper::Keeper;
use super::path::Path;
use crate::change::TestedWay;
use crate::flows::FlowResult;
use crate::own::{Cause, Disturbed};
use crate::plan::Plan;
use crate::schedule::{Kind, Schedule, Start, Task};

/// 2026-01-01 00:00:00 UTC.
const START_S: u64 = 1_767_225_600;
const HOUR_S: u64 = 3_600;
const SECOND: u64 = 1_000_000_000;
/// From one window to the next: every tenth second, so that the test takes some seconds.
const EVERY_S: u64 = 10;

const FILE: &str = "
    here = \"lon\"
    [[host]]
    name = \"lon\"
    [[host]]
    name = \"ams\"
    [rtt]
    interval = \"10s\"
    [flows]
    every = \"10min\"
    [[rule]]
    name = \"loss\"
    metric = \"loss\"
    above = \"20%\"
    for = \"1min\"
    until = \"1min\"
";

/// RTT of packet `number`, nanoseconds: spread by 20 %, by a number without a short period.
fn rtt_ns(number: u64) -> u64 {
    40_000_000 + number.wrapping_mul(2_654_435_761) % 8_000_000
}

/// The four packets of a window; those of two minutes in every two hours are lost.
fn packets(start_s: u64) -> impl Iterator<Item = RttPacket> {
    let lost = start_s % (2 * HOUR_S) < 120;
    (0..4).map(move |packet| RttPacket {
        sent_unix_ns: start_s * SECOND + packet,
        rtt_ns: (!lost).then(|| rtt_ns(start_s * 4 + packet)),
        delta_ttl: Some(11),
        lost,
        ..RttPacket::default()
    })
}

/// A flow test of both directions, with a dark flow now and then and a path MTU that changes every three hours.
fn flow_test(unix_s: u64) -> Done {
    let ways = [Direction::Forward, Direction::Reverse];
    let flow = |direction, flow: usize| FlowResult {
        direction,
        flow,
        // Ports differ from test to test.
        port: (unix_s / 600 * 16 + flow as u64) as u16,
        sent: 100,
        received: if flow == 3 && unix_s % HOUR_S < 600 {
            0
        } else {
            100
        },
    };
    let tested = |direction| {
        let mtu = Some(if (unix_s / (3 * HOUR_S)).is_multiple_of(2) {
            1500
        } else {
            1400
        });
        let hops = [(11, 8), (11 + (unix_s / HOUR_S % 3) as u32, 8)]
            .into_iter()
            .collect();
        (direction, TestedWay { hops, mtu })
    };
    Done {
        flows: ways
            .into_iter()
            .flat_map(|way| (0..16).map(move |number| flow(way, number)))
            .collect(),
        tested: ways.into_iter().map(tested).collect(),
        ..Done::default()
    }
}

/// Entries of all collections and fields: the commas of the text of all state, whatever its numbers are.
fn entries(state: &impl std::fmt::Debug) -> usize {
    format!("{state:?}").matches(',').count()
}

#[test]
fn a_watcher_keeps_no_more_after_a_day_than_after_an_hour() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("weir.db")).unwrap();
    let config = crate::config::read(FILE, None).unwrap();
    let plan = Plan::of(&config).unwrap();
    let start_ns = START_S * SECOND;
    // A day before it, so that what looks back for hours is full at the start.
    let id = store.watch_path("lon", "ams").unwrap();
    let minute = |number: u64| {
        let start_s = START_S - 86_400 + 60 * number;
        let mut cell = WatchCell {
            start_s,
            sent: 24,
            hops: Some(11),
            ..WatchCell::default()
        };
        (0..24).for_each(|packet| cell.rtt.record(rtt_ns(start_s + packet)));
        (id, cell)
    };
    let day: Vec<_> = (0..1_440).map(minute).collect();
    store.put_watch_cells(Span::Minute, &day).unwrap();

    let mut path = Path::open(&store, &config, (0, config.pairs[0]), start_ns).unwrap();
    let (mut keeper, mut host_alarm) = (Keeper::default(), HostAlarm::default());
    let mut schedule = Schedule::new(&config, &plan, start_ns);
    let mut running: Vec<Start> = Vec::new();
    let mut kept = Vec::new();
    for second_s in (START_S..=START_S + 24 * HOUR_S).step_by(EVERY_S as usize) {
        let now_ns = second_s * SECOND;
        packets(second_s).for_each(|packet| path.open_cells().add(&packet));
        running.extend(schedule.wake(now_ns));
        for Start { task, .. } in running.extract_if(.., |start| is_over(start, now_ns)) {
            schedule.ended(now_ns, task, false);
            if task.kind == Kind::Flows {
                let done = flow_test(second_s);
                let (_, counts) = path.take_flows(&store, (now_ns, 600 * SECOND), &done);
                keeper.count(path.id, counts);
                keeper.change(path.id, path.take_tested(now_ns, &done));
            }
        }
        if second_s % 300 == 0 {
            host_alarm.add(stall(now_ns));
            keeper.exclude(stall(now_ns).seconds());
        }
        host_alarm.observe(now_ns, "lon");
        keeper.gather(&store, &path, now_ns);
        keeper.store(&store, "lon", now_ns);
        let (events, counts) = path.observe(now_ns, 15 * SECOND);
        keeper.count(path.id, counts);
        events.iter().for_each(|event| keeper.keep(path.id, event));
        for event in keeper.roll_up(&store, &mut path, now_ns) {
            keeper.keep(path.id, &event);
        }
        keeper.tidy(&store, std::slice::from_ref(&path), &config.keep, now_ns);
        assert!(keeper.turns().is_empty(), "the store fails");
        // Half past, when nothing stands.
        if second_s % HOUR_S == HOUR_S / 2 {
            kept.push(entries(&(&path, &keeper, &host_alarm, &schedule, &running)));
        }
    }
    // It did see what it was to see.
    let count = |span| {
        store
            .count_watch_cells(path.id, span, START_S, u64::MAX >> 1)
            .unwrap()
    };
    assert_eq!((count(Span::Second), count(Span::Hour)), (24 * 360 + 1, 23));
    assert!(
        path.changes["mtu_forward"] >= 7 && path.changes["routes_reverse"] >= 7,
        "{:?}",
        path.changes
    );
    let (first, most) = (kept[0], kept.iter().copied().max().unwrap());
    println!("{} entries after half an hour, at most {most} in a day", first);
    // What is on its way differs: a cell has one to four buckets.
    assert!(most as f64 <= 1.03 * first as f64, "{kept:?}");
}

fn is_over(start: &Start, now_ns: u64) -> bool {
    match start.task {
        Task { kind: Kind::Rtt, .. } => now_ns >= start.until_ns,
        _ => true,
    }
}

fn stall(now_ns: u64) -> Disturbed {
    Disturbed {
        cause: Cause::Stalled(SECOND / 5),
        from_ns: now_ns - SECOND,
        until_ns: now_ns,
    }
}
