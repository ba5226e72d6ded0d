//! Frames that are being put together, given out in order: a frame when it is complete, or when its time is over with
//! what is missing told. It must not know symbols, flows, or why a packet is missing.

use std::collections::VecDeque;

use weir_wire::MediaFraming;

/// A frame as it is given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its number, from 0.
    pub number: u64,
    /// Which format description it is of.
    pub format: u16,
    /// Media time, nanoseconds after the first frame's.
    pub timestamp_ns: u64,
    /// Its bytes; those of `missing` mean nothing.
    pub bytes: Vec<u8>,
    /// What never came, in order.
    pub missing: Vec<Piece>,
    /// When its first packet was sent, on the receiver's clock if the fastest packet took no time, nanoseconds.
    pub sent_ns: u64,
}

/// A part of a frame, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// From here on.
    pub start: u32,
    /// Up to before here.
    pub end: u32,
}

/// What is given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A frame, complete or not.
    Frame(Frame),
    /// A frame of which nothing came.
    Nothing(u64),
}

/// What became of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It is in its frame.
    New,
    /// Its frame has been given out.
    Late,
    /// It was there.
    Duplicate,
    /// Its frame is further ahead than there is room for.
    NoRoom,
    /// It does not fit its frame.
    Malformed,
}

/// Bounds of what is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// Payload bytes of every packet but the last of a frame.
    pub payload: u32,
    /// Frames at a time.
    pub frames: usize,
    /// Bytes of a frame.
    pub frame_bytes: u32,
}

#[derive(Debug)]
struct Slot {
    framing: MediaFraming,
    bytes: Vec<u8>,
    /// One bit for each packet.
    seen: Vec<u64>,
    left: u32,
    sent_ns: u64,
    deadline_ns: u64,
}

/// Frames from the next one to be given out on.
#[derive(Debug)]
pub struct Frames {
    limits: FrameLimits,
    slots: VecDeque<Option<Slot>>,
    /// Number of the first slot; none before the first packet.
    head: Option<u64>,
    spare: Vec<Vec<u8>>,
    spare_seen: Vec<Vec<u64>>,
}

impl Frames {
    /// Nothing yet.
    pub fn new(limits: FrameLimits) -> Self {
        Frames {
            limits,
            slots: VecDeque::with_capacity(limits.frames),
            head: None,
            spare: Vec::new(),
            spare_seen: Vec::new(),
        }
    }

    /// The number that a frame counter stands for.
    pub fn number(&self, frame: u32) -> u64 {
        weir_wire::Sequence(frame).extend(self.head.unwrap_or(u64::from(frame)))
    }

    /// Puts a payload into its frame, which is wanted until `deadline_ns` or later. A frame's first number is taken from
    /// the first packet, unless it may be that of the stream's beginning.
    pub fn place(
        &mut self,
        framing: &MediaFraming,
        payload: &[u8],
        sent_ns: u64,
        deadline_ns: u64,
    ) -> Placed {
        let number = self.number(framing.frame);
        if !self.fits(framing, payload.len()) {
            return Placed::Malformed;
        }
        let head = *self.head.get_or_insert(if number < self.limits.frames as u64 {
            0
        } else {
            number
        });
        let Some(place) = number.checked_sub(head) else {
            return Placed::Late;
        };
        if place >= self.limits.frames as u64 {
            return Placed::NoRoom;
        }
        let place = place as usize;
        while self.slots.len() <= place {
            self.slots.push_back(None);
        }
        if self.slots[place].is_none() {
            self.slots[place] = Some(self.open(framing, sent_ns, deadline_ns));
        }
        let Some(slot) = &mut self.slots[place] else {
            return Placed::Malformed;
        };
        slot.put(framing, payload, self.limits.payload, sent_ns, deadline_ns)
    }

    fn fits(&self, framing: &MediaFraming, length: usize) -> bool {
        let payload = self.limits.payload;
        let whole = framing.frame_length;
        let left = whole.saturating_sub(framing.offset);
        whole <= self.limits.frame_bytes
            && left > 0
            && framing.offset.is_multiple_of(payload)
            && length == left.min(payload) as usize
    }

