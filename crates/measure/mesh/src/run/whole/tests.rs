//! Whole runs over modelled hosts in virtual time, stored in a real database. Four hosts have twelve ordered pairs, two of
//! which fit beside each other; a test takes 10 s, so that a run takes 60 s.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use weir_results::{MeshFilter, NewRun};

use super::super::ResumeError;
use super::super::repeats::left_of;
use super::super::tests::{all, order};
use super::*;
use crate::estimate::Limits;
use crate::filter::Over;
use crate::place::PlaceName;
use weir_record::CloudFacts;

const SECOND: u64 = 1_000_000_000;
const BEGUN: u64 = 1_000 * SECOND;

/// Hosts that answer by a rule.
struct Modelled<'m> {
    order: &'m Order,
    now: u64,
    /// When each test that runs ends.
    running: BTreeMap<usize, u64>,
    /// Every test that was begun, in order.
    begun: Vec<usize>,
    cleaned: Vec<usize>,
    /// Bytes that a test sends, or its fault, by its place in the order and its attempt.
    outcome: &'m dyn Fn(usize, usize) -> Result<u64, FaultKind>,
    /// Hosts that cannot be prepared.
    denied: Vec<usize>,
    /// What the first host's cloud tells it.
    told: Option<CloudFacts>,
    /// Details of every test.
    details: serde_json::Value,
    stopped_at: Option<u64>,
    killed_at: Option<u64>,
}

impl<'m> Modelled<'m> {
    fn new(order: &'m Order, outcome: &'m dyn Fn(usize, usize) -> Result<u64, FaultKind>) -> Self {
        Modelled {
            order,
            now: BEGUN,
            running: BTreeMap::new(),
            begun: Vec::new(),
            cleaned: Vec::new(),
            outcome,
            denied: Vec::new(),
            told: None,
            details: serde_json::Value::Null,
            stopped_at: None,
            killed_at: None,
        }
    }
}

fn fault(kind: FaultKind) -> Fault {
    Fault {
        kind,
        message: format!("it is {kind:?}"),
    }
}

/// Facts of a host: a window of its own for each direction.
fn ready(host: usize) -> Ready {
    Ready {
        send_window_bytes: Some(1_000 + host as u64),
        receive_window_bytes: Some(2_000 + host as u64),
        ..Ready::default()
    }
}

impl Hosts for Modelled<'_> {
    fn prepare(&mut self, hosts: &[usize], beat: &dyn Fn()) -> Vec<(usize, Result<Ready, Fault>)> {
        beat();
        let prepared = hosts.iter().map(|host| match self.denied.contains(host) {
            true => (*host, Err(fault(FaultKind::Denied))),
            false => (
                *host,
                Ok(Ready {
                    told: self.told.clone().filter(|_| *host == 0),
                    ..ready(*host)
                }),
            ),
        });
        prepared.collect()
    }

    fn start(&mut self, index: usize) {
        let ends = |index: usize| [self.order.pairs[index].0, self.order.pairs[index].1];
        for other in self.running.keys() {
            let shared = ends(*other).iter().any(|host| ends(index).contains(host));
            assert!(!shared, "a host is in tests {index} and {other}");
        }
        self.begun.push(index);
        self.running.insert(index, self.now + 10 * SECOND);
    }

    fn ended(&mut self) -> Option<(usize, Result<Measured, Fault>)> {
        let (index, end) = self.running.iter().min_by_key(|(index, end)| (**end, **index))?;
        let (index, end) = (*index, *end);
        if self.killed_at.is_some_and(|killed| killed < end) {
            panic!("killed");
        }
        // A wait is shorter than a test.
        if end > self.now + SECOND / 2 {
            self.now += SECOND / 2;
            return None;
        }
        self.now = end;
        self.running.remove(&index);
        let attempt = self.begun.iter().filter(|begun| **begun == index).count();
        let sent = (self.outcome)(index, attempt);
        let measured = |bytes| Measured {
            test: MeshTest {
                bytes,
                // A client's clock is not believed.
                unix_ns: 1,
                details: self.details.clone(),
                ..MeshTest::default()
            },
            survey: None,
        };
        Some((index, sent.map(measured).map_err(fault)))
    }

    fn clean(&mut self, hosts: &[usize]) -> Vec<(usize, Result<(), Fault>)> {
        self.cleaned = hosts.to_vec();
        hosts.iter().map(|host| (*host, Ok(()))).collect()
    }

    fn is_stopped(&self) -> bool {
        self.stopped_at.is_some_and(|at| self.now >= at)
    }

    fn machines(&self) -> MachinesCost {
        MachinesCost::default()
    }

    fn unix_ns(&self) -> u64 {
        self.now
    }
}

