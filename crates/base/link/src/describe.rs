//! A link in words, for `weir lab link show` and `weir lab profiles`. Every value is exact, in the form that a
//! profile accepts. It must not know the origin of the link.

mod queue;

use weir_units::{ByteCount, Rate, TimeSpan, format_count, format_rate};

use crate::spec::{DirectionSpec, LinkSpec, LossSpec, RateSpec, RouteChoice, RouteSpec, TooBig};
use queue::queue;

/// The link in lines: equal directions once, else each direction separately.
pub fn describe(spec: &LinkSpec) -> Vec<String> {
    let mut lines = vec![
        format!("{}: round trip {}", spec.name, round_trip(spec)),
        format!("interfaces: MTU {}; seed {}", spec.interface_mtu, spec.seed),
    ];
    if spec.forward == spec.reverse {
        lines.push("each direction:".to_owned());
        lines.extend(direction(&spec.forward));
    } else {
        lines.push("forward:".to_owned());
        lines.extend(direction(&spec.forward));
        lines.push("reverse:".to_owned());
        lines.extend(direction(&spec.reverse));
    }
    lines
}

/// The shortest and the longest round trip by propagation alone.
fn round_trip(spec: &LinkSpec) -> String {
    let delays = |direction: &DirectionSpec| {
        let delays = direction.routes.iter().map(|route| route.delay_ns);
        (delays.clone().min().unwrap_or(0), delays.max().unwrap_or(0))
    };
    let (there, back) = (delays(&spec.forward), delays(&spec.reverse));
    let shortest = TimeSpan(there.0.saturating_add(back.0));
    let longest = TimeSpan(there.1.saturating_add(back.1));
    if shortest == longest {
        shortest.to_string()
    } else {
        format!("{shortest} to {longest}")
    }
}

fn direction(direction: &DirectionSpec) -> Vec<String> {
    let mut lines = vec![format!("  {}", passage(direction))];
    lines.extend(
        before_routes(direction)
            .into_iter()
            .map(|line| format!("  {line}")),
    );
    let count = direction.routes.len();
    let first = &direction.routes[..count.min(1)];
    if count > 1 && direction.routes.iter().all(|route| Some(route) == first.first()) {
        lines.extend(first.iter().map(|one| format!("  each route: {}", route(one))));
    } else {
        let routes = direction.routes.iter().enumerate();
        lines.extend(routes.map(|(index, one)| format!("  route {index}: {}", route(one))));
    }
    lines
}

/// Routes, how they are chosen, and the MTU.
fn passage(direction: &DirectionSpec) -> String {
    let routes = match (
        direction.routes.len(),
        direction.choice,
        direction.hide_five_tuple,
    ) {
        (1, _, _) => "1 route".to_owned(),
        (count, RouteChoice::PerPacket, _) => format!("{count} routes, one at random per packet"),
        (count, RouteChoice::FiveTuple, false) => format!("{count} routes, chosen by the 5-tuple"),
        (count, RouteChoice::SourcePort, false) => format!("{count} routes, chosen by the source port"),
        (count, RouteChoice::FiveTuple | RouteChoice::SourcePort, true) => {
            format!("{count} routes, the same for all flows of a pair of hosts")
        }
    };
    let mtu = direction.mtu;
    let longer = match mtu.too_big {
        TooBig::Drop => "longer packets are dropped silently",
        TooBig::Icmp => "longer packets are answered with ICMP",
    };
    format!("{routes}; MTU {}, {longer}", mtu.bytes)
}

fn before_routes(direction: &DirectionSpec) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(long) = direction.long_packet_loss {
        let loss = percent(long.loss);
        lines.push(format!("loss {loss} of packets above {} bytes", long.above));
    }
    if direction.extra_flow_loss > 0.0 {
        let loss = percent(direction.extra_flow_loss);
        lines.push(format!(
            "each flow beyond the first adds {loss} loss to all flows"
        ));
    }
    if let Some(cap) = direction.flow_rate {
        let whose = if direction.hide_five_tuple {
            "all flows of a pair of hosts together"
        } else {
            "each flow"
        };
        let (rate, burst) = (Rate(cap.rate), ByteCount(cap.burst));
        lines.push(format!("{whose}: at most {rate}, burst {burst}"));
    }
    if let Some(cap) = direction.packet_rate {
        let (rate, burst) = (format_count(cap.rate), format_count(cap.burst));
        lines.push(format!("at most {rate} packets per second, burst {burst}"));
    }
    lines
}

