//! The UDP ports that an agent may use for tests, lent one by one. A lent port is free again once its socket is
//! closed.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};

use weir_net::{UdpOptions, UdpSocket};

use crate::MeasureError;

pub(super) struct PortPool {
    range: RangeInclusive<u16>,
    next: AtomicU32,
}

impl PortPool {
    pub(super) fn new(range: RangeInclusive<u16>) -> Self {
        PortPool {
            range,
            next: AtomicU32::new(0),
        }
    }

    /// Binds a socket on `address` to a free port of the range.
    pub(super) fn bind(&self, address: IpAddr, options: &UdpOptions) -> Result<UdpSocket, MeasureError> {
        let (first, count) = (*self.range.start(), self.range.len() as u32);
        let mut last = None;
        for _ in 0..count {
            // The kernel knows which ports are taken; starting where the last search ended keeps a port that
            // was just given back from being used again at once, so that stray packets find nobody.
            let offset = self.next.fetch_add(1, Ordering::Relaxed) % count.max(1);
            match UdpSocket::bind(SocketAddr::new(address, first + offset as u16), options) {
                Ok(socket) => return Ok(socket),
                Err(error) => last = Some(error),
            }
        }
        let reason = last.map_or_else(|| "the range is empty".to_owned(), |error| error.to_string());
        Err(MeasureError::Refused(format!(
            "all of its {count} UDP ports {first} to {} are taken ({reason}); start the agent with a wider --udp-ports",
            self.range.end()
        )))
    }
}
