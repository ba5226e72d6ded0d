//! From the tables of a file to a [`LinkSpec`]: precedence, and values computed from several keys.
//!
//! A route's own setting overrides that of its direction, which overrides the common one. It must not know the text
//! form of a value.

use toml::Table;

use super::entry::{Entry, Scope};
use super::queue::QueuePath;
use super::rates::{MOST_ENTRIES, Rates, ReadTrace};
use super::settings::{
    Cap, DIRECTION_KEYS, DirectionSettings, LINK_KEYS, ROUTE_KEYS, RouteSettings, halves, mtu,
    only_one_delay, seed,
};
use crate::spec::{
    DirectionSpec, Jitter, LinkSpec, LossSpec, Mtu, RateSpec, RouteChoice, RouteSpec, SpecError, TooBig,
};

/// Maximum number of routes of a direction.
pub(super) const MOST_ROUTES: usize = 256;

/// Default MTU of the path.
const DEFAULT_MTU: u32 = 1500;

const MOST_WEIGHT: u32 = 1_000_000;

/// Settings of a table for one direction or for both.
struct Part {
    direction: DirectionSettings,
    base: RouteSettings,
    routes: Option<Vec<OneRoute>>,
}

#[derive(Clone)]
struct OneRoute {
    weight: u32,
    settings: RouteSettings,
}

/// A direction with complete settings, except those that depend on the other direction.
struct Direction {
    settings: DirectionSettings,
    routes: Vec<OneRoute>,
}

/// Reads the whole tree.
pub(super) fn resolve(table: &Table, name: &str, read_trace: &mut ReadTrace) -> Result<LinkSpec, SpecError> {
    let key = String::new();
    let file = Scope { key, table };
    let rates = &mut Rates::new(read_trace);
    file.only(&[
        LINK_KEYS,
        DIRECTION_KEYS,
        ROUTE_KEYS,
        &["route", "forward", "reverse"],
    ])?;
    only_one_delay(&file)?;
    let common = part(&file, rates)?;
    let halves = halves(&file)?;
    let forward = direction(&file, "forward", &common, halves.map(|(there, _)| there), rates)?;
    let reverse = direction(&file, "reverse", &common, halves.map(|(_, back)| back), rates)?;
    within_memory(&[&forward, &reverse])?;
    let spec = LinkSpec {
        name: name.to_owned(),
        seed: file.read("seed", |place| seed(&place))?.unwrap_or(1),
        interface_mtu: match file.read("interface-mtu", |place| mtu(&place))? {
            Some(bytes) => bytes,
            None => forward.mtu().max(reverse.mtu()),
        },
        forward: forward.spec(&reverse)?,
        reverse: reverse.spec(&forward)?,
    };
    spec.check()?;
    Ok(spec)
}

fn part(scope: &Scope, rates: &mut Rates) -> Result<Part, SpecError> {
    Ok(Part {
        direction: DirectionSettings::read(scope)?,
        base: RouteSettings::read(scope, rates)?,
        routes: scope.read("route", |place| routes(&place, rates))?,
    })
}

fn routes(place: &Entry, rates: &mut Rates) -> Result<Vec<OneRoute>, SpecError> {
    let form = "write each route as a table of its own, headed [[route]]";
    let items = place.items().ok_or_else(|| place.wrong(form))?;
    if !(1..=MOST_ROUTES).contains(&items.len()) {
        let value = format!("{} routes", items.len());
        return Err(SpecError {
            key: place.key.clone(),
            value,
            allowed: format!("write from 1 to {MOST_ROUTES}"),
        });
    }
    let route = |item: Entry| {
        let scope = item.scope().ok_or_else(|| item.wrong(form))?;
        if let Some(rtt) = scope.get("rtt") {
            return Err(rtt.wrong("write delay, the delay of one direction"));
        }
        scope.only(&[ROUTE_KEYS, &["weight"]])?;
        let weight = scope.read("weight", |place| place.whole_32("a weight", 1, MOST_WEIGHT))?;
        Ok(OneRoute {
            weight: weight.unwrap_or(1),
            settings: RouteSettings::read(&scope, rates)?,
        })
    };
    items.map(route).collect()
}

fn direction(
    file: &Scope,
    name: &str,
    common: &Part,
    half: Option<u64>,
    rates: &mut Rates,
) -> Result<Direction, SpecError> {
    let own = match file.get(name) {
        None => None,
        Some(place) => {
            let scope = place
                .scope()
                .ok_or_else(|| place.wrong(format!("write a table, headed [{name}]")))?;
            if let Some(rtt) = scope.get("rtt") {
                return Err(rtt.wrong("write delay, the delay of one direction"));
            }
            scope.only(&[DIRECTION_KEYS, ROUTE_KEYS, &["route"]])?;
            Some(part(&scope, rates)?)
        }
    };
    let common_base = RouteSettings {
        delay_ns: common.base.delay_ns.or(half),
        ..common.base.clone()
    };
    let base = match &own {
        Some(own) => own.base.over(&common_base),
        None => common_base,
    };
    let single = vec![OneRoute {
        weight: 1,
        settings: RouteSettings::default(),
    }];
    let own_routes = own.as_ref().and_then(|own| own.routes.clone());
    let routes = own_routes.or_else(|| common.routes.clone()).unwrap_or(single);
    Ok(Direction {
        settings: match &own {
            Some(own) => own.direction.over(&common.direction),
            None => common.direction.clone(),
        },
        routes: routes
            .into_iter()
            .map(|route| OneRoute {
                settings: route.settings.over(&base),
                ..route
            })
            .collect(),
    })
}

