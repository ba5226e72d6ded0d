//! Hours of a path in virtual time, over a real store: what is summed and found, and that kills change nothing.

use weir_record::WatchCell;
use weir_results::{Span, Store};

use super::super::path::Path;
use super::*;

/// 2026-01-01 00:00:00 UTC.
const START_S: u64 = 1_767_225_600;
const HOURS: u64 = 3;
/// The RTT is 6 % longer from here on.
const STEP_S: u64 = START_S + 100 * 60;

/// A second of four packets.
fn second(start_s: u64) -> WatchCell {
    let mut cell = WatchCell {
        start_s,
        sent: 4,
        // Two seconds in a row, every ten minutes: one loss event.
        lost: u64::from(start_s % 600 < 2),
        hops: Some(11),
        ..WatchCell::default()
    };
    for packet in 0..4 {
        // Spread over 1 %, by a number without a short period.
        let spread = (start_s * 4 + packet) * 7_919 % 10_007;
        let rtt_ns = 40_000_000 + spread * 40;
        cell.rtt.record(if start_s < STEP_S {
            rtt_ns
        } else {
            rtt_ns * 106 / 100
        });
    }
    cell
}

/// Runs a keeper through the hours, second by second; it is killed at some of the seconds. Returns the reported events and
/// the store.
fn run(killed_at: impl Fn(u64) -> bool) -> (Vec<Event>, tempfile::TempDir, Store, Path) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("weir.db")).unwrap();
    let hosts = "here = \"lon\"\n[[host]]\nname = \"lon\"\n[[host]]\nname = \"ams\"\n";
    let rule = "[[rule]]\nname = \"slow\"\nmetric = \"p50\"\nabove = \"41.5ms\"\nfor = \"10min\"\n";
    let config = crate::config::read(&format!("{hosts}{rule}"), None).unwrap();
    let open = || Path::open(&store, &config, (0, config.pairs[0]), START_S * 1_000_000_000).unwrap();
    let (mut keeper, mut path, mut events) = (Keeper::default(), open(), Vec::new());
    for second_s in START_S..=START_S + HOURS * 3_600 + SETTLE_S {
        if killed_at(second_s) {
            (keeper, path) = (Keeper::default(), open());
        }
        keeper.waiting.push((path.id, second(second_s)));
        keeper.store(&store, "lon", second_s * 1_000_000_000);
        // The last second of a span is settled when the span is summed.
        events.extend(keeper.roll_up(&store, &mut path, second_s * 1_000_000_000));
    }
    (events, folder, store, path)
}

#[test]
fn minutes_and_hours_are_sums_and_a_step_is_found_whatever_is_killed() {
    let (events, _folder, store, path) = run(|_| false);
    let changed = |events: &[Event]| -> Vec<(String, u64)> {
        let changes = events.iter().filter_map(|event| event.change.as_ref());
        changes
            .map(|change| (change.metric.clone(), change.since_unix_ns))
            .collect()
    };
    let since_ns = STEP_S * 1_000_000_000;
    let expected = [("p50".to_owned(), since_ns), ("p90".to_owned(), since_ns)];
    assert_eq!(changed(&events), expected);
    let cells =
        |store: &Store, path: &Path, span| store.watch_cells(path.id, span, 0, u64::MAX >> 1).unwrap();
    let (minutes, hours) = (
        cells(&store, &path, Span::Minute),
        cells(&store, &path, Span::Hour),
    );
    assert_eq!((minutes.len(), hours.len()), (180, 3));
    assert!(
        minutes
            .iter()
            .all(|minute| minute.sent == 240 && minute.rtt.count() == 240)
    );
    let mut whole = WatchCell::default();
    (START_S..START_S + 3_600).for_each(|start_s| whole.merge(&second(start_s)));
    assert_eq!((hours[0].sent, &hours[0].rtt), (whole.sent, &whole.rtt));

    // The rule is raised ten minutes after the step, and the counts are those of the seconds.
    let ruled: Vec<_> = events.iter().filter(|event| event.event == What::Rule).collect();
    assert_eq!(ruled.len(), 1, "{ruled:?}");
    assert_eq!(ruled[0].unix_ns, since_ns + 600 * 1_000_000_000);
    let counts = |store: &Store, path: &Path| store.watch_counts(path.id, 0).unwrap();
    let loss = rare::Rate::of(rare::Rare::Loss, &counts(&store, &path)).unwrap();
    assert_eq!((loss.watched_s, loss.events), (180 * 60, 18));

    // Killed every 97 s, also while the change is being found.
    let (killed, _other_folder, other, other_path) = run(|second_s| second_s % 97 == 0);
    assert_eq!(changed(&killed), expected);
    assert_eq!(cells(&other, &other_path, Span::Minute), minutes);
    assert_eq!(cells(&other, &other_path, Span::Hour), hours);
    let stored = other.watch_changes(other_path.id, 0).unwrap();
    assert_eq!(stored, store.watch_changes(path.id, 0).unwrap());
    assert_eq!(stored.len(), 2);
    assert_eq!(killed.iter().filter(|event| event.event == What::Rule).count(), 1);
    assert_eq!(counts(&other, &other_path), counts(&store, &path));
}

