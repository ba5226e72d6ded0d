//! The thread that writes a running measurement's records, and the handle for measurements. It
//! knows commits, locks and full disks, not the content of a record.
//!
//! Records pass over a bounded channel to a thread that commits at least once a second, records or not: each
//! commit is also the run's heartbeat. When the channel is full, because the disk or another program holds the
//! thread up, records go to a [`Backlog`], which merges them. The caller never waits for the disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::ffi::SQLITE_CONSTRAINT_CHECK;
use rusqlite::{Connection, TransactionBehavior, params, params_from_iter};
use weir_record::{Record, RunId, Table, Value};

use crate::backlog::{Backlog, Fate};
use crate::columns::{bound, clamped};
use crate::error::{StoreError, advice};
use crate::schema::{self, Mode};
use crate::statements;
use crate::store::{Store, beat, now_unix_ns};

/// Time between commits: half of the promised second, so that a slow commit still keeps the promise.
const COMMIT_EVERY: Duration = Duration::from_millis(500);

/// Time between attempts while commits fail.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// How long one attempt waits for another program's lock. Shorter than elsewhere, because the writer retries
/// anyway and must report the problem soon.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// Limits of a writer's memory and retries.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Records in the channel to the thread.
    pub(crate) channel: usize,
    /// Records that the thread holds until a commit succeeds; while commits succeed, a quarter of this makes
    /// the thread commit early.
    pub(crate) uncommitted: usize,
    /// Records in the backlog.
    pub(crate) backlog: usize,
    /// How long `finish` retries.
    pub(crate) patience: Duration,
    /// Maximum size of the file for this writer, in SQLite pages: emulates a full disk in tests.
    pub(crate) max_pages: Option<u32>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            channel: 8_192,
            uncommitted: 65_536,
            backlog: 16_384,
            patience: schema::BUSY_TIMEOUT,
            max_pages: None,
        }
    }
}

/// Starts writer threads.
#[derive(Debug)]
pub struct Writer;

/// Takes records of one run, from any number of threads.
#[derive(Clone, Debug)]
pub struct Recorder {
    sender: SyncSender<Message>,
    shared: Arc<Shared>,
}

/// Ends the writer thread and returns its report. If it is dropped instead, the thread still writes its records.
#[derive(Debug)]
pub struct WriterHandle {
    wake: SyncSender<Message>,
    thread: Option<JoinHandle<Result<WriterReport, StoreError>>>,
    shared: Arc<Shared>,
    path: PathBuf,
}

/// Fate of the records of a run: all records are `written + merged + lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriterReport {
    /// Rows stored.
    pub written: u64,
    /// Records merged into other rows because the writer fell behind.
    pub merged: u64,
    /// Records dropped because the backlog was full, or refused by their table.
    pub lost: u64,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
enum Message {
    // Boxing it would cost an allocation per record.
    Record(Record),
    /// Look at `Shared::finishing`.
    Wake,
}

#[derive(Debug)]
struct Shared {
    backlog: Mutex<Backlog>,
    merged: AtomicU64,
    lost: AtomicU64,
    finishing: AtomicBool,
    failure: Mutex<Option<String>>,
}

impl Writer {
    /// Starts the thread that writes `run` into the existing database at `path`.
    pub fn spawn(path: impl AsRef<Path>, run: RunId) -> Result<(Recorder, WriterHandle), StoreError> {
        Writer::spawn_with(path.as_ref(), run, Limits::default())
    }

