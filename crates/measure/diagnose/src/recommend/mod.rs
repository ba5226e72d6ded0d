//! Settings for media: how many flows, which payload, and how lost packets are repaired. It must not know how findings
//! were made; it takes what they mean.

mod arq;
mod candidates;
mod comparison;
mod fec;
mod sentence;
mod settings;
mod trial;

use weir_stats::{Gilbert, LossSequence};
use weir_units::{format_percent, format_rate};

use crate::analysis::process::{Kind, LossProcess, Share, process, with_loss};
use crate::analysis::{Step, Steps};
use crate::answer::{Basis, Load, Recommended, is_at, lower_rate};
use crate::finding::{Recommendation, Recovery};
use crate::measured::Measured;
use crate::options::Options;
use candidates::{Budget, Forecast};
use comparison::Question;
use settings::Settings;
use trial::Trials;

/// Latency that repairs may take, unless the user says otherwise: what `weir recv` waits, nanoseconds.
const USUAL_LATENCY_NS: u64 = 100_000_000;
/// Packets without a loss that show a loss rate below one of their number (95 %): three and a bit, by two-sided bounds.
const TELLING_PACKETS: f64 = 3.7;

/// Other payloads that are tried: trials take seconds.
const MOST_OTHERS: usize = 2;

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
    /// Where it comes in bursts: the tests' losses in the order in which packets left.
    pub recorded: Option<LossSequence>,
}

impl Loss {
    /// The bound of a loss that was not seen.
    fn unseen(&self, seen: bool) -> Option<f64> {
        (!seen).then(|| mean(&self.fitted))
    }
}

/// The recommendation, where flows were measured.
pub(crate) fn recommend(
    measured: &Measured,
    steps: &Steps,
    facts: Facts,
    options: &Options,
) -> Option<Recommended> {
    let settings = settings::choose(steps, facts)?;
    let first = if settings.load == Load::Carried {
        let tests = near_steps(steps, &settings, facts);
        let mut found = advised(measured, steps, &settings, tests, options)?;
        if steps.limit.is_some() && steps.plain().next().is_none() {
            found.load = Load::Untried;
        }
        found
    } else {
        let all: Vec<&Step> = steps.steps.iter().collect();
        let (recommendation, carried) = overloaded(steps, &settings);
        Recommended {
            recommendation,
            load: settings.load,
            carried: Some(carried),
            basis: basis(steps, &settings, &all, 0),
        }
    };
    let advice = &first.recommendation;
    let rate = measured.media_rate.unwrap_or(0);
    let is_met = advice.meets_target || advice.longer_test_ns.is_some();
    let has_others = matches!(first.load, Load::Carried | Load::TooMuch);
    if (is_met && is_at(first.basis.rate, rate)) || !has_others {
        return Some(first);
    }
    // What loses more may be repaired all the same, which a trial alone tells.
    let others = settings::others(steps, &settings, rate)
        .into_iter()
        .take(MOST_OTHERS);
    let mut tried =
        others.filter_map(|(settings, tests)| advised(measured, steps, &settings, (tests, 0), options));
    let is_repaired = |found: &Recommended| {
        found.recommendation.meets_target && found.recommendation.simulated_residual_loss.is_some()
    };
    Some(tried.find(is_repaired).unwrap_or(first))
}

