//! The state of one path: its open cells, its change points, and whether anything is answered on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_alarm::{Alarm, Change as Turn, Hold};
use weir_results::{PathId, Span, Store, StoreError};
use weir_units::format_duration;

use crate::change::{Sensitivity, Watch};
use crate::event::{Event, State, What};
use crate::gather::{Gather, minute};

/// Minutes of the past from which the state of change points is made: a day.
const PAST_S: u64 = 86_400;
const HOLD: Hold = Hold {
    raise_ns: 0,
    clear_ns: 5_000_000_000,
};

pub(super) struct Path {
    /// Position in the configuration.
    pub pair: usize,
    pub id: PathId,
    from: String,
    to: String,
    pub gather: Arc<Mutex<Gather>>,
    /// Change points, up to the minute that ends here (Unix seconds).
    pub watch: Watch,
    pub seen_until_s: u64,
    /// Why the last RTT test failed.
    pub last_failure: Option<String>,
    /// Changes found so far, by metric.
    pub changes: BTreeMap<String, u64>,
    since_ns: u64,
    unreachable: Alarm,
}

impl Path {
    /// Opens a path, with the change points of its last day.
    pub fn open(
        store: &Store,
        pair: usize,
        (from, to): (&String, &String),
        now_ns: u64,
    ) -> Result<Self, StoreError> {
        let id = store.watch_path(from, to)?;
        let mut watch = Watch::new(Sensitivity::default());
        let last = store.last_watch_cell(id, Span::Minute)?;
        let until_s = last.map_or(0, |start| start + 60);
        for cell in store.watch_cells(id, Span::Minute, until_s.saturating_sub(PAST_S), until_s)? {
            // What is found here was reported when it was found.
            watch.push(&minute(&cell));
        }
        Ok(Path {
            pair,
            id,
            from: from.clone(),
            to: to.clone(),
            gather: Arc::default(),
            watch,
            seen_until_s: until_s,
            last_failure: None,
            changes: BTreeMap::new(),
            since_ns: now_ns,
            unreachable: Alarm::default(),
        })
    }

    /// The same path in another configuration.
    pub fn of_pair(self, pair: usize) -> Self {
        Path { pair, ..self }
    }

    pub fn names(&self) -> (&str, &str) {
        (&self.from, &self.to)
    }

    pub fn is_between(&self, names: (&String, &String)) -> bool {
        (&self.from, &self.to) == names
    }

    pub fn is_unreachable(&self) -> bool {
        self.unreachable.is_raised()
    }

    pub fn open_cells(&self) -> MutexGuard<'_, Gather> {
        self.gather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises or clears the alarm of a path on which nothing was answered for `most_silent_ns`.
    pub fn observe(&mut self, now_ns: u64, most_silent_ns: u64) -> Option<Event> {
        let answered_ns = self.open_cells().last_answer_ns();
        let silent_ns = now_ns.saturating_sub(answered_ns.unwrap_or(0).max(self.since_ns));
        let turn = self
            .unreachable
            .observe(now_ns, HOLD, silent_ns > most_silent_ns)?;
        let (from, to) = self.names();
        let (state, detail) = match turn {
            Turn::Raised => {
                let reason = self.last_failure.as_deref();
                let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
                let silent = format_duration(silent_ns);
                (
                    State::Raised,
                    format!("{from} to {to}: no RTT packet was answered for {silent}{reason}"),
                )
            }
            Turn::Cleared(lasted_ns) => (
                State::Cleared,
                format!(
                    "{from} to {to}: RTT packets are answered again, after {}",
                    format_duration(lasted_ns.saturating_add(most_silent_ns))
                ),
            ),
        };
        Some(Event::of_path(
            now_ns,
            What::Unreachable,
            state,
            (from, to),
            detail,
        ))
    }
}
