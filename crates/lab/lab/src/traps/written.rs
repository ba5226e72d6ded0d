//! How a trap stands in its file: keys and values as they are written. It must not know what they come to together.

use std::str::FromStr;

use serde::Deserialize;
use weir_player::PacePolicy;
use weir_units::{Rate, TimeSpan, UnitError};

use crate::scenario_file::Written;

/// The rate of a link, which may be nothing for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkRate(pub(super) u64);

impl FromStr for LinkRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.trim() {
            "0" => Ok(LinkRate(0)),
            rate => rate.parse().map(|Rate(rate)| LinkRate(rate)),
        }
    }
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrapText {
    pub(super) trap: String,
    pub(super) media: MediaText,
    pub(super) player: PlayerText,
    pub(super) step: Vec<StepText>,
    pub(super) variant: Vec<VariantText>,
    pub(super) claim: Vec<ClaimText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MediaText {
    pub(super) rungs: Vec<Written<Rate>>,
    pub(super) segment: Written<TimeSpan>,
    #[serde(rename = "for")]
    pub(super) duration: Written<TimeSpan>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PlayerText {
    pub(super) abr: String,
    pub(super) buffer: Written<TimeSpan>,
    pub(super) start_buffer: Option<Written<TimeSpan>>,
    pub(super) first_rung: Option<Written<Rate>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepText {
    #[serde(rename = "for")]
    pub(super) duration: Written<TimeSpan>,
    pub(super) rate: Written<LinkRate>,
    pub(super) rtt: Written<TimeSpan>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct VariantText {
    pub(super) name: String,
    pub(super) pace: Option<Written<PacePolicy>>,
    pub(super) server: Option<String>,
    pub(super) abr: Option<String>,
    pub(super) first_rung: Option<Written<Rate>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimText {
    pub(super) variant: String,
    pub(super) figure: String,
    pub(super) below: Option<f64>,
    pub(super) above: Option<f64>,
    pub(super) of: String,
}
