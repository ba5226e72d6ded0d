//! What Locust's page orders of Weir's workers: options, a ramp, and another worker in the middle of a test. A stock
//! master gives the orders over its HTTP interface, and nginx's log says what came of them.

use std::collections::BTreeSet;

use crate::load_options::server::{Line, PLAIN, Server};
use weir_rig::locust::{master, post, statistics, stub, users_of_workers, worker};
use weir_rig::{LIMIT, isolated, see_own_processes, wait_until};

const USERS: u64 = 12;

/// Waits until `holds` is true for the newest lines of the log.
fn wait_for_lines(server: &Server, what: &str, holds: impl Fn(&[Line]) -> bool) -> Vec<Line> {
    wait_until(what, LIMIT, || {
        let lines = server.peek();
        holds(&lines).then_some(lines)
    })
}

fn stop() {
    post("stop", "");
    wait_until("the end", LIMIT, || {
        (statistics()["state"] == "stopped").then_some(())
    });
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

    // Two users per second, and manifests only. The page updates users every two seconds.
    order(USERS, 2, "manifest", "highest");
    let mut counts = BTreeSet::new();
    wait_until("all users", LIMIT, || {
        let now = statistics()["user_count"].as_u64()?;
        // Never fewer than before.
        assert!(
            counts.last().is_none_or(|most| *most <= now),
            "{now} after {counts:?}"
        );
        counts.insert(now);
        (now == USERS).then_some(())
    });
    assert!(counts.iter().all(|count| count % 2 == 0), "{counts:?}");
    assert!(
        counts.iter().any(|count| (1..USERS).contains(count)),
        "{counts:?}"
    );
    let viewers = |lines: &[Line]| lines.iter().map(|line| line.connection).collect::<BTreeSet<_>>();
    let lines = wait_for_lines(&server, "all of them", |lines| {
        viewers(lines).len() as u64 == USERS
    });
    assert!(lines.iter().all(Line::is_manifest));
    let mut seen = BTreeSet::new();
    let first_of_each = lines.iter().filter(|line| seen.insert(line.connection));
    let came: Vec<u64> = first_of_each.map(|line| line.at_ms).collect();
    // From the first pair to the last there are five seconds; a busy machine may be late with the first.
    assert!(came[came.len() - 1] - came[0] > 2_500, "{came:?}");

    // Other options, from the same page.
    stop();
    let before = server.peek().len();
    order(USERS, USERS, "loop", "lowest");
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
        (users_of_workers("all of them", 2, USERS) == [USERS / 2; 2]).then_some(())
    });
    let before = server.peek().len();
    let lines = wait_for_lines(&server, "all of them at work", |lines| {
        viewers(&lines[before..]).len() as u64 >= USERS
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
