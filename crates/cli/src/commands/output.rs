//! Lines on standard output and standard error.

use std::io::{self, Write};

use super::Failure;

/// Prints a line on standard error. Ignores a standard error that is closed or full, which must not affect the
/// measurement (`eprintln!` would panic).
pub fn say(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Prints `text`; a closed pipe is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}
