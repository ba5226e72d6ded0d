//! What watching takes: bytes a day and USD a month, and at which intervals tests fit into the budget. Pure; it does not
//! start anything.
//!
//! Bytes are those of IPv4 packets, both ends together, since those are what providers charge. Every figure is an upper
//! bound, so that a schedule that keeps the plan keeps the budget.

use std::net::{IpAddr, Ipv4Addr};

use serde::Serialize;
use weir_measure::flows::{FlowsPlan, FlowsWays};
use weir_measure::path_mtu::SEARCH_BYTES;
use weir_measure::survey::{Survey, SurveyPlan};
use weir_measure::{Limits, VideoFormat};
use weir_mesh::price::Prices;
use weir_mesh::rounds::rounds;
use weir_units::{ByteCount, FrameRate, TimeSpan, count_of};

use crate::config::{Config, ConfigError, DAY_NS, FlowsKind, LONGEST_EVERY_NS, Pair};

/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;
/// Packets of the control connection of a running test: records of the far host's counters, heartbeats and their
/// acknowledgements, bytes a second, both ends.
const CONTROL_A_SECOND: u64 = 1_500;
/// Further records of a flow test for each of its flows, bytes a second.
const CONTROL_A_FLOW: u64 = 600;
/// Handshake, host facts and reports of one session, bytes.
const SESSION_BYTES: u64 = 40_000;
/// Headers, acknowledgements and control connection of a survey, as a share of its payload.
const SURVEY_OVERHEAD: f64 = 0.06;
/// A survey may take so much longer than estimated.
const SURVEY_SLACK: f64 = 1.5;
/// Path MTU for the estimate of a survey, bytes.
const MTU: u32 = 1500;
/// How long one session measures RTT until the next one begins, nanoseconds.
pub const RTT_SESSION_NS: u64 = 3_600_000_000_000;
/// Days in a month of the budget.
pub const MONTH_DAYS: u64 = 30;

/// What watching all pairs of a file takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Pairs of the file.
    pub pairs: Vec<PlannedPair>,
    /// Interval between windows of RTT packets, nanoseconds.
    pub rtt_interval_ns: u64,
    /// Interval between flow tests of a pair, nanoseconds; none without `[flows]`.
    pub flows_every_ns: Option<u64>,
    /// Surveys; none without `[survey]`.
    pub survey: Option<PlannedSurveys>,
    /// Bytes that all pairs send in a day, both ends, at most.
    pub bytes_a_day: u64,
    /// Cost of their egress in 30 days, US dollars, as far as prices are known.
    pub usd_a_month: f64,
    /// Pairs whose near or far host has no price.
    pub unpriced_pairs: usize,
    /// Of the bytes, those of RTT and flows.
    #[serde(skip)]
    pub continuous_bytes_a_day: u64,
    /// Of the cost, that of RTT and flows.
    #[serde(skip)]
    pub continuous_usd_a_month: f64,
}

/// Surveys of all pairs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedSurveys {
    /// Interval that the file asks for, nanoseconds.
    pub asked_every_ns: u64,
    /// Interval within the budget, nanoseconds; not below the one asked for.
    pub every_ns: u64,
    /// Rounds of disjoint pairs: no host is in two surveys of a round.
    pub rounds: usize,
    /// Time from the start of a round to the start of the next, nanoseconds.
    pub slot_ns: u64,
    /// Maximum duration of one survey, nanoseconds: it is stopped then.
    pub longest_ns: u64,
    /// Bytes that one survey sends at most, both ends.
    pub bytes: u64,
}

/// What one pair takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedPair {
    /// Near host.
    pub from: String,
    /// Far host.
    pub to: String,
    /// This watcher measures it.
    pub own: bool,
    /// The far host is a STAMP reflector: RTT only.
    pub stamp: bool,
    /// Round of its surveys, from 0; none if it has none.
    pub survey_round: Option<usize>,
    /// Bytes of windowed RTT in a day, both ends.
    pub rtt_bytes_a_day: u64,
    /// Bytes of one flow test, both ends.
    pub flows_bytes: u64,
    /// Bytes in a day, both ends.
    pub bytes_a_day: u64,
    /// Cost of egress in 30 days, US dollars; none where a host has no price.
    pub usd_a_month: Option<f64>,
    /// Price of a gigabyte (10^9 bytes): the mean of both hosts' prices, US dollars.
    #[serde(skip)]
    pub usd_per_gb: Option<f64>,
}