#[test]
fn a_clock_that_is_set_back_loses_no_packet_and_holds_up_no_alarm() {
    use weir_record::RttPacket;

    const RUN_S: u64 = 40 * 60;
    /// After half an hour it is set back by 20 minutes, and the path is slow from then on.
    const SET_AT_S: u64 = 30 * 60;
    const BACK_S: u64 = 20 * 60;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("weir.db")).unwrap();
    let hosts = "here = \"lon\"\n[[host]]\nname = \"lon\"\n[[host]]\nname = \"ams\"\n";
    let rule = "[[rule]]\nname = \"slow\"\nmetric = \"p90\"\nabove = \"60ms\"\nfor = \"1min\"\n";
    let config = crate::config::read(&format!("{hosts}{rule}"), None).unwrap();
    let mut path = Path::open(&store, &config, (0, config.pairs[0]), START_S * 1_000_000_000).unwrap();
    let (mut keeper, mut alarms) = (Keeper::default(), Vec::new());
    for passed_s in 0..RUN_S {
        let is_set = passed_s >= SET_AT_S;
        let now_s = START_S + passed_s - if is_set { BACK_S } else { 0 };
        for packet in 0..4 {
            path.open_cells().add(&RttPacket {
                sent_unix_ns: now_s * 1_000_000_000 + packet,
                rtt_ns: Some(if is_set { 80_000_000 } else { 40_000_000 }),
                ..RttPacket::default()
            });
        }
        let now_ns = now_s * 1_000_000_000 + 999_999_999;
        keeper.gather(&store, &path, now_ns);
        keeper.store(&store, "lon", now_ns);
        let events = keeper.roll_up(&store, &mut path, now_ns);
        let of_rules = events.into_iter().filter(|event| event.event == What::Rule);
        alarms.extend(of_rules.map(|event| (passed_s - SET_AT_S, event)));
    }
    let sent = |span| -> Vec<u64> {
        let cells = store.watch_cells(path.id, span, 0, u64::MAX >> 1).unwrap();
        cells.iter().map(|cell| cell.sent).collect()
    };
    let seconds = sent(Span::Second);
    assert_eq!(
        seconds.iter().sum::<u64>(),
        4 * RUN_S,
        "all packets of both times"
    );
    assert_eq!(
        seconds.iter().filter(|sent| **sent == 8).count() as u64,
        RUN_S - SET_AT_S
    );
    // Minutes of both times have both; that of now is not complete.
    let minutes = sent(Span::Minute);
    assert_eq!(minutes.len(), 29);
    assert_eq!(minutes.iter().filter(|sent| **sent == 480).count(), 9);
    let [(delay_s, alarm)] = &alarms[..] else {
        panic!("{alarms:?}")
    };
    assert_eq!((alarm.subject.as_str(), alarm.state), ("slow", State::Raised));
    assert!(*delay_s <= 120, "{delay_s} s");
    let evidence = alarm.evidence.as_ref().unwrap();
    assert!(evidence.since_unix_ns <= evidence.until_unix_ns, "{evidence:?}");
}

