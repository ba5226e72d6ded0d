//! Frames of HTTP/2 as their bytes come (RFC 9113, 4 and 6). Media pass through; everything else is kept until it is
//! all there. It must not know what frames mean to a stream.

use std::borrow::Cow;

use thiserror::Error;

/// Longest payload that a peer may send: what a client that says nothing of it takes (RFC 9113, 6.5.2).
pub const MOST_PAYLOAD: usize = 16_384;
/// Bytes before each payload.
pub const HEAD_BYTES: usize = 9;

/// The type of a frame (RFC 9113, 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Part of a body.
    Data,
    /// Fields of a message.
    Headers,
    /// A stream ends at once.
    Reset,
    /// What the peer takes.
    Settings,
    /// A promise of an answer that nobody asked for.
    Push,
    /// Whether somebody is there.
    Ping,
    /// No more streams.
    GoAway,
    /// Room for more of a body.
    WindowUpdate,
    /// More fields.
    Continuation,
    /// Priorities, and what later versions may bring.
    Other,
}

impl Kind {
    fn of(number: u8) -> Kind {
        match number {
            0 => Kind::Data,
            1 => Kind::Headers,
            3 => Kind::Reset,
            4 => Kind::Settings,
            5 => Kind::Push,
            6 => Kind::Ping,
            7 => Kind::GoAway,
            8 => Kind::WindowUpdate,
            9 => Kind::Continuation,
            _ => Kind::Other,
        }
    }

    fn number(self) -> u8 {
        match self {
            Kind::Data => 0,
            Kind::Headers => 1,
            Kind::Reset => 3,
            Kind::Settings => 4,
            Kind::Push => 5,
            Kind::Ping => 6,
            Kind::GoAway => 7,
            Kind::WindowUpdate => 8,
            Kind::Continuation => 9,
            // A type that everybody passes over.
            Kind::Other => 0xff,
        }
    }
}

/// The last of its stream.
pub const END_STREAM: u8 = 0x1;
/// An answer to one of the peer's own (SETTINGS, PING).
pub const ACK: u8 = 0x1;
/// No more fields follow.
pub const END_HEADERS: u8 = 0x4;
/// The payload is filled up.
pub const PADDED: u8 = 0x8;
/// The payload begins with a priority.
pub const PRIORITY: u8 = 0x20;

/// What stands before each payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Bytes of the payload.
    pub length: usize,
    /// Type.
    pub kind: Kind,
    /// Flags, whose meaning depends on the type.
    pub flags: u8,
    /// Stream, 0 for the connection.
    pub stream: u32,
}

impl FrameHead {
    /// Whether a flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn read(bytes: [u8; HEAD_BYTES]) -> FrameHead {
        let [a, b, c, kind, flags, s0, s1, s2, s3] = bytes;
        FrameHead {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind: Kind::of(kind),
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & 0x7fff_ffff,
        }
    }
}

/// Writes a frame.
pub fn write(out: &mut Vec<u8>, kind: Kind, flags: u8, stream: u32, payload: &[u8]) {
    let length = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&length[1..]);
    out.extend([kind.number(), flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Invalid frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Longer than allowed.
    #[error("a frame exceeds the maximum length")]
    TooLong,
    /// Filled up with more than it has.
    #[error("the padding of a frame exceeds its length")]
    Padding,
}

/// What the bytes came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A DATA frame begins; the length includes padding.
    DataHead(FrameHead),
    /// Some bytes of the body in it.
    Data(u32, &'a [u8]),
    /// It is all there.
    DataEnd(FrameHead),
    /// Another frame, whole, without what it was filled up with.
    Frame(FrameHead, Cow<'a, [u8]>),
}

#[derive(Debug)]
enum State {
    Head,
    /// The byte that says how much a frame of a body is filled up.
    PadLength(FrameHead),
    /// A body: bytes of it and of padding that are left.
    Data(FrameHead, usize, usize),
    Payload(FrameHead),
}

/// Reads frames.
#[derive(Debug)]
pub struct FrameReader {
    state: State,
    /// Part of a head or payload that is not all there yet.
    partial: Vec<u8>,
}

impl Default for FrameReader {
    fn default() -> Self {
        FrameReader {
            state: State::Head,
            partial: Vec::new(),
        }
    }
}

impl FrameReader {
    /// The next piece; takes its bytes off `bytes`. None if there are too few for one; they are kept then.
    ///
    /// # Errors
    /// When they are no frame. Nothing more can be read then.
    pub fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<Piece<'a>>, FrameError> {
        loop {
            match self.state {
                State::Head => match self.take(bytes, HEAD_BYTES) {
                    None => return Ok(None),
                    Some(head) => {
                        let mut fixed = [0; HEAD_BYTES];
                        fixed.copy_from_slice(&head);
                        if let Some(piece) = self.begin(FrameHead::read(fixed))? {
                            return Ok(Some(piece));
                        }
                    }
                },
                State::PadLength(head) => {
                    let Some((padding, rest)) = bytes.split_first() else {
                        return Ok(None);
                    };
                    *bytes = rest;
                    let padding = usize::from(*padding);
                    let body = (head.length - 1)
                        .checked_sub(padding)
                        .ok_or(FrameError::Padding)?;
                    self.state = State::Data(head, body, padding);
                }
                State::Data(head, 0, 0) => {
                    self.state = State::Head;
                    return Ok(Some(Piece::DataEnd(head)));
                }
                State::Data(head, body, padding) => {
                    if bytes.is_empty() {
                        return Ok(None);
                    }
                    let (taken, rest) =
                        bytes.split_at(bytes.len().min(if body > 0 { body } else { padding }));
                    *bytes = rest;
                    if body > 0 {
                        self.state = State::Data(head, body - taken.len(), padding);
                        return Ok(Some(Piece::Data(head.stream, taken)));
                    }
                    self.state = State::Data(head, 0, padding - taken.len());
                }
                State::Payload(head) => {
                    let Some(payload) = self.take(bytes, head.length) else {
                        return Ok(None);
                    };
                    self.state = State::Head;
                    return Ok(Some(Piece::Frame(head, unpadded(&head, payload)?)));
                }
            }
        }
    }

    fn begin<'a>(&mut self, head: FrameHead) -> Result<Option<Piece<'a>>, FrameError> {
        if head.length > MOST_PAYLOAD {
            return Err(FrameError::TooLong);
        }
        if head.kind != Kind::Data {
            self.state = State::Payload(head);
            return Ok(None);
        }
        self.state = match (head.has(PADDED), head.length) {
            (true, 0) => return Err(FrameError::Padding),
            (true, _) => State::PadLength(head),
            (false, length) => State::Data(head, length, 0),
        };
        Ok(Some(Piece::DataHead(head)))
    }

    /// `count` bytes, from where they lie if they are all there.
    fn take<'a>(&mut self, bytes: &mut &'a [u8], count: usize) -> Option<Cow<'a, [u8]>> {
        let missing = count.saturating_sub(self.partial.len());
        if bytes.len() < missing {
            self.partial.extend_from_slice(bytes);
            *bytes = &[];
            return None;
        }
        let (taken, rest) = bytes.split_at(missing);
        *bytes = rest;
        if self.partial.is_empty() {
            return Some(Cow::Borrowed(taken));
        }
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(taken);
        Some(Cow::Owned(whole))
    }
}

