//! `scripts/demo.sh`, as `make demo` runs it: on a machine whose processors are taken, on one processor, and where no
//! networks can be made.

use std::process::Command;

use weir_rig::nothing_is_left;
use weir_rig::{Database, Finished, LIMIT, Running, isolated, run_within, see_own_processes, wait_until};

/// The script with the binary under test; `around` are words before it, as in `taskset -c 0`.
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

/// Loops that take all the processor time that they get, until they are dropped.
fn busy_loops(count: usize) -> Vec<Running> {
    (0..count)
        .map(|_| {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            Running::start(command)
        })
        .collect()
}

/// Runs it to its end, and `stop` what is beside it: results, a report, what to try next, and nothing else is left.
#[track_caller]
fn succeeds(command: Command, stop: impl FnOnce()) -> Finished {
    let done = run_within(LIMIT, command).expect_code(0);
    stop();
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

#[test]
fn it_succeeds_beside_busy_loops() {
    isolated!(heavy);
    see_own_processes();
    let loops = busy_loops(std::thread::available_parallelism().map_or(2, usize::from));
    succeeds(demo(&[]), || drop(loops));
}

#[test]
fn it_succeeds_on_one_processor() {
    isolated!(heavy);
    see_own_processes();
    succeeds(demo(&["taskset", "-c", "0"]), || ());
}

#[test]
fn where_no_networks_can_be_made_it_says_why_and_surveys_loopback() {
    isolated!(heavy);
    see_own_processes();
    // A user namespace below which there are none, and in which root may make no networks.
    let forbid = "echo 0 >/proc/sys/user/max_user_namespaces && \
                  exec setpriv --bounding-set -sys_admin,-net_admin --inh-caps -sys_admin,-net_admin \"$@\"";
    let around = ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh"];
    let done = succeeds(demo(&around), || ());
    assert!(
        done.stderr.contains("cannot make network namespaces"),
        "{}",
        done.stderr
    );
    let target = "SELECT target FROM runs WHERE kind = 'survey'";
    let target: String = Database::open(&weir_rig::path("demo.db")).one(target);
    assert!(target.starts_with("127.0.0.1:"), "{target}");
}

#[test]
fn interrupted_it_leaves_nothing_but_its_results() {
    isolated!(heavy);
    see_own_processes();
    // A process group of its own, which gets the signal as from a terminal.
    let running = Running::start(demo(&["setsid"]));
    wait_until("the survey", LIMIT, || {
        running.stderr().contains("survey of").then_some(())
    });
    weir_rig::run("bash", &["-c", &format!("kill -INT -- -{}", running.id())]);
    running.wait(LIMIT);
    nothing_is_left();
    let left = std::fs::read_dir(weir_rig::SCRATCH).expect("the scratch directory");
    for file in left.filter_map(Result::ok) {
        let name = file.file_name().to_string_lossy().into_owned();
        assert!(name.starts_with("demo."), "{name}");
    }
}
