//! The form of `watch.toml`. It must not know which values are sensible.

use std::path::PathBuf;

use serde::Deserialize;
use weir_measure::VideoFormat;
use weir_measure::survey::SurveyPlan;
use weir_units::{ByteCount, FrameRate, Rate};

use super::keep::{RawKeep, keep};
use super::rule::{RawRule, RawSilence, rules, silences};
use super::value::{position, positive, value, wrong};
use super::{Budget, Config, ConfigError, FlowsKind, Host, Pair, RttKind, SurveyKind, seconds};

/// Maximum length of a file, bytes.
pub const MOST_FILE_BYTES: u64 = 1 << 20;
/// Maximum number of characters of an error.
const MOST_SAID: usize = 400;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawFile {
    here: Option<String>,
    host: Vec<RawHost>,
    #[serde(default)]
    pairs: RawPairs,
    #[serde(default)]
    rtt: RawRtt,
    flows: Option<RawFlows>,
    survey: Option<RawSurvey>,
    #[serde(default)]
    budget: RawBudget,
    #[serde(default)]
    rule: Vec<RawRule>,
    #[serde(default)]
    silence: Vec<RawSilence>,
    #[serde(default)]
    keep: RawKeep,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawHost {
    name: String,
    address: Option<String>,
    #[serde(default)]
    stamp: bool,
    token_file: Option<PathBuf>,
    cloud: Option<String>,
    zone: Option<String>,
}

/// A word, or a list of pairs of names.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawPairs {
    Word(String),
    List(Vec<(String, String)>),
}

