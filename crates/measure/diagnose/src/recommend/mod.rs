//! Settings for media: how many flows, which payload, and how lost packets are repaired. It must not know how findings
//! were made; it takes what they mean.

mod arq;
mod candidates;
mod fec;
mod sentence;
mod settings;
mod trial;

use weir_stats::Gilbert;
use weir_units::{format_percent, format_rate};

use crate::analysis::process::{Kind, LossProcess, Share, process, with_loss};
use crate::analysis::{Step, Steps};
use crate::answer::{Basis, Load, Recommended};
use crate::finding::{Compared, ForecastCheck, Recommendation, Recovery, Survival};
use crate::measured::Measured;
use crate::options::{Options, Survive};
use candidates::{Forecast, candidates, overhead};
use trial::Trials;

/// Latency that repairs may take, unless the user says otherwise: what `weir recv` waits, nanoseconds.
const USUAL_LATENCY_NS: u64 = 100_000_000;
/// Packets without a loss that show a loss rate below one of their number (95 %): three and a bit, by two-sided bounds.
const TELLING_PACKETS: f64 = 3.7;

/// What the recommendation has to know of the findings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// More flows make it worse, or change nothing.
    pub few_flows: bool,
    /// Longest payload below a cliff.
    pub longest_good: Option<u32>,
}

/// The stream's loss as a recovery meets it.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    /// Parts of the stream with a process each, as fitted.
    pub fitted: Vec<Share>,
    /// The same with the loss at its upper bound: what a recovery is designed for.
    pub worst: Vec<Share>,
    /// The same with the loss at its lower bound.
    pub best: Vec<Share>,
    /// Share of the packets that were lost while a route was dark, at worst; none of it counts in the above.
    pub dark_share: f64,
}

/// The recommendation, where flows were measured.
pub(crate) fn recommend(
    measured: &Measured,
    steps: &Steps,
    facts: Facts,
    options: &Options,
) -> Option<Recommended> {
    let settings = settings::choose(steps, facts)?;
    if settings.load != Load::Carried {
        let all: Vec<&Step> = steps.steps.iter().collect();
        return Some(Recommended {
            recommendation: overloaded(steps, &settings),
            load: settings.load,
            basis: basis(steps, &settings, &all, 0),
        });
    }
    let (near, left_out) = near_steps(steps, &settings, facts);
    let (process, loss) = loss_of(&near)?;
    let media_rate = measured.media_rate.unwrap_or(0) as f64;
    let packets_per_second = media_rate / 8.0 / f64::from(settings.payload.max(1));
    let packet_ns = 1e9 / packets_per_second.max(1e-3);
    let target = options
        .target_loss
        .unwrap_or_else(|| 1.0 / (3_600.0 * packets_per_second).max(1.0));
    let forecast = Forecast {
        distance: arq::distance(measured, packet_ns),
    };
    let seen = process.kind != Kind::NoneSeen || loss.dark_share > 0.0;
    let expected_loss = mean(&loss.fitted);
    let unseen = (!seen).then_some(expected_loss);
    let budget_ns = options.latency_ns.unwrap_or(USUAL_LATENCY_NS);
    let trials = Trials::of(
        measured,
        steps,
        (settings.flows, settings.payload),
        unseen,
        options,
    );
    let compare = |survive: Option<Survive>| {
        let loss = Loss {
            dark_share: loss.dark_share.max(dark_by(survive, steps, settings.flows)),
            ..loss.clone()
        };
        let seen = seen || survive.is_some();
        Comparison {
            ways: candidates(&loss, seen, target, packet_ns, budget_ns, measured),
            trials: trials.as_ref(),
            loss: &loss,
            forecast,
            target: unseen.map_or(target, |bound| if survive.is_some() { bound } else { target }),
            survive,
        }
        .run()
    };
    let (compared, chosen, check) = compare(options.survive);
    let prices = [Survive::Flow, Survive::Route].map(|what| {
        let cheapest = compare(Some(what)).1;
        price(what, cheapest, measured)
    });
    let recovery = chosen.recovery;
    let mut recommendation = Recommendation {
        flows: settings.flows,
        payload: settings.payload,
        measured_together: settings.measured_together,
        recovery,
        target_loss: target,
        meets_target: chosen.meets_target,
        longer_test_ns: unseen
            .filter(|bound| *bound > target)
            .map(|_| (TELLING_PACKETS / target * packet_ns) as u64),
        latency_ns: trial::wait_ns(measured, &recovery),
        expected_loss,
        expected_residual_loss: forecast.residual(&loss.fitted, &recovery),
        expected_residual_interval: (
            forecast.residual(&loss.best, &recovery),
            forecast.residual(&loss.worst, &recovery),
        ),
        simulated_residual_loss: chosen.simulated,
        check,
        compared,
        survival: if trials.is_some() { prices.into() } else { Vec::new() },
        sentence: String::new(),
    };
    recommendation.sentence = sentence::sentence(&recommendation, &process, &loss);
    let untried = steps.limit.is_some() && steps.plain().next().is_none();
    Some(Recommended {
        recommendation,
        load: if untried { Load::Untried } else { Load::Carried },
        basis: basis(steps, &settings, &near, left_out),
    })
}