/// Takes off what a frame of fields is filled up with, and its priority (RFC 9113, 6.2).
fn unpadded<'a>(head: &FrameHead, payload: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, FrameError> {
    if head.kind != Kind::Headers || !head.has(PADDED) && !head.has(PRIORITY) {
        return Ok(payload);
    }
    let mut from = 0;
    let mut to = payload.len();
    if head.has(PADDED) {
        let padding = usize::from(*payload.first().ok_or(FrameError::Padding)?);
        from = 1;
        to = to.checked_sub(padding).ok_or(FrameError::Padding)?;
    }
    if head.has(PRIORITY) {
        from += 5;
    }
    let kept = payload.get(from..to).ok_or(FrameError::Padding)?;
    Ok(Cow::Owned(kept.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of bytes that come `step` at a time, those of bodies put together.
    fn read(bytes: &[u8], step: usize) -> Result<Vec<String>, FrameError> {
        let mut reader = FrameReader::default();
        let mut pieces = Vec::new();
        let mut body = Vec::new();
        for mut part in bytes.chunks(step) {
            while let Some(piece) = reader.next(&mut part)? {
                match piece {
                    Piece::DataHead(head) => pieces.push(format!("data {} of {}", head.length, head.stream)),
                    Piece::Data(_, bytes) => body.extend_from_slice(bytes),
                    Piece::DataEnd(head) => {
                        let text = String::from_utf8_lossy(&body).into_owned();
                        pieces.push(format!("{text} {}", head.has(END_STREAM)));
                        body.clear();
                    }
                    Piece::Frame(head, payload) => pieces.push(format!("{:?} {payload:?}", head.kind)),
                }
            }
        }
        Ok(pieces)
    }

    #[test]
    fn pieces_make_no_difference() {
        let mut bytes = Vec::new();
        write(&mut bytes, Kind::Settings, 0, 0, &[0, 3, 0, 0, 0, 100]);
        write(
            &mut bytes,
            Kind::Headers,
            END_HEADERS | PADDED | PRIORITY,
            1,
            &[2, 0, 0, 0, 0, 9, 0x88, 0, 0],
        );
        write(&mut bytes, Kind::Data, 0, 1, b"hello ");
        write(&mut bytes, Kind::Data, END_STREAM | PADDED, 1, b"\x03you\0\0\0");
        write(&mut bytes, Kind::Data, END_STREAM, 3, b"");
        let whole = read(&bytes, bytes.len()).expect("frames");
        let expected = [
            "Settings [0, 3, 0, 0, 0, 100]",
            "Headers [136]",
            "data 6 of 1",
            "hello  false",
            "data 7 of 1",
            "you true",
            "data 0 of 3",
            " true",
        ];
        assert_eq!(whole, expected);
        for step in 1..bytes.len() {
            assert_eq!(read(&bytes, step).as_ref(), Ok(&whole), "in pieces of {step}");
        }
    }

    #[test]
    fn frames_that_cannot_be_are_refused() {
        assert_eq!(
            read(b"\x00\x40\x01\x00\x00\0\0\0\x01", 9),
            Err(FrameError::TooLong)
        );
        assert_eq!(read(b"\0\0\0\x00\x08\0\0\0\x01", 9), Err(FrameError::Padding));
        assert_eq!(
            read(b"\0\0\x02\x00\x08\0\0\0\x01\x02x", 20),
            Err(FrameError::Padding)
        );
        assert_eq!(
            read(b"\0\0\x01\x01\x28\0\0\0\x01\x01", 20),
            Err(FrameError::Padding)
        );
    }
}
