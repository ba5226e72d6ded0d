//! Namespaces for a whole command, so that nothing of it remains, however it ends. It must not know what
//! the command does.

use std::fs;
use std::io;
use std::path::Path;

use crate::calls::{PLAIN, mount, unmount, unshare};

/// Moves the calling process, which must have only one thread, into namespaces in which it has root's rights
/// over networks and mounts (if it lacks them), with its own view of the file system. Its later children
/// run in their own process namespace: when the first of them ends, the kernel kills all others.
///
/// # Errors
/// When this user may not create such namespaces.
pub fn confine() -> io::Result<()> {
    // SAFETY: these take nothing and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let spaces = libc::CLONE_NEWNS | libc::CLONE_NEWPID;
    if !may_make_networks() || unshare(spaces).is_err() {
        unshare(spaces | libc::CLONE_NEWUSER)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    }
    mount(None, "/", None, libc::MS_REC | libc::MS_PRIVATE)
}

/// First step of the first process in the process namespace that [`confine`] made: mounts its `/proc`.
///
/// # Errors
/// As `mount(2)`.
pub fn show_own_processes() -> io::Result<()> {
    mount(Some("weir"), "/proc", Some("proc"), PLAIN)
}

/// A folder whose files are in memory, seen only by this process and those that it starts after [`confine`]. Its files
/// are gone when this is dropped, or when the last of these processes ends.
#[derive(Debug)]
pub struct MemoryFolder {
    path: String,
}

impl MemoryFolder {
    /// Mounts it over an existing folder, whose files are hidden meanwhile.
    ///
    /// # Errors
    /// As `mount(2)`.
    pub fn mount(folder: &Path) -> io::Result<Self> {
        let path = folder.to_str().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        mount(Some("weir"), &path, Some("tmpfs"), PLAIN)?;
        Ok(MemoryFolder { path })
    }
}

impl Drop for MemoryFolder {
    fn drop(&mut self) {
        // The process's end unmounts it at the latest.
        let _ = unmount(&self.path);
    }
}

/// Whether the calling thread has this effective capability (its number in `capability.h`).
fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << number) != 0)
}

/// This process runs as the host's root, or as the root of the container that is its host: not as a user who is root in a user
/// namespace of their own only.
pub fn runs_as_root() -> bool {
    // SAFETY: it takes nothing and cannot fail.
    let effective = unsafe { libc::geteuid() };
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    effective == 0 && map.split_whitespace().nth(1) == Some("0")
}

/// This process may make network namespaces, interfaces and mounts where it is.
pub fn may_make_networks() -> bool {
    const CAP_NET_ADMIN: u32 = 12;
    const CAP_SYS_ADMIN: u32 = 21;
    has_capability(CAP_NET_ADMIN) && has_capability(CAP_SYS_ADMIN)
}
