//! A stream in several shares: each frame is cut into contiguous parts, and each share carries its part of every frame as a
//! stream of its own, with its own flows, secrets, code and counters, so that each can have a thread. Which part is whose,
//! how frames are named alike in all shares, and how their parts are joined. It must not know packets or threads.

use std::collections::VecDeque;
use std::ops::Range;

use weir_protect::StreamSecrets;
use weir_wire::flows_of_share;

use crate::SenderIndex;
use crate::frames::{Frame, OutputFrame};

/// Maximum number of shares of a stream.
pub const MAX_SHARES: u16 = 16;
/// How long a part of a frame is waited for after the deadline of another, nanoseconds: the thread of its share may be
/// scheduled late.
const LATE_NS: u64 = 100_000_000;
/// Senders whose restarts are remembered: more than a receiver has at a time.
const REMEMBERED: usize = 2 * crate::MAX_SENDERS;

/// How a stream is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    count: u16,
    payload: u32,
}

impl Shares {
    /// So many shares, 1 to [`MAX_SHARES`], of packets with this payload, bytes; none outside this range.
    pub fn new(count: u16, payload: u32) -> Option<Self> {
        let is_valid = (1..=MAX_SHARES).contains(&count) && payload > 0;
        is_valid.then_some(Shares { count, payload })
    }

    /// The number of shares.
    pub fn count(self) -> u16 {
        self.count
    }

    /// The part of a frame of `bytes` bytes that a share carries: whole packets, except the last of the frame. Empty for
    /// some if the frame has fewer packets than there are shares.
    pub fn part(self, share: u16, bytes: usize) -> Range<usize> {
        let payload = self.payload as usize;
        let packets = bytes.div_ceil(payload);
        let start = |share: u16| {
            let first = packets * usize::from(share) / usize::from(self.count);
            (first * payload).min(bytes)
        };
        start(share)..start(share + 1)
    }

    /// The flows of a share, of `flows` together; empty for some if there are fewer flows than shares.
    pub fn flows(self, share: u16, flows: u16) -> Range<u16> {
        flows_of_share(share, self.count, flows)
    }

    /// The secrets of a share, from those of the stream: those of a stream that is not divided.
    pub fn secrets(self, share: u16, stream: StreamSecrets) -> StreamSecrets {
        match self.count {
            1 => stream,
            _ => stream.of_share(share),
        }
    }
}

/// Names a frame alike in all shares. Later frames have higher keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameKey {
    /// Times that a sender joined while there was no other: its numbers may be anything.
    session: u32,
    /// Times that the numbers began again in this session.
    turn: u32,
    /// The sender's number.
    number: u32,
}

impl FrameKey {
    /// A number for tables of recent frames: those of successive frames differ.
    pub fn hash(self) -> u64 {
        let above = (u64::from(self.session) << 16) ^ u64::from(self.turn);
        (above << 32) ^ u64::from(self.number)
    }
}

/// Names the frames that the receiver of one share outputs.
#[derive(Clone, Debug, Default)]
pub struct FrameKeys {
    session: u32,
    joined: VecDeque<(SenderIndex, u32)>,
    /// The sender's numbers less those of the output, modulo 2^32.
    offset: u32,
    last: Option<FrameKey>,
}

impl FrameKeys {
    /// A sender joins the receiver, `alone` if there is no other. Receivers of all shares have the same senders.
    pub fn join(&mut self, sender: SenderIndex, alone: bool) {
        self.session += u32::from(alone);
        if self.joined.len() == REMEMBERED {
            self.joined.pop_front();
        }
        self.joined.push_back((sender, self.session));
    }

    /// The key of the next frame of the output.
    pub fn next(&mut self, given: &OutputFrame) -> FrameKey {
        let last = self.last.unwrap_or(FrameKey {
            session: self.session,
            ..FrameKey::default()
        });
        let (session, number) = match given {
            OutputFrame::Frame(frame) => {
                self.offset = frame.sender_number.wrapping_sub(frame.number as u32);
                let known = self.joined.iter().find(|(sender, _)| *sender == frame.sender);
                (known.map_or(last.session, |known| known.1), frame.sender_number)
            }
            OutputFrame::Nothing(number) => (last.session, (*number as u32).wrapping_add(self.offset)),
        };
        let same = self.last.is_some() && session == last.session;
        let turn = match same {
            true => last.turn + u32::from(number <= last.number),
            false => 0,
        };
        let key = FrameKey {
            session,
            turn,
            number,
        };
        self.last = Some(key);
        key
    }
}

