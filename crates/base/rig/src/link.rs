//! A second host: a network namespace joined to the test's own by a veth pair, and packet filters with counters on
//! both.

use std::process::Command;

use super::run;

/// Address of the near host.
pub const NEAR_IPV4: &str = "10.9.0.1";
/// Address of the far host.
pub const FAR_IPV4: &str = "10.9.0.2";
pub const NEAR_IPV6: &str = "fd09::1";
/// IPv6 address of the far host.
pub const FAR_IPV6: &str = "fd09::2";

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The test's own namespace.
    Near,
    /// The one behind the link.
    Far,
}

impl Host {
    /// The command line on this host.
    pub fn command(self, command: Command) -> Command {
        if self == Host::Near {
            return command;
        }
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", "far"]).arg(command.get_program());
        inside.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => inside.env(name, value),
                None => inside.env_remove(name),
            };
        }
        inside
    }

    /// Runs a helper on this host.
    #[track_caller]
    pub fn run(self, program: &str, arguments: &[&str]) -> String {
        match self {
            Host::Near => run(program, arguments),
            Host::Far => run("ip", &[&["netns", "exec", "far", program], arguments].concat()),
        }
    }
}

/// Makes the far host and the link, whose interfaces are `near` and `far`, with this MTU.
#[track_caller]
pub fn join_by_veth(mtu: u32) {
    let mtu = mtu.to_string();
    run("ip", &["netns", "add", "far"]);
    run(
        "ip",
        &[
            "link", "add", "near", "mtu", &mtu, "type", "veth", "peer", "name", "far", "netns", "far", "mtu",
            &mtu,
        ],
    );
    let ends = [
        (Host::Near, "near", NEAR_IPV4, NEAR_IPV6),
        (Host::Far, "far", FAR_IPV4, FAR_IPV6),
    ];
    for (host, interface, ipv4, ipv6) in ends {
        host.run("ip", &["address", "add", &format!("{ipv4}/24"), "dev", interface]);
        host.run(
            "ip",
            &["address", "add", &format!("{ipv6}/64"), "dev", interface, "nodad"],
        );
        host.run("ip", &["link", "set", "lo", "up"]);
        host.run("ip", &["link", "set", interface, "up"]);
    }
}

/// Runs one `nft` command on a host.
#[track_caller]
pub fn nft(host: Host, command: &str) {
    host.run("nft", &[command]);
}

/// Packets that a named counter of table `ip lab` or `ip6 lab` has counted.
#[track_caller]
pub fn nft_counter(host: Host, table: &str, name: &str) -> u64 {
    let said = host.run("nft", &["list", "counter", table, name]);
    let mut words = said.split_whitespace().skip_while(|word| *word != "packets");
    let count = words.nth(1).and_then(|count| count.parse().ok());
    count.unwrap_or_else(|| panic!("no count of packets in: {said}"))
}

/// UDP ports that are bound on a host.
#[track_caller]
pub fn udp_ports_in_use(host: Host) -> Vec<u16> {
    let said = host.run("ss", &["-H", "-u", "-a", "-n"]);
    let port = |line: &str| line.split_whitespace().nth(3)?.rsplit(':').next()?.parse().ok();
    let mut ports: Vec<u16> = said.lines().filter_map(port).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// Bytes that an interface has sent (`tx`) or received (`rx`), headers included, as the kernel counts.
#[track_caller]
pub fn interface_bytes(host: Host, interface: &str, way: &str) -> u64 {
    let said = host.run("ip", &["-json", "-stats", "link", "show", "dev", interface]);
    let links: serde_json::Value = serde_json::from_str(&said).expect("JSON of ip");
    let bytes = &links[0]["stats64"][way]["bytes"];
    bytes
        .as_u64()
        .unwrap_or_else(|| panic!("no {way} bytes in {said}"))
}
