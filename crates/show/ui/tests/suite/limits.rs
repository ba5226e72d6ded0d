//! Clients that take too much, or too long.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use serde_json::json;
use weir_ui::Limits;

use crate::client::{LIMIT, Ui};
use crate::sample::Sample;

const SOON: Duration = Duration::from_millis(300);

#[test]
fn a_body_that_is_too_long_is_not_taken() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    let path = format!("/api/v1/runs/{run}");
    let note = |length: usize| json!({ "note": "x".repeat(length) }).to_string();
    // As long as a body may be, and yet too long for a note.
    let fits = note((64 << 10) - 11);
    assert_eq!(fits.len(), 64 << 10);
    ui.change("PATCH", &path, &fits).error(400);
    let error = ui.change("PATCH", &path, &note((64 << 10) - 10)).error(413);
    assert!(error.contains("65536"), "{error}");
    // A length that is only claimed costs nothing.
    let claimed = [("X-Weir", "1"), ("Content-Length", "99999999999")];
    ui.open("PATCH", &path, &claimed, b"").error(413);
    assert_eq!(sample.store.run(run).unwrap().note, "");
}

#[test]
fn a_client_that_does_not_finish_its_request_is_cut_off() {
    let sample = Sample::new();
    let limits = Limits {
        request: SOON,
        ..Limits::default()
    };
    let ui = Ui::start_with(&sample.path, None, limits);
    for begun in ["", "GET / HTTP/1.1\r\nHo"] {
        let mut stream = ui.connect();
        stream.write_all(begun.as_bytes()).unwrap();
        // The end comes within the limit of the client, or the test fails.
        let mut said = Vec::new();
        match stream.read_to_end(&mut said) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
        assert!(!said.starts_with(b"HTTP/1.1 200"));
    }
    let headers = [("X-Weir", "1"), ("Content-Length", "20")];
    let error = ui.open("PATCH", "/api/v1/runs/1", &headers, b"").error(408);
    assert!(error.contains("too long"), "{error}");
}

#[test]
fn connections_beyond_the_limit_wait_their_turn() {
    let sample = Sample::new();
    let limits = Limits {
        connections: 2,
        request: LIMIT,
        ..Limits::default()
    };
    let ui = Ui::start_with(&sample.path, None, limits);
    let idle = [ui.connect(), ui.connect()];
    // They have their places once the kernel's queue has handed them over, in the order in which they came.
    let mut third = ui.connect();
    write!(third, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", ui.address).unwrap();
    third.set_read_timeout(Some(SOON)).unwrap();
    let mut byte = [0];
    let none = third.read(&mut byte).unwrap_err();
    assert!(
        matches!(none.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{none}"
    );
    drop(idle);
    third.set_read_timeout(Some(LIMIT)).unwrap();
    assert_eq!(third.read(&mut byte).unwrap(), 1);
}

#[test]
fn each_connection_asks_once() {
    let sample = Sample::new();
    let ui = Ui::start(&sample.path);
    let mut stream = ui.connect();
    let request = format!("GET /nothing HTTP/1.1\r\nHost: {}\r\n\r\n", ui.address);
    stream.write_all(request.repeat(2).as_bytes()).unwrap();
    let mut said = String::new();
    // What was sent and not read can make the end a reset.
    let _ = stream.read_to_string(&mut said);
    assert!(
        said.starts_with("HTTP/1.1 404") && said.matches("HTTP/1.1").count() == 1,
        "{said}"
    );
}
