//! Runs as list entries, for lists that are read often: without parameters and summaries, which can be long. It knows
//! the columns of runs, not who reads the list.

use rusqlite::{OptionalExtension, Row, params_from_iter};
use serde::Serialize;
use serde_json::Value;
use weir_record::RunId;

use crate::error::StoreError;
use crate::notes::tags_from_column;
use crate::store::{Outcome, Store, show_abandoned};

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// Its number.
    #[serde(rename = "run_id")]
    pub id: RunId,
    /// The run that it is a part of.
    #[serde(rename = "parent_run_id")]
    pub parent: Option<RunId>,
    /// What it measured.
    pub kind: String,
    /// The far host, as the user named it.
    pub target: String,
    /// Name of the host that ran the command, where it is known.
    pub local_name: Option<String>,
    /// Name of the agent's host, where it is known.
    pub remote_name: Option<String>,
    /// When it began, Unix nanoseconds.
    pub started_unix_ns: u64,
    /// When it ended; none while it runs.
    pub ended_unix_ns: Option<u64>,
    /// Last heartbeat.
    #[serde(skip)]
    pub last_unix_ns: u64,
    /// Its outcome; a run without a heartbeat shows as interrupted.
    pub outcome: Outcome,
    /// Why it failed or was interrupted.
    pub reason: Option<String>,
    /// What the user wrote about it.
    pub note: String,
    /// The user's tags.
    pub tags: Vec<String>,
}

/// Filter of a list of runs.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    /// Only runs of this kind.
    pub kind: Option<String>,
    /// Only runs with each of these words in the far host, host names, note or tags, case-insensitive.
    pub search: String,
    /// Only runs with this tag.
    pub tag: Option<String>,
    /// Only runs after this one in the list.
    pub before: Option<RunId>,
    /// Include parts of other runs.
    pub parts: bool,
    /// At most this many.
    pub limit: usize,
}

const COLUMNS: &str = "run_id, parent_run_id, kind, target, local_host, remote_host, started_unix_ns, ended_unix_ns, \
                       last_unix_ns, outcome, reason, note, tags";

impl Store {
    /// Runs, the latest first, and whether there are more.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn run_lines(&self, query: &RunQuery) -> Result<(Vec<RunLine>, bool), StoreError> {
        self.read_lines(query)
            .map_err(StoreError::at("list the runs", &self.path))
    }

    /// One run as a line.
    ///
    /// # Errors
    /// When the database cannot be read or has no such run.
    pub fn run_line(&self, run: RunId) -> Result<RunLine, StoreError> {
        self.connection
            .query_row(
                &format!("SELECT {COLUMNS} FROM runs WHERE run_id = ?1"),
                [run.0],
                line_from_row,
            )
            .optional()
            .map_err(StoreError::at("read the run", &self.path))?
            .ok_or_else(|| StoreError::RunNotFound {
                path: self.path.clone(),
                run,
            })
    }

    fn read_lines(&self, query: &RunQuery) -> rusqlite::Result<(Vec<RunLine>, bool)> {
        let mut sql = format!("SELECT {COLUMNS} FROM runs WHERE true");
        let mut values: Vec<rusqlite::types::Value> = Vec::new();
        if !query.parts {
            sql.push_str(" AND parent_run_id IS NULL");
        }
        if let Some(kind) = &query.kind {
            sql.push_str(" AND kind = ?");
            values.push(kind.clone().into());
        }
        if let Some(before) = query.before {
            let started: Option<i64> = self
                .connection
                .query_row(
                    "SELECT started_unix_ns FROM runs WHERE run_id = ?1",
                    [before.0],
                    |row| row.get(0),
                )
                .optional()?;
            match started {
                Some(started) => {
                    sql.push_str(" AND (started_unix_ns, run_id) < (?, ?)");
                    values.extend([started.into(), before.0.into()]);
                }
                // It was deleted meanwhile; numbers nearly always ascend with time.
                None => {
                    sql.push_str(" AND run_id < ?");
                    values.push(before.0.into());
                }
            }
        }
        sql.push_str(" ORDER BY started_unix_ns DESC, run_id DESC");
        let words: Vec<String> = query.search.split_whitespace().map(str::to_lowercase).collect();
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let line = line_from_row(row)?;
            if !wanted(&line, &words, query.tag.as_deref()) {
                continue;
            }
            if found.len() == query.limit {
                return Ok((found, true));
            }
            found.push(line);
        }
        Ok((found, false))
    }
}

/// Whether a run has all these words and this tag. In Rust, since SQLite ignores case for ASCII letters only.
fn wanted(line: &RunLine, words: &[String], tag: Option<&str>) -> bool {
    if tag.is_some_and(|tag| !line.tags.iter().any(|known| known == tag)) {
        return false;
    }
    if words.is_empty() {
        return true;
    }
    let texts: Vec<String> = [&line.target, &line.note]
        .into_iter()
        .chain(&line.local_name)
        .chain(&line.remote_name)
        .chain(&line.tags)
        .map(|text| text.to_lowercase())
        .collect();
    words
        .iter()
        .all(|word| texts.iter().any(|text| text.contains(word)))
}

fn line_from_row(row: &Row<'_>) -> rusqlite::Result<RunLine> {
    let name = |index| {
        let facts: Option<String> = row.get(index)?;
        let facts: Option<Value> = facts.and_then(|facts| serde_json::from_str(&facts).ok());
        let name = facts.and_then(|facts| Some(facts.get("name")?.as_str()?.to_owned()));
        Ok::<_, rusqlite::Error>(name)
    };
    let mut line = RunLine {
        id: RunId(row.get(0)?),
        parent: row.get::<_, Option<i64>>(1)?.map(RunId),
        kind: row.get(2)?,
        target: row.get(3)?,
        local_name: name(4)?,
        remote_name: name(5)?,
        started_unix_ns: row.get(6)?,
        ended_unix_ns: row.get(7)?,
        last_unix_ns: row.get(8)?,
        outcome: Outcome::from_column(&row.get::<_, String>(9)?),
        reason: row.get(10)?,
        note: row.get(11)?,
        tags: tags_from_column(row.get(12)?),
    };
    show_abandoned(
        line.last_unix_ns,
        &mut line.outcome,
        &mut line.ended_unix_ns,
        &mut line.reason,
    );
    Ok(line)
}
