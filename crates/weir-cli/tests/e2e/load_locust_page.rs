//! What Locust's page orders of Weir's workers: options, a ramp, and another worker in the middle of a test. A stock master gives
//! the orders over its HTTP interface, and nginx's log says what came of them.

use std::collections::BTreeSet;

use crate::LIMIT;
use crate::lab::{isolated, see_own_processes, wait_until};
use crate::load_locust::{master, post, stub, told, users_of_workers, worker};
use crate::load_options::server::{Line, PLAIN, Server};

/// Waits until the test goes on as `holds` says of the newest lines of the log.
fn wait_for_lines(server: &Server, what: &str, holds: impl Fn(&[Line]) -> bool) -> Vec<Line> {
    wait_until(what, LIMIT, || {
        let lines = server.peek();
        holds(&lines).then_some(lines)
    })
}

fn stop() {
    post("stop", "");
    wait_until("the end", LIMIT, || (told()["state"] == "stopped").then_some(()));
}

#[test]
fn options_and_users_are_those_of_the_page() {
    isolated!(heavy);
    see_own_processes();
    let server = Server::start();
    // The command line names no address: all comes from the page.
    let master = master(&stub(), &["WeirDash"]);
    let first = worker(0);
    users_of_workers("a worker", 1, 0);
    let order = |users: u64, rate: u64, play: &str, rung: &str| {
        post(
            "swarm",
            &format!(
                "user_count={users}&spawn_rate={rate}&weir_dash=http://{PLAIN}/film/list.mpd&weir_play={play}&weir_rung={rung}"
            ),
        );
    };

    // Two users a second, and manifests alone.
    order(6, 2, "manifest", "highest");
    let mut counts = Vec::new();
    wait_until("six users", LIMIT, || {
        let now = told()["user_count"].as_u64()?;
        counts.push(now);
        (now == 6).then_some(())
    });
    assert!(
        counts.is_sorted() && counts.iter().all(|count| count % 2 == 0),
        "{counts:?}"
    );
    assert!(counts.contains(&2) || counts.contains(&4), "{counts:?}");
    let viewers = |lines: &[Line]| lines.iter().map(|line| line.connection).collect::<BTreeSet<_>>();
    let lines = wait_for_lines(&server, "all of them", |lines| viewers(lines).len() == 6);
    assert!(lines.iter().all(Line::is_manifest));
    // Users come in pairs, a second after each other.
    let mut came: Vec<u64> = Vec::new();
    let mut seen = BTreeSet::new();
    came.extend(
        lines
            .iter()
            .filter(|line| seen.insert(line.connection))
            .map(|line| line.at_ms),
    );
    assert!(came[2] - came[1] > 500 && came[4] - came[3] > 500, "{came:?}");

    // Other options, from the same page.
    stop();
    let before = server.peek().len();
    order(6, 6, "loop", "lowest");
    let lines = wait_for_lines(&server, "segments", |lines| {
        lines[before..]
            .iter()
            .filter(|line| line.rung().is_some())
            .count()
            > 50
    });
    assert!(
        lines[before..]
            .iter()
            .all(|line| matches!(line.rung(), None | Some(0)))
    );

    // One that joins in the middle is given its share, and does the same.
    let second = worker(1);
    wait_until("its share", LIMIT, || {
        (users_of_workers("all of them", 2, 6) == [3, 3]).then_some(())
    });
    let before = server.peek().len();
    let lines = wait_for_lines(&server, "all of them at work", |lines| {
        viewers(&lines[before..]).len() >= 6
    });
    assert!(
        lines[before..]
            .iter()
            .all(|line| matches!(line.rung(), None | Some(0)))
    );
    stop();
    master.signal("TERM");
    master.wait(LIMIT);
    // Together they count what the server does, to the request.
    let mut requests = 0;
    for worker in [first, second] {
        let summary = worker.wait(LIMIT).expect_code(0).json();
        assert_eq!(summary["all"]["failed"], 0, "{summary}");
        let own = summary["all"]["requests"].as_u64().expect("a count");
        assert!(own > 20, "{summary}");
        requests += own;
    }
    assert_eq!(requests, server.peek().len() as u64);
}
