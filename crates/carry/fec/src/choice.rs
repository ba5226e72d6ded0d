//! Code rates as users write them: in packets, `12/96`, or by cost, `8%/20ms`. It must not know which option the text
//! belongs to.

use std::fmt;
use std::str::FromStr;

use weir_units::{Share, TimeSpan, UnitError};

use crate::code_rate::{CodeRate, CodeRateError};

/// A code rate chosen before the packet rate is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// `12/96`: one repair for every 12 sources over the last 96.
    Packets(CodeRate),
    /// `8%/20ms`: at least this share of repairs, over a window of this duration.
    Cost {
        /// Repairs as a share of the sources, above 0 and at most 100 %.
        overhead: Share,
        /// Maximum time until the repairs of a lost packet.
        latency: TimeSpan,
    },
}

/// Why a code rate is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// Neither form.
    #[error(
        "'{0}' is not a code rate; write 12/96 (one repair for every 12 packets over the last 96) or 8%/20ms"
    )]
    Form(String),
    /// The code rate is refused.
    #[error(transparent)]
    Rate(#[from] CodeRateError),
    /// The overhead or the latency is refused.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// An overhead of zero.
    #[error("an overhead of 0% adds no repairs; write it like 8%/20ms")]
    NoOverhead,
    /// The window would cover fewer packets than one repair needs.
    #[error(
        "{latency} covers only {packets} packets, and {overhead} is one repair for every {sources}: \
         write at least {needed}, or a higher overhead"
    )]
    TooShort {
        /// The latency given.
        latency: TimeSpan,
        /// Packets in this time.
        packets: u64,
        /// The overhead given.
        overhead: Share,
        /// Sources for each repair.
        sources: u64,
        /// The minimum latency.
        needed: TimeSpan,
    },
}

impl Choice {
    /// The code rate at this packet rate. A fraction is rounded towards more protection and less latency; a window above
    /// 4,095 sources is reduced to 4,095.
    ///
    /// # Errors
    /// [`ChoiceError::TooShort`] when the window would not cover the sources between two repairs.
    pub fn at(self, packets_per_second: f64) -> Result<CodeRate, ChoiceError> {
        let (overhead, latency) = match self {
            Choice::Packets(rate) => return Ok(rate),
            Choice::Cost { overhead, latency } => (overhead, latency),
        };
        // A thousandth more than the exact quotient: 1 / 0.1 must not become 9 by rounding.
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
        // 1 / 0.08 is 12.5, rounded towards more repairs.
        assert_eq!(at("8%/20ms", 38_400.0), Ok(rate(12, 768)));
        assert_eq!(at("10%/2.5ms", 38_400.0), Ok(rate(10, 96)));
        assert_eq!(at("100%/1ms", 1_000.0), Ok(rate(1, 1)));
        assert_eq!(at("10%/10s", 38_400.0), Ok(rate(10, 4_095)));
        let short = at("1%/1ms", 38_400.0).unwrap_err().to_string();
        assert_eq!(
            short,
            "1ms covers only 38 packets, and 1% is one repair for every 100: write at least 2.604167ms, or a higher \
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
