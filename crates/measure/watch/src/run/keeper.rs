//! From open cells to the store: seconds as they come, minutes and hours when they are complete, and an end to what is old.
//! An error of the store is kept and tried again; nothing is lost but what does not fit in memory.

use weir_record::{WatchCell, WatchChange, WatchCount, WatchEvent, WatchExcluded};
use weir_results::{PathId, Span, Store, StoreError};

use super::path::{Path, row};
use crate::config::Keep;
use crate::event::{Event, State, What};
use crate::gather::{minute, sum};
use crate::own::spoils;
use crate::rare;

/// Time until all packets of a second are settled, seconds: the longest timeout is bounded by the check of the file.
const SETTLE_S: u64 = 8;
/// A clock that was set back by more begins minutes again, seconds; with less, the next minute is waited for.
const SET_BACK_S: u64 = 120;
/// Cells that wait for the store at most: an hour of 50 paths.
const MOST_WAITING: usize = 180_000;
/// Events and counts that wait for the store at most.
const MOST_EVENTS: usize = 10_000;
/// What is younger is never deleted for its size: change points are made from the last day.
const KEPT_S: u64 = 86_400;
/// Tests that are deleted at once.
const TESTS_AT_ONCE: u32 = 20;
/// Cells that one deletion takes.
const DELETED_AT_ONCE: u32 = 600;
/// From one deletion to the next of a path, seconds.
const TIDY_S: u64 = 300;

#[derive(Debug, Default)]
pub(super) struct Keeper {
    waiting: Vec<(PathId, WatchCell)>,
    events: Vec<(PathId, WatchEvent)>,
    counts: Vec<(PathId, WatchCount)>,
    changes: Vec<(PathId, WatchChange)>,
    excluded: Vec<WatchExcluded>,
    /// The problem that was said last.
    failing: Option<String>,
    /// Rows that did not fit in memory since the problem began.
    dropped: u64,
    /// Alarms of the store that are not reported yet.
    turns: Vec<Event>,
    next_tidy_s: u64,
}

impl Keeper {
    /// Raises the alarm of the store at its first problem.
    pub fn note(&mut self, now_ns: u64, error: Option<StoreError>) {
        match error.map(|error| error.to_string()) {
            Some(problem) if self.failing.is_none() => {
                let detail =
                    format!("{problem}; the measurement goes on, and what it finds is kept in memory");
                self.turn(now_ns, State::Raised, detail);
                self.failing = Some(problem);
            }
            _ => {}
        }
    }

    fn turn(&mut self, now_ns: u64, state: State, detail: String) {
        let event = Event::of_path(now_ns, What::Store, state, ("", ""), detail);
        self.turns.push(event);
    }

