//! How a population stands in its file: keys and values as they are written. It must not know what they come to together.

use serde::Deserialize;
use toml::Value;
use weir_lab::scenario_file::Written;
use weir_pacing::Burst;
use weir_player::PacePolicy;
use weir_units::{Rate, TimeSpan};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PopulationText {
    pub households: u64,
    pub line: LineText,
    pub server: ServerText,
    pub session: SessionText,
    pub media: MediaText,
    pub device: Vec<DeviceText>,
    #[serde(default)]
    pub neighbour: Vec<NeighbourText>,
    pub variant: Vec<VariantText>,
    #[serde(default)]
    pub published: Vec<PublishedText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LineText {
    pub rate: Value,
    pub up_rate: Option<Value>,
    pub rtt: Value,
    pub queue: Value,
    pub jitter: Option<Value>,
    pub loss: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerText {
    pub congestion: Value,
    pub grants: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionText {
    pub length: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MediaText {
    pub rungs: Vec<Written<Rate>>,
    pub segment: Written<TimeSpan>,
    #[serde(default)]
    pub variation: f64,
    #[serde(default)]
    pub correlation: f64,
    #[expect(dead_code, reason = "a note to readers of the file")]
    pub source: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DeviceText {
    pub name: String,
    pub share: f64,
    pub top: Option<Written<Rate>>,
    pub abr: Value,
    pub buffer: Written<TimeSpan>,
    pub start_buffer: Option<Written<TimeSpan>>,
    #[expect(dead_code, reason = "a note to readers of the file")]
    pub source: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NeighbourText {
    pub name: String,
    pub kind: String,
    pub share: f64,
    pub bytes: Option<Value>,
    pub pause: Option<Value>,
    #[expect(dead_code, reason = "a note to readers of the file")]
    pub source: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct VariantText {
    pub name: String,
    pub pace: Option<Written<PacePolicy>>,
    pub queue: Option<Value>,
    pub congestion: Option<Value>,
    pub pace_factor: Option<f64>,
    pub pace_burst: Option<Written<Burst>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishedText {
    pub figure: String,
    pub percent: [f64; 2],
    pub source: String,
}
