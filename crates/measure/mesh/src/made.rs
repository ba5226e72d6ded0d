//! A plan together with what it was made from, and what follows from both: the order of a run, and the places of a launch. It
//! must not know who asked for it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::MeshError;
use crate::cloud::record::PlaceRecord;
use crate::cloud::{Launch, Zone};
use crate::estimate::{Limits, Plan, TestShape, plan};
use crate::filter::{Filters, Over};
use crate::hosts::Host;
use crate::place::{Place, PlaceName, Places};
use crate::preset::Preset;
use crate::price::Prices;
use crate::regions::{check_pairs, nodes_of_regions};
use crate::rounds::Pair;
use crate::run::Order;
use crate::select::{Node, Tested, select};

/// What a plan is made from.
pub struct Wish<'w> {
    /// The hosts of a file; none for machines in regions.
    pub hosts: Option<Vec<Host>>,
    /// Planned number of machines per region.
    pub machines: u16,
    /// Which pairs.
    pub filters: Filters,
    /// Parts of a test.
    pub shape: TestShape,
    /// The user's limits.
    pub limits: Limits,
    /// Rate that paths are expected to carry, bits per second.
    pub expected_bps: u64,
    /// Prices.
    pub prices: &'w Prices,
    /// Number of stored tests per pair.
    pub tested: &'w Tested,
    /// The preset that it follows, if it follows one.
    pub preset: Option<Preset>,
}

/// A plan with its inputs.
#[derive(Debug)]
pub struct Made {
    /// The hosts of the file; empty where the plan is for regions.
    pub hosts: Vec<Host>,
    /// Ends of tests, indexed by pairs; those of `hosts`, if there are any.
    pub nodes: Vec<Node>,
    /// Parts of a test.
    pub shape: TestShape,
    /// The user's limits.
    pub limits: Limits,
    /// The plan.
    pub plan: Plan,
    /// Over which addresses each of the plan's pairs is tested.
    pub over: Vec<Over>,
    /// The preset that it follows, if it follows one.
    pub preset: Option<Preset>,
}

/// Tests of the pairs, some of which are made over private addresses, or over both.
fn over_addresses(nodes: &[Node], pairs: Vec<Pair>, filters: &Filters) -> (Vec<Pair>, Vec<Over>) {
    let tests = pairs.into_iter().flat_map(|(from, to)| {
        let is_one_network = nodes[from].is_in_network_of(&nodes[to]);
        let over = filters.addresses.of_pair(is_one_network).iter();
        over.map(move |over| ((from, to), *over))
    });
    tests.take(filters.max_tests.unwrap_or(usize::MAX)).unzip()
}

impl Made {
    /// Makes a plan.
    ///
    /// # Errors
    /// When no pair remains, or a pair is unknown.
    pub fn of(wish: Wish<'_>) -> Result<Made, MeshError> {
        let places = Places::known();
        let nodes = match &wish.hosts {
            Some(hosts) => hosts.iter().map(|host| host.node(places)).collect(),
            None => nodes_of_regions(&wish.filters, wish.machines, places)?,
        };
        check_pairs(&wish.filters, &nodes, places)?;
        let pairs = select(&nodes, &wish.filters, wish.tested)?;
        let (pairs, over) = over_addresses(&nodes, pairs, &wish.filters);
        let plan = plan(&nodes, pairs, &wish.shape, wish.expected_bps, wish.prices);
        Ok(Made {
            hosts: wish.hosts.unwrap_or_default(),
            nodes,
            shape: wish.shape,
            limits: wish.limits,
            plan,
            over,
            preset: wish.preset,
        })
    }

    /// Whether the plan is within the user's limits.
    ///
    /// # Errors
    /// The limit that it is above.
    pub fn check(&self) -> Result<(), MeshError> {
        self.plan.estimate.check(&self.limits)
    }

    /// The order of a run, whose folders on hosts have this word in their names.
    pub fn order(self, token: String) -> Order {
        let in_rounds = || self.plan.rounds.iter().flatten();
        Order {
            token,
            pairs: in_rounds().map(|index| self.plan.pairs[*index]).collect(),
            usd_per_gb: in_rounds().map(|index| self.plan.usd_per_gb[*index]).collect(),
            over: in_rounds().map(|index| self.over[*index]).collect(),
            strict_placement: false,
            hosts: self.hosts,
            shape: self.shape,
            limits: self.limits,
            resumes: None,
        }
    }

    /// The nodes that take part, by place.
    fn taking_part(&self) -> BTreeMap<&PlaceName, Vec<&Node>> {
        let pairs = self.plan.pairs.iter();
        let numbers: std::collections::BTreeSet<usize> = pairs.flat_map(|(from, to)| [*from, *to]).collect();
        let mut nodes: BTreeMap<&PlaceName, Vec<&Node>> = BTreeMap::new();
        for node in numbers.into_iter().map(|node| &self.nodes[node]) {
            nodes.entry(&node.place.name).or_default().push(node);
        }
        nodes
    }

    /// The zone of each machine, by place.
    pub fn zones(&self) -> BTreeMap<PlaceName, Vec<Zone>> {
        let places = self.taking_part().into_iter();
        let zones = |nodes: Vec<&Node>| nodes.iter().map(|node| Zone::of(&node.zone)).collect();
        places.map(|(name, nodes)| (name.clone(), zones(nodes))).collect()
    }

    /// The places of a launch, with the prices of its machines.
    pub fn places(&self, launch: &Launch, prices: &Prices) -> Vec<PlaceRecord> {
        let price = |place: &Place| {
            let kind = launch.machine_types.get(&place.name.cloud);
            prices.machine_hour(place, kind.map(String::as_str), launch.own.is_some())
        };
        let places = self.taking_part().into_iter();
        places
            .filter_map(|(name, nodes)| {
                // At most the maximum of a region.
                let machines = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
                let place = &nodes.first()?.place;
                Some(PlaceRecord::new(name.clone(), machines, price(place)))
            })
            .collect()
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let rounds = self.plan.rounds.iter().enumerate();
        let pairs = rounds.flat_map(|(round, pairs)| pairs.iter().map(move |index| (round, *index)));
        let pairs = pairs.map(|(round, index)| {
            let (from, to) = self.plan.pairs[index];
            let (from, to) = (&self.nodes[from], &self.nodes[to]);
            json!({
                "round": round,
                "from": from.place.name.to_string(),
                "from_host": from.name,
                "from_zone": from.zone,
                "to": to.place.name.to_string(),
                "to_host": to.name,
                "to_zone": to.zone,
                "addresses": self.over[index].as_str(),
                "distance_m": from.place.distance_m(&to.place).map(|metres| metres.round() as u64),
                "usd_per_gb": self.plan.usd_per_gb[index],
            })
        });
        let pairs: Vec<Value> = pairs.collect();
        // Plain data always serialises.
        let mut object = serde_json::to_value(&self.plan.estimate).unwrap_or_default();
        object["pairs"] = pairs.into();
        object["preset"] = json!(self.preset);
        object["cannot_show"] = json!(self.preset.map(Preset::cannot_show).unwrap_or_default());
        object
    }
}
