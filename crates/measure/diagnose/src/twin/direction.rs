//! The keys of one direction of a twin: what limits it, what it loses, and its routes. It must not know the other direction.

use std::net::Ipv6Addr;

use weir_measure::path_mtu::overhead;
use weir_results::Direction;
use weir_stats::{Counted, Gilbert, equal_rates, total};
use weir_units::{format_count, format_duration, format_percent, format_rate};

use super::propagation::Propagation;
use super::transmitter::Transmitter;
use super::{MTUS, percent};
use crate::analysis::limit::LimitKind;
use crate::analysis::process::{LossProcess, process, with_loss};
use crate::analysis::route_classes::{RouteClass, classes};
use crate::analysis::{Step, Steps};
use crate::measured::Measured;
use crate::words::way;

/// Routes that lose unequally with a probability below this have losses of their own.
const UNEQUAL: f64 = 0.01;
/// Routes of a path whose flows lose in bursts of their own, where nothing tells routes apart.
const MOST_ROUTES: usize = 16;

/// The tables of a direction.
pub(super) fn table(
    measured: &Measured,
    steps: &Steps,
    propagation: Propagation,
    transmitter: Option<&Transmitter>,
    left_out: &mut Vec<String>,
) -> String {
    let name = match steps.direction {
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    };
    if steps.steps.is_empty() {
        left_out.push(format!("loss and limits{}: no test", way(steps.direction)));
    }
    tell_events(steps, left_out);
    let mut text = format!("\n[{name}]\n");
    text.push_str(&mtu(measured, steps.direction, left_out));
    text.push_str(&caps(steps));
    text.push_str(&long_packets(steps));
    text.push_str(&growth(steps));
    let transmitter = transmitter.map_or(String::new(), Transmitter::keys);
    for route in routes(steps, left_out) {
        text.push_str(&format!("\n[[{name}.route]]\n"));
        text.push_str(&route.keys(propagation));
        text.push_str(&transmitter);
    }
    text
}

/// What happened and no key says.
fn tell_events(steps: &Steps, left_out: &mut Vec<String>) {
    let way = way(steps.direction);
    let by_hosts: f64 = steps
        .steps
        .iter()
        .map(|step| step.host_share() * step.loss().events as f64)
        .sum();
    if by_hosts >= 1.0 {
        let packets = format_count(by_hosts.round() as u64);
        left_out.push(format!("{packets} packets that hosts dropped{way}"));
    }
    for (step, outage) in steps.outages() {
        let longest = outage.parts.iter().map(|part| part.duration_ns).max();
        left_out.push(format!(
            "a dark time of {} on {} of {} flows in run {}{way}",
            format_duration(longest.unwrap_or(0)),
            outage.flows.len(),
            step.flow_count(),
            step.test.run
        ));
    }
}

fn mtu(measured: &Measured, direction: Direction, left_out: &mut Vec<String>) -> String {
    let report = measured.mtu.as_ref().map(|(_, found)| match direction {
        Direction::Forward => &found.forward,
        Direction::Reverse => &found.reverse,
    });
    let header = measured.header_bytes;
    let longest = measured.flow_tests.iter().map(|test| test.payload + header).max();
    match (report.and_then(|report| report.path_mtu), longest) {
        (Some(found), _) if MTUS.contains(&found) => format!("mtu = {found}\n"),
        (_, Some(longest)) if MTUS.contains(&longest.max(1_500)) => {
            left_out.push(format!("the path MTU{}: it was not measured", way(direction)));
            format!("mtu = {}\n", longest.max(1_500))
        }
        _ => String::new(),
    }
}

