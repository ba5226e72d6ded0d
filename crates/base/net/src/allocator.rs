//! The allocator of the C library, set for programs that have threads for each session. It must not know what is allocated.

/// Shares two arenas of glibc among all threads, instead of eight for each core, and returns blocks of 128 KiB and more to the
/// kernel when they are freed. Call it before threads start; it has no effect with another C library.
///
/// A thread takes the next arena, and an arena keeps the most that was ever used in it: what the threads of one session
/// freed, those of the next one would take anew elsewhere, until all arenas have had the largest.
pub fn share_arenas() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes no pointers, and sets numbers under the allocator's own lock.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
    }
}