impl PlannedPair {
    /// Cost of an amount of bytes, both ends, US dollars; 0 without a price.
    pub(crate) fn usd_of(&self, bytes: f64) -> f64 {
        bytes / 1e9 * self.usd_per_gb.unwrap_or(0.0)
    }
}

/// A test of low-rate flows.
#[must_use]
pub fn flows_plan(kind: &FlowsKind) -> FlowsPlan {
    FlowsPlan {
        format: VideoFormat::of_rate(kind.rate, FrameRate::NTSC_60),
        length: kind.length,
        flows: kind.flows,
        duration_ns: kind.duration_ns,
        ways: FlowsWays::Both,
        ..FlowsPlan::default()
    }
}

/// Limits of a survey: those of the agent, and TCP no faster than the media, so that a survey that recurs loads the path no
/// more than the media would.
#[must_use]
pub fn survey_limits(plan: &SurveyPlan, agent: Limits) -> Limits {
    Limits {
        max_rate: agent.max_rate.min(plan.format.rate()),
        max_flows: agent.max_flows.min(plan.max_flows),
        ..agent
    }
}

impl Plan {
    /// The plan of a file.
    ///
    /// # Errors
    /// When a cloud has no price, or the budget fits not even RTT and flows.
    pub fn of(config: &Config) -> Result<Plan, ConfigError> {
        let prices = prices(config)?;
        let mut plan = Plan {
            pairs: Vec::new(),
            rtt_interval_ns: config.rtt.interval_ns,
            flows_every_ns: config.flows.map(|kind| kind.every_ns),
            survey: None,
            bytes_a_day: 0,
            usd_a_month: 0.0,
            unpriced_pairs: 0,
            continuous_bytes_a_day: 0,
            continuous_usd_a_month: 0.0,
        };
        for pair in &config.pairs {
            let planned = planned(config, *pair, &prices);
            plan.bytes_a_day = plan.bytes_a_day.saturating_add(planned.bytes_a_day);
            plan.usd_a_month += planned.usd_a_month.unwrap_or(0.0);
            plan.unpriced_pairs += usize::from(planned.usd_a_month.is_none());
            plan.pairs.push(planned);
        }
        plan.continuous_bytes_a_day = plan.bytes_a_day;
        plan.continuous_usd_a_month = plan.usd_a_month;
        plan.check_continuous(config)?;
        plan.add_surveys(config)?;
        Ok(plan)
    }

    fn check_continuous(&self, config: &Config) -> Result<(), ConfigError> {
        let budget = &config.budget;
        let less = "fewer pairs, a longer rtt: interval or a longer flows: every needs less";
        if let Some(limit) = budget.bytes_a_day.filter(|limit| limit.0 < self.bytes_a_day) {
            return Err(ConfigError(format!(
                "budget: bytes-a-day {limit} is too little: RTT and flows of {} send up to {} a day; {less}",
                count_of(self.pairs.len() as u64, "pair"),
                ByteCount(self.bytes_a_day)
            )));
        }
        match budget.usd_a_month {
            Some(limit) if limit < self.usd_a_month => Err(ConfigError(format!(
                "budget: usd-a-month {limit} is too little: RTT and flows of {} cost up to {:.2} USD; {less}",
                count_of(self.pairs.len() as u64, "pair"),
                self.usd_a_month
            ))),
            _ => Ok(()),
        }
    }

