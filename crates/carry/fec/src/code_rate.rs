//! Code rates: one repair for every n sources, over the last w of them. It must not know the packet rate;
//! [`crate::Choice`] does.

use std::fmt;
use std::str::FromStr;

use crate::payload_id::MAX_WINDOW;

/// One repair for every `sources` sources, over the last `window` sources. Written `12/96`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeRate {
    sources: u16,
    window: u16,
}

/// Why a code rate is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodeRateError {
    /// It is not two numbers.
    #[error("a code rate is written like 12/96: one repair for every 12 packets, over the last 96")]
    Form,
    /// No sources for each repair.
    #[error("a repair needs at least 1 packet; write it like 12/96")]
    NoSources,
    /// A window shorter than the distance of the repairs.
    #[error(
        "{sources}/{window} leaves packets without a repair: the second number must not be below the first"
    )]
    Holes {
        /// Sources for each repair.
        sources: u16,
        /// Sources in the window.
        window: u16,
    },
    /// A window longer than the wire format allows.
    #[error("a window of {0} packets is too long: the maximum is 4095")]
    TooLong(u32),
}

impl CodeRate {
    /// One repair for every `sources` sources (at least 1), over the last `window` (`sources` to 4,095).
    ///
    /// # Errors
    /// A window below `sources`, which leaves packets uncovered, or exceeds the wire format; no sources.
    pub const fn new(sources: u16, window: u16) -> Result<Self, CodeRateError> {
        if sources == 0 {
            return Err(CodeRateError::NoSources);
        }
        if window < sources {
            return Err(CodeRateError::Holes { sources, window });
        }
        if window > MAX_WINDOW {
            return Err(CodeRateError::TooLong(window as u32));
        }
        Ok(Self { sources, window })
    }

    /// The rate with as many repairs as a block code has for `span` sources, each over all of them: at least one repair,
    /// and at most as many as sources. None for an empty span.
    pub fn of_block(span: u32, repairs: u32) -> Option<Self> {
        let window = span.min(u32::from(MAX_WINDOW)) as u16;
        let sources = (span / repairs.max(1)).clamp(1, u32::from(window).max(1)) as u16;
        Self::new(sources, window).ok()
    }

    /// Sources per repair.
    pub const fn sources(self) -> u16 {
        self.sources
    }

    /// Sources covered by a repair.
    pub const fn window(self) -> u16 {
        self.window
    }

    /// Repairs as a share of the sources: 1/12 for `12/96`.
    pub fn overhead(self) -> f64 {
        1.0 / f64::from(self.sources)
    }

    /// Maximum number of open repairs at any time.
    pub const fn open_repairs(self) -> usize {
        self.window.div_ceil(self.sources) as usize
    }

    /// How much of the arriving repairs a loss rate (0 to 1, of sources and repairs alike) uses up. At 1 and above the
    /// code collapses: one loss too many lasts until the window has passed, and its neighbours are not recovered,
    /// either. With regular losses, such as those of one dark flow of several, the code keeps slack up to about 0.8;
    /// independent losses need far less load.
    pub fn load(self, loss: f64) -> f64 {
        loss * f64::from(self.sources) / (1.0 - loss)
    }
}

impl fmt::Display for CodeRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.sources, self.window)
    }
}

impl FromStr for CodeRate {
    type Err = CodeRateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (sources, window) = text.split_once('/').ok_or(CodeRateError::Form)?;
        let number = |digits: &str| digits.trim().parse::<u32>().map_err(|_| CodeRateError::Form);
        let (sources, window) = (number(sources)?, number(window)?);
        let window = u16::try_from(window).map_err(|_| CodeRateError::TooLong(window))?;
        // A number of sources beyond 16 bits exceeds any window.
        Self::new(sources.min(u32::from(u16::MAX)) as u16, window)
    }
}

#[cfg(test)]
mod tests {
    use super::{CodeRate, CodeRateError};

    #[test]
    fn reads_what_it_prints() {
        let rate: CodeRate = "12/96".parse().unwrap();
        assert_eq!((rate.sources(), rate.window()), (12, 96));
        assert_eq!(rate.to_string(), "12/96");
        assert_eq!(rate.open_repairs(), 8);
        assert_eq!("10/4095".parse::<CodeRate>().unwrap().open_repairs(), 410);
    }

    #[test]
    fn refusals() {
        let parse = |text: &str| text.parse::<CodeRate>();
        for text in ["", "12", "12/", "/96", "12/96/1", "a/b", "-1/5", "8%/20ms"] {
            assert_eq!(parse(text), Err(CodeRateError::Form), "{text}");
        }
        assert_eq!(parse("0/5"), Err(CodeRateError::NoSources));
        assert_eq!(
            parse("12/11"),
            Err(CodeRateError::Holes {
                sources: 12,
                window: 11
            })
        );
        assert_eq!(parse("12/4096"), Err(CodeRateError::TooLong(4096)));
        assert_eq!(parse("12/100000"), Err(CodeRateError::TooLong(100_000)));
    }

    /// One of 16 flows dark: 15 sources and a repair in each round of 16 leave no slack, 12 and one leave a fifth.
    #[test]
    fn loads() {
        let rate = |sources, window| CodeRate::new(sources, window).unwrap();
        assert!((rate(15, 64).load(1.0 / 16.0) - 1.0).abs() < 1e-12);
        assert!((rate(12, 96).load(1.0 / 16.0) - 0.8).abs() < 1e-12);
    }
}
