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
