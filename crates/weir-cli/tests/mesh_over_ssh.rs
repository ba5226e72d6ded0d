//! A mesh of six hosts on one machine: network namespaces with an SSH server each, every pair joined by an emulated link
//! whose delay comes from the distance of two real regions. Planned, run, killed in the middle, resumed, reported.
//!
//! Needs root, because sshd changes users, and `sshd` (openssh-server), `ip`, `unshare`: it runs again inside namespaces of
//! its own, so that nothing is left and no packet leaves the machine.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

#[path = "documented_json/schemas.rs"]
mod schemas;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PLACES: [&str; 6] = [
    "aws:eu-west-1",
    "aws:us-east-1",
    "gcp:asia-northeast1",
    "azure:australiaeast",
    "oracle:sa-saopaulo-1",
    "gcp:europe-west3",
];
/// RTT that the links are given: milliseconds for each thousand kilometres.
const SLOPE: f64 = 15.0;
const INSIDE: &str = "WEIR_MESH_TEST_INSIDE";
const HERE: &str = "/run/mesh";
/// Small tests: six hosts share this machine.
const SMALL: [&str; 12] = [
    "--rtt-for",
    "600ms",
    "--tcp-for",
    "600ms",
    "--streams",
    "2",
    "--udp-for",
    "300ms",
    "--udp-rate",
    "1Mbit/s",
    "--max-bytes",
    "3MB",
];

