//! One question to a metadata service: HTTP/1.1 over a connection of its own, without redirects. It must not know what is
//! asked.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Maximum length of an answer with its headers, bytes. Azure's has the keys and tags of the machine.
const LONGEST_ANSWER: usize = 64 << 10;
/// Maximum number of its headers.
const MOST_HEADERS: usize = 32;

/// A question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    pub method: &'static str,
    pub host: &'static str,
    pub path: &'static str,
    /// The header that the service demands. Its value has no control characters.
    pub header: (&'static str, &'a str),
    /// The header by which the answer shows that it is the service's.
    pub answered_with: Option<(&'static str, &'static str)>,
}

/// The body of a good answer; none for any other, or for none before `deadline`.
pub(super) fn ask(service: SocketAddr, request: &Request, deadline: Instant) -> Option<Vec<u8>> {
    let left =
        || Some(deadline.saturating_duration_since(Instant::now())).filter(|left| *left > Duration::ZERO);
    let mut stream = TcpStream::connect_timeout(&service, left()?).ok()?;
    stream.set_write_timeout(Some(left()?)).ok()?;
    let (name, value) = request.header;
    let text = format!(
        "{} {} HTTP/1.1\r\nHost: {}\r\n{name}: {value}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        request.method, request.path, request.host
    );
    stream.write_all(text.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        stream.set_read_timeout(Some(left()?)).ok()?;
        let count = match stream.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        answer.extend_from_slice(&buffer[..count]);
        match body(&answer, request.answered_with, count == 0) {
            Answer::Whole(body) => return Some(body.to_vec()),
            Answer::Part if count > 0 && answer.len() <= LONGEST_ANSWER => {}
            Answer::Part | Answer::Refused => return None,
        }
    }
}

/// What has come of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// More has to come.
    Part,
    /// All of it: the body.
    Whole(&'a [u8]),
    /// An error, a redirect, or no valid answer.
    Refused,
}

/// Parses what has come of an answer. `expected` is a header that it must have; `ended` says that nothing more comes.
pub fn body<'a>(bytes: &'a [u8], expected: Option<(&str, &str)>, ended: bool) -> Answer<'a> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let start = match response.parse(bytes) {
        Ok(httparse::Status::Complete(start)) => start,
        Ok(httparse::Status::Partial) if !ended => return Answer::Part,
        _ => return Answer::Refused,
    };
    let values = |name: &str| {
        let of_name = |header: &&httparse::Header| header.name.eq_ignore_ascii_case(name);
        let headers: Vec<&[u8]> = response
            .headers
            .iter()
            .filter(of_name)
            .map(|header| header.value)
            .collect();
        headers
    };
    let is_expected = expected.is_none_or(|(name, value)| values(name) == [value.as_bytes()]);
    if response.code != Some(200) || !is_expected || !values("Transfer-Encoding").is_empty() {
        return Answer::Refused;
    }
    let body = bytes.get(start..).unwrap_or_default();
    let length = match values("Content-Length")[..] {
        [] => return if ended { Answer::Whole(body) } else { Answer::Part },
        [length] => std::str::from_utf8(length)
            .ok()
            .and_then(|length| length.parse::<usize>().ok()),
        _ => None,
    };
    match length {
        Some(length) if body.len() == length => Answer::Whole(body),
        Some(length) if body.len() < length && length <= LONGEST_ANSWER && !ended => Answer::Part,
        _ => Answer::Refused,
    }
}
