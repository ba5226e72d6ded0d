//! What a test sends and costs at most, before it starts.

use crate::args::CloudOption;
use crate::units::{format_bytes, format_duration};
use serde::Serialize;
use weir_measure::flows::{FlowsPlan, FlowsWays};
use weir_measure::path_mtu::SEARCH_BYTES;
use weir_measure::rtt::RttPlan;
use weir_measure::tcp_sweep::SweepPlan;
use weir_mesh::instances::Read;
use weir_mesh::price::Prices;
use weir_results::Direction;
use weir_units::Rate;

use super::Failure;

/// UDP payload bytes at most, and the time that it takes to send them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// How long packets are sent, nanoseconds.
    pub duration_ns: u64,
    /// From both hosts.
    pub bytes: u64,
    /// From this host.
    pub forward: u64,
    /// A limit of the user's is what bounds them.
    pub limited: bool,
}

impl Volume {
    /// Of a multi-flow test; `ceiling` bounds an unpaced one. With `search`, the path MTU is searched before.
    pub fn of_flows(plan: &FlowsPlan, ceiling: Rate, search: bool) -> Volume {
        let search_each = if search { SEARCH_BYTES / 2 } else { 0 };
        let limit = plan.max_bytes.unwrap_or(u64::MAX);
        let most = plan.most_bytes_each_way(ceiling);
        // A search that sends less than expected leaves more to the flows.
        let each = most.min(plan.ways.share(limit));
        let sent = |sends: bool| if sends { each } else { 0 };
        let forward = sent(plan.ways.forward()).saturating_add(search_each);
        let reverse = sent(plan.ways.reverse()).saturating_add(search_each);
        let bytes = forward.saturating_add(reverse);
        let limited = each < most || bytes > limit;
        let duration_ns = if limited {
            time_ns(each, plan.rate().unwrap_or(ceiling)).min(plan.duration_ns)
        } else {
            plan.duration_ns
        };
        Volume {
            duration_ns,
            bytes: bytes.min(limit),
            forward: forward.min(limit),
            limited,
        }
    }

    /// Of TCP tests, by their time and bytes.
    pub fn of_tcp(plan: &SweepPlan, (duration_ns, bytes): (u64, u64)) -> Volume {
        Volume {
            duration_ns,
            bytes,
            forward: if plan.direction == Direction::Forward {
                bytes
            } else {
                0
            },
            limited: bytes == plan.max_bytes,
        }
    }

    /// Of an RTT test, in which every packet comes back.
    pub fn of_rtt(plan: &RttPlan) -> Volume {
        let sent = plan.most_bytes();
        Volume {
            duration_ns: plan.duration_ns,
            bytes: sent.saturating_mul(2),
            forward: sent,
            limited: false,
        }
    }
}

fn time_ns(bytes: u64, rate: Rate) -> u64 {
    let ns = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.0.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// What a gigabyte that leaves this host costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Egress {
    cloud: String,
    region: Option<String>,
    title: String,
    usd_per_gb: f64,
    date: String,
    checked: bool,
}

impl Egress {
    /// The price that `--cloud` names; none without the option.
    ///
    /// # Errors
    /// Status 2, when the cloud or the region has no price.
    pub fn of(option: &CloudOption) -> Result<Option<Egress>, Failure> {
        let Some(text) = &option.cloud else {
            return Ok(None);
        };
        let prices = Prices::known()?;
        let found = prices
            .internet(text)
            .map_err(|error| Failure::usage(format!("--cloud: {error}")))?;
        Ok(Some(Egress {
            title: found.title(),
            usd_per_gb: found.price.usd,
            date: found.price.date.clone(),
            checked: found.price.read() == Read::Provider,
            cloud: found.cloud,
            region: found.region,
        }))
    }
}

/// The estimate as it is printed with the result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    duration_ns: u64,
    bytes: u64,
    egress_bytes: u64,
    cost_usd: Option<f64>,
    usd_per_gb: Option<f64>,
    cloud: Option<String>,
    region: Option<String>,
    price_date: Option<String>,
    #[serde(skip)]
    lines: Vec<String>,
}

