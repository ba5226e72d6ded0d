//! The network of a testbed: a namespace for each task, and a pair of interfaces for each connection, so that the counters of an
//! interface are those of one connection at one task. It must not know what tasks do.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

use weir_link::LinkSpec;
use weir_link::headers::RouterAddresses;
use weir_link::realtime::Driver;
use weir_net::interface::{self, Interface, InterfaceError};
use weir_net::namespace::NetworkNamespace;
use weir_net::tun::Tun;

use crate::error::TestbedError;
use crate::traffic::{Traffic, of_interface};

/// Bytes of Ethernet, IPv4 and TCP headers with timestamps before the payload of a segment.
const ETHERNET_HEADERS: u64 = 14 + IP_HEADERS;
/// The same on a TUN device, which has no Ethernet.
const IP_HEADERS: u64 = 20 + 32;
/// Packets that may wait for an emulated link.
const DEVICE_QUEUE: u32 = 10_000;

/// Makes a namespace with loopback and gives it a name.
pub(crate) fn add_namespace(path: &Path) -> Result<NetworkNamespace, TestbedError> {
    let failed = || TestbedError::file("create the namespace", path);
    let namespace = new_namespace()?;
    // A file of that name that nobody uses any more is what a crash has left.
    NetworkNamespace::detach_name(path).map_err(failed())?;
    namespace.attach_name(path).map_err(failed())?;
    Ok(namespace)
}

/// Makes a namespace with loopback, which ends with this process.
pub(crate) fn new_namespace() -> Result<NetworkNamespace, TestbedError> {
    let namespace = NetworkNamespace::create()
        .map_err(|error| TestbedError::Failed(format!("cannot create a namespace: {error}")))?;
    within(&namespace, || Interface::named("lo")?.set_up())?.map_err(of_interface_error)?;
    Ok(namespace)
}

/// The two interfaces of a connection; where a link is emulated, it ends when this is dropped.
pub(crate) struct Joint {
    name: String,
    headers: u64,
    _link: Option<Driver>,
}

/// Addresses of the connection of this number: server, client, and what reports packets that are too long. From the network for
/// benchmarks (RFC 2544): never one that the host is in.
fn addresses(number: usize) -> [Ipv4Addr; 3] {
    // A workflow has at most 128 connections.
    let number = u8::try_from(number).unwrap_or(u8::MAX);
    [1, 2, 254].map(|host| Ipv4Addr::new(198, 19, number, host))
}

impl Joint {
    /// Address of the server of the connection of this number.
    pub(crate) fn server_address(number: usize) -> Ipv4Addr {
        addresses(number)[0]
    }

    /// Joins two namespaces.
    pub(crate) fn make(
        number: usize,
        server: &NetworkNamespace,
        client: &NetworkNamespace,
        link: Option<&LinkSpec>,
    ) -> Result<Self, TestbedError> {
        let name = format!("weir{number}");
        let [address, other, router] = addresses(number);
        let (headers, driver) = match link {
            None => {
                let made = within(server, || interface::add_veth(&name, &name, client))?;
                made.map_err(of_interface_error)?;
                (ETHERNET_HEADERS, None)
            }
            Some(spec) => {
                let tun = |namespace| -> Result<Tun, TestbedError> {
                    within(namespace, || Tun::create(&name, true))?
                        .map_err(|error| TestbedError::Failed(error.to_string()))
                };
                let router = RouterAddresses {
                    ipv4: router,
                    ipv6: router.to_ipv6_mapped(),
                };
                let driver = Driver::start(spec, tun(server)?, tun(client)?, router);
                (
                    IP_HEADERS,
                    Some(driver.map_err(|error| {
                        TestbedError::Failed(format!("cannot start the emulated link: {error}"))
                    })?),
                )
            }
        };
        for (namespace, address) in [(server, address), (client, other)] {
            let mtu = link.map(|spec| spec.interface_mtu);
            within(namespace, || configure(&name, address, mtu))?.map_err(of_interface_error)?;
        }
        Ok(Joint {
            name,
            headers,
            _link: driver,
        })
    }

    /// Counters at one of its two tasks.
    pub(crate) fn traffic(&self, namespace: &NetworkNamespace) -> Result<Traffic, TestbedError> {
        let name = self.name.as_str();
        let counters = within(namespace, || interface::counters(name))?;
        let counters =
            counters.ok_or_else(|| TestbedError::Failed(format!("the interface {} is gone", self.name)))?;
        Ok(of_interface(counters, self.headers))
    }
}

fn within<T: Send>(namespace: &NetworkNamespace, work: impl FnOnce() -> T + Send) -> Result<T, TestbedError> {
    let failed =
        |error: io::Error| TestbedError::Failed(format!("cannot enter the namespace of a task: {error}"));
    namespace.run(work).map_err(failed)
}

fn of_interface_error(error: InterfaceError) -> TestbedError {
    TestbedError::Failed(error.to_string())
}

fn configure(name: &str, address: Ipv4Addr, mtu: Option<u32>) -> Result<(), InterfaceError> {
    let mut device = Interface::named(name)?;
    if let Some(mtu) = mtu {
        device.set_mtu(mtu)?;
        device.set_queue_length(DEVICE_QUEUE)?;
    }
    if interface::has_ipv6() {
        // Without an address of its own making the task sends nothing unasked.
        device.set_ipv6_setting("addr_gen_mode", "1")?;
    }
    device.set_up()?;
    device.add_ipv4(address, 24)
}
