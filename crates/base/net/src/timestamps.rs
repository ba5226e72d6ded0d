//! Waits until the kernel timestamps received packets. It switches timestamps on for the whole host when the first socket
//! asks for them, but from a work queue, so that packets that arrive in the first milliseconds have none; and off again
//! with the last such socket.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::udp::{UdpOptions, UdpSocket};

/// Longest wait. The work queue takes milliseconds; a host that takes longer has no timestamps to give.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long a probe may take across loopback before the next one is sent.
const PROBE: Duration = Duration::from_millis(5);

/// Keeps timestamps on until the process ends.
static KEEPER: OnceLock<Option<UdpSocket>> = OnceLock::new();

/// Returns once the kernel timestamps packets, after a second at most, or at once where loopback is down or a call before
/// has waited. From then on it timestamps them until the process ends.
pub(crate) fn wait_until_given() {
    KEEPER.get_or_init(|| {
        let addresses = [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            IpAddr::from(Ipv6Addr::LOCALHOST),
        ];
        addresses.into_iter().find_map(probe)
    });
}

/// Sends a socket datagrams of its own until one has a timestamp.
fn probe(address: IpAddr) -> Option<UdpSocket> {
    let options = UdpOptions {
        receive_buffer: 1 << 14,
        send_buffer: 1 << 14,
        ..UdpOptions::default()
    };
    let socket = UdpSocket::bind(SocketAddr::new(address, 0), &options).ok()?;
    socket.request_receive_timestamps().ok()?;
    socket.connect(socket.local()).ok()?;
    socket.set_receive_timeout(PROBE).ok()?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        socket.send(&[0]).ok()?;
        let arrived = socket.receive_blocking(&mut [0; 1]).ok()?;
        if arrived.is_some_and(|(_, _, ancillary)| ancillary.kernel_ns.is_some()) {
            break;
        }
    }
    Some(socket)
}