    fn open(&mut self, framing: &MediaFraming, sent_ns: u64, deadline_ns: u64) -> Slot {
        let packets = framing.frame_length.div_ceil(self.limits.payload);
        let mut bytes = self.spare.pop().unwrap_or_default();
        let mut seen = self.spare_seen.pop().unwrap_or_default();
        bytes.resize(framing.frame_length as usize, 0);
        seen.clear();
        seen.resize(packets.div_ceil(64) as usize, 0);
        Slot {
            framing: *framing,
            bytes,
            seen,
            left: packets,
            sent_ns,
            deadline_ns,
        }
    }

    /// The next frame, if it is complete or its time is over.
    pub fn take(&mut self, now_ns: u64) -> Option<Given> {
        let head = self.head?;
        let ready = match self.slots.front()? {
            Some(slot) => slot.left == 0 || slot.deadline_ns <= now_ns,
            // Nothing of it came: it is given up with the frame after it.
            None => self.next_deadline().is_some_and(|deadline| deadline <= now_ns),
        };
        if !ready {
            return None;
        }
        let slot = self.slots.pop_front()?;
        self.head = Some(head + 1);
        Some(match slot {
            None => Given::Nothing(head),
            Some(slot) => {
                let missing = slot.missing(self.limits.payload);
                self.spare_seen.push(slot.seen);
                Given::Frame(Frame {
                    number: head,
                    format: slot.framing.format,
                    timestamp_ns: slot.framing.timestamp_ns,
                    bytes: slot.bytes,
                    missing,
                    sent_ns: slot.sent_ns,
                })
            }
        })
    }

    /// When the next frame's time is over.
    pub fn next_deadline(&self) -> Option<u64> {
        self.slots.iter().flatten().map(|slot| slot.deadline_ns).next()
    }

    /// Takes back the buffer of a frame that was given out.
    pub fn recycle(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < self.limits.frames {
            self.spare.push(bytes);
        }
    }
}

impl Slot {
    fn put(
        &mut self,
        framing: &MediaFraming,
        payload: &[u8],
        each: u32,
        sent_ns: u64,
        deadline_ns: u64,
    ) -> Placed {
        let same = MediaFraming {
            offset: framing.offset,
            ..self.framing
        };
        if same != *framing {
            return Placed::Malformed;
        }
        let index = (framing.offset / each) as usize;
        let (word, bit) = (index / 64, 1 << (index % 64));
        if self.seen[word] & bit != 0 {
            return Placed::Duplicate;
        }
        self.seen[word] |= bit;
        self.left -= 1;
        let start = framing.offset as usize;
        self.bytes[start..start + payload.len()].copy_from_slice(payload);
        self.sent_ns = self.sent_ns.min(sent_ns);
        self.deadline_ns = self.deadline_ns.max(deadline_ns);
        Placed::New
    }

