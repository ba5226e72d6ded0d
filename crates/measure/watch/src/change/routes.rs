//! Changes of the set of routes that the flows of a path take in one direction, told apart by their hops. Pure.
//!
//! Each flow of a test takes one of the routes, by the hash of its 5-tuple. Of each number of hops, two CUSUM tests of the
//! log-likelihood ratio: a route that flows did not take now carries a tenth of them; a route that they took carries an eighth
//! of what it did. The mean number of tests between false alarms is at least e^h for a threshold of h (Lorden, Annals of
//! Mathematical Statistics 42, 1971), since the known share is a bound of what was observed: the upper one of a route that is new,
//! the lower one of a route that is gone. So a short past finds nothing, and a single stray flow is no change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weir_stats::poisson_interval;
use weir_units::format_percent;

use super::Sensitivity;

/// The past fades with this many tests: a day of one test every ten minutes.
const MEMORY: f64 = 144.0;
/// Share of the flows that a new route is expected to take.
const NEW: f64 = 0.1;
/// Of a route whose share may be above this, nothing new is said.
const MOST_UNSEEN: f64 = 0.5 * NEW;
/// Of a route whose share may be below this, nothing is said to be gone.
const LEAST_SEEN: f64 = 0.05;
/// What is left of the share of a route that is gone.
const GONE: f64 = 1.0 / 8.0;
/// Routes with a smaller share are not of the set that is reported.
const LEAST_SHARE: f64 = 0.02;
/// Probability left out of the bounds of a share.
const LEFT_OUT: f64 = 0.02;
/// Numbers of hops, of both directions, that share the false alarms of a figure.
const ROUTES: f64 = 8.0;
/// Tests from one computation of the bounds of a share to the next.
const BOUNDS_FOR: u64 = 6;
/// Tests kept to say what comes after a change, and numbers of hops kept apart.
const MOST_TESTS: usize = 32;
const MOST_ROUTES: usize = 64;

/// Flows by the hops of their routes.
pub type Hops = BTreeMap<u32, u64>;

/// A change of the set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// First test after it, Unix nanoseconds.
    pub since_ns: u64,
    /// Routes before and after.
    pub routes: (usize, usize),
    /// Both sets in words.
    pub detail: String,
}

/// A sum that starts again when it falls to zero.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    ratio: f64,
    tests: usize,
}

impl Sum {
    fn add(&mut self, step: Option<f64>) {
        self.ratio += step.unwrap_or(f64::NEG_INFINITY);
        self.tests += 1;
        if self.ratio <= 0.0 {
            *self = Sum::default();
        }
    }
}

/// What is known, fading.
#[derive(Clone, Debug, Default)]
struct Known {
    flows: f64,
    by_hops: BTreeMap<u32, f64>,
}

impl Known {
    fn add(&mut self, hops: &Hops) {
        let keep = 1.0 - 1.0 / MEMORY;
        self.flows *= keep;
        self.by_hops.values_mut().for_each(|count| *count *= keep);
        for (route, count) in hops {
            self.flows += *count as f64;
            *self.by_hops.entry(*route).or_default() += *count as f64;
        }
        // What was not seen for days; and no more than a forger of TTLs may fill.
        self.by_hops.retain(|_, count| *count >= 0.01);
        while self.by_hops.len() > MOST_ROUTES {
            self.by_hops.pop_last();
        }
    }

    /// Bounds of the share of a route.
    fn share(&self, route: u32) -> (f64, f64) {
        let seen = self.by_hops.get(&route).copied().unwrap_or(0.0);
        let (low, high) = poisson_interval(seen.round() as u64, LEFT_OUT);
        let flows = self.flows.max(1e-9);
        ((low / flows).min(0.999), (high / flows).min(1.0))
    }

    /// Its routes of more than a few flows, with their shares.
    fn set(&self) -> Vec<(u32, f64)> {
        let shares = self
            .by_hops
            .iter()
            .map(|(route, count)| (*route, count / self.flows));
        shares.filter(|(_, share)| *share >= LEAST_SHARE).collect()
    }
}

