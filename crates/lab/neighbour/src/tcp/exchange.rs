//! One request and its answer on a connection that is kept, with a look at the clock in between.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

use super::{Request, is_glance};

/// Read at once, bytes.
const CHUNK: usize = 64 * 1024;
/// Longest head of an answer, bytes.
const MOST_HEAD: usize = 4_096;
/// Fields that it may have.
const MOST_FIELDS: usize = 32;

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Status code, 200 if all is well.
    pub status: u16,
    /// The words behind it.
    pub reason: String,
    /// Length of the body; none if it ends with the connection.
    pub content_length: Option<u64>,
    /// Length of the head itself, bytes.
    pub length: usize,
}

/// Reads the head of an answer at the begin of `bytes`; none if it is not all there yet.
///
/// # Errors
/// When it will never be one.
pub fn read_head(bytes: &[u8]) -> io::Result<Option<Head>> {
    let wrong = || io::Error::new(ErrorKind::InvalidData, "the response is not HTTP/1.1");
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= MOST_HEAD => length,
        Ok(httparse::Status::Partial) if bytes.len() < MOST_HEAD => return Ok(None),
        _ => return Err(wrong()),
    };
    let field = |name: &str| {
        head.headers
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))
    };
    // The server never does, and what it means would have to be known.
    if field("transfer-encoding").is_some() {
        return Err(wrong());
    }
    let content_length = match field("content-length") {
        None => None,
        Some(field) => {
            let text = std::str::from_utf8(field.value).map_err(|_| wrong())?;
            Some(text.trim().parse().map_err(|_| wrong())?)
        }
    };
    Ok(Some(Head {
        status: head.code.unwrap_or(0),
        reason: head.reason.unwrap_or_default().to_owned(),
        content_length,
        length,
    }))
}

/// A connection on which one request follows another.
pub(crate) struct Exchange {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What a read brought.
pub(crate) enum Brought {
    /// Received this number of bytes of the body.
    Bytes(u64),
    /// Nothing yet: time to look at the clock.
    Nothing,
    /// The other end has closed the connection.
    End,
}

impl Exchange {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Exchange {
            stream,
            buffer: vec![0; CHUNK],
        }
    }

    pub(crate) fn ask(&mut self, request: &Request) -> io::Result<()> {
        let text = format!("GET {} HTTP/1.1\r\nHost: neighbour\r\n\r\n", request.target());
        self.stream.write_all(text.as_bytes())
    }

    /// Waits for the head of the answer while `go_on` holds; gives it with the bytes of the body that came along. None
    /// if it did not come in that time.
    pub(crate) fn head(&mut self, mut go_on: impl FnMut() -> bool) -> io::Result<Option<(Head, Vec<u8>)>> {
        let mut bytes = Vec::new();
        while go_on() {
            match self.stream.read(&mut self.buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => bytes.extend_from_slice(&self.buffer[..count]),
                Err(error) if is_glance(&error) => continue,
                Err(error) => return Err(error),
            }
            if let Some(head) = read_head(&bytes)? {
                let body = bytes.split_off(head.length);
                return Ok(Some((head, body)));
            }
        }
        Ok(None)
    }

    /// Reads more of the body, at most `most` bytes, and forgets them.
    pub(crate) fn body(&mut self, most: u64) -> io::Result<Brought> {
        let most = usize::try_from(most).unwrap_or(CHUNK).min(CHUNK);
        match self.stream.read(&mut self.buffer[..most]) {
            Ok(0) => Ok(Brought::End),
            Ok(count) => Ok(Brought::Bytes(count as u64)),
            Err(error) if is_glance(&error) => Ok(Brought::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Reads the rest of a body that is to be kept, up to `length` bytes in all, while `go_on` holds.
    pub(crate) fn rest(
        &mut self,
        mut body: Vec<u8>,
        length: usize,
        mut go_on: impl FnMut() -> bool,
    ) -> io::Result<Vec<u8>> {
        while body.len() < length {
            if !go_on() {
                return Err(ErrorKind::TimedOut.into());
            }
            let most = (length - body.len()).min(CHUNK);
            match self.stream.read(&mut self.buffer[..most]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => body.extend_from_slice(&self.buffer[..count]),
                Err(error) if is_glance(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn heads_are_read_as_servers_write_them() {
        let text = "HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 12\r\n\r\nbody";
        let head = read_head(text.as_bytes()).unwrap().unwrap();
        assert_eq!(
            (head.status, head.content_length, &text[head.length..]),
            (200, Some(12), "body")
        );
        let head = read_head(b"HTTP/1.1 404 Not Found\r\n\r\n").unwrap().unwrap();
        assert_eq!(
            (head.status, head.reason.as_str(), head.content_length),
            (404, "Not Found", None)
        );
        assert_eq!(read_head(b"HTTP/1.1 200 OK\r\nContent-").unwrap(), None);
        for wrong in [
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "SSH-2.0-OpenSSH\r\n\r\n",
        ] {
            assert!(read_head(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_head(&bytes);
        }
    }
}
