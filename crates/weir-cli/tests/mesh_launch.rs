//! A cloud launch without a cloud: the real engine and its built-in resource make network namespaces with SSH servers, by
//! `data/make_namespaces.sh`. Launched, tested, removed; killed in the middle and swept; refused in one place; interrupted.
//!
//! Needs root, `terraform` or `tofu`, `sshd`, `ip`, `unshare`: it runs again inside namespaces of its own, so that nothing
//! is left and no packet leaves the machine.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const INSIDE: &str = "WEIR_MESH_LAUNCH_TEST_INSIDE";
const HERE: &str = "/run/mesh";
const MAKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/make_namespaces.sh");
/// Three places, three machines.
const PLACES: [&str; 4] = [
    "--pair",
    "aws:eu-west-1->aws:us-east-1",
    "--pair",
    "gcp:europe-west3->aws:eu-west-1",
];
/// Small tests: the hosts share this machine.
const SMALL: [&str; 8] = [
    "--rtt-for",
    "500ms",
    "--tcp-for",
    "0s",
    "--udp-for",
    "0s",
    "--max-bytes",
    "1MB",
];

fn engine() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    ["tofu", "terraform"]
        .iter()
        .flat_map(|program| folders.iter().map(move |folder| folder.join(program)))
        .find(|program| program.is_file())
}

/// True inside the namespaces, where the test goes on; outside, runs it inside and returns false.
fn enter(test: &str) -> bool {
    if std::env::var(INSIDE).is_ok_and(|inside| inside == test) {
        run("mount", &["-t", "tmpfs", "tmpfs", "/run"]);
        run("mount", &["-t", "proc", "proc", "/proc"]);
        for folder in ["/run/sshd", "/run/mesh/machines", "/run/mesh/numbers"] {
            fs::create_dir_all(folder).unwrap();
        }
        run("ip", &["link", "set", "lo", "up"]);
        run("ip", &["link", "add", "bridge", "type", "bridge"]);
        run("ip", &["address", "add", "10.9.0.254/24", "dev", "bridge"]);
        run("ip", &["link", "set", "bridge", "up"]);
        return true;
    }
    assert!(
        engine().is_some(),
        "this test needs terraform or tofu in PATH: scripts/install_prerequisites.sh test says how to get it"
    );
    let id = Command::new("id").arg("-u").output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&id.stdout).trim(),
        "0",
        "this test needs root: sshd changes users"
    );
    assert!(
        Path::new("/usr/sbin/sshd").exists(),
        "this test needs sshd: install the package openssh-server (apt-get install openssh-server)"
    );
    // The other tests wait: all together are more than a small machine holds.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let inner = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, test)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&inner.stdout),
        String::from_utf8_lossy(&inner.stderr),
    );
    assert!(
        inner.status.success() && out.contains("1 passed"),
        "{test} failed inside:\n{out}\n{err}"
    );
    false
}

#[track_caller]
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {err}");
    String::from_utf8(output.stdout).unwrap()
}

fn weir(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .args(arguments)
        .current_dir(HERE)
        .env("HOME", HERE)
        .env("WEIR_TEST_FOLDER", HERE)
        .env("WEIR_TEST_BINARY", env!("CARGO_BIN_EXE_weir"))
        .stdin(Stdio::null());
    for variable in ["WEIR_TOKEN", "WEIR_DB", "WEIR_LOG", "XDG_STATE_HOME"] {
        command.env_remove(variable);
    }
    command
}

#[track_caller]
fn finish(mut command: Command, code: i32) -> (String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8(stdout).unwrap(),
        String::from_utf8(stderr).unwrap(),
    );
    assert_eq!(status.code(), Some(code), "{command:?}\n{stdout}\n{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    (stdout, stderr)
}

#[track_caller]
fn json_of(arguments: &[&str], code: i32) -> Value {
    let (stdout, stderr) = finish(weir(arguments), code);
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}\n{stderr}"))
}