/// Keeps what is shown.
#[derive(Default)]
struct Heard(RefCell<Vec<String>>);

impl Watch for Heard {
    fn doing(&self, _: &str) {}

    fn say(&self, text: &str) {
        self.0.borrow_mut().push(text.to_owned());
    }

    fn result(&self, from: &str, to: &str, _: &MeshTest) {
        self.0.borrow_mut().push(format!("{from} -> {to}"));
    }
}

struct Kept {
    store: Store,
    _folder: tempfile::TempDir,
}

impl Kept {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Kept {
            store: Store::open(folder.path().join("weir.db")).unwrap(),
            _folder: folder,
        }
    }

    fn begin(&self, order: &Order) -> RunId {
        let new = NewRun {
            kind: "mesh".to_owned(),
            parameters: serde_json::to_value(order).unwrap(),
            ..NewRun::default()
        };
        self.store.begin_run(&new).unwrap()
    }

    /// Names of the pairs, and the seconds at which they ended.
    fn tests(&self, run: RunId, failed: bool) -> Vec<(String, String, u64)> {
        let filter = MeshFilter {
            runs: vec![run],
            failed,
        };
        let tests = self.store.mesh_tests(&filter).unwrap().into_iter();
        let tests = tests.filter(|(_, test)| test.reason.is_some() == failed);
        tests
            .map(|(_, test)| (test.from.host, test.to.host, (test.unix_ns - BEGUN) / SECOND))
            .collect()
    }
}

fn four(limits: Limits) -> Order {
    order(4, &all(4), limits)
}

fn half(_: usize, _: usize) -> Result<u64, FaultKind> {
    Ok(500_000_000)
}

#[test]
fn every_pair_is_tested_once_and_as_many_at_once_as_hosts_allow() {
    let (order, kept) = (four(Limits::default()), Kept::new());
    let run = kept.begin(&order);
    let mut hosts = Modelled::new(&order, &half);
    let ending = carry_out(&order, 16, &mut hosts, (&kept.store, run), &Heard::default());
    assert_eq!((ending.outcome, ending.problem), (Outcome::Finished, None));
    assert_eq!(hosts.now - BEGUN, 60 * SECOND);
    let mut begun = hosts.begun.clone();
    begun.sort_unstable();
    assert_eq!(begun, (0..12).collect::<Vec<usize>>());
    // The first round goes first.
    assert_eq!(hosts.begun[..2], [0, 1]);
    let tests = kept.tests(run, false);
    let ends: Vec<u64> = tests.iter().map(|(.., end)| *end).collect();
    assert_eq!(ends, [10, 10, 20, 20, 30, 30, 40, 40, 50, 50, 60, 60]);
    let pairs: std::collections::BTreeSet<(String, String)> =
        tests.into_iter().map(|(from, to, _)| (from, to)).collect();
    assert_eq!(pairs.len(), 12);
    assert_eq!(
        (ending.summary.finished, ending.summary.bytes),
        (12, 6_000_000_000)
    );
    // 6 GB at 0.1 dollars.
    assert!((ending.summary.egress_usd - 0.6).abs() < 1e-9);
    assert_eq!(hosts.cleaned, [0, 1, 2, 3]);
    // The client sends and the other end receives.
    for (_, test) in kept.store.mesh_tests(&MeshFilter::default()).unwrap() {
        let number = |end: &MeshEnd| end.host["host-".len()..].parse::<u64>().unwrap();
        assert_eq!(test.from_window_bytes, Some(1_000 + number(&test.from)));
        assert_eq!(test.to_window_bytes, Some(2_000 + number(&test.to)));
    }
}

