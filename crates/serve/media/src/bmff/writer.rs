//! Writing boxes: nested, with lengths put in when a box is complete. It holds headers, not media, so its boxes stay far
//! below the 4 GiB of a 32-bit length.

/// Boxes on their way into bytes.
#[derive(Clone, Debug, Default)]
pub struct BoxWriter {
    bytes: Vec<u8>,
}

impl BoxWriter {
    /// Nothing written yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A box of which `content` writes what is inside.
    pub fn nest(&mut self, kind: &[u8; 4], content: impl FnOnce(&mut BoxWriter)) {
        let start = self.bytes.len();
        self.u32(0);
        self.bytes(kind);
        content(self);
        let length = u32::try_from(self.bytes.len() - start).unwrap_or(u32::MAX);
        self.put_u32(start, length);
    }

    /// A full box (ISO/IEC 14496-12, 4.2.2): `flags` has 24 bits.
    pub fn nest_full(
        &mut self,
        kind: &[u8; 4],
        version: u8,
        flags: u32,
        content: impl FnOnce(&mut BoxWriter),
    ) {
        self.nest(kind, |inside| {
            inside.u32(u32::from(version) << 24 | flags & 0x00ff_ffff);
            content(inside);
        });
    }

    /// An octet.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// 16 bits, most significant first.
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    /// 32 bits.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    /// 32 bits in two's complement.
    pub fn i32(&mut self, value: i32) {
        self.bytes(&value.to_be_bytes());
    }

    /// 64 bits.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_be_bytes());
    }

    /// These bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// So many zeros, for reserved fields.
    pub fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// Bytes written so far.
    pub fn position(&self) -> usize {
        self.bytes.len()
    }

    /// Writes 32 bits over those at `position`, which have been written before.
    pub fn put_u32(&mut self, position: usize, value: u32) {
        if let Some(place) = self.bytes.get_mut(position..position + 4) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }

    /// What has been written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
