//! The sequence accounts against a slow model that keeps every sequence in sets and checks all of them each time.

use std::collections::{BTreeSet, HashMap, HashSet};

use proptest::prelude::*;
use weir_stats::{Arrival, FlowAccount, LossRun, ReorderAccount, ReorderDepth, SequenceExtender};

/// What the account's documentation says, one sequence at a time.
struct Model {
    first: u64,
    depth: ReorderDepth,
    history: u64,
    now: u64,
    highest: Option<u64>,
    in_time: HashSet<u64>,
    late: HashSet<u64>,
    lost: BTreeSet<u64>,
    /// When a higher packet first arrived, for each sequence that was missing then.
    shown: HashMap<u64, u64>,
    duplicates: u64,
    reordered: u64,
    stale: u64,
}

impl Model {
    fn new(first: u64, depth: ReorderDepth, history: u64) -> Self {
        Self {
            first,
            depth,
            history,
            now: 0,
            highest: None,
            in_time: HashSet::new(),
            late: HashSet::new(),
            lost: BTreeSet::new(),
            shown: HashMap::new(),
            duplicates: 0,
            reordered: 0,
            stale: 0,
        }
    }

    fn poll(&mut self, now: u64) {
        self.now = self.now.max(now);
        let Some(highest) = self.highest else { return };
        for sequence in self.first..highest {
            let missing = !self.in_time.contains(&sequence) && !self.lost.contains(&sequence);
            if missing {
                let passed = highest >= sequence + u64::from(self.depth.packets);
                let expired = self.now - self.shown[&sequence] >= self.depth.time_ns;
                if passed || expired {
                    self.lost.insert(sequence);
                }
            }
        }
    }

    fn packet(&mut self, now: u64, sequence: u64) -> Arrival {
        self.poll(now);
        let in_order = self.highest.is_none_or(|highest| sequence > highest);
        if sequence < self.first {
            self.stale += 1;
            return Arrival::Stale;
        }
        if in_order {
            let from = self.highest.map_or(self.first, |highest| highest + 1);
            for missing in from..sequence {
                self.shown.insert(missing, self.now);
            }
            self.highest = Some(sequence);
            self.in_time.insert(sequence);
            self.poll(now);
            return Arrival::InOrder;
        }
        // The history ends at a multiple of 64 above the highest.
        let window_end = (self.highest.unwrap_or(self.first) / 64 + 1) * 64;
        if sequence + self.history < window_end {
            self.stale += 1;
            Arrival::Stale
        } else if self.in_time.contains(&sequence) {
            self.duplicates += 1;
            Arrival::Duplicate
        } else if self.lost.contains(&sequence) {
            if self.late.insert(sequence) {
                Arrival::Late
            } else {
                self.duplicates += 1;
                Arrival::LateDuplicate
            }
        } else {
            self.in_time.insert(sequence);
            self.reordered += 1;
            Arrival::Reordered
        }
    }

    fn finish(&mut self, sent_end: Option<u64>, now: u64) {
        self.poll(now);
        let received_end = self.highest.map_or(self.first, |highest| highest + 1);
        for sequence in self.first..sent_end.unwrap_or(0).max(received_end) {
            if !self.in_time.contains(&sequence) {
                self.lost.insert(sequence);
                self.shown.entry(sequence).or_insert(self.now);
            }
        }
    }

    fn runs(&self) -> Vec<LossRun> {
        let mut runs: Vec<LossRun> = Vec::new();
        for &sequence in &self.lost {
            match runs.last_mut() {
                Some(run) if run.first + run.length == sequence => run.length += 1,
                _ => runs.push(LossRun {
                    first: sequence,
                    length: 1,
                    noticed_ns: self.shown[&sequence],
                }),
            }
        }
        runs
    }
}

/// The network's treatment of the next packet.
#[derive(Debug, Clone)]
enum Fate {
    Arrives { delay: u32, copies: Vec<u32> },
    Lost { in_a_row: u16 },
}