/// What the tests were that a recommendation rests on.
fn basis(steps: &Steps, settings: &settings::Settings, tests: &[&Step], left_out: usize) -> Basis {
    let count = |counted: &dyn Fn(&Step) -> bool| tests.iter().filter(|step| counted(step)).count() as u32;
    let with_settings = |step: &&&Step| {
        step.flow_count() == usize::from(settings.flows) && step.test.payload == settings.payload
    };
    let rates = || tests.iter().filter_map(|step| step.test.asked);
    let own = tests
        .iter()
        .filter(with_settings)
        .filter_map(|step| step.test.asked)
        .max();
    let sum = |of: &dyn Fn(&Step) -> u64| tests.iter().map(|step| of(step)).sum();
    Basis {
        direction: steps.direction,
        tests: tests.len() as u32,
        left_out: (left_out + steps.set_aside.len()) as u32,
        duration_ns: sum(&|step| step.test.plan.duration_ns),
        rate: own.or_else(|| rates().max()),
        lowest_rate: rates().min(),
        packets: sum(&|step| step.test.sent),
        lost: sum(&|step| step.test.lost),
        late_tests: count(&|step| step.is_late()),
        host_loss_tests: count(&|step| step.host_share() > 0.0),
        residual_loss: None,
        target_loss: None,
        sentence: String::new(),
    }
}

/// For a path that does not carry the media, or not always: no recovery repairs what a limit takes.
fn overloaded(steps: &Steps, settings: &settings::Settings) -> Recommendation {
    let rate = |step: &Step| step.loss().rate();
    let chosen = |step: &&Step| {
        step.flow_count() == usize::from(settings.flows) && step.test.payload == settings.payload
    };
    let loss = match settings.load {
        Load::AtTimes => steps.steps.iter().map(rate).fold(0.0, f64::max),
        _ => steps.steps.iter().find(chosen).map_or(0.0, rate),
    };
    let asked = steps
        .steps
        .iter()
        .filter_map(|step| step.test.asked)
        .max()
        .unwrap_or(0);
    let carried = (asked as f64 * (1.0 - loss)) as u64;
    let plain = steps.plain().count();
    let trouble = match settings.load {
        Load::AtTimes => format!(
            "the path carries {} only at times: {plain} of {} tests passed, another lost {}.",
            format_rate(asked),
            steps.steps.len(),
            format_percent(loss)
        ),
        _ => format!(
            "no test carried {}: the loss rate was lowest with {} flows and payloads of {} bytes, {}.",
            format_rate(asked),
            settings.flows,
            settings.payload,
            format_percent(loss)
        ),
    };
    Recommendation {
        flows: settings.flows,
        payload: settings.payload,
        measured_together: true,
        recovery: Recovery::None,
        target_loss: 0.0,
        expected_loss: loss,
        expected_residual_loss: loss,
        expected_residual_interval: (loss, loss),
        meets_target: false,
        longer_test_ns: None,
        latency_ns: 0,
        simulated_residual_loss: None,
        check: None,
        compared: Vec::new(),
        survival: Vec::new(),
        sentence: format!(
            "{trouble} FEC and ARQ cannot repair that much: lower the rate to less than {}, or use another path.",
            format_rate(carried)
        ),
    }
}