/// A frame whose parts were joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedFrame {
    /// Its key.
    pub key: FrameKey,
    /// Its parts, one for each share; none where nothing of a part arrived.
    pub parts: Vec<Option<Frame>>,
}

/// A part that waits for the others.
#[derive(Debug)]
struct Waiting {
    key: FrameKey,
    part: Option<Frame>,
    /// Until when.
    until_ns: u64,
}

/// Joins the parts of frames. Each share delivers its parts in order. A session begins with the first frame of the share
/// that begins last: of several senders the first to reach one share need not be the first to reach another.
#[derive(Debug)]
pub struct Joiner {
    queues: Vec<VecDeque<Waiting>>,
    last: Option<FrameKey>,
    /// The last session that began.
    begun: Option<u32>,
    late: VecDeque<(u16, Frame)>,
}

impl Joiner {
    /// A joiner of so many shares.
    pub fn new(shares: u16) -> Self {
        Joiner {
            queues: (0..shares).map(|_| VecDeque::new()).collect(),
            last: None,
            begun: None,
            late: VecDeque::new(),
        }
    }

    /// Takes what a share outputs.
    pub fn push(&mut self, now_ns: u64, share: u16, key: FrameKey, given: OutputFrame) {
        let Some(queue) = self.queues.get_mut(usize::from(share)) else {
            return;
        };
        let part = match given {
            OutputFrame::Frame(frame) => Some(frame),
            OutputFrame::Nothing(_) => None,
        };
        if self.last.is_some_and(|last| key <= last) {
            self.late.extend(part.map(|part| (share, part)));
            return;
        }
        let deadline_ns = part.as_ref().map_or(now_ns, |part| part.deadline_ns);
        queue.push_back(Waiting {
            key,
            part,
            until_ns: deadline_ns.max(now_ns).saturating_add(LATE_NS),
        });
    }

    /// The first frame, and until when its parts are waited for; none if there is no part.
    fn first(&self) -> Option<(FrameKey, u64)> {
        let fronts = self.queues.iter().filter_map(VecDeque::front);
        fronts.map(|front| (front.key, front.until_ns)).min()
    }

    /// The next frame, if all of its parts have arrived, or have been waited for.
    pub fn poll(&mut self, now_ns: u64) -> Option<JoinedFrame> {
        loop {
            let (key, until_ns) = self.first()?;
            // A share that is beyond the frame has no part of it.
            if now_ns < until_ns && self.queues.iter().any(VecDeque::is_empty) {
                return None;
            }
            let is_before = self.is_before_session(key);
            self.last = Some(key);
            let take = |queue: &mut VecDeque<Waiting>| {
                let is_next = queue.front()?.key == key;
                is_next.then(|| queue.pop_front()?.part).flatten()
            };
            let parts: Vec<_> = self.queues.iter_mut().map(take).collect();
            if !is_before {
                self.begun = Some(key.session);
                return Some(JoinedFrame { key, parts });
            }
            let parts = (0..).zip(parts);
            self.late
                .extend(parts.filter_map(|(share, part)| Some((share, part?))));
        }
    }

    /// Whether the first frame is one of a session that some share begins later.
    fn is_before_session(&self, first: FrameKey) -> bool {
        let begins = |queue: &VecDeque<Waiting>| {
            let key = queue.front().map(|front| front.key);
            key.filter(|key| key.session == first.session)
        };
        let begin: Option<Vec<FrameKey>> = self.queues.iter().map(begins).collect();
        let is_later = begin.is_some_and(|keys| keys.iter().any(|key| *key > first));
        is_later && self.begun != Some(first.session)
    }

    /// A part whose frame was joined without it, or is before those of its session, and its share.
    pub fn poll_late(&mut self) -> Option<(u16, Frame)> {
        self.late.pop_front()
    }

    /// When to [`poll`](Self::poll) next, if nothing arrives, nanoseconds.
    pub fn next_wake(&self) -> Option<u64> {
        self.first().map(|(_, until_ns)| until_ns)
    }
}

#[cfg(test)]
mod tests;