/// True inside the namespaces, where the test goes on; outside, runs it inside and returns false.
fn enter(test: &str) -> bool {
    if std::env::var(INSIDE).is_ok_and(|inside| inside == test) {
        return true;
    }
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
    // The other test waits: both together are more than a small machine holds.
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
    command.args(arguments).current_dir(HERE).env("HOME", HERE);
    for variable in ["WEIR_TOKEN", "WEIR_DB", "WEIR_LOG"] {
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
    } = command.stdin(Stdio::null()).output().unwrap();
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

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "waited for {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Holds what a command printed against its schema.
#[track_caller]
fn assert_documented(name: &str, printed: &Value) {
    schemas::assert_documented(name, &schemas::validator(name), printed);
}

/// Hosts with SSH servers on a network of their own.
struct Hosts(Vec<Child>);

impl Drop for Hosts {
    fn drop(&mut self) {
        for server in &mut self.0 {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Makes the first `count` hosts: a namespace with an address for SSH, one for tests, and a server.
fn make_hosts(count: usize) -> Hosts {
    run("mount", &["-t", "tmpfs", "tmpfs", "/run"]);
    hide_temporary_files();
    run("mount", &["-t", "proc", "proc", "/proc"]);
    fs::create_dir_all("/run/sshd").unwrap();
    fs::create_dir_all(HERE).unwrap();
    run("ip", &["link", "set", "lo", "up"]);
    run("ip", &["link", "add", "bridge", "type", "bridge"]);
    run("ip", &["address", "add", "10.9.0.254/24", "dev", "bridge"]);
    run("ip", &["link", "set", "bridge", "up"]);
    for key in ["user", "host", "other"] {
        run(
            "ssh-keygen",
            &["-q", "-t", "ed25519", "-N", "", "-f", &format!("{HERE}/{key}")],
        );
    }
    fs::copy(format!("{HERE}/user.pub"), format!("{HERE}/authorized")).unwrap();
    let host_key = fs::read_to_string(format!("{HERE}/host.pub")).unwrap();
    let known: String = (1..=count)
        .map(|host| format!("10.9.0.{host} {host_key}"))
        .collect();
    fs::write(format!("{HERE}/known"), known).unwrap();
    fs::write(
        format!("{HERE}/ssh_config"),
        format!("Host *\n User root\n IdentityFile {HERE}/user\n IdentitiesOnly yes\n UserKnownHostsFile {HERE}/known\n"),
    )
    .unwrap();
    let mut file = format!("defaults: {{ssh-arguments: '-F {HERE}/ssh_config'}}\nhosts:\n");
    let mut servers = Vec::new();
    for (host, place) in (1..=count).zip(PLACES) {
        // The first gets its program copied; the others have it.
        let there = format!(", weir: {}", env!("CARGO_BIN_EXE_weir"));
        let there = if host == 1 { "" } else { &there };
        file.push_str(&format!(
            "  - {{name: h{host}, address: 10.9.0.{host}, test-address: 10.1.0.{host}, place: '{place}'{there}}}\n"
        ));
        servers.push(make_host(host));
    }
    fs::write(format!("{HERE}/hosts.yaml"), file).unwrap();
    Hosts(servers)
}

fn make_host(host: usize) -> Child {
    let name = format!("h{host}");
    let (outside, config) = (format!("b{host}"), format!("{HERE}/sshd_{host}"));
    run("ip", &["netns", "add", &name]);
    run(
        "ip",
        &[
            "link", "add", &outside, "master", "bridge", "type", "veth", "peer", "name", "ssh0", "netns",
            &name,
        ],
    );
    run("ip", &["link", "set", &outside, "up"]);
    let inside = |arguments: &[&str]| run("ip", &[&["-n", &name], arguments].concat());
    inside(&["link", "set", "lo", "up"]);
    inside(&["address", "add", &format!("10.9.0.{host}/24"), "dev", "ssh0"]);
    inside(&["link", "set", "ssh0", "up"]);
    inside(&["address", "add", &format!("10.1.0.{host}/32"), "dev", "lo"]);
    let text = format!(
        "ListenAddress 10.9.0.{host}\nHostKey {HERE}/host\nAuthorizedKeysFile {HERE}/authorized\nStrictModes no\nUsePAM no\n\
         PidFile none\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nMaxStartups 100\n"
    );
    fs::write(&config, text).unwrap();
    Command::new("ip")
        .args(["netns", "exec", &name, "/usr/sbin/sshd", "-D", "-f", &config])
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

/// Joins two hosts by an emulated link with this RTT: the link's own hosts are not used, their interfaces are.
fn join(one: usize, other: usize, rtt_ms: f64) {
    let link = format!("l{one}{other}");
    finish(
        weir(&[
            "lab",
            "link",
            "up",
            "--rtt",
            &format!("{rtt_ms:.3}ms"),
            "--rate",
            "50Mbit/s",
            "--queue",
            "500kB",
            "--name",
            &link,
            "--quiet",
        ]),
        0,
    );
    for (end, host, far) in [("near", one, other), ("far", other, one)] {
        let (device, name) = (format!("to-h{far}"), format!("h{host}"));
        run(
            "ip",
            &[
                "-n",
                &format!("weir-{link}-{end}"),
                "link",
                "set",
                "weir0",
                "name",
                &device,
                "netns",
                &name,
            ],
        );
        run("ip", &["-n", &name, "link", "set", &device, "up"]);
        let (from, to) = (format!("10.1.0.{host}"), format!("10.1.0.{far}/32"));
        run(
            "ip",
            &["-n", &name, "route", "add", &to, "dev", &device, "src", &from],
        );
    }
}

/// Tests that went through, by their two hosts.
fn finished_tests() -> Vec<(String, String)> {
    let (text, _) = finish(weir(&["mesh", "export"]), 0);
    text.lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[8].to_owned(), cells[14].to_owned())
        })
        .collect()
}

/// A new /tmp, in which there is nothing but this checkout, if that is where it lies.
fn hide_temporary_files() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let name = checkout.to_str().unwrap();
    fs::create_dir("/run/checkout").unwrap();
    run("mount", &["--bind", name, "/run/checkout"]);
    run("mount", &["-t", "tmpfs", "tmpfs", "/tmp"]);
    if checkout.starts_with("/tmp") {
        fs::create_dir_all(checkout).unwrap();
        run("mount", &["--move", "/run/checkout", name]);
    }
}

fn folders_on_hosts() -> Vec<String> {
    let names = fs::read_dir("/tmp")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("weir-mesh-")).collect()
}

fn agents() -> usize {
    let commands = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let text = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        let words: Vec<String> = text
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        (words.first()?.ends_with("weir") && words.get(1)? == "agent").then_some(())
    });
    commands.count()
}

#[track_caller]
fn nothing_is_left() {
    assert_eq!(folders_on_hosts(), [""; 0]);
    wait_until("the end of the agents", || agents() == 0);
}

