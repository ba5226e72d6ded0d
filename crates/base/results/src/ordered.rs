//! Reads a run's records in other orders than the stored one, from a consistent view of the database, for streaming
//! aggregation. It knows the start time of a row, not what is aggregated.

use rusqlite::params;
use serde::Serialize;
use weir_record::{Record, RunId, Table};

use crate::columns::clamped;
use crate::error::StoreError;
use crate::statements;
use crate::store::Store;

/// Packets whose RTTs are sorted in memory, 8 bytes each.
const MOST_SORTED_HERE: u64 = 16_000_000;
/// Bits of an RTT beside its group's number in 64: up to 78 hours.
const RTT_BITS: u32 = 48;

/// A consistent view of the database for all reads until it is dropped.
#[derive(Debug)]
pub struct Snapshot<'a> {
    _transaction: rusqlite::Transaction<'a>,
}

/// Grouping of packets of an RTT test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttGroups {
    /// All of them in one group, number 0.
    All,
    /// By payload length, in ranges: number `n` has lengths from `first + n * width` on.
    Lengths {
        /// Start of the first range, bytes.
        first: u64,
        /// Lengths in a range, at least 1.
        width: u64,
    },
    /// By position in the window.
    Positions,
}

impl RttGroups {
    fn sql(self) -> String {
        match self {
            RttGroups::All => "0".into(),
            RttGroups::Lengths { first, width } => format!("(length - {first}) / {}", width.max(1)),
            RttGroups::Positions => "position".into(),
        }
    }
}

/// Packet counts of a group of an RTT test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttGroup {
    /// Number of the group.
    pub group: u64,
    /// Packets that were answered.
    pub answered: u64,
    /// Packets that were lost.
    pub lost: u64,
}

/// A step back of a host's clock during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClockStep {
    /// The time to which it was set, Unix nanoseconds.
    pub unix_ns: u64,
    /// By how much, nanoseconds.
    pub back_ns: u64,
}

/// Minimum step: records of the same time can be out of order by less.
const LEAST_CLOCK_STEP: u32 = 500_000_000;
/// Maximum number of listed steps.
const MOST_CLOCK_STEPS: u32 = 20;

/// Subjects of the counted bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subjects {
    /// Each direction, flow or side separately.
    Each,
    /// All of them together.
    Together,
}