#[test]
fn what_is_too_old_or_too_much_is_deleted_and_the_last_day_stays() {
    use weir_results::{NewRun, Outcome};
    use weir_units::{ByteCount, TimeSpan};

    const DAY_S: u64 = 86_400;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("weir.db")).unwrap();
    let hosts = "here = \"lon\"\n[[host]]\nname = \"lon\"\n[[host]]\nname = \"ams\"\n";
    let config = crate::config::read(hosts, None).unwrap();
    let path = Path::open(&store, &config, (0, config.pairs[0]), START_S * 1_000_000_000).unwrap();
    let id = path.id;
    let begin = |kind: &str, parent, start_s: u64| {
        let run = NewRun {
            kind: kind.to_owned(),
            parent,
            started_unix_ns: start_s * 1_000_000_000,
            ..NewRun::default()
        };
        store.begin_run(&run).unwrap()
    };
    let watch = begin("watch", None, START_S);
    let mut keeper = Keeper::default();
    for start_s in [START_S, START_S + 4 * DAY_S, START_S + 9 * DAY_S + DAY_S / 2] {
        let of = |span: u64, count: u64| -> Vec<_> {
            (0..count)
                .map(|place| (id, second(start_s + place * span)))
                .collect()
        };
        store.put_watch_cells(Span::Second, &of(1, 700)).unwrap();
        store.put_watch_cells(Span::Minute, &of(60, 30)).unwrap();
        let test = begin("flows", Some(watch), start_s);
        let end_ns = (start_s + 20) * 1_000_000_000;
        store
            .end_run(test, Outcome::Finished, None, end_ns, &serde_json::Value::Null)
            .unwrap();
        let mut event = Event::of_path(end_ns, What::Test, State::Happened, ("lon", "ams"), String::new());
        event.run_id = Some(test.0);
        keeper.keep(id, &event);
    }
    keeper.store(&store, "lon", 0);
    let counts = || {
        let cells = |span| store.watch_cells(id, span, 0, u64::MAX >> 1).unwrap().len();
        let tests = store.watch_events(id, 0, u64::MAX).unwrap().len();
        (cells(Span::Second), cells(Span::Minute), tests)
    };
    assert_eq!(counts(), (2_100, 90, 3));
    let mut now_s = START_S + 10 * DAY_S;
    let mut tidy = |keep: &Keep| {
        for _ in 0..6 {
            now_s += TIDY_S;
            keeper.tidy(&store, std::slice::from_ref(&path), keep, now_s * 1_000_000_000);
        }
        assert_eq!(keeper.turns(), []);
    };
    // Ages of seven and eight days.
    let aged = Keep {
        tests: TimeSpan(8 * DAY_S * 1_000_000_000),
        ..Keep::default()
    };
    tidy(&aged);
    assert_eq!(counts(), (1_400, 90, 2));
    // Room is left: nothing goes.
    tidy(&Keep {
        bytes: Some(ByteCount(store.used_bytes().unwrap())),
        ..aged
    });
    assert_eq!(counts(), (1_400, 90, 2));
    let used = store.used_bytes().unwrap();
    for _ in 0..3 {
        tidy(&Keep {
            bytes: Some(ByteCount(1)),
            ..aged
        });
    }
    assert_eq!(counts(), (700, 30, 1));
    assert!(store.used_bytes().unwrap() < used);
}

#[test]
fn a_rule_that_is_new_and_holds_is_reported_once_and_so_is_its_end() {
    let (_, _folder, store, path) = run(|_| false);
    let hosts = "here = \"lon\"\n[[host]]\nname = \"lon\"\n[[host]]\nname = \"ams\"\n";
    let with = |above: &str| {
        let rule = format!("[[rule]]\nname = \"new\"\nmetric = \"p90\"\nabove = \"{above}\"\n");
        crate::config::read(&format!("{hosts}{rule}"), None).unwrap()
    };
    let now_ns = (START_S + HOURS * 3_600) * 1_000_000_000;
    let mut keeper = Keeper::default();
    let mut news = |above: &str| {
        let config = with(above);
        let opened = Path::open(&store, &config, (0, config.pairs[0]), now_ns).unwrap();
        let events = opened.unreported(&store, now_ns).unwrap();
        events.iter().for_each(|event| keeper.keep(path.id, event));
        keeper.store(&store, "lon", now_ns);
        events.iter().map(|event| event.state).collect::<Vec<_>>()
    };
    assert_eq!(news("1s"), []);
    assert_eq!(news("30ms"), [State::Raised]);
    // As after a restart.
    assert_eq!(news("30ms"), []);
    assert_eq!(news("1s"), [State::Cleared]);
    assert_eq!(news("1s"), []);
}

/// A path and its store.
fn opened() -> (tempfile::TempDir, Store, Path) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("weir.db")).unwrap();
    let hosts = "here = \"lon\"\n[[host]]\nname = \"lon\"\n[[host]]\nname = \"ams\"\n";
    let config = crate::config::read(hosts, None).unwrap();
    let path = Path::open(&store, &config, (0, config.pairs[0]), START_S * 1_000_000_000).unwrap();
    (folder, store, path)
}

