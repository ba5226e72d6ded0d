//! Facts of this host that explain a measurement: kernel, CPU, interface, limits.

use std::fs;
use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;
use weir_record::CloudFacts;

use crate::clock;
use crate::cloud;
use crate::ethtool::Driver;

/// Environment variable in which a lab names its link.
pub const LAB_LINK_VARIABLE: &str = "WEIR_LAB_LINK";

/// Offloads that matter to packets of media, by the kernel's names.
const OFFLOADS: [&str; 8] = [
    "rx-checksum",
    "rx-gro",
    "rx-hashing",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-generic-segmentation",
    "tx-scatter-gather",
    "tx-udp-segmentation",
];

/// What a host is, as far as it can be read without asking other hosts than its cloud's own service.
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
    /// The CPUs that these are, as the kernel lists them: `0-3,8`.
    pub cpus: Option<String>,
    /// CPUs near the interface, on its NUMA node, as the kernel lists them; none for one without a device.
    pub interface_cpus: Option<String>,
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
    /// What its cloud tells it: the cloud by the firmware, region and type of the instance from `WEIR_REGION` and
    /// `WEIR_INSTANCE_TYPE` where they are set, all else from the metadata service.
    #[serde(flatten)]
    pub instance: CloudFacts,
    /// Firmware of the interface's card.
    pub firmware: Option<String>,
    /// Queues of the interface in use.
    pub queues: Option<u32>,
    /// Queues that it could use at most.
    pub queues_max: Option<u32>,
    /// Its receive ring, descriptors.
    pub rx_ring: Option<u32>,
    /// Largest receive ring, descriptors.
    pub rx_ring_max: Option<u32>,
    /// Its transmit ring, descriptors.
    pub tx_ring: Option<u32>,
    /// Largest transmit ring, descriptors.
    pub tx_ring_max: Option<u32>,
    /// Its offloads that are on, of those that matter to packets of media, by the kernel's names.
    pub offloads: Vec<String>,
    /// Files that the process may open.
    pub open_files: Option<u64>,
    /// Share of all CPU time since boot that the hypervisor gave to others, 0 to 1.
    pub cpu_steal: Option<f64>,
    /// Frequency governor of the CPU.
    pub governor: Option<String>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// Something keeps the system's clock right.
    pub clock_synchronised: Option<bool>,
    /// Estimated error of that clock, nanoseconds.
    pub clock_error_ns: Option<u64>,
    /// Bound of its error, nanoseconds.
    pub clock_max_error_ns: Option<u64>,
    /// Tells machines apart whatever they are called: a digest of `/etc/machine-id`, which itself is to stay on its host.
    pub machine: Option<String>,
    /// The emulated or simulated link that leads to the other host, from `WEIR_LAB_LINK`; none for a real network.
    pub lab_link: Option<String>,
}

impl HostFacts {
    /// Reads the facts of this host, with the interface that leads to `peer`. On an instance of a cloud the first call of a
    /// process asks the metadata service, for at most [`cloud::LIMIT`].
    pub fn read(peer: Option<IpAddr>) -> Self {
        let discipline = clock::discipline();
        let mut facts = HostFacts {
            name: line("/proc/sys/kernel/hostname").unwrap_or_default(),
            kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default(),
            cpu: cpu_model(),
            cores: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
            cpus: fs::read_to_string("/proc/self/status")
                .ok()
                .and_then(|text| allowed_cpus(&text)),
            mtu: peer.and_then(route_mtu),
            rmem_max: line("/proc/sys/net/core/rmem_max").and_then(|value| value.parse().ok()),
            wmem_max: line("/proc/sys/net/core/wmem_max").and_then(|value| value.parse().ok()),
            instance: CloudFacts {
                region: std::env::var("WEIR_REGION").ok(),
                instance_type: std::env::var("WEIR_INSTANCE_TYPE").ok(),
                ..CloudFacts::default()
            },
            machine: line("/etc/machine-id")
                .filter(|id| !id.is_empty())
                .map(|id| digest(&id)),
            cpu_steal: fs::read_to_string("/proc/stat")
                .ok()
                .and_then(|text| steal(&text)),
            open_files: fs::read_to_string("/proc/self/limits")
                .ok()
                .and_then(|text| open_files(&text)),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            clock_synchronised: discipline.map(|clock| clock.synchronised),
            clock_error_ns: discipline.map(|clock| clock.error_ns),
            clock_max_error_ns: discipline.map(|clock| clock.most_error_ns),
            lab_link: std::env::var(LAB_LINK_VARIABLE).ok(),
            ..HostFacts::default()
        };
        if let Some(told) = cloud::this_host() {
            facts.add_instance(told.clone());
        }
        if let Some(interface) = peer.and_then(interface_towards) {
            facts.add_interface(interface);
        }
        facts
    }

