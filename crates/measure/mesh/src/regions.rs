//! Ends of tests where no hosts file says which there are: machines that could be launched, by region and zone. Pure; it
//! knows filters and the table of places, not clouds.

use std::collections::{BTreeMap, BTreeSet};

use crate::MeshError;
use crate::access::Access;
use crate::fault::shown;
use crate::filter::{Apart, Filters};
use crate::place::{Place, PlaceName, Places};
use crate::select::Node;

/// Most machines of one region: AWS's network has room for that many subnets.
pub const MOST_OF_A_REGION: u16 = 16;

/// The network of a launched machine: one of its region, or with peering one of its cloud.
pub fn network_of(place: &PlaceName, peering: bool) -> String {
    if peering {
        place.cloud.clone()
    } else {
        place.to_string()
    }
}

/// The machines of the regions that the filters leave, without those that accounts do not have (named ones are taken): those
/// zones that pairs name, else `machines` of each region, by zones each in a zone of its own, which is a number then.
///
/// # Errors
/// When a pair names a place that is not known.
pub fn nodes_of_regions(filters: &Filters, machines: u16, places: &Places) -> Result<Vec<Node>, MeshError> {
    if filters.pairs.is_empty() {
        let nodes =
            wanted(filters, places).flat_map(|place| nodes_of(place, &BTreeSet::new(), filters, machines));
        return Ok(nodes.collect());
    }
    let mut zones: BTreeMap<&PlaceName, BTreeSet<&str>> = BTreeMap::new();
    for end in filters.pairs.iter().flat_map(|pair| [&pair.from, &pair.to]) {
        zones.entry(&end.place).or_default().extend(end.zone.as_deref());
    }
    let mut nodes = Vec::new();
    for (name, zones) in &zones {
        let place = places
            .get(name)
            .ok_or_else(|| places.unknown(&name.to_string()))?;
        nodes.extend(nodes_of(place, zones, filters, machines));
    }
    Ok(nodes)
}

fn wanted<'p>(filters: &Filters, places: &'p Places) -> impl Iterator<Item = &'p Place> {
    let in_a_pair = |cloud: &str| {
        let mut pairs = filters.cloud_pairs.iter();
        filters.cloud_pairs.is_empty() || pairs.any(|pair| pair.from == cloud || pair.to == cloud)
    };
    places
        .iter()
        .filter(|place| filters.clouds.is_empty() || filters.clouds.contains(&place.name.cloud))
        .filter(move |place| in_a_pair(&place.name.cloud))
        .filter(|place| match Access::to(&place.name) {
            Access::Everyone => true,
            Access::OptIn => filters.all_regions,
            Access::Separate => false,
        })
}

fn nodes_of(place: &Place, zones: &BTreeSet<&str>, filters: &Filters, machines: u16) -> Vec<Node> {
    let node = |name: String, zone: String| Node {
        name,
        network: network_of(&place.name, filters.peering),
        place: place.clone(),
        zone,
    };
    if !zones.is_empty() {
        return zones
            .iter()
            .map(|zone| node(format!("zone {zone}"), (*zone).to_owned()))
            .collect();
    }
    if machines < 2 || filters.apart == Apart::Regions {
        return vec![node(place.name.to_string(), String::new())];
    }
    (1..=machines)
        .map(|number| match filters.apart {
            Apart::Zones => node(format!("zone {number}"), number.to_string()),
            _ => node(format!("machine {number}"), String::new()),
        })
        .collect()
}

