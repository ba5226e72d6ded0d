//! What ends a command from outside. It must not know which command.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_control::Stop;

use super::Failure;

/// The first Ctrl-C or termination ends the test and keeps what was measured; the second ends the process.
pub(crate) fn stop_on_signals() -> Result<Stop, Failure> {
    flag_on_signals().map(Stop::from_flag)
}

/// The flag that the first Ctrl-C or termination sets; the second ends the process.
pub(crate) fn flag_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let fail = |error| Failure::environment(format!("cannot handle signals: {error}"));
        signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone()).map_err(fail)?;
        signal_hook::flag::register(signal, flag.clone()).map_err(fail)?;
    }
    Ok(flag)
}
