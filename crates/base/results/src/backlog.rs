//! Queues records while the writer is behind, and merges them: rows of counts of one flow, host or connection become one
//! row that covers a longer time. It knows that rows have subjects, not their fields.
//!
//! Only rows that sum up a period are merged. Events (a packet, a burst, a silence, a loss window, a probe, a change of a
//! flow) are kept as they are while there is room: two of them added up would be an event that never happened.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use weir_record::{Record, Table};

/// Result of adding a record to the backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Queued unchanged.
    Kept,
    /// Merged into another record.
    Merged,
    /// Dropped: the backlog is full.
    Lost,
}

/// Queued records, at most `limit`.
#[derive(Debug)]
pub(crate) struct Backlog {
    limit: usize,
    events: Vec<Record>,
    /// By what they describe.
    sums: HashMap<(Table, String), Sum>,
}

#[derive(Debug)]
struct Sum {
    record: Record,
    /// Number of records merged into it, for means.
    parts: u32,
}

impl Backlog {
    pub(crate) fn new(limit: usize) -> Backlog {
        Backlog {
            limit,
            events: Vec::new(),
            sums: HashMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len() + self.sums.len()
    }

    pub(crate) fn put(&mut self, record: Record) -> Fate {
        let full = self.len() >= self.limit;
        let table = Table::of(&record);
        if !table.merges() {
            if full {
                return Fate::Lost;
            }
            self.events.push(record);
            return Fate::Kept;
        }
        match self.sums.entry((table, record.subject())) {
            Entry::Occupied(mut entry) => {
                let sum = entry.get_mut();
                sum.record.merge(&record, sum.parts);
                sum.parts = sum.parts.saturating_add(1);
                Fate::Merged
            }
            Entry::Vacant(_) if full => Fate::Lost,
            Entry::Vacant(entry) => {
                entry.insert(Sum { record, parts: 1 });
                Fate::Kept
            }
        }
    }

    /// Takes all queued records.
    pub(crate) fn take(&mut self) -> Vec<Record> {
        let mut records = std::mem::take(&mut self.events);
        records.extend(self.sums.drain().map(|(_, sum)| sum.record));
        records
    }
}
