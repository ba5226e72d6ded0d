//! How a scenario stands in its file: keys and values as they are written, with quantities read from their texts. It must not
//! know what they come to together.

use serde::Deserialize;
use weir_pacing::Burst;
use weir_player::{AbrChoice, PacePolicy};
use weir_units::{ByteCount, Rate, TimeSpan};

use crate::scenario_file::Written;

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
    pub(super) pace_factor: Option<f64>,
    pub(super) pace_burst: Option<Written<Burst>>,
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
    pub(super) length: Option<u16>,
    pub(super) streams: Option<u16>,
    pub(super) bytes: Option<Written<ByteCount>>,
    pub(super) pause: Option<Written<TimeSpan>>,
    pub(super) frames_per_second: Option<u16>,
    pub(super) session: Option<Written<TimeSpan>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureText {
    pub(super) of: String,
    pub(super) expect: Option<String>,
    pub(super) paper: Option<f64>,
}
