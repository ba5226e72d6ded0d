//! Interfaces of the calling thread's network namespace: addresses, MTU, queue, and their own counters. By system
//! calls, so that no tool needs to be installed. It must not know what an interface is for.

use std::fs;
use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;

use thiserror::Error;

use crate::namespace::NetworkNamespace;
use crate::netlink;

/// Bytes of an interface's name with its end (`IFNAMSIZ`).
pub(crate) const NAME_BYTES: usize = libc::IFNAMSIZ;

/// A failed operation on an interface.
#[derive(Debug, Error)]
pub enum InterfaceError {
    /// Invalid name.
    #[error("'{0}' is not a valid interface name: write 1 to 15 bytes without '/' and white space")]
    Name(String),
    /// The kernel refused.
    #[error("cannot {operation} of the interface {name}: {source}")]
    Set {
        /// The operation.
        operation: &'static str,
        /// The interface.
        name: String,
        /// The system's error.
        source: io::Error,
    },
}

/// Counters of an interface since its creation, from the host's view. A segment that the kernel has not cut into packets
/// yet counts as one packet with one header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Bytes received by the host, link headers included.
    pub rx_bytes: u64,
    /// Packets received by the host.
    pub rx_packets: u64,
    /// Packets dropped by the host on receive.
    pub rx_dropped: u64,
    /// Bytes sent by the host, link headers included.
    pub tx_bytes: u64,
    /// Packets sent by the host.
    pub tx_packets: u64,
    /// Packets dropped by the interface's queue on transmit.
    pub tx_dropped: u64,
}

/// An interface by name, with the socket for its settings.
pub struct Interface {
    name: String,
    request: libc::ifreq,
    socket: UdpSocket,
}

/// `name` in the kernel's form, terminated by zeros.
pub(crate) fn name_bytes(name: &str) -> Result<[u8; NAME_BYTES], InterfaceError> {
    let fits = !name.is_empty() && name.len() < NAME_BYTES;
    if !fits || name.contains(|c: char| c == '/' || c == '\0' || c.is_whitespace()) {
        return Err(InterfaceError::Name(name.to_owned()));
    }
    let mut bytes = [0; NAME_BYTES];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    Ok(bytes)
}

/// The IPv4 address as a generic socket address.
fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    for (place, byte) in data[2..6].iter_mut().zip(address.octets()) {
        *place = byte as libc::c_char;
    }
    libc::sockaddr {
        sa_family: libc::AF_INET as libc::sa_family_t,
        sa_data: data,
    }
}

impl Interface {
    /// The interface `name` of the calling thread's namespace, whether it exists or not.
    ///
    /// # Errors
    /// When the name is not valid, or there are no sockets left.
    pub fn named(name: &str) -> Result<Self, InterfaceError> {
        // SAFETY: an all-zero ifreq is valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (place, byte) in request.ifr_name.iter_mut().zip(name_bytes(name)?) {
            *place = byte as libc::c_char;
        }
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(|source| InterfaceError::Set {
            operation: "open a socket for the settings",
            name: name.to_owned(),
            source,
        })?;
        Ok(Interface {
            name: name.to_owned(),
            request,
            socket,
        })
    }

    fn call(
        &mut self,
        operation: &'static str,
        number: libc::c_ulong,
        fill: impl FnOnce(&mut libc::__c_anonymous_ifr_ifru),
    ) -> Result<(), InterfaceError> {
        fill(&mut self.request.ifr_ifru);
        // SAFETY: every request used here reads or writes one ifreq, which `request` is.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), number as _, &mut self.request) };
        if done < 0 {
            return Err(self.error(operation, io::Error::last_os_error()));
        }
        Ok(())
    }

    fn error(&self, operation: &'static str, source: io::Error) -> InterfaceError {
        InterfaceError::Set {
            operation,
            name: self.name.clone(),
            source,
        }
    }

    pub(crate) fn index(&mut self) -> Result<i32, InterfaceError> {
        self.call("find the index", libc::SIOCGIFINDEX as _, |_| {})?;
        // SAFETY: the kernel has just written this field of the union.
        Ok(unsafe { self.request.ifr_ifru.ifru_ifindex })
    }

    /// Sets it up.
    ///
    /// # Errors
    /// As the kernel's.
    pub fn set_up(&mut self) -> Result<(), InterfaceError> {
        self.call("read the flags", libc::SIOCGIFFLAGS as _, |_| {})?;
        self.call("set the flags", libc::SIOCSIFFLAGS as _, |fields| {
            // SAFETY: the kernel has just written this field of the union.
            unsafe { fields.ifru_flags |= libc::IFF_UP as libc::c_short };
        })
    }

    /// Sets the MTU, bytes of IP packet.
    ///
    /// # Errors
    /// As the kernel's: a TUN device takes 68 to 65535.
    pub fn set_mtu(&mut self, bytes: u32) -> Result<(), InterfaceError> {
        self.call("set the MTU", libc::SIOCSIFMTU as _, |fields| {
            fields.ifru_mtu = i32::try_from(bytes).unwrap_or(i32::MAX);
        })
    }

    /// Sets the transmit queue length, packets.
    ///
    /// # Errors
    /// As the kernel's.
    pub fn set_queue_length(&mut self, packets: u32) -> Result<(), InterfaceError> {
        let index = self.index()?;
        netlink::set_queue_length(index, packets).map_err(|source| self.error("set the queue length", source))
    }

    /// Adds an IPv4 address with its network. `prefix` is at most 32.
    ///
    /// # Errors
    /// As the kernel's.
    pub fn add_ipv4(&mut self, address: Ipv4Addr, prefix: u8) -> Result<(), InterfaceError> {
        self.call("set the IPv4 address", libc::SIOCSIFADDR as _, |fields| {
            fields.ifru_addr = socket_address(address);
        })?;
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
        self.call("set the IPv4 network", libc::SIOCSIFNETMASK as _, |fields| {
            fields.ifru_netmask = socket_address(Ipv4Addr::from_bits(mask));
        })
    }

    /// Adds an IPv6 address with its network, without duplicate address detection, so that it is usable at once.
    ///
    /// # Errors
    /// As the kernel's.
    pub fn add_ipv6(&mut self, address: Ipv6Addr, prefix: u8) -> Result<(), InterfaceError> {
        let index = self.index()?;
        netlink::add_ipv6(index, address, prefix).map_err(|source| self.error("set the IPv6 address", source))
    }

    /// Sets a value of this interface's IPv6 settings in `/proc/sys/net/ipv6/conf`.
    ///
    /// # Errors
    /// As writing the file does.
    pub fn set_ipv6_setting(&self, setting: &str, value: &str) -> Result<(), InterfaceError> {
        let path = format!("/proc/sys/net/ipv6/conf/{}/{setting}", self.name);
        fs::write(path, value).map_err(|source| self.error("change the IPv6 settings", source))
    }
}

