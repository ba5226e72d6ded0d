//! Timely wake-ups: real-time priority where it is permitted, and a sleep that ends at a nanosecond or when a
//! descriptor has data, whichever comes first. It never spins: the kernel stops a real-time thread that uses all of
//! its core for 50 ms in each second.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::clock;

/// Gives the calling thread real-time priority (`SCHED_FIFO`, the lowest of the real-time priorities, so that
/// the kernel's own threads stay above it).
///
/// # Errors
/// When this is not permitted: it needs `CAP_SYS_NICE` on the host or a limit on real-time priority (`ulimit -r`).
pub fn run_before_others() -> io::Result<()> {
    // SAFETY: an all-zero sched_param is valid; the call concerns the calling thread and reads one of them.
    let done = unsafe {
        let mut parameter: libc::sched_param = std::mem::zeroed();
        parameter.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &parameter)
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Wakes a thread that sleeps in [`Sleeper::until`], from any other thread; once rung it stays rung.
#[derive(Debug)]
pub struct Bell {
    event: OwnedFd,
}

impl Bell {
    /// A bell that is not rung.
    ///
    /// # Errors
    /// When the process has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: eventfd takes no pointers; a non-negative result is a new descriptor that we own.
        let event = unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Bell { event })
    }

    /// Rings it.
    pub fn ring(&self) {
        let one = 1_u64;
        // SAFETY: eight valid bytes. The write can only fail if the counter is full, which wakes as well.
        unsafe { libc::write(self.event.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

impl AsRawFd for Bell {
    fn as_raw_fd(&self) -> RawFd {
        self.event.as_raw_fd()
    }
}

/// Sleeps until a time, until a descriptor is readable, or until the bell rings.
pub struct Sleeper {
    descriptors: Vec<libc::pollfd>,
}

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Awake {
    /// One of the descriptors can be read.
    pub readable: bool,
    /// The bell has been rung.
    pub rung: bool,
}

impl Sleeper {
    /// A sleeper for `bell` and `watched`, which must stay open while this is used.
    pub fn new(bell: &Bell, watched: &[RawFd]) -> Self {
        let all = std::iter::once(bell.as_raw_fd()).chain(watched.iter().copied());
        Sleeper {
            descriptors: all
                .map(|fd| libc::pollfd {
                    fd,
                    events: libc::POLLIN,
                    revents: 0,
                })
                .collect(),
        }
    }

    /// Sleeps until [`clock::monotonic_ns`] reaches `deadline_ns` or an event occurs. A signal ends it early.
    ///
    /// # Errors
    /// As `ppoll(2)`, except `EINTR`.
    pub fn until(&mut self, deadline_ns: u64) -> io::Result<Awake> {
        let left = deadline_ns.saturating_sub(clock::monotonic_ns());
        let timeout = libc::timespec {
            tv_sec: (left / 1_000_000_000) as _,
            tv_nsec: (left % 1_000_000_000) as libc::c_long,
        };
        for descriptor in &mut self.descriptors {
            descriptor.revents = 0;
        }
        // SAFETY: the kernel reads and writes `len` entries; the timeout is valid; no signal mask is given.
        let count = unsafe {
            libc::ppoll(
                self.descriptors.as_mut_ptr(),
                self.descriptors.len() as libc::nfds_t,
                &timeout,
                std::ptr::null(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                return Ok(Awake::default());
            }
            return Err(error);
        }
        let happened = |descriptor: &libc::pollfd| descriptor.revents != 0;
        Ok(Awake {
            rung: happened(&self.descriptors[0]),
            readable: self.descriptors[1..].iter().any(happened),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_sleep_ends_at_its_time_or_by_what_happens() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let bell = Bell::new().unwrap();
        let mut sleeper = Sleeper::new(&bell, &[socket.as_raw_fd()]);

        let deadline = clock::monotonic_ns() + 2_000_000;
        assert_eq!(sleeper.until(deadline).unwrap(), Awake::default());
        assert!(clock::monotonic_ns() >= deadline);
        assert_eq!(sleeper.until(0).unwrap(), Awake::default());

        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        let hour = clock::monotonic_ns() + 3_600_000_000_000;
        let awake = sleeper.until(hour).unwrap();
        assert!(awake.readable && !awake.rung);

        bell.ring();
        bell.ring();
        assert!(sleeper.until(hour).unwrap().rung);
        assert!(sleeper.until(hour).unwrap().rung);
    }
}
