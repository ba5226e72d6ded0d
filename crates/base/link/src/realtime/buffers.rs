//! Packets as read, shared by the segments cut from them, in reused buffers. It knows
//! sizes, not the fate of a packet.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use weir_net::tun::{TUN_BUFFER, TUN_HEADER};

use crate::offload::Offload;
use crate::segment::Cut;

/// Sizes of buffers: most packets, jumbo frames, and the maximum of a TUN device.
const SIZES: [usize; 3] = [TUN_HEADER + 2_048, TUN_HEADER + 10_240, TUN_BUFFER];
/// Maximum bytes in buffers of one direction.
const MOST_BYTES: usize = 1 << 30;

/// One packet as read.
#[derive(Debug)]
pub struct Buffer {
    bytes: Box<[u8]>,
    length: usize,
    /// Its offload header.
    pub offload: Offload,
    /// Its segmentation; none for one that passes unchanged.
    pub cut: Option<Cut>,
    allocated: Rc<Cell<usize>>,
}

impl Buffer {
    /// The IP packet.
    pub fn packet(&self) -> &[u8] {
        &self.bytes[TUN_HEADER..self.length]
    }

    /// Space for a packet and the header before it.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Sets its length in bytes, header included.
    pub fn set_length(&mut self, length: usize) {
        self.length = length.clamp(TUN_HEADER, self.bytes.len());
    }

    /// The IP packet, mutable.
    pub fn packet_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[TUN_HEADER..self.length]
    }

    /// Range of the payload of segment `index` in [`Buffer::packet`].
    pub fn payload(&self, index: usize) -> Range<usize> {
        match &self.cut {
            Some(cut) => cut.payload(index),
            None => 0..self.length - TUN_HEADER,
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.allocated.set(self.allocated.get() - self.bytes.len());
    }
}

/// One packet on the link: a segment of what was read.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The packet that was read.
    pub buffer: Rc<Buffer>,
    /// Index of the segment.
    pub index: u16,
}

/// Free buffers.
#[derive(Debug, Default)]
pub struct Pool {
    free: [Vec<Rc<Buffer>>; SIZES.len()],
    allocated: Rc<Cell<usize>>,
}

impl Pool {
    /// A buffer with room for `length` bytes, header included, with a single owner; none when so many are in use
    /// that the host's memory is in danger.
    pub fn take(&mut self, length: usize) -> Option<Rc<Buffer>> {
        let class = SIZES.iter().position(|size| length <= *size)?;
        if let Some(buffer) = self.free[class].pop() {
            return Some(buffer);
        }
        let allocated = self.allocated.get() + SIZES[class];
        if allocated > MOST_BYTES {
            return None;
        }
        self.allocated.set(allocated);
        Some(Rc::new(Buffer {
            bytes: vec![0; SIZES[class]].into_boxed_slice(),
            length: TUN_HEADER,
            offload: Offload::default(),
            cut: None,
            allocated: self.allocated.clone(),
        }))
    }

    /// Takes a buffer back, if it has no other owner.
    pub fn give_back(&mut self, mut buffer: Rc<Buffer>) {
        if Rc::get_mut(&mut buffer).is_none() {
            return;
        }
        if let Some(class) = SIZES.iter().position(|size| buffer.bytes.len() == *size) {
            self.free[class].push(buffer);
        }
    }

    /// Moves a packet to the smallest buffer that holds it: a queue of short packets must not take 64 KiB for each.
    pub fn shrink(&mut self, buffer: Rc<Buffer>) -> Rc<Buffer> {
        let length = buffer.length;
        if length > SIZES[1] {
            return buffer;
        }
        let Some(mut small) = self.take(length) else {
            return buffer;
        };
        if let Some(inside) = Rc::get_mut(&mut small) {
            inside.bytes[..length].copy_from_slice(&buffer.bytes[..length]);
            inside.length = length;
            inside.offload = buffer.offload;
            inside.cut = buffer.cut;
        }
        self.give_back(buffer);
        small
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_when_the_last_holder_lets_go() {
        let mut pool = Pool::default();
        let first = pool.take(100).unwrap();
        let second = first.clone();
        let address = Rc::as_ptr(&first);
        pool.give_back(first);
        assert!(pool.free[0].is_empty());
        pool.give_back(second);
        assert_eq!(Rc::as_ptr(&pool.take(2_000).unwrap()), address);
        assert!(pool.take(TUN_BUFFER + 1).is_none());
    }

    #[test]
    fn short_packets_move_to_short_buffers_and_memory_is_counted() {
        let mut pool = Pool::default();
        let mut large = pool.take(TUN_BUFFER).unwrap();
        let inside = Rc::get_mut(&mut large).unwrap();
        inside.space()[TUN_HEADER..][..3].copy_from_slice(b"abc");
        inside.set_length(TUN_HEADER + 3);
        let small = pool.shrink(large);
        assert_eq!((small.packet(), small.bytes.len()), (&b"abc"[..], SIZES[0]));
        assert_eq!(pool.allocated.get(), SIZES[0] + TUN_BUFFER);
        drop(small);
        assert_eq!(pool.allocated.get(), TUN_BUFFER);
        assert_eq!(pool.free[2].len(), 1);
        let all: Vec<_> = std::iter::from_fn(|| pool.take(TUN_BUFFER)).collect();
        assert!(all.len() * TUN_BUFFER <= MOST_BYTES && (all.len() + 1) * TUN_BUFFER > MOST_BYTES);
    }
}
