//! The private side of a launch: each region's network and its range, MTUs, and which networks are joined to which. It knows
//! names and numbers, not how a cloud makes a network.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Launch;
use crate::MeshError;
use crate::fault::shown;
use crate::place::PlaceName;
use crate::regions::network_of;

/// Second byte of the first network's range.
const FIRST: usize = 77;

/// MTU of the machines' interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mtu {
    /// This number of bytes.
    Bytes(u16),
    /// The largest that a cloud's networks carry.
    Largest,
}

impl Mtu {
    /// In a cloud, bytes: AWS and Google by `vitals.csv`, Oracle likewise; on Azure the largest that the background's authors
    /// could set.
    pub fn bytes(self, cloud: &str) -> u16 {
        match (self, cloud) {
            (Mtu::Bytes(bytes), _) => bytes,
            (Mtu::Largest, "aws") => 9001,
            (Mtu::Largest, "gcp") => 8896,
            (Mtu::Largest, "azure") => 4036,
            (Mtu::Largest, _) => 9000,
        }
    }
}

impl FromStr for Mtu {
    type Err = MeshError;

    fn from_str(text: &str) -> Result<Self, MeshError> {
        match text.parse() {
            _ if text == "largest" => Ok(Mtu::Largest),
            Ok(bytes @ 576..=9216) => Ok(Mtu::Bytes(bytes)),
            _ => Err(MeshError::BadForm {
                text: shown(text),
                what: "packet size",
                form: "write bytes from 576 to 9216, or largest",
            }),
        }
    }
}

/// How the machines of a region are placed beside each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// As the cloud likes.
    #[default]
    Any,
    /// Close to each other: a placement group; on Oracle's cloud one fault domain.
    Close,
    /// Where no fault of a rack takes two of them: a spread group, an availability set, fault domains.
    Apart,
}

/// A region's network once it is made, as the engine reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Its cloud's name for it.
    pub id: String,
    /// Connections that were begun from its side, by the place that they lead to.
    #[serde(default)]
    pub links: BTreeMap<String, String>,
}

impl Launch {
    /// Networks that are joined have the same name: their machines reach each other's private addresses.
    pub(super) fn network(&self, place: &PlaceName) -> String {
        network_of(place, self.peering)
    }

    /// The first 16 bits of a place's addresses: each place has its own, so that networks can be joined.
    fn prefix(&self, place: &PlaceName) -> String {
        let number = self.zones.keys().position(|other| other == place).unwrap_or(0);
        // A launch has at most as many places as machines, which are fewer than 256.
        format!("10.{}", (FIRST + number) % 256)
    }

    /// All addresses of a place's network.
    pub(super) fn range(&self, place: &PlaceName) -> String {
        format!("{}.0.0/16", self.prefix(place))
    }

    /// The range of one of its subnets, from 0 to 15.
    pub(super) fn subnet(&self, place: &PlaceName, number: usize) -> String {
        format!("{}.{}.0/20", self.prefix(place), number * 16)
    }

    /// The networks that are to be joined to this place's, as far as they are made.
    pub(super) fn peers(&self, place: &PlaceName) -> Vec<(&PlaceName, &Network)> {
        let others = self.networks.iter();
        others
            .filter(|(other, _)| self.peering && other.cloud == place.cloud && *other != place)
            .collect()
    }

    /// The connection between two places, which the first of both by name begins; none before it was begun.
    pub(super) fn link(&self, one: &PlaceName, other: &PlaceName) -> Option<&str> {
        let (first, second) = (one.min(other), one.max(other));
        let links = &self.networks.get(first)?.links;
        links.get(&second.to_string()).map(String::as_str)
    }

    /// Ranges from which machines of joined networks come, that of the place's own first.
    pub(super) fn private_ranges(&self, place: &PlaceName) -> Vec<String> {
        let peers = self.peers(place).into_iter().map(|(peer, _)| self.range(peer));
        std::iter::once(self.range(place)).chain(peers).collect()
    }

    /// Whether a cloud's connections have to be begun on one side before the other side can take them.
    pub fn has_two_sides(&self) -> bool {
        let clouds = self.networks.keys();
        self.peering
            && clouds
                .into_iter()
                .any(|place| ["aws", "oracle"].contains(&place.cloud.as_str()))
    }
}

/// The name of what leads to a place, in the engine's configuration.
pub(super) fn to(place: &PlaceName) -> String {
    format!("to-{}", place.region)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::Zone;

    #[test]
    fn an_mtu_is_a_number_or_that_of_the_cloud() {
        assert_eq!("1460".parse::<Mtu>().unwrap().bytes("aws"), 1460);
        let largest: Mtu = "largest".parse().unwrap();
        let all = ["aws", "gcp", "azure", "oracle"].map(|cloud| largest.bytes(cloud));
        assert_eq!(all, [9001, 8896, 4036, 9000]);
        for bad in ["", "575", "9217", "jumbo", "-1"] {
            assert!(bad.parse::<Mtu>().is_err(), "{bad}");
        }
    }

    #[test]
    fn places_have_ranges_of_their_own_and_peers_of_their_cloud_only() {
        let [one, two, far] =
            ["aws:eu-west-1", "aws:us-east-1", "gcp:us-east1"].map(|name| PlaceName::parse(name).unwrap());
        let zones = [&one, &two, &far].map(|place| (place.clone(), vec![Zone::Any]));
        let networks = [&one, &two, &far].map(|place| (place.clone(), Network::default()));
        let mut launch = Launch {
            peering: true,
            zones: zones.into(),
            networks: networks.into(),
            ..Launch::default()
        };
        assert_eq!(launch.private_ranges(&one), ["10.77.0.0/16", "10.78.0.0/16"]);
        assert_eq!(launch.private_ranges(&far), ["10.79.0.0/16"]);
        assert_eq!(launch.subnet(&two, 15), "10.78.240.0/20");
        assert_eq!(
            (launch.network(&one), launch.network(&two)),
            ("aws".into(), "aws".into())
        );
        // The first by name has begun it; both find it.
        assert_eq!(launch.link(&two, &one), None);
        let links = [("aws:us-east-1".to_owned(), "pcx-1".to_owned())].into();
        launch.networks.insert(
            one.clone(),
            Network {
                id: "vpc-1".into(),
                links,
            },
        );
        assert_eq!(
            (launch.link(&two, &one), launch.link(&one, &two)),
            (Some("pcx-1"), Some("pcx-1"))
        );
        launch.peering = false;
        assert_eq!(launch.private_ranges(&one), ["10.77.0.0/16"]);
        assert_eq!(launch.network(&one), "aws:eu-west-1");
    }
}
