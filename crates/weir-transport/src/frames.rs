//! Frames that are being put together, given out in order: a frame when it is complete, or when its time is over with
//! what is missing told. It must not know symbols, flows, or why a packet is missing.

use std::collections::VecDeque;
use std::ops::Range;

use weir_wire::MediaFraming;

use crate::SenderIndex;
use crate::past::Past;

/// A frame as it is given out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Its number: higher than those of all frames before it, and equal to the sender's until a sender begins to count
    /// anew.
    pub number: u64,
    /// The sender whose packet of it came first. In [`Join::Switch`](crate::Join::Switch) all of it is this one's.
    pub sender: SenderIndex,
    /// Its number as that sender counts (wraps).
    pub sender_number: u32,
    /// Which of that sender's format descriptions it is of.
    pub format: u16,
    /// Media time, nanoseconds after the sender's first frame.
    pub timestamp_ns: u64,
    /// Its bytes; those of `missing` mean nothing.
    pub bytes: Vec<u8>,
    /// What never came, in order.
    pub missing: Vec<Piece>,
    /// When its first packet was sent, on the receiver's clock if the fastest packet took no time, nanoseconds.
    pub sent_ns: u64,
    /// When its last piece came, nanoseconds; none if something is missing.
    pub complete_ns: Option<u64>,
    /// When it would have been given out at the latest, nanoseconds: `latency_ns` after its last packet would have come, had
    /// that been as fast as the fastest, or as the fastest of the sender that is later. The last packet is the last that
    /// came as first sent; of a frame with something missing no sooner than frames before it had ended, and no later than
    /// the next one began.
    pub deadline_ns: u64,
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
pub(crate) enum Placed {
    /// It is in its frame.
    New,
    /// It is in its frame, which is complete by it.
    Whole,
    /// Its frame has been given out without it.
    Late,
    /// It was there.
    Duplicate,
    /// It was there: another sender had brought it.
    Merged,
    /// Its frame is further ahead than there is room for.
    NoRoom,
    /// It does not fit its frame.
    Malformed,
    /// Frames are not taken from its sender now.
    Unwanted,
}

/// Whether a packet is still of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// It is missing.
    Wanted,
    /// Its frame has it.
    Had,
    /// Its frame was given out without it.
    TooLate,
}

/// Bounds of what is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameLimits {
    /// Payload bytes of every packet but the last of a frame.
    pub payload: u32,
    /// Frames at a time.
    pub frames: usize,
    /// Bytes of a frame.
    pub frame_bytes: u32,
}

/// When and by whom a payload came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// When it came.
    pub now_ns: u64,
    /// When it was sent, on this clock.
    pub sent_ns: u64,
    /// Until when its frame is wanted on its account.
    pub deadline_ns: u64,
    /// Until when its frame is wanted, by what is known of how long frames take.
    pub expected_ns: u64,
    /// Whether it came as it was first sent, so that its time tells how late the frame is.
    pub original: bool,
    /// By whom.
    pub sender: SenderIndex,
    /// A bit for the sender.
    pub mark: u8,
}

#[derive(Debug)]
struct Slot {
    framing: MediaFraming,
    sender: SenderIndex,
    /// Bits of all senders that brought something of it.
    marks: u8,
    bytes: Vec<u8>,
    /// One bit for each packet.
    seen: Vec<u64>,
    left: u32,
    sent_ns: u64,
    complete_ns: Option<u64>,
    /// The deadline of all frames before it.
    before_ns: u64,
    /// The deadline of the packets that came, and that of those that are expected.
    came_ns: u64,
    expected_ns: u64,
    /// No packet of this frame makes its deadline later than this: the frame after it has begun.
    latest_ns: u64,
}

/// Frames from the next one to be given out on.
#[derive(Debug)]
pub(crate) struct Frames {
    limits: FrameLimits,
    slots: VecDeque<Option<Slot>>,
    /// Number of the first slot; none before the first packet.
    head: Option<u64>,
    /// What goes out before the slots, after a jump: what there was before it, and then the numbers that were left out.
    before: VecDeque<Given>,
    skipped: Range<u64>,
    /// The stream ends before this frame, and when those before it are given up.
    end: Option<(u64, u64)>,
    past: Past,
    spare: Vec<Vec<u8>>,
    spare_seen: Vec<Vec<u64>>,
}

