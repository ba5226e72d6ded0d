//! Loss that grows with the number of flows although all of them lose alike: the host or the network does badly with
//! several flows. Where routes differ, flows lose unequally, and a sweep over their number says nothing of this kind.

use weir_results::RunId;
use weir_stats::{Counted, equal_rates, normal_tail, total};
use weir_units::{count_of, format_percent};

use super::severity_of_loss;
use crate::analysis::process::design_effect;
use crate::analysis::{CHANCE, Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName};
use crate::measured::FlowTest;
use crate::words::{loss, rows_of_runs, way};

/// Flow counts that a sweep must have to show a trend.
const LEAST_STEPS: usize = 3;
/// Flows that lose unequally with a probability below this are on different routes.
const UNEQUAL: f64 = 0.02;
/// The same where the losses of all tests, which allow for unequal routes, say that they grow with the flows.
const CLEARLY: f64 = 1e-4;
/// The most flows have to lose this many times as much as the fewest.
const GROWTH: f64 = 2.0;
/// p-value of a trend over the flows: many sweeps are looked at, and what all tests say together is asked, too.
const TREND: f64 = 0.001;
/// p-value below which a fall of the loss from one number of flows to the next is no coincidence.
const FALLING: f64 = 0.01;

/// The tests of one payload length, the fewest flows first.
struct Sweep<'s, 'a> {
    steps: Vec<&'s Step<'a>>,
    /// Loss of each.
    losses: Vec<Counted>,
    /// Variance of its loss over that of independent losses.
    dispersions: Vec<f64>,
}

/// The finding.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    let mut payloads: Vec<u32> = of_network(steps).map(|step| step.test.payload).collect();
    payloads.sort_unstable();
    payloads.dedup();
    payloads
        .into_iter()
        .filter_map(|payload| Sweep::of(steps, payload))
        .filter_map(|sweep| {
            let inferred = steps
                .growth
                .filter(|_| sweep.grows() && !sweep.flows_differ(CLEARLY));
            let inferred = inferred.map(|growth| by_inference(growth.gain));
            let both = [inferred, sweep.trend()].into_iter().flatten();
            Some((both.min_by(|a, b| a.p_value.total_cmp(&b.p_value))?, sweep))
        })
        .min_by(|a, b| a.0.p_value.total_cmp(&b.0.p_value))
        .filter(|(evidence, _)| evidence.p_value < CHANCE)
        .map(|(evidence, sweep)| describe(&sweep, evidence))
}

/// Tests of which hosts hide nothing: what they drop one by one they drop of all flows alike.
fn of_network<'s, 'a>(steps: &'s Steps<'a>) -> impl Iterator<Item = &'s Step<'a>> {
    let tells = |step: &&Step| !step.lost_on_host() || step.lost_singly_on_host();
    steps.unlimited().filter(tells)
}

/// What says that loss grows.
struct Growth {
    p_value: f64,
    test: &'static str,
}

fn by_inference(gain: f64) -> Growth {
    Growth {
        p_value: (-gain).exp(),
        test: "likelihood of the losses of all tests with a growth with the flows and with the best causes without it",
    }
}

impl<'s, 'a> Sweep<'s, 'a> {
    fn of(steps: &'s Steps<'a>, payload: u32) -> Option<Self> {
        let mut chosen: Vec<&Step> = of_network(steps)
            .filter(|step| step.test.payload == payload)
            .collect();
        chosen.sort_by_key(|step| step.flow_count());
        chosen.dedup_by_key(|step| step.flow_count());
        if chosen.len() < LEAST_STEPS {
            return None;
        }
        let losses: Vec<Counted> = chosen.iter().map(|step| step.network_loss()).collect();
        let dispersions: Vec<f64> = chosen.iter().map(|step| dispersion(step)).collect();
        // A test that happened to meet few bursts met the same path as those that met many.
        let lost = losses.iter().map(|loss| loss.events as f64);
        let mean = lost
            .zip(&dispersions)
            .map(|(lost, dispersion)| lost * dispersion)
            .sum::<f64>()
            / total(&losses).events.max(1) as f64;
        Some(Sweep {
            losses,
            dispersions: dispersions
                .iter()
                .map(|dispersion| dispersion.max(mean))
                .collect(),
            steps: chosen,
        })
    }

    /// More flows lose more.
    fn grows(&self) -> bool {
        let ends = self.losses.first().zip(self.losses.last());
        ends.is_some_and(|(first, last)| last.rate() > first.rate()) && self.rises()
    }

    /// Cochran and Armitage's test for a trend, one-sided, its variance widened by that of bursts; none where loss
    /// does not grow much.
    fn trend(&self) -> Option<Growth> {
        let (first, last) = (*self.losses.first()?, *self.losses.last()?);
        if last.rate() < GROWTH * first.rate() || !self.grows() || self.flows_differ(UNEQUAL) {
            return None;
        }
        let rate = total(&self.losses).rate();
        let weights = || {
            self.steps
                .iter()
                .map(|step| step.flow_count() as f64)
                .zip(&self.losses)
        };
        let trials: f64 = weights().map(|(_, loss)| loss.trials as f64).sum();
        let mean = weights()
            .map(|(flows, loss)| flows * loss.trials as f64)
            .sum::<f64>()
            / trials;
        let (mut sum, mut variance) = (0.0, 0.0);
        for ((flows, loss), dispersion) in weights().zip(&self.dispersions) {
            let distance = flows - mean;
            sum += distance * (loss.events as f64 - loss.trials as f64 * rate);
            variance += distance * distance * loss.trials as f64 * rate * (1.0 - rate) * dispersion;
        }
        let p_value = normal_tail(sum / variance.sqrt());
        (p_value < TREND).then_some(Growth {
            p_value,
            test: "Cochran-Armitage test for a trend of loss with the number of flows, where flows lose equally",
        })
    }

