//! Samples a host's own drop counters once a second while a test runs.

use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use weir_net::counters::HostCounters;
use weir_record::{HostSecond, Record, Side};

use crate::{MeasureError, Stop};

const SECOND_NS: u64 = 1_000_000_000;
const NAP: Duration = Duration::from_millis(20);

/// A sampling thread; ends when dropped, with a last sample.
pub struct HostWatch {
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl HostWatch {
    /// Starts sampling for `interface`; each sample goes to `records`.
    ///
    /// # Errors
    /// When the thread cannot be started: without it a host's own drops would pass for the network's.
    pub fn start(
        side: Side,
        interface: Option<String>,
        records: Sender<Vec<Record>>,
    ) -> Result<Self, MeasureError> {
        let stop = Stop::default();
        let ended = stop.clone();
        let thread = std::thread::Builder::new()
            .name("host-watch".into())
            .spawn(move || {
                let mut before = HostCounters::read(interface.as_deref());
                let mut next = before.monotonic_ns + SECOND_NS;
                loop {
                    let over = ended.is_set();
                    if over || weir_net::clock::monotonic_ns() >= next {
                        let now = HostCounters::read(interface.as_deref());
                        // Nobody left to take a sample means that the test is over.
                        let _ =
                            records.send(vec![Record::HostSecond(host_second(side, &now.since(&before)))]);
                        (before, next) = (now, next + SECOND_NS);
                    }
                    if over {
                        return;
                    }
                    std::thread::sleep(NAP);
                }
            })
            .map_err(|error| MeasureError::thread(&error))?;
        Ok(HostWatch {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for HostWatch {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            // A thread that broke off has nothing more to give.
            let _ = thread.join();
        }
    }
}

/// The row of one second: how a host's counters changed in it.
#[must_use]
pub fn host_second(side: Side, change: &HostCounters) -> HostSecond {
    HostSecond {
        unix_ns: change.unix_ns,
        side,
        counts: change.counts,
        cpu_busy: change.cores(change.cpu_busy_ticks),
        cpu_steal: change.cores(change.cpu_steal_ticks),
        cpu_weir: change.cores(change.process_ticks),
        cpu_softirq: change.cores(change.cpu_softirq_ticks.iter().sum()),
        cpu_softirq_core: change.cores(change.cpu_softirq_ticks.iter().copied().max().unwrap_or(0)),
        memory_bytes: change.memory_bytes,
    }
}

/// Drops that a host's counters showed over a test, for the attribution of losses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostDrops {
    /// On receive, before any socket.
    pub receive: u64,
    /// At sockets, for another reason than a full buffer: most of all wrong checksums, which are not the host's fault.
    /// The sockets' own counts of drops have them, too.
    pub damaged: u64,
    /// On send, trains.
    pub send: u64,
    /// On send, packets that the hypervisor dropped or queued for an allowance of the instance.
    pub send_throttled: u64,
}

impl HostDrops {
    /// Adds a second's counters.
    pub(crate) fn add(&mut self, second: &HostSecond) {
        let counts = &second.counts;
        self.receive += counts.receive_drops().saturating_add(counts.receive_throttled());
        self.damaged += counts.udp_in_errors;
        self.send += counts.send_drops();
        self.send_throttled += counts.send_throttled();
    }
}
