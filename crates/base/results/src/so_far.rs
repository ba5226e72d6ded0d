//! Live totals of a run that is being recorded, cheap enough to query every second. It knows
//! which tables hold them, not how they were measured.

use rusqlite::{OptionalExtension, params};
use weir_record::RunId;

use crate::error::StoreError;
use crate::store::Store;

/// Rows this much older than the newest belong to an earlier second.
const SAME_SECOND_NS: i64 = 500_000_000;

/// Totals of a run so far. It remembers the last counted row, so that the next query reads new rows only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SoFar {
    /// Received and lost packets.
    pub expected: u64,
    /// Lost packets; of carried media, the residual loss.
    pub lost: u64,
    /// Payload bits per second in the newest second, all directions, senders and connections together; none where no
    /// rate is recorded.
    pub rate: Option<u64>,
    last_packet: i64,
    last_second: i64,
    last_repaired: i64,
}

impl SoFar {
    /// Loss rate, 0 to 1; none before the first packet.
    pub fn loss(&self) -> Option<f64> {
        (self.expected > 0).then(|| self.lost as f64 / self.expected as f64)
    }
}

impl Store {
    /// Counts the records of a run since the last query.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count_on(&self, run: RunId, so_far: &mut SoFar) -> Result<(), StoreError> {
        let count = |so_far: &mut SoFar| {
            let mut next = so_far.clone();
            let packets = ("rtt_packets", "count(*)", "sum(lost)");
            self.add(run, packets, &mut next, |so_far| &mut so_far.last_packet)?;
            let seconds = ("stream_seconds", "sum(received) + sum(lost)", "sum(lost)");
            self.add(run, seconds, &mut next, |so_far| &mut so_far.last_second)?;
            // Late and retransmitted packets are among those received, in the same row.
            let repaired = (
                "recv_seconds",
                "max(0, sum(received) + sum(lost) - sum(overtaken) - sum(retransmitted))",
                "sum(unrepaired)",
            );
            self.add(run, repaired, &mut next, |so_far| &mut so_far.last_repaired)?;
            next.rate = self
                .rate_of_streams(run)?
                .or(self.rate_of(run, "recv_seconds")?)
                .or(self.rate_of(run, "send_seconds")?)
                .or(self.rate_of(run, "tcp_seconds")?);
            *so_far = next;
            Ok(())
        };
        count(so_far).map_err(StoreError::at("read what was recorded so far", &self.path))
    }

    fn add(
        &self,
        run: RunId,
        (table, expected, lost): (&str, &str, &str),
        so_far: &mut SoFar,
        last: fn(&mut SoFar) -> &mut i64,
    ) -> rusqlite::Result<()> {
        let seen = *last(so_far);
        // The first query finds the rows by their run; later ones continue from the last row
        // seen, and the plus keeps SQLite from scanning the whole run again.
        let which = if seen == 0 {
            "run_id"
        } else {
            "id > ?2 AND +run_id"
        };
        let sql =
            format!("SELECT {expected}, {lost}, max(id) FROM {table} WHERE {which} = ?1 AND ?2 IS NOT NULL");
        let (new, lost, newest): (Option<u64>, Option<u64>, Option<i64>) = self
            .connection
            .prepare_cached(&sql)?
            .query_row(params![run.0, seen], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        so_far.expected = so_far.expected.saturating_add(new.unwrap_or(0));
        so_far.lost = so_far.lost.saturating_add(lost.unwrap_or(0));
        if let Some(newest) = newest {
            *last(so_far) = newest;
        }
        Ok(())
    }

    fn rate_of_streams(&self, run: RunId) -> rusqlite::Result<Option<u64>> {
        let mut newest: Vec<(i64, u64, u64)> = Vec::new();
        for direction in ["forward", "reverse"] {
            let row = self
                .connection
                .prepare_cached(
                    "SELECT unix_ns, bytes, duration_ns FROM stream_seconds
                     WHERE run_id = ?1 AND direction = ?2 ORDER BY unix_ns DESC LIMIT 1",
                )?
                .query_row(params![run.0, direction], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .optional()?;
            newest.extend(row);
        }
        let Some(last) = newest.iter().map(|(unix_ns, ..)| *unix_ns).max() else {
            return Ok(None);
        };
        let rates = newest
            .iter()
            .filter(|(unix_ns, ..)| last.saturating_sub(*unix_ns) < 2 * SAME_SECOND_NS)
            .map(|(_, bytes, duration)| *bytes as f64 * 8e9 / (*duration).max(1) as f64);
        Ok(Some(rates.sum::<f64>() as u64))
    }

    /// The rate of the newest rows of a table, one for each sender or connection.
    fn rate_of(&self, run: RunId, table: &str) -> rusqlite::Result<Option<u64>> {
        let rate: Option<f64> = self
            .connection
            .prepare_cached(&format!(
                "SELECT sum(bytes * 8e9 / max(duration_ns, 1)) FROM {table}
                 WHERE run_id = ?1 AND unix_ns > (SELECT max(unix_ns) FROM {table} WHERE run_id = ?1) - ?2"
            ))?
            .query_row(params![run.0, SAME_SECOND_NS], |row| row.get(0))?;
        Ok(rate.map(|rate| rate as u64))
    }
}
