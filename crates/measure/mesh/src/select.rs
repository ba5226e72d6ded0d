//! From hosts and filters to the pairs that are tested, in the order of their worth: least tested first, clouds
//! interleaved. Pure; it knows hosts by their place and zone only.

use std::collections::{BTreeMap, BTreeSet};

use crate::MeshError;
use crate::filter::{Apart, End, Filters};
use crate::place::{Place, PlaceName};
use crate::rounds::Pair;

/// Something that can be one end of a test: a host, or a region in which there could be one.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The host's name, or the region's where there is no host yet.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// Its zone; may be empty.
    pub zone: String,
    /// The network in which others reach it at a private address; may be empty.
    pub network: String,
}

impl Node {
    /// Whether it reaches another at its private address.
    pub fn is_in_network_of(&self, other: &Node) -> bool {
        !self.network.is_empty() && self.network == other.network
    }
}

/// How often each pair of places was tested with success.
pub type Tested = BTreeMap<(PlaceName, PlaceName), u64>;

/// The pairs to test, the first first.
///
/// # Errors
/// When there is nothing to test: which filter removed the last pairs.
pub fn select(nodes: &[Node], filters: &Filters, tested: &Tested) -> Result<Vec<Pair>, MeshError> {
    let kept = taking_part(nodes, filters, tested);
    if kept.len() < 2 {
        return Err(MeshError::TooFewPlaces { places: kept.len() });
    }
    let mut pairs = Pairs {
        nodes,
        pairs: kept
            .iter()
            .flat_map(|from| kept.iter().map(move |to| (*from, *to)))
            .filter(|(from, to)| from != to && apart(&nodes[*from], &nodes[*to], filters.apart))
            .collect(),
    };
    if pairs.pairs.is_empty() {
        return Err(MeshError::TooFewPlaces { places: 1 });
    }
    apply(&mut pairs, filters, tested)?;
    let mut ordered = in_order(pairs.pairs, nodes, tested);
    if filters.one_way {
        ordered = one_way(ordered);
    }
    ordered.truncate(filters.max_tests.unwrap_or(usize::MAX));
    Ok(ordered)
}

/// Two hosts are a pair where their regions differ, or, by zones, their zones, or in any case.
fn apart(one: &Node, other: &Node, least: Apart) -> bool {
    one.place.name != other.place.name
        || match least {
            Apart::Regions => false,
            Apart::Zones => one.zone != other.zone,
            Apart::Hosts => true,
        }
}

/// The hosts that take part: one of each region, or of each zone, or all, of as many regions as are wanted.
fn taking_part(nodes: &[Node], filters: &Filters, tested: &Tested) -> Vec<usize> {
    let named: Vec<&End> = filters
        .pairs
        .iter()
        .flat_map(|pair| [&pair.from, &pair.to])
        .collect();
    let is_named = |node: &Node| named.iter().any(|end| end.holds(&node.place.name, &node.zone));
    let mut seen = BTreeSet::new();
    let mut kept: Vec<usize> = (0..nodes.len())
        .filter(|index| {
            let node = &nodes[*index];
            let zone = match filters.apart {
                Apart::Regions => "",
                Apart::Zones | Apart::Hosts => node.zone.as_str(),
            };
            let is_first = seen.insert((node.place.name.clone(), zone));
            (named.is_empty() || is_named(node)) && (is_first || filters.apart == Apart::Hosts)
        })
        .collect();
    let Some(most) = filters.max_regions else {
        return kept;
    };
    let regions = regions_by_worth(&kept, nodes, filters, tested);
    let chosen: BTreeSet<&PlaceName> = regions.into_iter().take(most).collect();
    kept.retain(|index| chosen.contains(&nodes[*index].place.name));
    kept
}

