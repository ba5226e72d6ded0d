//! How long viewers wait for servers that do not answer, by what they account for; and the threads that viewers are on, as the
//! kernel names them.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::server::{PLAIN, Server};
use weir_rig::{LIMIT, Running, count, isolated, run_within, see_own_processes, wait_until, weir};

/// Takes connections and reads what comes, and says nothing.
fn silent() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {});
        }
    });
    address
}

/// Takes no connection: its queue is full, and the kernel drops what comes then.
fn full() -> (Running, SocketAddr) {
    let script = "import socket, time
server = socket.socket()
server.bind(('127.0.0.1', 0))
server.listen(0)
held = []
while True:
    one = socket.socket()
    one.settimeout(0.3)
    held.append(one)
    try:
        one.connect(server.getsockname())
    except TimeoutError:
        break
print(server.getsockname()[1], flush=True)
time.sleep(1000)";
    let mut python = Command::new("python3");
    python.args(["-c", script]);
    let mut server = Running::start(python);
    let port: u16 = server.first_line(LIMIT).trim().parse().expect("a port");
    (server, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// The account of a run of which every request fails under this cause, and none before its time, in milliseconds. None waits
/// as long as without any option, either.
#[track_caller]
fn fails(server: SocketAddr, options: &str, cause: &str, at_least_ms: u64) -> Value {
    let url = format!("http://{server}/list.mpd");
    let mut arguments = vec!["load", &url, "--play", "manifest", "--for", "3s", "--json", "-q"];
    arguments.extend(options.split_whitespace());
    let summary = run_within(LIMIT, weir(&arguments)).expect_code(3).json();
    let all = &summary["all"];
    let failures = all["failures"].as_object().expect("failures");
    assert_eq!(failures.keys().collect::<Vec<_>>(), [cause], "{options}: {all}");
    assert_eq!(all["failed"], all["requests"], "{options}: {all}");
    let waited = |quantile: &str| Duration::from_nanos(count(&all["last_byte"][quantile]));
    // Histograms have three digits.
    assert!(
        waited("min").mul_f64(1.002) >= Duration::from_millis(at_least_ms),
        "{options}: {all}"
    );
    assert!(waited("p50") < Duration::from_secs(10), "{options}: {all}");
    summary
}

#[test]
fn nobody_waits_longer_than_told() {
    isolated!();
    let server = silent();
    // The connection is there at once: its time plays no part.
    fails(server, "--timeout 200ms --connect-timeout 50ms", "timeout", 200);
    fails(server, "--timeout 900ms --connect-timeout 50ms", "timeout", 900);
    let (_queue, server) = full();
    fails(
        server,
        "--timeout 50ms --connect-timeout 200ms",
        "connect_timeout",
        200,
    );
    let none = fails(
        server,
        "--timeout 50ms --connect-timeout 900ms",
        "connect_timeout",
        900,
    );
    assert_eq!(
        (&none["all"]["sent"], &none["all"]["connections"]),
        (&0.into(), &0.into())
    );
}

/// The threads of a process on which viewers are.
fn threads(process: u32) -> BTreeSet<String> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else {
        return BTreeSet::new();
    };
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.starts_with("viewers"))
        .map(|name| name.trim().to_owned())
        .collect()
}

#[test]
fn viewers_are_spread_over_as_many_threads_as_told() {
    isolated!();
    see_own_processes();
    let server = Server::start();
    let url = format!("http://{PLAIN}/film/list.mpd");
    for (options, expected) in [
        (&[][..], &["viewers-0"][..]),
        (&["--threads", "3"], &["viewers-0", "viewers-1", "viewers-2"]),
    ] {
        let arguments = [
            "load",
            &url,
            "--viewers",
            "7",
            "--for",
            "10min",
            "--rate",
            "100/s",
            "--json",
            "-q",
        ];
        let run = Running::start(weir(&[&arguments[..], options].concat()));
        let there = wait_until("its threads and all its viewers", LIMIT, || {
            let there = threads(run.id());
            (there.len() >= expected.len() && viewers(&server) >= 7).then_some(there)
        });
        assert_eq!(there.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        run.signal("INT");
        let summary = run.wait(LIMIT).expect_code(0).json();
        assert_eq!(summary["most_viewers"], 7, "{summary}");
        assert_eq!(summary["all"]["failed"], 0, "{summary}");
        server.pass_over(count(&summary["all"]["requests"]));
    }
}

/// Each viewer has a connection of its own.
fn viewers(server: &Server) -> usize {
    let lines = server.peek();
    lines
        .iter()
        .map(|line| line.connection)
        .collect::<BTreeSet<_>>()
        .len()
}
