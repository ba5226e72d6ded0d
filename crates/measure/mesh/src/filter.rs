//! Which pairs a user wants tested, and how that is written. It knows places, not hosts or schedules.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::MeshError;
use crate::distance::Metres;
use crate::fault::shown;
use crate::place::{PlaceName, Places, cloud, is_word};

/// One end of a pair: a place, or one of its zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The place.
    pub place: PlaceName,
    /// Its zone, by the cloud's name or by a number: the first, the second. None stands for all of them.
    pub zone: Option<String>,
}

impl End {
    /// Whether something in this place and zone is meant.
    pub fn holds(&self, place: &PlaceName, zone: &str) -> bool {
        self.place == *place && self.zone.as_ref().is_none_or(|of_this| of_this == zone)
    }
}

impl FromStr for End {
    type Err = MeshError;

    /// From a place as users write it; with its zone as `PLACE/ZONE`, or as AWS and Google Cloud name zones.
    fn from_str(text: &str) -> Result<End, MeshError> {
        if let Some((place, zone)) = text.split_once('/') {
            if !is_word(zone) {
                return Err(MeshError::BadForm {
                    text: shown(text),
                    what: "zone of a place",
                    form: "PLACE/ZONE, as in aws:us-east-1/us-east-1a, or aws:us-east-1/2 for its second zone",
                });
            }
            return Ok(End {
                place: place_of(place)?,
                zone: Some(zone.to_owned()),
            });
        }
        let place = place_of(text)?;
        if let (None, Some(region)) = (Places::known().get(&place), region_of_zone(&place)) {
            return Ok(End {
                place: region,
                zone: Some(place.region),
            });
        }
        Ok(End { place, zone: None })
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.zone {
            Some(zone) => write!(f, "{}/{zone}", self.place),
            None => write!(f, "{}", self.place),
        }
    }
}

/// A place that is known, also by its region alone where one cloud has that; else a name of the user's own.
fn place_of(text: &str) -> Result<PlaceName, MeshError> {
    match Places::known().find(text) {
        Ok(place) => Ok(place.name.clone()),
        Err(_) => PlaceName::parse(text),
    }
}

/// The region of a name such as `us-east-1a` (AWS) or `us-central1-b` (Google Cloud).
fn region_of_zone(zone: &PlaceName) -> Option<PlaceName> {
    let letter = |c: char| c.is_ascii_lowercase();
    let region = zone.region.strip_suffix(letter)?;
    let region = match zone.cloud.as_str() {
        "aws" => region,
        "gcp" => region.strip_suffix('-')?,
        _ => return None,
    };
    let name = PlaceName::new(&zone.cloud, region);
    Places::known().get(&name).map(|place| place.name.clone())
}

/// `FROM->TO`, each a place or a zone of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactPair {
    /// Where the client is.
    pub from: End,
    /// Where the agent is.
    pub to: End,
}

impl ExactPair {
    /// Whether it says which zones.
    pub fn names_zones(&self) -> bool {
        self.from.zone.is_some() || self.to.zone.is_some()
    }
}

impl FromStr for ExactPair {
    type Err = MeshError;

    fn from_str(text: &str) -> Result<ExactPair, MeshError> {
        let (from, to) = ends(text).ok_or_else(|| MeshError::BadForm {
            text: shown(text),
            what: "pair of places",
            form: "FROM->TO, as in 'aws:us-east-1->gcp:us-central1'",
        })?;
        Ok(ExactPair {
            from: from.parse()?,
            to: to.parse()?,
        })
    }
}

/// `FROM->TO`, each a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudPair {
    /// The client's cloud.
    pub from: String,
    /// The agent's cloud.
    pub to: String,
}

impl FromStr for CloudPair {
    type Err = MeshError;

    fn from_str(text: &str) -> Result<CloudPair, MeshError> {
        let (from, to) = ends(text).ok_or_else(|| MeshError::BadForm {
            text: shown(text),
            what: "pair of clouds",
            form: "FROM->TO, as in 'aws->gcp'",
        })?;
        Ok(CloudPair {
            from: cloud(from)?.to_owned(),
            to: cloud(to)?.to_owned(),
        })
    }
}

fn ends(text: &str) -> Option<(&str, &str)> {
    let (from, to) = text.split_once("->")?;
    let (from, to) = (from.trim(), to.trim());
    (!from.is_empty() && !to.is_empty()).then_some((from, to))
}

