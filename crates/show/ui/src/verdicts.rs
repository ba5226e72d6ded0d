//! The verdict on each run, read or made one after the other on a thread of its own, and remembered. It must not know how
//! a diagnosis is made, nor who shows it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_results::{RunId, RunVerdict, Store, StoreError};

/// Most verdicts that are remembered.
const MOST: usize = 10_000;

/// A run and its last heartbeat: a run that goes on after all has a new one, and is looked at again.
pub type Asked = (RunId, u64);

/// Verdicts that are known, and a thread that makes more.
pub struct Verdicts {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// Something is to be done, or the thread is to end.
    wanted: Condvar,
    /// Something was done.
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// By run; no verdict where a run has no diagnosis.
    known: HashMap<RunId, (u64, Option<RunVerdict>)>,
    /// What was asked for last, the first one last.
    queue: Vec<Asked>,
    ended: bool,
}

impl State {
    fn known(&self, (run, last): Asked) -> Option<&Option<RunVerdict>> {
        self.known
            .get(&run)
            .filter(|(known, _)| *known == last)
            .map(|(_, verdict)| verdict)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Verdicts {
    /// Verdicts on runs of `database`; none is made before it is asked for.
    pub fn new(database: PathBuf) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            wanted: Condvar::new(),
            done: Condvar::new(),
        });
        let worker = shared.clone();
        std::thread::Builder::new()
            .name("weir-verdicts".into())
            .spawn(move || work(&worker, &database))?;
        Ok(Verdicts { shared })
    }

    /// The verdicts on these runs that are known within `wait`; the others are made afterwards, for whoever asks next.
    pub fn ask(&self, asked: &[Asked], wait: Duration) -> HashMap<RunId, RunVerdict> {
        let until = Instant::now() + wait;
        let mut state = self.shared.state();
        let unknown = |state: &State| {
            let mut unknown: Vec<Asked> = asked.to_vec();
            unknown.retain(|asked| state.known(*asked).is_none());
            unknown
        };
        state.queue = unknown(&state);
        // The first in the list is to be done first.
        state.queue.reverse();
        self.shared.wanted.notify_one();
        while !unknown(&state).is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.done.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let verdict = |asked: &Asked| Some((asked.0, state.known(*asked)?.clone()?));
        asked.iter().filter_map(verdict).collect()
    }
}

impl Drop for Verdicts {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.wanted.notify_all();
    }
}

fn work(shared: &Shared, database: &Path) {
    loop {
        let mut state = shared.state();
        let (run, last) = loop {
            if state.ended {
                return;
            }
            if let Some(asked) = state.queue.pop() {
                break asked;
            }
            state = shared.wanted.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        // A fault in a diagnosis costs that run its verdict, and no other.
        let made = catch_unwind(AssertUnwindSafe(|| verdict(database, run))).unwrap_or(Ok(None));
        let mut state = shared.state();
        match made {
            Ok(verdict) => {
                if state.known.len() >= MOST {
                    state.known.clear();
                }
                state.known.insert(run, (last, verdict));
            }
            // The database says the same of the next one: nothing is done until somebody asks again.
            Err(error) => {
                tracing::debug!(%error, %run, "no verdict");
                state.queue.clear();
            }
        }
        shared.done.notify_all();
    }
}

/// None where the run has no diagnosis, or is gone.
fn verdict(database: &Path, run: RunId) -> Result<Option<RunVerdict>, StoreError> {
    match weir_diagnose::verdict(&Store::open_read_only(database)?, run) {
        Err(StoreError::RunNotFound { .. }) => Ok(None),
        other => other,
    }
}
