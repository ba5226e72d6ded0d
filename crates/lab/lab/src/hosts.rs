//! The two hosts: a network namespace each, with loopback and one interface whose packets Weir carries.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Command;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weir_link::headers::RouterAddresses;
use weir_link::{LinkSpec, QueueLimit, QueueSpec, RateSpec};
use weir_net::interface::{self, Interface, InterfaceCounters, InterfaceError};
use weir_net::namespace::{Inmate, NetworkNamespace};
use weir_net::tun::{Tun, TunError};

/// Why a lab cannot be.
#[derive(Debug, Error)]
pub enum LabError {
    /// A namespace could not be made or entered.
    #[error("cannot {operation} the network namespace of the {host} host: {source}")]
    Namespace {
        /// What was tried.
        operation: &'static str,
        /// Which.
        host: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// An interface could not be made.
    #[error(transparent)]
    Device(#[from] TunError),
    /// The link did not start or ended by itself.
    #[error("the link between the hosts failed: {0}")]
    Link(io::Error),
}

/// Set aside for benchmarks between devices (RFC 2544, RFC 6890): never a network that the host is in.
pub const NEAR_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The far host's.
pub const FAR_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// A unique local address (RFC 4193).
pub const NEAR_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, 1);
/// The far host's.
pub const FAR_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, 2);

/// Between them, the one that says when packets are too long.
pub(crate) const ROUTER: RouterAddresses = RouterAddresses {
    ipv4: Ipv4Addr::new(198, 18, 0, 254),
    ipv6: Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, 0xfe),
};

/// The interface's name on both hosts.
const DEVICE: &str = "weir0";
/// Packets (large ones count as one) that may wait for Weir to read them.
const DEVICE_QUEUE: u32 = 10_000;
/// Least MTU with which an interface can have IPv6 addresses (RFC 8200).
const LEAST_IPV6_MTU: u32 = 1_280;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// The one where commands are given.
    Near,
    /// The other.
    Far,
}

impl Host {
    /// As commands and names of namespaces say it.
    pub fn name(self) -> &'static str {
        match self {
            Host::Near => "near",
            Host::Far => "far",
        }
    }

    fn addresses(self) -> (Ipv4Addr, Ipv6Addr) {
        match self {
            Host::Near => (NEAR_IPV4, NEAR_IPV6),
            Host::Far => (FAR_IPV4, FAR_IPV6),
        }
    }
}

/// Lines for `/etc/hosts`, so that commands can name both hosts.
fn hosts_lines() -> String {
    [Host::Near, Host::Far]
        .map(|host| {
            let (ipv4, ipv6) = host.addresses();
            format!("{ipv4} {name}\n{ipv6} {name}\n", name = host.name())
        })
        .concat()
}

/// Starts a command on a host that is this namespace.
///
/// # Errors
/// When the namespace cannot be entered, or the command does not start.
pub fn spawn_on(namespace: &NetworkNamespace, command: Command) -> io::Result<Inmate> {
    namespace.spawn(command, &hosts_lines())
}

/// Makes `host`'s interface in `namespace` and sets everything up.
pub(crate) fn set_up(namespace: &NetworkNamespace, host: Host, spec: &LinkSpec) -> Result<Tun, LabError> {
    let made = namespace.run(|| {
        let tun = Tun::create(DEVICE, true)?;
        configure(host, spec)?;
        Ok::<Tun, TunError>(tun)
    });
    let made = made.map_err(|source| LabError::Namespace {
        operation: "enter",
        host: host.name(),
        source,
    })?;
    Ok(made?)
}

fn configure(host: Host, spec: &LinkSpec) -> Result<(), InterfaceError> {
    let (ipv4, ipv6) = host.addresses();
    Interface::named("lo")?.set_up()?;
    let mut device = Interface::named(DEVICE)?;
    device.set_mtu(spec.interface_mtu)?;
    device.set_queue_length(DEVICE_QUEUE)?;
    let with_ipv6 = has_ipv6(spec);
    if with_ipv6 {
        // Without an address of its own making the host sends nothing unasked, so that the first packet on the link
        // is the first that a test sends.
        device.set_ipv6_setting("addr_gen_mode", "1")?;
    }
    device.set_up()?;
    device.add_ipv4(ipv4, 24)?;
    if with_ipv6 {
        device.add_ipv6(ipv6, 64)?;
    }
    raise_tcp_buffers(spec);
    Ok(())
}

