//! How the threads on the packet path are to be run by the kernel. It must not know what they do.

use weir_net::clock;
use weir_net::realtime::run_before_others;

/// Lets the calling thread wake when it wants to; and, where that is allowed, before all ordinary threads, so that a busy
/// host does not hold up the stream. Not where there is one core only: such a thread takes most of it at high rates, and
/// the rest of the program has to run too.
pub(crate) fn run_in_time() {
    clock::sharpen_timers();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores > 1 {
        // Most users may not have it, and do without.
        let _ = run_before_others();
    }
}
