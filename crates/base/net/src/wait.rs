//! Waiting for several sockets at once, with a deadline.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// An epoll set over sockets, each known by an index of the caller's choice.
pub struct Waiter {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
    ready: usize,
}

impl Waiter {
    /// An empty set.
    ///
    /// # Errors
    /// When the process has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: epoll_create1 takes no pointers; a non-negative result is a new descriptor that we own.
        let epoll = unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Waiter {
            epoll,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; 64],
            ready: 0,
        })
    }

    /// Adds a descriptor to wait for data (and errors) on; it must stay open as long as the set is waited on.
    ///
    /// # Errors
    /// As `epoll_ctl(2)`.
    pub fn add(&self, fd: RawFd, index: usize) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: index as u64,
        };
        // SAFETY: `event` is valid through the call; a bad descriptor yields an error, not undefined behaviour.
        let done = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Waits until a descriptor is ready or `timeout_ms` has passed.
    ///
    /// # Errors
    /// As `epoll_wait(2)`, except `EINTR`, which counts as nothing ready.
    pub fn wait(&mut self, timeout_ms: u32) -> io::Result<usize> {
        let timeout = i32::try_from(timeout_ms).unwrap_or(i32::MAX);
        // SAFETY: the kernel writes at most `events.len()` entries.
        let count = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as i32,
                timeout,
            )
        };
        self.found(i64::from(count))
    }

    /// As [`Waiter::wait`], to the nanosecond; to the millisecond on kernels before 5.11.
    ///
    /// # Errors
    /// As `epoll_pwait2(2)`, except `EINTR`, which counts as nothing ready.
    pub fn wait_ns(&mut self, timeout_ns: u64) -> io::Result<usize> {
        let timeout = libc::timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as _,
            tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the kernel writes at most `events.len()` entries, reads `timeout`, and takes no set of signals.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                &timeout,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        if count < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ENOSYS) {
            return self.wait(u32::try_from(timeout_ns.div_ceil(1_000_000)).unwrap_or(u32::MAX));
        }
        self.found(count)
    }

    /// Stores the number of ready descriptors; below 0 is an error.
    fn found(&mut self, count: i64) -> io::Result<usize> {
        self.ready = usize::try_from(count).unwrap_or(0);
        if count < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(self.ready)
    }

    /// Indices of the descriptors that the last [`Waiter::wait`] found ready.
    pub fn ready(&self) -> impl Iterator<Item = usize> + '_ {
        self.events[..self.ready].iter().map(|event| event.u64 as usize)
    }
}