/// That a host is where each pair says; where none is, the name may be a typo.
///
/// # Errors
/// When none is, with the nearest place or the zones that there are.
pub fn check_pairs(filters: &Filters, nodes: &[Node], places: &Places) -> Result<(), MeshError> {
    let mut there = Places::default();
    for node in nodes {
        there.add(node.place.clone());
    }
    for end in filters.pairs.iter().flat_map(|pair| [&pair.from, &pair.to]) {
        let name = end.place.to_string();
        if there.get(&end.place).is_none() {
            let known = places.get(&end.place).map_or(places, |_| &there);
            return Err(known.unknown(&name));
        }
        let of_place = || nodes.iter().filter(|node| node.place.name == end.place);
        if of_place().any(|node| end.holds(&node.place.name, &node.zone)) {
            continue;
        }
        let zones: BTreeSet<&str> = of_place().map(|node| node.zone.as_str()).collect();
        let named: Vec<&str> = zones.into_iter().filter(|zone| !zone.is_empty()).collect();
        return Err(MeshError::UnknownZone {
            zone: shown(end.zone.as_deref().unwrap_or_default()),
            place: name,
            hosts: if named.is_empty() {
                "its hosts say no zone".into()
            } else {
                format!("there are {}", named.join(", "))
            },
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(pairs: &[&str], apart: Apart) -> Filters {
        Filters {
            pairs: pairs.iter().map(|pair| pair.parse().unwrap()).collect(),
            clouds: vec!["oracle".into()],
            apart,
            ..Filters::default()
        }
    }

    fn written(filters: &Filters, machines: u16) -> Vec<String> {
        let nodes = nodes_of_regions(filters, machines, Places::known()).unwrap();
        let write = |node: &Node| format!("{} {} [{}]", node.place.name, node.name, node.zone);
        nodes.iter().map(write).collect()
    }

    #[test]
    fn a_region_has_a_machine_or_one_for_each_zone_or_several() {
        let one = ["aws:eu-west-1->aws:eu-west-1"];
        assert_eq!(
            written(&filters(&one, Apart::Regions), 1),
            ["aws:eu-west-1 aws:eu-west-1 []"]
        );
        assert_eq!(
            written(&filters(&one, Apart::Zones), 2),
            ["aws:eu-west-1 zone 1 [1]", "aws:eu-west-1 zone 2 [2]"]
        );
        assert_eq!(
            written(&filters(&one, Apart::Hosts), 2),
            ["aws:eu-west-1 machine 1 []", "aws:eu-west-1 machine 2 []"]
        );
        // Zones that are named are all that there are; the other end needs one machine.
        let named = [
            "aws:eu-west-1a->aws:eu-west-1c",
            "aws:eu-west-1a->gcp:europe-west3",
        ];
        assert_eq!(
            written(&filters(&named, Apart::Zones), 1),
            [
                "aws:eu-west-1 zone eu-west-1a [eu-west-1a]",
                "aws:eu-west-1 zone eu-west-1c [eu-west-1c]",
                "gcp:europe-west3 gcp:europe-west3 []",
            ]
        );
        let all = Places::known()
            .iter()
            .filter(|place| place.name.cloud == "oracle");
        assert_eq!(written(&filters(&[], Apart::Zones), 3).len(), 3 * all.count());
    }

    #[test]
    fn a_zone_where_no_host_is_is_told_with_those_that_there_are() {
        let pairs = ["aws:eu-west-1a->aws:eu-west-1b"];
        let nodes = nodes_of_regions(&filters(&pairs, Apart::Zones), 1, Places::known()).unwrap();
        let error = |pair: &str, nodes: &[Node]| {
            check_pairs(&filters(&[pair], Apart::Zones), nodes, Places::known())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error("aws:eu-west-1a->aws:eu-west-1c", &nodes),
            "no host is in zone 'eu-west-1c' of aws:eu-west-1: there are eu-west-1a, eu-west-1b"
        );
        assert!(error("aws:eu-west-1->aws:eu-west-2", &nodes).contains("did you mean 'aws:eu-west-1'?"));
        let mut silent = nodes;
        silent.iter_mut().for_each(|node| node.zone.clear());
        assert!(error("aws:eu-west-1a->aws:eu-west-1b", &silent).ends_with("its hosts say no zone"));
    }
}