impl Estimate {
    /// Of a test that `what` describes, as in `flows to far at 2.486 Gbit/s`.
    pub fn new(what: &str, volume: &Volume, egress: Option<&Egress>) -> Estimate {
        let bound = if volume.limited {
            " (--max-bytes ends it there)"
        } else {
            ""
        };
        let sent = format_bytes(volume.bytes);
        let time = format_duration(volume.duration_ns);
        let mut lines = vec![format!("{what}: about {time}, at most {sent} sent{bound}")];
        lines.extend(egress.map(|egress| cost_line(volume, egress)));
        Estimate {
            duration_ns: volume.duration_ns,
            bytes: volume.bytes,
            egress_bytes: volume.forward,
            cost_usd: egress.map(|egress| cost_usd(volume, egress)),
            usd_per_gb: egress.map(|egress| egress.usd_per_gb),
            cloud: egress.map(|egress| egress.cloud.clone()),
            region: egress.and_then(|egress| egress.region.clone()),
            price_date: egress.map(|egress| egress.date.clone()),
            lines,
        }
    }

    /// Prints it on standard error.
    pub fn say(&self) {
        self.lines.iter().for_each(|line| super::say(line));
    }
}

/// A result with the estimate that was made before it.
#[derive(Serialize)]
pub struct Estimated<'a, S> {
    /// The result.
    #[serde(flatten)]
    pub summary: &'a S,
    /// The estimate.
    pub estimate: &'a Estimate,
}

fn cost_usd(volume: &Volume, egress: &Egress) -> f64 {
    volume.forward as f64 / 1e9 * egress.usd_per_gb
}

fn cost_line(volume: &Volume, egress: &Egress) -> String {
    let usd = cost_usd(volume, egress);
    let amount = if usd < 0.005 {
        "less than 0.01".to_owned()
    } else {
        format!("about {usd:.2}")
    };
    let standard = if egress.region.is_some() {
        ""
    } else {
        "standard price, "
    };
    let unchecked = if egress.checked {
        ""
    } else {
        ", not read at the provider"
    };
    format!(
        "cost: {amount} USD of egress at {} ({standard}{} USD/GB, list price of {}{unchecked}); counts {} from this host, not what the far host sends",
        egress.title,
        egress.usd_per_gb,
        egress.date,
        format_bytes(volume.forward)
    )
}

