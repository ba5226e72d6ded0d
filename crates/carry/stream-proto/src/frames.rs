//! Reassembly of frames, output in order: a frame when it is complete, or at its deadline with
//! a list of its missing parts. It must not know symbols, flows, or why a packet is missing.

use std::collections::VecDeque;
use std::ops::Range;

use weir_wire::MediaFraming;

use crate::SenderIndex;
use crate::past::Past;

/// An output frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its number: higher than those of all frames before it, and equal to the sender's until a sender restarts its
    /// numbering.
    pub number: u64,
    /// The sender of its first packet. In [`Join::Switch`](crate::Join::Switch) all of it is this one's.
    pub sender: SenderIndex,
    /// Its number at that sender (wraps).
    pub sender_number: u32,
    /// Number of its format description at that sender.
    pub format: u16,
    /// Media time, nanoseconds after the sender's first frame.
    pub timestamp_ns: u64,
    /// Its bytes; those of `missing` are undefined.
    pub bytes: Vec<u8>,
    /// Its missing parts, in order.
    pub missing: Vec<Piece>,
    /// Send time of its first packet, on the receiver's clock, assuming zero transit time of the fastest packet,
    /// nanoseconds.
    pub sent_ns: u64,
    /// Arrival time of its last part, nanoseconds; none if parts are missing.
    pub complete_ns: Option<u64>,
    /// Its deadline, nanoseconds: `latency_ns` after the arrival of its last packet, had that been as fast as the fastest
    /// one, or as the fastest one of the slower sender. The last packet is the last that is not a copy. The deadline of
    /// an incomplete frame is not before the end of earlier frames, and not after the start of the next one.
    pub deadline_ns: u64,
}

/// A part of a frame, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// The output of the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputFrame {
    /// A frame, complete or not.
    Frame(Frame),
    /// A frame of which no packet arrived.
    Nothing(u64),
}

/// Result of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// Stored in its frame.
    New,
    /// Stored in its frame, which is now complete.
    Whole,
    /// Its frame has been output without it.
    Late,
    /// Received before.
    Duplicate,
    /// Received before, from another sender.
    Merged,
    /// Its frame is too far ahead.
    NoRoom,
    /// It does not fit its frame.
    Malformed,
    /// Frames are not taken from its sender now.
    Unwanted,
}

/// Whether a packet is still needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// It is missing.
    Wanted,
    /// Its frame contains it.
    Had,
    /// Its frame was output without it.
    TooLate,
}

/// Limits of reassembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameLimits {
    /// Payload of every packet except the last of a frame, bytes.
    pub payload: u32,
    /// Maximum number of frames at a time.
    pub frames: usize,
    /// Maximum length of a frame, bytes.
    pub frame_bytes: u32,
}

/// Times and sender of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Arrival time.
    pub now_ns: u64,
    /// Send time, on this clock.
    pub sent_ns: u64,
    /// Deadline of its frame from this packet.
    pub deadline_ns: u64,
    /// Expected deadline of its frame, from the known duration of frames.
    pub expected_ns: u64,
    /// Whether it is not a copy, so that its time shows how late the frame is.
    pub original: bool,
    /// Its sender.
    pub sender: SenderIndex,
    /// A bit for the sender.
    pub mark: u8,
}

#[derive(Debug)]
struct Slot {
    framing: MediaFraming,
    sender: SenderIndex,
    /// Bits of all senders that delivered parts of it.
    marks: u8,
    bytes: Vec<u8>,
    /// One bit for each packet.
    seen: Vec<u64>,
    left: u32,
    sent_ns: u64,
    complete_ns: Option<u64>,
    /// The deadline of all frames before it.
    before_ns: u64,
    /// The deadline from the packets that arrived, and that from the expected ones.
    came_ns: u64,
    expected_ns: u64,
    /// Upper bound of its deadline: the next frame has begun.
    latest_ns: u64,
}

