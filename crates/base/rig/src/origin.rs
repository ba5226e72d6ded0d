//! An origin as a user starts it, its clients and its metrics.

use std::process::Command;

use crate::{Finished, LIMIT, Running, count, run, run_within, started};

/// An origin with these options that is served, and its address.
#[track_caller]
pub fn start(options: &str) -> (Running, String) {
    let mut process = started(&format!("origin {options} --listen 127.0.0.1:0"));
    let url = process.first_line(LIMIT);
    (process, url)
}

/// Ends it as an operator does.
#[track_caller]
pub fn stop(process: Running) -> Finished {
    process.signal("TERM");
    process.wait(LIMIT).expect_code(0)
}

/// Asks for the addresses in its arguments and prints status and body of each as JSON.
const GET: &str = r#"
import json, sys, urllib.error, urllib.request
answers = []
for url in sys.argv[1:]:
    try:
        answer = urllib.request.urlopen(url, timeout=20)
    except urllib.error.HTTPError as error:
        answer = error
    answers.append({"status": answer.status, "body": answer.read().decode("latin-1")})
print(json.dumps(answers))
"#;

/// Status and body of each of these addresses.
#[track_caller]
pub fn get(urls: &[impl AsRef<std::ffi::OsStr>]) -> Vec<(u64, String)> {
    let mut python = Command::new("python3");
    python.args(["-c", GET]).args(urls);
    let told = run_within(LIMIT, python).expect_code(0).json();
    let told = told.as_array().expect("answers").iter();
    told.map(|answer| {
        (
            count(&answer["status"]),
            answer["body"].as_str().expect("a body").to_owned(),
        )
    })
    .collect()
}

/// The origin's metrics, as text.
#[track_caller]
pub fn metrics(url: &str) -> String {
    get(&[format!("{url}metrics")]).remove(0).1
}

/// Value of a sample in them.
#[track_caller]
pub fn value(metrics: &str, sample: &str) -> u64 {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {sample} in {metrics}"))
        .parse()
        .expect("a number")
}

/// A certificate for 127.0.0.1 that is its own root, and its key, as `cert.pem` and `key.pem`.
pub fn make_certificate(name: &str) {
    let line = format!(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={name} \
         -addext subjectAltName=IP:127.0.0.1 -out {} -keyout {}",
        crate::path("cert.pem"),
        crate::path("key.pem")
    );
    run("openssl", &line.split(' ').collect::<Vec<_>>());
}
