//! One request over HTTP/1.0, whose response ends with the connection. It must not know what is requested.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Maximum time without a byte.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum size of the head of a response, bytes.
const MOST_HEAD: u64 = 64 << 10;

/// The body of what is at `path`, at most `most` bytes.
pub(crate) fn get(address: SocketAddr, path: &str, most: u64) -> io::Result<Vec<u8>> {
    let mut connection = TcpStream::connect_timeout(&address, PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut page = Vec::new();
    connection.take(most + MOST_HEAD).read_to_end(&mut page)?;
    body(&page).map(<[u8]>::to_vec)
}

/// The body of a response that succeeded and is whole.
fn body(page: &[u8]) -> io::Result<&[u8]> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let end = page.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let end = end.ok_or_else(|| wrong("the response is no HTTP"))?;
    let head = std::str::from_utf8(&page[..end]).map_err(|_| wrong("the response is no HTTP"))?;
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(wrong(&format!("the response is '{status}'")));
    }
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().ok())?
    });
    let body = &page[end + 4..];
    match length {
        Some(length) if length != body.len() => Err(wrong("the response is not whole")),
        _ => Ok(body),
    }
}

#[cfg(test)]
mod tests {
    use super::body;

    #[test]
    fn only_whole_responses_that_succeeded_have_a_body() {
        let page = |text: &str| body(text.as_bytes()).map(<[u8]>::to_vec);
        assert_eq!(
            page("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab").expect("a body"),
            b"ab"
        );
        assert_eq!(page("HTTP/1.1 200 OK\r\n\r\nabc").expect("a body"), b"abc");
        for wrong in [
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab",
            "HTTP/1.1 404 Not\r\n\r\n",
            "abc",
            "",
        ] {
            assert!(page(wrong).is_err(), "{wrong:?}");
        }
    }
}
