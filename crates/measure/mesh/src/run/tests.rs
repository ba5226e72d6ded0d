use super::*;

pub(super) fn order(hosts: usize, pairs: &[Pair], limits: Limits) -> Order {
    let host = |number: usize| Host {
        name: format!("host-{number}"),
        place: crate::place::PlaceName::new("", "cellar"),
        coordinates: None,
        zone: String::new(),
        ssh_address: "192.0.2.1".into(),
        ssh_user: None,
        ssh_port: None,
        ssh_key: None,
        ssh_arguments: Vec::new(),
        test_address: "192.0.2.1".into(),
        private_address: String::new(),
        network: String::new(),
        placed: crate::hosts::Placed::default(),
        agent_port: 4747,
        weir: None,
        groups: Vec::new(),
    };
    Order {
        token: "0".into(),
        hosts: (0..hosts).map(host).collect(),
        pairs: pairs.to_vec(),
        usd_per_gb: vec![Some(0.1); pairs.len()],
        over: vec![Over::Public; pairs.len()],
        strict_placement: false,
        shape: TestShape {
            rtt_ns: 1,
            tcp_ns: 1,
            streams: 1,
            udp_ns: 1,
            udp_bps: 1,
            max_bytes: 1_000_000_000,
            survey: false,
            window_bytes: None,
        },
        limits,
        resumes: None,
    }
}

pub(super) fn all(hosts: usize) -> Vec<Pair> {
    let pairs: Vec<Pair> = (0..hosts)
        .flat_map(|from| (0..hosts).filter(move |to| *to != from).map(move |to| (from, to)))
        .collect();
    crate::rounds::rounds(&pairs)
        .concat()
        .into_iter()
        .map(|index| pairs[index])
        .collect()
}

#[test]
fn a_host_is_never_in_two_tests_and_every_test_is_made_once() {
    let pairs = all(7);
    let mut conductor = Conductor::new(&order(7, &pairs, Limits::default()), 64);
    let (mut running, mut made) = (VecDeque::new(), vec![0; pairs.len()]);
    while !conductor.is_done() {
        while let Some(index) = conductor.start() {
            running.push_back(index);
            made[index] += 1;
        }
        let mut hosts: Vec<usize> = running
            .iter()
            .flat_map(|index| [pairs[*index].0, pairs[*index].1])
            .collect();
        let count = hosts.len();
        hosts.sort_unstable();
        hosts.dedup();
        assert_eq!(hosts.len(), count, "a host is in two tests");
        let index = running.pop_front().unwrap();
        assert_eq!(conductor.ended(index, true, 10), Fate::Finished);
    }
    assert!(made.iter().all(|times| *times == 1));
    assert_eq!((conductor.finished, conductor.bytes), (42, 420));
}

#[test]
fn a_failed_test_is_made_once_more_after_all_others() {
    let mut conductor = Conductor::new(&order(4, &[(0, 1), (0, 2), (0, 3)], Limits::default()), 64);
    let mut began = Vec::new();
    while let Some(index) = conductor.start() {
        began.push(index);
        let fate = conductor.ended(index, index != 0, 0);
        let expected = match (index, began.len()) {
            (0, 1) => Fate::Again,
            (0, _) => Fate::Failed,
            _ => Fate::Finished,
        };
        assert_eq!(fate, expected);
    }
    assert_eq!(began, [0, 1, 2, 0]);
    assert!(conductor.is_done() && conductor.failed == 1 && conductor.finished == 2);
}

#[test]
fn tests_of_a_lost_host_fail_and_the_others_go_on() {
    let mut conductor = Conductor::new(&order(4, &[(0, 1), (2, 3), (1, 2)], Limits::default()), 64);
    assert_eq!(conductor.start(), Some(0));
    assert_eq!(conductor.lose(1), [2]);
    assert_eq!(conductor.ended(0, false, 0), Fate::Failed, "it has no second try");
    assert_eq!(conductor.start(), Some(1));
    conductor.ended(1, true, 0);
    assert!(conductor.is_done() && conductor.failed == 2);
}

