//! An HTTP/1.1 response as its bytes come (RFC 9112): head, body with a length, in chunks or until the end, and what of
//! it is missing. It is given bytes; it must not know where they come from, and keeps none of the body.
//!
//! hyper's client is not used for HTTP/1.1: it keeps two buffers for each connection, where thousands of viewers that
//! wait need none, and hands bodies over through a channel, where here they are only counted.

use thiserror::Error;

/// Most bytes of a head.
const MOST_HEAD: usize = 64 << 10;
/// Most fields of a head.
const MOST_FIELDS: usize = 100;
/// Most bytes of the line before a chunk, extensions included, and of trailer fields.
const MOST_LINE: usize = 4 << 10;

/// What the head says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Status code.
    pub status: u16,
    /// Whether the connection stays open afterwards.
    pub keep_alive: bool,
    /// Where a redirect points.
    pub location: Option<String>,
    /// Bytes of the body, where said.
    pub length: Option<u64>,
}

/// A response that is not HTTP, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ResponseError {
    /// Not HTTP/1.
    #[error("the response is not HTTP")]
    NotHttp,
    /// A head that is too long.
    #[error("the headers of the response have more than {MOST_HEAD} bytes or {MOST_FIELDS} fields")]
    HeadTooLong,
    /// Lengths that contradict each other, or another transfer coding than chunked.
    #[error("the response declares an invalid length")]
    Length,
    /// Invalid chunked encoding.
    #[error("the chunked encoding of the response is invalid")]
    Chunks,
    /// The connection ended before anything came.
    #[error("the connection was closed without a response")]
    Nothing,
    /// The connection ended in the head.
    #[error("the connection was closed within the headers of the response")]
    HeadCut,
    /// The connection ended before the body did.
    #[error("the body is shorter than its declared length")]
    BodyCut,
    /// Bytes behind the end of the body.
    #[error("the server sent more bytes than the response has")]
    Surplus,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Length(u64),
    UntilEnd,
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailer,
    Done,
}

/// Reads one response after the other.
#[derive(Debug, Default)]
pub struct ResponseReader {
    state: State,
    head: Head,
    /// Part of a head or of a line that is not all there yet.
    partial: Vec<u8>,
    body_bytes: u64,
    all_bytes: u64,
}

impl ResponseReader {
    /// Makes ready for the next response.
    pub fn begin(&mut self) {
        self.state = State::Head;
        self.partial = Vec::new();
        (self.body_bytes, self.all_bytes) = (0, 0);
    }

    /// What the head says, once it is there.
    pub fn head(&self) -> Option<&Head> {
        (self.state != State::Head).then_some(&self.head)
    }

    /// Bytes of the body so far.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Bytes so far: heads, body and chunk lines.
    pub fn all_bytes(&self) -> u64 {
        self.all_bytes
    }

