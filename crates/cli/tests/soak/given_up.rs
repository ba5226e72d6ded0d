//! Tests that one end gives up, or does not begin: the other end says so, and does not show part of a test for all of it.

use std::time::{Duration, Instant};

use weir_rig::{Agent, Database, Host, LIMIT, count, isolated, started};

#[test]
fn a_stream_that_the_agent_ends_is_not_a_stream_without_loss() {
    isolated!(heavy);
    let agent = Agent::start(Host::Near, "--max-rate 2Mbit/s");
    let test =
        "--rate 2Mbit/s --burst 4 --length 1200 --flows 2 --for 30s --fail-if loss>0% --json --db overrun.db";
    let client = started(&format!("flows {} {test}", agent.local()));
    Database::wait_for_rows("overrun.db", "stream_seconds", 1);
    // A host that was held up catches up at twice the rate, which is more than the agent takes.
    client.signal("STOP");
    std::thread::sleep(Duration::from_secs(4));
    client.signal("CONT");
    let resumed = Instant::now();
    let done = client.wait(LIMIT).expect_code(3);
    // It would have sent for some 25 seconds more.
    assert!(resumed.elapsed() < Duration::from_secs(20), "it stopped sending");
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
    let stored = Database::open("overrun.db");
    assert_eq!(stored.one::<String>("SELECT outcome FROM runs"), "failed");
    let reason: String = stored.one("SELECT reason FROM runs");
    assert!(reason.contains("above the limit"), "{reason}");
}