/// How to repair what these settings lose, by these tests and with so many left out.
fn advised(
    measured: &Measured,
    steps: &Steps,
    settings: &Settings,
    (near, left_out): (Vec<&Step>, usize),
    options: &Options,
) -> Option<Recommended> {
    let (process, loss) = loss_of(&near)?;
    let media_rate = measured.media_rate.unwrap_or(0) as f64;
    let packets_per_second = media_rate / 8.0 / f64::from(settings.payload.max(1));
    let packet_ns = 1e9 / packets_per_second.max(1e-3);
    let target = options
        .target_loss
        .unwrap_or_else(|| 1.0 / (3_600.0 * packets_per_second).max(1.0));
    let seen = process.kind != Kind::NoneSeen || loss.dark_share > 0.0;
    let trials = Trials::of(measured, steps, settings, &loss, loss.unseen(seen), options);
    let burst = trials.as_ref().and_then(Trials::burst);
    let burst_packets = trials
        .as_ref()
        .map_or(0, |trials| trials.burst_packets(settings.flows));
    let bursts = arq::bursts_to_notice(&loss, settings.flows, target);
    let notice_ns = f64::from(bursts * burst_packets) * packet_ns;
    let question = Question {
        measured,
        steps,
        flows: settings.flows,
        loss: &loss,
        seen,
        target,
        packet_ns,
        budget: Budget {
            ns: options.latency_ns.unwrap_or(USUAL_LATENCY_NS),
            is_firm: options.latency_ns.is_some(),
        },
        forecast: Forecast {
            distance: arq::distance(measured, packet_ns),
            timing: arq::Timing::of(measured, steps, notice_ns as u64),
        },
        trials,
    };
    let survive = options.survive.or(question.outage_seen());
    let (choice, survives) = question.answer(survive);
    let recovery = choice.chosen.recovery;
    let survival = question.prices(&choice.chosen);
    let expected_loss = mean(&loss.fitted);
    let expected = |parts: &[Share]| question.forecast.residual(parts, &recovery);
    let mut recommendation = Recommendation {
        flows: choice.flows,
        payload: settings.payload,
        burst,
        measured_together: measured_together(steps, choice.flows, settings.payload),
        recovery,
        target_loss: target,
        meets_target: choice.chosen.meets_target,
        longer_test_ns: (!seen && expected_loss > target)
            .then(|| (TELLING_PACKETS / target * packet_ns) as u64),
        latency_ns: trial::wait_ns(measured, steps, &recovery),
        expected_loss,
        expected_residual_loss: expected(&loss.fitted),
        expected_residual_interval: (expected(&loss.best), expected(&loss.worst)),
        simulated_residual_loss: choice.chosen.simulated,
        check: choice.check,
        compared: choice.compared,
        survival,
        sentence: String::new(),
    };
    recommendation.sentence = sentence::sentence(&recommendation, &process, &loss);
    if let Some(what) = survive.filter(|_| !survives) {
        recommendation.sentence.push_str(&sentence::not_survived(what));
    }
    Some(Recommended {
        recommendation,
        load: Load::Carried,
        carried: None,
        basis: basis(steps, settings, &near, left_out),
    })
}

fn measured_together(steps: &Steps, flows: u16, payload: u32) -> bool {
    let both = |step: &Step| step.flow_count() == usize::from(flows) && step.test.payload == payload;
    steps.steps.iter().any(both)
}

/// What the tests were that a recommendation rests on.
fn basis(steps: &Steps, settings: &Settings, tests: &[&Step], left_out: usize) -> Basis {
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
        interrupted: false,
        residual_loss: None,
        target_loss: None,
        sentence: String::new(),
    }
}

/// For a path that does not carry the media, or not always, with what it carries, bits per second: no recovery repairs what a
/// limit takes.
fn overloaded(steps: &Steps, settings: &Settings) -> (Recommendation, u64) {
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
    let carried = carried(steps, settings, (asked as f64 * (1.0 - loss)) as u64);
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
    let recommendation = Recommendation {
        flows: settings.flows,
        payload: settings.payload,
        burst: None,
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
            "{trouble} FEC and ARQ cannot repair that much: {}",
            lower_rate(Some(carried))
        ),
    };
    (recommendation, carried)
}

/// What the limit carries by tests at lower rates that agree with it, or else what came through. Of bursts that are longer than those
/// of media less comes through than the path carries of these.
fn carried(steps: &Steps, settings: &Settings, came_through: u64) -> u64 {
    let Some(limit) = &steps.limit else {
        return came_through;
    };
    match limit.carries(settings.flows, settings.payload, steps.header_bytes) {
        Some(known) if limit.of_long_bursts.is_some() => known as u64,
        Some(known) => came_through.min(known as u64),
        None => came_through,
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
        recorded: process.recorded.clone(),
        fitted,
    };
    Some((process, loss))
}

/// The tests whose loss the settings will meet, and the number of those left out because a host did not keep up in them.
fn near_steps<'s, 'a>(steps: &'s Steps<'a>, settings: &Settings, facts: Facts) -> (Vec<&'s Step<'a>>, usize) {
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
