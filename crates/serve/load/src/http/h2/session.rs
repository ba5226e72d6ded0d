//! A client's end of an HTTP/2 connection: streams, flow control, settings (RFC 9113). It is given bytes and the time
//! at which they came, and says what to send; it must not know where bytes come from. A client that fetches sends no
//! bodies, so that there is nothing of flow control in its own direction.

use thiserror::Error;

use super::frames::{self, FrameError, FrameHead, FrameReader, HEAD_BYTES, Kind, Piece};
use super::hpack::{self, Asked, Fields, HpackError};
use crate::http::response::Head;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes that a stream may send before they are acknowledged: what Chromium allows.
pub const STREAM_WINDOW: u32 = 6 << 20;
/// The same for all streams of a connection.
pub const CONNECTION_WINDOW: u32 = 15 << 20;
/// What a connection begins with (RFC 9113, 6.9.2).
const FIRST_WINDOW: u32 = 65_535;
/// Most bytes of the fields of an answer.
const MOST_FIELD_BYTES: usize = 64 << 10;
/// Most bytes that wait to be sent: a peer that asks and asks and never reads gets no further.
const MOST_OUT: usize = 256 << 10;
/// Streams at once where the peer says nothing; no viewer has so many.
const MOST_STREAMS: u32 = 100;
/// The last number that a stream may have.
const LAST_STREAM: u32 = 0x7fff_ffff;

// Settings (RFC 9113, 6.5.2).
const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;

// Errors (RFC 9113, 7).
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;

/// What ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SessionError {
    /// Bytes that are no frames.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Invalid header fields.
    #[error(transparent)]
    Fields(#[from] HpackError),
    /// Fields that are too long.
    #[error("the headers of the response have more than {MOST_FIELD_BYTES} bytes")]
    FieldsTooLong,
    /// A frame where it may not be, or of the wrong length.
    #[error("unexpected frame")]
    Protocol,
    /// More bytes than there was room for.
    #[error("the flow-control window was exceeded")]
    Window,
    /// It asks for answers and does not read them.
    #[error("the peer sends requests without reading responses")]
    Flood,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The answer is all there.
    Whole,
    /// Its body is shorter than its length, or longer.
    Length,
    /// The peer has not looked at the request: it may be sent again.
    Refused,
    /// The peer broke it off.
    Reset,
    /// The connection ended before it did.
    Cut,
}

/// A request and what has come of its answer.
#[derive(Debug, Default)]
pub struct Exchange {
    id: u32,
    head: Option<Head>,
    /// Bytes of the body so far.
    pub body_bytes: u64,
    /// Bytes of its frames so far, as they came.
    pub all_bytes: u64,
    /// What of the present frame's payload is in them.
    counted: u64,
    /// When the first of them came, and the last, monotonic nanoseconds; 0: not yet.
    pub first_byte_ns: u64,
    /// See above.
    pub last_byte_ns: u64,
    /// How it ended, if it has.
    pub end: Option<End>,
    /// Bytes that the peer may still send.
    window: u32,
    /// Bytes that were taken and not yet acknowledged.
    owed: u32,
    /// Bytes of the body that came when somebody else was reading.
    kept: Vec<u8>,
    /// Something has happened that whoever waits for it does not know.
    news: bool,
}

impl Exchange {
    /// What the head of the answer says, once it is there.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    fn end(&mut self, end: End) {
        if self.end.is_none() {
            self.end = Some(end);
            self.news = true;
        }
    }

    /// The peer has said all.
    fn finish(&mut self) {
        let whole = match &self.head {
            Some(head) => head.length.is_none_or(|length| length == self.body_bytes) || head.status == 304,
            None => false,
        };
        self.end(if whole { End::Whole } else { End::Length });
    }
}

/// Fields that are not all there yet.
#[derive(Debug)]
struct Gathering {
    head: FrameHead,
    block: Vec<u8>,
}

/// A connection.
#[derive(Debug)]
pub struct Session {
    reader: FrameReader,
    out: Vec<u8>,
    streams: Vec<Exchange>,
    next: u32,
    most_streams: u32,
    gathering: Option<Gathering>,
    window: u32,
    owed: u32,
    going_away: bool,
    begun: bool,
}

