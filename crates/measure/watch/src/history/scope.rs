//! Whose fault: events of several paths at the same time have one cause, and the paths that they have in common, and the others
//! have not, say where it is. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::rare::Bounds;

/// Share of the paths of a host, a zone or the mesh that have to be concerned.
const MOST_OF: f64 = 0.75;

/// What the paths of an event have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Two hosts, in one direction or both.
    Pair(String, String),
    /// Most paths of a host, and no other.
    Host(String),
    /// Most paths of a zone, and no other.
    Zone(String),
    /// Most paths.
    Everything,
    /// Several paths without anything in common.
    Several,
}

impl Scope {
    /// Its kind: `pair`, `host`, `zone`, `everything` or `several`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Scope::Pair(..) => "pair",
            Scope::Host(_) => "host",
            Scope::Zone(_) => "zone",
            Scope::Everything => "everything",
            Scope::Several => "several",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Pair(one, other) => write!(f, "{one} and {other}"),
            Scope::Host(host) => write!(f, "host {host}"),
            Scope::Zone(zone) => write!(f, "zone {zone}"),
            Scope::Everything => f.write_str("everything"),
            Scope::Several => f.write_str("several pairs"),
        }
    }
}

/// The paths that are watched, and the zones of their hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mesh {
    /// Near and far host of each path.
    pub paths: Vec<(String, String)>,
    /// Zones by host; hosts without a known zone are left out.
    pub zones: BTreeMap<String, String>,
}

impl Mesh {
    /// What paths, by their places in `paths`, have in common that the others have not.
    #[must_use]
    pub fn scope(&self, concerned: &BTreeSet<usize>) -> Scope {
        let mut ends = concerned
            .iter()
            .filter_map(|place| self.paths.get(*place))
            .map(unordered);
        let Some(first) = ends.next() else {
            return Scope::Several;
        };
        if ends.all(|other| other == first) {
            return Scope::Pair(first.0.to_owned(), first.1.to_owned());
        }
        for host in [first.0, first.1] {
            if self.is_most(concerned, |name| name == host) {
                return Scope::Host(host.to_owned());
            }
        }
        for host in [first.0, first.1] {
            let Some(zone) = self.zones.get(host) else {
                continue;
            };
            if self.is_most(concerned, |name| self.zones.get(name) == Some(zone)) {
                return Scope::Zone(zone.clone());
            }
        }
        match concerned.len() as f64 >= MOST_OF * self.paths.len() as f64 {
            true => Scope::Everything,
            false => Scope::Several,
        }
    }

    /// Whether the paths all have such a host, and are most of those that have one.
    fn is_most(&self, concerned: &BTreeSet<usize>, is_its: impl Fn(&str) -> bool) -> bool {
        let touches = |(near, far): &(String, String)| is_its(near) || is_its(far);
        let all = self.paths.iter().filter(|path| touches(path)).count();
        let within = concerned
            .iter()
            .all(|place| self.paths.get(*place).is_some_and(touches));
        within && concerned.len() as f64 >= MOST_OF * all as f64
    }
}

fn unordered((near, far): &(String, String)) -> (&str, &str) {
    match near <= far {
        true => (near, far),
        false => (far, near),
    }
}

/// Kinds of events whose scope is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A change point, of whichever figure: loss and delay of a path may change together.
    Change,
    /// Nothing was answered.
    Unreachable,
    /// A flow went dark.
    FlowDark,
    /// Minutes with loss in a row.
    Loss,
}

impl Kind {
    /// Events of this kind that are so near to each other have one cause, nanoseconds: change points are found within this time of
    /// each other, flow tests are minutes apart, and minutes are minutes.
    fn together_ns(self) -> u64 {
        match self {
            Kind::Change | Kind::FlowDark => 900_000_000_000,
            Kind::Unreachable => 60_000_000_000,
            Kind::Loss => 0,
        }
    }
}

/// An event of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Happened {
    /// Kind.
    pub kind: Kind,
    /// When it began, Unix nanoseconds.
    pub at_ns: u64,
    /// The path, by its place in the mesh.
    pub path: usize,
}

/// How often something happened to one scope.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fault {
    /// `pair`, `host`, `zone`, `everything` or `several`.
    pub scope: &'static str,
    /// The scope in words.
    pub name: String,
    /// What happened.
    pub event: Kind,
    /// How often.
    pub events: u64,
    /// How often a day, with its bounds.
    #[serde(flatten)]
    pub rate: Bounds,
    /// When it happened first, Unix nanoseconds.
    pub first_unix_ns: u64,
    /// When it happened last.
    pub last_unix_ns: u64,
}

