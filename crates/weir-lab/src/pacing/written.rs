//! How a scenario stands in its file: keys and values as they are written, with quantities read from their texts. It must not
//! know what they come to together.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};
use weir_player::{AbrChoice, PacePolicy};
use weir_units::{ByteCount, Rate, TimeSpan};

/// A value that is written as text, such as `10Mbit/s`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written<T>(pub(super) T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Written).map_err(de::Error::custom)
    }
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ScenarioText {
    pub(super) link: toml::Table,
    pub(super) congestion: Vec<String>,
    pub(super) repeats: Option<u32>,
    pub(super) warm_up: Written<TimeSpan>,
    #[serde(rename = "for")]
    pub(super) duration: Written<TimeSpan>,
    pub(super) media: MediaText,
    pub(super) player: PlayerText,
    pub(super) variant: Vec<VariantText>,
    pub(super) case: Vec<CaseText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MediaText {
    pub(super) rungs: Vec<Written<Rate>>,
    pub(super) segment: Written<TimeSpan>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlayerText {
    pub(super) abr: Written<AbrChoice>,
    pub(super) buffer: Written<TimeSpan>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct VariantText {
    pub(super) name: String,
    pub(super) server: Option<String>,
    pub(super) pace: Option<Written<PacePolicy>>,
    pub(super) limit_rate: Option<Written<Rate>>,
    pub(super) burst: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseText {
    pub(super) name: String,
    #[serde(default)]
    pub(super) neighbours: Vec<NeighbourText>,
    pub(super) figures: Vec<FigureText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct NeighbourText {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) rate: Option<Written<Rate>>,
    pub(super) length: Option<u32>,
    pub(super) streams: Option<u32>,
    pub(super) bytes: Option<Written<ByteCount>>,
    pub(super) pause: Option<Written<TimeSpan>>,
    pub(super) frames_per_second: Option<u32>,
    pub(super) session: Option<Written<TimeSpan>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureText {
    pub(super) of: String,
    pub(super) expect: Option<String>,
    pub(super) paper: Option<f64>,
}