fn route(route: &RouteSpec) -> String {
    let mut parts = vec![rate(&route.rate), format!("delay {}", TimeSpan(route.delay_ns))];
    if let Some(jitter) = route.jitter {
        let order = if jitter.reorder {
            ", with reordering"
        } else {
            ", in order"
        };
        parts.push(format!("jitter up to {}{order}", TimeSpan(jitter.most_ns)));
    }
    // No queue forms at an unlimited rate.
    if route.rate != RateSpec::Unlimited {
        parts.push(queue(&route.queue));
    }
    if route.loss.is_empty() {
        parts.push("no loss".to_owned());
    }
    parts.extend(route.loss.iter().map(loss));
    let shares = [("duplicates", route.duplicate), ("corruption", route.corrupt)];
    let shares = shares.iter().filter(|(_, share)| *share > 0.0);
    parts.extend(shares.map(|(name, share)| format!("{name} {}", percent(*share))));
    if route.overhead > 0 {
        parts.push(format!("overhead {} bytes per packet", route.overhead));
    }
    let dark = |span: &crate::spec::DarkSpan| {
        format!("dark from {} to {}", TimeSpan(span.from_ns), TimeSpan(span.to_ns))
    };
    parts.extend(some(&route.dark, dark));
    if route.weight != 1 {
        parts.push(format!("weight {}", route.weight));
    }
    parts.join(", ")
}

/// The first few of a list, and how many more there are.
fn some<T>(items: &[T], describe: impl Fn(&T) -> String) -> Vec<String> {
    const MOST: usize = 5;
    let mut texts: Vec<String> = items.iter().take(MOST).map(describe).collect();
    if items.len() > MOST {
        texts.push(format!("and {} more", format_count((items.len() - MOST) as u64)));
    }
    texts
}

fn rate(rate: &RateSpec) -> String {
    let mean = format_rate(rate.mean().unwrap_or(0));
    match rate {
        RateSpec::Unlimited => "unlimited rate".to_owned(),
        RateSpec::Fixed(rate) => Rate(*rate).to_string(),
        RateSpec::Steps(steps) => {
            let period: u64 = steps.iter().map(|step| step.duration_ns).sum();
            let least = steps.iter().map(|step| step.rate).min().unwrap_or(0);
            let most = steps.iter().map(|step| step.rate).max().unwrap_or(0);
            format!(
                "{} to {}, mean {mean}, {} steps in {}",
                format_rate(least),
                format_rate(most),
                format_count(steps.len() as u64),
                TimeSpan(period)
            )
        }
        RateSpec::Opportunities {
            at_ns,
            period_ns,
            bytes,
        } => format!(
            "mean {mean}, {} opportunities of {bytes} bytes in {}",
            format_count(at_ns.len() as u64),
            TimeSpan(*period_ns)
        ),
    }
}

fn loss(loss: &LossSpec) -> String {
    match loss {
        LossSpec::Bernoulli(share) => format!("loss {} at random", percent(*share)),
        LossSpec::GilbertElliott {
            to_good,
            loss_good: 0.0,
            loss_bad: 1.0,
            ..
        } if *to_good > 0.0 => {
            let burst = significant(1.0 / to_good);
            format!("loss {} in bursts of {burst} packets", percent(loss.mean()))
        }
        LossSpec::GilbertElliott {
            to_bad,
            to_good,
            loss_good,
            loss_bad,
        } => format!(
            "mean loss {} ({} in the good state, {} in the bad state; good to bad {}, bad to good {})",
            percent(loss.mean()),
            percent(*loss_good),
            percent(*loss_bad),
            percent(*to_bad),
            percent(*to_good)
        ),
        LossSpec::Packets(numbers) => {
            format!("packets {} lost", some(numbers, u64::to_string).join(", "))
        }
    }
}

/// A share from 0 to 1 in per cent.
fn percent(share: f64) -> String {
    format!("{}%", significant(100.0 * share))
}

/// A number with at most ten significant digits, which hides binary rounding, and no zeros
/// at the end.
fn significant(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let before_point = number.abs().log10().floor();
    let places = (9.0 - before_point).clamp(0.0, 300.0) as usize;
    let text = format!("{number:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

impl LossSpec {
    /// The long-run loss rate, 0 to 1; 0 for a list of packets.
    pub fn mean(&self) -> f64 {
        match self {
            LossSpec::Bernoulli(share) => *share,
            LossSpec::GilbertElliott {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            } => {
                let moves = to_bad + to_good;
                // Without transitions the link stays in its initial state, the good one.
                let bad = if moves > 0.0 { to_bad / moves } else { 0.0 };
                bad * loss_bad + (1.0 - bad) * loss_good
            }
            LossSpec::Packets(_) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
