//! What is wrong on the command line or with a host that answers is said in one line, and where.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{finish, weir};
use crate::assert_documented;

/// What a user gets wrong: the arguments, their exit status, and what the one line of error says.
const WRONG: [(&str, i32, &str); 22] = [
    ("regions --cloud awz", 2, "unknown cloud 'awz'"),
    ("regions --near 91,0", 2, "is not a point on the earth"),
    (
        "plan --pair aws:us-esat-1->gcp:us-central1",
        2,
        "did you mean 'aws:us-east-1'?",
    ),
    ("plan --pair aws:us-east-1", 2, "FROM->TO"),
    ("plan --pair aws:us-east-1/->aws:us-east-1/b", 2, "PLACE/ZONE"),
    (
        "plan --hosts zones.yaml --pair aws:us-east-1a->aws:us-east-1c",
        2,
        "no host is in zone 'us-east-1c' of aws:us-east-1: there are us-east-1a, us-east-1b",
    ),
    ("plan --cloud aws --machines 2", 2, "--all-hosts"),
    (
        "plan --hosts hosts.yaml --zones --machines 2",
        2,
        "--machines conflicts with --hosts",
    ),
    (
        "launch --pair aws:us-east-1a->aws:us-east-1b --placement-group --admit 203.0.113.7",
        2,
        "a placement group has machines of one zone",
    ),
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
        "no hosts in group 'web'",
    ),
    ("import hosts.yaml", 2, "missing column 'timestamp'"),
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
        "install the OpenSSH client",
    ),
    (
        "plan --pair nowhere:us-east-1->gcp:us-central1",
        2,
        "unknown cloud 'nowhere'",
    ),
    (
        "run --hosts hosts.yaml --program aarch64=nowhere",
        2,
        "no program nowhere",
    ),
    (
        "run --hosts hosts.yaml --binaries nowhere",
        2,
        "no folder nowhere",
    ),
    (
        "run --launch --cloud aws --max-regions 2 --admit 203.0.113.7 --arm --ssh /bin/true --binaries .",
        2,
        "put weir-aarch64-unknown-linux-musl into .",
    ),
];

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = "hosts:\n  - {name: a, address: 192.0.2.1, place: 'aws:us-east-1'}\n  - {name: b, address: 192.0.2.2, latitude: 1, longitude: 2}\n";
    fs::write(folder.path().join("hosts.yaml"), hosts).unwrap();
    let zones = "hosts:\n  - {name: a, place: 'aws:us-east-1', zone: us-east-1a}\n  - {name: b, place: 'aws:us-east-1', zone: us-east-1b}\n";
    fs::write(folder.path().join("zones.yaml"), zones).unwrap();
    for (arguments, code, part) in WRONG {
        let words: Vec<&str> = arguments.split(' ').collect();
        let mut command = weir(&[&["mesh"], &words[..]].concat());
        command.current_dir(folder.path());
        let done = finish(command, code);
        let error = done.one_error();
        assert!(error.contains(part), "weir mesh {arguments}: {error}");
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
    let done = finish(command, 3);
    let run = done.json();
    assert_documented("mesh-run", &run);
    let lost = &run["lost_hosts"]["b"];
    assert_eq!(lost["kind"], "architecture", "{run}\n{}", done.stderr);
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

#[test]
fn a_host_gets_the_binary_of_its_architecture() {
    let folder = tempfile::tempdir().unwrap();
    let ports = [(), ()].map(|()| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    });
    // Both are this machine; the second reports another architecture.
    let hosts = format!(
        "hosts:\n  - {{name: a, address: 192.0.2.1, test-address: 127.0.0.1, agent-port: {}, latitude: 1, longitude: 2}}\n  \
         - {{name: b, address: 192.0.2.2, test-address: 127.0.0.1, agent-port: {}, latitude: 3, longitude: 4}}\n",
        ports[0], ports[1]
    );
    fs::write(folder.path().join("hosts.yaml"), hosts).unwrap();
    let executable = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    };
    let ssh = executable("ssh", ODD_HOSTS);
    let used = folder.path().join("used");
    let program = format!(
        "#!/bin/sh\ntouch {}\nexec {} \"$@\"\n",
        used.display(),
        weir_rig::binary().display()
    );
    executable("weir-vax-unknown-linux-musl", &program);
    let mut command = weir(&[
        "mesh",
        "run",
        "--hosts",
        "hosts.yaml",
        "--json",
        "--rtt-for",
        "200ms",
    ]);
    command
        .args(["--tcp-for", "0s", "--udp-for", "0s", "--binaries", ".", "--ssh"])
        .arg(&ssh)
        .current_dir(folder.path());
    let done = finish(command, 0);
    let run = done.json();
    assert_eq!(
        (&run["finished"], &run["failed"]),
        (&2.into(), &0.into()),
        "{run}\n{}",
        done.stderr
    );
    assert!(used.exists());
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
            "is not a range of IPv4 addresses",
        ),
        (
            "launch --cloud aws --max-regions 2 --machines-by nowhere",
            &empty,
            2,
            "no program nowhere",
        ),
        (
            "sweep --cloud gcp",
            &empty,
            2,
            "looking for tags in gcp is not supported",
        ),
        ("sweep --place aws:us-east-1", &empty, 3, "cannot start 'aws'"),
    ];
    for (arguments, path, code, part) in wrong {
        let words: Vec<&str> = arguments.split(' ').collect();
        let mut command = weir(&[&["mesh"], &words[..]].concat());
        command
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env("PATH", path);
        let done = finish(command, code);
        let error = done.one_error();
        assert!(error.contains(part), "weir mesh {arguments}: {error}");
        assert!(
            !folder.path().join(".local").exists(),
            "{arguments} left something behind"
        );
    }
}