/// A multi-flow test in a few words.
pub fn flows_title(host: &str, plan: &FlowsPlan, ceiling: Rate) -> String {
    let way = match plan.ways {
        FlowsWays::Forward => "to",
        FlowsWays::Reverse => "from",
        FlowsWays::Both => "to and from",
    };
    match plan.rate() {
        Some(rate) => format!("flows {way} {host} at {}", rate.rounded()),
        None => format!("flows {way} {host} at up to {}", ceiling.rounded()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CEILING: Rate = Rate(10_000_000_000);

    fn plan(ways: FlowsWays, max_bytes: Option<u64>) -> FlowsPlan {
        FlowsPlan {
            ways,
            max_bytes,
            length: 8100,
            duration_ns: 30_000_000_000,
            ..FlowsPlan::default()
        }
    }

    fn egress(cloud: &str) -> Egress {
        let option = CloudOption {
            cloud: Some(cloud.to_owned()),
        };
        Egress::of(&option).ok().flatten().expect("a price")
    }

    #[test]
    fn flows_are_whole_frames_in_each_direction() {
        // 1799 frames begin in 30 s; a frame of 5,184,000 bytes may be 48 longer.
        let frames = 1799 * 5_184_048;
        let volume = |ways, search| Volume::of_flows(&plan(ways, None), CEILING, search);
        let forward = volume(FlowsWays::Forward, false);
        assert_eq!((forward.forward, forward.bytes), (frames, frames));
        assert_eq!((forward.duration_ns, forward.limited), (30_000_000_000, false));
        let both = volume(FlowsWays::Both, true);
        assert_eq!(both.forward, frames + 1_000_000);
        assert_eq!(both.bytes, 2 * frames + 2_000_000);
        let reverse = volume(FlowsWays::Reverse, false);
        assert_eq!((reverse.forward, reverse.bytes), (0, frames));
    }

    #[test]
    fn a_limit_bounds_bytes_and_time() {
        let limited = Volume::of_flows(&plan(FlowsWays::Both, Some(1_002_000_000)), CEILING, true);
        // Each direction gets half, and this host sends half of the search.
        assert_eq!((limited.forward, limited.bytes), (502_000_000, 1_002_000_000));
        // 501 MB at 5,184,000 x 60000 / 1001 bytes per second.
        let seconds = 501_000_000.0 / (5_184_000.0 * 60_000.0 / 1001.0);
        assert!(
            (limited.duration_ns as f64 / 1e9 - seconds).abs() < 1e-6,
            "{limited:?}"
        );
        assert!(limited.limited);
        let high = Volume::of_flows(&plan(FlowsWays::Forward, Some(u64::MAX)), CEILING, true);
        assert!(!high.limited);
        // Whatever the search leaves, this host alone can reach the limit.
        let alone = Volume::of_flows(&plan(FlowsWays::Forward, Some(4_000_000)), CEILING, true);
        assert_eq!((alone.forward, alone.bytes), (4_000_000, 4_000_000));
        let unpaced = FlowsPlan {
            unpaced: true,
            ..plan(FlowsWays::Forward, Some(5_000_000_000))
        };
        // 5 GB at 10 Gbit/s.
        let unpaced = Volume::of_flows(&unpaced, CEILING, false);
        assert_eq!(
            (unpaced.forward, unpaced.duration_ns),
            (5_000_000_000, 4_000_000_000)
        );
    }

    #[test]
    fn an_rtt_test_sends_as_much_back() {
        let volume = Volume::of_rtt(&RttPlan::default());
        assert_eq!((volume.forward, volume.bytes), (10_000, 20_000));
    }

    #[test]
    fn cost_is_what_leaves_this_host_times_the_price() {
        let volume = Volume {
            duration_ns: 30_000_000_000,
            bytes: 9_300_000_000,
            forward: 9_300_000_000,
            limited: false,
        };
        let estimate = Estimate::new(
            "flows to far at 2.486 Gbit/s",
            &volume,
            Some(&egress("aws:us-east-1")),
        );
        // 9.3 GB at 0.09 USD.
        assert!(
            estimate.cost_usd.is_some_and(|usd| (usd - 0.837).abs() < 1e-9),
            "{estimate:?}"
        );
        assert_eq!(
            estimate.lines,
            [
                "flows to far at 2.486 Gbit/s: about 30.0 s, at most 9.30 GB sent",
                "cost: about 0.84 USD of egress at AWS us-east-1 (0.09 USD/GB, list price of 2026-06, not read at the provider); counts 9.30 GB from this host, not what the far host sends",
            ]
        );
        let both = Volume {
            bytes: 18_600_000_000,
            limited: true,
            ..volume
        };
        let estimate = Estimate::new("flows", &both, Some(&egress("oracle")));
        // 9.3 GB at 0.05 USD.
        assert!(
            estimate.cost_usd.is_some_and(|usd| (usd - 0.465).abs() < 1e-9),
            "{estimate:?}"
        );
        assert_eq!(
            estimate.lines,
            [
                "flows: about 30.0 s, at most 18.6 GB sent (--max-bytes ends it there)",
                "cost: about 0.47 USD of egress at Oracle Cloud (standard price, 0.05 USD/GB, list price of 2025-01, not read at the provider); counts 9.30 GB from this host, not what the far host sends",
            ]
        );
        let reverse = Volume { forward: 0, ..both };
        let estimate = Estimate::new("flows", &reverse, Some(&egress("aws")));
        assert_eq!(estimate.cost_usd, Some(0.0));
        assert!(estimate.lines[1].starts_with("cost: less than 0.01 USD of egress at AWS (standard price, "));
    }

    #[test]
    fn without_a_cloud_there_is_no_cost() {
        assert!(matches!(Egress::of(&CloudOption::default()), Ok(None)));
        let volume = Volume::of_rtt(&RttPlan::default());
        let estimate = Estimate::new("rtt", &volume, None);
        assert_eq!((estimate.cost_usd, estimate.lines.len()), (None, 1));
        let failure = Egress::of(&CloudOption {
            cloud: Some("cellar".to_owned()),
        })
        .expect_err("no price");
        assert_eq!(failure.status, super::super::Status::Usage);
        assert!(
            failure
                .message
                .contains("the clouds with one are aws, gcp, azure, oracle")
        );
    }
}
