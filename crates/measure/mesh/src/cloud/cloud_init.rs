//! What a launched machine does when it starts, for cloud-init: a user with a key, a host key that is known beforehand,
//! and an end at its deadline. Pure.

use serde_json::json;

use super::{Launch, USER};

/// Configuration of the SSH server that comes before the system's own.
const SSH_SERVER: &str = "/etc/ssh/sshd_config.d/00-weir.conf";

/// Script that cloud-init runs at every start: a deadline that a restart does not forget.
const SCRIPT: &str = "/var/lib/cloud/scripts/per-boot/weir";

/// Parameters of the kernel: buffers for 8 Gbit/s and windows for 2.5 Gbit/s at 200 ms; TCP finds its own way where a gateway
/// drops packets that are too long without a word.
const PARAMETERS: &str = "/etc/sysctl.d/90-weir.conf";
const PARAMETERS_OF_MEDIA: &str = "\
net.core.rmem_max = 67108864
net.core.wmem_max = 67108864
net.ipv4.tcp_rmem = 4096 131072 67108864
net.ipv4.tcp_wmem = 4096 65536 67108864
net.ipv4.tcp_mtu_probing = 1
";
/// Limits of the user's sessions: real-time priority and sockets, without capabilities on a file, which the /tmp of some
/// systems ignores.
const LIMITS: &str = "/etc/security/limits.d/90-weir.conf";

/// The user data of a machine in this cloud.
pub fn user_data(launch: &Launch, cloud: &str) -> String {
    let mut document = json!({
        "users": ["default", {
            "name": USER,
            "shell": "/bin/bash",
            "lock_passwd": true,
            "ssh_authorized_keys": [launch.keys.operator_public.trim()],
        }],
        "ssh_pwauth": false,
        "disable_root": !launch.root,
        "ssh_keys": {
            "ed25519_private": launch.keys.host_private,
            "ed25519_public": launch.keys.host_public.trim(),
        },
        "write_files": [
            { "path": SCRIPT, "permissions": "0755", "content": script(launch, cloud) },
            { "path": PARAMETERS, "permissions": "0644", "content": PARAMETERS_OF_MEDIA },
            { "path": LIMITS, "permissions": "0644", "content": format!("{USER} - rtprio 99\n{USER} - nofile 1048576\n") },
        ],
    });
    if launch.root {
        // For root, too: cloud-init gives it these keys.
        document["ssh_authorized_keys"] = json!([launch.keys.operator_public.trim()]);
        if let Some(files) = document["write_files"].as_array_mut() {
            let text = "PermitRootLogin prohibit-password\n";
            files.push(json!({ "path": SSH_SERVER, "permissions": "0644", "content": text }));
        }
    }
    if !launch.packages.is_empty() {
        document["package_update"] = true.into();
        document["packages"] = json!(launch.packages);
    }
    // JSON is YAML.
    format!("#cloud-config\n{document:#}\n")
}

fn script(launch: &Launch, cloud: &str) -> String {
    let mut text = String::from("#!/bin/sh\n");
    if cloud == "oracle" {
        // Its images let nothing but SSH in; the security list is in charge.
        text.push_str("systemctl stop firewalld 2>/dev/null\niptables -P INPUT ACCEPT\niptables -F INPUT\n");
    }
    text.push_str(&format!("sysctl -q -p {PARAMETERS}\n"));
    if let Some(mtu) = launch.mtu(cloud) {
        text.push_str(
            "device=$(ip -o route show default | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p' | head -n 1)\n",
        );
        text.push_str(&format!("ip link set dev \"$device\" mtu {mtu}\n"));
    }
    text.push_str(&format!(
        "left=$(( ({} - $(date +%s)) / 60 ))\n[ \"$left\" -gt 0 ] || left=1\nexec shutdown -P +\"$left\"\n",
        launch.delete_after_unix_s
    ));
    text
}
