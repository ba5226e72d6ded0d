//! Other paths at the time of a change: whether it is one path, one host or everything that changed. It must not know what is
//! drawn of it.

use std::collections::{BTreeMap, BTreeSet};

use weir_results::{PathId, Span, Store, StoreError, WatchChange};
use weir_watch::history::Mesh;

use crate::Request;

/// Changes of paths that are so near to each other have one cause: the time in which most are found, and a margin.
const TOGETHER_NS: u64 = 900_000_000_000;

/// Another path of the store.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Other {
    pub near: String,
    pub far: String,
    pub changes: Vec<WatchChange>,
}

/// Paths but `path` that have minutes or hours in the span, with their changes.
pub(crate) fn read(store: &Store, request: &Request, path: PathId) -> Result<Vec<Other>, StoreError> {
    let (from_s, to_s) = (
        request.since_ns / 1_000_000_000,
        request.until_ns.div_ceil(1_000_000_000),
    );
    let mut others = Vec::new();
    for (other, near, far) in store.watch_paths()? {
        let mut was_measured = false;
        for span in [Span::Minute, Span::Hour] {
            was_measured = was_measured || store.has_watch_cells(other, span, from_s, to_s)?;
        }
        if other != path && was_measured {
            let changes = store.watch_changes(other, request.since_ns)?;
            others.push(Other { near, far, changes });
        }
    }
    Ok(others)
}

/// Which other paths changed with a change, and which did not.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AtOnce {
    pub changed: Vec<String>,
    pub unchanged: Vec<String>,
    /// What those that changed have in common, and the others have not.
    pub scope: String,
}

impl AtOnce {
    /// Of a change of a path between `ends`. Loss and delay of a path may change together, so that any metric counts.
    pub fn of(
        change: &WatchChange,
        ends: (&str, &str),
        others: &[Other],
        zones: &BTreeMap<String, String>,
    ) -> Self {
        let is_near = |other: &WatchChange| other.since_unix_ns.abs_diff(change.since_unix_ns) <= TOGETHER_NS;
        let has_changed = |other: &Other| other.changes.iter().any(is_near);
        let (changed, unchanged): (Vec<&Other>, Vec<&Other>) =
            others.iter().partition(|other| has_changed(other));
        let own = (ends.0.to_owned(), ends.1.to_owned());
        let names = others.iter().map(|other| (other.near.clone(), other.far.clone()));
        let mesh = Mesh {
            paths: [own].into_iter().chain(names).collect(),
            zones: zones.clone(),
        };
        let places = others.iter().enumerate().filter(|(_, other)| has_changed(other));
        let concerned: BTreeSet<usize> = [0]
            .into_iter()
            .chain(places.map(|(place, _)| place + 1))
            .collect();
        let scope = match (changed.is_empty(), mesh.scope(&concerned)) {
            (true, _) => "this path alone".to_owned(),
            (false, scope) => scope.to_string(),
        };
        let names = |paths: Vec<&Other>| -> Vec<String> {
            paths
                .iter()
                .map(|path| format!("{} to {}", path.near, path.far))
                .collect()
        };
        AtOnce {
            changed: names(changed),
            unchanged: names(unchanged),
            scope,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_together_names_what_it_has_in_common() {
        let change = |minute: u64| WatchChange {
            metric: "p50".to_owned(),
            since_unix_ns: minute * 60_000_000_000,
            ..WatchChange::default()
        };
        let other = |near: &str, far: &str, minutes: &[u64]| Other {
            near: near.to_owned(),
            far: far.to_owned(),
            changes: minutes.iter().map(|minute| change(*minute)).collect(),
        };
        let others = [
            other("fra", "ams", &[108, 300]),
            other("lon", "par", &[90, 300]),
            other("lon", "mad", &[300]),
            other("par", "mad", &[]),
        ];
        let of = |minute| AtOnce::of(&change(minute), ("lon", "ams"), &others, &BTreeMap::new());
        assert_eq!(of(200).scope, "this path alone");
        assert_eq!(of(100).scope, "several pairs");
        assert_eq!(of(120).scope, "host ams");
        assert_eq!(of(300).scope, "everything");
        assert_eq!(of(120).changed, ["fra to ams"]);
        assert_eq!(of(120).unchanged, ["lon to par", "lon to mad", "par to mad"]);
    }
}
