//! The queue before the output thread, as the receiving threads see it: it drops whole frames when the output is slow, and
//! never waits. It must not know what the output does with frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox, channel};

use weir_stream_proto::{Frame, FrameKey, FrameKeys, OutputFrame, SenderIndex, Shares};
use weir_video::VideoFormat;

/// Frames of which it is remembered whether they were dropped: more than threads can be apart.
const REMEMBERED: u64 = 4_096;

/// A sender, and the number of a format there.
pub(super) type FormatId = (SenderIndex, u16);

/// A frame or a part of one, and the reference of its delay.
#[derive(Debug)]
pub(in super::super) struct Timed {
    pub given: OutputFrame,
    /// Assumed transit time of the fastest packet, nanoseconds.
    pub least_transit_ns: u64,
}

/// Messages to the thread.
pub(in super::super) enum ToOutput {
    /// Of a share, with the key of the frame if there are several shares.
    OutputFrame(u16, FrameKey, Box<Timed>),
    Format(FormatId, VideoFormat),
    Hashes(Vec<(u32, u64)>),
}

/// A receiving thread's end: queues frames and never waits.
pub(in super::super) struct FrameQueue {
    share: u16,
    keys: FrameKeys,
    out: Outbox<ToOutput>,
    back: Inbox<Frame>,
    queued: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    /// With several shares.
    gate: Option<Arc<Gate>>,
    /// Maximum number of waiting frames.
    most: usize,
}

/// The output's end of the queue of a share.
pub(super) struct Lane {
    /// Buffers for reuse.
    pub back: Outbox<Frame>,
    /// Frames of the share that wait.
    pub queued: Arc<AtomicUsize>,
}

/// The ends of the queues of all shares, each with room for a number of frames; `dropped` counts frames.
pub(super) fn queues(
    shares: Shares,
    most: usize,
    (out, dropped): (&Outbox<ToOutput>, &Arc<AtomicU64>),
) -> (Vec<FrameQueue>, Vec<Lane>) {
    let gate = (shares.count() > 1).then(|| Arc::new(Gate::new()));
    let queue = |share| {
        let (back, returned) = channel();
        let queued = Arc::<AtomicUsize>::default();
        let queue = FrameQueue {
            share,
            keys: FrameKeys::default(),
            out: out.clone(),
            back: returned,
            queued: queued.clone(),
            dropped: dropped.clone(),
            gate: gate.clone(),
            most,
        };
        (queue, Lane { back, queued })
    };
    (0..shares.count()).map(queue).unzip()
}

impl FrameQueue {
    /// Queues a frame; returns it if the queue is full.
    pub(in super::super) fn offer(&mut self, timed: Timed) -> Option<OutputFrame> {
        let has_room = self.queued.load(Ordering::Acquire) < self.most;
        let (key, decision) = match &self.gate {
            None => (FrameKey::default(), Decision::own(has_room)),
            Some(gate) => {
                let key = self.keys.next(&timed.given);
                (key, gate.decide(key, has_room))
            }
        };
        self.dropped.fetch_add(decision.drops.into(), Ordering::Relaxed);
        if !decision.is_queued {
            return Some(timed.given);
        }
        self.queued.fetch_add(1, Ordering::AcqRel);
        // A writer that has ended takes no frames; that ends the run.
        self.out
            .send(ToOutput::OutputFrame(self.share, key, Box::new(timed)))
            .ok();
        None
    }

    /// A sender joins, `alone` if there is no other, with the format of its first frames.
    pub(in super::super) fn join(&mut self, number: FormatId, format: VideoFormat, alone: bool) {
        self.keys.join(number.0, alone);
        self.format(number, format);
    }

    /// Changes the format of the following frames.
    pub(in super::super) fn format(&self, number: FormatId, format: VideoFormat) {
        self.out.send(ToOutput::Format(number, format)).ok();
    }

    /// A frame whose buffer is free.
    pub(in super::super) fn take_back(&self) -> Option<Frame> {
        self.back.try_recv().ok()
    }
}

/// Whether a frame is queued, and whether this drops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decision {
    is_queued: bool,
    drops: bool,
}

impl Decision {
    fn own(is_queued: bool) -> Self {
        Decision {
            is_queued,
            drops: !is_queued,
        }
    }
}

/// Decides for all shares whether a frame is queued, so that it is dropped as a whole: the share that asks first decides by
/// its room. One atomic operation for a frame of a share, and no lock.
#[derive(Debug)]
struct Gate {
    /// Keys of recent frames, without their highest bit, and in the lowest bit whether they are queued.
    decided: Box<[AtomicU64]>,
}

impl Gate {
    fn new() -> Self {
        Gate {
            // No frame's: a session has fewer frames.
            decided: (0..REMEMBERED).map(|_| AtomicU64::new(u64::MAX)).collect(),
        }
    }

    fn decide(&self, key: FrameKey, has_room: bool) -> Decision {
        let slot = &self.decided[(key.hash() % REMEMBERED) as usize];
        let tag = key.hash() << 1;
        let follow = |known: u64| {
            (known & !1 == tag).then_some(Decision {
                is_queued: known & 1 == 1,
                drops: false,
            })
        };
        let known = slot.load(Ordering::Acquire);
        if let Some(decision) = follow(known) {
            return decision;
        }
        let decided = tag | u64::from(has_room);
        match slot.compare_exchange(known, decided, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Decision::own(has_room),
            Err(other) => follow(other).unwrap_or(Decision::own(has_room)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> FrameKeys {
        let mut keys = FrameKeys::default();
        keys.join(SenderIndex(0), true);
        keys
    }

    #[test]
    fn the_first_share_decides_for_all() {
        let gate = Gate::new();
        let (mut first, mut second) = (keys(), keys());
        for number in 0..3 * REMEMBERED {
            let given = OutputFrame::Nothing(number);
            let has_room = number % 3 != 0;
            let decided = gate.decide(first.next(&given), has_room);
            assert_eq!(decided, Decision::own(has_room));
            let followed = gate.decide(second.next(&given), !has_room);
            assert_eq!((followed.is_queued, followed.drops), (has_room, false));
        }
    }

    #[test]
    fn a_full_queue_drops_a_frame_once() {
        let shares = Shares::new(2, 100).expect("shares");
        let (out, inbox) = channel();
        let dropped = Arc::<AtomicU64>::default();
        let (mut queues, lanes) = queues(shares, 2, (&out, &dropped));
        let format: VideoFormat = "64x64@25:gray".parse().expect("a format");
        for queue in &mut queues {
            queue.join((SenderIndex(0), 0), format, true);
        }
        let timed = |number| Timed {
            given: OutputFrame::Nothing(number),
            least_transit_ns: 0,
        };
        let mut refused = Vec::new();
        for (share, number) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3), (0, 3)] {
            let given = queues[share].offer(timed(number));
            refused.extend(given.map(|_| (share, number)));
        }
        assert_eq!(refused, [(0, 2), (1, 2), (1, 3), (0, 3)]);
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
        let queued = lanes.iter().map(|lane| lane.queued.load(Ordering::Relaxed));
        assert_eq!(queued.collect::<Vec<_>>(), [2, 2]);
        let frames = inbox
            .try_iter()
            .filter(|it| matches!(it, ToOutput::OutputFrame(..)));
        assert_eq!(frames.count(), 4);
    }
}
