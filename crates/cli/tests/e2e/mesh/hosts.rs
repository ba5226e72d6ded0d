//! Hosts of a mesh that the test makes: namespaces with an SSH server each, and emulated links between them.

use std::fs;
use std::path::Path;
use std::process::Command;

use weir_rig::{LIMIT, Running, SCRATCH, other_processes, ran, run, see_own_processes, wait_until};

const PLACES: [&str; 4] = [
    "aws:eu-west-1",
    "aws:us-east-1",
    "gcp:asia-northeast1",
    "azure:australiaeast",
];
/// Makes the first `count` hosts, a namespace each with an address for SSH and one for tests, and gives their SSH servers.
#[must_use]
pub fn make_hosts(count: usize) -> Vec<Running> {
    hide_temporary_files();
    make_bridge();
    for key in ["user", "host", "other"] {
        run(
            "ssh-keygen",
            &["-q", "-t", "ed25519", "-N", "", "-f", &format!("{SCRATCH}/{key}")],
        );
    }
    fs::copy(format!("{SCRATCH}/user.pub"), format!("{SCRATCH}/authorized")).unwrap();
    let host_key = fs::read_to_string(format!("{SCRATCH}/host.pub")).unwrap();
    let known: String = (1..=count)
        .map(|host| format!("10.9.0.{host} {host_key}"))
        .collect();
    fs::write(format!("{SCRATCH}/known"), known).unwrap();
    fs::write(
        format!("{SCRATCH}/ssh_config"),
        format!("Host *\n User root\n IdentityFile {SCRATCH}/user\n IdentitiesOnly yes\n UserKnownHostsFile {SCRATCH}/known\n"),
    )
    .unwrap();
    let mut file = format!("defaults: {{ssh-arguments: '-F {SCRATCH}/ssh_config'}}\nhosts:\n");
    let mut servers = Vec::new();
    for (host, place) in (1..=count).zip(PLACES) {
        // The first gets its program copied; the others have it.
        let there = format!(", weir: {}", weir_rig::binary().display());
        let there = if host == 1 { "" } else { &there };
        file.push_str(&format!(
            "  - {{name: h{host}, address: 10.9.0.{host}, test-address: 10.1.0.{host}, place: '{place}'{there}}}\n"
        ));
        servers.push(make_host(host));
    }
    fs::write(format!("{SCRATCH}/hosts.yaml"), file).unwrap();
    servers
}

/// A bridge on which hosts are reached by SSH, from 10.9.0.254.
pub fn make_bridge() {
    see_own_processes();
    fs::create_dir_all("/run/sshd").unwrap();
    // bash reads it for SSH: what it starts may take locks, which a kill leaves behind for all later logins.
    if Path::new("/root/.bashrc").exists() {
        run("mount", &["--bind", "/dev/null", "/root/.bashrc"]);
    }
    let script =
        "ip link add bridge type bridge; ip address add 10.9.0.254/24 dev bridge; ip link set bridge up";
    run("sh", &["-ec", script]);
}

fn make_host(host: usize) -> Running {
    let name = format!("h{host}");
    let config = format!("{SCRATCH}/sshd_{host}");
    let script = format!(
        "ip netns add {name}; in={name}
         ip link add b{host} master bridge type veth peer name ssh0 netns $in; ip link set b{host} up
         ip -n $in link set lo up; ip -n $in address add 10.9.0.{host}/24 dev ssh0; ip -n $in link set ssh0 up
         ip -n $in address add 10.1.0.{host}/32 dev lo"
    );
    run("sh", &["-ec", &script]);
    let text = format!(
        "ListenAddress 10.9.0.{host}\nHostKey {SCRATCH}/host\nAuthorizedKeysFile {SCRATCH}/authorized\nStrictModes no\nUsePAM no\n\
         PidFile none\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nMaxStartups 100\n"
    );
    fs::write(&config, text).unwrap();
    let mut server = Command::new("ip");
    server.args(["netns", "exec", &name, "/usr/sbin/sshd", "-D", "-f", &config]);
    Running::start(server)
}

/// Joins two hosts by an emulated link with this RTT: the link's own hosts are not used, their interfaces are.
pub fn join(one: usize, other: usize, rtt_ms: f64) {
    let link = format!("l{one}{other}");
    let options = format!("--rtt {rtt_ms:.3}ms --rate 50Mbit/s --queue 500kB --name {link} --quiet");
    ran(0, &format!("lab link up {options}"));
    for (end, host, far) in [("near", one, other), ("far", other, one)] {
        let script = format!(
            "ip -n weir-{link}-{end} link set weir0 name to-h{far} netns h{host}
             ip -n h{host} link set to-h{far} up
             ip -n h{host} route add 10.1.0.{far}/32 dev to-h{far} src 10.1.0.{host}"
        );
        run("sh", &["-ec", &script]);
    }
}

/// A new /tmp, in which there is nothing but this checkout, if that is where it lies.
pub fn hide_temporary_files() {
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

pub fn folders_on_hosts() -> Vec<String> {
    let names = fs::read_dir("/tmp")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("weir-mesh-")).collect()
}

pub fn agents() -> usize {
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

/// What testbeds have on the hosts.
pub struct Beds;

impl Beds {
    /// Their folders.
    pub fn folders() -> Vec<String> {
        let entries = fs::read_dir("/tmp").unwrap();
        let paths = entries.map(|entry| entry.unwrap().path().display().to_string());
        paths
            .filter(|path| path.starts_with("/tmp/weir-testbed-"))
            .collect()
    }

    /// Neither folders nor namespaces nor processes but the SSH servers.
    #[track_caller]
    pub fn nothing_is_left() {
        assert_eq!(Beds::folders(), [""; 0]);
        let namespaces = run("ip", &["netns", "list"]);
        assert!(!namespaces.contains("weir-testbed"), "{namespaces}");
        wait_until("the end of all processes", LIMIT, || {
            // Those of a connection end after what they have served.
            other_processes()
                .iter()
                .all(|line| line.contains("sshd"))
                .then_some(())
        });
    }
}

#[track_caller]
pub fn nothing_is_left() {
    assert_eq!(folders_on_hosts(), [""; 0]);
    wait_until("the end of the agents", LIMIT, || (agents() == 0).then_some(()));
}
