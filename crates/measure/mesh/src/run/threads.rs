//! The hosts of a run over SSH, each test on a thread of its own. It must not know which tests are made
//! or why.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Scope, sleep};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::whole::{Hosts, Measured, remove};
use super::{Fault, MachinesCost, Order, Ready};
use crate::ssh::{SshExecutor, on_all};

/// Number of hosts that are prepared concurrently.
pub const PREPARED_AT_ONCE: usize = 16;
const TICK: Duration = Duration::from_millis(500);

/// Stop signals: the first lets running tests complete, the second aborts them.
#[derive(Clone, Debug, Default)]
pub struct Presses {
    /// How many there were.
    pub count: Arc<AtomicUsize>,
    /// Set by the first.
    pub first: Arc<AtomicBool>,
    /// Set by the second: aborts the programs on hosts.
    pub kill: Arc<AtomicBool>,
}

impl Presses {
    /// How many there were so far.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

/// A test of the order that has ended.
type Ended = (usize, Result<Measured, Fault>);

/// Hosts of an order, by threads of a scope.
pub struct Threads<'s, 'e> {
    scope: &'s Scope<'s, 'e>,
    executor: &'s SshExecutor<'s>,
    order: &'s Order,
    presses: &'s Presses,
    machines: &'s dyn Fn() -> MachinesCost,
    ended: (Sender<Ended>, Receiver<Ended>),
}

impl<'s, 'e> Threads<'s, 'e> {
    /// For a run of this order; `machines` is the cost of machines that were launched for it.
    pub fn new(
        scope: &'s Scope<'s, 'e>,
        executor: &'s SshExecutor<'s>,
        order: &'s Order,
        presses: &'s Presses,
        machines: &'s dyn Fn() -> MachinesCost,
    ) -> Self {
        Threads {
            scope,
            executor,
            order,
            presses,
            machines,
            ended: channel(),
        }
    }
}

impl Hosts for Threads<'_, '_> {
    fn prepare(&mut self, hosts: &[usize], beat: &dyn Fn()) -> Vec<(usize, Result<Ready, Fault>)> {
        std::thread::scope(|scope| {
            let work = scope.spawn(|| on_all(hosts, PREPARED_AT_ONCE, |host| self.executor.prepare(host)));
            while !work.is_finished() {
                beat();
                sleep(TICK / 5);
            }
            // A thread that panicked has prepared nothing.
            work.join().unwrap_or_default()
        })
    }

    fn start(&mut self, index: usize) {
        let (executor, order, presses) = (self.executor, self.order, self.presses);
        let said = self.ended.0.clone();
        self.scope.spawn(move || {
            let (pair, over) = (order.pairs[index], order.over(index));
            let result = executor.test(pair, over, &order.shape).map(|test| Measured {
                test,
                survey: survey(executor, order, index, presses),
            });
            // The receiver lives as long as tests run.
            let _ = said.send((index, result));
        });
    }

    fn ended(&mut self) -> Option<Ended> {
        self.ended.1.recv_timeout(TICK).ok()
    }

    fn clean(&mut self, hosts: &[usize]) -> Vec<(usize, Result<(), Fault>)> {
        // A second Ctrl-C has aborted the tests; hosts are cleaned all the same.
        self.presses.kill.store(false, Ordering::Relaxed);
        on_all(hosts, PREPARED_AT_ONCE, |host| self.executor.clean(host))
    }

    fn is_stopped(&self) -> bool {
        self.presses.count() > 0
    }

    fn machines(&self) -> MachinesCost {
        (self.machines)()
    }

    fn unix_ns(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Runs the survey of a pair, if the order requests it and the run was not stopped; it is copied here as a database.
fn survey(
    executor: &SshExecutor<'_>,
    order: &Order,
    index: usize,
    presses: &Presses,
) -> Option<Result<std::path::PathBuf, Fault>> {
    if !order.shape.survey || presses.count() > 0 {
        return None;
    }
    // The order's word is random, and the file must be new: no other user's file is written.
    let file = std::env::temp_dir().join(format!("weir-survey-{}-{index}.db", order.token));
    let made = executor.survey(order.pairs[index], order.over(index), &order.shape, &file);
    if made.is_err() {
        remove(&file);
    }
    Some(made.map(|()| file))
}
