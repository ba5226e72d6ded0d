//! What a driver reports about its interface, by the ioctls of `ethtool` (`linux/ethtool.h`), in the calling thread's
//! namespace: statistics, driver and firmware, rings, queues, offloads. It must not know what a statistic means.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::interface::{InterfaceError, name_bytes};

/// Requests, of `linux/ethtool.h`.
const GET_DRIVER: u32 = 0x03;
const GET_RINGS: u32 = 0x10;
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const GET_SET_INFO: u32 = 0x37;
const GET_FEATURES: u32 = 0x3a;
const GET_CHANNELS: u32 = 0x3c;

/// Sets of names.
const SET_STATISTICS: u32 = 1;
const SET_FEATURES: u32 = 4;
/// Bytes of a name, the zeros at its end among them.
const NAME: usize = 32;
/// Maximum number of names read; large cards with 128 queues have some ten thousand.
const MOST_NAMES: usize = 1 << 15;

/// One interface's driver.
#[derive(Debug)]
pub struct Driver {
    socket: UdpSocket,
    name: String,
    interface: [u8; libc::IFNAMSIZ],
}

/// Names of a driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriverInfo {
    /// The driver.
    pub driver: String,
    /// Version of the card's firmware; empty where it has none.
    pub firmware: String,
}

/// A setting in use, and the largest value that the driver takes; 0 where it has no such thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// In use.
    pub now: u32,
    /// Largest.
    pub most: u32,
}

impl Driver {
    /// The driver of the interface `name`, whether it exists or not.
    ///
    /// # Errors
    /// When the name is not valid, or there are no sockets left.
    pub fn of(name: &str) -> Result<Self, InterfaceError> {
        let interface = name_bytes(name)?;
        let socket = UdpSocket::bind("0.0.0.0:0").map_err(|source| InterfaceError::Set {
            operation: "open a socket for the driver",
            name: name.to_owned(),
            source,
        })?;
        Ok(Driver {
            socket,
            name: name.to_owned(),
            interface,
        })
    }

    /// Statistics of the driver, with their names. Empty for a driver without any.
    ///
    /// # Errors
    /// As the kernel's.
    pub fn statistics(&self) -> Result<Vec<(String, u64)>, InterfaceError> {
        let names = self.names(SET_STATISTICS)?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        // The kernel may write as many values as the driver has by now, whatever is asked for: the queues may have been
        // changed since the names were read. Twice the bound is room for that.
        let mut request = vec![0_u64; 1 + 2 * MOST_NAMES];
        request[0] = words(GET_STATISTICS, names.len() as u32);
        self.call("read the statistics", &mut request)?;
        if second_word(request[0].to_ne_bytes()) as usize != names.len() {
            return Ok(Vec::new());
        }
        Ok(names.into_iter().zip(request.into_iter().skip(1)).collect())
    }

    /// Driver and firmware.
    ///
    /// # Errors
    /// As the kernel's: there is no such interface, or it has no driver.
    pub fn info(&self) -> Result<DriverInfo, InterfaceError> {
        // ethtool_drvinfo: cmd, driver[32], version[32], fw_version[32], more up to 196 bytes.
        let mut request = vec![0_u64; 25];
        request[0] = words(GET_DRIVER, 0);
        self.call("read the driver", &mut request)?;
        let bytes = bytes_of(&request);
        Ok(DriverInfo {
            driver: text(&bytes[4..36]),
            firmware: text(&bytes[68..100]),
        })
    }

    /// Receive ring and transmit ring, descriptors.
    ///
    /// # Errors
    /// As the kernel's: a virtual interface has none.
    pub fn rings(&self) -> Result<(Setting, Setting), InterfaceError> {
        // ethtool_ringparam: cmd, then the largest rx, rx_mini, rx_jumbo, tx, then those in use.
        let values = self.numbers::<9>(GET_RINGS, "read the rings")?;
        let of = |at: usize| Setting {
            now: values[at + 4],
            most: values[at],
        };
        Ok((of(1), of(4)))
    }

    /// Queues: of the combined kind where the driver has those, else receive queues.
    ///
    /// # Errors
    /// As the kernel's: a virtual interface may have none.
    pub fn queues(&self) -> Result<Setting, InterfaceError> {
        // ethtool_channels: cmd, then the largest rx, tx, other, combined, then those in use.
        let values = self.numbers::<9>(GET_CHANNELS, "read the queues")?;
        let at = if values[4] > 0 { 4 } else { 1 };
        Ok(Setting {
            now: values[at + 4],
            most: values[at],
        })
    }

    /// Names of the offloads that are on, as `ethtool -k` with the kernel's own names.
    ///
    /// # Errors
    /// As the kernel's.
    pub fn offloads(&self) -> Result<Vec<String>, InterfaceError> {
        let names = self.names(SET_FEATURES)?;
        let blocks = names.len().div_ceil(32);
        // ethtool_gfeatures: cmd, size, then available, requested, active, never_changed for each 32 features.
        let mut request = vec![0_u64; 1 + 2 * blocks];
        request[0] = words(GET_FEATURES, blocks as u32);
        self.call("read the offloads", &mut request)?;
        let bytes = bytes_of(&request);
        let active = |index: usize| {
            let at = 8 + 16 * (index / 32) + 8;
            let word = bytes.get(at..at + 4).and_then(|word| word.try_into().ok());
            word.is_some_and(|word| u32::from_ne_bytes(word) >> (index % 32) & 1 == 1)
        };
        let names = names.into_iter().enumerate();
        Ok(names
            .filter_map(|(index, name)| active(index).then_some(name))
            .collect())
    }

