//! The search of RFC 8899: which packet sizes to probe next, and when a size counts as not getting through. Pure.
//!
//! Sizes are IP packets. It goes in rounds. The first tries the base size (section 5.2), the size that most of the
//! Internet carries and the largest that the interface takes; each further round tries several sizes between the
//! largest that came through and the smallest that did not. The lowest of them is one above the largest known, so
//! that a path with a usual size takes two rounds. A size that is still unanswered after `TRIES` probes
//! (`MAX_PROBES` of section 5.1.2) is given up, at once when the local host refuses to send it (section 4.4). The
//! time that answers may take follows the round trips that were seen; an answer that comes later still counts.

use std::collections::{BTreeSet, VecDeque};

/// Probes of one size without an answer before it counts as too large (RFC 8899, 5.1.2).
const TRIES: u32 = 3;
/// From one try of a size to the next: a short outage must not take all of them.
const TRY_GAP_NS: u64 = 100_000_000;
/// From one probe to the next: a row of them in one burst would be lost in a shallow queue.
const PROBE_GAP_NS: u64 = 5_000_000;
/// How long the answer to a last try may take: this many times the longest round trip seen, within bounds. Before
/// anything was answered it is the upper one.
const ROUND_TRIPS: u64 = 4;
const PATIENCE_NS: (u64, u64) = (100_000_000, 2_000_000_000);
/// Sizes in a round beside the lowest.
const FAN: u32 = 4;
/// Size that every path is expected to carry (RFC 8899, 5.1.2; RFC 9000 uses the same).
pub const BASE: u32 = 1200;
/// Size that the Internet usually carries.
const USUAL: u32 = 1500;
/// Smallest size that IPv4 guarantees to be receivable; below it there is no path for media.
const SMALLEST: u32 = 576;
/// No search takes longer, nanoseconds.
pub const LONGEST_NS: u64 = 25_000_000_000;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a probe of `size` now.
    Probe {
        /// Number of the probe, from 1.
        probe: u32,
        /// IP packet length.
        size: u32,
    },
    /// Wait for answers, but ask again at `until_ns`.
    Wait {
        /// Monotonic time.
        until_ns: u64,
    },
    /// The search is over.
    Done(Outcome),
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Largest size that came through.
    pub path_mtu: Option<u32>,
    /// Probes sent.
    pub probes: u32,
}

/// A search in progress.
#[derive(Clone, Debug)]
pub struct MtuSearch {
    largest: u32,
    /// Largest size known to come through.
    confirmed: Option<u32>,
    /// Sizes known not to.
    lost: BTreeSet<u32>,
    /// Those of them that were given up while nothing was answered at all, which says little of a size.
    unsure: Vec<u32>,
    /// Sizes of this round, ascending.
    sizes: Vec<u32>,
    /// Those that are to be sent in this try.
    queue: VecDeque<u32>,
    tries: u32,
    next_try_ns: u64,
    next_probe_ns: u64,
    last_sent_ns: u64,
    /// Size and send time of each probe.
    sent: Vec<(u32, u64)>,
    slowest_ns: u64,
}

impl MtuSearch {
    /// A search up to `largest`, the interface's MTU.
    pub fn new(largest: u32) -> Self {
        let largest = largest.max(SMALLEST);
        let mut sizes = vec![BASE.min(largest), USUAL.min(largest), largest];
        sizes.dedup();
        MtuSearch {
            largest,
            confirmed: None,
            lost: BTreeSet::new(),
            unsure: Vec::new(),
            sizes,
            queue: VecDeque::new(),
            tries: 0,
            next_try_ns: 0,
            next_probe_ns: 0,
            last_sent_ns: 0,
            sent: Vec::new(),
            slowest_ns: 0,
        }
    }

    /// The next step at monotonic `now_ns`.
    pub fn next(&mut self, now_ns: u64) -> Step {
        loop {
            while let Some(size) = self.queue.pop_front() {
                if !self.is_open(size) {
                    continue;
                }
                if now_ns < self.next_probe_ns {
                    self.queue.push_front(size);
                    return Step::Wait {
                        until_ns: self.next_probe_ns,
                    };
                }
                return self.probe(size, now_ns);
            }
            let open: Vec<u32> = self
                .sizes
                .iter()
                .copied()
                .filter(|size| self.is_open(*size))
                .collect();
            if open.is_empty() {
                self.sizes = self.next_round();
                self.tries = 0;
                self.next_try_ns = now_ns;
                if self.sizes.is_empty() {
                    return Step::Done(self.outcome());
                }
                continue;
            }
            let due = if self.tries < TRIES {
                self.next_try_ns
            } else {
                self.last_sent_ns + self.patience_ns()
            };
            if now_ns < due {
                return Step::Wait { until_ns: due };
            }
            if self.tries < TRIES {
                self.tries += 1;
                self.next_try_ns = now_ns + TRY_GAP_NS;
                self.queue.extend(open);
            } else {
                if self.confirmed.is_none() {
                    self.unsure.extend(&open);
                }
                self.lost.extend(open);
            }
        }
    }

