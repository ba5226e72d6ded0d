//! Which pairs a user wants tested, and how that is written. It knows places, not hosts or schedules.

use std::str::FromStr;

use crate::MeshError;
use crate::distance::Metres;
use crate::fault::shown;
use crate::place::{PlaceName, cloud};

/// `FROM->TO`, each a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactPair {
    /// Where the client is.
    pub from: PlaceName,
    /// Where the agent is.
    pub to: PlaceName,
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
            from: PlaceName::parse(from)?,
            to: PlaceName::parse(to)?,
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
    /// Pairs of zones too, also within a region; else one host of each region takes part.
    pub zones: bool,
    /// One direction of each pair.
    pub one_way: bool,
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
        assert_eq!(pair.from, PlaceName::new("aws", "us-east-1"));
        assert_eq!(pair.to, PlaceName::new("gcp", "us-central1"));
        let clouds: CloudPair = "aws->oci".parse().unwrap();
        assert_eq!((clouds.from.as_str(), clouds.to.as_str()), ("aws", "oracle"));
        for bad in ["aws:us-east-1", "->", "aws:->gcp:x", "a b->c"] {
            let error = bad.parse::<ExactPair>().unwrap_err().to_string();
            assert!(error.lines().count() == 1, "{error}");
        }
    }
}