    pub(crate) fn spawn_with(
        path: &Path,
        run: RunId,
        limits: Limits,
    ) -> Result<(Recorder, WriterHandle), StoreError> {
        let connection = schema::open(path, Mode::Write)?;
        set_up(&connection, &limits).map_err(StoreError::at("set up the writer", path))?;
        let known: bool = connection
            .query_row(
                "SELECT EXISTS (SELECT 1 FROM runs WHERE run_id = ?1)",
                [run.0],
                |row| row.get(0),
            )
            .map_err(StoreError::at("find the run to write", path))?;
        if !known {
            return Err(StoreError::RunNotFound {
                path: path.to_path_buf(),
                run,
            });
        }

        let (sender, receiver) = sync_channel(limits.channel);
        let shared = Arc::new(Shared {
            backlog: Mutex::new(Backlog::new(limits.backlog)),
            merged: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            finishing: AtomicBool::new(false),
            failure: Mutex::new(None),
        });
        let worker = Worker {
            connection,
            path: path.to_path_buf(),
            run,
            limits,
            receiver,
            shared: shared.clone(),
            uncommitted: Vec::new(),
            written: 0,
            stored: (0, 0),
            stored_until_unix_ns: now_unix_ns(),
            failing: false,
        };
        let thread = thread::Builder::new()
            .name("weir-results".to_string())
            .spawn(move || worker.work())
            .map_err(|source| StoreError::Thread {
                path: path.to_path_buf(),
                source,
            })?;
        let handle = WriterHandle {
            wake: sender.clone(),
            thread: Some(thread),
            shared: shared.clone(),
            path: path.to_path_buf(),
        };
        Ok((Recorder { sender, shared }, handle))
    }
}

impl Store {
    /// Stores records of a run in one transaction, for a caller without real-time constraints: an import, or a
    /// simulated measurement. A measurement in real time uses [`Writer`].
    ///
    /// # Errors
    /// When the run does not exist, or the file cannot be written.
    pub fn append(&mut self, run: RunId, records: &[Record]) -> Result<(), StoreError> {
        self.run(run)?;
        store(&mut self.connection, run, records, (0, 0), now_unix_ns(), Err)
            .map_err(StoreError::at("store the records", &self.path))
    }
}