fn caps(steps: &Steps) -> String {
    let Some(limit) = &steps.limit else {
        return String::new();
    };
    let tests = limit.steps.len();
    let rate = |bits: f64| format_rate(bits.round() as u64);
    let seen = format!(
        "{} to {} in {tests} tests",
        rate(limit.range.0),
        rate(limit.range.1)
    );
    // What comes through of a burst that overflows a bucket is what the bucket holds; so is what more comes through at first.
    let bucket = limit.of_long_bursts.zip(steps.steps.get(limit.steps[0]));
    let bucket = bucket.map(|(let_through, step)| let_through * step.burst_seconds());
    let credit = (limit.credit_s > 0.0).then_some(limit.value * limit.credit_s);
    let bucket = bucket.or(credit);
    let of_flow = format!("{}bit/s", limit.value.round());
    let of_flow = match bucket {
        Some(bits) => format!(
            "{{ rate = \"{of_flow}\", burst = \"{}B\" }}",
            (bits / 8.0).round()
        ),
        None => format!("\"{of_flow}\""),
    };
    let of_packets = match bucket {
        Some(packets) => format!(
            "{{ rate = {}, burst = {} }}",
            limit.value.round(),
            packets.round()
        ),
        None => limit.value.round().to_string(),
    };
    let flow_rate = format!("flow-rate = {of_flow} # {seen}\n");
    match limit.kind {
        LimitKind::FlowRate => flow_rate,
        LimitKind::Together => format!("hide-five-tuple = true # one cap on all flows together\n{flow_rate}"),
        LimitKind::PacketRate => format!(
            "packet-rate = {of_packets} # {} to {} in {tests} tests\n",
            limit.range.0.round(),
            limit.range.1.round()
        ),
        LimitKind::Path => String::new(),
    }
}

fn long_packets(steps: &Steps) -> String {
    let Some(long) = steps.long else {
        return String::new();
    };
    let longer = steps.steps.iter().chain(&steps.eased);
    let longer = longer.map(|step| step.test.payload);
    let shortest_bad = longer
        .filter(|payload| *payload > long.longest_good)
        .min()
        .unwrap_or(u32::MAX);
    // A name may stand for either family: the payload that passed is to pass over both.
    let headers = overhead(Ipv6Addr::UNSPECIFIED.into());
    let above = (long.longest_good + headers).min(shortest_bad.saturating_add(steps.header_bytes) - 1);
    format!(
        "long-packets = {{ above = {above}, loss = \"{}\" }} # payloads of {} bytes pass, {shortest_bad} do not\n",
        percent(long.loss),
        long.longest_good
    )
}

fn growth(steps: &Steps) -> String {
    let of_flow = steps.growth.map_or(0.0, |growth| growth.of_flow);
    if of_flow <= 0.0 {
        return String::new();
    }
    format!("extra-flow-loss = \"{}\"\n", percent(of_flow))
}

/// A route of a twin.
struct Route {
    flows: usize,
    above_ns: f64,
    loss: Option<Gilbert>,
    note: String,
}

impl Route {
    fn keys(&self, propagation: Propagation) -> String {
        let mut text = format!("weight = {}\n", self.flows.max(1));
        let delay = propagation.delay_ns + self.above_ns.round().max(0.0) as u64;
        text.push_str(&format!("delay = \"{delay}ns\"\n"));
        if propagation.jitter_ns > 0 {
            text.push_str(&format!("jitter = \"{}ns\"\n", propagation.jitter_ns));
            if propagation.reorders {
                text.push_str("reorder = true\n");
            }
        }
        if let Some(loss) = &self.loss {
            text.push_str(&format!("loss = {} # {}\n", loss_value(loss), self.note));
        }
        text
    }
}

fn loss_value(loss: &Gilbert) -> String {
    if loss.loss_good == loss.loss_bad {
        return format!("\"{}\"", percent(loss.loss_good));
    }
    format!(
        "{{ to-bad = \"{}\", to-good = \"{}\", loss-good = \"{}\", loss-bad = \"{}\" }}",
        percent(loss.to_bad),
        percent(loss.to_good),
        percent(loss.loss_good),
        percent(loss.loss_bad)
    )
}

