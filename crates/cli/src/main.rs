//! The `weir` command.

use std::process::ExitCode;

// One allocator in all builds: musl's own takes one lock for all threads, and the one of glibc takes an eighth of the origin's
// time for a short segment.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// Linked for its symbols: musl's memcpy is slow on x86-64.
#[cfg(target_env = "musl")]
use weir_memcpy as _;

fn main() -> ExitCode {
    weir_cli::run()
}
