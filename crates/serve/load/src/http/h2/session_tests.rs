//! Connections from the server's side, in hand-written frames.

use super::*;
use crate::http::h2::frames::{END_HEADERS, END_STREAM, PADDED, write};

const NOW: u64 = 1_000;
/// `:status: 200`, from the static table.
const OK: &[u8] = b"\x88";

fn asked() -> Asked<'static> {
    Asked {
        tls: false,
        authority: "localhost",
        target: "/film/1.m4s",
        range: None,
    }
}

/// What a server begins with.
fn settings(entries: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes, Kind::Settings, 0, 0, entries);
    bytes
}

/// A session with a request on stream 1 that was sent, and a server that has said its settings.
fn begun() -> Session {
    let mut session = Session::default();
    assert_eq!(session.open(&asked()), 1);
    session.out().clear();
    session
        .push(&settings(&[]), NOW, 1, &mut |_| {})
        .expect("settings");
    session
}

fn frame(kind: Kind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes, kind, flags, stream, payload);
    bytes
}

fn pushed(session: &mut Session, bytes: &[u8]) -> Result<Vec<u8>, SessionError> {
    let mut body = Vec::new();
    session.push(bytes, NOW, 1, &mut |part| body.extend_from_slice(part))?;
    Ok(body)
}

#[test]
fn a_connection_begins_as_the_rfc_says() {
    let mut session = Session::default();
    session.open(&asked());
    let out = session.out().clone();
    let rest = out
        .strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .expect("the preface");
    let mut kinds = Vec::new();
    let mut reader = FrameReader::default();
    let mut left = rest;
    while let Ok(Some(Piece::Frame(head, _))) = reader.next(&mut left) {
        kinds.push((head.kind, head.stream, head.flags));
    }
    let expected = [
        (Kind::Settings, 0, 0),
        (Kind::WindowUpdate, 0, 0),
        (Kind::Headers, 1, END_HEADERS | END_STREAM),
    ];
    assert_eq!(kinds, expected);
    // It acknowledges the settings of the server, and answers its PING.
    let mut session = begun();
    assert_eq!(*session.out(), frame(Kind::Settings, 0x1, 0, &[]));
    session.out().clear();
    pushed(&mut session, &frame(Kind::Ping, 0, 0, b"12345678")).expect("a PING");
    assert_eq!(*session.out(), frame(Kind::Ping, 0x1, 0, b"12345678"));
}

#[test]
fn of_a_body_that_is_cut_off_only_what_came_is_counted() {
    let answer = [
        frame(Kind::Headers, END_HEADERS, 1, b"\x88"),
        frame(Kind::Data, 0, 1, b"hello"),
    ]
    .concat();
    for came in answer.len() - 5..=answer.len() {
        let mut session = begun();
        pushed(&mut session, &answer[..came]).expect("frames");
        let stream = session.stream(1).expect("a stream");
        assert_eq!(stream.all_bytes, came as u64);
    }
}

#[test]
fn an_answer_is_counted_with_its_frames() {
    let mut session = begun();
    let answer = [
        frame(Kind::Headers, END_HEADERS, 1, b"\x88\x0f\x0d\x0211"),
        frame(Kind::Data, 0, 1, b"hello "),
        frame(Kind::Data, PADDED | END_STREAM, 1, b"\x02world\0\0"),
    ]
    .concat();
    assert_eq!(pushed(&mut session, &answer), Ok(b"hello world".to_vec()));
    let stream = session.stream(1).expect("a stream");
    assert_eq!(stream.end, Some(End::Whole));
    assert_eq!((stream.body_bytes, stream.all_bytes), (11, answer.len() as u64));
    assert_eq!(
        stream.head().map(|head| (head.status, head.length)),
        Some((200, Some(11)))
    );
    session.close(1);
    assert!(session.stream(1).is_none() && session.has_room());
}

