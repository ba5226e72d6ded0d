//! How people choose a code: in packets, `12/96`, or by what it may cost, `8%/20ms`. It must not know which option
//! the text stood behind.

use std::fmt;
use std::str::FromStr;

use weir_units::{Share, TimeSpan, UnitError};

use crate::code_rate::{CodeRate, CodeRateError};

/// A code as it is chosen before the rate of packets is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// `12/96`: one repair for every 12 sources over the last 96.
    Packets(CodeRate),
    /// `8%/20ms`: at least this share of repairs, over as many sources as come in this time.
    Cost {
        /// Repairs as a share of the sources, above 0 and at most 100 %.
        overhead: Share,
        /// The longest that a lost packet may have to wait for repairs.
        latency: TimeSpan,
    },
}

/// Why a code cannot be chosen so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// Neither form.
    #[error("'{0}' is no code; write 12/96 (one repair for every 12 packets over the last 96) or 8%/20ms")]
    Form(String),
    /// The code rate is refused.
    #[error(transparent)]
    Rate(#[from] CodeRateError),
    /// The overhead or the latency is refused.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// Nothing would be added.
    #[error("an overhead of 0% adds no repairs; write it like 8%/20ms")]
    NoOverhead,
    /// In so short a time fewer packets come than there are for each repair.
    #[error(
        "in {latency} only {packets} packets come, and {overhead} makes one repair for every {sources}: \
         take at least {needed}, or more overhead"
    )]
    TooShort {
        /// The time that was given.
        latency: TimeSpan,
        /// Packets in that time.
        packets: u64,
        /// The overhead that was given.
        overhead: Share,
        /// Sources for each repair.
        sources: u64,
        /// The shortest time that would do.
        needed: TimeSpan,
    },
}

impl Choice {
    /// The code rate at this many packets a second. A fraction is rounded towards more protection and less latency;
    /// a window beyond 4,095 sources is cut.
    ///
    /// # Errors
    /// [`ChoiceError::TooShort`] when the window would not cover the sources between two repairs.
    pub fn at(self, packets_per_second: f64) -> Result<CodeRate, ChoiceError> {
        let (overhead, latency) = match self {
            Choice::Packets(rate) => return Ok(rate),
            Choice::Cost { overhead, latency } => (overhead, latency),
        };
        // A thousandth more than the exact quotient: 1 / 0.1 is not to become 9 by rounding.
        let sources = ((1.0 / overhead.fraction() + 1e-3) as u64).max(1);
        let packets = (packets_per_second * latency.0 as f64 / 1e9 + 1e-3) as u64;
        if packets < sources {
            return Err(ChoiceError::TooShort {
                latency,
                packets,
                overhead,
                sources,
                needed: TimeSpan((sources as f64 / packets_per_second * 1e9).ceil() as u64),
            });
        }
        let window = packets.min(u64::from(crate::MAX_WINDOW)) as u16;
        Ok(CodeRate::new(sources.min(u64::from(window)) as u16, window)?)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Packets(rate) => rate.fmt(formatter),
            Choice::Cost { overhead, latency } => write!(formatter, "{overhead}/{latency}"),
        }
    }
}

impl FromStr for Choice {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || ChoiceError::Form(text.to_owned());
        let (first, second) = text.split_once('/').ok_or_else(form)?;
        if !first.contains('%') {
            return text.parse().map(Choice::Packets).map_err(|error| match error {
                CodeRateError::Form => form(),
                other => other.into(),
            });
        }
        let overhead: Share = first.parse()?;
        if overhead == Share::NONE {
            return Err(ChoiceError::NoOverhead);
        }
        let latency = TimeSpan::positive(second)?;
        Ok(Choice::Cost { overhead, latency })
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, ChoiceError};
    use crate::code_rate::{CodeRate, CodeRateError};

    fn parse(text: &str) -> Result<Choice, ChoiceError> {
        text.parse()
    }

    fn rate(sources: u16, window: u16) -> CodeRate {
        CodeRate::new(sources, window).unwrap()
    }

    #[test]
    fn both_forms() {
        assert_eq!(parse("12/96"), Ok(Choice::Packets(rate(12, 96))));
        for text in ["12/96", "8%/20ms", "0.5%/1s"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    /// 1080p 10-bit 4:2:2 at 59.94 in packets of 8,100 bytes: 38,400 packets a second.
    #[test]
    fn by_cost() {
        let at = |text: &str, packets| parse(text).unwrap().at(packets);
        assert_eq!(at("12/96", 1.0), Ok(rate(12, 96)));
        // 1 / 0.08 is 12.5: rather a repair more.
        assert_eq!(at("8%/20ms", 38_400.0), Ok(rate(12, 768)));
        assert_eq!(at("10%/2.5ms", 38_400.0), Ok(rate(10, 96)));
        assert_eq!(at("100%/1ms", 1_000.0), Ok(rate(1, 1)));
        assert_eq!(at("10%/10s", 38_400.0), Ok(rate(10, 4_095)));
        let short = at("1%/1ms", 38_400.0).unwrap_err().to_string();
        assert_eq!(
            short,
            "in 1ms only 38 packets come, and 1% makes one repair for every 100: take at least 2.604167ms, or more \
             overhead"
        );
    }

    #[test]
    fn refusals() {
        assert_eq!(parse("12"), Err(ChoiceError::Form("12".to_owned())));
        assert_eq!(parse("a/b"), Err(ChoiceError::Form("a/b".to_owned())));
        assert_eq!(parse("0%/20ms"), Err(ChoiceError::NoOverhead));
        assert!(matches!(parse("8%/20"), Err(ChoiceError::Unit(_))));
        assert!(matches!(parse("8%/0s"), Err(ChoiceError::Unit(_))));
        assert!(matches!(
            parse("12/5"),
            Err(ChoiceError::Rate(CodeRateError::Holes { .. }))
        ));
    }
}