impl Default for RawPairs {
    fn default() -> Self {
        RawPairs::Word("star".to_owned())
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRtt {
    interval: Option<String>,
    window: Option<u32>,
    length: Option<u32>,
    timeout: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawFlows {
    every: String,
    duration: Option<String>,
    flows: Option<u16>,
    rate: Option<String>,
    length: Option<u32>,
    mtu_every: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawSurvey {
    every: String,
    rate: String,
    step: Option<String>,
    max_flows: Option<u16>,
    max_bytes: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawBudget {
    bytes_a_day: Option<String>,
    usd_a_month: Option<f64>,
}

/// Reads a file. `here` takes the place of the file's own `here`.
///
/// # Errors
/// What is wrong with it, in a line that names the key.
pub fn read(text: &str, here: Option<&str>) -> Result<Config, ConfigError> {
    read_raw(text, here).map_err(|error| in_a_line(&error.0))
}

/// Without control characters, which play tricks on a terminal, and not too long.
fn in_a_line(said: &str) -> ConfigError {
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    let mut line: String = said.chars().take(MOST_SAID).map(plain).collect();
    if said.chars().nth(MOST_SAID).is_some() {
        line.push('…');
    }
    ConfigError(line)
}

fn read_raw(text: &str, here: Option<&str>) -> Result<Config, ConfigError> {
    if text.len() as u64 > MOST_FILE_BYTES {
        return wrong(format!("it is longer than {MOST_FILE_BYTES} bytes"));
    }
    let raw: RawFile = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        let said = error.message().lines().next().unwrap_or_default();
        ConfigError(format!("line {line}: {said}"))
    })?;
    let hosts: Vec<Host> = raw.host.into_iter().map(host).collect();
    super::check::hosts(&hosts)?;
    let here = this_host(&hosts, here.or(raw.here.as_deref()))?;
    let pairs = pairs(&hosts, here, raw.pairs)?;
    let known = pairs.iter().copied().collect();
    let config = Config {
        rtt: rtt(&raw.rtt)?,
        flows: raw.flows.map(|raw| flows(&raw)).transpose()?,
        survey: raw.survey.map(|raw| survey(&raw)).transpose()?,
        budget: budget(&raw.budget)?,
        rules: rules(raw.rule, &hosts, &known)?,
        silences: silences(raw.silence, &hosts, &known)?,
        keep: keep(&raw.keep)?,
        pairs,
        hosts,
        here,
    };
    config.check()?;
    Ok(config)
}

fn host(raw: RawHost) -> Host {
    Host {
        address: raw.address.unwrap_or_else(|| raw.name.clone()),
        name: raw.name,
        stamp: raw.stamp,
        token_file: raw.token_file,
        cloud: raw.cloud,
        zone: raw.zone,
    }
}

fn this_host(hosts: &[Host], name: Option<&str>) -> Result<usize, ConfigError> {
    match name {
        Some(name) => position(hosts, "here", name),
        None => wrong("here: name the host that this watcher runs on, in the file or with --as"),
    }
}

fn pairs(hosts: &[Host], here: usize, raw: RawPairs) -> Result<Vec<Pair>, ConfigError> {
    let agents = |from: usize| {
        let others = (0..hosts.len()).filter(move |to| *to != from);
        others.map(move |to| Pair { from, to })
    };
    match raw {
        RawPairs::Word(word) if word == "star" => Ok(agents(here).collect()),
        RawPairs::Word(word) if word == "mesh" => {
            // A reflector runs no watcher.
            let near = (0..hosts.len()).filter(|from| !hosts[*from].stamp);
            Ok(near.flat_map(agents).collect())
        }
        RawPairs::Word(word) => wrong(format!(
            "pairs: '{word}' is neither \"star\" (from here to every other host), \"mesh\" (each to each), nor a list \
             such as [[\"lon\", \"ams\"]]"
        )),
        RawPairs::List(list) => {
            let pair = |(from, to): (String, String)| -> Result<Pair, ConfigError> {
                Ok(Pair {
                    from: position(hosts, "pairs", &from)?,
                    to: position(hosts, "pairs", &to)?,
                })
            };
            list.into_iter().map(pair).collect()
        }
    }
}

fn rtt(raw: &RawRtt) -> Result<RttKind, ConfigError> {
    let time = |key: &str, text: &Option<String>, without| match text {
        Some(text) => positive(key, text),
        None => Ok(without),
    };
    Ok(RttKind {
        interval_ns: time("rtt: interval", &raw.interval, seconds(1))?.0,
        window: raw.window.unwrap_or(4),
        length: raw.length.unwrap_or(100),
        timeout_ns: time("rtt: timeout", &raw.timeout, seconds(2))?.0,
    })
}

fn flows(raw: &RawFlows) -> Result<FlowsKind, ConfigError> {
    let duration = raw.duration.as_deref().unwrap_or("20s");
    let rate = raw.rate.as_deref().unwrap_or("200kbit/s");
    let mtu_every = raw.mtu_every.as_deref().unwrap_or("1h");
    Ok(FlowsKind {
        every_ns: positive("flows: every", &raw.every)?.0,
        duration_ns: positive("flows: duration", duration)?.0,
        flows: raw.flows.unwrap_or(16),
        rate: value("flows: rate", rate)?,
        length: raw.length.unwrap_or(200),
        mtu_every_ns: positive("flows: mtu-every", mtu_every)?.0,
    })
}

fn survey(raw: &RawSurvey) -> Result<SurveyKind, ConfigError> {
    let rate: Rate = value("survey: rate", &raw.rate)?;
    let step = raw.step.as_deref().unwrap_or("1s");
    let max_bytes: ByteCount = value("survey: max-bytes", &raw.max_bytes)?;
    Ok(SurveyKind {
        every_ns: positive("survey: every", &raw.every)?.0,
        plan: SurveyPlan {
            format: VideoFormat::of_rate(rate, FrameRate::NTSC_60),
            step_ns: positive("survey: step", step)?.0,
            max_flows: raw.max_flows.unwrap_or(8),
            max_bytes: max_bytes.0,
        },
    })
}

fn budget(raw: &RawBudget) -> Result<Budget, ConfigError> {
    let bytes = raw.bytes_a_day.as_deref();
    let bytes = bytes.map(|text| value("budget: bytes-a-day", text));
    Ok(Budget {
        bytes_a_day: bytes.transpose()?,
        usd_a_month: raw.usd_a_month,
    })
}
