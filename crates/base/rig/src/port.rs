//! TCP ports of loopback for servers that do not choose one themselves, such as nginx.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Below the ports that the kernel gives to whoever asks for any.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

/// A port that no other test is given until this is dropped.
pub struct OwnPort {
    /// The port.
    pub number: u16,
    /// An abstract name, of which there is one in a network namespace, and which ends with the process.
    _held: UnixListener,
}

impl OwnPort {
    /// # Panics
    /// When all are taken.
    #[track_caller]
    pub fn take() -> Self {
        let free = |number: &u16| TcpListener::bind(("127.0.0.1", *number)).is_ok();
        PORTS
            .filter_map(|number| {
                let name = SocketAddr::from_abstract_name(format!("weir-test-port-{number}")).ok()?;
                let _held = UnixListener::bind_addr(&name).ok()?;
                Some(Self { number, _held })
            })
            .find(|port| free(&port.number))
            .expect("a free port")
    }
}
