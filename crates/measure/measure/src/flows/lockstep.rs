//! Keeps the threads of a sender together: none is more than a few blocks ahead of another, so that a thread that is scheduled
//! late does not reorder the stream, and all end after the same block, so that the stream has no holes. It must not know what
//! is in a block, nor wait.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maximum number of blocks by which a thread is ahead of another: at high rates enough for a thread that naps, and less than
/// the default reordering depth.
const AHEAD: u64 = 4;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Send the next block.
    Send,
    /// Ask again later: others are behind.
    Wait,
    /// Nothing more.
    End,
}

#[derive(Debug, Default)]
struct Progress {
    /// Blocks that the thread has sent.
    blocks: AtomicU64,
    /// It sends only what others have sent.
    ended: AtomicBool,
}

/// The progress of all threads of a sender, in blocks of the stream. Each thread sends its part of every block.
#[derive(Debug)]
pub struct Lockstep {
    threads: Box<[Progress]>,
}

impl Lockstep {
    /// So many threads, none of which has sent anything.
    pub fn new(threads: u16) -> Self {
        Lockstep {
            threads: (0..threads).map(|_| Progress::default()).collect(),
        }
    }

    /// What a thread that has sent so many `blocks` does next; it is `over` once its time is, or it was stopped. As soon as
    /// one is, all end, after those blocks that any of them has sent.
    pub fn turn(&self, thread: u16, blocks: u64, over: bool) -> Turn {
        let Some(own) = self.threads.get(usize::from(thread)) else {
            return Turn::End;
        };
        own.blocks.store(blocks, Ordering::Release);
        let has_ended = |it: &Progress| it.ended.load(Ordering::Acquire);
        // The number of blocks is stored before the end, and no thread goes beyond the highest after that.
        if over || self.threads.iter().any(has_ended) {
            own.ended.store(true, Ordering::Release);
            if !self.threads.iter().all(has_ended) {
                return Turn::Wait;
            }
        }
        let counts = || self.threads.iter().map(|it| it.blocks.load(Ordering::Acquire));
        let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        match has_ended(own) {
            true if blocks < most => Turn::Send,
            true => Turn::End,
            false if blocks < least + AHEAD => Turn::Send,
            false => Turn::Wait,
        }
    }

    /// A thread sends nothing more, whatever others have sent.
    pub fn leave(&self, thread: u16) {
        if let Some(own) = self.threads.get(usize::from(thread)) {
            own.ended.store(true, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_is_far_ahead_and_all_end_with_the_same_block() {
        let lockstep = Lockstep::new(3);
        for blocks in 0..AHEAD {
            assert_eq!(lockstep.turn(0, blocks, false), Turn::Send);
        }
        assert_eq!(lockstep.turn(0, AHEAD, false), Turn::Wait);
        assert_eq!(lockstep.turn(1, 1, false), Turn::Send);
        assert_eq!(
            lockstep.turn(0, AHEAD, false),
            Turn::Wait,
            "the third has sent nothing"
        );
        assert_eq!(lockstep.turn(2, 1, false), Turn::Send);
        assert_eq!(lockstep.turn(0, AHEAD, false), Turn::Send);

        assert_eq!(lockstep.turn(1, 2, true), Turn::Wait, "two others go on");
        assert_eq!(lockstep.turn(0, AHEAD + 1, false), Turn::Wait);
        assert_eq!(lockstep.turn(2, 2, false), Turn::Send, "all know it now");
        assert_eq!(lockstep.turn(0, AHEAD + 1, false), Turn::End);
        for blocks in 2..=AHEAD {
            assert_eq!(lockstep.turn(1, blocks, true), Turn::Send);
            assert_eq!(lockstep.turn(2, blocks, false), Turn::Send);
        }
        assert_eq!(lockstep.turn(1, AHEAD + 1, true), Turn::End);
        assert_eq!(lockstep.turn(2, AHEAD + 1, false), Turn::End);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_left() {
        let lockstep = Lockstep::new(2);
        assert_eq!(lockstep.turn(0, 1, false), Turn::Send);
        lockstep.leave(1);
        assert_eq!(lockstep.turn(0, 2, false), Turn::End);
    }
}