fn set_up(connection: &Connection, limits: &Limits) -> rusqlite::Result<()> {
    connection.busy_timeout(LOCK_WAIT)?;
    connection.set_prepared_statement_cache_capacity(Table::ALL.len() + 4);
    if let Some(pages) = limits.max_pages {
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(())
}

impl Recorder {
    /// Passes a record to the writer and returns at once: neither the disk nor another program's lock blocks the
    /// caller. If the queue is full, the record is merged or, as a last resort, dropped; both are counted in the
    /// run. Stop recording before [`WriterHandle::finish`]: later records are lost.
    pub fn record(&self, record: Record) {
        if self.shared.finishing.load(Ordering::Acquire) {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        match self.sender.try_send(Message::Record(record)) {
            Ok(()) => {}
            // The lock is held only while a record is merged or the backlog is moved out, never during
            // an access to the file.
            Err(TrySendError::Full(Message::Record(record))) => match self.shared.backlog().put(record) {
                Fate::Kept => {}
                Fate::Merged => {
                    self.shared.merged.fetch_add(1, Ordering::Relaxed);
                }
                Fate::Lost => {
                    self.shared.lost.fetch_add(1, Ordering::Relaxed);
                }
            },
            Err(_) => {
                self.shared.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl WriterHandle {
    /// The current problem that keeps records from being stored, if any, and what to do about it. Recording
    /// continues meanwhile and is stored when the problem is solved.
    pub fn failure(&self) -> Option<String> {
        self.shared.failure().clone()
    }

    /// Stores all records and ends the thread. Retries for a few seconds if the file is locked
    /// or the disk is full, then the error says up to when the run is stored.
    pub fn finish(mut self) -> Result<WriterReport, StoreError> {
        match self.end_thread() {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => Err(StoreError::WriterStopped {
                path: self.path.clone(),
            }),
        }
    }

    fn end_thread(&mut self) -> Option<thread::Result<Result<WriterReport, StoreError>>> {
        let thread = self.thread.take()?;
        self.shared.finishing.store(true, Ordering::Release);
        // If the channel is full, the thread is not blocked on it; it may be parked.
        let _ = self.wake.try_send(Message::Wake);
        thread.thread().unpark();
        Some(thread.join())
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        // On an early return of the caller there is no one to report to; the run's heartbeat shows the last stored time.
        let _ = self.end_thread();
    }
}

impl Shared {
    // A panic elsewhere leaves these consistent: each is changed in one step.
    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self) -> MutexGuard<'_, Option<String>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// State of the thread.
struct Worker {
    connection: Connection,
    path: PathBuf,
    run: RunId,
    limits: Limits,
    receiver: Receiver<Message>,
    shared: Arc<Shared>,
    uncommitted: Vec<Record>,
    written: u64,
    /// Merged and lost records already counted in the run's row.
    stored: (u64, u64),
    stored_until_unix_ns: u64,
    failing: bool,
}

impl Worker {
    fn work(mut self) -> Result<WriterReport, StoreError> {
        let mut due = Instant::now() + COMMIT_EVERY;
        while !self.shared.finishing.load(Ordering::Acquire) {
            self.gather(due);
            let early = !self.failing && self.uncommitted.len() >= self.limits.uncommitted / 4;
            if early || Instant::now() >= due {
                self.take_backlog();
                due = match self.commit() {
                    Ok(()) => Instant::now() + COMMIT_EVERY,
                    Err(_) => Instant::now() + RETRY_EVERY,
                };
            }
        }
        self.close()
    }

    /// Receives until the commit is due, there is enough for one, or the run finishes.
    fn gather(&mut self, due: Instant) {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            if self.uncommitted.len() >= self.limits.uncommitted {
                // At its limit: from here on the channel fills and then the backlog merges.
                thread::park_timeout(left);
                if self.shared.finishing.load(Ordering::Acquire) {
                    return;
                }
                continue;
            }
            match self.receiver.recv_timeout(left) {
                Ok(Message::Record(record)) => self.uncommitted.push(record),
                Ok(Message::Wake) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
            if !self.failing && self.uncommitted.len() >= self.limits.uncommitted / 4 {
                return;
            }
        }
    }

    /// Takes the backlog if there is room for it. While commits fail it stays where it is and keeps merging.
    fn take_backlog(&mut self) {
        if self.failing {
            return;
        }
        let mut backlog = self.shared.backlog();
        if backlog.len() > 0 && self.uncommitted.len() < self.limits.uncommitted {
            self.uncommitted.extend(backlog.take());
        }
    }

    /// Stores the rest. There are no more recorders, so this empties the channel and the backlog.
    fn close(mut self) -> Result<WriterReport, StoreError> {
        let give_up = Instant::now() + self.limits.patience;
        loop {
            while let Ok(message) = self.receiver.try_recv() {
                if let Message::Record(record) = message {
                    self.uncommitted.push(record);
                }
            }
            let waiting = self.shared.backlog().take();
            self.uncommitted.extend(waiting);
            match self.commit() {
                Ok(()) => {
                    return Ok(WriterReport {
                        written: self.written,
                        merged: self.stored.0,
                        lost: self.stored.1,
                    });
                }
                Err(problem) if Instant::now() >= give_up => {
                    self.mark_unwritten();
                    return Err(StoreError::Unwritten {
                        run: self.run,
                        path: self.path.clone(),
                        stored_until: self.utc(self.stored_until_unix_ns),
                        unwritten: self.uncommitted.len() as u64,
                        problem,
                    });
                }
                Err(_) => thread::sleep(Duration::from_millis(200).min(self.limits.patience)),
            }
        }
    }

    /// Stores what is uncommitted, with the heartbeat. On failure keeps it and returns the reason.
    fn commit(&mut self) -> Result<(), String> {
        let merged = self.shared.merged.load(Ordering::Relaxed);
        let lost = self.shared.lost.load(Ordering::Relaxed);
        let now = now_unix_ns();
        let counts = (merged - self.stored.0, lost - self.stored.1);
        let mut refused = 0;
        let refuse = |_| {
            refused += 1;
            Ok(())
        };
        match store(
            &mut self.connection,
            self.run,
            &self.uncommitted,
            counts,
            now,
            refuse,
        ) {
            Ok(()) => {
                self.written += self.uncommitted.len() as u64 - refused;
                let lost = lost + refused;
                self.shared.lost.fetch_add(refused, Ordering::Relaxed);
                self.uncommitted.clear();
                // This is large after a long lock; free it for long runs.
                self.uncommitted.shrink_to(self.limits.uncommitted / 4);
                self.stored = (merged, lost);
                self.stored_until_unix_ns = now;
                if std::mem::take(&mut self.failing) {
                    *self.shared.failure() = None;
                }
                Ok(())
            }
            Err(error) => {
                let problem = format!("{error}; {}", advice(error.sqlite_error_code()));
                self.failing = true;
                *self.shared.failure() = Some(format!(
                    "records of run {} are not reaching {} since {}: {problem}",
                    self.run,
                    self.path.display(),
                    self.utc(self.stored_until_unix_ns)
                ));
                Err(problem)
            }
        }
    }

    /// Counts the unwritten records as lost in the run's row: that needs no new page, so it may succeed where
    /// the records failed. If not, the caller still gets the error.
    fn mark_unwritten(&mut self) {
        let merged = self.shared.merged.load(Ordering::Relaxed) - self.stored.0;
        let lost = self.shared.lost.load(Ordering::Relaxed) - self.stored.1 + self.uncommitted.len() as u64;
        // The heartbeat stays at the last time up to which records are stored.
        let _ = store(
            &mut self.connection,
            self.run,
            &[],
            (merged, lost),
            self.stored_until_unix_ns,
            Err,
        );
    }

    /// A readable time. SQLite formats it without access to the file.
    fn utc(&self, unix_ns: u64) -> String {
        self.connection
            .query_row(
                "SELECT strftime('%Y-%m-%d %H:%M:%S UTC', ?1, 'unixepoch')",
                [unix_ns / 1_000_000_000],
                |row| row.get(0),
            )
            .unwrap_or_else(|_| format!("{unix_ns} ns after 1970"))
    }
}

/// Whether a row violates a constraint of its table, such as an unknown word: every retry would
/// fail the same way.
fn never_fits(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == SQLITE_CONSTRAINT_CHECK)
}

/// One commit: rows, the counts of merged and lost records since the last one, and the heartbeat. A row that its table
/// refuses goes to `refuse`, which says whether the others are stored without it; it is then counted as lost.
fn store(
    connection: &mut Connection,
    run: RunId,
    records: &[Record],
    (merged, lost): (u64, u64),
    now_unix_ns: u64,
    mut refuse: impl FnMut(rusqlite::Error) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut lost = lost;
    // Takes the write lock first: a transaction that has read cannot wait for it.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut statements = Table::ALL.map(|_| None);
        let mut values: Vec<Value> = Vec::new();
        for record in records {
            let table = Table::of(record);
            let statement = match &mut statements[table as usize] {
                Some(statement) => statement,
                empty => empty.insert(transaction.prepare_cached(&statements::insert(table))?),
            };
            values.clear();
            values.push(Value::Integer(run.0));
            record.put(&mut values);
            match statement.execute(params_from_iter(values.iter().map(bound))) {
                Err(error) if never_fits(&error) => {
                    refuse(error)?;
                    lost += 1;
                }
                other => drop(other?),
            }
        }
    }
    if merged > 0 || lost > 0 {
        transaction.execute(
            "UPDATE runs SET merged_records = merged_records + ?2, lost_records = lost_records + ?3
             WHERE run_id = ?1",
            params![run.0, clamped(merged), clamped(lost)],
        )?;
    }
    beat(&transaction, run, now_unix_ns)?;
    transaction.commit()
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
