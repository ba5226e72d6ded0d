//! Scheduling of the threads on the packet path. It must not know what they do.

use weir_net::clock;
use weir_net::realtime::run_before_others;

/// Reduces the calling thread's timer slack and, where permitted, gives it real-time priority, so that a busy host does
/// not delay the stream. Not if this end has as many packet `threads` as cores: such a thread uses most of a core at high
/// rates, and the rest of the program must run, too.
pub(crate) fn run_in_time(threads: u16) {
    clock::sharpen_timers();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores > usize::from(threads) {
        // Most users lack the permission; then it stays at normal priority.
        let _ = run_before_others();
    }
}
