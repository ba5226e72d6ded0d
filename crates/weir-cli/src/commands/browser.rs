//! The desktop's browser, for those who have a desktop. It must not know what it shows.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

/// The program that opens what its argument names.
pub const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Hands a file or an address to the browser and does not wait for it.
pub fn open(what: impl AsRef<OsStr>) -> io::Result<()> {
    let mut started = Command::new(OPENER)
        .arg(what)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Whoever serves for days leaves no zombie behind; nobody waits for this thread.
    std::thread::spawn(move || started.wait());
    Ok(())
}

/// Whether there is a desktop to open anything on.
pub fn has_desktop() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}
