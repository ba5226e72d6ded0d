//! Repairs tried on the twin of the path, by the transport itself. Residual losses are often too rare to be counted, so that
//! a trial with more loss of the same kind says how far the forecast is right. It must not know how a transport works.

use std::cell::RefCell;

use weir_link::{DarkSpan, DirectionSpec, LinkSpec, LossSpec, RateSpec};
use weir_measure::VideoFormat;
use weir_results::Direction;
use weir_stats::{Gilbert, loss_interval};
use weir_units::Rate;

use super::candidates::Forecast;
use super::settings::{self, Settings};
use super::{Loss, arq, mean, scaled};
use crate::analysis::process::with_loss;
use crate::analysis::{Step, Steps};
use crate::finding::{ForecastCheck, Recovery, Survive};
use crate::measured::Measured;
use crate::options::Options;
use crate::transport::{Stream, Transport};

/// Packets of each trial, unless the user says otherwise.
const TRIAL_PACKETS: u64 = 150_000;
/// Trials that leave a doubt are made once more with this many times the packets, if that can settle it.
pub(super) const LONGER: u64 = 8;
/// Failures that a check of the forecast should see.
const COUNTABLE: f64 = 100.0;
/// Loss to which a check may go.
const MOST_LOSS: f64 = 0.3;
/// Latency of a receiver without repairs, and beyond that of a recovery: what packets of one frame are apart, nanoseconds.
const SLACK_NS: u64 = 5_000_000;
const SEED: u64 = 0x7e57;
/// Seeds of which the one with the second most loss is taken where routes lose unequally, and packets that tell.
const SEEDS: u64 = 8;
const SEED_PACKETS: u64 = 15_000;
/// When a flow or a route is dark in a trial, and how long the trial is, nanoseconds.
const DARK_NS: (u64, u64) = (500_000_000, 1_500_000_000);
const DARK_TRIAL_NS: f64 = 2e9;
/// The same for a code, which does the same in each of its spans: it has to be dark for many of these only.
const DARK_CODE_NS: (u64, u64) = (50_000_000, 150_000_000);
const DARK_CODE_TRIAL_NS: f64 = 2e8;
/// Repair packets of a span up to which a trial of a code is as long as others: what it computes grows with them.
const MOST_REPAIRS: u64 = 64;
/// Maximum packets of such a trial.
const MOST_DARK_PACKETS: f64 = 2e6;

/// Residual loss with its 95 % bounds, and how much was sent for each packet of media.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    pub residual: (f64, f64, f64),
    pub packets: u64,
    pub sent_each: f64,
}

/// What all trials of a recommendation have in common.
pub(super) struct Trials<'o> {
    transport: &'o dyn Transport,
    link: LinkSpec,
    /// The path with the losses that were recorded, and their packets.
    recorded: Option<(LinkSpec, u64)>,
    stream: Stream,
    slack_ns: u64,
    /// Packets that are lost at once: so many that are missing may be one failure.
    burst: f64,
    /// Trials made so far.
    known: RefCell<Vec<(Asked, Tried)>>,
    survived: RefCell<Vec<(Dark, bool)>>,
}

/// The losses that a trial meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Losses {
    /// Those of the twin, times this factor.
    Twin(f64),
    /// Those that were recorded, where they come in bursts: no model has all lengths that bursts have.
    Recorded,
}

/// Flows, recovery, losses, and packets.
type Asked = (u16, Recovery, Losses, u64);
/// Flows, recovery, and what is dark.
type Dark = (u16, Recovery, Survive);

impl<'o> Trials<'o> {
    /// Trials of these settings, with the loss that they meet; none without a transport, or where no twin can be made.
    pub fn of(
        measured: &Measured,
        steps: &Steps,
        settings: &Settings,
        loss: &Loss,
        unseen: Option<f64>,
        options: &Options<'o>,
    ) -> Option<Self> {
        let transport = options.transport?;
        let plan = steps.steps.first().map(|step: &Step| &step.test.plan)?;
        let frame_rate = Some(plan.format.frame_rate).filter(|rate| rate.numerator > 0)?;
        let mut link = crate::twin::twin(measured).ok()?.link;
        if steps.direction == Direction::Reverse {
            std::mem::swap(&mut link.forward, &mut link.reverse);
        }
        if let Some(bound) = unseen {
            let routes = link.forward.routes.iter_mut();
            routes.for_each(|route| route.loss.push(LossSpec::Bernoulli(bound)));
        }
        let mut stream = Stream {
            format: VideoFormat::of_rate(Rate(measured.media_rate?), frame_rate),
            flows: settings.flows,
            payload: settings.payload,
            burst: None,
            recovery: Recovery::None,
            latency_ns: 0,
            dark: None,
            packets: options.trial_packets.unwrap_or(TRIAL_PACKETS),
            seed: SEED,
        };
        stream.burst = settings::burst(steps, settings, transport.usual_burst(&stream));
        let trials = Trials {
            transport,
            recorded: recorded(&link, loss),
            link,
            stream,
            slack_ns: slack_ns(measured, steps),
            burst: mean_burst(loss),
            known: RefCell::default(),
            survived: RefCell::default(),
        };
        Some(trials.unlucky(settings.flows))
    }