    fn missing(&self, each: u32) -> Vec<Piece> {
        let mut missing: Vec<Piece> = Vec::new();
        if self.left == 0 {
            return missing;
        }
        let length = self.framing.frame_length;
        for index in 0..length.div_ceil(each) {
            if self.seen[(index / 64) as usize] & (1 << (index % 64)) != 0 {
                continue;
            }
            let (start, end) = (index * each, length.min(index * each + each));
            match missing.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => missing.push(Piece { start, end }),
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Frames {
        Frames::new(FrameLimits {
            payload: 100,
            frames: 4,
            frame_bytes: 1_000,
        })
    }

    fn part(frame: u32, offset: u32) -> MediaFraming {
        MediaFraming {
            frame,
            offset,
            frame_length: 250,
            timestamp_ns: u64::from(frame) * 10,
            ..MediaFraming::default()
        }
    }

    /// The bytes of a frame's part, by where they are.
    fn bytes(framing: &MediaFraming) -> Vec<u8> {
        let end = framing.frame_length.min(framing.offset + 100);
        (framing.offset..end)
            .map(|at| (at as u8) ^ (framing.frame as u8))
            .collect()
    }

    fn place(frames: &mut Frames, frame: u32, offset: u32, deadline_ns: u64) -> Placed {
        let framing = part(frame, offset);
        frames.place(&framing, &bytes(&framing), deadline_ns - 100, deadline_ns)
    }

    #[test]
    fn frames_come_whole_and_in_order_whatever_the_order_of_packets() {
        let mut frames = frames();
        for (frame, offset) in [(1, 200), (0, 100), (1, 0), (0, 200)] {
            assert_eq!(place(&mut frames, frame, offset, 1_000), Placed::New);
        }
        assert_eq!(place(&mut frames, 0, 100, 1_000), Placed::Duplicate);
        assert_eq!(place(&mut frames, 1, 100, 1_000), Placed::New);
        assert_eq!(frames.take(999), None, "the second is complete, the first is not");
        assert_eq!(place(&mut frames, 0, 0, 1_000), Placed::New);
        for number in 0..2u64 {
            let Some(Given::Frame(frame)) = frames.take(999) else {
                panic!("a frame");
            };
            assert_eq!(
                (frame.number, frame.timestamp_ns, frame.missing),
                (number, number * 10, vec![])
            );
            let expected: Vec<u8> = (0..250u32).map(|at| (at as u8) ^ (number as u8)).collect();
            assert_eq!(frame.bytes, expected);
            frames.recycle(frame.bytes);
        }
        assert_eq!(frames.take(u64::MAX), None);
        assert_eq!(place(&mut frames, 1, 0, 1_000), Placed::Late);
    }

    #[test]
    fn at_the_deadline_a_frame_goes_with_what_is_missing_and_one_without_packets_as_nothing() {
        let mut frames = frames();
        assert_eq!(place(&mut frames, 0, 100, 1_000), Placed::New);
        assert_eq!(place(&mut frames, 2, 0, 2_000), Placed::New);
        assert_eq!(frames.next_deadline(), Some(1_000));
        assert_eq!(frames.take(999), None);
        let Some(Given::Frame(frame)) = frames.take(1_000) else {
            panic!("a frame");
        };
        let piece = |start, end| Piece { start, end };
        assert_eq!(frame.missing, [piece(0, 100), piece(200, 250)]);
        assert_eq!(frames.take(1_999), None);
        assert_eq!(frames.take(2_000), Some(Given::Nothing(1)));
        let Some(Given::Frame(frame)) = frames.take(2_000) else {
            panic!("a frame");
        };
        assert_eq!((frame.number, frame.missing), (2, vec![piece(100, 250)]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut frames = frames();
        assert_eq!(place(&mut frames, 0, 0, 1_000), Placed::New);
        let whole = part(0, 100);
        let payload = [0; 100];
        for wrong in [
            MediaFraming { offset: 50, ..whole },
            MediaFraming { offset: 300, ..whole },
            MediaFraming { offset: 200, ..whole },
            MediaFraming {
                frame_length: 1_001,
                ..whole
            },
            MediaFraming {
                frame_length: 260,
                ..whole
            },
            MediaFraming { format: 9, ..whole },
        ] {
            assert_eq!(
                frames.place(&wrong, &payload, 0, 1_000),
                Placed::Malformed,
                "{wrong:?}"
            );
        }
        assert_eq!(frames.place(&whole, &payload[1..], 0, 1_000), Placed::Malformed);
        assert_eq!(place(&mut frames, 4, 0, 1_000), Placed::NoRoom);
    }

    #[test]
    fn a_receiver_that_comes_late_begins_where_the_stream_is_and_numbers_wrap() {
        let mut frames = frames();
        assert_eq!(place(&mut frames, u32::MAX, 0, 1_000), Placed::New);
        assert_eq!(place(&mut frames, 0, 0, 2_000), Placed::New);
        let number = |given| match given {
            Some(Given::Frame(frame)) => frame.number,
            other => panic!("{other:?}"),
        };
        assert_eq!(number(frames.take(1_000)), u64::from(u32::MAX));
        assert_eq!(number(frames.take(2_000)), 1 << 32);
    }
}