#[test]
fn with_one_test_at_a_time_a_run_takes_as_long_as_all_of_them() {
    let (order, kept) = (four(Limits::default()), Kept::new());
    let mut hosts = Modelled::new(&order, &half);
    let run = kept.begin(&order);
    carry_out(&order, 1, &mut hosts, (&kept.store, run), &Heard::default());
    assert_eq!(hosts.now - BEGUN, 120 * SECOND);
}

#[test]
fn a_failed_test_is_made_once_more_at_the_end_and_then_kept_as_failed() {
    let (order, kept) = (four(Limits::default()), Kept::new());
    // The first fails once, the third for good.
    let outcome = |index: usize, attempt: usize| match (index, attempt) {
        (0, 1) | (2, _) => Err(FaultKind::Test),
        _ => Ok(1),
    };
    let run = kept.begin(&order);
    let (mut hosts, heard) = (Modelled::new(&order, &outcome), Heard::default());
    let ending = carry_out(&order, 16, &mut hosts, (&kept.store, run), &heard);
    assert_eq!(hosts.begun.len(), 14);
    assert_eq!(hosts.begun[12..], [0, 2]);
    assert_eq!(ending.outcome, Outcome::Failed);
    assert_eq!(ending.problem.as_deref(), Some("1 of 12 tests failed"));
    let (from, to) = order.pairs[2];
    let failed = kept.tests(run, true);
    assert_eq!(
        (failed.len(), &failed[0].0, &failed[0].1),
        (1, &format!("host-{from}"), &format!("host-{to}"))
    );
    // What failed may have sent as much as a test may: three times 1 GB, and 11 bytes of the others.
    assert_eq!(ending.summary.bytes, 3_000_000_011);
    let heard = heard.0.into_inner();
    let again = heard
        .iter()
        .filter(|line| line.ends_with("; repeated at the end"));
    assert_eq!(again.count(), 2, "{heard:?}");
}

#[test]
fn tests_of_a_host_that_lets_nobody_in_are_skipped_and_it_is_left_alone() {
    let (order, kept) = (four(Limits::default()), Kept::new());
    let run = kept.begin(&order);
    let mut hosts = Modelled::new(&order, &half);
    hosts.denied = vec![3];
    let ending = carry_out(&order, 16, &mut hosts, (&kept.store, run), &Heard::default());
    // Three hosts have six pairs, one at a time.
    assert_eq!((ending.summary.finished, ending.summary.failed), (6, 6));
    assert_eq!(hosts.now - BEGUN, 60 * SECOND);
    assert_eq!(hosts.cleaned, [0, 1, 2]);
    assert_eq!(ending.summary.lost_hosts["host-3"].kind, FaultKind::Denied);
    assert_eq!(kept.tests(run, true).len(), 6);
}

#[test]
fn a_limit_of_bytes_stops_it_before_it_is_passed() {
    // A test may send 1 GB and sends half: after 2 GB a fifth could pass 2.5.
    let limits = Limits {
        max_bytes: Some(2_500_000_000),
        max_usd: None,
    };
    let (order, kept) = (four(limits), Kept::new());
    let run = kept.begin(&order);
    let mut hosts = Modelled::new(&order, &half);
    let ending = carry_out(&order, 1, &mut hosts, (&kept.store, run), &Heard::default());
    assert_eq!((hosts.begun.len(), ending.summary.bytes), (4, 2_000_000_000));
    assert_eq!(
        ending.problem.as_deref(),
        Some("--max-gb stopped the run, 8 tests remain")
    );
    assert_eq!(
        (ending.outcome, ending.summary.halt),
        (Outcome::Failed, Some(Halt::Bytes))
    );
    assert_eq!(hosts.cleaned.len(), 4);
}

