//! Processes that end with their parent, and process handles that are never confused by reused numbers.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use crate::calls::result;

/// A handle of a process, safe against reuse of its number.
#[derive(Debug)]
pub struct ProcessHandle {
    id: u32,
    descriptor: OwnedFd,
}

impl ProcessHandle {
    /// The process with this number.
    ///
    /// # Errors
    /// When there is none.
    pub fn of(id: u32) -> io::Result<Self> {
        // SAFETY: pidfd_open takes two numbers; a non-negative result is a new descriptor that we own.
        let descriptor = unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, id as libc::pid_t, 0);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd as libc::c_int)
        };
        Ok(ProcessHandle { id, descriptor })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Sends a signal, if it still runs. False when it has ended or may not be signalled.
    pub fn signal(&self, signal: i32) -> bool {
        // SAFETY: pidfd_send_signal takes numbers and an information pointer that may be null.
        let done = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.descriptor.as_raw_fd(),
                signal,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
        done == 0
    }

    /// Waits at most `limit_ms` for its end; true when it has ended.
    ///
    /// # Errors
    /// As `poll(2)`.
    pub fn wait_for_end(&self, limit_ms: u32) -> io::Result<bool> {
        let mut descriptor = libc::pollfd {
            fd: self.descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid pollfd.
        let count = unsafe { libc::poll(&mut descriptor, 1, i32::try_from(limit_ms).unwrap_or(i32::MAX)) };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(count > 0)
    }
}

/// Makes the kernel kill the command when the thread that starts it ends, and gives it a clean set of signals.
pub(crate) fn die_with_parent(command: &mut Command) -> &mut Command {
    // SAFETY: the closure runs between fork and exec and makes only system calls that are allowed there; it takes
    // no lock and no memory.
    unsafe {
        command.pre_exec(|| {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
            result(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))
        })
    }
}

/// Starts `command` as a child that is killed when the calling thread ends.
///
/// # Errors
/// As starting a command.
pub fn spawn_bound(mut command: Command) -> io::Result<Child> {
    die_with_parent(&mut command).spawn()
}

/// Start time of a process, in clock ticks since boot (field 22 of `/proc/PID/stat`, see proc(5)); none if there
/// is no such process. With its number it identifies a process until the next boot.
pub fn start_ticks(id: u32) -> Option<u64> {
    start_ticks_in(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// The same of this process.
pub fn own_start_ticks() -> Option<u64> {
    start_ticks_in(&fs::read_to_string("/proc/self/stat").ok()?)
}

fn start_ticks_in(text: &str) -> Option<u64> {
    // The second field is a name in parentheses, which may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    (state != "Z").then(|| fields.nth(18)?.parse().ok()).flatten()
}

/// What a process has used, with all of its threads and the children that it has waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user and system mode, nanoseconds.
    pub cpu_ns: u64,
    /// Resident memory now, bytes.
    pub memory_bytes: u64,
    /// Peak of the resident memory, bytes.
    pub peak_memory_bytes: u64,
}

/// What a process has used; none if there is no such process.
pub fn usage(id: u32) -> Option<Usage> {
    let cpu_ticks = cpu_ticks_in(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?;
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    // A process that is ending has no memory any more.
    let memory = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib * 1024)
    };
    Some(Usage {
        cpu_ns: cpu_ticks * TICK_NS,
        memory_bytes: memory("VmRSS:").unwrap_or(0),
        peak_memory_bytes: memory("VmHWM:").unwrap_or(0),
    })
}

/// Clock ticks of `/proc/PID/stat` last 10 ms: `sysconf(_SC_CLK_TCK)` is 100 on every Linux that Weir runs on, see proc(5).
const TICK_NS: u64 = 10_000_000;

/// Clock ticks in user and system mode, of the process and of children that it has waited for, from `/proc/PID/stat` (fields 14
/// to 17, see proc(5)).
fn cpu_ticks_in(text: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<u64> = rest
        .split_whitespace()
        .skip(11)
        .take(4)
        .map_while(|field| field.parse().ok())
        .collect();
    (fields.len() == 4).then(|| fields.iter().sum())
}

/// Leaves the terminal: the process no longer gets its signals, and survives its end.
///
/// # Errors
/// When the process is a process group leader already.
pub fn lead_session() -> io::Result<()> {
    // SAFETY: takes nothing.
    result(unsafe { libc::setsid() })
}

/// Redirects standard output to `/dev/null`, so that the reader of its pipe sees the end.
///
/// # Errors
/// When there is no `/dev/null`.
pub fn discard_output() -> io::Result<()> {
    let nowhere = fs::OpenOptions::new().write(true).open("/dev/null")?;
    // SAFETY: takes two open descriptors.
    result(unsafe { libc::dup2(nowhere.as_raw_fd(), libc::STDOUT_FILENO) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start_until_it_has_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let began = start_ticks(child.id()).unwrap();
        assert!(began >= own_start_ticks().unwrap());
        assert_eq!(start_ticks(std::process::id()), own_start_ticks());
        let handle = ProcessHandle::of(child.id()).unwrap();
        assert!(!handle.wait_for_end(0).unwrap());
        assert!(handle.signal(libc::SIGTERM));
        assert!(handle.wait_for_end(10_000).unwrap());
        // Not reaped yet, but ended.
        assert_eq!(start_ticks(child.id()), None);
        child.wait().unwrap();
        assert_eq!(start_ticks(child.id()), None);
        assert!(!handle.signal(libc::SIGTERM));
        assert!(ProcessHandle::of(u32::MAX >> 1).is_err());
    }

    #[test]
    fn cpu_time_of_a_process_and_its_children() {
        // Fields as proc(5) numbers them, from 4 on.
        let text = "42 (a) b) S 4 5 6 7 8 9 10 11 12 13 1400 150 16 17 18 19 20 21 22";
        assert_eq!(cpu_ticks_in(text), Some(1400 + 150 + 16 + 17));
        assert_eq!(cpu_ticks_in("42 (a"), None);
        assert!(usage(std::process::id()).unwrap().peak_memory_bytes > 1 << 20);
    }
}
