//! What can be asked for over HTTP, as text. It must not know connections.
//!
//! `GET /bytes/N` answers with N zeros. `GET /stream?ms=N&id=ID` sends zeros for N milliseconds, and
//! `GET /readings?id=ID` then says what the kernel knew of that connection. The first two take `congestion=NAME`.

use std::fmt;

use weir_net::tcp::CongestionControl;

/// Longest head of a request, bytes.
pub const MOST_HEAD: usize = 4_096;
/// Fields that a head may have.
const MOST_FIELDS: usize = 32;
/// Longest answer, bytes.
pub const MOST_BYTES: u64 = 1_000_000_000;
/// How much longer than a client wants a server goes on, so that it is the client that ends: milliseconds.
pub(crate) const SLACK_MS: u64 = 1_000;
/// Longest stream, milliseconds.
const MOST_MS: u64 = crate::LONGEST_NS / 1_000_000 + SLACK_MS;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A download of a fixed size.
    Bytes {
        /// At most 1,000,000,000.
        length: u64,
        /// As the client wishes, or as the host does by default.
        congestion: Option<CongestionControl>,
    },
    /// As many as go through.
    Stream {
        /// For how long; at most one hour and a second.
        duration_ms: u64,
        /// Chosen by the client, to ask for readings.
        id: u64,
        /// As the client wishes, or as the host does by default.
        congestion: Option<CongestionControl>,
    },
    /// The readings of a stream.
    Readings {
        /// As in the request for the stream.
        id: u64,
    },
}

/// A request that is wholly there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// What for.
    pub request: Request,
    /// Length of its head, bytes; it has no body.
    pub length: usize,
    /// The connection is to end with the answer.
    pub close: bool,
}

/// Why a request is not answered; the statuses of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// Not HTTP, or too long.
    Malformed,
    /// Not GET.
    Method,
    /// There is no such thing.
    NotFound,
}

impl fmt::Display for RequestError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            RequestError::Malformed => "400 Bad Request",
            RequestError::Method => "405 Method Not Allowed",
            RequestError::NotFound => "404 Not Found",
        })
    }
}

impl Request {
    /// The target that says it.
    pub(crate) fn target(&self) -> String {
        let with = |target: String, congestion: Option<CongestionControl>, mark: char| match congestion {
            Some(congestion) => format!("{target}{mark}congestion={}", congestion.name()),
            None => target,
        };
        match *self {
            Request::Bytes { length, congestion } => with(format!("/bytes/{length}"), congestion, '?'),
            Request::Stream {
                duration_ms,
                id,
                congestion,
            } => with(format!("/stream?ms={duration_ms}&id={id:016x}"), congestion, '&'),
            Request::Readings { id } => format!("/readings?id={id:016x}"),
        }
    }
}

/// Reads the request at the begin of `bytes`; none if it is not all there yet.
///
/// # Errors
/// When it will never be one, or asks for what there is not.
pub fn read_request(bytes: &[u8]) -> Result<Option<Asking>, RequestError> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= MOST_HEAD => length,
        Ok(httparse::Status::Partial) if bytes.len() < MOST_HEAD => return Ok(None),
        _ => return Err(RequestError::Malformed),
    };
    if head.method != Some("GET") {
        return Err(RequestError::Method);
    }
    let has = |name: &str| {
        head.headers
            .iter()
            .any(|field| field.name.eq_ignore_ascii_case(name))
    };
    if has("content-length") || has("transfer-encoding") {
        return Err(RequestError::Malformed);
    }
    let says_close = head.headers.iter().any(|field| {
        field.name.eq_ignore_ascii_case("connection") && field.value.eq_ignore_ascii_case(b"close")
    });
    Ok(Some(Asking {
        request: read_target(head.path.unwrap_or_default())?,
        length,
        close: says_close || head.version != Some(1),
    }))
}

fn read_target(target: &str) -> Result<Request, RequestError> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let value = |name: &str| {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find_map(|(key, value)| (key == name).then_some(value))
    };
    let missing = RequestError::NotFound;
    let congestion = match value("congestion") {
        None => None,
        Some(name) => {
            let found = CongestionControl::named(name);
            Some(found.ok_or(missing)?)
        }
    };
    let id = || u64::from_str_radix(value("id").ok_or(missing)?, 16).map_err(|_| missing);
    if let Some(length) = path.strip_prefix("/bytes/") {
        let length = length.parse().ok().filter(|length| *length <= MOST_BYTES);
        let length = length.ok_or(missing)?;
        return Ok(Request::Bytes { length, congestion });
    }
    match path {
        "/stream" => {
            let duration_ms = value("ms").and_then(|ms| ms.parse().ok());
            Ok(Request::Stream {
                duration_ms: duration_ms.filter(|ms| *ms <= MOST_MS).ok_or(missing)?,
                id: id()?,
                congestion,
            })
        }
        "/readings" => Ok(Request::Readings { id: id()? }),
        _ => Err(missing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn congestion() -> impl Strategy<Value = Option<CongestionControl>> {
        prop::option::of(prop::sample::select(CongestionControl::ALL.to_vec()))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            length in 0..=MOST_BYTES, duration_ms in 0..=MOST_MS, id in any::<u64>(), congestion in congestion(),
        ) {
            for request in [
                Request::Bytes { length, congestion },
                Request::Stream { duration_ms, id, congestion },
                Request::Readings { id },
            ] {
                let text = format!("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", request.target());
                let asking = Asking { request, length: text.len(), close: false };
                prop_assert_eq!(read_request(text.as_bytes()), Ok(Some(asking)));
                prop_assert_eq!(read_request(&text.as_bytes()[..text.len() - 1]), Ok(None));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_request(&bytes);
        }
    }

    #[test]
    fn what_is_not_there_or_too_much_is_refused() {
        let read = |text: &str| read_request(text.as_bytes());
        for (target, error) in [
            ("/", RequestError::NotFound),
            ("/bytes/1000000001", RequestError::NotFound),
            ("/bytes/-1", RequestError::NotFound),
            ("/bytes/1?congestion=vegas", RequestError::NotFound),
            ("/stream?ms=3601001&id=1", RequestError::NotFound),
            ("/stream?ms=1", RequestError::NotFound),
            ("/readings?id=xyz", RequestError::NotFound),
        ] {
            let text = format!("GET {target} HTTP/1.1\r\n\r\n");
            assert_eq!(read(&text), Err(error), "{target}");
        }
        assert_eq!(read("POST /bytes/1 HTTP/1.1\r\n\r\n"), Err(RequestError::Method));
        let body = "GET /bytes/1 HTTP/1.1\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(read(body), Err(RequestError::Malformed));
        assert_eq!(
            read("hello, is anybody there?\r\n\r\n"),
            Err(RequestError::Malformed)
        );
        let endless = format!("GET /bytes/1 HTTP/1.1\r\nX: {}", "x".repeat(MOST_HEAD));
        assert_eq!(read(&endless), Err(RequestError::Malformed));
    }

    #[test]
    fn a_connection_ends_when_the_client_says_so() {
        let close = |text: &str| read_request(text.as_bytes()).unwrap().unwrap().close;
        assert!(close("GET /bytes/1 HTTP/1.0\r\n\r\n"));
        assert!(close("GET /bytes/1 HTTP/1.1\r\nConnection: Close\r\n\r\n"));
        assert!(!close("GET /bytes/1 HTTP/1.1\r\n\r\n"));
    }
}
