//! `weir doctor` on a host with small buffers and a small MTU, behind a firewall, and what `--fix` leaves.

use serde_json::Value;

use weir_rig::{Agent, FAR_IPV4, Host, isolated, join_by_veth, nft, ran, run};

use crate::documented;

/// The kernel's parameters as files of this test: those of namespaces cannot be written.
fn own_parameters() {
    let script = "\
        for file in rmem_max wmem_max; do
            echo 212992 > $file; mount --bind $file /proc/sys/net/core/$file
        done
        mount -t tmpfs tmpfs /etc/sysctl.d";
    run("sh", &["-ec", script]);
}

/// How a check ended, with its value.
#[track_caller]
fn check<'a>(said: &'a Value, side: &str, name: &str) -> (&'a str, &'a str) {
    let checks = said["checks"].as_array().expect("checks");
    let found = checks
        .iter()
        .find(|check| check["side"] == side && check["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} of {side} in {said}"));
    (
        found["fitness"].as_str().unwrap(),
        found["value"].as_str().unwrap(),
    )
}

#[test]
fn small_buffers_a_small_mtu_and_a_firewall_are_found_and_the_buffers_mended() {
    isolated!();
    own_parameters();
    join_by_veth(1400);
    let agent = Agent::start(Host::Far, "--open");
    nft(Host::Far, "add table inet wall");
    nft(
        Host::Far,
        "add chain inet wall in { type filter hook input priority 0; }",
    );
    nft(Host::Far, "add rule inet wall in meta l4proto udp drop");
    let far = agent.at(FAR_IPV4);

    let said = ran(3, &format!("doctor {far} --json")).json();
    documented("doctor", &said);
    assert_eq!(said["fitness"], "fault");
    assert_eq!(check(&said, "local", "receive-buffer"), ("warning", "213 kB"));
    assert_eq!(check(&said, "local", "interface-mtu"), ("warning", "1400 bytes"));
    assert_eq!(check(&said, "local", "udp"), ("fault", "blocked"));
    assert_eq!(check(&said, "remote", "interface-mtu"), ("warning", "1400 bytes"));

    // What this host needs is printed all the same.
    let alone = ran(3, &format!("doctor {FAR_IPV4}:1"));
    alone.error_has("cannot reach an agent");
    alone.stdout_has("sysctl -w net.core.rmem_max=4194304");
    let refused = ran(2, "doctor --fix");
    refused.error_has("add --yes");
    let mended = ran(3, &format!("doctor {far} --fix --yes --json"));
    mended.stderr_has("net.core.rmem_max = 4194304");
    let mended = mended.json();
    documented("doctor", &mended);
    assert_eq!(mended["written"], "/etc/sysctl.d/90-weir.conf");
    assert_eq!(run("cat", &["rmem_max", "wmem_max"]), "4194304\n1048576\n");
    let file = run("cat", &["/etc/sysctl.d/90-weir.conf"]);
    assert!(
        file.ends_with("net.core.rmem_max = 4194304\nnet.core.wmem_max = 1048576\n"),
        "{file}"
    );

    nft(Host::Far, "flush ruleset");
    // Both hosts have the same kernel, but only this one has the files of the test.
    let said = ran(1, &format!("doctor {far} --json")).json();
    assert_eq!(check(&said, "local", "receive-buffer").0, "good");
    assert_eq!(check(&said, "local", "send-buffer").0, "good");
    assert_eq!(check(&said, "local", "udp"), ("good", "passes"));
    assert_eq!(check(&said, "local", "path-mtu"), ("good", "1400 bytes"));
    assert_eq!(check(&said, "remote", "path-mtu"), ("good", "1400 bytes"));
    assert!(said["written"].is_null(), "{said}");
}
