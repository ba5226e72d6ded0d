//! `mount(2)`, `unshare(2)` and their relatives, as far as namespaces need them.

use std::ffi::CString;
use std::io;

/// Flags of read-only information file systems.
pub(crate) const PLAIN: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;

/// As `mount(2)`, without data.
pub(crate) fn mount(
    source: Option<&str>,
    target: &str,
    kind: Option<&str>,
    flags: libc::c_ulong,
) -> io::Result<()> {
    let text = |text: &str| CString::new(text).map_err(io::Error::from);
    let source = source.map(text).transpose()?;
    let kind = kind.map(text).transpose()?;
    let target = text(target)?;
    let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    // SAFETY: each pointer is null or a C string that lives through the call.
    result(unsafe {
        libc::mount(
            pointer(&source),
            target.as_ptr(),
            pointer(&kind),
            flags,
            std::ptr::null(),
        )
    })
}

/// Takes the topmost mount off `target`; bind mounts elsewhere stay.
pub(crate) fn unmount(target: &str) -> io::Result<()> {
    let target = CString::new(target)?;
    // SAFETY: a C string that lives through the call.
    result(unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) })
}

/// As `unshare(2)`: for the calling thread, but for process and user namespaces.
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes plain numbers.
    result(unsafe { libc::unshare(flags) })
}

/// The result of a system call that returns -1 on error.
pub(crate) fn result(done: libc::c_int) -> io::Result<()> {
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
