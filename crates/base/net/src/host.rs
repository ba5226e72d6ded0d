//! Facts of this host that explain a measurement: kernel, CPU, interface, limits.

use std::fs;
use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;

/// Environment variable in which a lab names its link.
pub const LAB_LINK_VARIABLE: &str = "WEIR_LAB_LINK";

/// What a host is, as far as it can be read without asking anybody else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// Host name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: u32,
    /// Interface that leads to the other host.
    pub interface: Option<String>,
    /// Driver of that interface.
    pub driver: Option<String>,
    /// Its speed in bits per second, where it has one.
    pub interface_rate: Option<u64>,
    /// MTU of the route to the other host, bytes of IP packet.
    pub mtu: Option<u32>,
    /// `net.core.rmem_max`, bytes.
    pub rmem_max: Option<u64>,
    /// `net.core.wmem_max`, bytes.
    pub wmem_max: Option<u64>,
    /// Cloud, as the firmware tells.
    pub cloud: Option<String>,
    /// Region, from `WEIR_REGION`.
    pub region: Option<String>,
    /// Instance type, as the firmware tells or from `WEIR_INSTANCE_TYPE`.
    pub instance_type: Option<String>,
    /// Tells machines apart whatever they are called: a digest of `/etc/machine-id`, which itself is to stay on its host.
    pub machine: Option<String>,
    /// The emulated or simulated link that leads to the other host, from `WEIR_LAB_LINK`; none for a real network.
    pub lab_link: Option<String>,
}

impl HostFacts {
    /// Reads the facts of this host, with the interface that leads to `peer`.
    pub fn read(peer: Option<IpAddr>) -> Self {
        let interface = peer.and_then(interface_towards);
        let (cloud, firmware_type) = cloud();
        let of_interface = |what: &str| {
            let name = interface.as_deref()?;
            Some(
                fs::read_to_string(format!("/sys/class/net/{name}/{what}"))
                    .ok()?
                    .trim()
                    .to_owned(),
            )
        };
        HostFacts {
            name: line("/proc/sys/kernel/hostname").unwrap_or_default(),
            kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
            cpu: cpu_model(),
            cores: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
            driver: interface.as_deref().and_then(driver),
            interface_rate: of_interface("speed")
                .and_then(|mbit| mbit.parse::<u64>().ok())
                .map(|mbit| mbit * 1_000_000),
            mtu: peer.and_then(route_mtu),
            rmem_max: line("/proc/sys/net/core/rmem_max").and_then(|value| value.parse().ok()),
            wmem_max: line("/proc/sys/net/core/wmem_max").and_then(|value| value.parse().ok()),
            cloud,
            region: std::env::var("WEIR_REGION").ok(),
            instance_type: std::env::var("WEIR_INSTANCE_TYPE").ok().or(firmware_type),
            machine: line("/etc/machine-id")
                .filter(|id| !id.is_empty())
                .map(|id| digest(&id)),
            lab_link: std::env::var(LAB_LINK_VARIABLE).ok(),
            interface,
        }
    }
}

fn digest(machine_id: &str) -> String {
    let mut hasher = SipHasher24::new_with_keys(0, u64::from_be_bytes(*b"weir-mid"));
    hasher.write(machine_id.as_bytes());
    format!("{:016x}", hasher.finish())
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_owned())
    };
    field("model name")
        .or_else(|| field("CPU part"))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn driver(interface: &str) -> Option<String> {
    let target = fs::read_link(format!("/sys/class/net/{interface}/device/driver")).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

/// Cloud and instance type from the firmware's tables; these name the maker on all four large clouds.
fn cloud() -> (Option<String>, Option<String>) {
    let dmi = |name: &str| line(&format!("/sys/class/dmi/id/{name}")).unwrap_or_default();
    let (vendor, product, asset) = (dmi("sys_vendor"), dmi("product_name"), dmi("chassis_asset_tag"));
    if vendor.contains("Amazon EC2") {
        return (Some("aws".into()), Some(product));
    }
    if product.contains("Google Compute Engine") {
        return (Some("google".into()), None);
    }
    if asset == "7783-7084-3265-9085-8269-3286-77" {
        return (Some("azure".into()), None);
    }
    if asset == "OracleCloud.com" {
        return (Some("oracle".into()), None);
    }
    (None, None)
}

/// MTU of the route to `peer`, bytes of IP packet. No packet is sent: connecting a UDP socket only looks up the
/// route. Unlike `/sys`, this is right in every network namespace.
pub fn route_mtu(peer: IpAddr) -> Option<u32> {
    let any: SocketAddr = if peer.is_ipv4() {
        "0.0.0.0:0".parse().ok()?
    } else {
        "[::]:0".parse().ok()?
    };
    let socket = crate::UdpSocket::bind(any, &crate::UdpOptions::default()).ok()?;
    socket.connect(SocketAddr::new(peer, 9)).ok()?;
    socket.route_mtu()
}

/// Name of the interface whose address the kernel would use towards `peer`, found like [`route_mtu`].
fn interface_towards(peer: IpAddr) -> Option<String> {
    let any: SocketAddr = if peer.is_ipv4() {
        "0.0.0.0:0".parse().ok()?
    } else {
        "[::]:0".parse().ok()?
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect((peer, 9)).ok()?;
    interface_with(socket.local_addr().ok()?.ip())
}

/// Name of the interface that holds `address`. Some hosts keep addresses of their own on the loopback interface and
/// announce them by a routing protocol: packets for these leave and come by another one, which is then not known.
fn interface_with(address: IpAddr) -> Option<String> {
    let mut list = std::ptr::null_mut();
    // SAFETY: getifaddrs fills `list` with a chain that stays valid until freeifaddrs; names are C strings
    // and addresses have the size of their family.
    unsafe {
        if libc::getifaddrs(&mut list) != 0 {
            return None;
        }
        let mut found = None;
        let mut cursor = list;
        while !cursor.is_null() && found.is_none() {
            let entry = &*cursor;
            let is_loopback = entry.ifa_flags & libc::IFF_LOOPBACK as libc::c_uint != 0;
            if holds(entry.ifa_addr, address) && is_loopback == address.is_loopback() {
                found = Some(
                    std::ffi::CStr::from_ptr(entry.ifa_name)
                        .to_string_lossy()
                        .into_owned(),
                );
            }
            cursor = entry.ifa_next;
        }
        libc::freeifaddrs(list);
        found
    }
}

/// # Safety
/// `socket_address` must be null or point to a socket address with the size of its family.
unsafe fn holds(socket_address: *const libc::sockaddr, address: IpAddr) -> bool {
    if socket_address.is_null() {
        return false;
    }
    // SAFETY: the family says which struct lies behind the pointer.
    unsafe {
        match (i32::from((*socket_address).sa_family), address) {
            (libc::AF_INET, IpAddr::V4(wanted)) => {
                let found = &*socket_address.cast::<libc::sockaddr_in>();
                found.sin_addr.s_addr.to_ne_bytes() == wanted.octets()
            }
            (libc::AF_INET6, IpAddr::V6(wanted)) => {
                let found = &*socket_address.cast::<libc::sockaddr_in6>();
                found.sin6_addr.s6_addr == wanted.octets()
            }
            _ => false,
        }
    }
}
