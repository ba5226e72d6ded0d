//! What was recorded elsewhere, as ABR simulators read it: traces of throughput, and the sizes of a film's segments. Bytes come
//! from outside. It must not know what is played over them.
//!
//! A trace is the JSON of Sabre (`duration_ms`, `bandwidth_kbps`, `latency_ms`), or text: `5s 10Mbit/s` on each line, or, as
//! Pensieve has it, a time in seconds and the Mbit/s since the time before. A film is the JSON of Sabre.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;
use weir_units::{Rate, TimeSpan};

use crate::manifest::{LONGEST_SEGMENT, MAX_RUNGS, MAX_SEGMENTS};
use crate::virtual_time::Step;

/// Most steps of a trace.
pub const MOST_STEPS: usize = 100_000;
/// Longest time of a trace, seconds, and highest rate, bits per second.
const LONGEST_S: f64 = 365.0 * 86_400.0;
const MOST_RATE: f64 = 1e12;
/// Longest message of the JSON reader that is passed on, characters.
const MOST_MESSAGE: usize = 200;
/// A sample this many times later than usual leaves a gap.
const LATE: u32 = 3;

/// Neither a trace nor a film.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct RecordedError(String);

/// It may hold as much of the text as somebody likes.
fn no_json(error: serde_json::Error) -> RecordedError {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    RecordedError(error.to_string().chars().take(MOST_MESSAGE).map(plain).collect())
}

fn wrong<T>(problem: impl Into<String>) -> Result<T, RecordedError> {
    Err(RecordedError(problem.into()))
}

/// A time of which a trace tells nothing. It is left out: what follows comes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Line of the text, or entry of the JSON, from 1.
    pub entry: usize,
    /// Its beginning, with earlier gaps.
    pub after: Duration,
    /// Its length.
    pub lasts: Duration,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (after, lasts) = (self.after.as_secs_f64(), self.lasts.as_secs_f64());
        write!(
            f,
            "no throughput for {lasts} s after {after} s (entry {})",
            self.entry
        )
    }
}

/// A trace. The latency of its steps is zero where the file has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Steps, gaps left out.
    pub steps: Vec<Step>,
    /// Gaps.
    pub gaps: Vec<Gap>,
}

#[derive(Deserialize)]
struct StepText {
    duration_ms: f64,
    /// `null` where nothing is known.
    bandwidth_kbps: Option<f64>,
    latency_ms: Option<f64>,
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// What is wrong, and in which line or entry.
    pub fn read(text: &str) -> Result<Trace, RecordedError> {
        let trace = match text.trim_start().starts_with('[') {
            true => Self::of_sabre(text)?,
            false => Self::of_lines(text)?,
        };
        if trace.steps.iter().all(|step| step.rate == 0) {
            return wrong("it has no throughput above 0");
        }
        Ok(trace)
    }

    fn of_sabre(text: &str) -> Result<Trace, RecordedError> {
        let steps: Vec<StepText> = serde_json::from_str(text).map_err(no_json)?;
        let (mut trace, mut at) = (Trace::default(), Duration::ZERO);
        for (place, step) in steps.iter().enumerate() {
            let entry = place + 1;
            let lasts = seconds(entry, step.duration_ms / 1e3)?;
            match step.bandwidth_kbps {
                None => trace.gaps.push(Gap {
                    entry,
                    after: at,
                    lasts,
                }),
                Some(kbits) => {
                    let latency = seconds(entry, step.latency_ms.unwrap_or(0.0) / 1e3)?;
                    trace.push(entry, lasts, bits(entry, kbits * 1e3)?, latency)?;
                }
            }
            at += lasts;
        }
        Ok(trace)
    }