#[test]
fn limits_stop_before_they_are_passed_whatever_runs() {
    let bytes = Limits {
        max_bytes: Some(2_500_000_000),
        max_usd: None,
    };
    let pairs = [(0, 1), (2, 3), (4, 5), (0, 2)];
    let mut conductor = Conductor::new(&order(6, &pairs, bytes), 64);
    assert_eq!(
        (conductor.start(), conductor.start(), conductor.start()),
        (Some(0), Some(1), None)
    );
    assert_eq!(conductor.halt, Some(Halt::Bytes));
    assert!(!conductor.is_done(), "two still run");

    let money = Limits {
        max_bytes: None,
        max_usd: Some(0.15),
    };
    let mut conductor = Conductor::new(&order(6, &pairs, money), 64);
    assert_eq!(conductor.start(), Some(0));
    assert_eq!(conductor.start(), None);
    assert_eq!(conductor.halt, Some(Halt::Money));
    conductor.ended(0, true, 1_000_000_000);
    assert!(conductor.is_done() && (conductor.usd - 0.1).abs() < 1e-9);
}

#[test]
fn machines_that_were_launched_count_towards_the_limit_and_so_does_the_time_of_a_test() {
    let money = Limits {
        max_bytes: None,
        max_usd: Some(0.35),
    };
    let mut two = order(4, &[(0, 1), (2, 3)], money);
    // An hour, besides the 4 s around it.
    two.shape.rtt_ns = 3_600_000_000_000;
    let begins = |machines: MachinesCost| {
        let mut conductor = Conductor::new(&two, 1);
        conductor.machines = machines;
        conductor.start().is_some()
    };
    // 0.1 for what is sent, 0.1 so far, and 0.1 or 0.2 for the hour.
    let cost = |usd, usd_per_hour| MachinesCost { usd, usd_per_hour };
    assert!(begins(cost(0.1, 0.1)) && begins(MachinesCost::default()));
    assert!(!begins(cost(0.1, 0.2)) && !begins(cost(0.3, 0.0)));
}

#[test]
fn what_is_left_of_an_order_has_what_is_left_of_its_limits() {
    let limits = Limits {
        max_bytes: Some(5_000_000_000),
        max_usd: Some(1.0),
    };
    let whole = order(3, &[(0, 1), (1, 2), (2, 0)], limits);
    assert!(whole.is_sound());
    let name = |host: &str| format!("host-{host}");
    let done = BTreeMap::from([
        ((name("1"), name("2"), Over::Public), 2_000_000_000),
        ((name("2"), name("1"), Over::Public), 7),
        // The same pair over other addresses is another test.
        ((name("0"), name("1"), Over::Private), 9),
    ]);
    let left = whole.without(&done);
    assert_eq!(
        (left.pairs.as_slice(), left.usd_per_gb.len()),
        (&[(0, 1), (2, 0)][..], 2)
    );
    assert_eq!(left.limits.max_bytes, Some(3_000_000_000));
    assert!((left.limits.max_usd.unwrap() - 0.8).abs() < 1e-9);
    let odd = |change: fn(&mut Order)| {
        let mut order = left.clone();
        change(&mut order);
        order.is_sound()
    };
    assert!(!odd(|order| order.pairs[0] = (0, 3)) && !odd(|order| order.pairs[0] = (1, 1)));
    assert!(!odd(|order| order.token = "../x".into()) && !odd(|order| order.usd_per_gb.clear()));
    // An order of an older version is over public addresses; private ones need some.
    assert!(odd(|order| order.over.clear()) && !odd(|order| order.over[0] = Over::Private));
}

#[test]
fn an_interrupted_run_starts_nothing_more_and_no_more_than_asked_run_at_once() {
    let pairs = [(0, 1), (2, 3), (4, 5)];
    let mut conductor = Conductor::new(&order(6, &pairs, Limits::default()), 2);
    assert_eq!(
        (conductor.start(), conductor.start(), conductor.start()),
        (Some(0), Some(1), None)
    );
    conductor.interrupt();
    conductor.ended(0, true, 0);
    assert_eq!(conductor.start(), None);
    assert_eq!(conductor.ended(1, false, 0), Fate::Failed);
    assert!(conductor.is_done() && conductor.waiting() == 1);
}