    fn probe(&mut self, size: u32, now_ns: u64) -> Step {
        self.sent.push((size, now_ns));
        self.last_sent_ns = now_ns;
        self.next_probe_ns = now_ns + PROBE_GAP_NS;
        Step::Probe {
            probe: self.sent.len() as u32,
            size,
        }
    }

    fn patience_ns(&self) -> u64 {
        match self.confirmed {
            Some(_) => (ROUND_TRIPS * self.slowest_ns).clamp(PATIENCE_NS.0, PATIENCE_NS.1),
            None => PATIENCE_NS.1,
        }
    }

    /// What has been found so far.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            path_mtu: self.confirmed,
            probes: self.sent.len() as u32,
        }
    }

    /// Neither known to come through nor known not to.
    fn is_open(&self, size: u32) -> bool {
        self.confirmed.is_none_or(|confirmed| size > confirmed) && size < self.refused()
    }

    /// Smallest size above the confirmed one that does not come through. What came through counts, whatever was
    /// lost below it.
    fn refused(&self) -> u32 {
        let from = self.confirmed.map_or(0, |confirmed| confirmed + 1);
        self.lost
            .range(from..)
            .next()
            .copied()
            .unwrap_or(self.largest + 1)
    }

    /// Sizes to try between the confirmed and the refused one; none when there is nothing between.
    fn next_round(&self) -> Vec<u32> {
        let low = self.confirmed.unwrap_or(SMALLEST - 1);
        let gap = self.refused().saturating_sub(low + 1);
        let mut sizes: Vec<u32> = (0..=FAN.min(gap.saturating_sub(1)))
            .map(|part| low + 1 + (u64::from(gap) * u64::from(part) / u64::from(FAN + 1)) as u32)
            .collect();
        if gap <= FAN + 1 {
            sizes = (low + 1..=low + gap).collect();
        }
        sizes.dedup();
        sizes
    }

    /// The probe was answered, now or after it was given up. False when it was never sent.
    pub fn on_acknowledged(&mut self, probe: u32, now_ns: u64) -> bool {
        let index = (probe as usize).wrapping_sub(1);
        let Some((size, sent_ns)) = self.sent.get(index).copied() else {
            return false;
        };
        self.slowest_ns = self.slowest_ns.max(now_ns.saturating_sub(sent_ns));
        for size in self.unsure.drain(..) {
            self.lost.remove(&size);
        }
        self.confirmed = Some(self.confirmed.map_or(size, |confirmed| confirmed.max(size)));
        true
    }

    /// The local host will not send a packet of this size.
    pub fn on_refused(&mut self, size: u32) {
        self.lost.insert(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A path in virtual time: its MTU, its round trip, and which probes it loses beside those that are too long.
    struct Path<F> {
        mtu: u32,
        rtt_ns: u64,
        loses: F,
    }

    impl<F: FnMut(u32) -> bool> Path<F> {
        /// What a search from behind `interface` finds, and how long it takes.
        fn search(mut self, interface: u32) -> (Outcome, u64) {
            let mut search = MtuSearch::new(interface);
            let mut answers = VecDeque::new();
            let mut now = 0;
            for _ in 0..10_000 {
                match search.next(now) {
                    Step::Done(outcome) => return (outcome, now),
                    Step::Probe { probe, size } => {
                        assert!(size <= interface, "a probe larger than the interface");
                        if size <= self.mtu && !(self.loses)(probe) {
                            answers.push_back((now + self.rtt_ns, probe));
                        }
                    }
                    Step::Wait { until_ns } => {
                        assert!(until_ns > now, "no time passes");
                        match answers.front().copied().filter(|(at, _)| *at <= until_ns) {
                            Some((at, probe)) => {
                                now = now.max(at);
                                answers.pop_front();
                                assert!(search.on_acknowledged(probe, now));
                            }
                            None => now = until_ns,
                        }
                    }
                }
            }
            panic!("the search does not end");
        }
    }

    fn clean(mtu: u32, rtt_ns: u64) -> Path<impl FnMut(u32) -> bool> {
        Path {
            mtu,
            rtt_ns,
            loses: |_| false,
        }
    }

    #[test]
    fn exact_for_every_path_mtu() {
        for mtu in 576..=9001 {
            assert_eq!(clean(mtu, MS).search(9001).0.path_mtu, Some(mtu));
        }
        for mtu in (576..=65_535).step_by(997) {
            assert_eq!(clean(mtu, MS).search(65_535).0.path_mtu, Some(mtu));
        }
    }

    #[test]
    fn a_path_as_wide_as_its_interface_takes_one_round() {
        let (outcome, took) = clean(9000, MS).search(9000);
        assert_eq!((outcome.path_mtu, outcome.probes), (Some(9000), 3));
        assert!(took < 20 * MS, "{took}");
        assert_eq!(clean(1500, MS).search(1500).0.probes, 2);
    }

    #[test]
    fn a_long_path_behind_a_jumbo_interface_is_soon_known() {
        // Between regions of a cloud: 9001 at the interface, 1500 on the path. A search that waits for three
        // timeouts of one size after the other takes 13 of them, 35 s.
        let (outcome, took) = clean(1500, 150 * MS).search(9001);
        assert_eq!(outcome.path_mtu, Some(1500));
        assert!(took < 2_000 * MS, "{took}");
        let (outcome, took) = clean(8896, 150 * MS).search(9001);
        assert_eq!(outcome.path_mtu, Some(8896));
        assert!(took < 6_000 * MS, "{took}");
    }

    #[test]
    fn no_search_is_longer_than_is_said() {
        for rtt_ns in [0, 50 * MS, 500 * MS, 1_999 * MS] {
            for mtu in (0..=65_535).step_by(1_371).chain([575, 576, 1199, 1200, 1500]) {
                let (outcome, took) = clean(mtu, rtt_ns).search(65_535);
                assert!(took < LONGEST_NS, "{mtu} at {rtt_ns}: {took}");
                assert!(mtu < 576 || outcome.path_mtu == Some(mtu), "{mtu}: {outcome:?}");
            }
        }
    }

    #[test]
    fn losses_of_single_probes_do_not_mislead() {
        for remainder in 0..3 {
            let path = Path {
                mtu: 8896,
                rtt_ns: 20 * MS,
                loses: |probe: u32| probe % 3 == remainder,
            };
            assert_eq!(path.search(9001).0.path_mtu, Some(8896));
        }
    }

    #[test]
    fn a_burst_that_takes_every_probe_of_the_first_round_says_nothing_of_their_sizes() {
        for lost in [9, 12, 20] {
            let path = Path {
                mtu: 8896,
                rtt_ns: 20 * MS,
                loses: |probe: u32| probe <= lost,
            };
            assert_eq!(path.search(9001).0.path_mtu, Some(8896), "{lost}");
        }
    }

    #[test]
    fn an_answer_that_comes_late_still_counts() {
        let mut search = MtuSearch::new(9000);
        let mut now = 0;
        let mut largest = None;
        // The base size is answered at once; the largest is given up, and its answer comes in the second round.
        while search.lost.is_empty() {
            match search.next(now) {
                Step::Probe { probe, size: 9000 } => largest = largest.or(Some(probe)),
                Step::Probe { probe, size } => assert!(size == 1500 || search.on_acknowledged(probe, now)),
                Step::Wait { until_ns } => now = until_ns,
                Step::Done(outcome) => panic!("{outcome:?}"),
            }
        }
        assert!(search.on_acknowledged(largest.expect("a probe of 9000"), now));
        let over = search.next(now);
        assert!(
            matches!(
                over,
                Step::Done(Outcome {
                    path_mtu: Some(9000),
                    ..
                })
            ),
            "{over:?}"
        );
        assert!(!search.on_acknowledged(0, now) && !search.on_acknowledged(10_000, now));
    }

    #[test]
    fn a_black_hole_has_no_mtu() {
        assert_eq!(clean(0, 0).search(9001).0.path_mtu, None);
        assert_eq!(clean(575, 0).search(9001).0.path_mtu, None);
    }

    #[test]
    fn a_narrow_interface_is_the_limit() {
        assert_eq!(clean(9000, MS).search(900).0.path_mtu, Some(900));
    }

    #[test]
    fn what_the_host_refuses_is_not_tried_again() {
        let mut search = MtuSearch::new(9000);
        let (mut now, mut probes) = (0, Vec::new());
        let outcome = loop {
            match search.next(now) {
                Step::Done(outcome) => break outcome,
                Step::Wait { until_ns } => now = until_ns,
                Step::Probe { probe, size } => {
                    probes.push(size);
                    if size > 4000 {
                        search.on_refused(size);
                    } else {
                        assert!(search.on_acknowledged(probe, now));
                    }
                }
            }
        };
        assert_eq!(outcome.path_mtu, Some(4000));
        let mut once = probes.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), probes.len(), "{probes:?}");
    }
}
