//! The `weir` command.

use std::process::ExitCode;

// musl's own allocator takes one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// Linked for its symbols: musl's memcpy is slow on x86-64.
#[cfg(target_env = "musl")]
use weir_memcpy as _;

fn main() -> ExitCode {
    weir_cli::run()
}
