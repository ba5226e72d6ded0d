//! Responses truncated at every byte, and invalid responses.

use super::*;

/// The body of a response that comes in pieces of `step` bytes, and the reader afterwards.
fn read(bytes: &[u8], step: usize) -> Result<(Vec<u8>, ResponseReader), ResponseError> {
    let mut reader = ResponseReader::default();
    let mut body = Vec::new();
    for piece in bytes.chunks(step.max(1)) {
        reader.push(piece, &mut |part| body.extend_from_slice(part))?;
    }
    Ok((body, reader))
}

#[track_caller]
fn read_all(bytes: &[u8]) -> (Vec<u8>, ResponseReader) {
    for step in 1..bytes.len() {
        let (body, reader) = read(bytes, step).expect("a response");
        let whole = read(bytes, bytes.len()).expect("a response");
        assert_eq!(
            (body, reader.head()),
            (whole.0, whole.1.head()),
            "in pieces of {step}"
        );
        assert_eq!(reader.all_bytes(), bytes.len() as u64);
    }
    read(bytes, bytes.len()).expect("a response")
}

#[test]
fn a_length() {
    let (body, reader) =
        read_all(b"HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\nServer: x\r\n\r\nhello");
    assert_eq!(body, b"hello");
    assert!(reader.is_done());
    let head = reader.head().expect("a head");
    assert_eq!((head.status, head.keep_alive, head.length), (206, true, Some(5)));
}

#[test]
fn chunks_as_in_rfc_9112() {
    // The example of RFC 9112, 7.1.3 in spirit: extensions and trailer fields are dropped.
    let text = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n7;a=\"b\"\r\npedia i\r\nB\r\nn \r\nchunks.\r\n0\r\nX: y\r\n\r\n";
    let (body, reader) = read_all(text);
    assert_eq!(body, b"Wikipedia in \r\nchunks.");
    assert!(reader.is_done() && reader.head().expect("a head").keep_alive);
}

#[test]
fn until_the_end_of_the_connection() {
    let (body, mut reader) = read_all(b"HTTP/1.0 200 OK\r\n\r\nall of it");
    assert_eq!(body, b"all of it");
    assert!(!reader.is_done());
    assert_eq!(reader.end(), Ok(()));
    assert!(reader.is_done() && !reader.head().expect("a head").keep_alive);
}

#[test]
fn interim_responses_are_passed_over() {
    let (body, reader) =
        read_all(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!");
    assert_eq!(
        (body.as_slice(), reader.head().expect("a head").status),
        (b"!".as_slice(), 200)
    );
}

#[test]
fn without_a_body() {
    let (_, reader) = read_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    assert!(reader.is_done() && !reader.head().expect("a head").keep_alive);
    let (_, reader) = read_all(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(reader.head().expect("a head").location.as_deref(), Some("/there"));
}

#[test]
fn what_is_missing_has_a_name() {
    let end = |bytes: &[u8]| read(bytes, bytes.len()).expect("a beginning").1.end();
    assert_eq!(end(b""), Err(ResponseError::Nothing));
    assert_eq!(end(b"HTTP/1.1 200 OK\r\nCont"), Err(ResponseError::HeadCut));
    assert_eq!(
        end(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"),
        Err(ResponseError::BodyCut)
    );
    assert_eq!(
        end(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n"),
        Err(ResponseError::BodyCut)
    );
}

#[test]
fn what_is_no_response_is_refused() {
    let table: [(&[u8], ResponseError); 7] = [
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", ResponseError::NotHttp),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            ResponseError::Length,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
            ResponseError::Length,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            ResponseError::Length,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            ResponseError::Chunks,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
            ResponseError::Chunks,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
            ResponseError::Surplus,
        ),
    ];
    for (bytes, error) in table {
        for step in [1, 3, bytes.len()] {
            assert_eq!(read(bytes, step).err(), Some(error), "{}", bytes.escape_ascii());
        }
    }
    let endless = [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &vec![b'x'; 80 << 10]].concat();
    assert_eq!(read(&endless, 4096).err(), Some(ResponseError::HeadTooLong));
}

proptest::proptest! {
    #[test]
    fn pieces_make_no_difference(
        body in proptest::collection::vec(proptest::num::u8::ANY, 0..300), chunks in 0_usize..40, step in 1_usize..50,
    ) {
        let mut text = b"HTTP/1.1 200 OK\r\n".to_vec();
        if chunks > 0 {
            text.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(chunks) {
                text.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                text.extend_from_slice(chunk);
                text.extend_from_slice(b"\r\n");
            }
            text.extend_from_slice(b"0\r\n\r\n");
        } else {
            text.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            text.extend_from_slice(&body);
        }
        let (found, reader) = read(&text, step).expect("a response");
        proptest::prop_assert_eq!(&found, &body);
        proptest::prop_assert!(reader.is_done());
        proptest::prop_assert_eq!(reader.body_bytes(), body.len() as u64);
    }
}
