//! `weir load find-capacity` against a server whose capacity is known: it answers 503 while it has more connections
//! than so many.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::Value;

use weir_rig::{Database, LIMIT, count, isolated, ran, started, wait_until};

const CAPACITY: usize = 6;
/// Between the rounds of answers.
const ROUND: Duration = Duration::from_millis(20);

/// The address of a manifest there.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    listener.set_nonblocking(true).expect("a listener");
    std::thread::spawn(move || {
        let mut connections = Vec::new();
        loop {
            round(&listener, &mut connections);
            std::thread::sleep(ROUND);
        }
    });
    format!("http://{address}/film.mpd")
}

/// A connection, and what it has sent since its last answer.
type Connection = (TcpStream, Vec<u8>);

/// Answers all who asked. What counts is who is connected now: the end of a connection is read in the round in which a
/// later one is accepted, however late that round is.
fn round(listener: &TcpListener, connections: &mut Vec<Connection>) {
    while let Ok((stream, _)) = listener.accept() {
        stream.set_nonblocking(true).expect("a connection");
        connections.push((stream, Vec::new()));
    }
    connections.retain_mut(|(stream, asked)| {
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(length) => {
                asked.extend(&buffer[..length]);
                true
            }
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    });
    let answer = answer(connections.len() > CAPACITY);
    connections.retain_mut(|(stream, asked)| {
        if !asked.ends_with(b"\r\n\r\n") {
            return true;
        }
        asked.clear();
        stream.write_all(answer.as_bytes()).is_ok()
    });
}

fn answer(crowded: bool) -> String {
    let status = if crowded {
        "503 Service Unavailable"
    } else {
        "200 OK"
    };
    let body = "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT2S\"><Period><AdaptationSet \
        mimeType=\"video/mp4\"><SegmentTemplate duration=\"2\" media=\"$Number$\"/><Representation id=\"a\" \
        bandwidth=\"1000\"/></AdaptationSet></Period></MPD>";
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Each viewer asks up to 50 times in a trial: a single refusal is more.
const HELD: &str = "failures<0.1%";

const SHORT: &str = "--play manifest --settle 0s --step 1s --json";

#[test]
fn the_capacity_is_the_server_s() {
    isolated!(heavy);
    let found = ran(
        0,
        &format!("load find-capacity {} {SHORT} --hold {HELD} -q", server()),
    )
    .json();
    assert_eq!(found["found"], "capacity", "{found}");
    assert_eq!(
        (count(&found["viewers"]), count(&found["low"])),
        (6, 6),
        "{found}"
    );
    assert_eq!(count(&found["high"]), 7, "{found}");
    assert_eq!(found["holds"], serde_json::json!(["failures < 0.1 %"]));
    let trials = found["trials"].as_array().expect("trials");
    let tried = |viewers: u64| trials.iter().filter(|trial| trial["viewers"] == viewers).count();
    assert!(tried(6) >= 3 && tried(7) >= 3 && tried(1) == 1, "{found}");
    for trial in trials {
        let held = count(&trial["viewers"]) <= CAPACITY as u64;
        assert_eq!(trial["verdict"], if held { "held" } else { "broke" }, "{trial}");
        assert_eq!(trial["conditions"][0]["held"], held, "{trial}");
    }
    // Each trial is a run that belongs to the search.
    let database = Database::open("weir.db");
    let children = format!(
        "SELECT count(*) FROM runs WHERE parent_run_id = {}",
        found["run"]["id"]
    );
    assert_eq!(database.one::<i64>(&children), trials.len() as i64);
    let requests: i64 = database.one("SELECT sum(requests) FROM load_seconds");
    let counted: u64 = trials.iter().map(|trial| count(&trial["requests"])).sum();
    assert_eq!(requests as u64, counted);
}

#[test]
fn a_search_that_is_interrupted_tells_what_it_knows() {
    isolated!(heavy);
    let search = started(&format!(
        "load find-capacity {} {SHORT} --hold p50<150ms",
        server()
    ));
    // The third trial is on its way when two have ended.
    wait_until("two trials", LIMIT, || {
        (search.stderr().matches("passed").count() >= 2).then_some(())
    });
    search.signal("INT");
    let found = search.wait(LIMIT).expect_code(0).json();
    assert_eq!(found["run"]["outcome"], "interrupted", "{found}");
    assert_eq!(found["found"], Value::Null);
    assert!(count(&found["viewers"]) >= 2, "{found}");
    let outcomes = "SELECT count(*) FROM runs WHERE outcome = 'running'";
    assert_eq!(Database::open("weir.db").one::<i64>(outcomes), 0);
}
