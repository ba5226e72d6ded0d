//! Instance types: the bandwidth that they are sold with, and what they cost. A dated table, of which each row has its source.
//! It must not know what a type is used for.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::MeshError;

const TABLE: &str = include_str!("../data/instances.csv");

/// Where a number was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Read {
    /// At the provider's own pages.
    Provider,
    /// At a third party.
    ThirdParty,
    /// Nowhere: it is from memory of the source, and to be checked there.
    Memory,
}

impl Read {
    /// What to write beside a number that was not read at the provider; nothing beside one that was.
    #[must_use]
    pub fn mark(self) -> &'static str {
        match self {
            Read::Provider => "",
            Read::ThirdParty => " (third party)",
            Read::Memory => " (unverified)",
        }
    }
}

/// A type of instance.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Instance {
    /// One of [`CLOUDS`](crate::place::CLOUDS).
    pub cloud: String,
    /// Its name.
    #[serde(rename = "type")]
    pub name: String,
    /// Rate that it holds, Mbit/s; none where it is not published.
    #[serde(rename = "baseline")]
    pub baseline_mbps: Option<u64>,
    /// Rate that it reaches on credits, or at most, Mbit/s.
    #[serde(rename = "burst")]
    pub burst_mbps: Option<u64>,
    /// Month of the source, `YYYY-MM`.
    pub date: String,
    /// Where the rates were read.
    pub read: Read,
    /// Where they are published.
    pub source: String,
    /// Price of an hour in the cheapest regions, US dollars.
    pub usd_hour: f64,
    /// Where the price was read.
    pub usd_read: Read,
}

impl Instance {
    /// Price of an hour for each Gbit/s that it holds, US dollars, without traffic; none where that rate is not published.
    #[must_use]
    pub fn usd_per_gbit(&self) -> Option<f64> {
        self.baseline_mbps
            .filter(|mbps| *mbps > 0)
            .map(|mbps| self.usd_hour / (mbps as f64 / 1e3))
    }
}

/// All types of the table.
///
/// # Errors
/// Never, as a test shows.
pub fn read_instances() -> Result<Vec<Instance>, MeshError> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(TABLE.as_bytes());
    let rows = reader
        .deserialize()
        .collect::<Result<Vec<Instance>, csv::Error>>();
    rows.map_err(|error| MeshError::file("instances.csv", error.to_string()))
}

/// The type of this name in a cloud; none where the table does not have it.
#[must_use]
pub fn instance(cloud: &str, name: &str) -> Option<&'static Instance> {
    static KNOWN: OnceLock<Vec<Instance>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| read_instances().unwrap_or_default());
    known
        .iter()
        .find(|known| known.cloud == cloud && known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::CLOUDS;

    #[test]
    fn every_row_has_a_cloud_a_rate_a_date_and_a_source() {
        let all = read_instances().unwrap();
        for row in &all {
            assert!(CLOUDS.contains(&row.cloud.as_str()), "{row:?}");
            assert!(
                row.burst_mbps.is_some() && row.baseline_mbps <= row.burst_mbps,
                "{row:?}"
            );
            assert!(
                row.date.len() == 7 && row.source.starts_with("https://"),
                "{row:?}"
            );
        }
        for cloud in CLOUDS {
            assert!(all.iter().any(|row| row.cloud == cloud), "{cloud}");
        }
    }

    #[test]
    fn a_sustained_gigabit_costs_by_the_rate_that_is_held() {
        // 0.0104 USD for 64 Mbit/s.
        let small = instance("aws", "t3.micro").unwrap();
        assert!((small.usd_per_gbit().unwrap() - 0.1625).abs() < 1e-9);
        assert_eq!(instance("azure", "Standard_D2s_v5").unwrap().usd_per_gbit(), None);
        assert_eq!(instance("aws", "nobody.knows"), None);
    }
}
