//! Wrapper of `weir lab run`: starts the command again in new namespaces, as the first process of a PID namespace. When
//! either process ends, however it ends, the kernel ends everything inside.

use std::process::{Command, ExitCode};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use weir_net::confine::{confine, runs_as_root};
use weir_net::process::{ProcessHandle, spawn_bound};
use weir_net::signals::Signals;

use super::Failure;

/// Environment variable that marks the inner process.
const INSIDE: &str = "WEIR_LAB_INSIDE";
/// Signals that end a run or are passed to the command.
pub const PASSED_ON: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// Whether this is the inner process. The mark is its PID there, so that a mark inherited from an outer lab is ignored.
pub fn is_inside() -> bool {
    std::process::id() == 1 && std::env::var_os(INSIDE).is_some()
}

/// Runs this command line inside and returns its exit status. Must be called before other threads exist.
pub fn run_inside() -> Result<ExitCode, Failure> {
    let signals = Signals::take(&[&PASSED_ON[..], &[SIGCHLD]].concat()).map_err(cannot)?;
    confine().map_err(|error| {
        let remedy = if runs_as_root() {
            "give this container CAP_SYS_ADMIN and CAP_NET_ADMIN (docker run --privileged)"
        } else {
            "run it as root, or allow user namespaces: \
             sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0"
        };
        Failure::environment(format!("cannot make network namespaces ({error}); {remedy}"))
    })?;
    let mut command = Command::new("/proc/self/exe");
    command.args(std::env::args_os().skip(1)).env(INSIDE, "1");
    let mut inner = spawn_bound(command).map_err(cannot)?;
    let handle = ProcessHandle::of(inner.id()).map_err(cannot)?;
    loop {
        const TICK_MS: u32 = 1_000;
        if let Some(signal) = signals.wait(TICK_MS) {
            // The terminal's signals reach the processes inside directly.
            if PASSED_ON.contains(&signal.number) && !signal.from_terminal {
                handle.signal(signal.number);
            }
        }
        if let Some(status) = inner.try_wait().map_err(cannot)? {
            return Ok(super::exit_code(status));
        }
    }
}

fn cannot(error: std::io::Error) -> Failure {
    Failure::environment(format!("cannot start the lab: {error}"))
}