fn fate(longest_loss: u16) -> impl Strategy<Value = Fate> {
    let delay = prop_oneof![6 => Just(0_u32), 3 => 0..40_u32, 1 => 0..3_000_u32];
    let copies = prop_oneof![8 => Just(Vec::new()), 2 => prop::collection::vec(0..2_000_u32, 1..4)];
    prop_oneof![
        8 => (delay, copies).prop_map(|(delay, copies)| Fate::Arrives { delay, copies }),
        1 => (1..longest_loss).prop_map(|in_a_row| Fate::Lost { in_a_row }),
        1 => (1..5_u16).prop_map(|in_a_row| Fate::Lost { in_a_row }),
    ]
}

/// What is sent, offset from the first sequence, and what arrives when, in order of arrival.
fn carry(fates: &[Fate]) -> (u64, Vec<(u64, u64)>) {
    let mut sequence = 0;
    let mut arrivals = Vec::new();
    for (place, fate) in fates.iter().enumerate() {
        let sent = 10 * place as u64;
        match fate {
            Fate::Arrives { delay, copies } => {
                arrivals.push((sent + u64::from(*delay), sequence));
                for copy in copies {
                    arrivals.push((sent + u64::from(*delay) + u64::from(*copy), sequence));
                }
                sequence += 1;
            }
            Fate::Lost { in_a_row } => sequence += u64::from(*in_a_row),
        }
    }
    arrivals.sort_by_key(|&(at, _)| at);
    (sequence, arrivals)
}

fn depth() -> impl Strategy<Value = ReorderDepth> {
    let packets = prop_oneof![Just(0_u32), Just(1), 2..10_u32, 10..300_u32, Just(1 << 20)];
    let time_ns = prop_oneof![Just(0_u64), 1..50_u64, 50..2_000_u64, Just(u64::MAX)];
    (packets, time_ns).prop_map(|(packets, time_ns)| ReorderDepth { packets, time_ns })
}