fn within_memory(directions: &[&Direction]) -> Result<(), SpecError> {
    let routes = directions.iter().flat_map(|direction| &direction.routes);
    let entries: usize = routes.map(|route| route.settings.entries()).sum();
    if entries > MOST_ENTRIES {
        return Err(SpecError {
            key: "route".to_owned(),
            value: format!(
                "{entries} steps, opportunities, packet numbers and dark spans of all routes together"
            ),
            allowed: format!(
                "the maximum is {MOST_ENTRIES}; shorten the trace or the lists, or use fewer routes"
            ),
        });
    }
    Ok(())
}

impl Direction {
    fn mtu(&self) -> u32 {
        self.settings.mtu.unwrap_or(DEFAULT_MTU)
    }

    fn spec(&self, back: &Direction) -> Result<DirectionSpec, SpecError> {
        let (settings, mtu) = (&self.settings, self.mtu());
        let route = |(index, route): (usize, &OneRoute)| {
            let round_trip_ns = route.settings.delay_ns() + back.delay_back(index, self.routes.len());
            let settings = &route.settings;
            settings.spec(route.weight, mtu, round_trip_ns)
        };
        Ok(DirectionSpec {
            mtu: Mtu {
                bytes: mtu,
                too_big: settings.too_big.unwrap_or(TooBig::Icmp),
            },
            long_packet_loss: settings.long_packets.filter(|long| long.loss > 0.0),
            flow_rate: settings.flow_rate.flatten().map(|cap| Cap::of_flow(cap, mtu)),
            packet_rate: settings.packet_rate.flatten().map(Cap::of_packets),
            extra_flow_loss: settings.extra_flow_loss.unwrap_or(0.0),
            hide_five_tuple: settings.hide_five_tuple.unwrap_or(false),
            choice: settings.spread.unwrap_or(RouteChoice::FiveTuple),
            routes: self
                .routes
                .iter()
                .enumerate()
                .map(route)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Delay of the return path for route `index` of `count`: if both directions have as many routes, that of
    /// the same route here, else the longest.
    fn delay_back(&self, index: usize, count: usize) -> u64 {
        if self.routes.len() == count {
            self.routes[index].settings.delay_ns()
        } else {
            let delays = self.routes.iter().map(|route| route.settings.delay_ns());
            delays.max().unwrap_or(0)
        }
    }
}

impl RouteSettings {
    fn delay_ns(&self) -> u64 {
        self.delay_ns.unwrap_or(0)
    }

    fn entries(&self) -> usize {
        let of_loss = |loss: &LossSpec| match loss {
            LossSpec::Packets(numbers) => numbers.len(),
            _ => 1,
        };
        let losses = self.loss.iter().flat_map(|losses| losses.iter());
        self.rate.as_ref().map_or(0, |rate| rate.entries())
            + self.dark.as_ref().map_or(0, |spans| spans.len())
            + losses.map(of_loss).sum::<usize>()
    }

    fn spec(&self, weight: u32, mtu: u32, round_trip_ns: u64) -> Result<RouteSpec, SpecError> {
        let rate = self.rate.as_deref().cloned().unwrap_or(RateSpec::Unlimited);
        let path = QueuePath {
            rate: rate.mean(),
            mtu,
            round_trip_ns,
        };
        Ok(RouteSpec {
            weight,
            overhead: self.overhead.unwrap_or(0),
            delay_ns: self.delay_ns(),
            jitter: self.jitter()?,
            queue: path.queue(self.queue.as_ref())?,
            loss: self
                .loss
                .as_ref()
                .map_or_else(Vec::new, |losses| Vec::clone(losses)),
            duplicate: self.duplicate.unwrap_or(0.0),
            corrupt: self.corrupt.unwrap_or(0.0),
            dark: self
                .dark
                .as_ref()
                .map_or_else(Vec::new, |spans| Vec::clone(spans)),
            rate,
        })
    }

    fn jitter(&self) -> Result<Option<Jitter>, SpecError> {
        let reorder = self.reorder.as_ref().filter(|reorder| reorder.value);
        match (self.jitter_ns, reorder) {
            (None, Some(reorder)) => Err(reorder.wrong("needs jitter, too, such as jitter = \"1ms\"")),
            (None | Some(0), _) => Ok(None),
            (Some(most_ns), reorder) => Ok(Some(Jitter {
                most_ns,
                reorder: reorder.is_some(),
            })),
        }
    }
}
