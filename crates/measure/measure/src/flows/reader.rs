//! Reads the packets of flows from their sockets: waits, takes what there is in few system calls, and checks each datagram. It
//! must not know what they are entered in.

use std::os::fd::AsRawFd;

use weir_net::wait::Waiter;
use weir_net::{NetError, ReceiveBatch, UdpSocket, clock};
use weir_wire::{FlowData, SessionId, UdpKey};

use super::interleave::Arrived;
use super::read_time::ReadTime;
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
    time: ReadTime,
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
            time: ReadTime::new(clock::monotonic_ns()),
            buffers: 0,
            packets: 0,
        })
    }

    /// Waits a millisecond at most, and takes what all ready sockets have, to some packets each: packets, and none for a datagram
    /// that is not of the test. Returns whether there was anything.
    pub(super) fn read(&mut self, mut take: impl FnMut(Option<Arrived>)) -> Result<bool, MeasureError> {
        let began_ns = clock::monotonic_ns();
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
        let mut is_drained = count < READY;
        for index in ready.into_iter().take(count) {
            is_drained &= self.read_socket(index, &mut take)? < BATCH;
        }
        self.time.passed(began_ns, is_drained);
        Ok(count > 0)
    }

    /// All packets that arrived before this time have been taken, monotonic nanoseconds.
    pub(super) fn until_ns(&self) -> u64 {
        self.time.ns()
    }

    /// Takes a batch of a socket; returns how many buffers that was.
    fn read_socket(
        &mut self,
        index: usize,
        take: &mut impl FnMut(Option<Arrived>),
    ) -> Result<usize, MeasureError> {
        let socket = &self.sockets[index];
        let filled = self
            .batch
            .receive(socket)
            .map_err(|error| NetError::io("receive on", socket.local(), error))?;
        self.buffers += filled as u64;
        // What arrives on one socket while another is read is no later than what that one holds.
        let at_ns = self.time.ns();
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
        Ok(filled)
    }
}