/// Runs both over the same packets and compares everything after each.
fn compare(
    first: u64,
    depth: ReorderDepth,
    history: u32,
    fates: &[Fate],
    told_end: bool,
) -> Result<(), TestCaseError> {
    let (sent, arrivals) = carry(fates);
    let kept = u64::from(history)
        .max(u64::from(depth.packets.min(1 << 20)) + 128)
        .next_power_of_two();
    let mut model = Model::new(first, depth, kept);
    let mut account = ReorderAccount::with_history(first, depth, history);
    let mut flow = FlowAccount::with_history(first, depth, history);
    let (mut runs, mut flow_runs) = (Vec::new(), Vec::new());
    for (place, &(at, offset)) in arrivals.iter().enumerate() {
        let sequence = first + offset;
        let expected = model.packet(at, sequence);
        prop_assert_eq!(
            account.on_packet(at, sequence, &mut |run| runs.push(run)),
            expected
        );
        prop_assert_eq!(
            flow.on_packet(at, sequence, 3, &mut |run| flow_runs.push(run)),
            expected
        );
        prop_assert_eq!(account.totals().lost, model.lost.len() as u64);
        if place % 3 == 0 {
            model.poll(at + 5);
            account.poll(at + 5, &mut |run| runs.push(run));
            flow.poll(at + 5, &mut |run| flow_runs.push(run));
            prop_assert_eq!(account.totals().lost, model.lost.len() as u64);
        }
    }
    let last = arrivals.last().map_or(0, |&(at, _)| at);
    let sent_end = told_end.then_some(first + sent);
    model.finish(sent_end, last + 1);
    account.finish(sent_end, last + 1, &mut |run| runs.push(run));
    flow.finish(sent_end, last + 1, &mut |run| flow_runs.push(run));

    let totals = account.totals();
    prop_assert_eq!(&runs, &model.runs());
    prop_assert_eq!(&flow_runs, &runs);
    prop_assert_eq!(totals.received, model.in_time.len() as u64);
    prop_assert_eq!(totals.lost, model.lost.len() as u64);
    prop_assert_eq!(totals.late, model.late.len() as u64 + model.stale);
    prop_assert_eq!(account.stale(), model.stale);
    prop_assert_eq!(totals.duplicates, model.duplicates);
    prop_assert_eq!(totals.reordered, model.reordered);
    prop_assert_eq!(totals.highest, model.highest);
    prop_assert_eq!(
        arrivals.len() as u64,
        totals.received + totals.late + totals.duplicates
    );
    if let Some(end) = sent_end {
        prop_assert_eq!(end - first, totals.received + totals.lost);
    }

    let flow_totals = flow.totals();
    let neighbours = || arrivals.windows(2).map(|pair| (pair[0].1, pair[1].1));
    prop_assert_eq!(
        flow_totals.reversals,
        neighbours().filter(|(before, after)| after < before).count() as u64
    );
    prop_assert_eq!(
        flow_totals.sequence_breaks,
        neighbours()
            .filter(|(before, after)| *after != before + 1)
            .count() as u64
    );
    prop_assert_eq!(flow_totals.bytes, 3 * totals.received);
    prop_assert_eq!(flow_totals.bursts, runs.len() as u64);
    prop_assert_eq!(
        flow_totals.longest_burst,
        runs.iter().map(|run| run.length).max().unwrap_or(0)
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn agrees_with_the_model(
        first in prop_oneof![Just(0_u64), 1..200_u64, Just(u64::from(u32::MAX) - 20)],
        depth in depth(),
        fates in prop::collection::vec(fate(100), 0..150),
        told_end in any::<bool>(),
    ) {
        compare(first, depth, 1 << 14, &fates, told_end)?;
    }

    #[test]
    fn agrees_with_the_model_beyond_a_short_history(
        first in 0..100_u64,
        packets in 0..120_u32,
        time_ns in prop_oneof![10..500_u64, Just(u64::MAX)],
        fates in prop::collection::vec(fate(300), 0..150),
    ) {
        compare(first, ReorderDepth { packets, time_ns }, 256, &fates, true)?;
    }

    #[test]
    fn extends_whatever_stays_within_half_a_circle(
        first in any::<u32>(),
        steps in prop::collection::vec(-1_000_i64..(1 << 31), 0..50),
    ) {
        let mut extender = SequenceExtender::new(first);
        let (mut highest, first) = (u64::from(first), u64::from(first));
        for step in steps {
            let Some(sequence) = highest.checked_add_signed(step) else { continue };
            let expected = (sequence >= first).then_some(sequence);
            prop_assert_eq!(extender.extend((sequence % (1 << 32)) as u32), expected);
            highest = highest.max(sequence);
        }
    }
}

/// Known random losses through the wrap of the wire's 32 bits.
#[test]
fn counts_the_truth_through_the_wrap() {
    let first = u32::MAX - 5_000;
    let depth = ReorderDepth {
        packets: 64,
        time_ns: 1_000_000,
    };
    let mut extender = SequenceExtender::new(first);
    let mut account = ReorderAccount::new(u64::from(first), depth);
    let (mut lost, mut runs, mut in_runs) = (0, 0, 0);
    let mut state = 1_u64;
    let mut before_was_lost = false;
    let mut true_runs = 0;
    for offset in 0..20_000_u32 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let is_lost = (state >> 33).is_multiple_of(10);
        true_runs += u64::from(is_lost && !before_was_lost);
        before_was_lost = is_lost;
        if is_lost {
            lost += 1;
            continue;
        }
        let sequence = extender
            .extend(first.wrapping_add(offset))
            .expect("after the first");
        account.on_packet(u64::from(offset) * 667, sequence, &mut |run| {
            runs += 1;
            in_runs += run.length;
        });
    }
    account.finish(Some(u64::from(first) + 20_000), 20_000 * 667, &mut |run| {
        runs += 1;
        in_runs += run.length;
    });
    assert_eq!((account.totals().lost, in_runs, runs), (lost, lost, true_runs));
    assert_eq!(account.totals().received, 20_000 - lost);
}

