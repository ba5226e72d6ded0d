//! Counts Ctrl-C and termination signals: the first lets running tests complete, the second aborts them and cleans up,
//! the third ends the process immediately.

use std::sync::atomic::Ordering;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use weir_mesh::run::threads::Presses;

use super::super::Failure;

/// Starts to count.
pub fn watch() -> Result<Presses, Failure> {
    let failed = |error| Failure::environment(format!("cannot handle signals: {error}"));
    let presses = Presses::default();
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    // Under nohup, SIGHUP must not stop the run.
    if !ignores_hangup(&status) {
        signals.add_signal(SIGHUP).map_err(failed)?;
    }
    let Presses { count, first, kill } = presses.clone();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            match count.fetch_add(1, Ordering::Relaxed) {
                0 => first.store(true, Ordering::Relaxed),
                1 => kill.store(true, Ordering::Relaxed),
                _ => std::process::exit(130),
            }
        }
    });
    Ok(presses)
}

/// Whether the process was started with SIGHUP ignored, by `/proc/self/status`.
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::ignores_hangup;

    #[test]
    fn nohup_is_seen() {
        // From proc(5): the first bit is signal 1, SIGHUP.
        assert!(ignores_hangup("Name:\tweir\nSigIgn:\t0000000000000001\n"));
        assert!(!ignores_hangup("SigIgn:\t0000000000001000\n"));
        assert!(!ignores_hangup(""));
    }
}