    fn add_instance(&mut self, told: CloudFacts) {
        let named = std::mem::take(&mut self.instance);
        self.instance = CloudFacts {
            region: named.region.or(told.region),
            instance_type: named.instance_type.or(told.instance_type),
            ..told
        };
    }

    fn add_interface(&mut self, name: String) {
        self.interface_rate = line(&format!("/sys/class/net/{name}/speed"))
            .and_then(|mbit| mbit.parse::<u64>().ok())
            .map(|mbit| mbit * 1_000_000);
        self.interface_cpus = line(&format!("/sys/class/net/{name}/device/local_cpulist"));
        if let Ok(asked) = Driver::of(&name) {
            let info = asked.info().ok();
            let (rings, queues) = (asked.rings().ok(), asked.queues().ok());
            self.rx_ring = rings.map(|(receive, _)| receive.now);
            self.rx_ring_max = rings.map(|(receive, _)| receive.most);
            self.tx_ring = rings.map(|(_, transmit)| transmit.now);
            self.tx_ring_max = rings.map(|(_, transmit)| transmit.most);
            self.queues = queues.map(|queues| queues.now);
            self.queues_max = queues.map(|queues| queues.most);
            self.offloads = asked.offloads().unwrap_or_default();
            self.offloads.retain(|name| OFFLOADS.contains(&name.as_str()));
            let named = |text: String| Some(text).filter(|text| !text.is_empty() && text != "N/A");
            self.firmware = info.as_ref().and_then(|info| named(info.firmware.clone()));
            self.driver = info.and_then(|info| named(info.driver));
        }
        self.interface = Some(name);
    }
}

/// The CPUs that a process may use, in its `/proc/PID/status`.
fn allowed_cpus(text: &str) -> Option<String> {
    let list = text
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}

/// The soft limit in `/proc/self/limits`.
fn open_files(text: &str) -> Option<u64> {
    let limits = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    match limits.split_whitespace().next()? {
        "unlimited" => Some(u64::MAX),
        limit => limit.parse().ok(),
    }
}

/// Share of stolen time in `/proc/stat`, 0 to 1.
fn steal(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // User and nice time have that of guests in them, which the columns after the eighth repeat.
    let ticks: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map_while(|ticks| ticks.parse().ok())
        .collect();
    let all: u64 = ticks.iter().sum();
    Some(*ticks.get(7)? as f64 / all.max(1) as f64)
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
pub fn interface_towards(peer: IpAddr) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all_time_but_that_of_guests() {
        assert_eq!(steal("cpu  10 10 10 40 5 5 10 10 900 900\ncpu0 1\n"), Some(0.1));
        assert_eq!(steal("cpu  1 2 3\n"), None);
        assert_eq!(steal("intr 1\n"), None);
    }

    /// Lines of a status as proc(5) describes it.
    #[test]
    fn allowed_cpus_are_the_kernels_list() {
        let status = "Threads:\t1\nCpus_allowed:\tf0f\nCpus_allowed_list:\t0-3,8-11\nMems_allowed_list:\t0\n";
        assert_eq!(allowed_cpus(status).as_deref(), Some("0-3,8-11"));
        assert_eq!(allowed_cpus("Threads:\t1\n"), None);
    }

    #[test]
    fn the_soft_limit_of_open_files_is_the_first() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max processes             1                    2                    processes \n\
            Max open files            1024                 524288               files     \n";
        assert_eq!(open_files(limits), Some(1024));
        assert_eq!(
            open_files("Max open files   unlimited   unlimited   files\n"),
            Some(u64::MAX)
        );
        assert_eq!(open_files("Max processes 1\n"), None);
    }

    #[test]
    fn what_the_environment_names_goes_before_what_the_cloud_says() {
        let text = |text: &str| Some(text.to_owned());
        let mut facts = HostFacts {
            instance: CloudFacts {
                region: text("mine"),
                ..CloudFacts::default()
            },
            ..HostFacts::default()
        };
        let told = CloudFacts {
            cloud: text("aws"),
            region: text("eu-west-1"),
            instance_type: text("c5n.large"),
            instance_id: text("i-1"),
            ..CloudFacts::default()
        };
        facts.add_instance(told);
        let found = facts.instance;
        assert_eq!(
            (found.region, found.instance_type),
            (text("mine"), text("c5n.large"))
        );
        assert_eq!((found.cloud, found.instance_id), (text("aws"), text("i-1")));
    }
}