/// The frames from the next output on.
#[derive(Debug)]
pub(crate) struct Frames {
    limits: FrameLimits,
    slots: VecDeque<Option<Slot>>,
    /// Number of the first slot; none before the first packet.
    head: Option<u64>,
    /// Output before the slots after a jump: the frames before it, and then the skipped numbers.
    before: VecDeque<OutputFrame>,
    skipped: Range<u64>,
    /// The stream ends before this frame, and the deadline of those before it.
    end: Option<(u64, u64)>,
    past: Past,
    spare: Vec<Vec<u8>>,
    spare_seen: Vec<Vec<u64>>,
}

impl Frames {
    /// No frames yet.
    pub(crate) fn new(limits: FrameLimits) -> Self {
        Frames {
            limits,
            slots: VecDeque::with_capacity(limits.frames),
            head: None,
            before: VecDeque::new(),
            skipped: 0..0,
            end: None,
            past: Past::default(),
            spare: Vec::new(),
            spare_seen: Vec::new(),
        }
    }

    /// Number of the first frame that has not been output; none before [`begin`](Self::begin).
    pub(crate) fn head(&self) -> Option<u64> {
        self.head
    }

    /// One above the highest frame with a packet.
    pub(crate) fn reached(&self) -> u64 {
        self.head.unwrap_or(0) + self.slots.len() as u64
    }

    /// Sets the first frame to output, if none is set.
    pub(crate) fn begin(&mut self, number: u64) {
        self.head.get_or_insert(number);
    }

    /// Whether there is room for a frame.
    pub(crate) fn has_room(&self, number: u64) -> bool {
        let ahead = self.head.and_then(|head| number.checked_sub(head));
        ahead.is_some_and(|ahead| ahead < self.limits.frames as u64)
    }

    /// Whether a payload of `length` bytes is consistent with its framing.
    pub(crate) fn fits(&self, framing: &MediaFraming, length: usize) -> bool {
        let payload = self.limits.payload;
        let whole = framing.frame_length;
        let left = whole.saturating_sub(framing.offset);
        whole <= self.limits.frame_bytes
            && left > 0
            && framing.offset.is_multiple_of(payload)
            && length == left.min(payload) as usize
    }

    /// Puts a payload into its frame, after [`begin`](Self::begin).
    pub(crate) fn place(
        &mut self,
        number: u64,
        framing: &MediaFraming,
        payload: &[u8],
        stamp: &Stamp,
    ) -> Placed {
        if !self.fits(framing, payload.len()) {
            return Placed::Malformed;
        }
        let Some(place) = self.head.and_then(|head| number.checked_sub(head)) else {
            return match self.need(number, framing.offset / self.limits.payload) {
                Need::Had => Placed::Merged,
                Need::Wanted | Need::TooLate => Placed::Late,
            };
        };
        if place >= self.limits.frames as u64 {
            return Placed::NoRoom;
        }
        let place = place as usize;
        while self.slots.len() <= place {
            self.slots.push_back(None);
        }
        if self.slots[place].is_none() {
            self.slots[place] = Some(self.open(framing, stamp));
            // Those before it were sent before it.
            if let Some(Some(before)) = place.checked_sub(1).map(|before| &mut self.slots[before]) {
                before.latest_ns = before.came_ns.max(stamp.deadline_ns);
                before.expected_ns = before.expected_ns.min(before.latest_ns);
            }
        }
        match &mut self.slots[place] {
            Some(slot) => slot.put(framing, payload, self.limits.payload, stamp),
            None => Placed::Malformed,
        }
    }

    fn open(&mut self, framing: &MediaFraming, stamp: &Stamp) -> Slot {
        let packets = framing.frame_length.div_ceil(self.limits.payload);
        let mut bytes = self.spare.pop().unwrap_or_default();
        let mut seen = self.spare_seen.pop().unwrap_or_default();
        bytes.resize(framing.frame_length as usize, 0);
        seen.clear();
        seen.resize(packets.div_ceil(64) as usize, 0);
        Slot {
            framing: *framing,
            sender: stamp.sender,
            marks: 0,
            bytes,
            seen,
            left: packets,
            sent_ns: stamp.sent_ns,
            complete_ns: None,
            before_ns: stamp.deadline_ns,
            came_ns: stamp.deadline_ns,
            expected_ns: stamp.expected_ns,
            latest_ns: u64::MAX,
        }
    }

