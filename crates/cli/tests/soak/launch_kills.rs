//! Launches against a server of AWS's API, killed with their engines at random moments: a sweep leaves nothing.

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use super::aws_server::{LAUNCH, in_the_cloud, missing, nothing_is_left, start_server};
use super::engines::kill_engines;
use weir_rig::{LIMIT, Running, SCRATCH, engine, isolated, run_within, see_own_processes, weir_line};

const REGIONS: [&str; 2] = ["eu-west-1", "us-east-1"];
/// In each of four tests, since a kill with its sweeps takes minutes: the program that asks AWS is slow to start.
const KILLS: u32 = 5;
/// A sweep starts an engine for each place: half a minute where nothing else runs, minutes beside other work.
const SWEPT: Duration = Duration::from_secs(600);

fn weir(line: &str) -> Command {
    let mut command = weir_line(line);
    command.env("HOME", SCRATCH).env_remove("XDG_STATE_HOME");
    in_the_cloud(command)
}

/// A number that nothing else follows from, below `most`.
pub fn random(most: u64) -> u64 {
    let bytes: [u8; 8] = std::fs::read("/proc/sys/kernel/random/uuid").unwrap()[..8]
        .try_into()
        .unwrap();
    u64::from_str_radix(std::str::from_utf8(&bytes).unwrap(), 16).unwrap() % most
}

/// Whether the test can be made, which is said where it cannot.
fn has_cloud() -> bool {
    let missing = missing();
    if let Some(missing) = &missing {
        let text = format!("\n*** NOT CHECKED against a server of AWS's API: {missing} ***\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    missing.is_none()
}

/// Kills launches with their engines at random moments; a sweep leaves nothing of any.
fn kill_launches() {
    see_own_processes();
    let _server = start_server();
    let engine = engine().unwrap();
    let line = format!("{LAUNCH} aws:eu-west-1->aws:us-east-1 --peering");
    // How long a launch takes from its beginning to its end.
    let began = std::time::Instant::now();
    let mut whole = Running::start(weir(&line));
    whole.first_line(LIMIT);
    whole.signal("INT");
    whole.wait(LIMIT).expect_code(0);
    let took = began.elapsed();
    nothing_is_left(&REGIONS);
    for kill in 1..=KILLS {
        let killed = Running::start(weir(&line));
        let moment = Duration::from_millis(random(took.as_millis() as u64));
        std::thread::sleep(moment);
        drop(killed);
        kill_engines(&engine);
        // By the record, and by tags for what the engine had not written down.
        run_within(SWEPT, weir("mesh sweep --json")).expect_code(0);
        run_within(
            SWEPT,
            weir("mesh sweep --place aws:eu-west-1,aws:us-east-1 --all --json"),
        )
        .expect_code(0);
        nothing_is_left(&REGIONS);
        eprintln!("kill {kill} of {KILLS} after {moment:.1?} of {took:.1?}: nothing left");
    }
}

macro_rules! five_kills {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            if !has_cloud() {
                return;
            }
            isolated!(root);
            kill_launches();
        }
    )*};
}

five_kills!(one_to_five six_to_ten eleven_to_fifteen sixteen_to_twenty);