    /// With a seed by which that many flows lose more than by most: where routes lose unequally, those of another stream may take other
    /// ones.
    fn unlucky(mut self, flows: u16) -> Self {
        let mut losses = self.link.forward.routes.iter().map(|route| &route.loss);
        let first = losses.next();
        if losses.all(|loss| Some(loss) == first) {
            return self;
        }
        let lost = |seed: u64| {
            let stream = Stream {
                flows,
                packets: self.stream.packets.min(SEED_PACKETS),
                seed,
                ..self.stream.clone()
            };
            Some((self.transport.carry(&self.link, &stream)?.lost, seed))
        };
        let mut seeds: Vec<(u64, u64)> = (SEED..SEED + SEEDS).filter_map(lost).collect();
        seeds.sort_unstable();
        let second = seeds.len().saturating_sub(2);
        self.stream.seed = seeds.get(second).map_or(SEED, |(_, seed)| *seed);
        self
    }

    /// Packets that a flow sends back to back; none: as usual.
    pub fn burst(&self) -> Option<u32> {
        self.stream.burst
    }

    /// The same of all of so many flows, as usual, too.
    pub fn burst_packets(&self, flows: u16) -> u32 {
        let usual = || {
            self.transport.usual_burst(&Stream {
                flows,
                ..self.stream.clone()
            })
        };
        self.stream.burst.unwrap_or_else(usual) * u32::from(flows)
    }

    /// Whether a longer trial in which nothing is missing shows that loss.
    pub fn can_show(&self, residual: f64) -> bool {
        let chances = (LONGER * self.stream.packets) as f64 / self.burst;
        loss_interval(0, chances as u64).1 <= residual
    }

    /// What this recovery leaves of these losses, by a trial of `times` the usual packets, or as many as were recorded.
    pub fn residual(&self, flows: u16, recovery: &Recovery, losses: Losses, times: u64) -> Option<Tried> {
        let most = match losses {
            Losses::Twin(_) => u64::MAX,
            Losses::Recorded => self.recorded.as_ref()?.1,
        };
        let packets = most.min(times * self.packets_with(recovery));
        let asked = (flows, *recovery, losses, packets);
        let known = self.known.borrow().iter().find(|known| known.0 == asked).copied();
        if let Some((_, tried)) = known {
            return Some(tried);
        }
        let tried = match losses {
            Losses::Twin(scale) => self.try_out(&raised(&self.link, scale), asked),
            Losses::Recorded => self.try_out(&self.recorded.as_ref()?.0, asked),
        }?;
        self.known.borrow_mut().push((asked, tried));
        Some(tried)
    }

    fn try_out(&self, link: &LinkSpec, (flows, recovery, _, packets): Asked) -> Option<Tried> {
        let carried = self.transport.carry(
            link,
            &Stream {
                flows,
                recovery,
                latency_ns: self.slack_ns + recovery.latency_ns().unwrap_or(0),
                packets,
                ..self.stream.clone()
            },
        )?;
        let packets = carried.packets.max(1);
        // What is missing in one frame is one failure.
        let of_frame = carried.unrepaired as f64 / carried.damaged_frames.max(1) as f64;
        let each = of_frame.max(self.burst);
        let chances = (packets as f64 / each) as u64;
        let failures = (carried.unrepaired as f64 / each).round() as u64;
        let (low, high) = loss_interval(failures.min(chances), chances.max(1));
        Some(Tried {
            residual: (carried.unrepaired as f64 / packets as f64, low, high),
            packets,
            sent_each: carried.sent_packets as f64 / packets as f64,
        })
    }

    /// Whether nothing is missing at the output although that is dark for a second, on a path that loses nothing else.
    pub fn survives(&self, flows: u16, recovery: &Recovery, what: Survive) -> bool {
        let asked = (flows, *recovery, what);
        let known = self
            .survived
            .borrow()
            .iter()
            .find(|known| known.0 == asked)
            .copied();
        if let Some((_, survived)) = known {
            return survived;
        }
        let survived = self.survives_trial(flows, recovery, what);
        self.survived.borrow_mut().push((asked, survived));
        survived
    }

    fn survives_trial(&self, flows: u16, recovery: &Recovery, what: Survive) -> bool {
        let mut link = raised(&self.link, 0.0);
        let ((from_ns, to_ns), trial_ns) = if recovery.is_code() {
            (DARK_CODE_NS, DARK_CODE_TRIAL_NS)
        } else {
            (DARK_NS, DARK_TRIAL_NS)
        };
        let mut stream = Stream {
            flows,
            recovery: *recovery,
            latency_ns: self.slack_ns + recovery.latency_ns().unwrap_or(0),
            packets: self.packets_in(trial_ns),
            ..self.stream.clone()
        };
        match what {
            Survive::Flow => stream.dark = Some((0, from_ns, to_ns)),
            // Nothing is left where the only route is dark.
            Survive::Route if link.forward.routes.len() < 2 => return false,
            Survive::Route => {
                let busiest = link.forward.routes.iter_mut().max_by_key(|route| route.weight);
                let span = DarkSpan { from_ns, to_ns };
                busiest.into_iter().for_each(|route| route.dark.push(span));
            }
        }
        self.transport
            .carry(&link, &stream)
            .is_some_and(|carried| carried.unrepaired == 0)
    }

