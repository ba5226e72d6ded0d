//! What the store has of watched paths in a span, as one document for the page. It must not know how the page draws it.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_results::{Span, Store, StoreError};
use weir_watch::history::{Asked, History, mesh, read};

use crate::data::{Series, VERSION};
use crate::series::watch;

/// What `format` says.
const FORMAT: &str = "weir-watched";
/// Span if none is asked for, nanoseconds: a day.
const USUAL_NS: u64 = 86_400_000_000_000;

/// Which paths, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedQuery {
    /// Only the path from the first to the second of these hosts.
    pub pair: Option<(String, String)>,
    /// Only paths from and to this host.
    pub host: Option<String>,
    /// End of the span, Unix nanoseconds; that of the last measurement if there is none.
    pub until_ns: Option<u64>,
    /// Its length, nanoseconds; a day if there is none.
    pub over_ns: Option<u64>,
}

/// A path of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WatchedPath {
    /// Near host.
    pub from: String,
    /// Far host.
    pub to: String,
    /// Zone of the near host, where it is known.
    pub from_zone: Option<String>,
    /// Zone of the far host.
    pub to_zone: Option<String>,
}

/// The document.
#[derive(Debug, Serialize)]
pub struct Watched {
    /// `weir-watched`.
    pub format: &'static str,
    /// Version of the form.
    pub version: u32,
    /// Start of the span, Unix nanoseconds; times of the series count from here.
    pub since_unix_ns: u64,
    /// Its end.
    pub until_unix_ns: u64,
    /// Start of the first measurement that is kept, Unix nanoseconds; none without any.
    pub first_unix_ns: Option<u64>,
    /// End of the last one.
    pub last_unix_ns: Option<u64>,
    /// All paths of the store.
    pub paths: Vec<WatchedPath>,
    /// The span of each path that was asked for.
    pub history: History,
    /// `watch_history`, `watch_distribution`, `watch_changes` and `watch_alarms` of these paths.
    pub series: BTreeMap<&'static str, Series>,
}

/// Reads the document.
///
/// # Errors
/// When the store cannot be read.
pub fn watched(store: &Store, query: &WatchedQuery) -> Result<Watched, StoreError> {
    let _one_state = store.snapshot()?;
    let all = store.watch_paths()?;
    let (mut first_s, mut last_s) = (None::<u64>, None::<u64>);
    for (path, ..) in &all {
        for span in [Span::Second, Span::Minute, Span::Hour] {
            let (first, last) = (
                store.first_watch_cell(*path, span)?,
                store.last_watch_cell(*path, span)?,
            );
            first_s = first_s.into_iter().chain(first).min();
            last_s = last_s.max(last.map(|start_s| start_s + span.seconds()));
        }
    }
    let in_ns = |seconds: u64| seconds.saturating_mul(1_000_000_000);
    let until_ns = query.until_ns.or(last_s.map(in_ns)).unwrap_or(0);
    let since_ns = until_ns.saturating_sub(query.over_ns.unwrap_or(USUAL_NS));
    let mesh = mesh(store)?;
    let zone = |host: &String| mesh.zones.get(host).cloned();
    let paths = all.iter().map(|(_, from, to)| WatchedPath {
        from: from.clone(),
        to: to.clone(),
        from_zone: zone(from),
        to_zone: zone(to),
    });
    let is_asked = |near: &String, far: &String| {
        let of_pair = query
            .pair
            .as_ref()
            .is_none_or(|pair| (&pair.0, &pair.1) == (near, far));
        of_pair && query.host.as_ref().is_none_or(|host| host == near || host == far)
    };
    let mut history = read(
        store,
        &Asked {
            pair: query.pair.clone(),
            since_ns,
            until_ns,
        },
    )?;
    history.pairs.retain(|pair| is_asked(&pair.from, &pair.to));
    let paths = paths.collect();
    let asked: Vec<watch::NamedPath> = all
        .into_iter()
        .filter(|(_, near, far)| is_asked(near, far))
        .collect();
    Ok(Watched {
        format: FORMAT,
        version: VERSION,
        since_unix_ns: since_ns,
        until_unix_ns: until_ns,
        first_unix_ns: first_s.map(in_ns),
        last_unix_ns: last_s.map(in_ns),
        paths,
        history,
        series: watch::series(store, &asked, (since_ns, until_ns), since_ns)?,
    })
}