#[test]
fn no_path_is_blamed_for_seconds_in_which_this_host_was_disturbed() {
    let (_folder, store, mut path) = opened();
    let mut keeper = Keeper::default();
    let excluded = |start_s: u64, cause: &str| WatchExcluded {
        start_s,
        cause: cause.to_owned(),
        value: 1.0,
    };
    let is_stalled = |second_s: u64| second_s % 60 < 20;
    for second_s in START_S..START_S + 40 * 60 {
        let mut cell = second(second_s);
        cell.lost = 0;
        if is_stalled(second_s) {
            // A stall that delays and loses packets.
            cell.lost = 2;
            (0..40).for_each(|_| cell.rtt.record(900_000_000));
            keeper.exclude([excluded(second_s, "stalled")].into_iter());
        } else if second_s % 60 == 30 {
            // Packets of others were dropped; those of this path were not.
            keeper.exclude([excluded(second_s, "dropped")].into_iter());
        } else if second_s % 60 == 31 {
            cell.lost = 1;
            keeper.exclude([excluded(second_s, "dropped")].into_iter());
        }
        keeper.waiting.push((path.id, cell));
    }
    let end_ns = (START_S + 40 * 60 + SETTLE_S) * 1_000_000_000;
    keeper.store(&store, "lon", end_ns);
    keeper.roll_up(&store, &mut path, end_ns);
    let minutes = store
        .watch_cells(path.id, Span::Minute, 0, u64::MAX >> 1)
        .unwrap();
    assert_eq!(minutes.len(), 40);
    // 20 stalled seconds and one with a packet that the host dropped are left out of 60.
    assert!(
        minutes
            .iter()
            .all(|minute| minute.sent == 39 * 4 && minute.lost == 0)
    );
    assert!(minutes.iter().all(|minute| minute.rtt.max() < Some(50_000_000)));
    let loss = rare::Rate::of(rare::Rare::Loss, &store.watch_counts(path.id, 0).unwrap()).unwrap();
    assert_eq!((loss.events, loss.watched_s), (0, 40 * 39));
    let seconds = store
        .watch_cells(path.id, Span::Second, 0, u64::MAX >> 1)
        .unwrap();
    assert_eq!(seconds.len(), 40 * 60, "they are kept");
}

#[test]
fn an_hour_that_was_not_summed_before_a_kill_is_summed_later() {
    let (_folder, store, path) = opened();
    // Killed between its last minute and the hour.
    let minutes: Vec<_> = (0..60)
        .map(|place| (path.id, second(START_S + 60 * place)))
        .collect();
    store.put_watch_cells(Span::Minute, &minutes).unwrap();
    let config = "here = \"lon\"\n[[host]]\nname = \"lon\"\n[[host]]\nname = \"ams\"\n";
    let config = crate::config::read(config, None).unwrap();
    let mut path = Path::open(&store, &config, (0, config.pairs[0]), 0).unwrap();
    let mut keeper = Keeper::default();
    keeper.waiting.push((path.id, second(START_S + 3_600)));
    let now_ns = (START_S + 3_660 + SETTLE_S) * 1_000_000_000;
    keeper.store(&store, "lon", now_ns);
    keeper.roll_up(&store, &mut path, now_ns);
    let hours = store.watch_cells(path.id, Span::Hour, 0, u64::MAX >> 1).unwrap();
    assert_eq!(
        hours
            .iter()
            .map(|hour| (hour.start_s, hour.sent))
            .collect::<Vec<_>>(),
        [(START_S, 240)]
    );
}

#[test]
fn over_a_year_each_length_is_kept_for_its_time() {
    use weir_units::TimeSpan;

    const DAY_S: u64 = 86_400;
    const STEP_S: u64 = 7_200;
    let (_folder, store, path) = opened();
    let keep = Keep {
        minutes: TimeSpan(60 * DAY_S * 1_000_000_000),
        hours: TimeSpan(300 * DAY_S * 1_000_000_000),
        ..Keep::default()
    };
    let mut keeper = Keeper::default();
    let mut full = 0;
    for place in 0..366 * DAY_S / STEP_S {
        let now_s = START_S + place * STEP_S;
        let cell = [(path.id, second(now_s))];
        for span in [Span::Second, Span::Minute, Span::Hour] {
            store.put_watch_cells(span, &cell).unwrap();
        }
        keeper.exclude(
            [WatchExcluded {
                start_s: now_s,
                ..WatchExcluded::default()
            }]
            .into_iter(),
        );
        keeper.store(&store, "lon", now_s * 1_000_000_000);
        keeper.tidy(&store, std::slice::from_ref(&path), &keep, now_s * 1_000_000_000);
        if place == 310 * DAY_S / STEP_S {
            full = store.used_bytes().unwrap();
        }
    }
    let end_s = START_S + 366 * DAY_S - STEP_S;
    for (span, days) in [(Span::Second, 7), (Span::Minute, 60), (Span::Hour, 300)] {
        let first = store.first_watch_cell(path.id, span).unwrap();
        assert_eq!(first, Some(end_s - days * DAY_S), "{span:?}");
        let kept = store.watch_cells(path.id, span, 0, u64::MAX >> 1).unwrap().len() as u64;
        assert_eq!(kept, days * DAY_S / STEP_S + 1);
    }
    assert_eq!(
        store.watch_excluded("lon", 0, u64::MAX >> 1).unwrap()[0].start_s,
        end_s - 7 * DAY_S
    );
    // It does not grow any more after the longest age, but for a page here and there.
    assert!(store.used_bytes().unwrap() <= full + full / 20);
}