/// How far apart the two ends of a pair are at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Apart {
    /// In two regions: one host of each takes part.
    #[default]
    Regions,
    /// In two zones, which may be of one region: one host of each takes part.
    Zones,
    /// Two hosts, wherever they are: all take part.
    Hosts,
}

/// Key of a test's details that names its [`Over`].
pub const ADDRESSES: &str = "addresses";

/// Addresses of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// Those that all hosts reach.
    #[default]
    Public,
    /// Those that hosts of one network reach.
    Private,
}

impl Over {
    /// That of a test, by its details.
    pub fn of(details: &Value) -> Over {
        if details[ADDRESSES] == Over::Private.as_str() {
            Over::Private
        } else {
            Over::Public
        }
    }

    /// As it is written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Over::Public => "public",
            Over::Private => "private",
        }
    }
}

/// Over which addresses hosts of one network are tested. All others are tested over public ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addresses {
    /// Private ones.
    #[default]
    Private,
    /// Public ones.
    Public,
    /// Each pair over both, one test each.
    Both,
}

impl Addresses {
    /// The tests of a pair whose hosts are in one network, or in two.
    pub fn of_pair(self, is_one_network: bool) -> &'static [Over] {
        match self {
            Addresses::Private if is_one_network => &[Over::Private],
            Addresses::Both if is_one_network => &[Over::Private, Over::Public],
            _ => &[Over::Public],
        }
    }
}

/// What the user asked for; what is empty or none restricts nothing.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// These pairs and no others.
    pub pairs: Vec<ExactPair>,
    /// Both ends in one of these clouds.
    pub clouds: Vec<String>,
    /// Between these clouds, in this direction.
    pub cloud_pairs: Vec<CloudPair>,
    /// Least distance.
    pub min_distance: Option<Metres>,
    /// Largest distance.
    pub max_distance: Option<Metres>,
    /// Most regions that take part.
    pub max_regions: Option<usize>,
    /// How far apart the two ends of a pair are at least.
    pub apart: Apart,
    /// One direction of each pair.
    pub one_way: bool,
    /// Regions that accounts have only after opting in, too, where no hosts file says which there are.
    pub all_regions: bool,
    /// Networks of a cloud's regions are joined, where no hosts file says which there are.
    pub peering: bool,
    /// Over which addresses hosts of one network are tested.
    pub addresses: Addresses,
    /// Pairs that the database has tests of too.
    pub again: bool,
    /// Most tests.
    pub max_tests: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_as_people_write_them() {
        let pair: ExactPair = "AWS:us-east-1 -> google:us-central1".parse().unwrap();
        assert_eq!(pair.from.place, PlaceName::new("aws", "us-east-1"));
        assert_eq!(pair.to.place, PlaceName::new("gcp", "us-central1"));
        assert!(!pair.names_zones());
        let clouds: CloudPair = "aws->oci".parse().unwrap();
        assert_eq!((clouds.from.as_str(), clouds.to.as_str()), ("aws", "oracle"));
        for bad in [
            "aws:us-east-1",
            "->",
            "aws:->gcp:x",
            "a b->c",
            "aws:us-east-1/->cellar",
        ] {
            let error = bad.parse::<ExactPair>().unwrap_err().to_string();
            assert!(error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn an_end_may_be_a_zone_by_the_names_of_its_cloud_or_by_number() {
        for (text, end) in [
            ("aws:us-east-1a", "aws:us-east-1/us-east-1a"),
            ("google:us-central1-b", "gcp:us-central1/us-central1-b"),
            ("aws:us-east-1/use1-az4", "aws:us-east-1/use1-az4"),
            ("azure:westeurope/3", "azure:westeurope/3"),
            ("cellar/left", "cellar/left"),
            // No zones: a region, one by its name alone, and names that are nearly zones of regions.
            ("aws:us-east-1", "aws:us-east-1"),
            ("westeurope", "azure:westeurope"),
            ("gcp:us-central1b", "gcp:us-central1b"),
            ("aws:us-esat-1a", "aws:us-esat-1a"),
            ("cellara", "cellara"),
        ] {
            assert_eq!(text.parse::<End>().unwrap().to_string(), end);
        }
        let zone: End = "aws:us-east-1a".parse().unwrap();
        let east = PlaceName::new("aws", "us-east-1");
        assert!(zone.holds(&east, "us-east-1a") && !zone.holds(&east, "us-east-1b"));
        let region: End = "aws:us-east-1".parse().unwrap();
        assert!(region.holds(&east, "us-east-1a") && region.holds(&east, ""));
    }
}
