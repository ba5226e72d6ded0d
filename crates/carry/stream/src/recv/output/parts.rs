//! Joins the parts of frames that the receiving threads deliver: bytes, missing pieces and times. It must not know where
//! frames go.

use weir_stream_proto::{Frame, FrameKey, Joiner, MissingPiece, OutputFrame, Shares};

use super::queue::Timed;

pub(super) struct Parts {
    shares: Shares,
    joiner: Joiner,
    /// Of the last part that had one.
    least_transit_ns: u64,
    /// Parts whose buffers are free, and their shares.
    free: Vec<(u16, Frame)>,
    /// Whether the bytes of frames are wanted.
    with_bytes: bool,
}

impl Parts {
    pub(super) fn new(shares: Shares, with_bytes: bool) -> Self {
        Parts {
            shares,
            joiner: Joiner::new(shares.count()),
            least_transit_ns: 0,
            free: Vec::new(),
            with_bytes,
        }
    }

    /// Takes what a share delivers.
    pub(super) fn push(&mut self, now_ns: u64, (share, key): (u16, FrameKey), timed: Timed) {
        if timed.least_transit_ns > 0 {
            self.least_transit_ns = timed.least_transit_ns;
        }
        self.joiner.push(now_ns, share, key, timed.given);
    }

    /// The next frame, if its parts are there or waited for long enough; `length` gives the bytes of a frame with the format
    /// of this part, if it is known.
    pub(super) fn poll(&mut self, now_ns: u64, length: impl Fn(&Frame) -> Option<usize>) -> Option<Timed> {
        let joined = self.joiner.poll(now_ns);
        self.free.extend(std::iter::from_fn(|| self.joiner.poll_late()));
        let joined = joined?;
        let parts = || joined.parts.iter().flatten();
        let together = || parts().map(|part| part.bytes.len()).sum();
        let whole = parts().next().and_then(length).unwrap_or_else(together);
        Some(Timed {
            given: self.join(joined.parts, whole),
            least_transit_ns: self.least_transit_ns,
        })
    }

    /// When to poll next, if nothing arrives.
    pub(super) fn next_wake(&self) -> Option<u64> {
        self.joiner.next_wake()
    }

    /// A part whose buffer is free, and its share.
    pub(super) fn take_free(&mut self) -> Option<(u16, Frame)> {
        self.free.pop()
    }

    /// A frame of `whole` bytes. The buffer of the first part becomes that of the frame.
    fn join(&mut self, parts: Vec<Option<Frame>>, whole: usize) -> OutputFrame {
        let (mut bytes, mut missing) = (Vec::new(), Vec::new());
        let mut joined: Option<Frame> = None;
        let mut has_gap = false;
        for (share, part) in (0..).zip(parts) {
            let range = self.shares.part(share, whole);
            let (start, end) = (range.start as u32, range.end as u32);
            let Some(part) = part.filter(|part| part.bytes.len() == range.len()) else {
                has_gap = true;
                missing.push(MissingPiece { start, end });
                if self.with_bytes {
                    bytes.resize(range.end, 0);
                }
                continue;
            };
            let within = |piece: &MissingPiece| MissingPiece {
                start: start + piece.start,
                end: start + piece.end,
            };
            missing.extend(part.missing.iter().map(within));
            let head = Frame {
                bytes: Vec::new(),
                missing: Vec::new(),
                ..part
            };
            joined = Some(joined.map_or(head.clone(), |joined| with_part(joined, &head)));
            match (self.with_bytes, share) {
                (true, 0) => bytes = part.bytes,
                (true, _) => {
                    bytes.extend_from_slice(&part.bytes);
                    self.free.push((share, part));
                }
                (false, _) => self.free.push((share, part)),
            }
        }
        match joined {
            None => OutputFrame::Nothing(0),
            Some(joined) => OutputFrame::Frame(Frame {
                bytes,
                missing,
                complete_ns: joined.complete_ns.filter(|_| !has_gap),
                ..joined
            }),
        }
    }
}

/// The times of a frame with a further part.
fn with_part(frame: Frame, part: &Frame) -> Frame {
    let complete_ns = frame.complete_ns.zip(part.complete_ns);
    Frame {
        sent_ns: frame.sent_ns.min(part.sent_ns),
        complete_ns: complete_ns.map(|(one, other)| one.max(other)),
        deadline_ns: frame.deadline_ns.max(part.deadline_ns),
        ..frame
    }
}

#[cfg(test)]
mod tests {
    use weir_stream_proto::{FrameKeys, SenderIndex};

