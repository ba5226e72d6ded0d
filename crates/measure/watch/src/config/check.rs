//! Which values of a file are sensible. It must not know the file's form.

use std::collections::BTreeSet;

use weir_measure::flows::SHORTEST;
use weir_measure::rtt::stamp;
use weir_units::TimeSpan;

use super::value::wrong;
use super::{Config, ConfigError, FlowsKind, Host, MOST_HOSTS, MOST_PAIRS, SurveyKind};
use crate::plan::flows_plan;

/// Maximum length of a name.
const MOST_NAME: usize = 60;
/// Longest interval between windows: a second of the store has a window then.
const LONGEST_INTERVAL_NS: u64 = 60_000_000_000;
/// Longest timeout of an RTT packet: a minute is summed a little later.
const LONGEST_TIMEOUT_NS: u64 = 5_000_000_000;
/// Longest interval between tests of a kind: 30 days.
pub(crate) const LONGEST_EVERY_NS: u64 = 30 * super::DAY_NS;
/// Shortest interval between surveys: 10 minutes.
const SHORTEST_EVERY_NS: u64 = 600_000_000_000;
/// Highest amount of money, USD in 30 days.
const MOST_USD: f64 = 1e6;

/// Names are words, and differ.
pub(super) fn hosts(hosts: &[Host]) -> Result<(), ConfigError> {
    if hosts.len() < 2 || hosts.len() > MOST_HOSTS {
        return wrong(format!(
            "host: there are {} [[host]] tables; write 2 to {MOST_HOSTS}",
            hosts.len()
        ));
    }
    let mut seen = BTreeSet::new();
    let is_word = |name: &str| {
        let plain = |letter: char| letter.is_alphanumeric() || "-_.:".contains(letter);
        !name.is_empty() && name.chars().count() <= MOST_NAME && name.chars().all(plain)
    };
    for Host {
        name, address, zone, ..
    } in hosts
    {
        if let Some(zone) = zone
            && !is_word(zone)
        {
            return wrong(format!(
                "host {name}: zone '{zone}' is not a word of at most {MOST_NAME} letters, digits, '-', '_', '.' and ':'"
            ));
        }
        if !is_word(name) {
            return wrong(format!(
                "host: name '{name}' is not a word of at most {MOST_NAME} letters, digits, '-', '_', '.' and ':'"
            ));
        }
        if address.is_empty() {
            return wrong(format!("host {name}: address is empty"));
        }
        if !seen.insert(name) {
            return wrong(format!("host: two [[host]] tables are named '{name}'"));
        }
    }
    Ok(())
}

impl Config {
    /// Checks all but the budget, which the plan checks.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_pairs()?;
        self.check_rtt()?;
        self.flows.as_ref().map_or(Ok(()), check_flows)?;
        self.survey.as_ref().map_or(Ok(()), check_survey)?;
        match self.budget.usd_a_month {
            Some(usd) if !(usd > 0.0 && usd <= MOST_USD) => wrong(format!(
                "budget: usd-a-month {usd} is outside of 0.01 to {MOST_USD}"
            )),
            _ => Ok(()),
        }
    }

    fn check_pairs(&self) -> Result<(), ConfigError> {
        if self.pairs.len() > MOST_PAIRS {
            return wrong(format!(
                "pairs: {} pairs; the maximum is {MOST_PAIRS}",
                self.pairs.len()
            ));
        }
        let mut seen = BTreeSet::new();
        for pair in &self.pairs {
            let (from, to) = (&self.hosts[pair.from], &self.hosts[pair.to]);
            if pair.from == pair.to {
                return wrong(format!("pairs: '{}' is paired with itself", from.name));
            }
            if from.stamp {
                return wrong(format!(
                    "pairs: '{}' is a STAMP reflector and measures nothing; name it second",
                    from.name
                ));
            }
            if !seen.insert(pair) {
                return wrong(format!("pairs: '{}' to '{}' is there twice", from.name, to.name));
            }
        }
        if self.own_pairs().next().is_none() {
            return wrong(format!(
                "pairs: none is from '{}', the host that this watcher runs on",
                self.hosts[self.here].name
            ));
        }
        Ok(())
    }

    fn check_rtt(&self) -> Result<(), ConfigError> {
        let rtt = &self.rtt;
        if rtt.interval_ns > LONGEST_INTERVAL_NS {
            return wrong(format!(
                "rtt: interval {} exceeds the maximum of {}",
                TimeSpan(rtt.interval_ns),
                TimeSpan(LONGEST_INTERVAL_NS)
            ));
        }
        if rtt.timeout_ns > LONGEST_TIMEOUT_NS {
            return wrong(format!(
                "rtt: timeout {} exceeds the maximum of {}",
                TimeSpan(rtt.timeout_ns),
                TimeSpan(LONGEST_TIMEOUT_NS)
            ));
        }
        let plan = rtt.plan(super::DAY_NS);
        let checked = plan.check(weir_wire::RTT_HEADER_LENGTH as u32).and_then(|()| {
            let stamps = self.pairs.iter().any(|pair| self.is_reflector(*pair));
            let codec = stamp::StampCodec::new(None, 0);
            if stamps {
                stamp::check(&plan, &codec)
            } else {
                Ok(())
            }
        });
        // The measurement names options of the command line, whose words are the keys.
        checked.map_err(|error| ConfigError(format!("rtt: {}", error.to_string().replace("--", ""))))
    }
}

fn check_flows(flows: &FlowsKind) -> Result<(), ConfigError> {
    if flows.every_ns > LONGEST_EVERY_NS || flows.every_ns < flows.duration_ns.saturating_mul(2) {
        return wrong(format!(
            "flows: every {} is outside of {} (twice the duration) to {}",
            TimeSpan(flows.every_ns),
            TimeSpan(flows.duration_ns.saturating_mul(2)),
            TimeSpan(LONGEST_EVERY_NS)
        ));
    }
    if flows.mtu_every_ns > LONGEST_EVERY_NS {
        return wrong(format!(
            "flows: mtu-every {} exceeds the maximum of {}",
            TimeSpan(flows.mtu_every_ns),
            TimeSpan(LONGEST_EVERY_NS)
        ));
    }
    if flows.length < SHORTEST {
        return wrong(format!("flows: length {} is below {SHORTEST}", flows.length));
    }
    let checked = flows_plan(flows).check();
    checked.map_err(|error| ConfigError(format!("flows: {}", error.to_string().replace("--", ""))))
}

fn check_survey(survey: &SurveyKind) -> Result<(), ConfigError> {
    if !(SHORTEST_EVERY_NS..=LONGEST_EVERY_NS).contains(&survey.every_ns) {
        return wrong(format!(
            "survey: every {} is outside of {} to {}",
            TimeSpan(survey.every_ns),
            TimeSpan(SHORTEST_EVERY_NS),
            TimeSpan(LONGEST_EVERY_NS)
        ));
    }
    let step = survey.plan.step_ns;
    if !(100_000_000..=10_000_000_000).contains(&step) {
        return wrong(format!(
            "survey: step {} is outside of 100ms to 10s",
            TimeSpan(step)
        ));
    }
    if survey.plan.max_bytes == 0 || survey.plan.max_flows == 0 || survey.plan.max_flows > 1024 {
        return wrong("survey: max-bytes must be above zero, and max-flows 1 to 1024");
    }
    if survey.plan.format.rate().0 == 0 {
        return wrong("survey: rate is too low for a frame; write at least 1kbit/s");
    }
    Ok(())
}
