//! Requests and answers of neighbours over HTTP: no bytes may crash a parser, the output lies within the bytes, and
//! further bytes after it change nothing.

use weir_neighbour::{read_head, read_request};

pub fn run(input: &[u8]) {
    let longer = [input, b"GET / HTTP/1.1\r\n"].concat();
    if let Ok(Some(asking)) = read_request(input) {
        assert!(asking.length <= input.len());
        assert_eq!(read_request(&longer), Ok(Some(asking)));
    }
    if let Ok(Some(head)) = read_head(input) {
        assert!(head.length <= input.len());
        assert_eq!(read_head(&longer).ok().flatten(), Some(head));
    }
}
