//! A thread that observes the watcher's own host: how late it wakes, how its clock goes, and its counters each second.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use weir_measure::{Stop, host_second};
use weir_net::clock;
use weir_net::counters::HostCounters;
use weir_record::Side;

use crate::own::{Disturbed, Moment, of_counters, of_sleep};

const NAP: Duration = Duration::from_millis(50);
const SECOND_NS: u64 = 1_000_000_000;
/// Disturbances that wait to be taken at most.
const MOST: usize = 10_000;

/// The thread; ends when it is dropped.
pub(super) struct OwnHost {
    stop: Stop,
    found: Arc<Mutex<Vec<Disturbed>>>,
    thread: Option<JoinHandle<()>>,
}

impl OwnHost {
    pub fn start() -> std::io::Result<Self> {
        let (stop, found) = (Stop::default(), Arc::<Mutex<Vec<Disturbed>>>::default());
        let (ended, into) = (stop.clone(), found.clone());
        let thread = std::thread::Builder::new()
            .name("own-host".into())
            .spawn(move || observe(&ended, &into))?;
        Ok(OwnHost {
            stop,
            found,
            thread: Some(thread),
        })
    }

    /// What disturbed it since the last call.
    pub fn take(&self) -> Vec<Disturbed> {
        std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for OwnHost {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            // A thread that broke off has nothing more to give.
            let _ = thread.join();
        }
    }
}

fn observe(stop: &Stop, into: &Mutex<Vec<Disturbed>>) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counters = HostCounters::read(None);
    let mut before = moment();
    while !stop.is_set() {
        // From moment to moment, since the clock may be set while counters are read, too.
        let awake_ns = clock::monotonic_ns() - before.monotonic_ns;
        std::thread::sleep(NAP);
        let after = moment();
        let asked_ns = awake_ns + NAP.as_nanos() as u64;
        let mut found: Vec<Disturbed> = of_sleep(asked_ns, before, after).into_iter().collect();
        before = after;
        if after.monotonic_ns >= counters.monotonic_ns + SECOND_NS {
            let now = HostCounters::read(None);
            found.extend(of_counters(
                &host_second(Side::Local, &now.since(&counters)),
                cores,
            ));
            counters = now;
        }
        if !found.is_empty() {
            let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
            let room = MOST.saturating_sub(into.len());
            into.extend(found.into_iter().take(room));
        }
    }
}

fn moment() -> Moment {
    let first_ns = clock::monotonic_ns();
    let unix_ns = clock::unix_ns();
    let monotonic_ns = clock::monotonic_ns();
    Moment {
        unix_ns,
        monotonic_ns,
        within_ns: monotonic_ns - first_ns,
    }
}