/// Creates a pair of virtual Ethernet interfaces: `name` in the calling thread's namespace, `peer` in `namespace`. The
/// pair is gone when either of the two namespaces is.
///
/// # Errors
/// As the kernel's: a name is taken, or the caller may not create interfaces.
pub fn add_veth(name: &str, peer: &str, namespace: &NetworkNamespace) -> Result<(), InterfaceError> {
    netlink::add_veth(&name_bytes(name)?, &name_bytes(peer)?, namespace.as_raw_fd()).map_err(|source| {
        InterfaceError::Set {
            operation: "create the virtual Ethernet pair",
            name: name.to_owned(),
            source,
        }
    })
}

/// Whether this kernel supports IPv6.
pub fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").exists()
}

/// Counters of an interface of the calling thread's namespace; none when there is no such interface.
pub fn counters(name: &str) -> Option<InterfaceCounters> {
    counters_in(&fs::read_to_string("/proc/thread-self/net/dev").ok()?, name)
}

/// Reads the columns of `/proc/net/dev`: received bytes, packets, errs, drop, fifo, frame, compressed, multicast,
/// then sent bytes, packets, errs, drop.
fn counters_in(table: &str, name: &str) -> Option<InterfaceCounters> {
    let numbers = table.lines().find_map(|line| {
        let (interface, numbers) = line.split_once(':')?;
        (interface.trim() == name).then_some(numbers)
    })?;
    let numbers: Vec<u64> = numbers
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    Some(InterfaceCounters {
        rx_bytes: *numbers.first()?,
        rx_packets: *numbers.get(1)?,
        rx_dropped: *numbers.get(3)?,
        tx_bytes: *numbers.get(8)?,
        tx_packets: *numbers.get(9)?,
        tx_dropped: *numbers.get(11)?,
    })
}

const _: () = assert!(
    size_of::<libc::ifreq>() == 40,
    "tun.rs lays its request out like this one"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_are_refused() {
        for name in ["", "sixteen-bytes-xx", "a/b", "a b", "a\0b"] {
            assert!(name_bytes(name).is_err(), "{name:?}");
        }
        assert_eq!(&name_bytes("weir0").unwrap()[..6], b"weir0\0");
        assert!(name_bytes("fifteen-bytes-x").is_ok());
    }

    #[test]
    fn the_columns_of_the_kernels_table() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n\
            lo: 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26\n weir0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        let found = counters_in(table, "weir0").unwrap();
        assert_eq!(
            found,
            InterfaceCounters {
                rx_bytes: 1,
                rx_packets: 2,
                rx_dropped: 4,
                tx_bytes: 9,
                tx_packets: 10,
                tx_dropped: 12
            }
        );
        assert_eq!(counters_in(table, "weir1"), None);
        assert_eq!(counters_in("weir0: 1 2", "weir0"), None);
    }

    #[test]
    fn loopback_counts() {
        assert!(counters("lo").is_some());
    }
}