    use super::*;

    const WHOLE: usize = 250;

    /// Both parts of frames of 250 bytes, in packets of 100: 100 and 150 bytes.
    struct Two {
        parts: Parts,
        keys: [FrameKeys; 2],
    }

    impl Two {
        fn new(with_bytes: bool) -> Self {
            let shares = Shares::new(2, 100).expect("shares");
            let mut keys = [FrameKeys::default(), FrameKeys::default()];
            keys.iter_mut().for_each(|keys| keys.join(SenderIndex(0), true));
            Two {
                parts: Parts::new(shares, with_bytes),
                keys,
            }
        }

        fn push(&mut self, share: u16, given: OutputFrame) {
            let key = self.keys[usize::from(share)].next(&given);
            let timed = Timed {
                given,
                least_transit_ns: 7,
            };
            self.parts.push(0, (share, key), timed);
        }

        fn poll(&mut self) -> Option<OutputFrame> {
            Some(self.parts.poll(u64::MAX, |_| Some(WHOLE))?.given)
        }

        fn frame(&mut self) -> Frame {
            match self.poll() {
                Some(OutputFrame::Frame(frame)) => frame,
                other => panic!("a frame, not {other:?}"),
            }
        }
    }

    fn part(number: u32, bytes: Vec<u8>, missing: Vec<MissingPiece>) -> OutputFrame {
        OutputFrame::Frame(Frame {
            number: number.into(),
            sender_number: number,
            sent_ns: 10 + bytes.len() as u64,
            complete_ns: missing.is_empty().then_some(20 + bytes.len() as u64),
            deadline_ns: 500,
            bytes,
            missing,
            ..Frame::default()
        })
    }

    #[test]
    fn two_parts_are_one_frame_in_the_buffer_of_the_first() {
        let mut two = Two::new(true);
        let mut first = vec![1; 100];
        first.reserve_exact(WHOLE);
        let place = first.as_ptr();
        two.push(0, part(7, first, vec![]));
        two.push(1, part(7, vec![2; 150], vec![]));
        let frame = two.frame();
        assert_eq!(frame.bytes, [vec![1; 100], vec![2; 150]].concat());
        assert_eq!((frame.bytes.as_ptr(), frame.sender_number), (place, 7));
        assert_eq!(
            (frame.sent_ns, frame.complete_ns, frame.missing),
            (110, Some(170), vec![])
        );
        let free = two
            .parts
            .take_free()
            .map(|(share, part)| (share, part.bytes.len()));
        assert_eq!(free, Some((1, 150)));
    }

    #[test]
    fn what_a_part_lacks_is_missing_at_its_place_and_so_is_a_part_that_is_absent() {
        let piece = |start, end| MissingPiece { start, end };
        let mut two = Two::new(true);
        two.push(0, part(0, vec![1; 100], vec![]));
        two.push(1, part(0, vec![2; 150], vec![piece(100, 150)]));
        let frame = two.frame();
        assert_eq!((frame.complete_ns, frame.missing), (None, vec![piece(200, 250)]));
        two.push(0, OutputFrame::Nothing(1));
        two.push(1, part(1, vec![2; 150], vec![]));
        let frame = two.frame();
        assert_eq!((frame.complete_ns, frame.missing), (None, vec![piece(0, 100)]));
        assert_eq!((frame.bytes.len(), &frame.bytes[100..]), (WHOLE, &[2; 150][..]));
        // A part of another length belongs to another format.
        two.push(0, part(2, vec![1; 100], vec![]));
        two.push(1, part(2, vec![2; 100], vec![]));
        let frame = two.frame();
        assert_eq!((frame.bytes.len(), frame.missing), (WHOLE, vec![piece(100, 250)]));
        for share in [0, 1] {
            two.push(share, OutputFrame::Nothing(3));
        }
        assert_eq!((two.poll(), two.poll()), (Some(OutputFrame::Nothing(0)), None));
    }

    #[test]
    fn bytes_that_nobody_wants_are_not_copied() {
        let mut two = Two::new(false);
        two.push(0, part(0, vec![1; 100], vec![]));
        two.push(1, part(0, vec![2; 150], vec![]));
        let frame = two.frame();
        assert_eq!(
            (frame.bytes.len(), frame.missing.len(), frame.complete_ns),
            (0, 0, Some(170))
        );
        let free = std::iter::from_fn(|| two.parts.take_free()).map(|(share, _)| share);
        assert_eq!(free.collect::<Vec<_>>(), [1, 0]);
    }
}