    fn of_lines(text: &str) -> Result<Trace, RecordedError> {
        let lines = text.lines().zip(1..).map(|(line, entry)| (entry, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (mut trace, mut samples) = (Trace::default(), Vec::new());
        for (place, (entry, line)) in lines.enumerate() {
            let mut words = line.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty());
            let (Some(first), Some(second), None) = (words.next(), words.next(), words.next()) else {
                return wrong(format!(
                    "line {entry}: two values are needed, a time and a throughput"
                ));
            };
            if let (Ok(at), Ok(mbits)) = (first.parse::<f64>(), second.parse::<f64>()) {
                samples.push((entry, seconds(entry, at)?, bits(entry, mbits * 1e6)?));
            } else if let (Ok(lasts), Ok(rate)) = (first.parse::<TimeSpan>(), rate_of(second)) {
                trace.push(entry, Duration::from_nanos(lasts.0), rate, Duration::ZERO)?;
            } else if place > 0 {
                let form = "'5s 10Mbit/s', or seconds and Mbit/s as in '12.5 3.1'";
                return wrong(format!("line {entry}: write {form}"));
            }
            // The first line may have names of columns.
        }
        match (trace.steps.is_empty(), samples.is_empty()) {
            (_, true) => Ok(trace),
            (true, false) => Self::of_samples(&samples),
            (false, false) => wrong("lines with and without units; write one or the other"),
        }
    }

    /// Each sample has the rate since the one before.
    fn of_samples(samples: &[(usize, Duration, u64)]) -> Result<Trace, RecordedError> {
        let pairs = || samples.windows(2).map(|pair| (pair[0].1, pair[1]));
        if let Some((_, (entry, ..))) = pairs().find(|(before, (_, at, _))| at <= before) {
            return wrong(format!("line {entry}: times must ascend"));
        }
        let mut usual: Vec<Duration> = pairs().map(|(before, (_, at, _))| at - before).collect();
        usual.sort_unstable();
        let Some(usual) = usual.get(usual.len() / 2).copied() else {
            return wrong("one sample is not enough");
        };
        let mut trace = Trace::default();
        for (before, (entry, at, rate)) in pairs() {
            let gap = (at - before).saturating_sub(usual);
            let is_late = at - before > LATE * usual;
            if is_late {
                trace.gaps.push(Gap {
                    entry,
                    after: before,
                    lasts: gap,
                });
            }
            let lasts = if is_late { usual } else { at - before };
            trace.push(entry, lasts, rate, Duration::ZERO)?;
        }
        Ok(trace)
    }

    fn push(
        &mut self,
        entry: usize,
        duration: Duration,
        rate: u64,
        latency: Duration,
    ) -> Result<(), RecordedError> {
        if duration.is_zero() {
            return wrong(format!("line or entry {entry} lasts no time"));
        }
        if self.steps.len() == MOST_STEPS {
            return wrong(format!("more than {MOST_STEPS} steps; shorten the trace"));
        }
        self.steps.push(Step {
            duration,
            rate,
            latency,
        });
        Ok(())
    }
}

fn seconds(entry: usize, seconds: f64) -> Result<Duration, RecordedError> {
    if (0.0..=LONGEST_S).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    wrong(format!("line or entry {entry}: times are from 0 to a year"))
}

fn bits(entry: usize, rate: f64) -> Result<u64, RecordedError> {
    if (0.0..=MOST_RATE).contains(&rate) {
        return Ok(rate as u64);
    }
    wrong(format!(
        "line or entry {entry}: a throughput is from 0 to 1 Tbit/s"
    ))
}

fn rate_of(text: &str) -> Result<u64, ()> {
    match text {
        "0" => Ok(0),
        text => text.parse::<Rate>().map(|rate| rate.0).map_err(|_| ()),
    }
}

/// The rungs of a film, with the sizes of their segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Film {
    /// Length of each segment.
    pub segment: Duration,
    /// Bit rates of the rungs, the lowest first.
    pub rungs: Vec<Rate>,
    /// Of each segment its bytes by rung.
    pub bytes: Vec<Vec<u64>>,
}

#[derive(Deserialize)]
struct FilmText {
    segment_duration_ms: u64,
    bitrates_kbps: Vec<u64>,
    segment_sizes_bits: Vec<Vec<u64>>,
}

