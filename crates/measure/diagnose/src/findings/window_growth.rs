//! How the RTT grows within a window of packets sent back to back: queueing, and the rate of the slowest part.

use weir_stats::{line, median, median_interval, signed_rank};
use weir_units::{format_percent, format_rate};

use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::measured::{Measured, NetworkGrowth, RttTest, WindowGrowth};
use crate::words::{brief_time, time};

const CHANCE: f64 = 0.005;
/// Windows of fewer packets say little about growth, the more so by timestamps that catch every wake-up of a host.
const LEAST_PACKETS: u32 = 4;
const LEAST_PACKETS_IN_NETWORK: u32 = 8;
/// Fewer windows say little of what is usual.
const LEAST_WINDOWS: usize = 8;
/// By this share of the time between packets they have to be held up for a queue.
const HELD_UP: f64 = 0.1;
/// A window of which packets were held up by this share arrives at the rate of the slowest part.
const SATURATED: f64 = 0.2;
/// A rate is known if its bounds are within this share of it.
const KNOWN: f64 = 0.1;
/// A rate this little above the media's leaves no room.
const ROOM: f64 = 1.1;

const QUEUE_UP: &str = "packets sent back to back queue up";

/// The windows that tell, and what they tell.
struct Windows {
    /// Growth of the RTT of each, nanoseconds from packet to packet.
    slopes: Vec<f64>,
    /// Time between packets of each, nanoseconds.
    spacings: Vec<f64>,
    /// Payload length and time between packets where they came as the slowest part let them through.
    passed: Vec<(f64, f64)>,
}

impl Windows {
    /// By the kernels' timestamps where they are known, else by the applications' clocks.
    fn of(test: &RttTest) -> Option<Self> {
        Self::in_network(&test.windows).or_else(|| Self::between_applications(&test.windows))
    }

    /// By the kernels' timestamps, the longer half of the packets: short ones leave a host more slowly than any link
    /// takes them. None where timestamps or windows are too few.
    fn in_network(all: &[WindowGrowth]) -> Option<Self> {
        let mut told: Vec<(f64, NetworkGrowth)> = all
            .iter()
            .filter(|window| window.packets >= LEAST_PACKETS_IN_NETWORK)
            .filter_map(|window| Some((f64::from(window.length), window.network?)))
            .collect();
        told.sort_by(|a, b| a.0.total_cmp(&b.0));
        let longer = told.split_off(told.len() / 2);
        if longer.len() < LEAST_WINDOWS {
            return None;
        }
        let saturated =
            |(_, growth): &&(f64, NetworkGrowth)| growth.forward_slope_ns >= SATURATED * growth.spacing_ns;
        Some(Windows {
            slopes: longer.iter().map(|(_, growth)| growth.rtt_slope_ns).collect(),
            spacings: longer.iter().map(|(_, growth)| growth.spacing_ns).collect(),
            passed: longer
                .iter()
                .filter(saturated)
                .map(|(length, growth)| (*length, growth.spacing_ns))
                .collect(),
        })
    }

    /// By the clocks of the applications.
    fn between_applications(all: &[WindowGrowth]) -> Option<Self> {
        let told: Vec<&WindowGrowth> = all
            .iter()
            .filter(|window| window.packets >= LEAST_PACKETS)
            .collect();
        (told.len() >= LEAST_WINDOWS).then(|| Windows {
            slopes: told.iter().map(|window| window.rtt_slope_ns).collect(),
            spacings: told.iter().map(|window| window.spacing_ns).collect(),
            passed: told
                .iter()
                .map(|window| (f64::from(window.length), window.spacing_ns))
                .collect(),
        })
    }

    /// p-value of no growth; none where the RTT does not grow.
    fn growth(&self) -> Option<f64> {
        let grows = signed_rank(&self.slopes)?;
        let enough = median(self.slopes.clone()) >= HELD_UP * median(self.spacings.clone());
        (grows.p_value < CHANCE && enough).then_some(grows.p_value)
    }

    /// The rate of the slowest part, with its bounds and what each packet costs whatever its length: from how the time
    /// between packets grows with their length, or, where all are of one length, from that time.
    fn rate(&self, header_bytes: u32) -> Option<Rate> {
        if let Some(fitted) = line(&self.passed) {
            let (low, high) = fitted.slope_interval;
            return (fitted.p_value < CHANCE && low > 0.0).then(|| Rate {
                bits: 8e9 / fitted.slope,
                bounds: (8e9 / high, 8e9 / low),
                packet_ns: Some(fitted.intercept),
            });
        }
        let bits = 8e9 * (self.passed.first()?.0 + f64::from(header_bytes));
        let times: Vec<f64> = self.passed.iter().map(|(_, time)| *time).collect();
        let (low, high) = median_interval(&times).filter(|(low, _)| *low > 0.0)?;
        Some(Rate {
            bits: bits / median(times),
            bounds: (bits / high, bits / low),
            packet_ns: None,
        })
    }
}

