//! Reads the packets of flows from their sockets: waits, takes what there is in few system calls, and checks each datagram. It
//! must not know what they are entered in.

use std::os::fd::AsRawFd;

use weir_net::wait::Waiter;
use weir_net::{NetError, ReceiveBatch, UdpSocket, clock};
use weir_wire::{FlowData, SessionId, UdpKey};

use super::interleave::Arrived;
use crate::MeasureError;

/// Buffers taken by one system call.
const BATCH: usize = 16;
/// Sockets that one wait reports at most.
const READY: usize = 64;

/// What belongs to a test.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub session: SessionId,
    pub key: UdpKey,
    /// Longer packets are not of this test.
    pub max_length: u32,
}

/// Reads some of the flows' sockets.
pub(super) struct SocketReader<'s> {
    wanted: Wanted,
    sockets: &'s [UdpSocket],
    waiter: Waiter,
    batch: ReceiveBatch,
    /// Buffers and datagrams read.
    pub buffers: u64,
    pub packets: u64,
}

impl<'s> SocketReader<'s> {
    pub(super) fn new(wanted: Wanted, sockets: &'s [UdpSocket]) -> Result<Self, MeasureError> {
        let waiter = Waiter::new().map_err(|error| NetError::io("wait for", "flow sockets", error))?;
        for (index, socket) in sockets.iter().enumerate() {
            waiter
                .add(socket.as_raw_fd(), index)
                .map_err(|error| NetError::io("wait for", socket.local(), error))?;
        }
        Ok(SocketReader {
            wanted,
            sockets,
            waiter,
            batch: ReceiveBatch::new(BATCH),
            buffers: 0,
            packets: 0,
        })
    }

    /// Waits a millisecond at most, and takes what all ready sockets have: packets, and none for a datagram that is not of the
    /// test. Returns whether there was anything.
    pub(super) fn read(&mut self, mut take: impl FnMut(Option<Arrived>)) -> Result<bool, MeasureError> {
        let count = self
            .waiter
            .wait(1)
            .map_err(|error| NetError::io("wait for", "flow sockets", error))?;
        let ready: [usize; READY] = {
            let mut indices = [usize::MAX; READY];
            for (slot, index) in indices.iter_mut().zip(self.waiter.ready()) {
                *slot = index;
            }
            indices
        };
        for index in ready.into_iter().take(count) {
            self.read_socket(index, &mut take)?;
        }
        Ok(count > 0)
    }

    fn read_socket(
        &mut self,
        index: usize,
        take: &mut impl FnMut(Option<Arrived>),
    ) -> Result<(), MeasureError> {
        let socket = &self.sockets[index];
        let filled = self
            .batch
            .receive(socket)
            .map_err(|error| NetError::io("receive on", socket.local(), error))?;
        self.buffers += filled as u64;
        let at_ns = clock::monotonic_ns();
        let unix_ns = clock::unix_ns();
        let Wanted {
            session,
            key,
            max_length,
        } = &self.wanted;
        for datagram in self.batch.datagrams() {
            self.packets += 1;
            let bytes = datagram.bytes.len() as u32;
            let packet = FlowData::decode(key, *session, datagram.bytes).ok();
            take(packet.filter(|_| bytes <= *max_length).map(|packet| Arrived {
                at_ns,
                unix_ns: datagram.ancillary.kernel_ns.unwrap_or(unix_ns),
                packet,
                bytes,
                is_marked: datagram.ancillary.congestion,
                is_cleared: datagram.ancillary.not_ecn_capable,
                ttl: datagram.ancillary.ttl,
            }));
        }
        Ok(())
    }
}
