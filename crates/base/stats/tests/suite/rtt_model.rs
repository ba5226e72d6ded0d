//! The tracker of sent packets against the known fate of each.

use std::collections::HashMap;

use proptest::prelude::*;
use weir_stats::{Finished, Reply, RttTracker};

const TIMEOUT_NS: u64 = 1_000;

#[derive(Debug, Clone)]
struct Sent {
    /// Sequences skipped before this one.
    skipped: u64,
    /// Arrival times of its replies, after sending.
    replies: Vec<u64>,
}

fn sent() -> impl Strategy<Value = Sent> {
    let skipped = prop_oneof![9 => Just(0_u64), 1 => 1..5_u64];
    let replies = prop_oneof![
        6 => (1..800_u64).prop_map(|delay| vec![delay]),
        1 => Just(Vec::new()),
        3 => prop::collection::vec(1..3_000_u64, 0..4),
    ];
    (skipped, replies).prop_map(|(skipped, mut replies)| {
        replies.sort_unstable();
        Sent { skipped, replies }
    })
}

proptest! {
    #[test]
    fn every_packet_is_counted_once(packets in prop::collection::vec(sent(), 0..200), linger_ns in 0..4_000_u64) {
        let mut events = Vec::new();
        let mut truth = HashMap::new();
        let mut sequence = 7;
        for (place, packet) in (0_u64..).zip(&packets) {
            sequence += packet.skipped;
            events.push((place * 20, false, sequence));
            events.extend(packet.replies.iter().map(|reply| (place * 20 + reply, true, sequence)));
            truth.insert(sequence, packet.replies.clone());
            sequence += 1;
        }
        events.sort_unstable();

        let mut tracker = RttTracker::new(1_000, linger_ns);
        let mut finished: Vec<Finished<u64>> = Vec::new();
        let mut heard: HashMap<Reply, u64> = HashMap::new();
        tracker.poll(0, TIMEOUT_NS, &mut |_| ());
        for (step, &(now_ns, is_reply, sequence)) in events.iter().enumerate() {
            if is_reply {
                *heard.entry(tracker.reply(sequence, now_ns)).or_default() += 1;
            } else {
                prop_assert_eq!(tracker.sent(sequence, now_ns, sequence), None);
            }
            if step % 7 == 0 {
                tracker.poll(now_ns, TIMEOUT_NS, &mut |done| finished.push(done));
            }
        }
        tracker.finish(&mut |done| finished.push(done));

        let in_time = |replies: &[u64]| replies.first().is_some_and(|&reply| reply < TIMEOUT_NS);
        let count = |which: &dyn Fn(&[u64]) -> bool| truth.values().filter(|replies| which(replies)).count() as u64;
        let totals = tracker.totals();
        prop_assert_eq!(totals.sent, truth.len() as u64);
        prop_assert_eq!(totals.received, count(&in_time));
        prop_assert_eq!(totals.lost, count(&|replies| !in_time(replies)));
        prop_assert_eq!(totals.late, count(&|replies| !replies.is_empty() && !in_time(replies)));
        prop_assert_eq!(totals.duplicated, count(&|replies| replies.len() > 1));
        let copies: usize = truth.values().map(|replies| replies.len().saturating_sub(1)).sum();
        prop_assert_eq!(totals.duplicates, copies as u64);
        prop_assert_eq!((totals.unknown, totals.forced_out), (0, 0));
        prop_assert_eq!(heard.get(&Reply::First).copied().unwrap_or(0), totals.received);
        prop_assert_eq!(heard.get(&Reply::Late).copied().unwrap_or(0), totals.late);
        prop_assert_eq!(heard.get(&Reply::Duplicate).copied().unwrap_or(0), totals.duplicates);

        prop_assert_eq!(finished.len(), truth.len());
        prop_assert!(finished.is_sorted_by(|a, b| a.sequence < b.sequence));
        for done in &finished {
            let replies = &truth[&done.sequence];
            prop_assert_eq!(done.payload, done.sequence);
            prop_assert_eq!(done.rtt_ns(), in_time(replies).then(|| replies[0]));
            // Those that arrived during the linger time are counted with it; it may have stayed longer.
            let lingering = replies.iter().skip(1).filter(|&&reply| reply < linger_ns).count();
            prop_assert!((lingering..=replies.len().saturating_sub(1)).contains(&(done.duplicates as usize)));
        }
    }
}
