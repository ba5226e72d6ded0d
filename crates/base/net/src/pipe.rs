//! Larger pipes, and FIFOs that may not have a reader yet.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Requested capacity of a pipe, bytes: the limit of an ordinary user (`/proc/sys/fs/pipe-max-size`).
const PIPE_BYTES: libc::c_int = 1 << 20;

/// Requests a capacity of 1 MiB for a pipe, so that writer and reader switch less often. No effect on other files
/// and on pipes that may not grow.
pub fn enlarge(pipe: &impl AsRawFd) {
    // SAFETY: takes an open descriptor and a number; a descriptor of another kind yields an error.
    unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE_BYTES) };
}

/// Opens a file or FIFO for writing; returns none for a FIFO without a reader, which can be retried.
///
/// # Errors
/// As `open(2)`.
pub fn open_for_writing(path: &Path) -> io::Result<Option<File>> {
    let opened = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path);
    let file = match opened {
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Ok(None),
        opened => opened?,
    };
    // SAFETY: takes an open descriptor and numbers. Writes block again from here on.
    let cleared = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK)
    };
    if cleared < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Some(file))
}