    /// Whether the response is all there.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Takes the next bytes; `body` gets those of the body.
    ///
    /// # Errors
    /// When they are no response, or go on behind its end. Nothing more can be read then.
    pub fn push(&mut self, mut bytes: &[u8], body: &mut dyn FnMut(&[u8])) -> Result<(), ResponseError> {
        self.all_bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            bytes = match self.state {
                State::Head => self.take_head(bytes)?,
                State::Length(left) => {
                    let (taken, rest) = self.take_body(bytes, left, body);
                    self.state = if left == taken {
                        State::Done
                    } else {
                        State::Length(left - taken)
                    };
                    rest
                }
                State::UntilEnd => self.take_body(bytes, u64::MAX, body).1,
                State::Chunk(left) => {
                    let (taken, rest) = self.take_body(bytes, left, body);
                    self.state = if left == taken {
                        State::ChunkEnd
                    } else {
                        State::Chunk(left - taken)
                    };
                    rest
                }
                State::ChunkSize | State::ChunkEnd | State::Trailer => self.take_line(bytes)?,
                State::Done => return Err(ResponseError::Surplus),
            };
        }
        Ok(())
    }

    /// The connection has ended.
    ///
    /// # Errors
    /// What is missing, if anything is.
    pub fn end(&mut self) -> Result<(), ResponseError> {
        match self.state {
            State::UntilEnd | State::Done => {
                self.state = State::Done;
                Ok(())
            }
            State::Head if self.all_bytes == 0 => Err(ResponseError::Nothing),
            State::Head => Err(ResponseError::HeadCut),
            _ => Err(ResponseError::BodyCut),
        }
    }

    fn take_body<'a>(&mut self, bytes: &'a [u8], left: u64, body: &mut dyn FnMut(&[u8])) -> (u64, &'a [u8]) {
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let (mine, rest) = bytes.split_at(count);
        body(mine);
        self.body_bytes += count as u64;
        (count as u64, rest)
    }

    /// Reads the head where it lies, if all of it is there, and otherwise keeps what there is.
    fn take_head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], ResponseError> {
        if self.partial.is_empty() {
            if let Some(length) = self.read_head(bytes)? {
                return Ok(&bytes[length..]);
            }
            self.partial.extend_from_slice(bytes);
        } else {
            let before = self.partial.len();
            self.partial.extend_from_slice(bytes);
            let whole = std::mem::take(&mut self.partial);
            if let Some(length) = self.read_head(&whole)? {
                // The head did not end in what was there before.
                return Ok(&bytes[length.saturating_sub(before)..]);
            }
            self.partial = whole;
        }
        if self.partial.len() > MOST_HEAD {
            return Err(ResponseError::HeadTooLong);
        }
        Ok(&[])
    }

    /// The length of the head that `bytes` begin with; none if there is more to come.
    fn read_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, ResponseError> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let length = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(ResponseError::HeadTooLong),
            Err(_) => return Err(ResponseError::NotHttp),
        };
        let status = response.code.unwrap_or(0);
        // Interim responses (RFC 9110, 15.2) come before the one that counts.
        if (100..200).contains(&status) && status != 101 {
            return Ok(Some(length));
        }
        let mut head = Head {
            status,
            keep_alive: response.version == Some(1),
            ..Head::default()
        };
        let mut chunked = false;
        for field in response.headers.iter() {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            if is("content-length") {
                let said = decimal(field.value).ok_or(ResponseError::Length)?;
                if head.length.is_some_and(|length| length != said) {
                    return Err(ResponseError::Length);
                }
                head.length = Some(said);
            } else if is("transfer-encoding") {
                if !field.value.eq_ignore_ascii_case(b"chunked") {
                    return Err(ResponseError::Length);
                }
                chunked = true;
            } else if is("connection") {
                let value = field.value.to_ascii_lowercase();
                let mut words = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                if words.clone().any(|word| word == b"close") {
                    head.keep_alive = false;
                } else if words.any(|word| word == b"keep-alive") {
                    head.keep_alive = true;
                }
            } else if is("location") {
                head.location = std::str::from_utf8(field.value).ok().map(str::to_owned);
            }
        }
        // RFC 9112, 6.3: chunks win over a length, and a response with neither goes on to the end of the connection.
        self.state = match (status, chunked, head.length) {
            (204 | 304, ..) => State::Done,
            (_, true, _) => State::ChunkSize,
            (_, false, Some(0)) => State::Done,
            (_, false, Some(length)) => State::Length(length),
            (_, false, None) => {
                head.keep_alive = false;
                State::UntilEnd
            }
        };
        if chunked {
            head.length = None;
        }
        self.head = head;
        Ok(Some(length))
    }

    /// A line of the chunked coding (RFC 9112, 7.1): a size, the end of a chunk, or a trailer field.
    fn take_line<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], ResponseError> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            self.partial.extend_from_slice(bytes);
            if self.partial.len() > MOST_LINE {
                return Err(ResponseError::Chunks);
            }
            return Ok(&[]);
        };
        let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
        let mut kept = std::mem::take(&mut self.partial);
        kept.extend_from_slice(line);
        if kept.len() > MOST_LINE {
            return Err(ResponseError::Chunks);
        }
        let line = kept.strip_suffix(b"\r").unwrap_or(&kept);
        self.state = match self.state {
            State::ChunkSize => match chunk_size(line).ok_or(ResponseError::Chunks)? {
                0 => State::Trailer,
                size => State::Chunk(size),
            },
            State::ChunkEnd if line.is_empty() => State::ChunkSize,
            State::Trailer if line.is_empty() => State::Done,
            State::Trailer => State::Trailer,
            _ => return Err(ResponseError::Chunks),
        };
        Ok(rest)
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let digits = digits.trim_ascii();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