/// What is tested of a route.
#[derive(Clone, Copy, Debug, Default)]
struct RouteTest {
    new: Sum,
    gone: Sum,
    /// Bounds of its known share, and for how many further tests they hold.
    share: (f64, f64),
    holds: u64,
}

/// Watches one direction.
#[derive(Clone, Debug)]
pub(super) struct RouteWatch {
    threshold: f64,
    known: Known,
    routes: BTreeMap<u32, RouteTest>,
    /// The last tests: end and flows.
    recent: VecDeque<(u64, Hops)>,
    /// Of those, the last ones that are not known yet: they may be of a change.
    held: usize,
}

impl RouteWatch {
    pub(super) fn new(sensitivity: Sensitivity) -> Self {
        RouteWatch {
            // Tests are at least a minute apart in a file for months; with ten minutes between them, alarms are a tenth as many.
            threshold: (sensitivity.minutes_of_a_test() * ROUTES).ln(),
            known: Known::default(),
            routes: BTreeMap::new(),
            recent: VecDeque::new(),
            held: 0,
        }
    }

    /// Takes a test that ended at `unix_ns`.
    pub(super) fn push(&mut self, unix_ns: u64, hops: &Hops) -> Option<Found> {
        let flows: u64 = hops.values().sum();
        if flows == 0 {
            return None;
        }
        self.recent.push_back((unix_ns, hops.clone()));
        self.held += 1;
        let all: BTreeSet<u32> = self.known.by_hops.keys().chain(hops.keys()).copied().collect();
        self.routes.retain(|route, _| all.contains(route));
        let (mut crossed, mut in_progress) = (None, 0);
        for route in all.into_iter().take(2 * MOST_ROUTES) {
            let on_it = hops.get(&route).copied().unwrap_or(0);
            let tested = self.routes.entry(route).or_default();
            if tested.holds == 0 {
                (tested.share, tested.holds) = (self.known.share(route), BOUNDS_FOR);
            }
            tested.holds -= 1;
            let over = tested.add((on_it, flows), self.threshold);
            crossed = crossed.or(over);
            in_progress = in_progress.max(tested.new.tests).max(tested.gone.tests);
        }
        if let Some(sum) = crossed {
            return self.changed(sum.tests);
        }
        self.learn(in_progress);
        None
    }

    /// What came before the sums in progress is known from now on.
    fn learn(&mut self, in_progress: usize) {
        while self.held > in_progress.min(MOST_TESTS) {
            let place = self.recent.len() - self.held;
            self.known.add(&self.recent[place].1);
            self.held -= 1;
        }
        while self.recent.len() > MOST_TESTS {
            self.recent.pop_front();
        }
    }

    /// What came in the last tests is known from now on.
    fn changed(&mut self, tests: usize) -> Option<Found> {
        let from = self.recent.len().saturating_sub(tests);
        self.recent.drain(..from);
        let since_ns = self.recent.front()?.0;
        let mut after = Known::default();
        self.recent.iter().for_each(|(_, hops)| after.add(hops));
        let before = std::mem::replace(&mut self.known, after);
        self.routes.clear();
        self.held = 0;
        let (before, after) = (before.set(), self.known.set());
        Some(Found {
            since_ns,
            routes: (before.len(), after.len()),
            detail: format!("{} before, {} after", in_words(&before), in_words(&after)),
        })
    }
}

impl RouteTest {
    /// Takes the flows on it, of all; the sum that reaches the threshold.
    fn add(&mut self, counts: (u64, u64), threshold: f64) -> Option<Sum> {
        let (low, high) = self.share;
        self.new
            .add((high <= MOST_UNSEEN).then(|| log_ratio(counts, high, NEW)));
        self.gone
            .add((low >= LEAST_SEEN).then(|| log_ratio(counts, low, low * GONE)));
        [self.new, self.gone]
            .into_iter()
            .find(|sum| sum.ratio >= threshold)
    }
}

