//! Slots for symbols, of equal size, in one block of memory that never grows. It must not know which symbol is where,
//! or why.

use crate::adui::{ADUI_HEADER, Adu};

const LINE: usize = 64;

/// Numbered slots for one symbol each. The packet's own bytes, after the three of the header, start at a cache line:
/// loads and stores of the kernels then do not straddle two.
#[derive(Debug)]
pub(crate) struct Slots {
    bytes: Box<[u8]>,
    /// Offset of the first symbol.
    origin: usize,
    stride: usize,
    room: usize,
}

impl Slots {
    /// `count` slots for symbols of at most `room` bytes, all zero.
    pub(crate) fn new(count: usize, room: usize) -> Self {
        let stride = (room + LINE).next_multiple_of(LINE);
        let bytes = vec![0; count * stride + 2 * LINE].into_boxed_slice();
        // A box does not move its bytes. An unknown offset is usize::MAX; then the alignment does not matter.
        let aligned = bytes.as_ptr().align_offset(LINE);
        let origin = if aligned < LINE { aligned } else { 0 } + LINE - ADUI_HEADER;
        Self {
            bytes,
            origin,
            stride,
            room,
        }
    }

    /// All bytes of a slot.
    pub(crate) fn get(&self, slot: usize) -> &[u8] {
        let start = self.origin + slot * self.stride;
        &self.bytes[start..start + self.room]
    }

    /// The same, mutable.
    pub(crate) fn get_mut(&mut self, slot: usize) -> &mut [u8] {
        let start = self.origin + slot * self.stride;
        &mut self.bytes[start..start + self.room]
    }

    /// Puts a packet's symbol into a slot; the bytes after it stay.
    pub(crate) fn put(&mut self, slot: usize, adu: &Adu<'_>) {
        let symbol = self.get_mut(slot);
        symbol[..ADUI_HEADER].copy_from_slice(&adu.header());
        symbol[ADUI_HEADER..adu.symbol_length()].copy_from_slice(adu.payload);
    }
}