#[test]
fn ctrl_c_lets_running_tests_complete_and_cleans_up() {
    let (order, kept) = (four(Limits::default()), Kept::new());
    let run = kept.begin(&order);
    let mut hosts = Modelled::new(&order, &half);
    hosts.stopped_at = Some(BEGUN + 15 * SECOND);
    let ending = carry_out(&order, 16, &mut hosts, (&kept.store, run), &Heard::default());
    assert_eq!(ending.outcome, Outcome::Interrupted);
    assert_eq!((ending.summary.finished, ending.summary.left), (4, 8));
    assert_eq!(hosts.now - BEGUN, 20 * SECOND);
    assert_eq!(hosts.cleaned, [0, 1, 2, 3]);
    let problem = ending.problem.unwrap();
    assert!(problem.contains(&format!("--resume {run}")), "{problem}");
}

#[test]
fn a_killed_run_is_resumed_with_what_is_left_of_it() {
    let limits = Limits {
        max_bytes: Some(100_000_000_000),
        max_usd: None,
    };
    let (order, kept) = (four(limits), Kept::new());
    let first = kept.begin(&order);
    let mut hosts = Modelled::new(&order, &half);
    hosts.killed_at = Some(BEGUN + 25 * SECOND);
    let killed = catch_unwind(AssertUnwindSafe(|| {
        carry_out(&order, 16, &mut hosts, (&kept.store, first), &Heard::default())
    }));
    assert!(killed.is_err() && hosts.cleaned.is_empty());
    let stored = kept.tests(first, false);
    assert_eq!(stored.len(), 4);

    // Two ran when it was killed: they are repeated, with 98 GB left.
    let left = Order::resume(&kept.store, first).unwrap();
    assert_eq!((left.pairs.len(), left.resumes), (8, Some(first.0)));
    for (from, to) in &left.pairs {
        let names = [from, to].map(|host| format!("host-{host}"));
        assert!(
            stored
                .iter()
                .all(|test| [&test.0, &test.1] != [&names[0], &names[1]])
        );
    }
    assert_eq!(left.limits.max_bytes, Some(98_000_000_000));
    assert_eq!(left.token, order.token);
    let second = kept.begin(&left);
    let mut hosts = Modelled::new(&left, &half);
    let ending = carry_out(&left, 16, &mut hosts, (&kept.store, second), &Heard::default());
    assert_eq!(ending.outcome, Outcome::Finished);
    let mut pairs: Vec<(String, String)> = [first, second]
        .into_iter()
        .flat_map(|run| kept.tests(run, false))
        .map(|(from, to, _)| (from, to))
        .collect();
    pairs.sort();
    pairs.dedup();
    assert_eq!(pairs.len(), 12);
    assert!(matches!(
        Order::resume(&kept.store, second),
        Err(ResumeError::Complete(_, 8))
    ));
    let other = kept.store.begin_run(&NewRun::default()).unwrap();
    assert!(matches!(
        Order::resume(&kept.store, other),
        Err(ResumeError::Unfit(_))
    ));
}

#[test]
fn agents_live_three_times_as_long_as_the_busiest_host_is_needed() {
    let mut order = four(Limits::default());
    order.shape.rtt_ns = 100 * SECOND;
    let test_s = order.shape.duration_ns() / SECOND;
    assert!(test_s >= 100);
    // Each of four hosts is in six of the twelve tests.
    assert_eq!(order.life_s(), 3 * 6 * test_s + 900);
}

