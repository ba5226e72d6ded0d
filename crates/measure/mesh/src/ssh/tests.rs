use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::hosts::read_hosts;
use crate::place::Places;
use crate::process;

fn host(yaml: &str) -> Host {
    read_hosts("hosts.yaml", yaml.as_bytes(), Places::known())
        .unwrap()
        .remove(0)
}

#[test]
fn the_command_line_is_ssh_s_and_the_address_is_no_option() {
    let host = host(
        "hosts:\n  - {name: a, address: 192.0.2.7, user: ubuntu, port: 2222, key: ~/.ssh/mesh, ssh-arguments: -J jump.example.net, place: aws:us-east-1}\n",
    );
    let line = arguments(&host, "echo 'it''s'").join(" ");
    assert!(
        line.ends_with("-T -p 2222 -l ubuntu -i ~/.ssh/mesh -J jump.example.net -- 192.0.2.7 sh -c 'echo '\\''it'\\'''\\''s'\\'''"),
        "{line}"
    );
    assert!(line.contains("BatchMode=yes"));
}

/// A program for one processor.
fn given(machine: &str, program: &Path) -> Programs {
    Programs::new(&[format!("{machine}={}", program.display())], &[]).unwrap()
}

fn exit(status: i32, stderr: &str) -> FaultKind {
    let finished = Finished::Exit {
        status,
        stdout: String::new(),
        stderr: stderr.into(),
    };
    let fault = judge("far", finished, SHORT).unwrap_err();
    assert!(
        fault.message.starts_with("far: ") && fault.message.lines().count() == 1,
        "{fault}"
    );
    fault.kind
}

#[test]
fn what_ssh_says_tells_what_to_do() {
    // As OpenSSH 9.2 words them.
    let changed = "@@@@@@@@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.\r\n";
    let denied = "root@192.0.2.7: Permission denied (publickey).\r\n";
    let refused = "ssh: connect to host 192.0.2.7 port 22: Connection refused\r\n";
    let no_agent = "weir: cannot reach an agent at 192.0.2.7:4747: connection timed out; start one there with 'weir agent'";
    for (status, stderr, kind) in [
        (255, changed, FaultKind::HostKey),
        (255, "Host key verification failed.\r\n", FaultKind::HostKey),
        (255, denied, FaultKind::Denied),
        (255, refused, FaultKind::Unreachable),
        (255, "", FaultKind::Unreachable),
        (3, no_agent, FaultKind::Agent),
        (3, "\u{1b}[31mweir: something else", FaultKind::Test),
    ] {
        assert_eq!(exit(status, stderr), kind, "{stderr}");
    }
}

#[test]
fn facts_are_found_whatever_stands_around_them() {
    let said = "Welcome!\nsystem: Linux x86_64\ntcp_rmem: 4096\t131072\t6291456\ntcp_wmem: \nclock: 1007\n";
    let ready = ready_of(said, 1000);
    assert_eq!(ready.system, "Linux x86_64");
    assert_eq!(
        (ready.receive_window_bytes, ready.send_window_bytes),
        (Some(6_291_456), None)
    );
    assert_eq!(ready.clock_ahead_s, 7);
    assert_eq!(ready_of("", 5), Ready::default());
}