    /// Puts surveys into rounds, at the shortest interval that the file, the rounds and the budget allow.
    fn add_surveys(&mut self, config: &Config) -> Result<(), ConfigError> {
        let Some(kind) = &config.survey else {
            return Ok(());
        };
        let limits = survey_limits(&kind.plan, Limits::default());
        let survey = Survey::new(kind.plan.clone(), limits, IpAddr::V4(Ipv4Addr::LOCALHOST));
        let (time_ns, payload) = survey.estimate(MTU);
        let bytes = scaled(payload, 1.0 + SURVEY_OVERHEAD) + SESSION_BYTES;
        let longest_ns = scaled(time_ns, SURVEY_SLACK);

        let with: Vec<usize> = (0..self.pairs.len())
            .filter(|index| !self.pairs[*index].stamp)
            .collect();
        let hosts: Vec<_> = with
            .iter()
            .map(|index| (config.pairs[*index].from, config.pairs[*index].to))
            .collect();
        let rounds = rounds(&hosts);
        for (round, members) in rounds.iter().enumerate() {
            for member in members {
                self.pairs[with[*member]].survey_round = Some(round);
            }
        }
        if rounds.is_empty() {
            return Ok(());
        }
        // Twice the longest duration: starts are spread over the other half.
        let by_rounds = longest_ns.saturating_mul(2).saturating_mul(rounds.len() as u64);
        let by_budget = self.surveys_within(config, &with, bytes)?;
        let every_ns = kind.every_ns.max(by_rounds).max(by_budget);
        if every_ns > LONGEST_EVERY_NS {
            return Err(ConfigError(format!(
                "survey: within the budget and one at a time on a host, a pair is surveyed once in {} only; raise budget or \
                 lower survey: max-bytes",
                TimeSpan(every_ns / DAY_NS * DAY_NS)
            )));
        }
        for index in with {
            let pair = &mut self.pairs[index];
            let more = per_day(bytes, every_ns);
            pair.bytes_a_day = pair.bytes_a_day.saturating_add(more);
            self.bytes_a_day = self.bytes_a_day.saturating_add(more);
            if let (Some(usd), Some(price)) = (&mut pair.usd_a_month, pair.usd_per_gb) {
                let more = usd_a_month(more, price);
                *usd += more;
                self.usd_a_month += more;
            }
        }
        self.survey = Some(PlannedSurveys {
            asked_every_ns: kind.every_ns,
            every_ns,
            rounds: rounds.len(),
            slot_ns: every_ns / rounds.len() as u64,
            longest_ns,
            bytes,
        });
        Ok(())
    }

    /// The shortest interval at which surveys of the pairs `with` fit into what RTT and flows leave of the budget.
    fn surveys_within(&self, config: &Config, with: &[usize], bytes: u64) -> Result<u64, ConfigError> {
        let all = bytes.saturating_mul(with.len() as u64);
        let mut every_ns = 0;
        if let Some(limit) = config.budget.bytes_a_day {
            let left = limit.0.saturating_sub(self.bytes_a_day);
            if left < bytes {
                return Err(ConfigError(format!(
                    "budget: bytes-a-day {limit} leaves {} for surveys, and one sends up to {}; lower survey: max-bytes",
                    ByteCount(left),
                    ByteCount(bytes)
                )));
            }
            every_ns = scaled(DAY_NS, all as f64 / left as f64);
        }
        if let Some(limit) = config.budget.usd_a_month {
            let left = limit - self.usd_a_month;
            let prices = with.iter().filter_map(|index| self.pairs[*index].usd_per_gb);
            let usd: f64 = prices.map(|price| bytes as f64 / 1e9 * price).sum();
            let month = DAY_NS * MONTH_DAYS;
            every_ns = every_ns.max(scaled(month, usd / left.max(1e-9)));
        }
        Ok(every_ns)
    }
}