    /// Flows of a step lose unequally, with at most this chance that they do not.
    fn flows_differ(&self, chance: f64) -> bool {
        let mut tests = self.steps.iter().map(|step| equal_rates(&step.events));
        // Many tests of equality are made here, so that chance alone fails one of them more often.
        let unequal = chance / self.steps.len() as f64;
        tests.any(|test| test.is_some_and(|test| test.p_value < unequal))
    }

    /// No step loses clearly less than one with fewer flows.
    fn rises(&self) -> bool {
        let count = self.losses.len();
        let pairs = (0..count).flat_map(|low| (low + 1..count).map(move |high| (low, high)));
        pairs.into_iter().all(|(low, high)| {
            let (a, b) = (self.losses[low], self.losses[high]);
            let rate = a.plus(b).rate();
            let spread =
                |count: Counted, dispersion: f64| rate * (1.0 - rate) * dispersion / count.trials as f64;
            let variance = spread(a, self.dispersions[low]) + spread(b, self.dispersions[high]);
            variance <= 0.0 || normal_tail((a.rate() - b.rate()) / variance.sqrt()) > FALLING
        })
    }
}

/// What the losses of a step vary more than independent ones: packets lost in one burst of the stream count as one
/// event, and events vary in time.
fn dispersion(step: &Step) -> f64 {
    let in_time = equal_rates(&step.events).map_or(1.0, |test| test.dispersion);
    (design_effect(step) * in_time).max(in_windows(step.test))
}

/// The same of the packets lost in short windows, which hold what is too far apart for one burst.
fn in_windows(test: &FlowTest) -> f64 {
    let Some(first) = test.loss_windows.first() else {
        return 1.0;
    };
    let windows = test.active_ns as f64 / first.duration_ns.max(1) as f64;
    let lost = test.loss_windows.iter().map(|window| window.lost as f64);
    let (sum, squares) = lost.fold((0.0, 0.0), |(sum, squares), lost| {
        (sum + lost, squares + lost * lost)
    });
    squares / f64::max(sum, 1.0) - sum / windows.max(1.0)
}

fn describe(sweep: &Sweep, growth: Growth) -> Finding {
    let rates: Vec<String> = sweep
        .steps
        .iter()
        .zip(&sweep.losses)
        .map(|(step, count)| format!("{} with {}", format_percent(count.rate()), step.flow_count()))
        .collect();
    let direction = sweep.steps[0].test.direction;
    let runs: Vec<RunId> = sweep.steps.iter().map(|step| step.test.run).collect();
    let (fewest, most) = (sweep.losses[0], sweep.losses[sweep.losses.len() - 1]);
    let mut by_run = sweep.steps.clone();
    by_run.sort_by_key(|step| step.test.run);
    let numbers = |of: &dyn Fn(&Step) -> u64| by_run.iter().map(|step| of(step)).collect::<Vec<u64>>();
    Finding {
        name: FindingName::FiveTupleIgnored,
        severity: severity_of_loss(most.rate()),
        direction: Some(direction),
        brief: format!(
            "loss grows with the number of flows{}: {} with {}, {} with {}",
            way(direction),
            format_percent(fewest.rate()),
            sweep.steps[0].flow_count(),
            format_percent(most.rate()),
            sweep.steps[sweep.steps.len() - 1].flow_count()
        ),
        sentence: format!(
            "loss grows with the number of flows{}, and all flows lose alike: {} flows. The network or its card handles \
             several flows between two hosts badly, as where the inner 5-tuple is ignored.",
            way(direction),
            rates.join(", ")
        ),
        evidence: vec![
            Evidence::of("flows", numbers(&|step| step.flow_count() as u64)),
            Evidence::of("packets lost", numbers(&|step| step.test.lost)),
            Evidence::of("packets received", numbers(&|step| step.test.received)),
            Evidence::of("loss with the fewest flows", loss(fewest)),
            Evidence::of("loss with the most flows", loss(most)),
        ],
        query: format!(
            "SELECT run_id, sum(received) AS \"packets received\", sum(lost) AS \"packets lost\" FROM flow_seconds\nWHERE \
             {} GROUP BY run_id ORDER BY run_id",
            rows_of_runs(&runs, direction)
        ),
        confidence: Confidence::by_test(growth.test, growth.p_value),
        action: format!(
            "Use {}, with ARQ or FEC for the remaining loss (see the recommendation). With so few flows a broken \
             route stops the whole stream: have a second path ready.",
            count_of(sweep.steps[0].flow_count() as u64, "flow")
        ),
    }
}