    /// The names of a set; empty where the driver has no such set.
    fn names(&self, set: u32) -> Result<Vec<String>, InterfaceError> {
        // ethtool_sset_info: cmd, reserved, a 64-bit mask of sets, and their sizes, 32 bits each.
        let mut request = vec![words(GET_SET_INFO, 0), 1 << set, 0];
        self.call("count the names", &mut request)?;
        let count = first_word(request[2].to_ne_bytes()) as usize;
        // The mask that comes back names the sets that there are.
        if request[1] == 0 || count == 0 || count > MOST_NAMES {
            return Ok(Vec::new());
        }
        // ethtool_gstrings: cmd, set, number, and the names. Room for twice the bound as in `statistics`.
        let mut request = vec![0_u64; 2 + 2 * MOST_NAMES * NAME / 8];
        request[0] = words(GET_STRINGS, set);
        request[1] = words(count as u32, 0);
        self.call("read the names", &mut request)?;
        let found = first_word(request[1].to_ne_bytes()) as usize;
        let bytes = bytes_of(&request[..2 + found.min(MOST_NAMES) * NAME / 8]);
        // The names follow the number without a gap.
        Ok(bytes[12..]
            .chunks_exact(NAME)
            .take(found.min(MOST_NAMES))
            .map(text)
            .collect())
    }

    /// A request of `N` 32-bit numbers, the request's own among them.
    fn numbers<const N: usize>(
        &self,
        request: u32,
        operation: &'static str,
    ) -> Result<[u32; N], InterfaceError> {
        let mut buffer = vec![0_u64; N.div_ceil(2)];
        buffer[0] = words(request, 0);
        self.call(operation, &mut buffer)?;
        let mut numbers = [0; N];
        for (number, bytes) in numbers.iter_mut().zip(bytes_of(&buffer).chunks_exact(4)) {
            *number = u32::from_ne_bytes(bytes.try_into().unwrap_or_default());
        }
        Ok(numbers)
    }

    /// Calls with a request whose first 32 bits name it. It has room for all that the kernel writes.
    fn call(&self, operation: &'static str, request: &mut [u64]) -> Result<(), InterfaceError> {
        // SAFETY: an all-zero ifreq is valid.
        let mut asked: libc::ifreq = unsafe { std::mem::zeroed() };
        for (place, byte) in asked.ifr_name.iter_mut().zip(self.interface) {
            *place = byte as libc::c_char;
        }
        asked.ifr_ifru.ifru_data = request.as_mut_ptr().cast();
        // SAFETY: the ifreq and the request live through the call; each caller's request is at least as long as what the
        // kernel writes for its number.
        let done = unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut asked) };
        if done < 0 {
            return Err(InterfaceError::Set {
                operation,
                name: self.name.clone(),
                source: io::Error::last_os_error(),
            });
        }
        Ok(())
    }
}

/// Two 32-bit numbers in the order of memory.
fn words(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

fn first_word(bytes: [u8; 8]) -> u32 {
    u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn second_word(bytes: [u8; 8]) -> u32 {
    u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]])
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A text that ends with its first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loopback interface has no statistics and no driver, but offloads, on every kernel.
    #[test]
    fn the_loopback_interface_answers() {
        let driver = Driver::of("lo").unwrap();
        let offloads = driver.offloads().unwrap();
        assert!(offloads.iter().any(|name| name == "loopback"), "{offloads:?}");
        assert!(driver.rings().is_err());
        let missing = Driver::of("no-such-one").unwrap().statistics().unwrap_err();
        assert!(
            missing.to_string().contains("of the interface no-such-one"),
            "{missing}"
        );
    }

    #[test]
    fn a_virtual_interface_names_its_other_end() {
        weir_rig::isolated!();
        weir_rig::run(
            "ip",
            &["link", "add", "near", "type", "veth", "peer", "name", "far"],
        );
        let driver = Driver::of("near").unwrap();
        let statistics = driver.statistics().unwrap();
        let value = |wanted: &str| {
            let found = statistics.iter().find(|(name, _)| name == wanted);
            found.unwrap_or_else(|| panic!("no {wanted} in {statistics:?}")).1
        };
        let other = weir_rig::run("ip", &["-oneline", "link", "show", "far"]);
        let index = other.split(':').next().and_then(|index| index.parse().ok());
        assert_eq!(Some(value("peer_ifindex")), index, "{other}");
        assert_eq!(value("rx_queue_0_drops"), 0);
        assert_eq!(driver.info().unwrap().driver, "veth");
        assert!(driver.queues().unwrap().now > 0);
    }
}
