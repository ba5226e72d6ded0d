//! Days of schedules in virtual time: tests end when the test here says so.

use std::collections::BTreeMap;

use super::*;
use crate::config::{DAY_NS, read};

const HOUR_NS: u64 = 3_600 * SECOND_NS;
/// 2026-01-01 00:00:00 UTC.
const START_NS: u64 = 1_767_225_600 * SECOND_NS;

/// Four hosts, each to each.
fn mesh(here: &str, more: &str) -> (Config, Plan) {
    let hosts: String = ["a", "b", "c", "d"]
        .map(|name| format!("[[host]]\nname = \"{name}\"\ncloud = \"aws:us-east-1\"\n"))
        .concat();
    let text = format!("pairs = \"mesh\"\n{hosts}{more}");
    let config = read(&text, Some(here)).unwrap();
    let plan = Plan::of(&config).unwrap();
    (config, plan)
}

const KINDS: &str = "[flows]\nevery = \"10min\"\n\
    [survey]\nevery = \"2h\"\nrate = \"20Mbit/s\"\nstep = \"200ms\"\nmax-bytes = \"20MB\"\n";

/// A test that ran, Unix nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Ran {
    task: Task,
    began_ns: u64,
    ended_ns: u64,
}

/// Runs a schedule in virtual time. `lasts` says how long a test runs, and whether it fails then; none runs until it has to
/// be over.
fn run(
    schedule: &mut Schedule,
    from_ns: u64,
    to_ns: u64,
    mut lasts: impl FnMut(u64, Task) -> Option<(u64, bool)>,
) -> Vec<Ran> {
    let mut running: BTreeMap<(u64, Task), (u64, bool)> = BTreeMap::new();
    let mut ran = Vec::new();
    let mut now_ns = from_ns;
    loop {
        let ends_ns = running.keys().next().map(|(ends_ns, _)| *ends_ns);
        let next = [ends_ns, schedule.next_wake()].into_iter().flatten().min();
        let Some(next_ns) = next.filter(|next_ns| *next_ns < to_ns) else {
            return ran;
        };
        now_ns = now_ns.max(next_ns);
        while let Some(((ends_ns, task), (began_ns, failed))) = running.pop_first() {
            if ends_ns > now_ns {
                running.insert((ends_ns, task), (began_ns, failed));
                break;
            }
            schedule.ended(now_ns, task, failed);
            ran.push(Ran {
                task,
                began_ns,
                ended_ns: ends_ns,
            });
        }
        for Start { task, until_ns } in schedule.wake(now_ns) {
            assert!(until_ns > now_ns, "{task:?} has no time");
            let (length_ns, failed) = lasts(now_ns, task).unwrap_or((until_ns - now_ns, false));
            running.insert((until_ns.min(now_ns + length_ns), task), (now_ns, failed));
        }
    }
}

fn usual(task: Task) -> Option<(u64, bool)> {
    match task.kind {
        Kind::Rtt => None,
        Kind::Flows => Some((21 * SECOND_NS, false)),
        Kind::Survey => Some((15 * SECOND_NS, false)),
    }
}

fn of_kind(ran: &[Ran], kind: Kind) -> Vec<Ran> {
    ran.iter().copied().filter(|ran| ran.task.kind == kind).collect()
}

#[test]
fn no_host_is_in_two_surveys_at_a_time_whoever_watches() {
    let mut surveys = Vec::new();
    let mut flows = BTreeMap::new();
    for here in ["a", "b", "c", "d"] {
        let (config, plan) = mesh(here, KINDS);
        let mut schedule = Schedule::new(&config, &plan, START_NS);
        let ran = run(&mut schedule, START_NS, START_NS + 7 * DAY_NS, |_, task| {
            usual(task)
        });
        flows.insert(config.here, of_kind(&ran, Kind::Flows));
        for survey in of_kind(&ran, Kind::Survey) {
            surveys.push((config.pairs[survey.task.pair], survey));
        }
    }
    // 12 pairs, 12 surveys a day; those of the first hour may have been due before.
    assert!(
        (12 * 12 * 7 - 12..=12 * 12 * 7).contains(&surveys.len()),
        "{}",
        surveys.len()
    );
    surveys.sort_by_key(|(_, ran)| ran.began_ns);
    for (place, (pair, survey)) in surveys.iter().enumerate() {
        for (other, later) in surveys[place + 1..]
            .iter()
            .take_while(|(_, later)| later.began_ns < survey.ended_ns)
        {
            let hosts = [other.from, other.to];
            assert!(
                !hosts.contains(&pair.from) && !hosts.contains(&pair.to),
                "{pair:?} {other:?} {later:?}"
            );
        }
        // Nor low-rate flows of the watcher beside its survey.
        let beside = flows[&pair.from].iter();
        let beside = beside.filter(|flow| flow.began_ns < survey.ended_ns && survey.began_ns < flow.ended_ns);
        assert_eq!(beside.count(), 0);
    }
    for flows in flows.values() {
        assert!(
            (3 * 144 * 7 - 6..=3 * 144 * 7).contains(&flows.len()),
            "{}",
            flows.len()
        );
    }
}

