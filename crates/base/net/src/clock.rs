//! The two clocks and the sleep that pacing needs. Monotonic time schedules; Unix time goes on the wire.

use std::time::Duration;

fn read(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec for the kernel to fill; the clock ids used here always exist.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds since an arbitrary start; never decreases.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Unix time in nanoseconds, UTC; may step.
pub fn unix_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all threads of this process in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// How well the system's clock is kept right, by what keeps it (chrony, ntpd, ptp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discipline {
    /// Something keeps it right.
    pub synchronised: bool,
    /// Estimated error, nanoseconds.
    pub error_ns: u64,
    /// Bound of the error, nanoseconds.
    pub most_error_ns: u64,
}

/// Reads the discipline of the system's clock (`adjtimex(2)`); none where the kernel does not say.
pub fn discipline() -> Option<Discipline> {
    // SAFETY: an all-zero timex changes nothing and is valid for the kernel to fill.
    let (state, timex) = unsafe {
        let mut timex: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&mut timex), timex)
    };
    let nanoseconds = |microseconds: libc::c_long| microseconds.max(0) as u64 * 1_000;
    (state >= 0).then(|| Discipline {
        synchronised: state != libc::TIME_ERROR && timex.status & libc::STA_UNSYNC == 0,
        error_ns: nanoseconds(timex.esterror as libc::c_long),
        most_error_ns: nanoseconds(timex.maxerror as libc::c_long),
    })
}

/// Sleeps until [`monotonic_ns`] reaches `deadline_ns`; returns at once if it has passed.
pub fn sleep_until(deadline_ns: u64) {
    let until = libc::timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as _,
        tv_nsec: (deadline_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `until` is a valid timespec; no remainder is asked for. A signal ends the sleep early, which
    // callers see as a deadline not yet reached.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &until,
            std::ptr::null_mut(),
        )
    };
}

/// Asks the kernel to wake this thread on time rather than up to 50 us late, the default slack.
pub fn sharpen_timers() {
    // SAFETY: PR_SET_TIMERSLACK takes plain integers and concerns only the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
}

/// Converts a kernel timestamp; none if the kernel left it zero.
pub(crate) fn timespec_ns(time: &libc::timespec) -> Option<u64> {
    let ns = (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64);
    (ns != 0).then_some(ns)
}

/// `duration` as whole nanoseconds, at most `u64::MAX`.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
