//! Places: the regions of four clouds from the table in this crate, and those of the user's own. It must not know
//! hosts.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::MeshError;
use crate::distance::Coordinates;
use crate::fault::shown;
use crate::suggest::nearest;

/// The clouds whose regions are in the table, as they are written everywhere.
pub const CLOUDS: [&str; 4] = ["aws", "gcp", "azure", "oracle"];
const TABLE: &str = include_str!("../data/places.csv");

/// A cloud by any of its usual names, as it is written here.
///
/// # Errors
/// When it is none of the four.
pub fn cloud(name: &str) -> Result<&'static str, MeshError> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "aws" | "amazon" | "ec2" => "aws",
        "gcp" | "google" | "gce" => "gcp",
        "azure" | "microsoft" => "azure",
        "oracle" | "oci" => "oracle",
        _ => return Err(MeshError::UnknownCloud { name: shown(name) }),
    })
}

/// What a place is called: cloud and region, or a name of the user's own without a cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlaceName {
    /// One of [`CLOUDS`], or empty.
    pub cloud: String,
    /// The cloud's name of the region.
    pub region: String,
}

impl PlaceName {
    /// A place of this cloud.
    pub fn new(cloud: &str, region: &str) -> PlaceName {
        PlaceName {
            cloud: cloud.to_owned(),
            region: region.to_owned(),
        }
    }

    /// From `CLOUD:REGION`, or a name alone; the cloud by any of its names.
    ///
    /// # Errors
    /// When the cloud is unknown, or the name is empty, long or has odd characters.
    pub fn parse(text: &str) -> Result<PlaceName, MeshError> {
        let (cloud_name, region) = match text.split_once(':') {
            Some((cloud_name, region)) => (cloud(cloud_name)?, region),
            None => ("", text),
        };
        if !is_word(region) {
            return Err(MeshError::BadForm {
                text: shown(text),
                what: "place",
                form: "write CLOUD:REGION, as in aws:us-east-1, or your own name of letters, digits, '-', '_' and '.'",
            });
        }
        Ok(PlaceName::new(cloud_name, region))
    }
}

impl std::fmt::Display for PlaceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.cloud.is_empty() {
            f.pad(&self.region)
        } else {
            f.pad(&format!("{}:{}", self.cloud, self.region))
        }
    }
}

/// A name that can stand in a table, a file name and a command line: 1 to 64 letters, digits, `-`, `_`, `.`, and no `-`
/// in front.
pub(crate) fn is_word(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&text.chars().count()) && !text.starts_with('-') && text.chars().all(fits)
}

/// A place that hosts can be in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// What it is called.
    #[serde(flatten)]
    pub name: PlaceName,
    /// What the provider calls it.
    pub title: String,
    /// The city that it is in or near; empty where nobody says.
    pub city: String,
    /// ISO 3166 code of the country; empty where it is not known.
    pub country: String,
    /// Part of the world, by which providers set prices: `na`, `sa`, `eu`, `as`, `oc`, `me`, `af`; empty where unknown.
    pub area: String,
    /// Where it is; none for a place of the user's own without coordinates.
    pub coordinates: Option<Coordinates>,
    /// Where the coordinates come from: `cri`, `gazetteer`, `intercloud`, `town` (see `data/make_places.py`), or
    /// `user`.
    pub source: String,
    /// What other sources say, each with its distance from this.
    pub others: Vec<String>,
}

impl Place {
    /// A place of the user's own, or of a region that the table does not have.
    pub fn own(name: PlaceName, coordinates: Option<Coordinates>) -> Place {
        Place {
            name,
            title: String::new(),
            city: String::new(),
            country: String::new(),
            area: String::new(),
            coordinates,
            source: "user".into(),
            others: Vec::new(),
        }
    }

    /// Great-circle distance to another place, metres, where both are known.
    pub fn distance_m(&self, other: &Place) -> Option<f64> {
        Some(self.coordinates?.distance_m(other.coordinates?))
    }
}

/// Places by their names.
#[derive(Clone, Debug, Default)]
pub struct Places(BTreeMap<PlaceName, Place>);

impl Places {
    /// The regions of the four clouds.
    pub fn known() -> &'static Places {
        static KNOWN: OnceLock<Places> = OnceLock::new();
        KNOWN.get_or_init(|| {
            let mut reader = csv::Reader::from_reader(TABLE.as_bytes());
            let places = reader
                .records()
                .filter_map(|row| place_of(&row.ok()?))
                .map(|place| (place.name.clone(), place));
            // Rows that cannot be read would be missing: a test counts them.
            Places(places.collect())
        })
    }

    /// All, by cloud and region.
    pub fn iter(&self) -> impl Iterator<Item = &Place> {
        self.0.values()
    }

    /// Adds a place, or replaces the one of its name.
    pub fn add(&mut self, place: Place) {
        self.0.insert(place.name.clone(), place);
    }

    /// The place of this name.
    pub fn get(&self, name: &PlaceName) -> Option<&Place> {
        self.0.get(name)
    }

    /// The place that a user means by `CLOUD:REGION`, or by the region alone where one cloud only has it.
    ///
    /// # Errors
    /// When there is none, with the nearest name.
    pub fn find(&self, text: &str) -> Result<&Place, MeshError> {
        let named = PlaceName::parse(text).ok().and_then(|name| self.get(&name));
        let mut of_region = self.0.values().filter(|place| place.name.region == text);
        if let Some(place) = named {
            return Ok(place);
        }
        if let (Some(place), None) = (of_region.next(), of_region.next()) {
            return Ok(place);
        }
        if let Some((cloud_name, _)) = text.split_once(':') {
            cloud(cloud_name)?;
        }
        Err(self.unknown(text))
    }

    /// The error about a name that no place has.
    pub fn unknown(&self, text: &str) -> MeshError {
        let names: Vec<String> = self
            .0
            .keys()
            .map(|name| {
                if text.contains(':') {
                    name.to_string()
                } else {
                    name.region.clone()
                }
            })
            .collect();
        let suggestion = nearest(text, names.iter().map(String::as_str))
            .map(|name| format!(": did you mean '{name}'?"))
            .unwrap_or_default();
        MeshError::UnknownPlace {
            name: shown(text),
            suggestion,
        }
    }

    /// Places with coordinates, those of `clouds` only if there are any, by their distance in metres from `point`.
    pub fn near(&self, point: Coordinates, clouds: &[&str]) -> Vec<(&Place, f64)> {
        let mut found: Vec<(&Place, f64)> = self
            .iter()
            .filter(|place| clouds.is_empty() || clouds.contains(&place.name.cloud.as_str()))
            .filter_map(|place| Some((place, place.coordinates?.distance_m(point))))
            .collect();
        found.sort_by(|one, other| one.1.total_cmp(&other.1));
        found
    }
}