/// Holds what a command printed against its schema.
#[track_caller]
fn assert_documented(name: &str, printed: &Value) {
    let path = format!(
        "{}/../../docs/schemas/{name}.schema.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(printed)
        .map(|error| format!("at '{}': {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{printed}");
}

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < deadline, "waited for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn names_in(folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Machines as the kernel knows them.
fn namespaces() -> usize {
    run("ip", &["netns", "list"]).lines().count()
}

#[track_caller]
fn nothing_is_left() {
    assert_eq!(namespaces(), 0, "{}", run("ip", &["netns", "list"]));
    assert_eq!(names_in(&format!("{HERE}/machines")), [""; 0]);
    assert_eq!(names_in(&format!("{HERE}/.local/state/weir/mesh")), [""; 0]);
}

fn launch(more: &[&str]) -> Command {
    let mut command = weir(
        &[
            &["mesh", "launch", "--json", "--again", "--machines-by", MAKER],
            &PLACES[..],
            more,
        ]
        .concat(),
    );
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// The first line that a launch prints: its machines are up.
#[track_caller]
fn line_of(child: &mut Child) -> Value {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: '{line}'"))
}

fn press(child: &Child) {
    run("kill", &["-INT", &child.id().to_string()]);
}

/// Processes whose command line begins so.
fn processes(program: &Path) -> Vec<String> {
    let name = program.to_str().unwrap();
    names_in("/proc")
        .into_iter()
        .filter(|id| {
            let text = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            text.split(|byte| *byte == 0).next() == Some(name.as_bytes())
        })
        .collect()
}

#[test]
fn machines_are_launched_tested_and_removed() {
    if !enter("machines_are_launched_tested_and_removed") {
        return;
    }
    let arguments = [
        &["mesh", "run", "--json", "--launch", "--machines-by", MAKER],
        &PLACES[..],
        &SMALL[..],
    ]
    .concat();
    let ran = json_of(&arguments, 0);
    assert_documented("mesh-run", &ran);
    assert_eq!(
        (&ran["finished"], &ran["failed"]),
        (&2.into(), &0.into()),
        "{ran}"
    );
    let hosts: Vec<&String> = ran["hosts"].as_object().unwrap().keys().collect();
    assert_eq!(hosts, ["aws-eu-west-1", "aws-us-east-1", "gcp-europe-west3"]);
    nothing_is_left();

    // Held: the hosts file is there and right as long as the machines are.
    let mut held = launch(&["-o", "copy.yaml"]).spawn().unwrap();
    let up = line_of(&mut held);
    assert_documented("mesh-launch", &up);
    assert_eq!(namespaces(), 3);
    let plan = json_of(&["mesh", "plan", "--again", "--hosts", "copy.yaml", "--json"], 0);
    assert_eq!(plan["hosts"], 3);
    let status = json_of(&["mesh", "status", "--json", "--machines-by", MAKER], 0);
    assert_documented("mesh-status", &status);
    assert_eq!(status["launches"][0]["held"], true, "{status}");
    assert_eq!(status["launches"][0]["places"][0]["phase"], "up", "{status}");
    assert_eq!(status["tagged"], serde_json::json!([]));
    // It belongs to a process that is alive: nobody else takes it down.
    let swept = json_of(&["mesh", "sweep", "--json", "--all", "--machines-by", MAKER], 0);
    assert_documented("mesh-sweep", &swept);
    assert_eq!(swept["launches"][0]["outcome"], "held", "{swept}");
    assert_eq!(namespaces(), 3);
    press(&held);
    let ended = held.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    let removed: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_documented("mesh-launch", &removed);
    assert_eq!(removed["places"].as_array().unwrap().len(), 3, "{removed}");
    nothing_is_left();
}

#[test]
fn what_a_kill_in_the_middle_leaves_is_swept() {
    if !enter("what_a_kill_in_the_middle_leaves_is_swept") {
        return;
    }
    let engine = engine().unwrap();
    let hang = format!("{HERE}/hang-gcp-europe-west3");
    // Of Weir alone: the engine goes on, and the sweep waits for it.
    for kills_engine in [false, true] {
        fs::write(&hang, "").unwrap();
        let mut killed = launch(&[]).spawn().unwrap();
        wait_until("machines, and one that hangs", || {
            namespaces() == 3 && Path::new(HERE).join("hangs").exists()
        });
        killed.kill().unwrap();
        killed.wait().unwrap();
        if kills_engine {
            // With everything that it has started, as when a host goes down: nothing is written down of what hangs.
            for id in processes(&engine) {
                run("kill", &["-KILL", "--", &format!("-{id}")]);
            }
            wait_until("the end of the engine", || processes(&engine).is_empty());
        }
        fs::remove_file(&hang).unwrap();
        let status = json_of(&["mesh", "status", "--json"], 0);
        assert_documented("mesh-status", &status);
        assert_eq!(status["launches"][0]["held"], false, "{status}");
        let listed = json_of(&["mesh", "sweep", "--json", "--list"], 0);
        assert_eq!(listed["launches"][0]["outcome"], "left", "{listed}");
        assert!(namespaces() > 0);
        let swept = json_of(&["mesh", "sweep", "--json"], 0);
        assert_documented("mesh-sweep", &swept);
        assert_eq!(swept["launches"][0]["outcome"], "removed", "{swept}");
        if kills_engine {
            // Others may have been cut off too.
            let tagged = swept["tagged"].as_array().unwrap();
            assert!(
                tagged.iter().any(|one| one["id"] == "gcp-europe-west3"),
                "{swept}"
            );
        }
        nothing_is_left();
        fs::remove_file(format!("{HERE}/hangs")).unwrap();
    }

    // With what was written down gone too, the tags find it.
    let mut killed = launch(&["--delete-after", "1h"]).spawn().unwrap();
    let up = line_of(&mut killed);
    killed.kill().unwrap();
    killed.wait().unwrap();
    fs::remove_dir_all(format!("{HERE}/.local")).unwrap();
    let early = json_of(&["mesh", "sweep", "--json", "--machines-by", MAKER], 0);
    assert_documented("mesh-sweep", &early);
    assert_eq!(
        (namespaces(), early["tagged"].as_array().unwrap().len()),
        (3, 3),
        "{early}"
    );
    let status = json_of(&["mesh", "status", "--json", "--machines-by", MAKER], 0);
    assert_documented("mesh-status", &status);
    assert_eq!(status["tagged"][0]["launch"], up["launch"], "{status}");
    let name = up["launch"].as_str().unwrap();
    json_of(
        &[
            "mesh",
            "sweep",
            "--json",
            "--machines-by",
            MAKER,
            "--launch",
            name,
        ],
        0,
    );
    nothing_is_left();
}

/// The command with SIGHUP as it is by default: whoever runs the tests may have had it ignored, as nohup does, and then the
/// command ignores it, too.
fn with_hang_up(command: &Command) -> Command {
    let mut with = Command::new("env");
    with.arg("--default-signal=HUP")
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(HERE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => with.env(name, value),
            None => with.env_remove(name),
        };
    }
    with
}

#[test]
fn a_place_that_is_refused_does_not_hold_the_others_up_and_ctrl_c_removes_everything() {
    if !enter("a_place_that_is_refused_does_not_hold_the_others_up_and_ctrl_c_removes_everything") {
        return;
    }
    fs::write(format!("{HERE}/refuse-aws-us-east-1"), "").unwrap();
    let mut held = launch(&[]).spawn().unwrap();
    let up = line_of(&mut held);
    let refused = &up["places"][1];
    assert_eq!(
        (&refused["place"], &refused["phase"]),
        (&"aws:us-east-1".into(), &"gone".into()),
        "{up}"
    );
    assert!(refused["problem"].as_str().unwrap().contains("quota"), "{up}");
    press(&held);
    assert_eq!(held.wait().unwrap().code(), Some(0));
    nothing_is_left();

    // Two of three refused: one machine is no mesh.
    fs::write(format!("{HERE}/refuse-gcp-europe-west3"), "").unwrap();
    let mut command = launch(&[]);
    command.stderr(Stdio::piped());
    let (_, said) = finish(command, 3);
    assert!(said.contains("1 of 3 machines came up"), "{said}");
    nothing_is_left();
    fs::remove_file(format!("{HERE}/refuse-gcp-europe-west3")).unwrap();
    fs::remove_file(format!("{HERE}/refuse-aws-us-east-1")).unwrap();

    // Ctrl-C once and twice while a machine is being made; then a hangup while they are held.
    fs::write(format!("{HERE}/hang-gcp-europe-west3"), "").unwrap();
    for presses in 1..=2 {
        let mut interrupted = launch(&[]).spawn().unwrap();
        wait_until("a machine that hangs", || Path::new(HERE).join("hangs").exists());
        for _ in 0..presses {
            press(&interrupted);
            std::thread::sleep(Duration::from_millis(300));
        }
        assert_eq!(interrupted.wait().unwrap().code(), Some(3));
        nothing_is_left();
        fs::remove_file(format!("{HERE}/hangs")).unwrap();
    }
    fs::remove_file(format!("{HERE}/hang-gcp-europe-west3")).unwrap();
    let mut held = with_hang_up(&launch(&[])).spawn().unwrap();
    line_of(&mut held);
    run("kill", &["-HUP", &held.id().to_string()]);
    wait_until("the end after SIGHUP", || held.try_wait().unwrap().is_some());
    assert_eq!(held.wait().unwrap().code(), Some(0));
    nothing_is_left();
}

#[test]
fn what_is_missing_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let wrong: [(&str, &Path, i32, &str); 7] = [
        (
            "launch --cloud aws --max-regions 2 --admit 203.0.113.7",
            &empty,
            3,
            "neither tofu nor terraform is in PATH",
        ),
        (
            "run --launch --cloud aws --max-regions 2 --admit 203.0.113.7 --ssh /bin/true",
            &empty,
            3,
            "--engine",
        ),
        ("launch --cloud aws --max-regions 2", &empty, 2, "--admit"),
        (
            "launch --cloud aws --max-regions 2 --admit 0.0.0.0/0",
            &empty,
            2,
            "is no range of IPv4 addresses",
        ),
        (
            "launch --cloud aws --max-regions 2 --machines-by nowhere",
            &empty,
            2,
            "there is no program nowhere",
        ),
        (
            "sweep --cloud gcp",
            &empty,
            2,
            "Weir cannot look for tags in gcp yet",
        ),
        (
            "sweep --place aws:us-east-1",
            &empty,
            3,
            "'aws' cannot be started",
        ),
    ];
    for (arguments, path, code, part) in wrong {
        let words: Vec<&str> = arguments.split(' ').collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command
            .arg("mesh")
            .args(words)
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env_remove("XDG_STATE_HOME")
            .env("PATH", path)
            .stdin(Stdio::null());
        let (_, stderr) = finish(command, code);
        let errors: Vec<&str> = stderr.lines().filter(|line| line.starts_with("weir: ")).collect();
        assert!(
            errors.len() == 1 && errors[0].contains(part),
            "weir mesh {arguments}: {stderr}"
        );
        assert!(
            !folder.path().join(".local").exists(),
            "{arguments} left something behind"
        );
    }
}