#[test]
fn fields_in_parts_interim_answers_and_trailers() {
    let mut session = begun();
    let answer = [
        frame(Kind::Headers, END_HEADERS, 1, b"\x08\x03103"),
        frame(Kind::Headers, 0, 1, b"\x08\x03"),
        frame(Kind::Continuation, END_HEADERS, 1, b"200"),
        frame(Kind::Data, 0, 1, b"x"),
        frame(Kind::Headers, END_HEADERS | END_STREAM, 1, b"\x00\x01a\x01b"),
    ]
    .concat();
    assert_eq!(pushed(&mut session, &answer), Ok(b"x".to_vec()));
    let stream = session.stream(1).expect("a stream");
    assert_eq!(
        (stream.end, stream.head().map(|head| head.status)),
        (Some(End::Whole), Some(200))
    );
}

#[test]
fn what_two_streams_share_is_kept_apart() {
    let mut session = begun();
    assert_eq!(session.open(&asked()), 3);
    let both = [
        frame(Kind::Headers, END_HEADERS, 1, OK),
        frame(Kind::Headers, END_HEADERS, 3, OK),
        frame(Kind::Data, 0, 3, b"pic"),
        frame(Kind::Data, END_STREAM, 1, b"sound"),
        frame(Kind::Data, END_STREAM, 3, b"tures"),
    ]
    .concat();
    assert_eq!(pushed(&mut session, &both), Ok(b"sound".to_vec()));
    assert_eq!(session.take_news(1).collect::<Vec<_>>(), [3]);
    let mut other = Vec::new();
    session.take_kept(3, &mut |part| other.extend_from_slice(part));
    assert_eq!(other, b"pictures");
    assert_eq!(session.stream(3).and_then(|stream| stream.end), Some(End::Whole));
}

#[test]
fn windows_open_again_when_half_is_used() {
    let mut session = begun();
    session.out().clear();
    pushed(&mut session, &frame(Kind::Headers, END_HEADERS, 1, OK)).expect("a head");
    let part = frame(Kind::Data, 0, 1, &[0; 16_384]);
    let mut given = (0_u64, 0_u64);
    // Six times what a connection may send without being allowed more.
    for _ in 0..6 * CONNECTION_WINDOW / 16_384 {
        pushed(&mut session, &part).expect("data");
        let mut left = session.out().as_slice();
        let mut reader = FrameReader::default();
        while let Ok(Some(Piece::Frame(head, payload))) = reader.next(&mut left) {
            assert_eq!(head.kind, Kind::WindowUpdate);
            let more = u64::from(u32::from_be_bytes(payload[..].try_into().expect("four bytes")));
            match head.stream {
                0 => given.0 += more,
                _ => given.1 += more,
            }
        }
        session.out().clear();
    }
    let sent = 6 * u64::from(CONNECTION_WINDOW);
    assert!(given.0 <= sent && given.0 + u64::from(CONNECTION_WINDOW) > sent);
    assert!(given.1 <= sent && given.1 + u64::from(STREAM_WINDOW) > sent);
}

#[test]
fn a_stream_whose_body_nobody_takes_gets_no_more_room() {
    let mut session = begun();
    session.open(&asked());
    let heads = [
        frame(Kind::Headers, END_HEADERS, 1, OK),
        frame(Kind::Headers, END_HEADERS, 3, OK),
    ];
    pushed(&mut session, &heads.concat()).expect("heads");
    let part = frame(Kind::Data, 0, 3, &[0; 16_384]);
    for _ in 0..STREAM_WINDOW / 16_384 {
        assert_eq!(pushed(&mut session, &part), Ok(Vec::new()));
    }
    assert_eq!(pushed(&mut session, &part), Err(SessionError::Window));
}

