//! Settings for media: how many flows, which payload, and how lost packets are repaired. It must not know how findings
//! were made; it takes what they mean.

mod arq;
mod fec;
mod settings;
mod trial;

use weir_stats::Gilbert;
use weir_units::{format_duration, format_percent, format_rate};

use crate::analysis::process::{Kind, LossProcess, Share, process, with_loss};
use crate::analysis::{Step, Steps};
use crate::answer::{Basis, Load, Recommended};
use crate::finding::{ForecastCheck, Recommendation, Recovery};
use crate::measured::Measured;
use crate::options::Options;
use crate::words::share;

/// Packets that each of the two simulations sends, unless the user says otherwise.
pub(crate) const TRIAL_PACKETS: u64 = 150_000;
/// Overhead up to which FEC is the first choice.
const CHEAP_FEC: f64 = 0.10;
/// Failures that a check of the forecast should see.
const COUNTABLE: f64 = 100.0;
/// Loss to which a check may go.
const MOST_LOSS: f64 = 0.3;

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
    let target = options
        .target_loss
        .unwrap_or_else(|| 1.0 / (3_600.0 * packets_per_second).max(1.0));
    let packet_ns = 1e9 / packets_per_second.max(1e-3);
    let expected_loss = mean(&loss.fitted);
    let recovery = choose(&loss, target, packet_ns, measured);
    let trials = Trials {
        distance: arq::distance(measured, packet_ns),
        packets: options.simulated_packets.unwrap_or(TRIAL_PACKETS),
    };
    let forecast = |parts: &[Share]| trials.forecast(parts, &recovery);
    let mut recommendation = Recommendation {
        flows: settings.flows,
        payload: settings.payload,
        measured_together: settings.measured_together,
        recovery,
        target_loss: target,
        expected_loss,
        expected_residual_loss: forecast(&loss.fitted),
        expected_residual_interval: (forecast(&loss.best), forecast(&loss.worst)),
        simulated_residual_loss: trials.simulate(&loss.fitted, &recovery),
        simulated_packets: trials.packets,
        check: trials.check(&loss.fitted, &recovery),
        sentence: String::new(),
    };
    recommendation.sentence = sentence(&recommendation, &process, &loss);
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
        simulated_residual_loss: (loss, loss, loss),
        simulated_packets: 0,
        check: None,
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

/// FEC where it is cheap, else retransmission where the RTT is known, else FEC at any price below the media itself.
fn choose(loss: &Loss, target: f64, packet_ns: f64, measured: &Measured) -> Recovery {
    if mean(&loss.worst) <= target && loss.dark_share == 0.0 {
        return Recovery::None;
    }
    let code = fec::design(loss, target, packet_ns);
    let retransmission = arq::design(loss, target, packet_ns, measured);
    match code {
        Some(code) if code.overhead() <= CHEAP_FEC || measured.rtt.is_none() => code.recovery(packet_ns),
        _ => retransmission,
    }
}

/// Forecasts and simulations of recoveries.
struct Trials {
    /// Packets from one to its retransmission.
    distance: u64,
    /// Packets of each simulation.
    packets: u64,
}

impl Trials {
    fn forecast(&self, parts: &[Share], recovery: &Recovery) -> f64 {
        match *recovery {
            Recovery::None => mean(parts),
            Recovery::Fec {
                repair_packets,
                span_packets,
                ..
            } => fec::residual(parts, span_packets as usize, repair_packets as usize, 0),
            Recovery::Arq { rounds, .. } => arq::residual(parts, rounds, self.distance),
        }
    }

    fn simulate(&self, parts: &[Share], recovery: &Recovery) -> (f64, f64, f64) {
        trial::residual(parts, recovery, self.distance, self.packets)
    }

    /// The forecast against a simulation in which the recovery fails often enough to be counted: with fewer rounds, or
    /// under more loss of the same kind.
    fn check(&self, parts: &[Share], recovery: &Recovery) -> Option<ForecastCheck> {
        let countable = |parts: &[Share], recovery: &Recovery| {
            self.forecast(parts, recovery) * self.packets as f64 >= COUNTABLE
        };
        let weaker = match *recovery {
            Recovery::None => return None,
            Recovery::Fec { .. } => *recovery,
            Recovery::Arq { rounds, latency_ns } => {
                let of = |rounds: u32| Recovery::Arq { latency_ns, rounds };
                (1..=rounds)
                    .rev()
                    .map(of)
                    .find(|weaker| countable(parts, weaker))
                    .unwrap_or(of(1))
            }
        };
        let most = MOST_LOSS / mean(parts).max(1e-12);
        let mut scale = 1.0;
        while scale < most && !countable(&scaled(parts, scale), &weaker) {
            scale *= 1.5;
        }
        let raised = scaled(parts, scale);
        Some(ForecastCheck {
            recovery: weaker,
            loss: mean(&raised),
            expected: self.forecast(&raised, &weaker),
            simulated: self.simulate(&raised, &weaker),
            packets: self.packets,
        })
    }
}

fn sentence(found: &Recommendation, process: &LossProcess, loss: &Loss) -> String {
    let plural = if found.flows == 1 { "" } else { "s" };
    let settings = format!(
        "{} flow{plural} with payloads of {} bytes",
        found.flows, found.payload
    );
    let bound = if process.kind == Kind::NoneSeen {
        "at most "
    } else {
        ""
    };
    let left = format!(
        "raw loss {bound}{}, residual loss {bound}{}",
        format_percent(found.expected_loss),
        share(found.expected_residual_loss)
    );
    let how = match found.recovery {
        Recovery::None => format!("no recovery: loss {bound}{}", format_percent(found.expected_loss)),
        Recovery::Fec {
            overhead,
            repair_packets,
            span_packets,
            latency_ns,
        } => format!(
            "FEC of {repair_packets} repair packet{} for every {span_packets} ({} more, {} of latency): {left}",
            if repair_packets == 1 { "" } else { "s" },
            format_percent(overhead),
            format_duration(latency_ns)
        ),
        Recovery::Arq { latency_ns, rounds } => {
            let times = if rounds == 1 {
                "one retransmission".to_owned()
            } else {
                format!("up to {rounds} retransmissions")
            };
            let latency = latency_ns.map_or_else(
                || " (its latency depends on the RTT, which this run did not measure)".to_owned(),
                |latency| format!(", within {} of latency", format_duration(latency)),
            );
            format!("ARQ with {times} of a lost packet{latency}: {left}")
        }
    };
    let dark = if loss.dark_share > 0.0 {
        format!(
            " The outage seen took {} of the packets while it lasted.",
            format_percent(loss.dark_share)
        )
    } else {
        String::new()
    };
    let apart = if found.measured_together {
        ""
    } else {
        " These settings were not tested together: confirm them with 'weir flows'."
    };
    format!(
        "use {settings} and {how} (target: {}).{dark}{apart}",
        share(found.target_loss)
    )
}
