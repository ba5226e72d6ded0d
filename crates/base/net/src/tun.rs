//! TUN devices: interfaces whose packets a program reads and writes, each with a virtio-net header that describes
//! pending work (checksums, segmentation). It must not know the content of header and packet.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use thiserror::Error;

use crate::calls::result;
use crate::interface::{self, InterfaceError, NAME_BYTES};

/// The device file of TUN devices.
const DEVICE: &str = "/dev/net/tun";
/// Bytes of the virtio-net header before each packet (`struct virtio_net_hdr`, without the count of buffers).
pub const TUN_HEADER: usize = 10;
/// Maximum length of a packet, its header included, bytes: an IPv6 packet of the greatest payload length.
pub const TUN_BUFFER: usize = TUN_HEADER + 40 + 65_535;

/// A failed operation on a TUN device.
#[derive(Debug, Error)]
pub enum TunError {
    /// The device file is missing.
    #[error(
        "cannot open {DEVICE}: {0}; load the kernel module with 'modprobe tun', or pass this device to the container"
    )]
    Missing(io::Error),
    /// The device file may not be opened by this user.
    #[error("cannot open {DEVICE}: {0}; run as root, or allow users to open it: chmod 666 {DEVICE}")]
    Forbidden(io::Error),
    /// Another error.
    #[error("cannot {operation} the TUN device {name}: {source}")]
    Device {
        /// The operation.
        operation: &'static str,
        /// The interface's name.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// Its interface.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
}

/// Offloads between the kernel and the program at a TUN device, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Checksums.
    pub checksum: bool,
    /// Segmentation of TCP.
    pub tcp: bool,
    /// Segmentation of UDP (Linux 6.2).
    pub udp: bool,
}

/// A TUN device; dropping it removes the interface. Reads and writes do not block.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    offloads: Offloads,
}

impl Tun {
    /// Creates the interface `name` in the network namespace of the calling thread. With `offload` on, the kernel is
    /// asked to leave checksums and segmentation to the reader, as far as it supports it.
    ///
    /// # Errors
    /// When there is no TUN device to open, the caller may not create interfaces, or the name is taken.
    pub fn create(name: &str, offload: bool) -> Result<Self, TunError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(DEVICE)
            .map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => TunError::Forbidden(error),
                _ => TunError::Missing(error),
            })?;
        let failed = |operation| {
            let name = name.to_owned();
            move |source| TunError::Device {
                operation,
                name,
                source,
            }
        };
        attach(&file, interface::name_bytes(name)?).map_err(failed("create"))?;
        set_header_length(&file).map_err(failed("set up"))?;
        let offloads = if offload {
            offer(&file).map_err(failed("set offloads of"))?
        } else {
            Offloads::default()
        };
        Ok(Tun {
            file,
            name: name.to_owned(),
            offloads,
        })
    }

    /// Name of the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The offloads in use.
    pub fn offloads(&self) -> Offloads {
        self.offloads
    }

    /// Reads one packet with its header of [`TUN_HEADER`] bytes into `buffer`, and returns the length of both; none
    /// if no packet waits.
    ///
    /// # Errors
    /// As `read(2)`.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        nonblocking((&self.file).read(buffer))
    }

    /// Writes one packet, header first, from consecutive parts; at most 1024 of them.
    ///
    /// # Errors
    /// As `writev(2)`; the packet is lost then.
    pub fn write_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        (&self.file).write_vectored(parts).map(drop)
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

fn nonblocking(read: io::Result<usize>) -> io::Result<Option<usize>> {
    match read {
        Ok(length) => Ok(Some(length)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// `struct ifreq` as far as `TUNSETIFF` reads it.
#[repr(C)]
struct AttachRequest {
    name: [u8; NAME_BYTES],
    flags: libc::c_short,
    rest: [u8; 22],
}

fn attach(file: &File, name: [u8; NAME_BYTES]) -> io::Result<()> {
    let request = AttachRequest {
        name,
        flags: (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short,
        rest: [0; 22],
    };
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, whose 40 bytes `request` has.
    result(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &request) })
}

fn set_header_length(file: &File) -> io::Result<()> {
    let length = TUN_HEADER as libc::c_int;
    // SAFETY: TUNSETVNETHDRSZ reads one int.
    result(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETVNETHDRSZ, &length) })
}

/// Requests all offloads, then fewer: a kernel refuses a set with an unknown one.
fn offer(file: &File) -> io::Result<Offloads> {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    let set = |flags: libc::c_uint| {
        // SAFETY: TUNSETOFFLOAD takes its flags as the argument itself.
        result(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(flags)) })
    };
    if set(tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6).is_ok() {
        return Ok(Offloads {
            checksum: true,
            tcp: true,
            udp: true,
        });
    }
    set(tcp)?;
    Ok(Offloads {
        checksum: true,
        tcp: true,
        udp: false,
    })
}
