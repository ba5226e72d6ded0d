//! Requests and answers of neighbours over HTTP: no bytes may upset a reader, what is read lies within the bytes, and more
//! bytes behind it change nothing.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_neighbour::{read_head, read_request};

fuzz_target!(|input: &[u8]| {
    let longer = [input, b"GET / HTTP/1.1\r\n"].concat();
    if let Ok(Some(asking)) = read_request(input) {
        assert!(asking.length <= input.len());
        assert_eq!(read_request(&longer), Ok(Some(asking)));
    }
    if let Ok(Some(head)) = read_head(input) {
        assert!(head.length <= input.len());
        assert_eq!(read_head(&longer).ok().flatten(), Some(head));
    }
});