impl Store {
    /// Starts a consistent view of the database, until the snapshot is dropped. One at a time.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, StoreError> {
        Ok(Snapshot {
            _transaction: self.read_transaction()?,
        })
    }

    /// Like [`each_record`](Store::each_record), ordered by subject (direction, flow, side) and then
    /// by start time. SQLite sorts them, on disk if there are many.
    ///
    /// # Errors
    /// When the database cannot be read, and what `visit` returns.
    pub fn each_record_by_time(
        &self,
        run: RunId,
        table: Table,
        visit: impl FnMut(Record) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_row_of(run, table, &statements::select_by_time(table), visit)
    }

    /// Rows of one table of a run.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count(&self, run: RunId, table: Table) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {table} WHERE run_id = ?1");
        self.connection
            .query_row(&sql, [run.0], |row| row.get(0))
            .map_err(StoreError::at("count the records of the run", &self.path))
    }

    /// Number of subjects (directions, flows or sides) in a table, and the maximum number of rows of one.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count_subjects(&self, run: RunId, table: Table) -> Result<(u64, u64), StoreError> {
        self.connection
            .query_row(&statements::count_subjects(table), [run.0], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .map_err(StoreError::at("count the subjects of the records", &self.path))
    }

    /// Number of bins of `bin_ns` nanoseconds in which rows start. Bins are aligned to `origin_unix_ns`
    /// and extend before it, too.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count_bins(
        &self,
        run: RunId,
        table: Table,
        subjects: Subjects,
        origin_unix_ns: u64,
        bin_ns: u64,
    ) -> Result<u64, StoreError> {
        self.connection
            .query_row(
                &statements::count_bins(table, subjects == Subjects::Each),
                params![run.0, clamped(origin_unix_ns), clamped(bin_ns.max(1))],
                |row| row.get(0),
            )
            .map_err(StoreError::at("count the times of the records", &self.path))
    }

    /// Steps back in time between consecutive packets or seconds of a run; the first few.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn clock_steps(&self, run: RunId) -> Result<Vec<ClockStep>, StoreError> {
        // A difference beyond 64 bits becomes REAL, and the cast limits it.
        let sql = format!(
            "WITH times AS (
                 SELECT direction AS subject, id AS place, unix_ns AS ended, unix_ns - duration_ns AS began
                 FROM stream_seconds WHERE run_id = ?1
                 UNION ALL
                 SELECT 'send', id, unix_ns, unix_ns - duration_ns FROM send_seconds WHERE run_id = ?1
                 UNION ALL
                 SELECT sender, id, unix_ns, unix_ns - duration_ns FROM recv_seconds WHERE run_id = ?1
                 UNION ALL
                 SELECT 'rtt', sequence, sent_unix_ns, sent_unix_ns FROM rtt_packets WHERE run_id = ?1
             ), steps AS (
                 SELECT began, lag(ended) OVER (PARTITION BY subject ORDER BY place) - began AS back FROM times
             )
             SELECT CAST(began AS INTEGER), CAST(back AS INTEGER) FROM steps
             WHERE back > {LEAST_CLOCK_STEP} AND began >= 0 ORDER BY began LIMIT {MOST_CLOCK_STEPS}"
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows = statement.query_map([run.0], |row| {
                Ok(ClockStep {
                    unix_ns: row.get(0)?,
                    back_ns: row.get(1)?,
                })
            })?;
            rows.collect::<rusqlite::Result<_>>()
        };
        read().map_err(StoreError::at(
            "look for steps of the clock in the run",
            &self.path,
        ))
    }

    /// The number of payload lengths of an RTT test, the smallest and the largest; zeros if it has no packets.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn rtt_lengths(&self, run: RunId) -> Result<(u64, u64, u64), StoreError> {
        self.connection
            .query_row(
                "SELECT count(DISTINCT length), coalesce(min(length), 0), coalesce(max(length), 0)
                 FROM rtt_packets WHERE run_id = ?1",
                [run.0],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .map_err(StoreError::at("read the packet lengths of the run", &self.path))
    }

    /// Packet counts of the groups of an RTT test, ascending; empty groups are omitted.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn rtt_groups(&self, run: RunId, groups: RttGroups) -> Result<Vec<RttGroup>, StoreError> {
        let sql = format!(
            "SELECT {} AS part, count(CASE WHEN NOT lost THEN rtt_ns END), sum(lost)
             FROM rtt_packets WHERE run_id = ?1 GROUP BY part ORDER BY part",
            groups.sql()
        );
        let read = || {
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query_map([run.0], |row| {
                Ok(RttGroup {
                    group: row.get(0)?,
                    answered: row.get(1)?,
                    lost: row.get(2)?,
                })
            })?;
            rows.collect::<rusqlite::Result<_>>()
        };
        read().map_err(StoreError::at("count the packets of the run", &self.path))
    }

    /// Passes the RTT of every answered packet to `visit`, with its group's number: group by group, ascending within
    /// each. Up to 16 million packets are sorted in 128 MB of memory; more are left to SQLite, which sorts on disk
    /// and takes ten times as long.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn each_rtt(
        &self,
        run: RunId,
        groups: RttGroups,
        visit: impl FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        let packets = self.count(run, Table::RttPackets)?;
        self.each_rtt_within(MOST_SORTED_HERE, packets, run, groups, visit)
    }

    fn each_rtt_within(
        &self,
        most: u64,
        packets: u64,
        run: RunId,
        groups: RttGroups,
        mut visit: impl FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        if packets <= most
            && let Some(mut packed) = self.packed_rtts(packets, run, groups)?
        {
            packed.sort_unstable();
            for value in packed {
                visit(value >> RTT_BITS, value & ((1 << RTT_BITS) - 1));
            }
            return Ok(());
        }
        self.read_rtts(run, groups, "ORDER BY part, rtt_ns", |group, rtt| {
            visit(group, rtt);
            true
        })
    }

    /// Groups and RTTs, each pair packed into one number with the same order; none if one does not fit.
    fn packed_rtts(
        &self,
        packets: u64,
        run: RunId,
        groups: RttGroups,
    ) -> Result<Option<Vec<u64>>, StoreError> {
        let mut packed = Vec::with_capacity(usize::try_from(packets).unwrap_or(0));
        let mut fits = true;
        self.read_rtts(run, groups, "", |group, rtt| {
            fits = group >> (64 - RTT_BITS) == 0 && rtt >> RTT_BITS == 0;
            packed.push(group << RTT_BITS | rtt);
            fits
        })?;
        Ok(fits.then_some(packed))
    }

    /// Passes groups and RTTs to `visit` while it returns true.
    fn read_rtts(
        &self,
        run: RunId,
        groups: RttGroups,
        order: &str,
        mut visit: impl FnMut(u64, u64) -> bool,
    ) -> Result<(), StoreError> {
        let failed = || StoreError::at("read the round-trip times of the run", &self.path);
        let sql = format!(
            "SELECT {} AS part, rtt_ns FROM rtt_packets
             WHERE run_id = ?1 AND NOT lost AND rtt_ns IS NOT NULL {order}",
            groups.sql()
        );
        let mut statement = self.connection.prepare(&sql).map_err(failed())?;
        let mut rows = statement.query([run.0]).map_err(failed())?;
        while let Some(row) = rows.next().map_err(failed())? {
            if !visit(row.get(0).map_err(failed())?, row.get(1).map_err(failed())?) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewRun;
    use weir_record::RttPacket;

    #[test]
    fn both_ways_of_sorting_give_the_same_and_neither_minds_odd_times() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path().join("weir.db")).unwrap();
        for longest in [5_000, 1 << RTT_BITS] {
            let run = store.begin_run(&NewRun::default()).unwrap();
            let packets: Vec<Record> = (0..100u64)
                .map(|sequence| {
                    Record::RttPacket(RttPacket {
                        sequence,
                        length: (sequence % 3) as u32 * 100,
                        rtt_ns: (sequence != 50).then_some(if sequence == 7 {
                            longest
                        } else {
                            sequence * 37 % 100
                        }),
                        lost: sequence == 50,
                        ..RttPacket::default()
                    })
                })
                .collect();
            store.append(run, &packets).unwrap();
            let groups = RttGroups::Lengths { first: 0, width: 1 };
            let mut expected: Vec<(u64, u64)> = packets
                .iter()
                .filter_map(|record| match record {
                    Record::RttPacket(packet) => Some((packet.length.into(), packet.rtt_ns?)),
                    _ => None,
                })
                .collect();
            expected.sort_unstable();
            for most in [0, 1_000] {
                let mut seen = Vec::new();
                store
                    .each_rtt_within(most, 100, run, groups, |group, rtt| seen.push((group, rtt)))
                    .unwrap();
                assert_eq!(seen, expected, "at most {most} in memory, the longest {longest}");
            }
        }
    }
}