/// Events of the mesh by scope, the most frequent first. `watched_s` is for how long it was watched.
#[must_use]
pub fn faults(mesh: &Mesh, mut all: Vec<Happened>, watched_s: u64) -> Vec<Fault> {
    all.sort_unstable();
    let mut found: BTreeMap<(Scope, Kind), Vec<u64>> = BTreeMap::new();
    let mut rest = &all[..];
    while let Some(first) = rest.first() {
        let until_ns = first.at_ns.saturating_add(first.kind.together_ns());
        let is_one = |other: &Happened| other.kind == first.kind && other.at_ns <= until_ns;
        let (together, later) = rest.split_at(rest.partition_point(is_one));
        let concerned = together.iter().map(|one| one.path).collect();
        let key = (mesh.scope(&concerned), first.kind);
        found.entry(key).or_default().push(first.at_ns);
        rest = later;
    }
    let fault = |((scope, event), at_ns): ((Scope, Kind), Vec<u64>)| {
        let events = at_ns.len() as u64;
        Some(Fault {
            scope: scope.kind(),
            name: scope.to_string(),
            event,
            events,
            rate: Bounds::of(events, watched_s)?,
            first_unix_ns: *at_ns.first()?,
            last_unix_ns: *at_ns.last()?,
        })
    };
    let mut faults: Vec<Fault> = found.into_iter().filter_map(fault).collect();
    faults.sort_by_key(|fault| std::cmp::Reverse(fault.events));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    /// Four hosts, two in each zone, each to each.
    fn mesh() -> Mesh {
        let hosts = ["a1", "a2", "b1", "b2"];
        let to = |near: &'static str| {
            let others = hosts.into_iter().filter(move |far| *far != near);
            others.map(move |far| (near.to_owned(), far.to_owned()))
        };
        Mesh {
            paths: hosts.into_iter().flat_map(to).collect(),
            zones: hosts
                .into_iter()
                .map(|host| (host.to_owned(), host[..1].to_owned()))
                .collect(),
        }
    }

    fn places(mesh: &Mesh, is_it: impl Fn(&str, &str) -> bool) -> BTreeSet<usize> {
        let each = mesh.paths.iter().enumerate();
        each.filter(|(_, (near, far))| is_it(near, far))
            .map(|(place, _)| place)
            .collect()
    }

    #[test]
    fn paths_have_a_pair_a_host_a_zone_or_everything_in_common() {
        let mesh = mesh();
        let scope = |is_it: &dyn Fn(&str, &str) -> bool| mesh.scope(&places(&mesh, is_it));
        let pair = Scope::Pair("a1".into(), "b2".into());
        assert_eq!(scope(&|near, far| (near, far) == ("b2", "a1")), pair);
        assert_eq!(
            scope(&|near, far| [near, far] == ["b2", "a1"] || [near, far] == ["a1", "b2"]),
            pair
        );
        assert_eq!(
            scope(&|near, far| near == "a2" || far == "a2"),
            Scope::Host("a2".into())
        );
        // Five of six.
        let most = |near: &str, far: &str| (near == "a2" || far == "a2") && near != "b1";
        assert_eq!(scope(&most), Scope::Host("a2".into()));
        let zone = |near: &str, far: &str| near.starts_with('b') || far.starts_with('b');
        assert_eq!(scope(&zone), Scope::Zone("b".into()));
        assert_eq!(scope(&|_, _| true), Scope::Everything);
        let several = |near: &str, far: &str| ["a1b1", "a2b2"].contains(&format!("{near}{far}").as_str());
        assert_eq!(scope(&several), Scope::Several);
        // A part of the paths of a host only.
        assert_eq!(scope(&|near, far| near == "a1" && far != "b2"), Scope::Several);
        assert_eq!(mesh.scope(&BTreeSet::new()), Scope::Several);
    }

    #[test]
    fn without_zones_a_zone_is_several_pairs_or_everything() {
        let mesh = Mesh {
            zones: BTreeMap::new(),
            ..mesh()
        };
        let of_zone = places(&mesh, |near, far| near.starts_with('b') || far.starts_with('b'));
        assert_eq!(mesh.scope(&of_zone), Scope::Everything, "10 of 12 paths");
    }

    #[test]
    fn events_at_the_same_time_are_one_and_their_rate_has_exact_bounds() {
        let mesh = mesh();
        let of_a2 = places(&mesh, |near, far| near == "a2" || far == "a2");
        let mut all = Vec::new();
        for (day, minutes) in [(1u64, 0u64), (5, 3), (9, 7)] {
            all.extend(of_a2.iter().enumerate().map(|(place, path)| Happened {
                kind: Kind::Change,
                at_ns: (day * 1_440 + place as u64 * minutes / 5) * MINUTE,
                path: *path,
            }));
        }
        // Of another kind, and of a path of its own.
        let alone = Happened {
            kind: Kind::Loss,
            at_ns: 1_440 * MINUTE,
            path: 0,
        };
        all.extend([alone, alone]);
        let found = faults(&mesh, all, 14 * 86_400);
        let seen: Vec<_> = found
            .iter()
            .map(|fault| (fault.name.as_str(), fault.events))
            .collect();
        assert_eq!(seen, [("host a2", 3), ("a1 and a2", 1)]);
        // Garwood 1936: three events, 0.6187 to 8.7673.
        assert!((found[0].rate.low * 14.0 - 0.6187).abs() < 1e-3);
        assert!((found[0].rate.high * 14.0 - 8.7673).abs() < 1e-3);
        assert_eq!(found[0].last_unix_ns, 9 * 1_440 * MINUTE);
    }
}