impl Film {
    /// Reads a film.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Film, RecordedError> {
        let film: FilmText = serde_json::from_str(text).map_err(no_json)?;
        let (segments, rungs) = (film.segment_sizes_bits.len(), film.bitrates_kbps.len());
        if !(1..=LONGEST_SEGMENT.as_millis() as u64).contains(&film.segment_duration_ms) {
            return wrong("segment_duration_ms is from 1 ms to an hour");
        }
        if !(1..=MAX_RUNGS).contains(&rungs) || !(1..=MAX_SEGMENTS).contains(&segments) {
            return wrong(format!(
                "bitrates_kbps has 1 to {MAX_RUNGS} rungs, segment_sizes_bits 1 to {MAX_SEGMENTS} segments"
            ));
        }
        let highest = (MOST_RATE / 1e3) as u64;
        let rates = &film.bitrates_kbps;
        if rates.windows(2).any(|pair| pair[0] >= pair[1]) || rates[0] == 0 || rates[rungs - 1] > highest {
            return wrong("bitrates_kbps ascend, from 1 kbit/s to 1 Tbit/s");
        }
        if let Some(place) = film
            .segment_sizes_bits
            .iter()
            .position(|sizes| sizes.len() != rungs || sizes.contains(&0))
        {
            return wrong(format!(
                "segment {} needs a size above 0 for each of {rungs} rungs",
                place + 1
            ));
        }
        let bytes = |sizes: &Vec<u64>| sizes.iter().map(|bits| bits.div_ceil(8)).collect();
        Ok(Film {
            segment: Duration::from_millis(film.segment_duration_ms),
            rungs: rates.iter().map(|kbits| Rate(kbits * 1_000)).collect(),
            bytes: film.segment_sizes_bits.iter().map(bytes).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(text: &str) -> Trace {
        Trace::read(text).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Samples each second, but for 35 s without any: one second of them has the rate of the sample that ends them.
    #[test]
    fn a_gap_is_named_and_left_out() {
        let found = trace("time,mbits\n0,3\n1,4\n2,5\n37,6\n38,7\n");
        let steps: Vec<(u64, u64)> = found
            .steps
            .iter()
            .map(|step| (step.duration.as_secs(), step.rate / 1_000_000))
            .collect();
        assert_eq!(steps, [(1, 4), (1, 5), (1, 6), (1, 7)]);
        let [gap] = found.gaps[..] else {
            panic!("{:?}", found.gaps)
        };
        assert_eq!(gap.to_string(), "no throughput for 34 s after 2 s (entry 5)");
    }

    #[test]
    fn json_and_lines_with_units_are_the_same_trace() {
        let json = r#"[{"duration_ms": 5000, "bandwidth_kbps": 1363, "latency_ms": 20},
            {"duration_ms": 2000, "bandwidth_kbps": null, "latency_ms": 20},
            {"duration_ms": 1000, "bandwidth_kbps": 0, "latency_ms": 20}]"#;
        let (json, lines) = (trace(json), trace("# mine\n5s 1363kbit/s\n1s 0\n"));
        let rates = |trace: &Trace| -> Vec<(Duration, u64)> {
            trace
                .steps
                .iter()
                .map(|step| (step.duration, step.rate))
                .collect()
        };
        assert_eq!(rates(&json), rates(&lines));
        assert_eq!(json.steps[0].latency, Duration::from_millis(20));
        assert_eq!(
            json.gaps[0].to_string(),
            "no throughput for 2 s after 5 s (entry 2)"
        );
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_place() {
        for (text, part) in [
            ("", "no throughput"),
            ("1 2 3", "line 1"),
            ("0 1\nx y", "line 2"),
            ("0 1\n5 2\n5 3", "line 3: times must ascend"),
            ("0 1", "one sample"),
            ("5s 1Mbit/s\n1 2\n2 3", "units"),
            ("[{}]", "duration_ms"),
            ("[{\"duration_ms\": 0, \"bandwidth_kbps\": 1}]", "entry 1"),
            ("0 1\n1 -2", "0 to 1 Tbit/s"),
            ("0 1\n1e99 2", "a year"),
        ] {
            let error = Trace::read(text).expect_err(text).to_string();
            assert!(error.contains(part) && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn what_is_no_film_is_refused() {
        let film = |rates: &str, sizes: &str| {
            Film::read(&format!(
                r#"{{"segment_duration_ms": 3000, "bitrates_kbps": {rates}, "segment_sizes_bits": {sizes}}}"#
            ))
        };
        assert_eq!(film("[1, 2]", "[[9, 16]]").expect("a film").bytes, [[2, 2]]);
        for (rates, sizes) in [
            ("[2, 1]", "[[9, 9]]"),
            ("[1, 2]", "[[9]]"),
            ("[1]", "[[0]]"),
            ("[]", "[]"),
            ("[0]", "[[9]]"),
        ] {
            assert!(film(rates, sizes).is_err(), "{rates} {sizes}");
        }
    }
}