fn mean(parts: &[Share]) -> f64 {
    parts.iter().map(|part| part.share * part.process.loss()).sum()
}

/// The loss of these tests.
fn loss_of<'s, 'a>(near: &[&'s Step<'a>]) -> Option<(LossProcess<'s, 'a>, Loss)> {
    let process = process(near)?;
    let (lower, upper) = process.interval;
    let fitted: Vec<Share> = match process.kind {
        // Nothing was seen: the bound is all that is known.
        Kind::NoneSeen => vec![Share {
            share: 1.0,
            process: Gilbert::independent(upper),
        }],
        _ => process.model.clone(),
    };
    let rate = mean(&fitted).max(f64::MIN_POSITIVE);
    let loss = Loss {
        best: scaled(&fitted, lower / rate),
        worst: scaled(&fitted, upper / rate),
        dark_share: dark_share(near),
        fitted,
    };
    Some((process, loss))
}

/// The tests whose loss the settings will meet, and the number of those left out because a host did not keep up in them.
fn near_steps<'s, 'a>(
    steps: &'s Steps<'a>,
    settings: &settings::Settings,
    facts: Facts,
) -> (Vec<&'s Step<'a>>, usize) {
    let longest = facts.longest_good.unwrap_or(u32::MAX);
    let short: Vec<&Step> = steps
        .plain()
        .filter(|step| step.test.payload <= longest)
        .collect();
    let few = |step: &&Step| step.flow_count() == usize::from(settings.flows);
    let mut near = short.clone();
    if facts.few_flows {
        near = short.into_iter().filter(few).collect();
        if near.is_empty() {
            // So few flows were not measured with such a payload: longer ones have to do.
            near = steps.plain().filter(few).collect();
        }
    }
    if near.is_empty() {
        near = steps.steps.iter().collect();
    }
    let (limited, kept_up): (Vec<&Step>, Vec<&Step>) =
        near.into_iter().partition(|step| step.is_limited_by_host());
    if kept_up.is_empty() {
        (limited, 0)
    } else {
        (kept_up, limited.len())
    }
}

fn scaled(parts: &[Share], scale: f64) -> Vec<Share> {
    let part = |part: &Share| Share {
        share: part.share,
        process: with_loss(&part.process, (part.process.loss() * scale).min(0.5)),
    };
    parts.iter().map(part).collect()
}

/// Largest share of the flows that was dark at once while others went on.
fn dark_share(steps: &[&Step]) -> f64 {
    steps
        .iter()
        .flat_map(|step| {
            step.outages
                .iter()
                .map(move |outage| outage.flows.len() as f64 / step.flow_count() as f64)
        })
        .filter(|share| *share < 1.0)
        .fold(0.0, f64::max)
}

fn price(of: Survive, cheapest: Compared, measured: &Measured) -> Survival {
    let recovery = Some(cheapest.recovery).filter(|_| cheapest.meets_target);
    let latency_ns = trial::wait_ns(measured, &cheapest.recovery);
    Survival {
        of,
        recovery,
        overhead: cheapest.overhead,
        latency_ns,
        sentence: sentence::price(of, recovery.as_ref(), cheapest.overhead, latency_ns),
    }
}