/// A program called instead of ssh, which runs the script here: what a host would do.
fn here(folder: &std::path::Path) -> String {
    let path = folder.join("ssh");
    fs::write(&path, "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Stands for weir: an agent that says that it listens, and a client that prints this test.
fn stand_in(folder: &std::path::Path, test: &MeshTest) -> std::path::PathBuf {
    let result = folder.join("result");
    fs::write(&result, serde_json::to_string(test).unwrap()).unwrap();
    let result = result.display();
    let weir = format!(
        "#!/bin/sh\nif [ \"$1\" = agent ]; then echo '{{\"host\": {{\"zone\": \"us-east-1a\"}}}}'; exec sleep 60; fi\n\
         if [ \"$1\" = survey ]; then [ \"$2\" = 192.0.2.1:4747 ] && printf 'SQLite\\377\\0' > survey.db; exit; fi\n\
         [ \"$(cat token)\" = secret ] && [ \"$3\" = 192.0.2.1:4747 ] && cat {result}\n"
    );
    let program = folder.join("weir");
    fs::write(&program, weir).unwrap();
    program
}

/// The architecture of this host.
fn machine() -> String {
    let said = std::process::Command::new("uname").arg("-m").output().unwrap();
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_host_is_prepared_tested_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let test = MeshTest {
        rtt_count: 3,
        bytes: 7,
        details: serde_json::json!({}),
        ..MeshTest::default()
    };
    let program = stand_in(folder.path(), &test);
    let hosts = [host(
        "hosts:\n  - {name: a, address: 192.0.2.1, latitude: 1, longitude: 2}\n",
    )];
    let kill = AtomicBool::new(false);
    let mut executor = SshExecutor {
        hosts: &hosts,
        programs: given(&machine(), &program),
        token: "secret".into(),
        folder: format!("test{}", std::process::id()),
        life_s: 60,
        kill: &kill,
        ssh: here(folder.path()),
    };
    let shape = TestShape {
        rtt_ns: 1,
        tcp_ns: 1,
        streams: 1,
        udp_ns: 1,
        udp_bps: 1,
        max_bytes: 1,
        survey: true,
        window_bytes: None,
    };
    let ready = executor.prepare(0).unwrap();
    assert!(
        ready.system.starts_with("Linux ") && ready.clock_ahead_s.abs() < 5,
        "{ready:?}"
    );
    // What its agent printed when it began to listen.
    let told = CloudFacts {
        zone: Some("us-east-1a".into()),
        ..CloudFacts::default()
    };
    assert_eq!(ready.told, Some(told));
    let place = executor.folder(0);
    let pid: u32 = fs::read_to_string(format!("{place}/pid"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(&format!("{place}/token"))), (0o700, 0o600));
    assert_eq!(executor.test((0, 0), Over::Public, &shape).unwrap(), test);
    let database = folder.path().join("survey.db");
    executor.survey((0, 0), Over::Public, &shape, &database).unwrap();
    assert_eq!(fs::read(&database).unwrap(), b"SQLite\xff\0");
    assert_eq!(mode(&database.display().to_string()), 0o600);
    executor.clean(0).unwrap();
    assert!(!std::path::Path::new(&place).exists());
    let gone = || {
        !std::path::Path::new(&format!("/proc/{pid}/cmdline")).exists()
            || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    };
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while !gone() {
        assert!(std::time::Instant::now() < deadline, "the agent still runs");
        std::thread::sleep(Duration::from_millis(20));
    }

    a_part_of_a_testbed_is_spoken_to_and_ended(&hosts[0], &executor);
    executor.programs = Programs::default();
    assert_eq!(executor.prepare(0).unwrap_err().kind, FaultKind::Architecture);
    executor.clean(0).unwrap();
    executor.ssh = "/nonexistent/ssh".into();
    let missing = executor.prepare(0).unwrap_err().message;
    assert!(missing.contains("install the OpenSSH client"), "{missing}");
}

/// What stands for weir says that it runs, and reads until its standard input ends; asked to clean, it
/// removes what it left, in a while, and one at a time.
#[track_caller]
fn a_part_of_a_testbed_is_spoken_to_and_ended(host: &Host, executor: &SshExecutor<'_>) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("weir");
    fs::write(
        &program,
        "#!/bin/sh\nif [ \"$3\" = --clean ]; then mkdir cleaning || exit 1; sleep 2; rm -r testbed; exit; fi\n\
         mkdir testbed; echo \"$*\"; while read -r line; do echo \"$line\"; done; rmdir testbed; exit 0\n",
    )
    .unwrap();
    let (caller, programs) = (executor.caller(), given(&machine(), &program));
    let id = format!("{}-0", executor.folder);
    let place = TestbedFolder::make(host, &id, &programs, caller).unwrap();
    fs::create_dir(folder.path().join("title")).unwrap();
    fs::write(folder.path().join("title/a b"), "media").unwrap();
    place.copy(folder.path(), "title", "titles/files").unwrap();
    let copy = format!("{}/titles/files/title/a b", place.path());
    assert_eq!(fs::read_to_string(&copy).unwrap(), "media");
    let here = folder.path().join("here");
    place.fetch(&copy, &here).unwrap();
    assert_eq!(fs::read_to_string(here).unwrap(), "media");
    assert!(
        place
            .copy(folder.path(), "no-such-title", "titles/files")
            .is_err()
    );
    let mut part = place.start(&["testbed", "part"]).unwrap();
    part.input.write_all(b"hello\n").unwrap();
    drop(part.input);
    let mut said = String::new();
    part.output.read_to_string(&mut said).unwrap();
    assert_eq!(said, "testbed part\nhello\n");
    assert!(part.child.wait().unwrap().success());
    assert!(!Path::new(place.path()).exists(), "nothing is left");
    parts_are_ended_by_identifiers(host, executor, &programs);
}

#[track_caller]
fn parts_are_ended_by_identifiers(host: &Host, executor: &SshExecutor<'_>, programs: &Programs) {
    let caller = executor.caller();
    let (one, two) = (format!("{}-0", executor.folder), format!("{}-1", executor.folder));
    let made = |id: &str| TestbedFolder::make(host, id, programs, caller).unwrap();
    let exists = |place: &TestbedFolder<'_>| Path::new(place.path()).exists();

    // One that runs is ended by its identifier alone; one that was killed, and one without a process, leave their folders.
    let (running, killed) = (made(&one), made(&two));
    let [mut live, mut dead] = [&running, &killed].map(|place| {
        let mut part = place.start(&["testbed", "part"]).unwrap();
        let mut said = [0; 13];
        part.output.read_exact(&mut said).unwrap();
        part
    });
    let pid = |place: &TestbedFolder<'_>| fs::read_to_string(format!("{}/pid", place.path())).unwrap();
    process::run(
        "kill",
        &["-9".to_owned(), pid(&killed).trim().to_owned()],
        Input::None,
        Output::Text,
        SHORT,
        executor.kill,
    )
    .unwrap();
    assert!(!dead.child.wait().unwrap().success() && exists(&killed));
    let clean = ["testbed", "part", "--clean"];
    let ended = |ids: &[String], all| end_parts(host, ids, all, &clean, caller).unwrap();
    let others = |ended: Vec<String>| -> Vec<String> {
        // Tests of others may leave theirs on this host.
        let own = |path: &String| path.contains(&executor.folder);
        ended.into_iter().filter(own).collect()
    };
    assert_eq!(others(ended(&[], false)), [killed.path()]);
    assert!(exists(&running), "it runs");
    assert_eq!(others(ended(&[one], false)), [running.path()]);
    assert!(!exists(&running));
    live.child.wait().unwrap();
    let just_made = made(&two);
    assert!(
        others(ended(&[], false)).is_empty() && exists(&just_made),
        "a run may be about to start it"
    );
    assert_eq!(others(ended(&[two], false)), [just_made.path()]);

    // Two calls at once are two hosts with one file system.
    let id = format!("{}-2", executor.folder);
    let shared = made(&id);
    fs::create_dir(format!("{}/testbed", shared.path())).unwrap();
    let said = std::thread::scope(|scope| {
        let calls = [(); 2].map(|()| scope.spawn(|| others(ended(std::slice::from_ref(&id), false))));
        calls.map(|call| call.join().unwrap()).concat()
    });
    assert_eq!(said, [shared.path()]);
}

#[test]
fn a_slow_command_is_given_up_and_a_running_one_can_be_killed() {
    let words = |text: &str| vec!["-c".to_owned(), text.to_owned()];
    let kill = AtomicBool::new(false);
    let slow = process::run(
        "sh",
        &words("sleep 30"),
        Input::None,
        Output::Text,
        Duration::from_millis(100),
        &kill,
    )
    .unwrap();
    assert!(matches!(slow, Finished::Slow), "{slow:?}");
    let kill = AtomicBool::new(true);
    let killed = process::run("sh", &words("sleep 30"), Input::None, Output::Text, SHORT, &kill).unwrap();
    assert!(matches!(killed, Finished::Killed), "{killed:?}");
}

#[test]
fn a_window_is_an_option_of_the_test_and_none_is_left_out() {
    let shape = TestShape {
        rtt_ns: 1,
        tcp_ns: 1,
        streams: 1,
        udp_ns: 1,
        udp_bps: 1,
        max_bytes: 7,
        survey: false,
        window_bytes: Some(65_536),
    };
    let script = |shape: &TestShape| scripts::probe("folder", "weir", "far", shape);
    assert!(script(&shape).ends_with("--max-bytes 7B --window 65536B"));
    let none = TestShape {
        window_bytes: None,
        ..shape
    };
    assert!(script(&none).ends_with("--max-bytes 7B"));
}
