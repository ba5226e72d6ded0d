//! From open cells to the store: seconds as they come, minutes and hours when they are complete, and an end to what is old.
//! An error of the store is kept and tried again; nothing is lost but what does not fit in memory.

use weir_record::{WatchCell, WatchChange};
use weir_results::{PathId, Span, Store, StoreError};

use super::path::Path;
use crate::change::Change;
use crate::event::Event;
use crate::gather::{minute, sum};

/// Time until all packets of a second are settled, seconds: the longest timeout is bounded by the check of the file.
const SETTLE_S: u64 = 8;
/// Cells that wait for the store at most: an hour of 50 paths.
const MOST_WAITING: usize = 180_000;
/// Ages at which cells are deleted, seconds: 7 days, 400 days, 5 years.
pub const KEPT: [(Span, u64); 3] = [
    (Span::Second, 7 * 86_400),
    (Span::Minute, 400 * 86_400),
    (Span::Hour, 1_826 * 86_400),
];
/// Cells that one deletion takes.
const DELETED_AT_ONCE: u32 = 600;
/// From one deletion to the next of a path, seconds.
const TIDY_S: u64 = 300;

#[derive(Debug, Default)]
pub(super) struct Keeper {
    waiting: Vec<(PathId, WatchCell)>,
    /// The problem that was said last.
    failing: Option<String>,
    next_tidy_s: u64,
}

impl Keeper {
    /// Says a problem of the store once, and its end.
    pub fn note(&mut self, error: Option<StoreError>) {
        match error.map(|error| error.to_string()) {
            Some(problem) if self.failing.is_none() => {
                tracing::warn!("{problem}; the measurement goes on, and what it finds is kept in memory");
                self.failing = Some(problem);
            }
            _ => {}
        }
    }

    /// Takes the cells of a path that have changed.
    pub fn gather(&mut self, path: &Path) {
        let cells = path.open_cells().take();
        self.waiting.extend(cells.into_iter().map(|cell| (path.id, cell)));
        let too_many = self.waiting.len().saturating_sub(MOST_WAITING);
        if too_many > 0 {
            tracing::warn!(
                "{too_many} seconds of paths were dropped: the store could not be written for long"
            );
            self.waiting.drain(..too_many);
        }
    }

    /// Stores what waits.
    pub fn store(&mut self, store: &Store) {
        if self.waiting.is_empty() {
            return;
        }
        match store.put_watch_cells(Span::Second, &self.waiting) {
            Ok(()) => {
                self.waiting.clear();
                if self.failing.take().is_some() {
                    tracing::warn!("the store is written again");
                }
            }
            Err(error) => self.note(Some(error)),
        }
    }

    /// Sums the minutes and hours that are complete, and returns what has changed.
    pub fn roll_up(&mut self, store: &Store, path: &mut Path, now_ns: u64) -> Vec<Event> {
        if !self.waiting.is_empty() {
            // What waits for the store may belong to them.
            return Vec::new();
        }
        let now_s = now_ns / 1_000_000_000;
        let until_s = now_s.saturating_sub(SETTLE_S) / 60 * 60;
        if until_s <= path.seen_until_s {
            return Vec::new();
        }
        let summed = minutes(store, path, until_s);
        summed.unwrap_or_else(|error| {
            self.note(Some(error));
            Vec::new()
        })
    }

    /// Deletes a part of what is too old.
    pub fn tidy(&mut self, store: &Store, paths: &[Path], now_ns: u64) {
        let now_s = now_ns / 1_000_000_000;
        if now_s < self.next_tidy_s && self.next_tidy_s <= now_s + TIDY_S {
            return;
        }
        self.next_tidy_s = now_s + TIDY_S;
        for path in paths {
            for (span, age_s) in KEPT {
                let before_s = now_s.saturating_sub(age_s);
                let deleted = store.delete_watch_cells(path.id, span, before_s, DELETED_AT_ONCE);
                self.note(deleted.err());
            }
        }
    }
}

/// Sums the seconds of a path up to `until_s` into minutes, and of hours that are complete the minutes; returns what has
/// changed. Changes are stored before their minutes: after a kill or an error in between they are found again.
fn minutes(store: &Store, path: &mut Path, until_s: u64) -> Result<Vec<Event>, StoreError> {
    let from_s = path.seen_until_s;
    let of_path = |cells: &[WatchCell]| {
        cells
            .iter()
            .map(|cell| (path.id, cell.clone()))
            .collect::<Vec<_>>()
    };
    let minutes = sum(&store.watch_cells(path.id, Span::Second, from_s, until_s)?, 60);
    let mut watch = path.watch.clone();
    let found: Vec<WatchChange> = minutes
        .iter()
        .flat_map(|cell| watch.push(&minute(cell)))
        .map(|change| row(&change))
        .collect();
    for change in &found {
        store.put_watch_change(path.id, change)?;
    }
    store.put_watch_cells(Span::Minute, &of_path(&minutes))?;
    let (from_hour_s, until_hour_s) = (from_s / 3600 * 3600, until_s / 3600 * 3600);
    if from_hour_s < until_hour_s {
        let all = store.watch_cells(path.id, Span::Minute, from_hour_s, until_hour_s)?;
        store.put_watch_cells(Span::Hour, &of_path(&sum(&all, 3600)))?;
    }
    (path.watch, path.seen_until_s) = (watch, until_s);
    for change in &found {
        *path.changes.entry(change.metric.clone()).or_default() += 1;
    }
    Ok(found
        .iter()
        .map(|change| Event::of_change(path.names(), change))
        .collect())
}

fn row(change: &Change) -> WatchChange {
    WatchChange {
        metric: change.metric.as_str().to_owned(),
        since_unix_ns: change.since_ns,
        found_unix_ns: change.found_ns,
        before: change.before,
        after: change.after,
        low: change.interval.0,
        high: change.interval.1,
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
