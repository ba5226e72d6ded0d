//! How many connections this process may have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for everything but viewers' connections.
const RESERVE: u64 = 64;

/// Raises the limit on file descriptors as far as it may be, and gives the number of connections that it leaves room for.
pub fn raise_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // The old limit stays where this is refused.
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    limit.unwrap_or(u64::MAX).saturating_sub(RESERVE)
}