/// The rate of the slowest part of a path.
pub(crate) struct Rate {
    /// Bits per second of IP packets.
    pub bits: f64,
    /// Its bounds, 95 %.
    pub bounds: (f64, f64),
    /// What each packet costs beside that, nanoseconds, where lengths varied.
    packet_ns: Option<f64>,
}

impl Rate {
    fn sentence(&self) -> String {
        format!(
            " The slowest link, or a host, sends at {} (95 %: {} to {}).",
            format_rate(self.bits as u64),
            format_rate(self.bounds.0 as u64),
            format_rate(self.bounds.1 as u64)
        )
    }

    fn evidence(&self) -> Vec<Evidence> {
        let bounds = vec![self.bounds.0.round(), self.bounds.1.round()];
        let mut evidence = vec![
            Evidence::in_unit("serialization rate", self.bits.round(), "bit/s"),
            Evidence::in_unit("serialization rate, 95 % bounds", bounds, "bit/s"),
        ];
        evidence.extend(
            self.packet_ns
                .map(|cost| Evidence::in_unit("cost of each packet", cost.round(), "ns")),
        );
        evidence
    }
}

/// The rate at which the slowest part there lets windows through, where it made them wait and is known to a tenth.
pub(crate) fn slowest(measured: &Measured) -> Option<Rate> {
    let rate = Windows::of(measured.rtt.as_ref()?)?.rate(measured.header_bytes)?;
    let known = rate.bounds.1 - rate.bounds.0 <= 2.0 * KNOWN * rate.bits;
    known.then_some(rate)
}

/// The finding, where the RTT grows.
pub(crate) fn find(measured: &Measured) -> Option<Finding> {
    let test = measured.rtt.as_ref()?;
    let windows = Windows::of(test)?;
    let p_value = windows.growth()?;
    Some(describe(test, &windows, p_value, measured))
}

fn describe(test: &RttTest, windows: &Windows, p_value: f64, measured: &Measured) -> Finding {
    let middle = median(windows.slopes.clone());
    let (low, high) = median_interval(&windows.slopes).unwrap_or((middle, middle));
    let spacing = median(windows.spacings.clone());
    let mut evidence = vec![
        Evidence::of("windows", windows.slopes.len()),
        Evidence::in_unit("growth from packet to packet", middle.round(), "ns"),
        Evidence::in_unit("the same, 95 % bounds", vec![low.round(), high.round()], "ns"),
        Evidence::in_unit("time between packets", spacing.round(), "ns"),
        Evidence::of("packets answered", test.sent - test.lost),
    ];
    let found = slowest(measured);
    let serial = found.as_ref().map_or(String::new(), Rate::sentence);
    evidence.extend(found.iter().flat_map(Rate::evidence));
    let tight = match (&found, measured.media_rate) {
        (Some(rate), Some(media)) => rate.bounds.1 < ROOM * media as f64,
        _ => false,
    };
    let share = middle / test.rtt.map_or(1.0, |rtt| rtt.p50.max(1) as f64);
    Finding {
        name: FindingName::WindowGrowth,
        severity: if tight {
            Severity::Notice
        } else {
            Severity::Information
        },
        direction: None,
        brief: match &found {
            Some(rate) => format!("{QUEUE_UP}: slowest link {}", format_rate(rate.bits as u64)),
            None => format!("{QUEUE_UP}: {} more RTT for each", brief_time(middle)),
        },
        sentence: format!(
            "{QUEUE_UP}: the RTT grows by {} ({} of the median RTT) per packet of a window (95 %: {} to {}).{serial}",
            time(middle),
            format_percent(share),
            time(low),
            time(high)
        ),
        evidence,
        query: format!(
            "SELECT count(*) AS \"packets answered\" FROM rtt_packets WHERE run_id = {} AND NOT lost",
            test.run
        ),
        confidence: Confidence::by_test(
            "Wilcoxon signed-rank test that the RTT does not grow within windows",
            p_value,
        ),
        action: if tight {
            "Use a lower rate, or a path with a faster link: the media need more than that.".to_owned()
        } else {
            "Send short bursts with gaps between them where delay matters.".to_owned()
        },
    }
}