    fn packets_with(&self, recovery: &Recovery) -> u64 {
        let repairs = match *recovery {
            Recovery::Fec { repair_packets, .. } => u64::from(repair_packets),
            _ => 0,
        };
        self.stream.packets * MOST_REPAIRS / repairs.max(MOST_REPAIRS)
    }

    fn packets_in(&self, ns: f64) -> u64 {
        let bits = self.stream.format.rate().0 as f64 * ns / 1e9;
        (bits / 8.0 / f64::from(self.stream.payload.max(1))).min(MOST_DARK_PACKETS) as u64
    }

    /// The forecast beside a trial in which the recovery fails often enough to be counted.
    pub fn check(
        &self,
        flows: u16,
        loss: &Loss,
        recovery: &Recovery,
        forecast: &Forecast,
    ) -> Option<ForecastCheck> {
        let fitted = mean(&loss.fitted).max(1e-12);
        let expected = |scale: f64| forecast.residual(&scaled(&loss.fitted, scale), recovery);
        let mut scale = 1.0;
        while scale * fitted < MOST_LOSS && expected(scale) * (self.packets_with(recovery) as f64) < COUNTABLE
        {
            scale *= 1.5;
        }
        let tried = self.residual(flows, recovery, Losses::Twin(scale), 1)?;
        Some(ForecastCheck {
            recovery: *recovery,
            loss: mean(&scaled(&loss.fitted, scale)),
            expected: expected(scale),
            simulated: tried.residual,
            packets: tried.packets,
        })
    }
}

/// Packets that a burst takes, on average over the lost packets; 1 where they are lost one by one.
fn mean_burst(loss: &Loss) -> f64 {
    let of = |process: &Gilbert| {
        if process.loss_bad > process.loss_good && process.to_good > 0.0 {
            (process.loss_bad / process.to_good).max(1.0)
        } else {
            1.0
        }
    };
    let lost: f64 = mean(&loss.fitted);
    let parts = loss.fitted.iter();
    let all: f64 = parts
        .map(|part| part.share * part.process.loss() * of(&part.process))
        .sum();
    (all / lost.max(f64::MIN_POSITIVE)).max(1.0)
}

/// How long a receiver has to wait for the repairs of this recovery.
pub(super) fn wait_ns(measured: &Measured, steps: &Steps, recovery: &Recovery) -> u64 {
    slack_ns(measured, steps) + recovery.latency_ns().unwrap_or(0)
}

fn slack_ns(measured: &Measured, steps: &Steps) -> u64 {
    let rtt = measured.rtt.as_ref().and_then(|test| test.rtt);
    SLACK_NS + arq::beyond_ns(steps) + rtt.map_or(0, |rtt| rtt.p99.saturating_sub(rtt.min).unsigned_abs())
}

/// The link with one route, which loses what was recorded; none where that has no bursts, or routes lose unequally.
fn recorded(link: &LinkSpec, loss: &Loss) -> Option<(LinkSpec, u64)> {
    let [_] = loss.fitted.as_slice() else {
        return None;
    };
    let recorded = loss.recorded.as_ref()?;
    let mut link = link.clone();
    link.forward.routes.truncate(1);
    link.forward.extra_flow_loss = 0.0;
    let route = link.forward.routes.first_mut()?;
    // One of several may be slower than the stream.
    route.rate = RateSpec::Unlimited;
    route.loss = vec![LossSpec::Packets(recorded.lost.clone())];
    Some((link, recorded.length))
}

/// The link with `scale` times the loss of its routes, in the same bursts.
fn raised(link: &LinkSpec, scale: f64) -> LinkSpec {
    let mut link = link.clone();
    let DirectionSpec { routes, .. } = &mut link.forward;
    for loss in routes.iter_mut().flat_map(|route| &mut route.loss) {
        let process = match *loss {
            LossSpec::Bernoulli(rate) => Gilbert::independent(rate),
            LossSpec::GilbertElliott {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            } => Gilbert {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            },
            LossSpec::Packets(_) => continue,
        };
        *loss = loss_of(&with_loss(&process, (process.loss() * scale).min(0.5)));
    }
    link.forward.extra_flow_loss = (link.forward.extra_flow_loss * scale).min(0.5);
    link
}

fn loss_of(process: &Gilbert) -> LossSpec {
    if process.loss_good == process.loss_bad {
        return LossSpec::Bernoulli(process.loss_good);
    }
    LossSpec::GilbertElliott {
        to_bad: process.to_bad,
        to_good: process.to_good,
        loss_good: process.loss_good,
        loss_bad: process.loss_bad,
    }
}