    /// Alarms of the store since the last call.
    pub fn turns(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.turns)
    }

    /// Takes an event of a path, for the store.
    pub fn keep(&mut self, path: PathId, event: &Event) {
        let row = WatchEvent {
            unix_ns: event.unix_ns,
            event: event.event.as_str().to_owned(),
            state: event.state.as_str().to_owned(),
            subject: event.subject.clone(),
            run_id: event.run_id,
            detail: event.detail.clone(),
        };
        match self.events.len() < MOST_EVENTS {
            true => self.events.push((path, row)),
            false => self.dropped += 1,
        }
    }

    /// Takes counts of a path.
    pub fn count(&mut self, path: PathId, counts: Vec<WatchCount>) {
        match self.counts.len() < MOST_EVENTS {
            true => self.counts.extend(counts.into_iter().map(|count| (path, count))),
            false => self.dropped += counts.len() as u64,
        }
    }

    /// Takes changes of a path that no minute shows.
    pub fn change(&mut self, path: PathId, changes: Vec<WatchChange>) {
        match self.changes.len() < MOST_EVENTS {
            true => self
                .changes
                .extend(changes.into_iter().map(|change| (path, change))),
            false => self.dropped += changes.len() as u64,
        }
    }

    /// Takes seconds in which this host was disturbed.
    pub fn exclude(&mut self, seconds: impl Iterator<Item = WatchExcluded>) {
        let room = MOST_EVENTS.saturating_sub(self.excluded.len());
        self.excluded.extend(seconds.take(room));
    }

    /// Takes the cells of a path that have changed, with what is stored of those that are measured again.
    pub fn gather(&mut self, store: &Store, path: &Path, now_ns: u64) {
        self.note(now_ns, join_stored(store, path).err());
        let cells = path.open_cells().take();
        self.waiting.extend(cells.into_iter().map(|cell| (path.id, cell)));
        let too_many = self.waiting.len().saturating_sub(MOST_WAITING);
        if too_many > 0 {
            self.dropped += too_many as u64;
            self.waiting.drain(..too_many);
        }
    }

    /// Stores what waits.
    pub fn store(&mut self, store: &Store, near: &str, now_ns: u64) {
        if let Err(error) = self.try_store(store, near) {
            return self.note(now_ns, Some(error));
        }
        if self.failing.take().is_some() {
            let lost = match std::mem::take(&mut self.dropped) {
                0 => String::new(),
                dropped => format!("; {dropped} rows did not fit in memory and are lost"),
            };
            self.turn(
                now_ns,
                State::Cleared,
                format!("the store is written again{lost}"),
            );
        }
    }

    fn try_store(&mut self, store: &Store, near: &str) -> Result<(), StoreError> {
        if !self.excluded.is_empty() {
            store.put_watch_excluded(near, &self.excluded)?;
            self.excluded.clear();
        }
        // Before their test: after a kill in between they are found again.
        while let Some((path, change)) = self.changes.last() {
            store.put_watch_change(*path, change)?;
            self.changes.pop();
        }
        if !self.events.is_empty() || !self.counts.is_empty() {
            store.put_watch_events(&self.events, &self.counts)?;
            self.events.clear();
            self.counts.clear();
        }
        if !self.waiting.is_empty() {
            store.put_watch_cells(Span::Second, &self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
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
            if until_s + SET_BACK_S < path.seen_until_s {
                path.set_back(until_s);
            }
            return Vec::new();
        }
        let summed = minutes(store, path, until_s);
        summed.unwrap_or_else(|error| {
            self.note(now_ns, Some(error));
            Vec::new()
        })
    }

    /// Deletes a part of what is too old or too much.
    pub fn tidy(&mut self, store: &Store, paths: &[Path], keep: &Keep, now_ns: u64) {
        let now_s = now_ns / 1_000_000_000;
        if now_s < self.next_tidy_s && self.next_tidy_s <= now_s + TIDY_S {
            return;
        }
        self.next_tidy_s = now_s + TIDY_S;
        let tidied = delete_old(store, paths, keep, now_ns).and_then(|()| match keep.bytes {
            Some(most) if store.used_bytes()? > most.0 => delete_oldest(store, paths, now_s),
            _ => Ok(()),
        });
        self.note(now_ns, tidied.err());
    }
}

/// Adds what is stored of the seconds that are measured again, since the clock was set back.
fn join_stored(store: &Store, path: &Path) -> Result<(), StoreError> {
    let again = path.open_cells().again();
    for start_s in again {
        let stored = store.watch_cells(path.id, Span::Second, start_s, start_s + 1)?;
        path.open_cells().join(start_s, stored.first());
    }
    Ok(())
}

/// Deletes a part of what exceeds its age.
fn delete_old(store: &Store, paths: &[Path], keep: &Keep, now_ns: u64) -> Result<(), StoreError> {
    let spans = [
        (Span::Second, keep.seconds),
        (Span::Minute, keep.minutes),
        (Span::Hour, keep.hours),
    ];
    for path in paths {
        let seconds_s = now_ns.saturating_sub(keep.seconds.0) / 1_000_000_000;
        store.delete_watch_excluded(path.names().0, seconds_s)?;
        for (span, age) in spans {
            let before_s = now_ns.saturating_sub(age.0) / 1_000_000_000;
            store.delete_watch_cells(path.id, span, before_s, DELETED_AT_ONCE)?;
        }
    }
    store.delete_watch_tests(now_ns.saturating_sub(keep.tests.0), TESTS_AT_ONCE)
}

