//! Rows of households, as they are written and as they are found in a run that is continued or merged.

use std::collections::BTreeMap;
use std::time::Instant;

use weir_measure::{Progress, Sink};
use weir_population::Played;
use weir_results::{HouseholdNeighbour, Record, Run, Store, StoreError, Table};

use super::Failure;
use crate::commands::run_store::OpenRun;

/// Rows of a run, by household; neighbours before sessions, variants in their order.
#[derive(Default)]
pub struct Rows(pub BTreeMap<u64, Vec<Record>>);

fn household(record: &Record) -> Option<u64> {
    match record {
        Record::HouseholdSession(row) => Some(row.household),
        Record::HouseholdNeighbour(row) => Some(row.household),
        _ => None,
    }
}

impl Rows {
    /// Of a run that is there.
    pub fn read(store: &Store, run: &Run) -> Result<Self, Failure> {
        let mut rows = Rows::default();
        for table in [Table::HouseholdNeighbours, Table::HouseholdSessions] {
            store.each_record::<StoreError>(run.id, table, |record| {
                if let Some(household) = household(&record) {
                    rows.0.entry(household).or_default().push(record);
                }
                Ok(())
            })?;
        }
        Ok(rows)
    }

    /// Households from this one on that have a session with each of so many variants: the last rows that are written of each.
    pub fn whole(&self, from: u64, variants: usize) -> u64 {
        let is_whole = |rows: &&Vec<Record>| {
            let sessions = rows
                .iter()
                .filter(|row| matches!(row, Record::HouseholdSession(_)));
            sessions.count() == variants
        };
        let households = self.0.range(from..).map(|(_, rows)| rows);
        households.take_while(is_whole).count() as u64
    }

    /// Hands on the rows of a household, and records those that are not there: of one that was being written when the run was
    /// killed, some are.
    pub fn go_on(&self, played: Vec<Played>, run: &OpenRun<'_>, mut take_up: impl FnMut(&Record)) {
        for row in rows(played) {
            take_up(&row);
            if !self.has(&row) {
                run.record(row);
            }
        }
    }

    fn has(&self, row: &Record) -> bool {
        let rows = household(row).and_then(|household| self.0.get(&household));
        rows.is_some_and(|rows| rows.contains(row))
    }
}

/// Progress after a share of the work, above 0.
pub fn progress(began: Instant, share: f64) -> Progress {
    let elapsed_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Progress {
        elapsed_ns,
        total_ns: (elapsed_ns as f64 / share) as u64,
        ..Progress::default()
    }
}

/// The rows of a household in the order in which they are written: those that mark it as whole last.
fn rows(variants: Vec<Played>) -> impl Iterator<Item = Record> {
    let mut neighbours: Vec<HouseholdNeighbour> = Vec::new();
    let mut sessions = Vec::new();
    for played in variants {
        neighbours.extend(played.neighbours);
        sessions.push(played.session);
    }
    let neighbours = neighbours.into_iter().map(Record::HouseholdNeighbour);
    neighbours.chain(sessions.into_iter().map(Record::HouseholdSession))
}