    fn slot(&self, number: u64) -> Option<&Slot> {
        let place = number.checked_sub(self.head?)?;
        self.slots.get(usize::try_from(place).ok()?)?.as_ref()
    }

    /// Whether a packet of a frame is needed.
    pub(crate) fn need(&self, number: u64, index: u32) -> Need {
        if self.head.is_none_or(|head| number >= head) {
            let had = self.slot(number).is_some_and(|slot| slot.has(index));
            return if had { Need::Had } else { Need::Wanted };
        }
        match self.past.had(number, index) {
            Some(true) => Need::Had,
            Some(false) | None => Need::TooLate,
        }
    }

    /// Send time of the first received packet of a frame.
    pub(crate) fn sent_ns(&self, number: u64) -> Option<u64> {
        let slot = self.slot(number).map(|slot| slot.sent_ns);
        slot.or_else(|| self.past.sent_ns(number))
    }

    /// Ends the stream before this frame; `deadline_ns` is the deadline of those before it.
    pub(crate) fn end(&mut self, number: u64, deadline_ns: u64) {
        let limit = self.limits.frames as u64;
        if self.head.is_some_and(|head| number.saturating_sub(head) <= limit) {
            self.end = Some((number, deadline_ns));
        }
    }

    /// Cancels the announced end of the stream.
    pub(crate) fn go_on(&mut self) {
        self.end = None;
    }

    /// The next frame, if it is complete or past its deadline.
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<OutputFrame> {
        if let Some(given) = self.before.pop_front() {
            return Some(given);
        }
        if let Some(number) = self.skipped.next() {
            return Some(OutputFrame::Nothing(number));
        }
        let ready = match self.slots.front() {
            Some(Some(slot)) => slot.left == 0 || slot.deadline_ns() <= now_ns,
            Some(None) | None => self.next_deadline().is_some_and(|deadline| deadline <= now_ns),
        };
        if ready { self.give() } else { None }
    }

    /// The next frame, if it is complete.
    pub(crate) fn take_whole(&mut self) -> Option<OutputFrame> {
        let whole = self.before.is_empty()
            && self.skipped.is_empty()
            && matches!(self.slots.front(), Some(Some(slot)) if slot.left == 0);
        if whole { self.give() } else { None }
    }

    /// Takes out the first frame, as it is.
    fn give(&mut self) -> Option<OutputFrame> {
        let number = self.head?;
        let slot = self.slots.pop_front().flatten();
        self.head = Some(number + 1);
        let Some(slot) = slot else {
            self.past.note(number, None, false, Vec::new());
            return Some(OutputFrame::Nothing(number));
        };
        let missing = slot.missing(self.limits.payload);
        let deadline_ns = match slot.complete_ns {
            // All expected packets have arrived.
            Some(complete_ns) => slot.came_ns.max(complete_ns),
            None => slot.deadline_ns(),
        };
        let seen = self
            .past
            .note(number, Some(slot.sent_ns), slot.left == 0, slot.seen);
        if seen.capacity() > 0 && self.spare_seen.len() < self.limits.frames {
            self.spare_seen.push(seen);
        }
        Some(OutputFrame::Frame(Frame {
            number,
            sender: slot.sender,
            sender_number: slot.framing.frame,
            format: slot.framing.format,
            timestamp_ns: slot.framing.timestamp_ns,
            bytes: slot.bytes,
            missing,
            sent_ns: slot.sent_ns,
            complete_ns: slot.complete_ns,
            deadline_ns,
        }))
    }

