//! Descriptors: each connection takes one, and each read for it another. Most systems allow a process 1,024 to begin
//! with and many more when it asks. It must not know what they are for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For each connection: its socket, and a file or a connection to storage.
const PER_CONNECTION: u64 = 2;
/// For logs, caches, and what the runtime takes.
const BESIDES: u64 = 256;

/// Raises the limit to the system's maximum, and warns if it is too low for this number of connections.
pub fn allow(connections: usize) {
    let before = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    let allowed = match setrlimit(Resource::Nofile, all) {
        Ok(()) => before.maximum,
        Err(_) => before.current,
    };
    // None is no limit.
    if let Some(allowed) = allowed.filter(|allowed| *allowed < wanted(connections)) {
        let wanted = wanted(connections);
        tracing::warn!(
            "{connections} connections may need {wanted} file descriptors, but the limit is {allowed}: raise it with ulimit -n, or lower --max-connections"
        );
    }
}

fn wanted(connections: usize) -> u64 {
    (connections as u64)
        .saturating_mul(PER_CONNECTION)
        .saturating_add(BESIDES)
}