/// A row of `data/places.csv`.
fn place_of(row: &csv::StringRecord) -> Option<Place> {
    let cell = |index: usize| row.get(index).map(str::to_owned);
    let others = cell(9)?;
    Some(Place {
        name: PlaceName::new(&cell(0)?, &cell(1)?),
        title: cell(2)?,
        city: cell(3)?,
        country: cell(4)?,
        area: cell(5)?,
        coordinates: Some(Coordinates::new(cell(6)?.parse().ok()?, cell(7)?.parse().ok()?)?),
        source: cell(8)?,
        others: others
            .split("; ")
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> &'static Place {
        Places::known().find(name).unwrap()
    }

    #[test]
    fn every_row_of_the_table_is_a_place_with_its_source_and_area() {
        let rows = TABLE.lines().count() - 1;
        assert_eq!(Places::known().iter().count(), rows);
        for cloud in CLOUDS {
            let regions = Places::known()
                .iter()
                .filter(|place| place.name.cloud == cloud)
                .count();
            assert!(regions >= 30, "{cloud} has {regions}");
        }
        for place in Places::known().iter() {
            assert!(
                ["na", "sa", "eu", "as", "oc", "me", "af"].contains(&place.area.as_str()),
                "{place:?}"
            );
            assert!(
                ["cri", "gazetteer", "intercloud", "town"].contains(&place.source.as_str()),
                "{place:?}"
            );
        }
    }

    #[test]
    fn places_are_where_their_cities_are() {
        // City coordinates of GeoNames, to 0.3 degrees.
        for (name, latitude, longitude) in [
            ("aws:eu-central-1", 50.116, 8.684),
            ("gcp:southamerica-east1", -23.533, -46.792),
            ("gcp:northamerica-northeast1", 45.509, -73.588),
            ("azure:japaneast", 35.690, 139.692),
            ("oracle:us-ashburn-1", 39.044, -77.488),
            ("oracle:af-johannesburg-1", -26.202, 28.044),
        ] {
            let found = known(name).coordinates.unwrap();
            let near = (found.latitude - latitude).abs() < 0.3 && (found.longitude - longitude).abs() < 0.3;
            assert!(near, "{name}: {found:?}");
        }
    }

    #[test]
    fn disagreements_of_sources_are_kept() {
        let sao_paulo = known("gcp:southamerica-east1");
        assert!(
            sao_paulo
                .others
                .iter()
                .any(|other| other == "intercloud -23.04 2.12 4971km"),
            "{sao_paulo:?}"
        );
    }

    #[test]
    fn a_place_is_found_by_any_name_of_its_cloud_or_by_a_region_that_one_cloud_has() {
        assert_eq!(
            known("google:us-central1").name,
            PlaceName::new("gcp", "us-central1")
        );
        assert_eq!(known("AWS:us-east-1").name, PlaceName::new("aws", "us-east-1"));
        assert_eq!(known("westeurope").name.to_string(), "azure:westeurope");
        let error = Places::known().find("aws:us-esat-1").unwrap_err().to_string();
        assert!(error.contains("did you mean 'aws:us-east-1'?"), "{error}");
        let error = Places::known().find("awz:us-east-1").unwrap_err();
        assert_eq!(error, MeshError::UnknownCloud { name: "awz".into() });
        let error = Places::known().find("\u{1b}[31mcellar").unwrap_err().to_string();
        assert!(
            !error.contains('\u{1b}') && !error.contains("did you mean"),
            "{error}"
        );
    }

    #[test]
    fn the_nearest_place_comes_first() {
        let amsterdam = Coordinates::new(52.37, 4.90).unwrap();
        let near = Places::known().near(amsterdam, &["azure"]);
        assert_eq!(near[0].0.name.region, "westeurope");
        assert!(near[0].1 < 5_000.0 && near.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        assert!(near.iter().all(|(place, _)| place.name.cloud == "azure"));
    }

    #[test]
    fn odd_names_are_refused() {
        for bad in ["", ":", "aws:", "-x", "a b", "a;b", "aws:a:b", &"x".repeat(65)] {
            assert!(PlaceName::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(PlaceName::parse("cellar").unwrap().to_string(), "cellar");
    }
}
