//! Opens files and URLs in the desktop's browser. It must not know what they show.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

/// The program that opens what its argument names.
pub const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens a file or URL in the browser without waiting for it.
pub fn open(what: impl AsRef<OsStr>) -> io::Result<()> {
    let mut started = Command::new(OPENER)
        .arg(what)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Reaps the child, so that a long-running server leaves no zombie; nothing joins this thread.
    std::thread::spawn(move || started.wait());
    Ok(())
}

/// Whether there is a desktop to open anything on.
pub fn has_desktop() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}
