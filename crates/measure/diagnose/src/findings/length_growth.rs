//! How the RTT grows with the length of packets: links that store and forward, and fragmentation.

use weir_stats::{Line, line, mann_whitney};
use weir_units::format_rate;

use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::{FirstPacket, Measured, RttTest};
use crate::words::{brief_time, time};

const CHANCE: f64 = 0.005;
/// Groups of like length; the smallest RTT of each counts, since whatever else delays a packet only adds.
const GROUPS: usize = 16;
/// Packets of which a group needs the smallest.
const LEAST_IN_GROUP: usize = 4;
/// A step at the MTU this large is one.
const LEAST_STEP_NS: f64 = 3_000.0;

/// The finding, where the RTT grows with the length or jumps where packets begin to be fragmented.
pub(crate) fn find(measured: &Measured) -> Option<Finding> {
    let test = measured.rtt.as_ref()?;
    let whole = whole(measured);
    let times = Times::of(test);
    let fitted = growth(&times.up_to(whole));
    let step = whole.and_then(|whole| times.step_at(whole, fitted.map_or(0.0, |line| line.slope)));
    let grows = fitted.filter(is_growth);
    if grows.is_none() && step.is_none() {
        return None;
    }
    Some(describe(test, grows, step, whole.unwrap_or(0)))
}

/// How the RTT grows with the length of packets that need no fragments, nanoseconds per byte; none where it does not.
pub(crate) fn slope(measured: &Measured) -> Option<Line> {
    let times = Times::of(measured.rtt.as_ref()?);
    growth(&times.up_to(whole(measured))).filter(is_growth)
}

fn is_growth(line: &Line) -> bool {
    line.p_value < CHANCE && line.slope_interval.0 > 0.0
}

/// Longest payload that needs no fragments.
fn whole(measured: &Measured) -> Option<u32> {
    let mtu = measured
        .interface_mtu
        .or(measured.mtu.as_ref().and_then(|(_, mtu)| mtu.smallest()));
    mtu.map(|mtu| mtu.saturating_sub(measured.header_bytes))
}

/// Length and RTT of first packets.
struct Times(Vec<(u32, f64)>);

impl Times {
    /// By the kernels' timestamps where nearly all packets have them: copying long packets takes applications longer,
    /// too, which does not belong to the path.
    fn of(test: &RttTest) -> Self {
        let packets = &test.first_packets;
        let network = |packet: &FirstPacket| Some((packet.length, packet.network_rtt_ns? as f64));
        let by_kernel: Vec<(u32, f64)> = packets.iter().filter_map(network).collect();
        if by_kernel.len() * 10 >= packets.len() * 9 {
            return Times(by_kernel);
        }
        let all = packets.iter().map(|packet| (packet.length, packet.rtt_ns as f64));
        Times(all.collect())
    }

    fn up_to(&self, whole: Option<u32>) -> Vec<(u32, f64)> {
        let fits = |(length, _): &&(u32, f64)| whole.is_none_or(|whole| *length <= whole);
        self.0.iter().filter(fits).copied().collect()
    }

    /// By how much longer packets that need a second fragment take, and how likely chance makes them.
    fn step_at(&self, whole: u32, slope: f64) -> Option<(f64, f64)> {
        let near = |low: u32, high: u32| -> Vec<f64> {
            let within = |(length, _): &&(u32, f64)| *length > low && *length <= high;
            let level = |(length, time): &(u32, f64)| time - slope * f64::from(*length);
            self.0.iter().filter(within).map(level).collect()
        };
        let below = near(whole / 2, whole);
        let above = near(whole, whole.saturating_add(whole / 2));
        let test = mann_whitney(&below, &above)?;
        (test.p_value < CHANCE && test.shift > LEAST_STEP_NS).then_some((test.shift, test.p_value))
    }
}

fn brief(grows: Option<Line>, step: Option<(f64, f64)>, whole: u32) -> String {
    match (step, grows) {
        (Some((shift, _)), _) => {
            format!(
                "payloads above {whole} bytes are fragmented and take {} longer",
                brief_time(shift)
            )
        }
        (None, Some(fitted)) => {
            format!(
                "RTT grows by {} per 1,000 bytes",
                brief_time(1_000.0 * fitted.slope)
            )
        }
        (None, None) => "RTT grows with the length of packets".to_owned(),
    }
}

/// A line through the smallest RTTs of groups of like length.
fn growth(packets: &[(u32, f64)]) -> Option<Line> {
    let mut sorted = packets.to_vec();
    sorted.sort_by_key(|(length, _)| *length);
    let size = sorted.len().div_ceil(GROUPS).max(LEAST_IN_GROUP);
    let points: Vec<(f64, f64)> = sorted
        .chunks(size)
        .filter_map(|group| group.iter().min_by(|a, b| a.1.total_cmp(&b.1)))
        .map(|(length, time)| (f64::from(*length), *time))
        .collect();
    line(&points)
}

fn describe(test: &RttTest, grows: Option<Line>, step: Option<(f64, f64)>, whole: u32) -> Finding {
    let mut said = Vec::new();
    let mut evidence = vec![Evidence::of("first packets of windows", test.first_packets.len())];
    let mut p_value: f64 = 0.0;
    if let Some(fitted) = grows {
        let (low, high) = fitted.slope_interval;
        // The packet and its answer have the same length.
        let rate = |slope: f64| format_rate((16e9 / slope) as u64);
        said.push(format!(
            "by {} per 1,000 bytes, both directions together, as with one store-and-forward link of {} in each (95 %: {} to \
             {})",
            time(1_000.0 * fitted.slope),
            rate(fitted.slope),
            rate(high),
            rate(low)
        ));
        evidence.push(Evidence::in_unit("growth", fitted.slope, "ns/byte"));
        evidence.push(Evidence::in_unit(
            "growth, 95 % bounds",
            vec![low, high],
            "ns/byte",
        ));
        p_value = p_value.max(fitted.p_value);
    }
    if let Some((shift, chance)) = step {
        said.push(format!(
            "payloads above {whole} bytes take {} longer: they are sent as fragments, and one lost fragment loses all",
            time(shift)
        ));
        evidence.push(Evidence::in_unit("step at the MTU", shift.round(), "ns"));
        p_value = p_value.max(chance);
    }
    let lengths = || test.first_packets.iter().map(|packet| packet.length);
    evidence.push(Evidence::in_unit(
        "shortest payload",
        lengths().min().unwrap_or(0),
        "bytes",
    ));
    evidence.push(Evidence::in_unit(
        "longest payload",
        lengths().max().unwrap_or(0),
        "bytes",
    ));
    Finding {
        name: FindingName::LengthGrowth,
        severity: if step.is_some() {
            Severity::Notice
        } else {
            Severity::Information
        },
        direction: None,
        brief: brief(grows, step, whole),
        sentence: format!("the RTT grows with the length of packets: {}.", said.join("; ")),
        evidence,
        query: format!(
            "SELECT min(length) AS \"shortest payload\", max(length) AS \"longest payload\" FROM rtt_packets\nWHERE run_id = {} \
             AND position = 0 AND NOT lost",
            test.run
        ),
        confidence: Confidence::by_test(
            "slope of the smallest RTTs by length (Student's t), Mann-Whitney test of a step at the MTU",
            p_value,
        ),
        action: if step.is_some() {
            format!("Use payloads of at most {whole} bytes.")
        } else {
            "Nothing to do: long packets cost this little and save packets per second.".to_owned()
        },
    }
}