#[test]
fn streams_that_end_otherwise() {
    let end = |bytes: &[u8]| {
        let mut session = begun();
        pushed(&mut session, bytes).expect("frames");
        session.stream(1).and_then(|stream| stream.end)
    };
    let short = [
        frame(Kind::Headers, END_HEADERS, 1, b"\x88\x0f\x0d\x0212"),
        frame(Kind::Data, END_STREAM, 1, b"hello"),
    ];
    assert_eq!(end(&short.concat()), Some(End::Length));
    assert_eq!(end(&frame(Kind::Reset, 0, 1, &[0, 0, 0, 7])), Some(End::Refused));
    assert_eq!(end(&frame(Kind::Reset, 0, 1, &[0, 0, 0, 2])), Some(End::Reset));
    assert_eq!(end(&frame(Kind::GoAway, 0, 0, &[0; 8])), Some(End::Refused));
    assert_eq!(end(&frame(Kind::GoAway, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])), None);
    let mut session = begun();
    session.end();
    assert_eq!(session.stream(1).and_then(|stream| stream.end), Some(End::Cut));
    assert!(session.is_over() && !session.has_room());
    // A stream that this end aborts is reset.
    let mut session = begun();
    session.out().clear();
    session.close(1);
    assert_eq!(*session.out(), frame(Kind::Reset, 0, 1, &[0, 0, 0, 8]));
    // What was on its way then does no harm.
    assert_eq!(
        pushed(&mut session, &frame(Kind::Data, 0, 1, b"late")),
        Ok(Vec::new())
    );
}

#[test]
fn a_server_says_how_many_streams_there_may_be() {
    let mut session = begun();
    pushed(&mut session, &settings(&[0, 3, 0, 0, 0, 1])).expect("settings");
    assert!(!session.has_room() && !session.is_over());
    session.close(1);
    assert!(session.has_room());
}

#[test]
fn what_no_server_may_send_ends_the_connection() {
    let mut fresh = Session::default();
    fresh.open(&asked());
    let first = frame(Kind::Headers, END_HEADERS, 1, OK);
    assert_eq!(pushed(&mut fresh, &first), Err(SessionError::Protocol));
    assert_eq!(
        pushed(&mut Session::default(), b"HTTP/1.1 400 Bad Request\r\n"),
        Err(SessionError::Frame(FrameError::TooLong))
    );
    let table = [
        frame(Kind::Data, 0, 1, b"no head yet"),
        frame(Kind::Data, 0, 5, b"nobody asked"),
        frame(Kind::Data, 0, 2, b"a stream of its own"),
        frame(Kind::Headers, END_HEADERS, 3, OK),
        frame(Kind::Push, END_HEADERS, 1, &[0, 0, 0, 2, 0x82]),
        frame(Kind::Ping, 0, 0, b"short"),
        frame(Kind::Settings, 0, 0, b"odd"),
        frame(Kind::Reset, 0, 1, b""),
        frame(Kind::GoAway, 0, 0, b""),
        frame(Kind::Continuation, END_HEADERS, 1, OK),
        [frame(Kind::Headers, 0, 1, OK), frame(Kind::Ping, 0, 0, &[0; 8])].concat(),
        [
            frame(Kind::Headers, END_HEADERS, 1, OK),
            frame(Kind::Headers, END_HEADERS, 1, OK),
        ]
        .concat(),
        // No status.
        frame(Kind::Headers, END_HEADERS, 1, b"\x0f\x0d\x0212"),
    ];
    for bytes in table {
        assert_eq!(
            pushed(&mut begun(), &bytes),
            Err(SessionError::Protocol),
            "{bytes:?}"
        );
    }
    let damaged = frame(Kind::Headers, END_HEADERS, 1, b"\xbe");
    assert_eq!(
        pushed(&mut begun(), &damaged),
        Err(SessionError::Fields(HpackError))
    );
}

#[test]
fn a_server_that_floods_gets_no_further() {
    let mut session = begun();
    let pings = frame(Kind::Ping, 0, 0, &[0; 8]).repeat(2_000);
    let mut all = (0..20).map(|_| pushed(&mut session, &pings));
    assert!(all.any(|pushed| pushed == Err(SessionError::Flood)));
    // Fields without an end.
    let mut session = begun();
    pushed(&mut session, &frame(Kind::Headers, 0, 1, &[0; 16_000])).expect("a part");
    let part = frame(Kind::Continuation, 0, 1, &[0; 16_000]);
    let mut all = (0..10).map(|_| pushed(&mut session, &part));
    assert!(all.any(|pushed| pushed == Err(SessionError::FieldsTooLong)));
}