impl Default for Session {
    /// A new connection; its preface waits to be sent.
    fn default() -> Self {
        let mut out = PREFACE.to_vec();
        let mut settings = Vec::new();
        for (name, value) in [
            (HEADER_TABLE_SIZE, 0),
            (ENABLE_PUSH, 0),
            (INITIAL_WINDOW_SIZE, STREAM_WINDOW),
        ] {
            settings.extend_from_slice(&name.to_be_bytes());
            settings.extend_from_slice(&value.to_be_bytes());
        }
        frames::write(&mut out, Kind::Settings, 0, 0, &settings);
        let more = CONNECTION_WINDOW - FIRST_WINDOW;
        frames::write(&mut out, Kind::WindowUpdate, 0, 0, &more.to_be_bytes());
        Session {
            reader: FrameReader::default(),
            out,
            streams: Vec::new(),
            next: 1,
            most_streams: MOST_STREAMS,
            gathering: None,
            window: CONNECTION_WINDOW,
            owed: 0,
            going_away: false,
            begun: false,
        }
    }
}

impl Session {
    /// Whether no more streams can ever be opened.
    pub fn is_over(&self) -> bool {
        self.going_away || self.next > LAST_STREAM
    }

    /// Whether a stream can be opened now.
    pub fn has_room(&self) -> bool {
        !self.is_over() && (self.streams.len() as u64) < u64::from(self.most_streams)
    }

    /// Sends a request; gives the number of its stream. Ask [`Session::has_room`] first.
    pub fn open(&mut self, asked: &Asked<'_>) -> u32 {
        let id = self.next;
        self.next += 2;
        let mut block = Vec::with_capacity(128);
        hpack::encode(asked, &mut block);
        let mut parts = block.chunks(frames::MOST_PAYLOAD).peekable();
        let mut kind = Kind::Headers;
        while let Some(part) = parts.next() {
            let mut flags = if parts.peek().is_none() {
                frames::END_HEADERS
            } else {
                0
            };
            if kind == Kind::Headers {
                flags |= frames::END_STREAM;
            }
            frames::write(&mut self.out, kind, flags, id, part);
            kind = Kind::Continuation;
        }
        self.streams.push(Exchange {
            id,
            window: STREAM_WINDOW,
            ..Exchange::default()
        });
        id
    }

    /// A stream that is open, or has ended and was not closed.
    pub fn stream(&self, id: u32) -> Option<&Exchange> {
        self.streams.iter().find(|stream| stream.id == id)
    }

    fn stream_mut(&mut self, id: u32) -> Option<&mut Exchange> {
        self.streams.iter_mut().find(|stream| stream.id == id)
    }

    /// Forgets a stream; one that has not ended is broken off.
    pub fn close(&mut self, id: u32) {
        let Some(at) = self.streams.iter().position(|stream| stream.id == id) else {
            return;
        };
        let stream = self.streams.swap_remove(at);
        if stream.end.is_none() {
            frames::write(&mut self.out, Kind::Reset, 0, id, &CANCEL.to_be_bytes());
        }
    }

    /// The streams of which something has become known that nobody has asked about yet, but for `mine`.
    pub fn take_news(&mut self, mine: u32) -> impl Iterator<Item = u32> {
        let streams = self.streams.iter_mut();
        streams.filter_map(move |stream| {
            let news = std::mem::take(&mut stream.news);
            (news && stream.id != mine).then_some(stream.id)
        })
    }

    /// What is to be sent; whoever sends takes off what is gone.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Gives `body` what came of a stream while somebody else was reading.
    pub fn take_kept(&mut self, id: u32, body: &mut dyn FnMut(&[u8])) {
        let Some(stream) = self.stream_mut(id) else { return };
        let kept = std::mem::take(&mut stream.kept);
        if !kept.is_empty() {
            body(&kept);
            self.allow_more(id);
        }
    }