fn mesh_run(more: &[&str]) -> Command {
    weir(&[&["mesh", "run", "--json"], &SMALL[..], more].concat())
}

#[test]
fn six_hosts_are_tested_through_a_kill_and_the_fitted_slope_is_the_one_that_was_set() {
    if !enter("six_hosts_are_tested_through_a_kill_and_the_fitted_slope_is_the_one_that_was_set") {
        return;
    }
    let hosts = make_hosts(6);
    let plan = json_of(&["mesh", "plan", "--hosts", "hosts.yaml", "--json"], 0);
    assert_eq!(
        (&plan["tests"], &plan["hosts"], &plan["fewest_rounds"]),
        (&30.into(), &6.into(), &10.into())
    );
    assert!(plan["rounds"].as_u64().unwrap() <= 11, "{}", plan["rounds"]);
    for pair in plan["pairs"].as_array().unwrap() {
        let number = |field: &str| pair[field].as_str().unwrap()[1..].parse::<usize>().unwrap();
        let (from, to) = (number("from_host"), number("to_host"));
        if from < to {
            join(from, to, pair["distance_m"].as_f64().unwrap() / 1e6 * SLOPE);
        }
    }

    let mut first = mesh_run(&["--hosts", "hosts.yaml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("three tests", || {
        Path::new(HERE).join("weir.db").exists() && finished_tests().len() >= 3
    });
    first.kill().unwrap();
    first.wait().unwrap();
    let before = finished_tests().len();
    assert!(
        before < 30 && !folders_on_hosts().is_empty(),
        "it was killed in the middle"
    );

    let resumed = finish(mesh_run(&["--resume", "last"]), 0).0;
    let resumed: Value = serde_json::from_str(&resumed).unwrap();
    assert_documented("mesh-run", &resumed);
    assert_eq!(
        resumed["finished"].as_u64().unwrap() + before as u64,
        30,
        "{resumed}"
    );
    let tests = finished_tests();
    assert_eq!(
        tests.iter().collect::<BTreeSet<_>>().len(),
        30,
        "every pair, none twice: {tests:?}"
    );
    assert_eq!(tests.len(), 30);
    nothing_is_left();

    let page = Path::new(HERE).join("mesh.html");
    let report = json_of(&["mesh", "report", "--json", "--html", "mesh.html"], 0);
    assert_eq!(report["html"]["bytes"], fs::metadata(&page).unwrap().len());
    let (_, said) = finish(weir(&["mesh", "report", "--html", "mesh.html"]), 2);
    assert!(said.contains("mesh.html exists"), "{said}");
    // Whoever wants to look at it afterwards says where it is to be kept.
    if let Ok(keep) = std::env::var("WEIR_KEEP_MESH_PAGE") {
        fs::write(keep, fs::read(&page).unwrap()).unwrap();
    }
    let fit = &report["groups"][0]["rtt"];
    let (slope, r) = (
        fit["slope"].as_f64().unwrap(),
        fit["correlation"].as_f64().unwrap(),
    );
    assert!((slope / SLOPE - 1.0).abs() < 0.05 && r > 0.99, "{fit}");
    assert_eq!(report["impossible"].as_array().unwrap().len(), 0);
    let (left, said) = finish(weir(&["mesh", "run", "--resume", "last"]), 2);
    assert!(said.contains("nothing is left"), "{left}{said}");
    drop(hosts);
}

