//! `scripts/demo.sh`, as `make demo` runs it: on a machine whose processors are taken, where no networks can be made, and
//! interrupted.

use std::process::Command;

use weir_rig::{
    Database, Finished, LIMIT, Running, isolated, nothing_is_left, run_within, see_own_processes, wait_until,
};

/// The script with the binary under test; `around` are words before it.
fn demo(around: &[&str]) -> Command {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/demo.sh");
    let words = [around, &["bash", script]].concat();
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .env("WEIR", weir_rig::binary())
        .env("DEMO_DB", weir_rig::path("demo.db"))
        .env("DEMO_SURVEY", "--step 200ms --max-flows 2")
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY");
    command
}

/// Results, a report, what to try next, and nothing else is left.
#[track_caller]
fn succeeded(done: Finished) -> Finished {
    let done = done.expect_code(0);
    let page = std::fs::read_to_string(weir_rig::path("demo.html")).expect("a report");
    assert!(page.contains("<html"), "{} bytes", page.len());
    let surveys = "SELECT count(*) FROM runs WHERE kind = 'survey' AND outcome = 'finished'";
    assert_eq!(Database::open(&weir_rig::path("demo.db")).one::<i64>(surveys), 1);
    let (_, end) = done.stdout.rsplit_once("Report: ").expect("the report's path");
    for next in ["diagnose last -v", "ui --db", "lab profiles"] {
        assert!(end.contains(next), "{next} in {end}");
    }
    nothing_is_left();
    done
}

/// Nothing but files of the demo is there, and they go.
#[track_caller]
fn forget() {
    nothing_is_left();
    for file in std::fs::read_dir(weir_rig::SCRATCH).expect("the scratch directory") {
        let name = file.expect("a file").file_name();
        assert!(name.to_string_lossy().starts_with("demo."), "{name:?}");
        std::fs::remove_file(name).expect("it goes");
    }
}

#[test]
fn interrupted_it_leaves_nothing_and_it_succeeds_without_networks_and_on_one_busy_processor() {
    isolated!(heavy);
    see_own_processes();
    // A process group of its own, which gets the signal as from a terminal.
    let running = Running::start(demo(&["setsid"]));
    wait_until("the survey", LIMIT, || {
        running.stderr().contains("survey of").then_some(())
    });
    weir_rig::run("bash", &["-c", &format!("kill -INT -- -{}", running.id())]);
    running.wait(LIMIT);
    forget();

    // A user namespace below which there are none, and in which root may make no networks.
    let forbid = "echo 0 >/proc/sys/user/max_user_namespaces && \
                  exec setpriv --bounding-set -sys_admin,-net_admin --inh-caps -sys_admin,-net_admin \"$@\"";
    let around = ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh"];
    let done = succeeded(run_within(LIMIT, demo(&around)));
    done.stderr_has("cannot make network namespaces");
    let target = "SELECT target FROM runs WHERE kind = 'survey'";
    let target: String = Database::open(&weir_rig::path("demo.db")).one(target);
    assert!(target.starts_with("127.0.0.1:"), "{target}");
    forget();

    let processors = std::thread::available_parallelism().expect("their count").get();
    let busy: Vec<_> = (0..processors)
        .map(|processor| {
            let mut busy = Command::new("taskset");
            busy.args(["-c", &processor.to_string(), "sh", "-c", "while :; do :; done"]);
            Running::start(busy)
        })
        .collect();
    let done = run_within(LIMIT, demo(&["taskset", "-c", "0"]));
    drop(busy);
    succeeded(done);
}
