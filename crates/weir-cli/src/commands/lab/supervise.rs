//! Around `weir lab run`: starts the command again in namespaces of its own, as the first process of a process
//! namespace. When that ends, or this does, however it ends, the kernel ends everything that was started inside.

use std::process::{Command, ExitCode};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use weir_net::confine::confine;
use weir_net::process::{ProcessHandle, spawn_bound};
use weir_net::signals::Signals;

use super::Failure;

/// Says to the inner process that it is inside.
const INSIDE: &str = "WEIR_LAB_INSIDE";
/// Signals that end a run, or are for the command.
pub const PASSED_ON: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// This is the process inside. Its mark is its number there, so that one inherited from a lab around it counts not.
pub fn is_inside() -> bool {
    std::process::id() == 1 && std::env::var_os(INSIDE).is_some()
}

/// Runs this very command line inside and gives its exit status. To be called before there are other threads.
pub fn run_inside() -> Result<ExitCode, Failure> {
    let signals = Signals::take(&[&PASSED_ON[..], &[SIGCHLD]].concat()).map_err(cannot)?;
    confine().map_err(|error| {
        Failure::environment(format!(
            "this user may not make networks here ({error}); run it as root, or allow user namespaces: \
             sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0"
        ))
    })?;
    let mut command = Command::new("/proc/self/exe");
    command.args(std::env::args_os().skip(1)).env(INSIDE, "1");
    let mut inner = spawn_bound(command).map_err(cannot)?;
    let handle = ProcessHandle::of(inner.id()).map_err(cannot)?;
    loop {
        const TICK_MS: u32 = 1_000;
        if let Some(signal) = signals.wait(TICK_MS) {
            // The terminal's signals reach the processes inside by themselves.
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
