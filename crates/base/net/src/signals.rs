//! Signals as readable events, with their source. It must not know how signals are handled.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A signal that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// The terminal sent it, to every process in the foreground; otherwise another process sent it to this one only.
    pub from_terminal: bool,
}

/// Receives some signals of this process from now on. They stay blocked when it is dropped.
#[derive(Debug)]
pub struct Signals {
    descriptor: OwnedFd,
}

impl Signals {
    /// Blocks these signals in the calling thread, and so in all threads that it starts later, and receives them. Call it
    /// before other threads start, which would otherwise get the signals.
    ///
    /// # Errors
    /// When the process has no file descriptors left.
    pub fn take(numbers: &[i32]) -> io::Result<Self> {
        // SAFETY: the set is filled by sigemptyset before it is used; a non-negative result is a new descriptor
        // that we own.
        let descriptor = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for number in numbers {
                libc::sigaddset(&mut set, *number);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Signals { descriptor })
    }

    /// Waits at most `limit_ms` for a signal.
    pub fn wait(&self, limit_ms: u32) -> Option<Signal> {
        let mut descriptor = libc::pollfd {
            fd: self.descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid pollfd. An error counts as no signal.
        unsafe { libc::poll(&mut descriptor, 1, i32::try_from(limit_ms).unwrap_or(i32::MAX)) };
        self.try_next()
    }

    /// The next signal that has arrived; none if none has arrived.
    pub fn try_next(&self) -> Option<Signal> {
        // SAFETY: an all-zero signalfd_siginfo is valid, and the kernel writes at most one into it.
        let (read, information) = unsafe {
            let mut information: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let read = libc::read(self.descriptor.as_raw_fd(), (&raw mut information).cast(), size);
            (read == size as isize, information)
        };
        read.then_some(Signal {
            number: information.ssi_signo as i32,
            from_terminal: information.ssi_code == libc::SI_KERNEL,
        })
    }
}
