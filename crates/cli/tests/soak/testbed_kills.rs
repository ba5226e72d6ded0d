//! Testbeds with tasks on two hosts, whose runner is killed at random moments: cleaning leaves nothing on any host, and no machine that
//! was launched. And a host whose network goes away.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use weir_rig::{
    Finished, LIMIT, Running, SCRATCH, binary, engine, isolated, ran, run, run_within, started, wait_until,
    weir_line,
};

use super::engines::kill_engines;
use super::hosts::{Beds, hide_temporary_files, make_bridge, make_hosts};
use super::launch_kills::random;

const KILLS: u32 = 20;

/// Storage and viewer on one host, to which the program is copied, the origin on another.
fn workflow(time: &str) -> String {
    format!(
        "name = 'killed'\ndescription = 'origin before storage'\n\
         [[task]]\nname = 'storage'\nfunction = 'weir-source'\nhost = 'h1'\n\
         parameters = {{ video = '300kbit/s', audio = '64kbit/s', duration = '10s' }}\n\
         [[task]]\nname = 'middle'\nfunction = 'origin'\nhost = 'h2'\n\
         [[task]]\nname = 'viewers'\nfunction = 'weir-sink'\nhost = 'h1'\nparameters = {{ viewers = 2, for = '{time}' }}\n\
         [[connection]]\nfrom = 'storage'\nto = 'middle'\n[[connection]]\nfrom = 'middle'\nto = 'viewers'\n"
    )
}

/// Machines that are namespaces.
const MAKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/make_namespaces.sh");
const RUN: &str = "testbed run killed.toml --hosts hosts.yaml --json --quiet";

#[test]
fn twenty_runs_killed_at_random_moments_leave_nothing_that_clean_does_not_find() {
    isolated!(root);
    let _hosts = make_hosts(2);
    let file = fs::read_to_string("hosts.yaml").unwrap();
    fs::write(
        "hosts.yaml",
        file.replace("test-address: 10.1.", "test-address: 10.9."),
    )
    .unwrap();
    fs::write("killed.toml", workflow("2s")).unwrap();
    // The title is made once.
    ran(0, RUN);
    let began = Instant::now();
    ran(0, RUN);
    let took = began.elapsed();
    Beds::nothing_is_left();
    for kill in 1..=KILLS {
        let killed = started(RUN);
        let moment = Duration::from_millis(random(took.as_millis() as u64));
        std::thread::sleep(moment);
        drop(killed);
        ran(0, "testbed clean --hosts hosts.yaml --json");
        Beds::nothing_is_left();
        eprintln!("kill {kill} of {KILLS} after {moment:.1?} of {took:.1?}: nothing left");
    }

    // What SSH finds out in 15 s.
    fs::write("killed.toml", workflow("120s")).unwrap();
    let runner = started(RUN);
    wait_until("a workload", LIMIT, || {
        let states = ran(0, "testbed status --json").stdout;
        states.contains("\"running\"").then_some(())
    });
    run("ip", &["link", "set", "b2", "down"]);
    runner.wait(LIMIT).expect_code(3).error_has("host h2 is lost");
    run("ip", &["link", "set", "b2", "up"]);
    ran(0, "testbed clean --hosts hosts.yaml --json");
    Beds::nothing_is_left();
}

fn on_machines(line: &str) -> Command {
    let mut command = weir_line(&format!("{line} --state states --json --quiet"));
    command
        .env("WEIR_TEST_FOLDER", SCRATCH)
        .env("WEIR_TEST_BINARY", binary());
    command
}

#[track_caller]
fn cleaned() -> Finished {
    run_within(LIMIT, on_machines("testbed clean")).expect_code(0)
}

#[test]
fn twenty_runs_on_launched_machines_killed_with_their_engines_leave_no_machine_that_clean_does_not_find() {
    isolated!(root);
    let engine = engine().expect("terraform or tofu in PATH");
    // Parts have folders there, which real machines would take with them.
    hide_temporary_files();
    make_bridge();
    for folder in ["machines", "numbers"] {
        fs::create_dir(folder).unwrap();
    }
    let run = format!(
        "testbed run killed.toml --machines-by {MAKER} --launch h1=aws:eu-west-1 --launch h2=aws:eu-west-1,gcp:europe-west3"
    );
    fs::write("killed.toml", workflow("1s")).unwrap();
    // The title is made once.
    run_within(LIMIT, on_machines(&run)).expect_code(0);
    let began = Instant::now();
    run_within(LIMIT, on_machines(&run)).expect_code(0);
    let took = began.elapsed();
    for kill in 1..=KILLS {
        let killed = Running::start(on_machines(&run));
        let moment = Duration::from_millis(random(took.as_millis() as u64));
        std::thread::sleep(moment);
        drop(killed);
        kill_engines(&engine);
        cleaned();
        for folder in ["machines", "states"] {
            assert_eq!(
                fs::read_dir(folder).unwrap().count(),
                0,
                "{folder} after {moment:?}"
            );
        }
        eprintln!("kill {kill} of {KILLS} after {moment:.1?} of {took:.1?}: no machine left");
    }
}
