//! Rules and policies as people write them, on a command line or in a file of scenarios. It must not know what they do.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::abr::AbrRule;
use crate::pacing::PacePolicy;

/// What [`AbrChoice`] is written as.
pub const ABR_WORDS: &str = "throughput, bba, bola, bola-e, hyb, dynamic";
/// What [`PacePolicy`] is written as.
pub const PACE_WORDS: &str = "none, rung:N, top:N, sammy, sammy:C0,C1, hyb, hyb:MARGIN, dashjs";

/// Of HYB, where nothing else is said: the paper on Sammy counts on half of the throughput.
const BETA: f64 = 0.5;
const LOOK_AHEAD: Duration = Duration::from_secs(20);
/// Sammy's in production.
const SAMMY: PacePolicy = PacePolicy::Sammy { c0: 3.2, c1: 2.8 };
/// The margin over the floor of HYB, where nothing else is said.
const MARGIN: f64 = 1.5;
/// The largest multiple of a bitrate that is taken.
const MOST_TIMES: f64 = 1_000.0;

/// A word that names nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown {what} '{text}'; use one of {known}")]
pub struct WordError {
    text: String,
    what: &'static str,
    known: &'static str,
}

/// How rungs are chosen, of which some rules need the size of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbrChoice {
    /// [`AbrRule::Throughput`].
    Throughput,
    /// [`AbrRule::bba`].
    Bba,
    /// [`AbrRule::Bola`].
    Bola,
    /// [`AbrRule::BolaE`].
    BolaE,
    /// [`AbrRule::Hyb`], counting on half of the throughput and looking 20 s ahead.
    Hyb,
    /// [`AbrRule::Dynamic`].
    Dynamic,
}

impl AbrChoice {
    /// The rule with a buffer of this size.
    pub fn rule(self, max_buffer: Duration) -> AbrRule {
        match self {
            AbrChoice::Throughput => AbrRule::Throughput,
            AbrChoice::Bba => AbrRule::bba(max_buffer),
            AbrChoice::Bola => AbrRule::Bola,
            AbrChoice::BolaE => AbrRule::BolaE,
            AbrChoice::Hyb => AbrRule::Hyb {
                beta: BETA,
                look_ahead: LOOK_AHEAD,
            },
            AbrChoice::Dynamic => AbrRule::Dynamic,
        }
    }
}

/// Each choice and what it is written as.
const CHOICES: [(AbrChoice, &str); 6] = [
    (AbrChoice::Throughput, "throughput"),
    (AbrChoice::Bba, "bba"),
    (AbrChoice::Bola, "bola"),
    (AbrChoice::BolaE, "bola-e"),
    (AbrChoice::Hyb, "hyb"),
    (AbrChoice::Dynamic, "dynamic"),
];

impl fmt::Display for AbrChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = CHOICES.iter().find(|(choice, _)| choice == self);
        f.write_str(found.map_or("", |(_, word)| word))
    }
}

impl FromStr for AbrChoice {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let found = CHOICES.iter().find(|(_, word)| *word == text);
        found.map(|(choice, _)| *choice).ok_or_else(|| WordError {
            text: shortened(text),
            what: "ABR rule",
            known: ABR_WORDS,
        })
    }
}

/// As it is written; what HYB counts on beside its margin has no words.
impl fmt::Display for PacePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PacePolicy::None => f.write_str("none"),
            PacePolicy::TimesRung(times) => write!(f, "rung:{times}"),
            PacePolicy::TimesTopRung(times) => write!(f, "top:{times}"),
            PacePolicy::Sammy { c0, c1 } => write!(f, "sammy:{c0},{c1}"),
            PacePolicy::HybFloor { margin, .. } => write!(f, "hyb:{margin}"),
            PacePolicy::DashJs => f.write_str("dashjs"),
        }
    }
}

impl FromStr for PacePolicy {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let wrong = || WordError {
            text: shortened(text),
            what: "pace policy",
            known: PACE_WORDS,
        };
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let number = |text: &str| {
            let number: f64 = text.trim().parse().map_err(|_| wrong())?;
            let fits = number.is_finite() && number > 0.0 && number <= MOST_TIMES;
            fits.then_some(number).ok_or_else(wrong)
        };
        Ok(match (name, value) {
            ("none", None) => PacePolicy::None,
            ("rung", Some(times)) => PacePolicy::TimesRung(number(times)?),
            ("top", Some(times)) => PacePolicy::TimesTopRung(number(times)?),
            ("sammy", None) => SAMMY,
            ("sammy", Some(both)) => {
                let (c0, c1) = both.split_once(',').ok_or_else(wrong)?;
                PacePolicy::Sammy {
                    c0: number(c0)?,
                    c1: number(c1)?,
                }
            }
            ("hyb", margin) => PacePolicy::HybFloor {
                margin: margin.map_or(Ok(MARGIN), number)?,
                beta: BETA,
                look_ahead: LOOK_AHEAD,
            },
            ("dashjs", None) => PacePolicy::DashJs,
            _ => return Err(wrong()),
        })
    }
}

/// As much of a text as a message needs.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read() {
        let table = [
            ("none", PacePolicy::None),
            ("rung:1.5", PacePolicy::TimesRung(1.5)),
            ("top:2.25", PacePolicy::TimesTopRung(2.25)),
            ("sammy", PacePolicy::Sammy { c0: 3.2, c1: 2.8 }),
            ("sammy:4,2", PacePolicy::Sammy { c0: 4.0, c1: 2.0 }),
            ("dashjs", PacePolicy::DashJs),
        ];
        for (text, policy) in table {
            assert_eq!(text.parse(), Ok(policy), "{text}");
            assert_eq!(policy.to_string().parse(), Ok(policy), "{policy}");
        }
        assert!(matches!(
            "hyb:2".parse(),
            Ok(PacePolicy::HybFloor { margin: 2.0, .. })
        ));
    }

    #[test]
    fn what_names_no_policy_or_rule_is_refused_with_what_there_is() {
        for text in [
            "", "fast", "top", "top:", "top:0", "top:-1", "top:inf", "sammy:1", "none:1", "rung:1e9",
        ] {
            let error = text.parse::<PacePolicy>().unwrap_err().to_string();
            assert!(
                error.contains("sammy:C0,C1") && error.lines().count() == 1,
                "{error}"
            );
        }
        let error = "bolla".parse::<AbrChoice>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown ABR rule 'bolla'; use one of throughput, bba, bola, bola-e, hyb, dynamic"
        );
    }
}
