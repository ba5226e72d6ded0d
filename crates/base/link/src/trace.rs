//! Rates that change with time, read from text: Weir's own steps and mahimahi's packet-delivery traces. It must not
//! know which key or option named the file.
//!
//! Steps are lines with a duration and a rate, `5s 10Mbit/s`; a rate of 0 is an outage; `#` begins a comment.
//!
//! A mahimahi trace (`mm-link`, Netravali et al., USENIX ATC 2015) has a whole number of milliseconds on each line,
//! never less than the previous line: the times at which 1504 bytes may leave. The last one is also the period
//! of the trace.

use std::path::Path;

use thiserror::Error;
use weir_net::bounded_file;
use weir_units::{Rate, TimeSpan, UnitError};

use crate::spec::{RateSpec, RateStep};

/// Maximum length of a trace, bytes.
pub const MOST_TRACE_BYTES: u64 = 64 << 20;

/// Maximum number of steps or opportunities of one trace.
pub const MOST_TRACE_ENTRIES: usize = 4_000_000;

/// Maximum period of a trace: 365 days, in nanoseconds.
pub const LONGEST_PERIOD_NS: u64 = 365 * 86_400 * 1_000_000_000;

/// Bytes of one of mahimahi's opportunities: an IP packet of 1500 and the 4-byte header of a TUN
/// device.
const OPPORTUNITY_BYTES: u32 = 1504;

const MILLISECOND: u64 = 1_000_000;

/// Maximum length of a duration or rate, bytes.
const LONGEST_FIELD: usize = 50;

/// Formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TraceFormat {
    /// Lines of a duration and a rate.
    Steps,
    /// Lines of milliseconds.
    Mahimahi,
}

/// Why a trace was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("trace {file}: {problem}")]
pub struct TraceError {
    /// The file's name as given.
    pub file: String,
    /// The problem, with the line if there is one, and what is allowed.
    pub problem: String,
}

/// Reads a trace file of at most [`MOST_TRACE_BYTES`].
///
/// # Errors
/// The file cannot be read, is too long, or is not a trace of this format.
pub fn read_trace(path: &Path, format: TraceFormat) -> Result<RateSpec, TraceError> {
    let file = path.display().to_string();
    let bytes = bounded_file::read(path, MOST_TRACE_BYTES).map_err(|error| TraceError {
        file: file.clone(),
        problem: error.to_string(),
    })?;
    parse_trace(&bytes, &file, format)
}

/// Reads a trace; `file` is for messages only.
///
/// # Errors
/// It is not a trace of this format, or has more than [`MOST_TRACE_ENTRIES`].
pub fn parse_trace(bytes: &[u8], file: &str, format: TraceFormat) -> Result<RateSpec, TraceError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("line {line}: not text; write {}", format.line_form())
    });
    let parsed = text.and_then(|text| match format {
        TraceFormat::Steps => steps(text.lines()),
        TraceFormat::Mahimahi => opportunities(text.lines()),
    });
    parsed.map_err(|problem| TraceError {
        file: file.to_owned(),
        problem,
    })
}

impl TraceFormat {
    fn line_form(self) -> &'static str {
        match self {
            TraceFormat::Steps => "a duration and a rate, such as 5s 10Mbit/s",
            TraceFormat::Mahimahi => "whole milliseconds, such as 120",
        }
    }
}

fn steps<'a>(lines: impl Iterator<Item = &'a str>) -> Result<RateSpec, String> {
    let mut steps = StepList::default();
    for (index, line) in lines.enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            steps
                .push(line)
                .map_err(|problem| format!("line {}: {problem}", index + 1))?;
        }
    }
    steps.finish()
}

/// Steps, read one by one.
#[derive(Debug, Default)]
pub(crate) struct StepList {
    steps: Vec<RateStep>,
    period_ns: u64,
}

impl StepList {
    /// Reads one more step, such as `5s 10Mbit/s`.
    ///
    /// # Errors
    /// It is not a step, or the trace is too long.
    pub(crate) fn push(&mut self, text: &str) -> Result<(), String> {
        let step = step(text)?;
        self.period_ns = bounded_period(self.period_ns.saturating_add(step.duration_ns))?;
        room_for_one_more(self.steps.len())?;
        self.steps.push(step);
        Ok(())
    }

    /// All steps.
    ///
    /// # Errors
    /// No step has a rate above 0.
    pub(crate) fn finish(self) -> Result<RateSpec, String> {
        if self.steps.iter().all(|step| step.rate == 0) {
            return Err("no step has a rate above 0; write one such as 5s 10Mbit/s".to_owned());
        }
        Ok(RateSpec::Steps(self.steps))
    }
}

