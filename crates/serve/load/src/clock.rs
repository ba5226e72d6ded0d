//! The clock of viewers: that of the kernel, but for a test that pauses the time of its runtime. It must not know who asks.

use std::sync::LazyLock;
use std::time::Instant;

/// When this was first asked for, on both clocks.
static FIRST: LazyLock<(Instant, u64)> = LazyLock::new(|| (Instant::now(), weir_net::clock::monotonic_ns()));

/// As [`weir_net::clock::monotonic_ns`], and paused with the runtime in which it is called.
pub(crate) fn monotonic_ns() -> u64 {
    let (first, first_ns) = *FIRST;
    let now = tokio::time::Instant::now().into_std();
    match now.checked_duration_since(first) {
        Some(since) => first_ns + since.as_nanos() as u64,
        None => first_ns.saturating_sub((first - now).as_nanos() as u64),
    }
}