/// How the packets of a twin are lost.
struct Loss {
    /// Share that each test loses with one flow, 0 to 1.
    rate: f64,
    /// Its bursts, and in which sequence they are, where it has some.
    bursts: Option<(Gilbert, &'static str)>,
    note: String,
}

impl Loss {
    fn of(steps: &Steps, free: &[&Step]) -> Self {
        let found = process(free);
        let of_all = found.as_ref().filter(|_| steps.growth.is_none());
        let fit = |found: &LossProcess| Some((found.fit.as_ref()?.process, found.level));
        Loss {
            rate: with_one_flow(steps),
            bursts: found.as_ref().and_then(fit),
            note: of_all.map_or_else(|| "of a single flow".to_owned(), bounds),
        }
    }

    fn bursts_of(&self, level: &str) -> bool {
        self.bursts.is_some_and(|(_, of)| of == level)
    }

    /// A route that loses this share.
    fn route(&self, flows: usize, above_ns: f64, rate: f64) -> Route {
        let process = match &self.bursts {
            Some((bursts, _)) => with_loss(bursts, rate),
            None => Gilbert::independent(rate),
        };
        Route {
            flows,
            above_ns,
            loss: (rate > 0.0).then_some(process),
            note: self.note.clone(),
        }
    }
}

/// The routes, as the test with the most flows among those that meet no limit tells them apart.
fn routes(steps: &Steps, left_out: &mut Vec<String>) -> Vec<Route> {
    let longest = steps.long.map_or(u32::MAX, |long| long.longest_good);
    let short = |step: &&Step| step.test.payload <= longest;
    let free: Vec<&Step> = steps.plain().filter(short).collect();
    let Some(best) = free
        .iter()
        .max_by_key(|step| (step.routes.members.len(), step.flow_count()))
    else {
        let loss = Loss {
            rate: with_one_flow(steps),
            bursts: None,
            note: "concluded from tests that met a limit, or that hosts lost most of".to_owned(),
        };
        return vec![loss.route(1, 0.0, loss.rate)];
    };
    let loss = Loss::of(steps, &free);
    let apart = classes(best, Some(steps.variation));
    if apart.len() < 2 {
        let of_flows = loss.bursts_of("flow");
        let count = if of_flows {
            best.flow_count().min(MOST_ROUTES)
        } else {
            1
        };
        return (0..count).map(|_| loss.route(1, 0.0, loss.rate)).collect();
    }
    if loss.bursts_of("stream") {
        let way = way(steps.direction);
        left_out.push(format!(
            "that routes lose at the same times{way}: each loses by itself"
        ));
    }
    // The test's own losses tell routes apart; how much all of them lose, all tests tell.
    let all = total(&apart.iter().map(|class| class.loss).collect::<Vec<Counted>>()).rate();
    let unequal = all > 0.0 && lose_unequally(best, &apart);
    let rate = |class: &RouteClass| {
        if unequal {
            loss.rate * class.loss.rate() / all
        } else {
            loss.rate
        }
    };
    let route = |class: &RouteClass| loss.route(class.flows.len(), class.level_ns, rate(class));
    apart.iter().map(route).collect()
}

/// What a single flow loses: the exchange that compares the clocks during a test is a flow, too.
fn with_one_flow(steps: &Steps) -> f64 {
    let of_flow = steps.growth.map_or(0.0, |growth| growth.of_flow);
    (steps.everywhere - of_flow).max(0.0)
}

fn lose_unequally(step: &Step, apart: &[RouteClass]) -> bool {
    let of = |class: &RouteClass| {
        let flows = class.flows.iter();
        flows
            .flat_map(|flow| step.events[usize::from(*flow)].clone())
            .collect()
    };
    let events: Vec<Vec<Counted>> = apart.iter().map(of).collect();
    equal_rates(&events).is_some_and(|test| test.p_value < UNEQUAL)
}

fn bounds(found: &LossProcess) -> String {
    let (low, high) = found.interval;
    format!("all flows: {} to {}", format_percent(low), format_percent(high))
}