/// Regions of the wanted clouds, those least tested first, clouds in turn.
fn regions_by_worth<'n>(
    kept: &[usize],
    nodes: &'n [Node],
    filters: &Filters,
    tested: &Tested,
) -> Vec<&'n PlaceName> {
    let mut tests: BTreeMap<&PlaceName, u64> = BTreeMap::new();
    for ((from, to), count) in tested {
        for name in [from, to] {
            *tests.entry(name).or_default() += count;
        }
    }
    let mut clouds: BTreeMap<&str, Vec<(u64, &PlaceName)>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for index in kept {
        let name = &nodes[*index].place.name;
        let wanted = filters.clouds.is_empty() || filters.clouds.contains(&name.cloud);
        if wanted && seen.insert(name) {
            let count = tests.get(name).copied().unwrap_or(0);
            clouds.entry(&name.cloud).or_default().push((count, name));
        }
    }
    let queues = clouds.into_values().map(|mut queue| {
        queue.sort_by_key(|(count, _)| *count);
        queue.into_iter().map(|(_, name)| name).collect()
    });
    in_turn(queues.collect())
}

/// The first of each queue, then the second of each, and so on.
fn in_turn<T>(queues: Vec<Vec<T>>) -> Vec<T> {
    let mut queues: Vec<_> = queues.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(queues.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

struct Pairs<'n> {
    nodes: &'n [Node],
    pairs: Vec<Pair>,
}

impl Pairs<'_> {
    fn keep(
        &mut self,
        filter: impl FnOnce() -> String,
        advice: &'static str,
        holds: impl Fn(&Node, &Node) -> bool,
    ) -> Result<(), MeshError> {
        let before = self.pairs.len();
        let nodes = self.nodes;
        self.pairs.retain(|(from, to)| holds(&nodes[*from], &nodes[*to]));
        if self.pairs.is_empty() {
            return Err(MeshError::NothingLeft {
                filter: filter(),
                removed: before,
                advice,
            });
        }
        Ok(())
    }
}

fn apply(pairs: &mut Pairs<'_>, filters: &Filters, tested: &Tested) -> Result<(), MeshError> {
    let Filters {
        pairs: exact,
        clouds,
        cloud_pairs,
        ..
    } = filters;
    if !exact.is_empty() {
        pairs.keep(
            || "--pair".into(),
            "name places of hosts",
            |from, to| {
                exact.iter().any(|pair| {
                    pair.from.holds(&from.place.name, &from.zone) && pair.to.holds(&to.place.name, &to.zone)
                })
            },
        )?;
    }
    if !clouds.is_empty() {
        pairs.keep(
            || format!("--cloud {}", clouds.join(",")),
            "name clouds of hosts",
            |from, to| clouds.contains(&from.place.name.cloud) && clouds.contains(&to.place.name.cloud),
        )?;
    }
    if !cloud_pairs.is_empty() {
        pairs.keep(
            || "--cloud-pair".into(),
            "name clouds of hosts",
            |from, to| {
                cloud_pairs
                    .iter()
                    .any(|pair| pair.from == from.place.name.cloud && pair.to == to.place.name.cloud)
            },
        )?;
    }
    // A pair whose distance is not known is neither near nor far.
    let distance = |from: &Node, to: &Node| from.place.distance_m(&to.place);
    if let Some(least) = filters.min_distance {
        pairs.keep(
            || format!("--min-distance {:.0}km", least.0 / 1e3),
            "lower it",
            |from, to| distance(from, to).is_some_and(|metres| metres >= least.0),
        )?;
    }
    if let Some(most) = filters.max_distance {
        pairs.keep(
            || format!("--max-distance {:.0}km", most.0 / 1e3),
            "raise it",
            |from, to| distance(from, to).is_some_and(|metres| metres <= most.0),
        )?;
    }
    if !filters.again {
        pairs.keep(
            || "the filter of tested pairs".into(),
            "repeat tested pairs with --again",
            |from, to| !tested.contains_key(&(from.place.name.clone(), to.place.name.clone())),
        )?;
    }
    Ok(())
}