/// Prices of a gigabyte at each host, by position; none without a cloud.
fn prices(config: &Config) -> Result<Vec<Option<f64>>, ConfigError> {
    let known = Prices::known().map_err(|error| ConfigError(error.to_string()))?;
    let price = |host: &crate::config::Host| {
        let cloud = host.cloud.as_deref();
        let found = cloud.map(|cloud| known.internet(cloud)).transpose();
        let found = found.map_err(|error| ConfigError(format!("host {}: cloud: {error}", host.name)))?;
        Ok(found.map(|found| found.price.usd))
    };
    let hosts: Result<Vec<_>, ConfigError> = config.hosts.iter().map(price).collect();
    let hosts = hosts?;
    let unpriced = config
        .pairs
        .iter()
        .flat_map(|pair| [pair.from, pair.to])
        .find(|host| hosts[*host].is_none());
    match unpriced {
        Some(host) if config.budget.usd_a_month.is_some() => Err(ConfigError(format!(
            "budget: usd-a-month needs the cloud of every host, and '{}' has none; add cloud = \"aws:us-east-1\" or the like",
            config.hosts[host].name
        ))),
        _ => Ok(hosts),
    }
}

fn planned(config: &Config, pair: Pair, prices: &[Option<f64>]) -> PlannedPair {
    let stamp = config.is_reflector(pair);
    let rtt = &config.rtt;
    let a_window = u64::from(rtt.window) * (u64::from(rtt.length) + HEADERS);
    let control = if stamp {
        0
    } else {
        CONTROL_A_SECOND * (DAY_NS / 1_000_000_000) + per_day(SESSION_BYTES, RTT_SESSION_NS)
    };
    let rtt_bytes_a_day = (2 * per_day(a_window, rtt.interval_ns)).saturating_add(control);
    let flows = config.flows.as_ref().filter(|_| !stamp);
    let flows_bytes = flows.map_or(0, flows_bytes);
    let of_flows = flows.map_or(0, |kind| {
        // One is ahead of its time at most.
        let searches = most_per_day(SEARCH_BYTES, kind.mtu_every_ns.max(kind.every_ns)) + SEARCH_BYTES;
        most_per_day(flows_bytes, kind.every_ns).saturating_add(searches)
    });
    let bytes_a_day = rtt_bytes_a_day.saturating_add(of_flows);
    // Both ends send about as much.
    let usd_per_gb = prices[pair.from]
        .zip(prices[pair.to])
        .map(|(near, far)| 0.5 * (near + far));
    PlannedPair {
        from: config.hosts[pair.from].name.clone(),
        to: config.hosts[pair.to].name.clone(),
        own: pair.from == config.here,
        stamp,
        survey_round: None,
        rtt_bytes_a_day,
        flows_bytes,
        bytes_a_day,
        usd_a_month: usd_per_gb.map(|price| usd_a_month(bytes_a_day, price)),
        usd_per_gb,
    }
}

/// Bytes of one test, both ends.
fn flows_bytes(kind: &FlowsKind) -> u64 {
    let plan = flows_plan(kind);
    let payload = 2 * plan.most_bytes_each_way(kind.rate);
    let packets = payload.div_ceil(u64::from(kind.length));
    let seconds = kind.duration_ns.div_ceil(1_000_000_000) + 2;
    let control = seconds * (CONTROL_A_SECOND + CONTROL_A_FLOW * u64::from(kind.flows));
    payload + packets * HEADERS + control + SESSION_BYTES
}

/// What recurs at an interval, in a day.
fn per_day(bytes: u64, every_ns: u64) -> u64 {
    let a_day = u128::from(bytes) * u128::from(DAY_NS) / u128::from(every_ns.max(1));
    u64::try_from(a_day).unwrap_or(u64::MAX)
}

/// What happens once in each period, at any moment of it, in a day at most.
fn most_per_day(bytes: u64, every_ns: u64) -> u64 {
    let whole = DAY_NS / every_ns.max(1);
    let periods = if DAY_NS.is_multiple_of(every_ns.max(1)) {
        whole
    } else {
        // The day's first and last period begin before it and end after it.
        whole + 2
    };
    bytes.saturating_mul(periods)
}

fn usd_a_month(bytes_a_day: u64, usd_per_gb: f64) -> f64 {
    bytes_a_day as f64 * MONTH_DAYS as f64 / 1e9 * usd_per_gb
}

/// Rounded up; too much is the maximum.
fn scaled(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).ceil() as u64
}