/// Two hosts of one region, tested over both kinds of addresses; the cloud says that the first is elsewhere.
fn misplaced_pair(strict_placement: bool) -> (Order, CloudFacts) {
    let mut order = order(2, &[(0, 1), (0, 1)], Limits::default());
    order.over = vec![Over::Private, Over::Public];
    order.strict_placement = strict_placement;
    for host in &mut order.hosts {
        host.place = PlaceName::new("aws", "us-east-1");
        host.private_address = "10.77.0.4".into();
    }
    let told = CloudFacts {
        cloud: Some("aws".into()),
        region: Some("us-east-2".into()),
        ..CloudFacts::default()
    };
    (order, told)
}

#[test]
fn tests_of_a_misplaced_host_are_marked_and_a_held_down_mtu_is_said_for_each_kind_of_address() {
    let (order, told) = misplaced_pair(false);
    let (kept, said) = (Kept::new(), Heard::default());
    let run = kept.begin(&order);
    let mut hosts = Modelled::new(&order, &half);
    hosts.told = Some(told);
    let report = json!({ "path_mtu": 1500, "probes": 9, "interface_mtu": 9001 });
    hosts.details = json!({ "path_mtu": { "forward": report, "reverse": report } });
    let ending = carry_out(&order, 16, &mut hosts, (&kept.store, run), &said);
    assert_eq!((ending.summary.finished, ending.problem), (2, None));
    let notes = ending.summary.notes.join("\n");
    for part in [
        "host-0: its region is us-east-2 and not us-east-1",
        "its tests are marked",
        "down to 1500 bytes over private addresses",
        "down to 1500 bytes over public addresses",
    ] {
        assert!(notes.contains(part), "{notes}");
    }
    let tests = kept.store.mesh_tests(&MeshFilter::default()).unwrap();
    let over: Vec<Over> = tests.iter().map(|(_, test)| Over::of(&test.details)).collect();
    assert_eq!(over, [Over::Private, Over::Public]);
    for (_, test) in tests {
        let marked = test.details["from_misplaced"].as_str().unwrap();
        assert_eq!(marked, "its region is us-east-2 and not us-east-1");
        assert_eq!(test.details["to_misplaced"], serde_json::Value::Null);
    }
}

#[test]
fn with_strict_placement_a_misplaced_host_is_left_out() {
    let (order, told) = misplaced_pair(true);
    let (kept, said) = (Kept::new(), Heard::default());
    let run = kept.begin(&order);
    let mut hosts = Modelled::new(&order, &half);
    hosts.told = Some(told);
    let ending = carry_out(&order, 16, &mut hosts, (&kept.store, run), &said);
    assert_eq!((ending.summary.finished, ending.summary.failed), (0, 2));
    assert_eq!(ending.summary.lost_hosts["host-0"].kind, FaultKind::Misplaced);
    // It was prepared, so that it is cleaned up.
    assert_eq!(hosts.cleaned, [0, 1]);
}

#[test]
fn limits_of_a_repeated_run_hold_for_all_of_its_runs_together() {
    // Three runs of twelve tests of half a gigabyte each fit into 20 GB; the fourth stops at the limit.
    let limits = Limits {
        max_bytes: Some(20_000_000_000),
        max_usd: Some(5.0),
    };
    let (mut order, kept) = (four(limits), Kept::new());
    let (mut sent, mut halts) = (0, Vec::new());
    for _ in 0..4 {
        let run = kept.begin(&order);
        let mut hosts = Modelled::new(&order, &half);
        let ending = carry_out(&order, 16, &mut hosts, (&kept.store, run), &Heard::default());
        sent += ending.summary.bytes;
        halts.push(ending.summary.halt);
        order.limits = left_of(order.limits, &ending.summary);
    }
    assert_eq!(halts, [None, None, None, Some(Halt::Bytes)]);
    assert!(sent <= 20_000_000_000 && sent > 18_000_000_000, "{sent}");
    // 0.1 dollars for each gigabyte.
    assert!((order.limits.max_usd.unwrap() - (5.0 - sent as f64 / 1e10)).abs() < 1e-9);
}