/// Arguments of `ip` that set this congestion control on a host's route to the other.
pub(crate) fn route_with(host: Host, congestion_control: &str) -> Vec<String> {
    let (own, _) = host.addresses();
    let route = format!("route replace 198.18.0.0/24 dev {DEVICE} proto kernel scope link src {own} congctl");
    let words = route.split(' ').chain([congestion_control]);
    words.map(str::to_owned).collect()
}

/// Hosts of this link have IPv6 addresses.
pub(crate) fn has_ipv6(spec: &LinkSpec) -> bool {
    interface::has_ipv6() && spec.interface_mtu >= LEAST_IPV6_MTU
}

/// Lets TCP's buffers grow to what the link holds, so that the hosts are not what limits a flow. Limits that are
/// higher already stay. A kernel that refuses keeps its own.
fn raise_tcp_buffers(spec: &LinkSpec) {
    let wanted = 4 * bytes_on_link(spec).clamp(1 << 20, 256 << 20);
    for name in ["tcp_rmem", "tcp_wmem"] {
        let path = format!("/proc/sys/net/ipv4/{name}");
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let limits: Vec<u64> = text
            .split_whitespace()
            .map_while(|limit| limit.parse().ok())
            .collect();
        if let [least, default, most] = limits[..]
            && most < wanted
        {
            let _ = fs::write(&path, format!("{least} {default} {wanted}"));
        }
    }
}

/// Bytes that a link can hold: on the way there and back, and in its largest queue.
fn bytes_on_link(spec: &LinkSpec) -> u64 {
    let routes = || spec.forward.routes.iter().chain(&spec.reverse.routes);
    let delay =
        |routes: &[weir_link::RouteSpec]| routes.iter().map(|route| route.delay_ns).max().unwrap_or(0);
    let round_trip_ns = delay(&spec.forward.routes) + delay(&spec.reverse.routes);
    let rate = routes().map(|route| most_rate(&route.rate)).max().unwrap_or(0);
    let in_flight = u128::from(rate) * u128::from(round_trip_ns) / 8_000_000_000;
    let queue = routes().map(|route| queue_bytes(&route.queue)).max().unwrap_or(0);
    u64::try_from(in_flight).unwrap_or(u64::MAX).saturating_add(queue)
}

/// A rate that TCP should be able to fill, bits per second.
fn most_rate(rate: &RateSpec) -> u64 {
    const UNLIMITED: u64 = 10_000_000_000;
    match rate {
        RateSpec::Unlimited => UNLIMITED,
        RateSpec::Fixed(rate) => *rate,
        RateSpec::Steps(steps) => steps.iter().map(|step| step.rate).max().unwrap_or(0),
        RateSpec::Opportunities {
            at_ns,
            period_ns,
            bytes,
        } => {
            let bits = at_ns.len() as u128 * u128::from(*bytes) * 8_000_000_000;
            u64::try_from(bits / u128::from((*period_ns).max(1))).unwrap_or(u64::MAX)
        }
    }
}

fn queue_bytes(queue: &QueueSpec) -> u64 {
    match queue {
        QueueSpec::Unlimited => 0,
        QueueSpec::Bytes(bytes) => *bytes,
        QueueSpec::Packets(packets) => packets.saturating_mul(1_500),
        QueueSpec::Managed(managed) => match managed.limit {
            QueueLimit::Unlimited => 0,
            QueueLimit::Bytes(bytes) => bytes,
            QueueLimit::Packets(packets) => packets.saturating_mul(1_500),
        },
    }
}

/// Counters of the host's interface; zeros when it cannot be read any more.
pub(crate) fn interface_counters(namespace: &NetworkNamespace) -> InterfaceCounters {
    let read = namespace.run(|| interface::counters(DEVICE));
    read.ok().flatten().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_hosts_have_names() {
        let lines = hosts_lines();
        for line in [
            "198.18.0.1 near",
            "198.18.0.2 far",
            "fd00:77::1 near",
            "fd00:77::2 far",
        ] {
            assert!(lines.lines().any(|found| found == line), "{line} in {lines}");
        }
    }
}
