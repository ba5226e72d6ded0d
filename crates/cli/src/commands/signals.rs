//! What ends a command from outside. It must not know which command.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_control::Stop;

use super::Failure;

/// The first Ctrl-C or termination ends the test and keeps what was measured; the second ends the process.
pub(crate) fn stop_on_signals() -> Result<Stop, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let fail = |error| Failure::environment(format!("cannot handle signals: {error}"));
        signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone()).map_err(fail)?;
        signal_hook::flag::register(signal, flag.clone()).map_err(fail)?;
    }
    Ok(Stop::from_flag(flag))
}