/// Share of the packets that are lost while that is dark.
fn dark_by(survive: Option<Survive>, steps: &Steps, flows: u16) -> f64 {
    let flow = 1.0 / f64::from(flows.max(1));
    match survive {
        None => 0.0,
        Some(Survive::Flow) => flow,
        Some(Survive::Route) => {
            let busiest = |step: &Step| {
                let members = step.routes.members.iter().map(Vec::len).max();
                members.map_or(1.0, |most| most as f64 / step.flow_count().max(1) as f64)
            };
            steps.steps.iter().map(busiest).fold(flow, f64::max)
        }
    }
}

/// Ways to repair, and what decides between them.
struct Comparison<'l, 'o> {
    ways: Vec<Recovery>,
    trials: Option<&'l Trials<'o>>,
    loss: &'l Loss,
    forecast: Forecast,
    target: f64,
    survive: Option<Survive>,
}

impl Comparison<'_, '_> {
    /// What was compared up to the first that meets the target, the choice, and how its forecast was checked. Where none
    /// meets it, the choice is what leaves least.
    fn run(&self) -> (Vec<Compared>, Compared, Option<ForecastCheck>) {
        let mut all: Vec<(Compared, Option<ForecastCheck>)> = Vec::new();
        for recovery in &self.ways {
            all.push(self.judged(recovery));
            if all.last().is_some_and(|(last, _)| last.meets_target) {
                break;
            }
        }
        let compared: Vec<Compared> = all.iter().map(|(one, _)| one.clone()).collect();
        let left = |one: &Compared| one.simulated.map_or(one.expected, |bounds| bounds.2);
        let (chosen, check) = all
            .into_iter()
            .min_by(|(a, _), (b, _)| {
                let by_aim = b.meets_target.cmp(&a.meets_target);
                by_aim.then(left(a).total_cmp(&left(b)))
            })
            .unwrap_or_else(|| self.judged(&Recovery::None));
        (compared, chosen, check)
    }

    fn judged(&self, recovery: &Recovery) -> (Compared, Option<ForecastCheck>) {
        let expected = self.forecast.residual(&self.loss.worst, recovery);
        let worst = mean(&self.loss.worst) / mean(&self.loss.fitted).max(f64::MIN_POSITIVE);
        let tried = self
            .trials
            .and_then(|trials| trials.residual(recovery, worst));
        let (meets_target, check) = match tried.map(|tried| tried.residual) {
            None => (expected <= self.target, None),
            Some((_, low, _)) if low > self.target => (false, None),
            Some((_, _, high)) if high <= self.target => (true, None),
            Some(_) => self.by_check(recovery, expected),
        };
        let meets_target = meets_target && self.survives(recovery);
        let compared = Compared {
            recovery: *recovery,
            overhead: tried.map_or_else(
                || overhead(recovery, mean(&self.loss.fitted)),
                |tried| (tried.sent_each - 1.0).max(0.0),
            ),
            expected,
            simulated: tried.map(|tried| tried.residual),
            simulated_packets: tried.map_or(0, |tried| tried.packets),
            meets_target,
        };
        (compared, check)
    }

    fn survives(&self, recovery: &Recovery) -> bool {
        let (Some(what), Some(trials)) = (self.survive, self.trials) else {
            return true;
        };
        trials.survives(recovery, what)
    }

    /// Where failures are too rare to be counted: the forecast, made worse by as much as a trial with more loss shows.
    fn by_check(&self, recovery: &Recovery, expected: f64) -> (bool, Option<ForecastCheck>) {
        if expected > self.target {
            return (false, None);
        }
        let check = self.trials.and_then(|trials| trials.check(self.loss, recovery, &self.forecast));
        let optimism = check.map_or(1.0, |check| {
            (check.simulated.1 / check.expected.max(f64::MIN_POSITIVE)).max(1.0)
        });
        (expected * optimism <= self.target, check)
    }
}