#[test]
fn starts_are_jittered_and_surveys_come_back_within_their_interval() {
    let (config, plan) = mesh("a", KINDS);
    let mut schedule = Schedule::new(&config, &plan, START_NS);
    let ran = run(&mut schedule, START_NS, START_NS + 30 * DAY_NS, |_, task| {
        usual(task)
    });
    let every_ns = plan.survey.as_ref().unwrap().every_ns;
    assert_eq!(every_ns, 2 * HOUR_NS);
    let one: Vec<u64> = of_kind(&ran, Kind::Survey)
        .iter()
        .filter(|ran| ran.task.pair == 0)
        .map(|ran| ran.began_ns)
        .collect();
    let gaps: Vec<u64> = one.windows(2).map(|two| two[1] - two[0]).collect();
    let slot_ns = plan.survey.as_ref().unwrap().slot_ns;
    assert!(
        gaps.iter().all(|gap| gap.abs_diff(every_ns) <= slot_ns),
        "{gaps:?}"
    );
    let mut phases: Vec<u64> = one
        .iter()
        .map(|start| start % every_ns / (60 * SECOND_NS))
        .collect();
    phases.sort_unstable();
    phases.dedup();
    assert!(phases.len() > 5, "minutes of the interval: {phases:?}");
}

/// Bytes that tests take by the plan, by day.
fn bytes_by_day(plan: &Plan, ran: &[Ran]) -> BTreeMap<u64, u64> {
    let mut days = BTreeMap::new();
    for ran in ran {
        let bytes = match ran.task.kind {
            Kind::Rtt => 0,
            Kind::Flows => plan.pairs[ran.task.pair].flows_bytes,
            Kind::Survey => plan.survey.as_ref().unwrap().bytes,
        };
        *days.entry(ran.began_ns / DAY_NS).or_default() += bytes;
    }
    days
}

#[test]
fn the_budget_is_kept_each_day_and_used() {
    let asked = KINDS.replace("2h", "1h");
    let (_, free) = mesh("a", &asked);
    let limit = free.bytes_a_day * 2 / 3;
    let budget = format!("{asked}[budget]\nbytes-a-day = \"{limit}B\"\n");
    let mut all = Vec::new();
    let mut planned = None;
    for here in ["a", "b", "c", "d"] {
        let (config, plan) = mesh(here, &budget);
        let mut schedule = Schedule::new(&config, &plan, START_NS);
        all.extend(run(&mut schedule, START_NS, START_NS + 20 * DAY_NS, |_, task| {
            usual(task)
        }));
        planned = Some(plan);
    }
    let plan = planned.unwrap();
    assert!(plan.bytes_a_day <= limit && plan.survey.as_ref().unwrap().every_ns > HOUR_NS);
    let rtt: u64 = plan.pairs.iter().map(|pair| pair.rtt_bytes_a_day).sum();
    let days = bytes_by_day(&plan, &all);
    assert_eq!(days.len(), 20);
    for (day, bytes) in days {
        let share = (bytes + rtt) as f64 / limit as f64;
        assert!((0.9..=1.0).contains(&share), "day {day}: {share}");
    }
}

#[test]
fn a_budget_of_money_lengthens_the_interval() {
    let (_, free) = mesh("a", KINDS);
    let usd = free.usd_a_month * 0.8;
    let (_, plan) = mesh("a", &format!("{KINDS}[budget]\nusd-a-month = {usd}\n"));
    assert!(
        plan.usd_a_month <= usd && plan.usd_a_month > usd * 0.95,
        "{plan:?}"
    );
    assert!(plan.survey.unwrap().every_ns > 2 * HOUR_NS);
}