#[test]
fn hosts_in_trouble_are_named_limits_hold_and_an_interrupted_run_leaves_nothing() {
    if !enter("hosts_in_trouble_are_named_limits_hold_and_an_interrupted_run_leaves_nothing") {
        return;
    }
    let _hosts = make_hosts(4);
    for (one, other) in [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)] {
        join(one, other, 5.0);
    }
    // The key of one host has changed, and another one's server is not there.
    let known = fs::read_to_string(format!("{HERE}/known")).unwrap();
    let other = fs::read_to_string(format!("{HERE}/other.pub")).unwrap();
    let changed: String = known
        .lines()
        .map(|line| {
            if line.starts_with("10.9.0.4 ") {
                format!("10.9.0.4 {other}")
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    fs::write(format!("{HERE}/known"), changed).unwrap();
    let text = fs::read_to_string(format!("{HERE}/hosts.yaml")).unwrap();
    fs::write(
        format!("{HERE}/hosts.yaml"),
        text.replace("address: 10.9.0.3,", "port: 2222, address: 10.9.0.3,"),
    )
    .unwrap();
    let run = json_of(
        &[&["mesh", "run", "--json", "--hosts", "hosts.yaml"], &SMALL[..]].concat(),
        3,
    );
    assert_eq!(
        (&run["finished"], &run["failed"]),
        (&2.into(), &10.into()),
        "{run}"
    );
    assert_documented("mesh-run", &run);
    assert_eq!(run["lost_hosts"]["h4"]["kind"], "host-key", "{run}");
    assert_eq!(run["lost_hosts"]["h3"]["kind"], "unreachable", "{run}");
    assert!(
        run["lost_hosts"]["h4"]["message"]
            .as_str()
            .unwrap()
            .contains("ssh-keygen -R")
    );
    fs::write(format!("{HERE}/known"), known).unwrap();
    fs::write(format!("{HERE}/hosts.yaml"), &text).unwrap();
    nothing_is_left();

    // A plan that could send more than it may is refused before anything happens.
    let limited = [
        &[
            "mesh",
            "run",
            "--json",
            "--hosts",
            "hosts.yaml",
            "--max-tests",
            "2",
            "--max-gb",
            "0.004",
        ],
        &SMALL[..],
    ]
    .concat();
    let (_, said) = finish(weir(&limited), 2);
    assert!(said.contains("more than --max-gb 0.004"), "{said}");

    // Paths carry more than was expected: what runs ends, and no test begins that could pass the limit.
    let dear: String = PLACES[..4]
        .iter()
        .flat_map(|place| ["internet-gb", "same-area-gb", "other-area-gb"].map(|what| (place, what)))
        .map(|(place, what)| format!("{},{what},1000\n", place.replace(':', ",")))
        .collect();
    fs::write(
        format!("{HERE}/prices.csv"),
        format!("cloud,area,what,usd\n{dear}"),
    )
    .unwrap();
    for (limit, most, halt) in [("--max-gb", "0.004", "bytes"), ("--max-usd", "4", "money")] {
        let stopped = [
            &["mesh", "run", "--json", "--hosts", "hosts.yaml"][..],
            &["--again", "--max-tests", "4", "--expect-rate", "100kbit/s"],
            &["--prices", "prices.csv", limit, most],
            &SMALL,
        ]
        .concat();
        let run = json_of(&stopped, 3);
        assert_eq!((&run["halt"], &run["failed"]), (&halt.into(), &0.into()), "{run}");
        let (finished, left) = (run["finished"].as_u64().unwrap(), run["left"].as_u64().unwrap());
        assert!(finished >= 1 && finished + left == 4 && left >= 1, "{run}");
        assert!(run["bytes"].as_u64().unwrap() <= 4_000_000, "{run}");
    }

    // An agent's port that another program holds.
    let busy =
        "import socket, time; s = socket.socket(); s.bind(('0.0.0.0', 4747)); s.listen(); time.sleep(60)";
    let mut thief = Command::new("ip")
        .args(["netns", "exec", "h4", "python3", "-c", busy])
        .spawn()
        .unwrap();
    wait_until("the thief", || run_in("h4", &["ss", "-Hltn"]).contains(":4747"));
    let run = json_of(
        &[
            &[
                "mesh",
                "run",
                "--json",
                "--hosts",
                "hosts.yaml",
                "--max-tests",
                "10",
            ],
            &SMALL[..],
        ]
        .concat(),
        3,
    );
    assert_eq!(run["lost_hosts"]["h4"]["kind"], "agent", "{run}");
    thief.kill().unwrap();
    thief.wait().unwrap();
    nothing_is_left();

    for presses in 1..=2 {
        let before = finished_tests().len();
        let run = weir(&[
            "mesh",
            "run",
            "--json",
            "--again",
            "--hosts",
            "hosts.yaml",
            "--rtt-for",
            "1500ms",
            "--tcp-for",
            "0s",
            "--udp-for",
            "0s",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
        wait_until("a test", || finished_tests().len() > before);
        for _ in 0..presses {
            crate::run("kill", &["-INT", &run.id().to_string()]);
            std::thread::sleep(Duration::from_millis(300));
        }
        let ended = run.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(3));
        let summary: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(
            (&summary["halt"], &summary["run"]["outcome"]),
            (&"interrupted".into(), &"interrupted".into())
        );
        assert!(summary["left"].as_u64().unwrap() > 0, "{summary}");
        nothing_is_left();
    }

    // What a killed run leaves, a sweep finds.
    let mut killed = mesh_run(&["--again", "--hosts", "hosts.yaml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("an agent", || agents() > 0);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let swept = json_of(&["mesh", "sweep", "--hosts", "hosts.yaml", "--json"], 0);
    assert_documented("mesh-sweep", &swept);
    assert!(!swept["removed"].as_array().unwrap().is_empty());
    nothing_is_left();
}

#[test]
fn the_survey_of_a_pair_is_a_run_of_its_own_that_its_test_names() {
    if !enter("the_survey_of_a_pair_is_a_run_of_its_own_that_its_test_names") {
        return;
    }
    let _hosts = make_hosts(2);
    join(1, 2, 5.0);
    let order = [
        &["mesh", "run", "--json", "--hosts", "hosts.yaml"][..],
        &["--max-tests", "1", "--survey"],
        &SMALL[..10],
        &["--max-bytes", "100MB"],
    ]
    .concat();
    let run = json_of(&order, 0);
    assert_documented("mesh-run", &run);
    assert_eq!(
        (&run["finished"], &run["notes"]),
        (&1.into(), &Value::Array(Vec::new())),
        "{run}"
    );
    let document = json_of(&["runs", "export", "last", "--as", "json"], 0);
    let runs = document["runs"].as_array().unwrap();
    let (mesh, survey) = (&runs[0], &runs[1]);
    assert_eq!(
        (&survey["kind"], &survey["parent_run_id"], &survey["outcome"]),
        (&"survey".into(), &mesh["run_id"], &"finished".into())
    );
    let test = &mesh["series"]["mesh_tests"]["columns"];
    assert_eq!(test["survey_run"]["values"][0], survey["run_id"]);
    let (from, to) = (&test["from_host"]["values"][0], &test["to_host"]["values"][0]);
    assert_eq!(
        survey["target"],
        format!("{} -> {}", from.as_str().unwrap(), to.as_str().unwrap())
    );
    let steps: BTreeSet<&str> = runs[2..]
        .iter()
        .filter(|step| step["parent_run_id"] == survey["run_id"])
        .filter_map(|step| step["kind"].as_str())
        .collect();
    assert_eq!(steps, BTreeSet::from(["mtu", "rtt", "tcp", "flows"]));
    // What the survey has sent counts with the test.
    let surveyed = survey["summary"]["bytes"].as_u64().unwrap();
    assert!(
        surveyed > 1_000_000 && run["bytes"].as_u64().unwrap() > surveyed,
        "{run}"
    );
    nothing_is_left();
}

fn run_in(host: &str, command: &[&str]) -> String {
    run("ip", &[&["netns", "exec", host], command].concat())
}

/// What a user gets wrong: the arguments, their exit status, and what the one line of error says.
const WRONG: [(&str, i32, &str); 15] = [
    ("regions --cloud awz", 2, "there is no cloud 'awz'"),
    ("regions --near 91,0", 2, "is no point on the earth"),
    (
        "plan --pair aws:us-esat-1->gcp:us-central1",
        2,
        "did you mean 'aws:us-east-1'?",
    ),
    ("plan --pair aws:us-east-1", 2, "FROM->TO"),
    (
        "plan --cloud aws --min-distance 20000km",
        2,
        "--min-distance 20000km removed the last",
    ),
    ("plan --cloud aws --min-distance 500", 2, "500km"),
    ("plan --hosts nowhere.yaml", 2, "cannot read nowhere.yaml"),
    (
        "plan --cloud aws,gcp --max-usd 0.01",
        2,
        "more than --max-usd 0.01",
    ),
    (
        "plan --hosts hosts.yaml --group web",
        2,
        "no hosts in a group 'web'",
    ),
    ("import hosts.yaml", 2, "no column 'timestamp'"),
    ("report", 3, "there is no results database"),
    // Said once, and not for each host.
    (
        "run --hosts hosts.yaml --ssh /nonexistent/ssh",
        3,
        "cannot start '/nonexistent/ssh'",
    ),
    (
        "sweep --hosts hosts.yaml --ssh /nonexistent/ssh",
        3,
        "install OpenSSH's client",
    ),
    (
        "plan --pair nowhere:us-east-1->gcp:us-central1",
        2,
        "there is no cloud 'nowhere'",
    ),
    (
        "run --hosts hosts.yaml --program aarch64=nowhere",
        2,
        "there is no program nowhere",
    ),
];

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = "hosts:\n  - {name: a, address: 192.0.2.1, place: 'aws:us-east-1'}\n  - {name: b, address: 192.0.2.2, latitude: 1, longitude: 2}\n";
    fs::write(folder.path().join("hosts.yaml"), hosts).unwrap();
    for (arguments, code, part) in WRONG {
        let words: Vec<&str> = arguments.split(' ').collect();
        let mut command = weir(&[&["mesh"], &words[..]].concat());
        command.current_dir(folder.path());
        let (_, stderr) = finish(command, code);
        let errors: Vec<&str> = stderr.lines().filter(|line| line.starts_with("weir: ")).collect();
        assert!(
            errors.len() == 1 && errors[0].contains(part),
            "weir mesh {arguments}: {stderr}"
        );
    }
}

/// Called instead of ssh: runs the script here, on a host whose clock is a hundred seconds ahead; the second host has a
/// processor that nobody builds for.
const ODD_HOSTS: &str = r#"#!/bin/sh
case "$*" in *192.0.2.2*) machine=vax ;; *) machine=$(uname -m) ;; esac
folder=$(dirname "$0")/$machine
mkdir -p "$folder"
printf '#!/bin/sh\necho $(($(/bin/date +%%s) + 100))\n' > "$folder/date"
printf '#!/bin/sh\necho Linux %s\n' "$machine" > "$folder/uname"
chmod 755 "$folder/date" "$folder/uname"
for last; do :; done
PATH=$folder:$PATH exec sh -c "$last"
"#;

#[test]
fn clocks_that_differ_and_a_wrong_processor_are_told_by_host() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    // Two agents on one machine: each has a port that was free just now.
    let ports = [(), ()].map(|()| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    });
    let hosts = format!(
        "hosts:\n  - {{name: a, address: 192.0.2.1, agent-port: {}, latitude: 1, longitude: 2}}\n  \
         - {{name: b, address: 192.0.2.2, agent-port: {}, latitude: 3, longitude: 4}}\n",
        ports[0], ports[1]
    );
    fs::write(folder.path().join("hosts.yaml"), hosts).unwrap();
    let ssh = folder.path().join("ssh");
    fs::write(&ssh, ODD_HOSTS).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = weir(&["mesh", "run", "--hosts", "hosts.yaml", "--json", "--ssh"]);
    command.arg(&ssh).current_dir(folder.path());
    let (stdout, stderr) = finish(command, 3);
    let run: Value = serde_json::from_str(&stdout).unwrap();
    assert_documented("mesh-run", &run);
    let lost = &run["lost_hosts"]["b"];
    assert_eq!(lost["kind"], "architecture", "{run}\n{stderr}");
    assert!(
        lost["message"].as_str().unwrap().contains("--program vax=FILE"),
        "{run}"
    );
    let ahead = run["hosts"]["a"]["clock_ahead_s"].as_i64().unwrap();
    assert!((95..=160).contains(&ahead), "{run}");
    let note = run["notes"][0].as_str().unwrap();
    assert!(
        note.contains("the clock of a is") && note.contains("RTTs do not depend on it"),
        "{run}"
    );
    assert_eq!(
        (&run["finished"], &run["failed"]),
        (&0.into(), &2.into()),
        "{run}"
    );
}