impl Frames {
    /// Nothing yet.
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

    /// Number of the first frame that has not been given out; none before [`begin`](Self::begin).
    pub(crate) fn head(&self) -> Option<u64> {
        self.head
    }

    /// One above the highest number of which something came.
    pub(crate) fn reached(&self) -> u64 {
        self.head.unwrap_or(0) + self.slots.len() as u64
    }

    /// The first frame to be given out is this one, if none has been chosen.
    pub(crate) fn begin(&mut self, number: u64) {
        self.head.get_or_insert(number);
    }

    /// Whether there is room for a frame.
    pub(crate) fn has_room(&self, number: u64) -> bool {
        let ahead = self.head.and_then(|head| number.checked_sub(head));
        ahead.is_some_and(|ahead| ahead < self.limits.frames as u64)
    }

    /// Whether a payload of so many bytes can be what its framing says.
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

    /// Whether a packet of a frame is of use.
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

    /// When the first packet of a frame was sent, of those that came.
    pub(crate) fn sent_ns(&self, number: u64) -> Option<u64> {
        let slot = self.slot(number).map(|slot| slot.sent_ns);
        slot.or_else(|| self.past.sent_ns(number))
    }

    /// The stream ends before this frame; those before it are wanted until then.
    pub(crate) fn end(&mut self, number: u64, deadline_ns: u64) {
        let limit = self.limits.frames as u64;
        if self.head.is_some_and(|head| number.saturating_sub(head) <= limit) {
            self.end = Some((number, deadline_ns));
        }
    }

    /// The stream does not end where it was said to.
    pub(crate) fn go_on(&mut self) {
        self.end = None;
    }

    /// The next frame, if it is complete or its time is over.
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<Given> {
        if let Some(given) = self.before.pop_front() {
            return Some(given);
        }
        if let Some(number) = self.skipped.next() {
            return Some(Given::Nothing(number));
        }
        let ready = match self.slots.front() {
            Some(Some(slot)) => slot.left == 0 || slot.deadline_ns() <= now_ns,
            Some(None) | None => self.next_deadline().is_some_and(|deadline| deadline <= now_ns),
        };
        if ready { self.give() } else { None }
    }

    /// The next frame, if it is complete.
    pub(crate) fn take_whole(&mut self) -> Option<Given> {
        let whole = self.before.is_empty()
            && self.skipped.is_empty()
            && matches!(self.slots.front(), Some(Some(slot)) if slot.left == 0);
        if whole { self.give() } else { None }
    }

    /// Takes out the first frame, as it is.
    fn give(&mut self) -> Option<Given> {
        let number = self.head?;
        let slot = self.slots.pop_front().flatten();
        self.head = Some(number + 1);
        let Some(slot) = slot else {
            self.past.note(number, None, false, Vec::new());
            return Some(Given::Nothing(number));
        };
        let missing = slot.missing(self.limits.payload);
        let deadline_ns = match slot.complete_ns {
            // What was expected has come.
            Some(complete_ns) => slot.came_ns.max(complete_ns),
            None => slot.deadline_ns(),
        };
        let seen = self
            .past
            .note(number, Some(slot.sent_ns), slot.left == 0, slot.seen);
        if seen.capacity() > 0 && self.spare_seen.len() < self.limits.frames {
            self.spare_seen.push(seen);
        }
        Some(Given::Frame(Frame {
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

    /// When the next frame's time is over.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        if !self.before.is_empty() || !self.skipped.is_empty() {
            return Some(0);
        }
        let first = match self.slots.front() {
            Some(Some(slot)) => Some(slot.deadline_ns()),
            // Nothing of it came, and it was sent before the first packet of those after it.
            Some(None) | None => self.slots.iter().flatten().map(|slot| slot.before_ns).next(),
        };
        let end = self
            .end
            .filter(|(number, _)| self.head.is_some_and(|head| head < *number));
        first.or(end.map(|(_, deadline)| deadline))
    }

    /// The next frame is `number`, ahead of all that there is room for: what is there goes out as it is, and what lies
    /// between as nothing. False if the last jump is not over.
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

    /// Takes back the buffer of a frame that was given out.
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
        let same = MediaFraming {
            offset: framing.offset,
            ..self.framing
        };
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
