//! A stock Locust master, and `weir load` as its workers.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{LIMIT, Running, run, wait_until, weir};

/// Ports of the master; nobody else is in the test's namespace.
const MASTER: &str = "5557";
/// The master's page.
const PAGE: &str = "http://127.0.0.1:8089";

/// A stock Locust, as `scripts/install_prerequisites.sh test` puts it there.
pub fn locust() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.tools/locust/bin/locust");
    assert!(
        path.exists(),
        "{} is missing: run scripts/install_prerequisites.sh test",
        path.display()
    );
    path.display().to_string()
}

/// A master whose classes and addresses `orders` names.
pub fn master(locustfile: &str, orders: &[&str]) -> Running {
    let mut command = Command::new(locust());
    command.args(["--master", "-f", locustfile, "--master-bind-host", "127.0.0.1"]);
    command.args([
        "--master-bind-port",
        MASTER,
        "--web-host",
        "127.0.0.1",
        "--web-port",
        "8089",
    ]);
    // Without it, Locust reports a missing worker, and drops its users.
    command.arg("--enable-rebalancing").args(orders);
    Running::start(command)
}

/// `weir load` as a worker, with a database of its own.
pub fn worker(number: usize) -> Running {
    let database = database(number);
    let address = format!("127.0.0.1:{MASTER}");
    Running::start(weir(&[
        "load",
        "--locust-master",
        &address,
        "--json",
        "--db",
        &database,
    ]))
}

/// A worker's database.
pub fn database(number: usize) -> String {
    crate::path(&format!("worker{number}.db"))
}

/// What the page answers.
pub fn page(path: &str) -> String {
    run("curl", &["--silent", &format!("{PAGE}/{path}")])
}

/// The master's statistics of the test; null before it is up.
pub fn statistics() -> Value {
    let said = Command::new("curl")
        .args(["--silent", &format!("{PAGE}/stats/requests")])
        .output()
        .expect("curl");
    serde_json::from_slice(&said.stdout).unwrap_or(Value::Null)
}

/// Sends a form as the page does.
#[track_caller]
pub fn post(path: &str, form: &str) {
    let said = run("curl", &["--silent", "--data", form, &format!("{PAGE}/{path}")]);
    let said: Value = serde_json::from_str(&said).unwrap_or_default();
    assert_eq!(said["success"], true, "{said}");
}

/// Starts this number of users.
pub fn swarm(users: u64) {
    post("swarm", &format!("user_count={users}&spawn_rate={users}"));
}

/// The file that a master needs to know Weir's classes.
pub fn stub() -> String {
    let path = crate::path("locustfile.py");
    let stub = crate::run_within(LIMIT, weir(&["load", "locustfile"])).expect_code(0);
    std::fs::write(&path, stub.stdout).expect("a file");
    path
}

/// Users of each worker that has not gone missing, once they are `expected` in all.
pub fn users_of_workers(what: &str, workers: usize, expected: u64) -> Vec<u64> {
    wait_until(what, LIMIT, || {
        let statistics = statistics();
        let here = statistics["workers"].as_array()?.iter();
        let counts: Vec<u64> = here
            .filter(|worker| worker["state"] != "missing")
            .filter_map(|worker| worker["user_count"].as_u64())
            .collect();
        (counts.len() == workers && counts.iter().sum::<u64>() == expected).then_some(counts)
    })
}
