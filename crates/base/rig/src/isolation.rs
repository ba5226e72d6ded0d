//! Runs a test again inside its own namespaces: user, network, mount and process IDs. Interfaces, filters, files and
//! processes of the test disappear with them when it ends, however it ends.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Scratch directory inside.
pub const SCRATCH: &str = "/run/weir-e2e";
/// Says to the inner process which test it is.
const INSIDE: &str = "WEIR_E2E_INSIDE";
/// A test that takes longer hangs, and is to say so before whoever waits for all of them gives up. The longest takes more
/// than 600 s where 18 processes share 2 cores.
const LIMIT: Duration = Duration::from_secs(1_200);
/// Commands that tests use, with the Debian packages that hold them.
const NEEDED: [(&str, &str); 5] = [
    ("unshare", "util-linux"),
    ("ip", "iproute2"),
    ("ss", "iproute2"),
    ("nft", "nftables"),
    ("python3", "python3"),
];

/// What a test has for itself, as arguments of `unshare`.
const SPACES: [&str; 5] = ["--net", "--mount", "--pid", "--fork", "--kill-child"];

/// How a test bears company.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Runs beside others.
    Light,
    /// Runs beside light ones only.
    Heavy,
    /// Has hosts with servers that change users, which takes root; one such test at a time.
    Root,
}

/// True inside, where the test is to go on. Outside, runs the test inside and returns false when it passed.
pub fn enter(marker: &str, weight: Weight) -> bool {
    let name = test_name(marker);
    if std::env::var(INSIDE).is_ok_and(|inside| inside == name) {
        set_up();
        return true;
    }
    static HEAVY: Mutex<()> = Mutex::new(());
    static ROOT: Mutex<()> = Mutex::new(());
    let turn = match weight {
        Weight::Light => None,
        Weight::Heavy => Some(&HEAVY),
        Weight::Root => Some(&ROOT),
    };
    let _turn = turn.map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner));
    let unshare = match (how_to_unshare(), weight) {
        (Err(missing), _) => panic!("{missing}"),
        (Ok(_), Weight::Root) => root_spaces(),
        (Ok(arguments), _) => arguments.as_slice(),
    };
    let mut inner = Command::new("unshare")
        .args(unshare)
        .arg(std::env::current_exe().expect("the test's own path"))
        .args([
            "--exact",
            &name,
            "--nocapture",
            "--include-ignored",
            "--test-threads=1",
        ])
        .env(INSIDE, &name)
        .env("PATH", path_with_sbin())
        // Its end tells the inside that this process is gone.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("unshare starts");
    let lifeline = inner.stdin.take();
    let output = inner.wait_with_output().expect("the inner test ends");
    drop(lifeline);
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out.contains("1 passed"),
        "{name} failed in its namespaces ({}):\n{out}\n{err}",
        output.status
    );
    false
}

/// `crate::module::test::marker` without both ends.
fn test_name(marker: &str) -> String {
    let inner = marker.strip_suffix("::marker").expect("a path to the marker");
    let (_, name) = inner.split_once("::").expect("a crate's name before the test's");
    name.to_owned()
}

/// Debian keeps ip and nft out of the PATH of ordinary users.
fn path_with_sbin() -> String {
    format!(
        "{}:/usr/local/sbin:/usr/sbin:/sbin",
        std::env::var("PATH").unwrap_or_default()
    )
}

/// Arguments of `unshare` with which root stays what it is.
fn root_spaces() -> &'static [&'static str] {
    let id = super::run("id", &["-u"]);
    assert_eq!(id.trim(), "0", "this test needs root: sshd changes users");
    assert!(
        std::path::Path::new("/usr/sbin/sshd").is_file(),
        "this test needs sshd: install the package openssh-server (apt-get install openssh-server)"
    );
    &SPACES
}

/// Arguments of `unshare` that work here, or what to do about it.
fn how_to_unshare() -> &'static Result<Vec<&'static str>, String> {
    static FOUND: OnceLock<Result<Vec<&'static str>, String>> = OnceLock::new();
    FOUND.get_or_init(|| {
        for (command, package) in NEEDED {
            let found = std::env::split_paths(&path_with_sbin()).any(|place| place.join(command).is_file());
            if !found {
                return Err(format!(
                    "these tests need the command '{command}': install the package {package} \
                     (apt-get install {package})"
                ));
            }
        }
        let as_user = [&["--user", "--map-root-user"], &SPACES[..]].concat();
        for arguments in [as_user, SPACES.to_vec()] {
            if can_make_interfaces(&arguments) {
                return Ok(arguments);
            }
        }
        Err(
            "these tests make network namespaces, and this host lets them neither as this user nor as root: run \
             them as root, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, \
             kernel.apparmor_restrict_unprivileged_userns=0)"
                .to_owned(),
        )
    })
}

fn can_make_interfaces(unshare: &[&str]) -> bool {
    Command::new("unshare")
        .args(unshare)
        .args([
            "sh",
            "-c",
            "mount -t tmpfs tmpfs /run && ip link add one type veth peer name two",
        ])
        .env("PATH", path_with_sbin())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Has `/proc` show the processes of this test's own namespace, and those alone.
#[track_caller]
pub fn see_own_processes() {
    super::run("mount", &["-t", "proc", "proc", "/proc"]);
}

/// First steps inside. This process is the first of its process namespace: when it ends, all others end.
fn set_up() {
    std::thread::spawn(|| {
        // The outer test holds the other end and never writes.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(101);
    });
    std::thread::spawn(|| {
        std::thread::sleep(LIMIT);
        eprintln!("the test took longer than {} s", LIMIT.as_secs());
        std::process::exit(101);
    });
    super::run("mount", &["-t", "tmpfs", "tmpfs", "/run"]);
    super::run("ip", &["link", "set", "lo", "up"]);
    std::fs::create_dir_all(SCRATCH).expect("a scratch directory");
    std::env::set_current_dir(SCRATCH).expect("into the scratch directory");
}