/// Least tested first; among those, each pair of clouds in turn.
fn in_order(pairs: Vec<Pair>, nodes: &[Node], tested: &Tested) -> Vec<Pair> {
    let mut by_tests: BTreeMap<u64, BTreeMap<(&str, &str), Vec<Pair>>> = BTreeMap::new();
    for pair in pairs {
        let (from, to) = (&nodes[pair.0].place.name, &nodes[pair.1].place.name);
        let count = if tested.is_empty() {
            0
        } else {
            tested.get(&(from.clone(), to.clone())).copied().unwrap_or(0)
        };
        by_tests
            .entry(count)
            .or_default()
            .entry((&from.cloud, &to.cloud))
            .or_default()
            .push(pair);
    }
    by_tests
        .into_values()
        .flat_map(|clouds| in_turn(clouds.into_values().collect()))
        .collect()
}

/// Of each two directions the one that comes first; between regions of one cloud, where that would always be the same
/// end, hosts take turns.
fn one_way(pairs: Vec<Pair>) -> Vec<Pair> {
    let both: BTreeSet<Pair> = pairs.iter().copied().collect();
    let mut seen = BTreeSet::new();
    pairs
        .into_iter()
        .filter(|(from, to)| {
            let ends = (*from.min(to), *from.max(to));
            if !both.contains(&(*to, *from)) {
                return seen.insert(ends);
            }
            let upwards = (from + to) % 2 == 0;
            (upwards == (from < to)) && seen.insert(ends)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::Metres;
    use crate::place::Places;

    fn nodes(names: &[&str]) -> Vec<Node> {
        let node = |name: &&str| {
            let (place, zone) = name.split_once('/').unwrap_or((name, ""));
            Node {
                name: name.replace([':', '/'], "-"),
                place: Places::known().find(place).unwrap().clone(),
                zone: zone.to_owned(),
                network: String::new(),
            }
        };
        names.iter().map(node).collect()
    }

    fn filters(change: impl FnOnce(&mut Filters)) -> Filters {
        let mut filters = Filters::default();
        change(&mut filters);
        filters
    }

    fn chosen(nodes: &[Node], filters: &Filters, tested: &Tested) -> Vec<String> {
        let pairs = select(nodes, filters, tested).unwrap_or_else(|error| panic!("{error}"));
        let name = |pair: &Pair| format!("{}->{}", nodes[pair.0].place.name, nodes[pair.1].place.name);
        pairs.iter().map(name).collect()
    }

    fn four() -> Vec<Node> {
        nodes(&[
            "aws:eu-west-1",
            "aws:us-east-1",
            "gcp:us-central1",
            "azure:westeurope",
        ])
    }

    #[test]
    fn without_filters_every_pair_is_tested_in_both_directions_with_clouds_in_turn() {
        let pairs = chosen(&four(), &Filters::default(), &Tested::new());
        assert_eq!(pairs.len(), 12);
        let clouds: BTreeSet<String> = pairs
            .iter()
            .take(7)
            .map(|pair| {
                let (from, to) = pair.split_once("->").unwrap();
                format!(
                    "{}->{}",
                    from.split(':').next().unwrap(),
                    to.split(':').next().unwrap()
                )
            })
            .collect();
        assert_eq!(
            clouds.len(),
            7,
            "each pair of clouds once before any twice: {pairs:?}"
        );
    }

    #[test]
    fn filters_keep_what_they_say() {
        let only = |change: fn(&mut Filters)| chosen(&four(), &filters(change), &Tested::new());
        let pair = only(|filters| filters.pairs = vec!["gcp:us-central1->aws:eu-west-1".parse().unwrap()]);
        assert_eq!(pair, ["gcp:us-central1->aws:eu-west-1"]);
        let found = only(|filters| filters.cloud_pairs = vec!["gcp->aws".parse().unwrap()]);
        assert!(found.len() == 2 && found.iter().all(|pair| pair.starts_with("gcp:us-central1->aws:")));
        let found = only(|filters| filters.max_regions = Some(3));
        let has = |cloud: &str| found.iter().any(|pair| pair.contains(cloud));
        assert!(found.len() == 6 && ["aws:", "gcp:", "azure:"].into_iter().all(has));
        assert_eq!(only(|filters| filters.clouds = vec!["aws".to_owned()]).len(), 2);
        // Dublin and Amsterdam are 760 km apart, all others more than 1,000.
        assert_eq!(only(|filters| filters.max_distance = Some(Metres(1e6))).len(), 2);
        assert_eq!(only(|filters| filters.min_distance = Some(Metres(1e6))).len(), 10);
        assert_eq!(only(|filters| filters.one_way = true).len(), 6);
        assert_eq!(only(|filters| filters.max_tests = Some(5)).len(), 5);
    }

    #[test]
    fn zones_are_tested_within_a_region_when_asked_for() {
        let hosts = nodes(&[
            "aws:eu-west-1/a",
            "aws:eu-west-1/b",
            "aws:eu-west-1/b",
            "gcp:us-central1/a",
        ]);
        assert_eq!(chosen(&hosts, &Filters::default(), &Tested::new()).len(), 2);
        let zones = filters(|filters| filters.apart = Apart::Zones);
        assert_eq!(chosen(&hosts, &zones, &Tested::new()).len(), 6);
        // All hosts, also the two of one zone.
        let every = filters(|filters| filters.apart = Apart::Hosts);
        assert_eq!(chosen(&hosts, &every, &Tested::new()).len(), 12);
    }

    #[test]
    fn a_pair_of_zones_is_that_pair_and_no_other() {
        let hosts = nodes(&[
            "aws:us-east-1/us-east-1a",
            "aws:us-east-1/us-east-1b",
            "aws:us-east-1/us-east-1c",
            "gcp:us-central1/us-central1-a",
        ]);
        let only = |pair: &str| {
            let filters = Filters {
                pairs: vec![pair.parse().unwrap()],
                apart: Apart::Zones,
                ..Filters::default()
            };
            select(&hosts, &filters, &Tested::new()).map(|mut pairs| {
                pairs.sort_unstable();
                pairs
            })
        };
        assert_eq!(only("aws:us-east-1a->aws:us-east-1c"), Ok(vec![(0, 2)]));
        assert_eq!(
            only("aws:us-east-1->gcp:us-central1-a"),
            Ok(vec![(0, 3), (1, 3), (2, 3)])
        );
        assert!(only("aws:us-east-1a->aws:us-east-1a").is_err());
    }

    #[test]
    fn the_least_tested_come_first_and_what_is_there_is_left_out() {
        let key = |from: &str, to: &str| (PlaceName::parse(from).unwrap(), PlaceName::parse(to).unwrap());
        let tested = Tested::from([
            (key("aws:eu-west-1", "gcp:us-central1"), 5),
            (key("aws:us-east-1", "gcp:us-central1"), 2),
        ]);
        let pairs = chosen(&four(), &Filters::default(), &tested);
        assert!(pairs.len() == 10 && !pairs.contains(&"aws:eu-west-1->gcp:us-central1".to_owned()));
        let pairs = chosen(&four(), &filters(|filters| filters.again = true), &tested);
        assert_eq!(
            pairs[10..],
            ["aws:us-east-1->gcp:us-central1", "aws:eu-west-1->gcp:us-central1"]
        );
    }

    #[test]
    fn the_filter_that_removed_the_last_pair_is_named() {
        let error = |change: fn(&mut Filters), tested: &Tested| {
            select(&four(), &filters(change), tested).unwrap_err().to_string()
        };
        let none = Tested::new();
        let far = error(|filters| filters.min_distance = Some(Metres(2e7)), &none);
        assert!(far.contains("--min-distance 20000km removed the last 12 of them; lower it"));
        let clouds = error(|filters| filters.clouds = vec!["oracle".into()], &none);
        assert!(clouds.contains("--cloud oracle removed the last 12"));
        let all: Tested = four()
            .iter()
            .flat_map(|from| {
                four()
                    .into_iter()
                    .map(|to| ((from.place.name.clone(), to.place.name), 1))
            })
            .collect();
        assert!(error(|_| {}, &all).contains("--again"));
        let elsewhere = |filters: &mut Filters| {
            filters.pairs = vec!["oracle:us-ashburn-1->aws:us-east-1".parse().unwrap()];
        };
        assert!(error(elsewhere, &none).contains("too few for a pair"));
    }
}
