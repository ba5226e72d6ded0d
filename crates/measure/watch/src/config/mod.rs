//! What is watched: hosts, pairs of them, kinds of measurements, rules for alarms, and the limits of traffic, cost and
//! storage. The file's form is in `file`, `rule` and `keep`, its single values in `value`, what is wrong with one in `check`. It must
//! not know when anything is measured.

mod check;
mod file;
mod keep;
mod rule;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use thiserror::Error;
use weir_measure::rtt::{RttPlan, Span};
use weir_measure::survey::SurveyPlan;
use weir_units::{ByteCount, Rate, TimeSpan};

pub(crate) use check::LONGEST_EVERY_NS;
pub use file::{MOST_FILE_BYTES, read};
pub use keep::Keep;
pub(crate) use rule::has;
pub use rule::{Rule, RuleMetric, Silence};

/// Maximum number of hosts in a file.
pub const MOST_HOSTS: usize = 1_000;
/// Maximum number of pairs in a file.
pub const MOST_PAIRS: usize = 10_000;

/// What is wrong with a file, in a line that names the key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ConfigError(pub(crate) String);

/// A file.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// All hosts. Their names differ.
    pub hosts: Vec<Host>,
    /// The host that this watcher runs on, as a position in `hosts`.
    pub here: usize,
    /// All pairs, those of other watchers as well. No pair occurs twice.
    pub pairs: Vec<Pair>,
    /// Windowed RTT, all the time.
    pub rtt: RttKind,
    /// Low-rate flows at intervals.
    pub flows: Option<FlowsKind>,
    /// Short surveys at intervals.
    pub survey: Option<SurveyKind>,
    /// Limits of traffic and cost.
    pub budget: Budget,
    /// Alarms of the user. Their names differ.
    pub rules: Vec<Rule>,
    /// When alarms are not delivered.
    pub silences: Vec<Silence>,
    /// How long what was measured is kept.
    pub keep: Keep,
}

impl Config {
    /// Name of the host that this watcher runs on.
    #[must_use]
    pub fn here_name(&self) -> &str {
        &self.hosts[self.here].name
    }

    /// Zones of hosts, as far as the file says.
    #[must_use]
    pub fn zones(&self) -> BTreeMap<&str, &str> {
        let named = self.hosts.iter();
        named
            .filter_map(|host| Some((host.name.as_str(), host.zone.as_deref()?)))
            .collect()
    }

    /// Pairs that this watcher measures, with their positions in `pairs`.
    pub fn own_pairs(&self) -> impl Iterator<Item = (usize, Pair)> + '_ {
        let all = self.pairs.iter().copied().enumerate();
        all.filter(|(_, pair)| pair.from == self.here)
    }

    /// The reason of the silence in which a moment of a pair falls, by the names of its hosts; none if there is no silence.
    #[must_use]
    pub fn silenced(&self, (from, to): (&str, &str), unix_ns: u64) -> Option<String> {
        let position = |name: &str| self.hosts.iter().position(|host| host.name == name);
        let pair = Pair {
            from: position(from)?,
            to: position(to)?,
        };
        let holds = |silence: &&Silence| {
            (silence.from_ns..silence.to_ns).contains(&unix_ns) && has(silence.pairs.as_ref(), pair)
        };
        self.silences
            .iter()
            .find(holds)
            .map(|silence| silence.reason.clone())
    }

    /// Whether the far host of a pair is a STAMP reflector, which answers RTT packets and nothing else.
    #[must_use]
    pub fn is_reflector(&self, pair: Pair) -> bool {
        self.hosts[pair.to].stamp
    }
}

/// A host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Address of its agent or reflector, with an optional port; the name if the file has none.
    pub address: String,
    /// It is a STAMP reflector (RFC 8762) and not an agent.
    pub stamp: bool,
    /// File with the token of its agent.
    pub token_file: Option<PathBuf>,
    /// Cloud and region for the price of egress, such as `aws:eu-west-1`.
    pub cloud: Option<String>,
    /// Zone, rack or site: which hosts may fail together; by default that of the host's cloud.
    pub zone: Option<String>,
}

/// Two hosts, as positions in [`Config::hosts`]. The first one runs the watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Near host.
    pub from: usize,
    /// Far host.
    pub to: usize,
}

/// Windowed RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RttKind {
    /// From the start of a window to the start of the next, nanoseconds.
    pub interval_ns: u64,
    /// Packets in a window.
    pub window: u32,
    /// UDP payload of a packet, bytes.
    pub length: u32,
    /// A packet without a reply for so long is lost, nanoseconds.
    pub timeout_ns: u64,
}

impl RttKind {
    /// A test of this kind.
    #[must_use]
    pub fn plan(&self, duration_ns: u64) -> RttPlan {
        RttPlan {
            window: Span::fixed(self.window),
            length: Span::fixed(self.length),
            interval_ns: self.interval_ns,
            duration_ns,
            over_ns: duration_ns,
            timeout_ns: self.timeout_ns,
            ttl: 64,
        }
    }
}

/// Low-rate flows, each with a 5-tuple of its own, in both directions at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlowsKind {
    /// Time from one test of a pair to the next, nanoseconds.
    pub every_ns: u64,
    /// Duration of a test, nanoseconds.
    pub duration_ns: u64,
    /// Number of flows.
    pub flows: u16,
    /// Rate of all flows together, each way.
    pub rate: Rate,
    /// UDP payload of a packet, bytes.
    pub length: u32,
    /// Time from one search of the path MTU, beside a test, to the next, nanoseconds.
    pub mtu_every_ns: u64,
}

/// Short surveys.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyKind {
    /// Time from one survey of a pair to the next, nanoseconds.
    pub every_ns: u64,
    /// The survey.
    pub plan: SurveyPlan,
}

/// Limits of what all pairs of the file send together, both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Bytes of IP packets a day (UTC).
    pub bytes_a_day: Option<ByteCount>,
    /// US dollars of egress in 30 days.
    pub usd_a_month: Option<f64>,
}

/// A day, nanoseconds.
pub(crate) const DAY_NS: u64 = 86_400_000_000_000;

/// A value that the file leaves out.
pub(crate) const fn seconds(count: u64) -> TimeSpan {
    TimeSpan(count * 1_000_000_000)
}