/// Deletes a part of the oldest: of tests and seconds whichever go back further, then minutes, then hours.
fn delete_oldest(store: &Store, paths: &[Path], now_s: u64) -> Result<(), StoreError> {
    let before_s = now_s.saturating_sub(KEPT_S);
    let mut first_s = before_s;
    for path in paths {
        let first = store.first_watch_cell(path.id, Span::Second)?;
        first_s = first_s.min(first.unwrap_or(before_s));
    }
    let oldest_test_s = store
        .oldest_watch_test()?
        .map(|start_ns| start_ns / 1_000_000_000);
    if oldest_test_s.is_some_and(|start_s| start_s < first_s) {
        return store.delete_watch_tests(before_s.saturating_mul(1_000_000_000), TESTS_AT_ONCE);
    }
    for span in [Span::Second, Span::Minute, Span::Hour] {
        let mut deleted = 0;
        for path in paths {
            deleted += store.delete_watch_cells(path.id, span, before_s, DELETED_AT_ONCE)?;
        }
        if deleted > 0 {
            return Ok(());
        }
    }
    Ok(())
}

/// Sums the seconds of a path up to `until_s` into minutes, and of hours that are complete the minutes; returns what has
/// changed. Changes are stored before their minutes: after a kill or an error in between they are found again. Seconds in which
/// this host was disturbed are left out.
fn minutes(store: &Store, path: &mut Path, until_s: u64) -> Result<Vec<Event>, StoreError> {
    let from_s = path.seen_until_s;
    let of_path = |cells: &[WatchCell]| {
        cells
            .iter()
            .map(|cell| (path.id, cell.clone()))
            .collect::<Vec<_>>()
    };
    // With the second before, in which loss may have begun.
    let mut seconds = store.watch_cells(path.id, Span::Second, from_s.saturating_sub(1), until_s)?;
    let excluded = store.watch_excluded(path.names().0, from_s.saturating_sub(1), until_s)?;
    seconds.retain(|cell| {
        let found = excluded.binary_search_by_key(&cell.start_s, |second| second.start_s);
        !found.is_ok_and(|place| spoils(&excluded[place], cell.lost))
    });
    let (before, seconds) = seconds.split_at(seconds.partition_point(|cell| cell.start_s < from_s));
    let minutes = sum(seconds, 60);
    let (mut watch, mut rules) = (path.watch.clone(), path.rules.clone());
    let (mut found, mut events) = (Vec::new(), Vec::new());
    for cell in &minutes {
        found.extend(watch.push(&minute(cell)).iter().map(row));
        events.extend(rules.push(path.names(), cell));
    }
    for change in &found {
        store.put_watch_change(path.id, change)?;
    }
    let counts = rare::of_seconds(before.first(), seconds);
    let counts: Vec<_> = counts.into_iter().map(|count| (path.id, count)).collect();
    store.put_watch_minutes(&of_path(&minutes), &counts)?;
    let until_hour_s = until_s / 3600 * 3600;
    if path.hours_until_s < until_hour_s {
        // Also those that a watcher did not sum before it was killed.
        let all = store.watch_cells(path.id, Span::Minute, path.hours_until_s, until_hour_s)?;
        store.put_watch_cells(Span::Hour, &of_path(&sum(&all, 3600)))?;
        path.hours_until_s = until_hour_s;
    }
    (path.watch, path.rules, path.seen_until_s) = (watch, rules, until_s);
    for change in &found {
        *path.changes.entry(change.metric.clone()).or_default() += 1;
    }
    let changes = found.iter().map(|change| Event::of_change(path.names(), change));
    Ok(changes.chain(events).collect())
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