fn step(line: &str) -> Result<RateStep, String> {
    // The error of a field repeats it.
    let short = |field: &&str| field.len() <= LONGEST_FIELD;
    let mut fields = line.split_whitespace();
    let (duration, rate) = (fields.next().filter(short), fields.next().filter(short));
    let (Some(duration), Some(rate), None) = (duration, rate, fields.next()) else {
        return Err(format!(
            "'{}' is not a step; write {}",
            shortened(line),
            TraceFormat::Steps.line_form()
        ));
    };
    let wrong = |error: UnitError| one_line(&error.to_string());
    Ok(RateStep {
        duration_ns: TimeSpan::positive(duration).map_err(wrong)?.0,
        rate: rate_or_zero(rate).map_err(wrong)?,
    })
}

/// An outage is a rate of zero, which [`Rate`] refuses.
fn rate_or_zero(text: &str) -> Result<u64, UnitError> {
    if matches!(text, "0" | "0bit/s" | "0kbit/s" | "0Mbit/s" | "0Gbit/s") {
        return Ok(0);
    }
    text.parse().map(|Rate(rate)| rate)
}

fn opportunities<'a>(lines: impl Iterator<Item = &'a str>) -> Result<RateSpec, String> {
    let (mut at_ns, mut last) = (Vec::new(), 0);
    for (index, line) in lines.enumerate() {
        let at = opportunity(line.trim(), last).and_then(|at| room_for_one_more(at_ns.len()).map(|()| at));
        last = at.map_err(|problem| format!("line {}: {problem}", index + 1))?;
        at_ns.push(last);
    }
    if at_ns.is_empty() {
        return Err(format!(
            "empty; write {} on each line",
            TraceFormat::Mahimahi.line_form()
        ));
    }
    if last == 0 {
        return Err("ends at 0 ms; the last time is the period and must be above 0".to_owned());
    }
    Ok(RateSpec::Opportunities {
        at_ns,
        period_ns: last,
        bytes: OPPORTUNITY_BYTES,
    })
}

/// The time on a line in nanoseconds; `last` is the time on the previous line.
fn opportunity(digits: &str, last: u64) -> Result<u64, String> {
    // The parser would accept a sign.
    let well_formed = digits.bytes().all(|byte| byte.is_ascii_digit());
    let milliseconds: Option<u64> = digits.parse().ok().filter(|_| well_formed);
    let milliseconds = milliseconds.ok_or_else(|| {
        let form = TraceFormat::Mahimahi.line_form();
        format!("'{}' is not a time; write {form}", shortened(digits))
    })?;
    let at = bounded_period(milliseconds.saturating_mul(MILLISECOND))?;
    if at < last {
        let last = last / MILLISECOND;
        return Err(format!("{milliseconds} follows {last}; times must not decrease"));
    }
    Ok(at)
}

fn bounded_period(period_ns: u64) -> Result<u64, String> {
    if period_ns > LONGEST_PERIOD_NS {
        return Err(format!(
            "the trace is longer than {}",
            TimeSpan(LONGEST_PERIOD_NS)
        ));
    }
    Ok(period_ns)
}

fn room_for_one_more(count: usize) -> Result<(), String> {
    if count >= MOST_TRACE_ENTRIES {
        return Err(format!("more than {MOST_TRACE_ENTRIES} lines; shorten the trace"));
    }
    Ok(())
}

/// External text for a message: one short line.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 100;
    let mut escaped = text.chars().flat_map(printable);
    let mut short: String = escaped.by_ref().take(MOST).collect();
    if escaped.next().is_some() {
        short.push_str("...");
    }
    short
}

/// A message that may contain external text, as one line.
pub(crate) fn one_line(message: &str) -> String {
    message.chars().flat_map(printable).collect()
}

fn printable(c: char) -> impl Iterator<Item = char> {
    let escaped = c.is_control().then(|| c.escape_default());
    let plain = (!c.is_control()).then_some(c);
    escaped.into_iter().flatten().chain(plain)
}

impl RateSpec {
    /// The rate, or the mean of a trace, in bits per second; none if it is unlimited.
    pub fn mean(&self) -> Option<u64> {
        let (bits_ns, period_ns) = match self {
            RateSpec::Unlimited => return None,
            RateSpec::Fixed(rate) => return Some(*rate),
            RateSpec::Steps(steps) => {
                let period: u128 = steps.iter().map(|step| u128::from(step.duration_ns)).sum();
                let part = |step: &RateStep| u128::from(step.rate) * u128::from(step.duration_ns);
                (steps.iter().map(part).fold(0, u128::saturating_add), period)
            }
            RateSpec::Opportunities {
                at_ns,
                period_ns,
                bytes,
            } => {
                let bits = 8 * at_ns.len() as u128 * u128::from(*bytes);
                (bits.saturating_mul(1_000_000_000), u128::from(*period_ns))
            }
        };
        let mean = bits_ns.checked_div(period_ns).unwrap_or(0);
        Some(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// Number of steps or opportunities in memory.
    pub(crate) fn entries(&self) -> usize {
        match self {
            RateSpec::Unlimited | RateSpec::Fixed(_) => 0,
            RateSpec::Steps(steps) => steps.len(),
            RateSpec::Opportunities { at_ns, .. } => at_ns.len(),
        }
    }
}

#[cfg(test)]
mod tests;