    /// The deadline of the next frame.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        if !self.before.is_empty() || !self.skipped.is_empty() {
            return Some(0);
        }
        let first = match self.slots.front() {
            Some(Some(slot)) => Some(slot.deadline_ns()),
            // None of its packets arrived, and it was sent before the first packet of those after it.
            Some(None) | None => self.slots.iter().flatten().map(|slot| slot.before_ns).next(),
        };
        let end = self
            .end
            .filter(|(number, _)| self.head.is_some_and(|head| head < *number));
        first.or(end.map(|(_, deadline)| deadline))
    }

    /// Jumps to frame `number`, which is too far ahead for the slots: the frames in reassembly are output as they are,
    /// and those between as lost. False if the last jump is not complete.
    pub(crate) fn jump(&mut self, number: u64) -> bool {
        if !self.before.is_empty() || !self.skipped.is_empty() || number < self.reached() {
            return false;
        }
        while !self.slots.is_empty() {
            let given = self.give();
            self.before.extend(given);
        }
        self.skipped = self.reached()..number;
        self.head = Some(number);
        true
    }

    /// From frame `number` on, frames are those of `other` from `from` on.
    pub(crate) fn go_on_with(&mut self, number: u64, other: &mut Frames, from: u64) {
        let head = *self.head.get_or_insert(number);
        let keep = usize::try_from(number.saturating_sub(head)).unwrap_or(usize::MAX);
        while self.slots.len() > keep {
            if let Some(slot) = self.slots.pop_back().flatten() {
                self.recycle(slot.bytes);
            }
        }
        while self.slots.len() < keep.min(self.limits.frames) {
            self.slots.push_back(None);
        }
        let passed = usize::try_from(from.saturating_sub(other.head.unwrap_or(from))).unwrap_or(usize::MAX);
        self.slots.extend(other.slots.drain(..).skip(passed));
        self.end = None;
    }

    /// Takes the buffer of an output frame for reuse.
    pub(crate) fn recycle(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < self.limits.frames {
            self.spare.push(bytes);
        }
    }
}

impl Slot {
    fn deadline_ns(&self) -> u64 {
        self.came_ns.max(self.expected_ns)
    }

    fn has(&self, index: u32) -> bool {
        let word = self.seen.get((index / 64) as usize).copied().unwrap_or(0);
        word & (1 << (index % 64)) != 0
    }

    fn put(&mut self, framing: &MediaFraming, payload: &[u8], each: u32, stamp: &Stamp) -> Placed {
        let mut same = MediaFraming {
            offset: framing.offset,
            ..self.framing
        };
        if stamp.sender != self.sender {
            // Each sender counts media time, and its formats, from a beginning of its own.
            (same.timestamp_ns, same.format) = (framing.timestamp_ns, framing.format);
        }
        if same != *framing {
            return Placed::Malformed;
        }
        if stamp.original {
            self.sent_ns = self.sent_ns.min(stamp.sent_ns);
            self.came_ns = self.came_ns.max(stamp.deadline_ns.min(self.latest_ns));
        }
        let index = framing.offset / each;
        if self.has(index) {
            let by_others = self.marks & !stamp.mark != 0;
            self.marks |= stamp.mark;
            return if by_others {
                Placed::Merged
            } else {
                Placed::Duplicate
            };
        }
        self.marks |= stamp.mark;
        self.seen[(index / 64) as usize] |= 1 << (index % 64);
        self.left -= 1;
        let start = framing.offset as usize;
        self.bytes[start..start + payload.len()].copy_from_slice(payload);
        if self.left > 0 {
            return Placed::New;
        }
        self.complete_ns = Some(stamp.now_ns);
        Placed::Whole
    }

    fn missing(&self, each: u32) -> Vec<Piece> {
        let mut missing: Vec<Piece> = Vec::new();
        if self.left == 0 {
            return missing;
        }
        let length = self.framing.frame_length;
        for index in (0..length.div_ceil(each)).filter(|index| !self.has(*index)) {
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
mod tests;