    /// Takes bytes that came at `now_ns`. Those of the body of stream `mine` go to `body`, others are kept.
    ///
    /// # Errors
    /// When the connection is of no use any more.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        now_ns: u64,
        mine: u32,
        body: &mut dyn FnMut(&[u8]),
    ) -> Result<(), SessionError> {
        while let Some(piece) = self.reader.next(&mut bytes)? {
            if self.gathering.is_some()
                && !matches!(&piece, Piece::Frame(head, _) if head.kind == Kind::Continuation)
            {
                return Err(SessionError::Protocol);
            }
            match piece {
                Piece::DataHead(head) => self.begin_data(&head, now_ns)?,
                Piece::Data(id, part) => self.take_data(id, part, mine, body),
                Piece::DataEnd(head) => self.end_data(&head, now_ns),
                Piece::Frame(head, payload) => self.take_frame(&head, &payload, now_ns)?,
            }
        }
        if self.out.len() > MOST_OUT {
            return Err(SessionError::Flood);
        }
        Ok(())
    }

    /// The connection has ended.
    pub fn end(&mut self) {
        self.going_away = true;
        self.streams.iter_mut().for_each(|stream| stream.end(End::Cut));
    }

    /// A frame of a body begins: all of it counts against the windows (RFC 9113, 6.9.1). The connection's is opened
    /// again at once, a stream's when its body has been taken: what is kept is bounded by the windows of streams.
    fn begin_data(&mut self, head: &FrameHead, now_ns: u64) -> Result<(), SessionError> {
        if !self.may_answer(head.stream) || !self.begun {
            return Err(SessionError::Protocol);
        }
        let length = head.length as u32;
        self.window = self.window.checked_sub(length).ok_or(SessionError::Window)?;
        self.owed += length;
        if self.owed >= CONNECTION_WINDOW / 2 {
            frames::write(&mut self.out, Kind::WindowUpdate, 0, 0, &self.owed.to_be_bytes());
            self.window += self.owed;
            self.owed = 0;
        }
        // What was on its way when a stream was broken off has none.
        if let Some(stream) = self.stream_mut(head.stream) {
            if stream.head.is_none() || stream.end.is_some() {
                return Err(SessionError::Protocol);
            }
            stream.window = stream.window.checked_sub(length).ok_or(SessionError::Window)?;
            stream.owed += length;
            stream.all_bytes += HEAD_BYTES as u64;
            stream.counted = 0;
            stream.last_byte_ns = now_ns;
        }
        Ok(())
    }

    fn take_data(&mut self, id: u32, part: &[u8], mine: u32, body: &mut dyn FnMut(&[u8])) {
        let Some(stream) = self.stream_mut(id) else { return };
        let bytes = part.len() as u64;
        stream.body_bytes += bytes;
        stream.all_bytes += bytes;
        stream.counted += bytes;
        if id == mine {
            body(part);
        } else {
            stream.kept.extend_from_slice(part);
            stream.news = true;
        }
    }

    fn end_data(&mut self, head: &FrameHead, now_ns: u64) {
        if let Some(stream) = self.stream_mut(head.stream) {
            stream.last_byte_ns = now_ns;
            // Padding comes with the last of the body.
            stream.all_bytes += (head.length as u64).saturating_sub(stream.counted);
            if head.has(frames::END_STREAM) {
                stream.finish();
            }
        }
        self.allow_more(head.stream);
    }

    /// Opens the window of a stream again when half of it is used up and nothing is kept.
    fn allow_more(&mut self, id: u32) {
        let Some(stream) = self.stream_mut(id) else { return };
        if stream.owed < STREAM_WINDOW / 2 || !stream.kept.is_empty() || stream.end.is_some() {
            return;
        }
        let more = std::mem::take(&mut stream.owed);
        stream.window += more;
        frames::write(&mut self.out, Kind::WindowUpdate, 0, id, &more.to_be_bytes());
    }

    /// Whether a stream of this number has been opened at some time.
    fn may_answer(&self, id: u32) -> bool {
        !id.is_multiple_of(2) && id < self.next
    }

    fn take_frame(&mut self, head: &FrameHead, payload: &[u8], now_ns: u64) -> Result<(), SessionError> {
        // The first frame of a server is its settings (RFC 9113, 3.4).
        if !self.begun && (head.kind != Kind::Settings || head.has(frames::ACK)) {
            return Err(SessionError::Protocol);
        }
        match head.kind {
            Kind::Headers | Kind::Continuation => self.take_fields(head, payload, now_ns),
            Kind::Settings => self.take_settings(head, payload),
            Kind::Reset => {
                let code = payload.try_into().map_err(|_| SessionError::Protocol)?;
                let refused = u32::from_be_bytes(code) == REFUSED_STREAM;
                if let Some(stream) = self.stream_mut(head.stream) {
                    stream.last_byte_ns = now_ns;
                    stream.end(if refused { End::Refused } else { End::Reset });
                }
                Ok(())
            }
            Kind::Ping => {
                if payload.len() != 8 || head.stream != 0 {
                    return Err(SessionError::Protocol);
                }
                if !head.has(frames::ACK) {
                    frames::write(&mut self.out, Kind::Ping, frames::ACK, 0, payload);
                }
                Ok(())
            }
            Kind::GoAway => {
                let [a, b, c, d, _, _, _, _, ..] = *payload else {
                    return Err(SessionError::Protocol);
                };
                let last = u32::from_be_bytes([a, b, c, d]) & LAST_STREAM;
                self.going_away = true;
                let unseen = self.streams.iter_mut().filter(|stream| stream.id > last);
                unseen.for_each(|stream| stream.end(End::Refused));
                Ok(())
            }
            // Server push is disabled by our settings.
            Kind::Push | Kind::Data => Err(SessionError::Protocol),
            Kind::WindowUpdate | Kind::Other => Ok(()),
        }
    }

    fn take_settings(&mut self, head: &FrameHead, payload: &[u8]) -> Result<(), SessionError> {
        if head.stream != 0 || !payload.len().is_multiple_of(6) {
            return Err(SessionError::Protocol);
        }
        self.begun = true;
        if head.has(frames::ACK) {
            return Ok(());
        }
        for entry in payload.chunks_exact(6) {
            if let [a, b, value @ ..] = entry
                && u16::from_be_bytes([*a, *b]) == MAX_CONCURRENT_STREAMS
            {
                let value = value.try_into().map_err(|_| SessionError::Protocol)?;
                self.most_streams = u32::from_be_bytes(value);
            }
        }
        frames::write(&mut self.out, Kind::Settings, frames::ACK, 0, &[]);
        Ok(())
    }

    /// Fields of an answer, or trailers, whole or in parts.
    fn take_fields(&mut self, head: &FrameHead, payload: &[u8], now_ns: u64) -> Result<(), SessionError> {
        if !self.may_answer(head.stream) {
            return Err(SessionError::Protocol);
        }
        if let Some(stream) = self.stream_mut(head.stream) {
            stream.all_bytes += (HEAD_BYTES + head.length) as u64;
            if stream.first_byte_ns == 0 {
                stream.first_byte_ns = now_ns;
            }
            stream.last_byte_ns = now_ns;
        }
        let gathered = match (head.kind, self.gathering.take()) {
            (Kind::Headers, None) if head.has(frames::END_HEADERS) => {
                return self.answer(head, hpack::decode(payload)?);
            }
            (Kind::Headers, None) => Gathering {
                head: *head,
                block: payload.to_vec(),
            },
            (Kind::Continuation, Some(mut gathering)) if gathering.head.stream == head.stream => {
                gathering.block.extend_from_slice(payload);
                gathering
            }
            _ => return Err(SessionError::Protocol),
        };
        if gathered.block.len() > MOST_FIELD_BYTES {
            return Err(SessionError::FieldsTooLong);
        }
        if head.has(frames::END_HEADERS) {
            return self.answer(&gathered.head, hpack::decode(&gathered.block)?);
        }
        self.gathering = Some(gathered);
        Ok(())
    }

    fn answer(&mut self, head: &FrameHead, fields: Fields) -> Result<(), SessionError> {
        let Some(stream) = self.stream_mut(head.stream) else {
            return Ok(());
        };
        match (fields.status, &stream.head) {
            // Interim answers come before the one that counts (RFC 9110, 15.2).
            (Some(100..200), None) if !head.has(frames::END_STREAM) => {}
            (Some(status), None) => {
                stream.head = Some(Head {
                    status,
                    keep_alive: true,
                    location: fields.location,
                    length: fields.length,
                });
            }
            // Trailers end a stream.
            (None, Some(_)) if head.has(frames::END_STREAM) => {}
            _ => return Err(SessionError::Protocol),
        }
        if head.has(frames::END_STREAM) {
            stream.finish();
        }
        stream.news = true;
        Ok(())
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
