//! Input from an HTTP/2 server to a viewer with two open streams. No bytes may crash the viewer's end, its memory and
//! its output stay bounded, and fragmentation makes no difference.
//!
//! Input: the length of fragments, then the data.

use weir_load::http::h2::hpack::Asked;
use weir_load::http::h2::session::{End, Session};

type Streams = Vec<Option<(Option<End>, u64, u64, Option<u16>)>>;

fn read(bytes: &[u8], step: usize) -> (bool, u64, Streams) {
    let asked = Asked {
        tls: true,
        authority: "localhost",
        target: "/",
        range: None,
    };
    let mut session = Session::default();
    let (first, second) = (session.open(&asked), session.open(&asked));
    let mut body = 0;
    let mut count = |part: &[u8]| body += part.len() as u64;
    let read = bytes
        .chunks(step)
        .try_for_each(|piece| session.push(piece, 1, first, &mut count));
    let streams = [first, second].map(|id| {
        let stream = session.stream(id)?;
        assert!(stream.body_bytes <= stream.all_bytes && stream.all_bytes <= bytes.len() as u64);
        let status = stream.head().map(|head| head.status);
        Some((stream.end, stream.body_bytes, stream.all_bytes, status))
    });
    // Each frame that requires an answer is at least as long as the answer.
    assert!(session.out().len() <= bytes.len() + 1024);
    session.take_kept(second, &mut count);
    session.close(first);
    session.close(second);
    (read.is_ok(), body, streams.to_vec())
}

pub fn run(input: &[u8]) {
    let [step, bytes @ ..] = input else { return };
    assert_eq!(
        read(bytes, usize::from(*step).max(1)),
        read(bytes, bytes.len().max(1))
    );
}