#[test]
fn a_watcher_that_is_killed_again_and_again_makes_no_test_twice() {
    let (config, plan) = mesh("a", KINDS);
    let mut whole = Schedule::new(&config, &plan, START_NS);
    let expected = run(&mut whole, START_NS, START_NS + 3 * DAY_NS, |_, task| usual(task));
    let mut began = Vec::new();
    let mut now_ns = START_NS;
    let mut kills = 0;
    while now_ns < START_NS + 3 * DAY_NS {
        let lives_ns = 1 + draw(kills, 1) % (2 * HOUR_NS);
        let mut schedule = Schedule::new(&config, &plan, now_ns);
        let until_ns = (now_ns + lives_ns).min(START_NS + 3 * DAY_NS);
        run(&mut schedule, now_ns, until_ns, |now_ns, task| {
            began.push((task, now_ns));
            usual(task)
        });
        now_ns = until_ns;
        kills += 1;
    }
    assert!(kills > 50);
    for kind in [Kind::Survey, Kind::Flows] {
        let of = of_kind(&expected, kind);
        let mut periods: Vec<(Task, u64)> = Vec::new();
        let every_ns = if kind == Kind::Survey {
            2 * HOUR_NS
        } else {
            600 * SECOND_NS
        };
        for (task, start_ns) in began.iter().filter(|(task, _)| task.kind == kind) {
            periods.push((*task, start_ns / every_ns));
        }
        let count = periods.len();
        periods.sort_unstable();
        periods.dedup();
        assert_eq!(periods.len(), count, "{kind:?} was started twice in a period");
        // Those that had to wait when it was killed are missing.
        assert!(
            count * 100 >= of.len() * 97 && count <= of.len() + 3,
            "{count} of {}",
            of.len()
        );
    }
}

#[test]
fn agents_that_go_are_tried_again_with_back_off_for_ever_and_come_back() {
    let (config, plan) = mesh("a", "");
    let gone = START_NS + HOUR_NS..START_NS + 25 * HOUR_NS;
    let mut schedule = Schedule::new(&config, &plan, START_NS);
    let mut tried = Vec::new();
    let ran = run(
        &mut schedule,
        START_NS,
        START_NS + 26 * HOUR_NS,
        |now_ns, task| {
            // Pair 0 is "a" to "b".
            if task.pair != 0 {
                return None;
            }
            tried.push(now_ns);
            if gone.contains(&now_ns) {
                return Some((0, true));
            }
            let left_ns = gone.start.saturating_sub(now_ns);
            (now_ns < gone.start).then_some((left_ns, true))
        },
    );
    let while_gone: Vec<u64> = tried.iter().copied().filter(|at| gone.contains(at)).collect();
    let gaps: Vec<u64> = while_gone.windows(2).map(|two| two[1] - two[0]).collect();
    for (place, gap) in gaps.iter().enumerate() {
        let whole = (FIRST_PAUSE_NS << (place + 1).min(20)).min(LONGEST_PAUSE_NS);
        assert!((whole / 2..=whole).contains(gap), "pause {place}: {gap}");
    }
    // 24 hours of pauses between 150 and 300 s.
    assert!(
        (288..=576 + 8).contains(&while_gone.len()),
        "{}",
        while_gone.len()
    );
    let back = tried.iter().find(|at| **at >= gone.end).expect("tried again");
    assert!(back - gone.end <= LONGEST_PAUSE_NS);
    // The others went on without a pause.
    let others: u64 = ran
        .iter()
        .filter(|ran| ran.task.pair == 1)
        .map(|ran| ran.ended_ns - ran.began_ns)
        .sum();
    assert!(others > 25 * HOUR_NS - SPREAD_NS - HOUR_NS);
}

#[test]
fn a_clock_that_is_set_back_stops_nothing() {
    let (config, plan) = mesh("a", KINDS);
    let mut schedule = Schedule::new(&config, &plan, START_NS);
    run(&mut schedule, START_NS, START_NS + 5 * HOUR_NS, |_, task| {
        (task.kind == Kind::Rtt)
            .then_some((SECOND_NS, true))
            .or(usual(task))
    });
    // A year back.
    let now_ns = START_NS - 365 * DAY_NS;
    schedule.wake(now_ns);
    let next_ns = schedule.next_wake().expect("a start");
    assert!(next_ns <= now_ns + LONGEST_PAUSE_NS, "{}", next_ns - now_ns);
    let ran = run(&mut schedule, now_ns, now_ns + 5 * HOUR_NS, |_, task| usual(task));
    assert!(of_kind(&ran, Kind::Flows).len() >= 80 && of_kind(&ran, Kind::Survey).len() >= 5);
}
