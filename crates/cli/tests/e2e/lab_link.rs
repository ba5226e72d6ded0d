//! `weir lab link`: links that stay, what is seen of them, and what is left when their process dies.

use std::path::Path;

use weir_rig::{Finished, LIMIT, count, isolated, run, run_within, see_own_processes, wait_until, weir};

#[track_caller]
fn link(code: i32, arguments: &[&str]) -> Finished {
    run_within(LIMIT, weir(&[&["lab", "link"], arguments].concat())).expect_code(code)
}

fn namespaces() -> Vec<String> {
    let mut names: Vec<String> = run("ip", &["netns", "list"])
        .lines()
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect();
    names.sort();
    names
}

#[track_caller]
fn nothing_is_left() {
    assert_eq!(namespaces(), [""; 0]);
    let states = std::fs::read_dir("/run/weir/lab").map_or(0, Iterator::count);
    assert_eq!(states, 0);
}

#[test]
fn a_link_goes_up_is_shown_and_used_and_goes_down() {
    isolated!();
    see_own_processes();
    let up = link(0, &["up", "oracle", "--rtt", "10ms", "--json"]).json();
    assert_eq!(
        (&up["name"], &up["spec"]["name"]),
        (&"link".into(), &"oracle".into())
    );
    assert_eq!(namespaces(), ["weir-link-far", "weir-link-near"]);

    // A datagram there, by the names that 'ip netns exec' takes and by our own shell.
    let send =
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('198.18.0.2', 9))";
    run("ip", &["netns", "exec", "weir-link-near", "python3", "-c", send]);
    let by_name = send.replace("198.18.0.2", "far");
    link(0, &["shell", "near", "--", "python3", "-c", &by_name]);
    let shown = wait_until("the account", LIMIT, || {
        let shown = link(0, &["show", "--json"]).json();
        (count(&shown["account"]["forward"]["delivered"]) == 2).then_some(shown)
    });
    // Nobody listens there, and the far host says so.
    assert_eq!(shown["account"]["reverse"]["offered"], 2);
    assert!(shown["in_words"].to_string().contains("2 routes"), "{shown}");
    assert!(link(0, &["show"]).stdout.contains("ip netns exec weir-link-far"));

    let done = link(
        7,
        &[
            "shell",
            "far",
            "link",
            "--",
            "sh",
            "-c",
            "ls /sys/class/net; exit 7",
        ],
    );
    assert_eq!(done.stdout, "lo\nweir0\n");
    assert_eq!(link(0, &["down"]).stdout, "link link is down\n");
    nothing_is_left();
    assert!(link(2, &["down"]).one_error().contains("no link is up"));
    assert!(
        link(2, &["show", "other"])
            .one_error()
            .contains("no link 'other'")
    );
}

#[test]
fn links_are_told_apart_by_name() {
    isolated!();
    see_own_processes();
    link(0, &["up", "-q", "--name", "one", "--rtt", "5ms"]);
    link(0, &["up", "-q", "--name", "two"]);
    assert!(
        link(2, &["up", "--name", "one"])
            .one_error()
            .contains("a link 'one' already")
    );
    let which = link(2, &["show"]);
    assert!(
        which.one_error().contains("name one of: one, two"),
        "{}",
        which.stderr
    );
    assert!(link(2, &["up", "--name", "a/b"]).one_error().contains("'a/b'"));
    assert!(
        link(2, &["shell", "near", "two", "--", "/nowhere"])
            .one_error()
            .contains("/nowhere")
    );

    let removed = run_within(LIMIT, weir(&["lab", "clean", "--json"]))
        .expect_code(0)
        .json();
    assert_eq!(removed["removed"], serde_json::json!([]), "both are alive");
    link(0, &["down", "one"]);
    assert_eq!(namespaces(), ["weir-two-far", "weir-two-near"]);
    let removed = run_within(LIMIT, weir(&["lab", "clean", "--all", "--json"]))
        .expect_code(0)
        .json();
    assert_eq!(removed["removed"], serde_json::json!(["two"]));
    nothing_is_left();
}

/// Kills the process that carries the link, and waits for its end.
#[track_caller]
fn kill_carrier(name: &str) {
    let pid = link(0, &["show", name, "--json"]).json()["pid"].to_string();
    run("kill", &["-KILL", &pid]);
    wait_until("its end", LIMIT, || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    });
}

#[test]
fn what_a_killed_process_leaves_is_said_and_cleaned() {
    isolated!();
    see_own_processes();
    link(0, &["up", "-q", "--name", "one"]);
    kill_carrier("one");
    assert_eq!(namespaces(), ["weir-one-far", "weir-one-near"]);
    assert!(link(3, &["show", "one"]).one_error().contains("weir lab clean"));
    let done = run_within(LIMIT, weir(&["lab", "clean"])).expect_code(0);
    assert_eq!(done.stdout, "removed one\n");
    nothing_is_left();

    // 'up' does it by itself.
    link(0, &["up", "-q", "--name", "one"]);
    kill_carrier("one");
    link(0, &["up", "-q", "--name", "one", "--rtt", "3ms"]);
    assert!(link(0, &["show"]).stdout.contains("3ms"));
    link(0, &["down"]);
    nothing_is_left();
    assert!(!Path::new("weir.db").exists());
}

#[test]
fn profiles_are_listed_and_can_be_taken_over() {
    isolated!();
    see_own_processes();
    let list = run_within(LIMIT, weir(&["lab", "profiles"]))
        .expect_code(0)
        .stdout;
    for name in [
        "aws", "google", "azure", "oracle", "home-10M", "home-40M", "lte", "wan-80ms",
    ] {
        assert!(
            list.lines().any(|line| line.starts_with(name)),
            "{name} in {list}"
        );
    }
    let text = run_within(LIMIT, weir(&["lab", "profiles", "--show", "oracle"]))
        .expect_code(0)
        .stdout;
    std::fs::write("mine.toml", text).expect("a file");
    link(0, &["up", "-q", "mine.toml"]);
    assert!(link(0, &["show"]).stdout.contains("2 routes"));
    link(0, &["down"]);
    let unknown = run_within(LIMIT, weir(&["lab", "profiles", "--show", "nowhere"])).expect_code(2);
    assert!(unknown.one_error().contains("oracle"), "{}", unknown.stderr);
}
