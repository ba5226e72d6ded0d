//! `weir load find-capacity` against a server whose capacity is known: it answers late as soon as it has more connections
//! than so many.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::lab::{self, Database, Finished, Running, isolated, run_within, wait_until, weir};
use crate::{LIMIT, count};

const CAPACITY: u32 = 6;
const SOON: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_millis(300);

/// The address of a manifest there.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let connections = Arc::new(AtomicU32::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connections = connections.clone();
            std::thread::spawn(move || {
                connections.fetch_add(1, Ordering::SeqCst);
                serve(stream, &connections);
                connections.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    format!("http://{address}/film.mpd")
}

fn serve(mut stream: TcpStream, connections: &AtomicU32) {
    let body = "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" mediaPresentationDuration=\"PT2S\"><Period><AdaptationSet \
        mimeType=\"video/mp4\"><SegmentTemplate duration=\"2\" media=\"$Number$\"/><Representation id=\"a\" \
        bandwidth=\"1000\"/></AdaptationSet></Period></MPD>";
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
    while let Some(Ok(line)) = lines.next() {
        if !line.is_empty() {
            continue;
        }
        let crowded = connections.load(Ordering::SeqCst) > CAPACITY;
        std::thread::sleep(if crowded { LATE } else { SOON });
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

const SHORT: [&str; 6] = ["--play", "manifest", "--settle", "0s", "--step", "1s"];

#[track_caller]
fn find(status: i32, url: &str, options: &[&str]) -> Finished {
    let arguments = [&["load", "find-capacity", url], SHORT.as_slice(), options].concat();
    run_within(3 * LIMIT, weir(&arguments)).expect_code(status)
}

#[test]
fn the_capacity_is_the_server_s() {
    isolated!(heavy);
    let (url, database) = (server(), lab::path("weir.db"));
    let found = find(
        0,
        &url,
        &["--hold", "p50 < 150ms", "--json", "-q", "--db", &database],
    )
    .json();
    assert_eq!(found["found"], "capacity", "{found}");
    assert_eq!(
        (count(&found["viewers"]), count(&found["low"])),
        (6, 6),
        "{found}"
    );
    assert_eq!(count(&found["high"]), 7, "{found}");
    assert_eq!(found["holds"], serde_json::json!(["p50 < 150 ms"]));
    let trials = found["trials"].as_array().expect("trials");
    let tried = |viewers: u64| trials.iter().filter(|trial| trial["viewers"] == viewers).count();
    assert!(tried(6) >= 3 && tried(7) >= 3 && tried(1) == 1, "{found}");
    for trial in trials {
        let held = count(&trial["viewers"]) <= u64::from(CAPACITY);
        assert_eq!(trial["verdict"], if held { "held" } else { "broke" }, "{trial}");
        assert_eq!(trial["conditions"][0]["held"], held, "{trial}");
    }
    // Each trial is a run that belongs to the search.
    let database = Database::open(&database);
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
fn limits_that_are_not_reached_or_cannot_be_met() {
    isolated!(heavy);
    let url = server();
    let hold = ["--hold", "p50 < 150ms", "-q"];
    let all = find(
        0,
        &url,
        &[hold.as_slice(), &["--from", "2", "--most", "3", "--json"]].concat(),
    )
    .json();
    assert_eq!(
        (&all["found"], count(&all["viewers"])),
        (&Value::from("all_held"), 3),
        "{all}"
    );
    assert_eq!(all["high"], Value::Null);
    let none = find(1, &url, &["--hold", "p50 < 1ms", "-q"]);
    assert!(none.stderr.contains("not even one viewer"), "{}", none.stderr);
    assert!(
        none.stdout.contains("capacity: 0 viewers with p50 < 1.00 ms"),
        "{}",
        none.stdout
    );
    let refused = |options: &[&str]| {
        let arguments = [&["load", "find-capacity", &url], options].concat();
        run_within(LIMIT, weir(&arguments)).expect_code(2).stderr
    };
    assert!(refused(&[]).contains("--hold"));
    assert!(refused(&["--hold", "loss < 1%"]).contains("does not measure loss"));
    assert!(refused(&["--hold", "p50 < 1s", "--viewers", "3"]).contains("--viewers does not go with"));
    assert!(refused(&["--hold", "p50 < 1s", "--from", "5", "--most", "3"]).contains("is above"));
}

#[test]
fn a_search_that_is_interrupted_tells_what_it_knows() {
    isolated!(heavy);
    let (url, database) = (server(), lab::path("weir.db"));
    let arguments = [&["load", "find-capacity", &url], SHORT.as_slice()].concat();
    let options = ["--hold", "p50 < 150ms", "--json", "--db", &database];
    let search = Running::start(weir(&[arguments.as_slice(), &options].concat()));
    // The third trial is on its way when two have ended.
    wait_until("two trials", LIMIT, || {
        (search.stderr().matches("held").count() >= 2).then_some(())
    });
    search.signal("INT");
    let found = search.wait(LIMIT).expect_code(0).json();
    assert_eq!(found["run"]["outcome"], "interrupted", "{found}");
    assert_eq!(found["found"], Value::Null);
    assert!(count(&found["viewers"]) >= 2, "{found}");
    let outcomes = "SELECT count(*) FROM runs WHERE outcome = 'running'";
    assert_eq!(Database::open(&database).one::<i64>(outcomes), 0);
}