/// Logarithm of the ratio of the likelihoods of `on_it` of `flows`, with a share of `one` and of `zero`.
fn log_ratio((on_it, flows): (u64, u64), zero: f64, one: f64) -> f64 {
    let (zero, one) = (zero.clamp(1e-6, 1.0 - 1e-6), one.clamp(1e-6, 1.0 - 1e-6));
    on_it as f64 * (one / zero).ln() + (flows - on_it) as f64 * ((1.0 - one) / (1.0 - zero)).ln()
}

fn in_words(set: &[(u32, f64)]) -> String {
    let routes = set.iter().map(|(hops, share)| {
        let share = format_percent((share * 100.0).round() / 100.0);
        format!("{hops} hops ({share})")
    });
    routes.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_NS: u64 = 600_000_000_000;

    /// Pushes tests of these flows by hops; the changes with the number of their test.
    fn found(watch: &mut RouteWatch, tests: std::ops::Range<u64>, hops: &[(u32, u64)]) -> Vec<(u64, Found)> {
        let hops: Hops = hops.iter().copied().collect();
        let each = tests.map(|test| (test, watch.push(test * TEST_NS, &hops)));
        each.filter_map(|(test, found)| Some((test, found?))).collect()
    }

    #[test]
    fn a_second_route_is_found_in_its_first_test_with_both_sets() {
        let mut watch = RouteWatch::new(Sensitivity::default());
        assert_eq!(found(&mut watch, 0..200, &[(12, 16)]), []);
        let found = found(&mut watch, 200..300, &[(12, 9), (14, 7)]);
        let [(200, change)] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((change.since_ns, change.routes), (200 * TEST_NS, (1, 2)));
        assert_eq!(
            change.detail,
            "12 hops (100 %) before, 12 hops (56 %), 14 hops (44 %) after"
        );
    }

    #[test]
    fn a_route_is_found_soon_after_the_first_hour_as_well() {
        let mut watch = RouteWatch::new(Sensitivity::default());
        assert_eq!(found(&mut watch, 0..10, &[(12, 16)]), []);
        let found = found(&mut watch, 10..40, &[(12, 8), (14, 8)]);
        let [(at, change)] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(*at <= 12, "{at}");
        assert_eq!(change.since_ns, 10 * TEST_NS);
    }

    #[test]
    fn a_route_that_is_gone_or_replaced_is_found_and_a_stray_flow_is_not() {
        let mut watch = RouteWatch::new(Sensitivity::default());
        assert_eq!(found(&mut watch, 0..200, &[(12, 8), (14, 8)]), []);
        assert_eq!(found(&mut watch, 200..201, &[(12, 8), (13, 1), (14, 7)]), []);
        let gone = found(&mut watch, 201..300, &[(12, 16)]);
        let [(at, change)] = &gone[..] else {
            panic!("{gone:?}")
        };
        // Half of the flows: 2^-16 in each test.
        assert!((202..=203).contains(at), "{at}");
        assert_eq!((change.since_ns, change.routes), (201 * TEST_NS, (2, 1)));
        let replaced = found(&mut watch, 300..400, &[(11, 16)]);
        let [(300, change)] = &replaced[..] else {
            panic!("{replaced:?}")
        };
        assert_eq!(change.detail, "12 hops (100 %) before, 11 hops (100 %) after");
    }

    #[test]
    fn what_is_kept_is_bounded_whatever_the_packets_say() {
        let mut watch = RouteWatch::new(Sensitivity::default());
        for test in 0..2_000u64 {
            let hops: Hops = (0..16).map(|flow| ((test * 16 + flow) as u32 % 250, 1)).collect();
            watch.push(test * TEST_NS, &hops);
        }
        assert!(watch.known.by_hops.len() <= MOST_ROUTES && watch.recent.len() <= MOST_TESTS);
        assert!(watch.routes.len() <= 2 * MOST_ROUTES);
    }
}