#[test]
fn the_longest_jumps_are_one_run_each_at_any_depth() {
    let jump = (1_u64 << 31) - 1;
    for packets in [0, 1, 1_000, 1 << 20] {
        let depth = ReorderDepth {
            packets,
            time_ns: 1_000_000,
        };
        let mut account = ReorderAccount::new(0, depth);
        let mut runs = Vec::new();
        for step in 0..=20 {
            account.on_packet(step * 2_000_000, step * jump, &mut |run| runs.push(run));
        }
        account.finish(Some(21 * jump), 50_000_000, &mut |run| runs.push(run));
        assert_eq!(runs.len(), 21);
        for (step, run) in (0..).zip(&runs) {
            assert_eq!((run.first, run.length), (step * jump + 1, jump - 1));
        }
        let totals = account.totals();
        assert_eq!(totals.received + totals.lost, 21 * jump);
        assert_eq!(
            account.on_packet(50_000_000, 5 * jump, &mut |_| ()),
            Arrival::Stale
        );
        assert_eq!(
            account.on_packet(50_000_000, 21 * jump - 7, &mut |_| ()),
            Arrival::Late
        );
        assert_eq!(
            account.on_packet(50_000_000, 21 * jump - 7, &mut |_| ()),
            Arrival::LateDuplicate
        );
    }
}

#[test]
fn sequences_at_the_edge_of_64_bits_do_not_overflow() {
    let depth = ReorderDepth {
        packets: 10,
        time_ns: 0,
    };
    let mut account = ReorderAccount::new(u64::MAX, depth);
    assert_eq!(account.on_packet(u64::MAX, u64::MAX, &mut |_| ()), Arrival::Stale);
    assert_eq!(account.on_packet(0, 0, &mut |_| ()), Arrival::Stale);
    account.finish(Some(u64::MAX), 0, &mut |_| ());
    assert_eq!((account.totals().lost, account.totals().late), (0, 2));
    let mut account = ReorderAccount::new(0, depth);
    account.on_packet(0, (1 << 63) - 1, &mut |_| ());
    account.finish(Some(u64::MAX), 0, &mut |_| ());
    assert_eq!(account.totals().lost, (1 << 63) - 1);
}

/// More open gaps than are timed individually: every loss is still found, and its time is right to 1 ms.
#[test]
fn thousands_of_open_gaps_are_each_given_up() {
    let depth = ReorderDepth {
        packets: 1 << 20,
        time_ns: 40_000_000,
    };
    let mut account = ReorderAccount::new(0, depth);
    let mut runs = Vec::new();
    for packet in 0..100_000_u64 {
        account.on_packet(packet * 1_000, 2 * packet, &mut |run| runs.push(run));
        // Gaps revealed `time_ns` ago are declared lost, at most 1 ms too early.
        let due = packet.saturating_sub(40_000);
        assert!((due..=due + 1_000).contains(&account.totals().lost));
    }
    account.finish(Some(200_000), 100_000_000, &mut |run| runs.push(run));
    assert_eq!(account.totals().lost, 100_000);
    assert_eq!(runs.len(), 100_000);
    for (packet, run) in (1_u64..).zip(&runs) {
        assert_eq!((run.first, run.length), (2 * packet - 1, 1));
        assert!((0..=1_000_000).contains(&(packet * 1_000 - run.noticed_ns)));
    }
}

/// The minimum history still holds all pending sequences.
#[test]
fn a_history_shorter_than_the_depth_is_lengthened() {
    let depth = ReorderDepth {
        packets: 1_024,
        time_ns: u64::MAX,
    };
    let mut account = ReorderAccount::with_history(0, depth, 0);
    account.on_packet(0, 0, &mut |_| ());
    account.on_packet(0, 1_024, &mut |_| ());
    for missing in 1..1_024 {
        assert_eq!(account.on_packet(0, missing, &mut |_| ()), Arrival::Reordered);
    }
    account.finish(Some(1_025), 0, &mut |run| panic!("{run:?}"));
}

/// Filled gaps do not displace the time of a later open one.
#[test]
fn filled_gaps_leave_no_trace() {
    let depth = ReorderDepth {
        packets: 100,
        time_ns: u64::MAX,
    };
    let mut account = ReorderAccount::new(0, depth);
    let mut runs = Vec::new();
    for pair in 0..10_000 {
        account.on_packet(2 * pair, 2 * pair + 1, &mut |run| runs.push(run));
        account.on_packet(2 * pair + 1, 2 * pair, &mut |run| runs.push(run));
    }
    account.on_packet(20_005, 20_003, &mut |run| runs.push(run));
    account.finish(None, 30_000, &mut |run| runs.push(run));
    assert_eq!(
        runs,
        [LossRun {
            first: 20_000,
            length: 3,
            noticed_ns: 20_005
        }]
    );
}
