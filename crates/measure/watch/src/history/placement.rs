//! Steps of a path whose cause may be that an instance was placed elsewhere: the delay steps, hops and routes do not, and both hosts
//! stay in their zones. Pure: changes and what hosts were at times come in.

use serde::Serialize;
use weir_record::WatchChange;

/// Changes of a path that are so near to each other are one, nanoseconds.
const TOGETHER_NS: u64 = 900_000_000_000;

/// What a host was at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Unix nanoseconds.
    pub at_ns: u64,
    /// Its zone; empty if it is not known.
    pub zone: String,
    /// Its instance id; empty if it is not known.
    pub instance: String,
}

/// An end of a path around a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlacedEnd {
    /// The host.
    pub host: String,
    /// Its zone before and after.
    pub zone: String,
    /// Its instance id before the step.
    pub instance_before: String,
    /// Its instance id after it.
    pub instance_after: String,
}

/// A step by which the placement of an instance may have changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Placement {
    /// First moment after the step, Unix nanoseconds.
    pub since_unix_ns: u64,
    /// Figures that changed: `p50`, `p90`.
    pub metrics: Vec<String>,
    /// Ends whose zone and instance are known on both sides of the step.
    pub ends: Vec<PlacedEnd>,
    /// An end has another instance after the step; else the same instances stand before and after it.
    pub is_replaced: bool,
}

/// Such steps among the changes of a path, in order of time. Of each end: its name and what it was over time, in order.
#[must_use]
pub fn placements(changes: &[WatchChange], ends: &[(&str, Vec<Seen>)]) -> Vec<Placement> {
    let mut found: Vec<Placement> = Vec::new();
    let is_delay = |change: &&WatchChange| ["p50", "p90"].contains(&change.metric.as_str());
    let mut steps: Vec<&WatchChange> = changes.iter().filter(is_delay).collect();
    steps.sort_by_key(|change| change.since_unix_ns);
    for change in steps {
        let is_near = |other_ns: u64| other_ns.abs_diff(change.since_unix_ns) <= TOGETHER_NS;
        if let Some(last) = found.last_mut().filter(|last| is_near(last.since_unix_ns)) {
            last.metrics.push(change.metric.clone());
            continue;
        }
        let is_route = |metric: &str| metric == "hops" || metric.starts_with("routes_");
        let other_route = |other: &WatchChange| is_route(&other.metric) && is_near(other.since_unix_ns);
        if changes.iter().any(other_route) {
            continue;
        }
        let around = ends
            .iter()
            .map(|(host, seen)| around(host, seen, change.since_unix_ns));
        // A host in another zone is another place.
        let Some(known) = around.collect::<Option<Vec<_>>>() else {
            continue;
        };
        let ends: Vec<PlacedEnd> = known.into_iter().flatten().collect();
        if ends.is_empty() {
            continue;
        }
        found.push(Placement {
            since_unix_ns: change.since_unix_ns,
            metrics: vec![change.metric.clone()],
            is_replaced: ends.iter().any(|end| end.instance_before != end.instance_after),
            ends,
        });
    }
    found
}

/// A host just before and just after a moment: none if its zone differs, an empty list if it is not known.
fn around(host: &str, seen: &[Seen], at_ns: u64) -> Option<Option<PlacedEnd>> {
    let split = seen.partition_point(|one| one.at_ns <= at_ns);
    let (Some(before), Some(after)) = (
        seen[..split].last(),
        seen[split..].first().or(seen[..split].last()),
    ) else {
        return Some(None);
    };
    if before.zone != after.zone {
        return None;
    }
    let is_known = !before.zone.is_empty() && !before.instance.is_empty() && !after.instance.is_empty();
    Some(is_known.then(|| PlacedEnd {
        host: host.to_owned(),
        zone: before.zone.clone(),
        instance_before: before.instance.clone(),
        instance_after: after.instance.clone(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000_000;

    fn change(metric: &str, at_ns: u64) -> WatchChange {
        WatchChange {
            metric: metric.to_owned(),
            since_unix_ns: at_ns,
            ..WatchChange::default()
        }
    }

    fn seen(hour: u64, zone: &str, instance: &str) -> Seen {
        Seen {
            at_ns: hour * HOUR,
            zone: zone.to_owned(),
            instance: instance.to_owned(),
        }
    }

    #[test]
    fn a_step_in_the_same_zone_says_which_instances_stand_before_and_after() {
        let near = vec![seen(0, "z1", "i-near")];
        let far = vec![seen(1, "z2", "i-1"), seen(9, "z2", "i-1"), seen(11, "z2", "i-2")];
        let ends = [("lon", near), ("ams", far)];
        let found = placements(
            &[
                change("p90", 10 * HOUR + 5),
                change("p50", 10 * HOUR),
                change("loss", 3 * HOUR),
            ],
            &ends,
        );
        let [step] = &found[..] else { panic!("{found:?}") };
        assert_eq!((step.since_unix_ns, step.is_replaced), (10 * HOUR, true));
        assert_eq!(step.metrics, ["p50", "p90"]);
        let instances: Vec<_> = step
            .ends
            .iter()
            .map(|end| {
                (
                    end.host.as_str(),
                    end.instance_before.as_str(),
                    end.instance_after.as_str(),
                )
            })
            .collect();
        assert_eq!(instances, [("lon", "i-near", "i-near"), ("ams", "i-1", "i-2")]);
        // The same instance, moved.
        assert!(!placements(&[change("p90", 5 * HOUR)], &ends)[0].is_replaced);
    }

    #[test]
    fn other_places_other_routes_and_unknown_hosts_are_none() {
        let moved = [("ams", vec![seen(1, "z2", "i-1"), seen(11, "z3", "i-2")])];
        assert_eq!(placements(&[change("p50", 10 * HOUR)], &moved), []);
        let stays = [("ams", vec![seen(1, "z2", "i-1")])];
        let with_hops = [change("p50", 10 * HOUR), change("hops", 10 * HOUR + HOUR / 10)];
        assert_eq!(placements(&with_hops, &stays), []);
        assert_eq!(placements(&with_hops[..1], &stays).len(), 1);
        assert_eq!(
            placements(&with_hops[..1], &[("ams", vec![seen(1, "", "i-1")])]),
            []
        );
        assert_eq!(placements(&with_hops[..1], &[("ams", Vec::new())]), []);
    }
}
