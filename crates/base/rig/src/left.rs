//! What a test or a command has left behind.

use crate::{LIMIT, run, wait_until};

/// No process, namespace or file of a lab is there.
#[track_caller]
pub fn nothing_is_left() {
    wait_until("the end of all processes", LIMIT, || {
        let others = other_processes();
        others.is_empty().then_some(())
    });
    assert_eq!(run("ip", &["netns", "list"]), "");
    assert_eq!(run("ip", &["-o", "link", "show", "type", "tun"]), "");
    for path in ["/run/weir/lab", "/run/netns"] {
        let entries = std::fs::read_dir(path).map_or(0, Iterator::count);
        assert_eq!(entries, 0, "{path}");
    }
}

/// Command lines of processes in this test's process namespace, but for the test itself.
pub fn other_processes() -> Vec<String> {
    let numbers = run("ls", &["/proc"]);
    let own = std::process::id();
    numbers
        .lines()
        .filter_map(|name| name.parse::<u32>().ok())
        .filter(|pid| *pid != 1 && *pid != own)
        .filter_map(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok())
        .filter(|line| !line.is_empty())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .collect()
}
