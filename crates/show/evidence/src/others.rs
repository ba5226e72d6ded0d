//! Other paths at the time of a change: whether it is one path, one host or everything that changed. It must not know what is
//! drawn of it.

use weir_results::{PathId, Span, Store, StoreError, WatchChange};

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
    pub scope: &'static str,
}

impl AtOnce {
    /// Of a change of a path to `far`. Loss and delay of a path may change together, so that any metric counts.
    pub fn of(change: &WatchChange, far: &str, others: &[Other]) -> Self {
        let is_near = |other: &WatchChange| other.since_unix_ns.abs_diff(change.since_unix_ns) <= TOGETHER_NS;
        let (changed, unchanged): (Vec<&Other>, Vec<&Other>) =
            others.iter().partition(|other| other.changes.iter().any(is_near));
        let same_far = |other: &&&Other| other.far == far || other.near == far;
        let (with, without) = (
            changed.iter().filter(same_far).count(),
            unchanged.iter().filter(same_far).count(),
        );
        let scope = match (changed.len(), unchanged.len()) {
            (0, _) => "this path alone",
            (_, 0) => "all paths of the store",
            (all, _) if with == all && without == 0 => "all paths with this far host",
            _ => "some paths",
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
            other("fra", "ams", &[108]),
            other("lon", "par", &[90, 300]),
            other("lon", "mad", &[300]),
        ];
        let scope = |minute| AtOnce::of(&change(minute), "ams", &others).scope;
        assert_eq!(scope(200), "this path alone");
        assert_eq!(scope(100), "some paths");
        assert_eq!(scope(120), "all paths with this far host");
        assert_eq!(
            AtOnce::of(&change(300), "ams", &others[1..]).scope,
            "all paths of the store"
        );
        let at_once = AtOnce::of(&change(120), "ams", &others);
        assert_eq!(at_once.changed, ["fra to ams"]);
        assert_eq!(at_once.unchanged, ["lon to par", "lon to mad"]);
    }
}
