//! Tests that one end gives up, or does not begin: the other end says so, and does not show part of a test for all of it.

use std::time::{Duration, Instant};

use crate::lab::{
    self, Agent, Database, Host, Running, isolated, join_by_veth, run_within, wait_until, weir,
};
use crate::{LIMIT, count};

#[test]
fn a_stream_that_the_agent_ends_is_not_a_stream_without_loss() {
    isolated!(heavy);
    let agent = Agent::start(Host::Near, &["--max-rate", "10Mbit/s"]);
    let (target, database) = (agent.local(), lab::path("overrun.db"));
    let client = Running::start(weir(&[
        "flows",
        &target,
        "--rate",
        "10Mbit/s",
        "--length",
        "1200",
        "--flows",
        "2",
        "--for",
        "30s",
        "--fail-if",
        "loss > 0%",
        "--json",
        "--db",
        &database,
    ]));
    wait_until("the stream", LIMIT, || {
        let exists = std::path::Path::new(&database).exists();
        let seconds = exists.then(|| Database::try_count(&database, "stream_seconds"));
        seconds.flatten().filter(|seconds| *seconds > 0)
    });
    // A host that was held up catches up at twice the rate, which is more than the agent takes.
    client.signal("STOP");
    std::thread::sleep(Duration::from_secs(4));
    client.signal("CONT");
    let resumed = Instant::now();
    let done = client.wait(LIMIT).expect_code(3);
    assert!(resumed.elapsed() < Duration::from_secs(8), "it stopped sending");
    let error = done.one_error();
    assert!(
        error.contains("above the limit") && error.contains("unaccounted"),
        "{error}"
    );
    let said = done.json();
    assert_eq!(said["run"]["outcome"], "failed", "{said}");
    let forward = &said["forward"];
    let missing = count(&forward["sent"]) - count(&forward["received"]) - count(&forward["lost"]);
    assert_eq!(count(&forward["unaccounted"]), missing, "{said}");
    let stored = Database::open(&database);
    assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "failed");
    let reason: String = stored.one("SELECT reason FROM runs");
    assert!(reason.contains("above the limit"), "{reason}");
}

#[test]
fn packets_too_long_for_the_interface_are_refused_before_the_first() {
    isolated!();
    join_by_veth(1500);
    let agent = Agent::start(Host::Far, &["--open"]);
    let target = agent.at(lab::FAR_IPV4);
    let started = Instant::now();
    let done = run_within(
        LIMIT,
        weir(&["rtt", &target, "--length", "100..9000", "--for", "5s"]),
    )
    .expect_code(2);
    let error = done.one_error();
    assert!(
        error.contains("--length 9000 does not fit") && error.contains("1472"),
        "{error}"
    );
    assert!(started.elapsed() < Duration::from_secs(2));
}
