//! The sender's store of sent frames, kept while retransmission may be requested: frames, and which packet of
//! which frame each symbol was. Packets are sealed where they lie, once, so that a retransmission has the bytes of the first
//! transmission. It must not know flows, or timeouts except the expiry of a frame.

use std::collections::VecDeque;

use weir_protect::{SealError, Sealed};
use weir_wire::MediaFraming;

/// The content of one buffer: a frame, a format description, or the end of the stream.
#[derive(Debug)]
struct Stored<B> {
    /// All but the offset.
    framing: MediaFraming,
    bytes: B,
    first_symbol: u64,
    packets: u32,
    /// Of the packets that were sent, from the first on.
    seals: Vec<Sealed>,
    /// Its expiry; none until it has been sent completely.
    expires_ns: Option<u64>,
}

/// One packet of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its symbol.
    pub symbol: u64,
    /// Its framing.
    pub framing: MediaFraming,
    /// Number of the buffer, and its bytes there.
    pub(crate) buffer: u64,
    pub(crate) start: u32,
    pub(crate) length: u32,
}

impl Piece {
    fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.length) as usize
    }
}

/// Frames in the order of their symbols, in buffers of the caller's type.
#[derive(Debug)]
pub struct FrameStore<B> {
    kept: VecDeque<Stored<B>>,
    /// Number of the first of them.
    first: u64,
    next_symbol: u64,
    payload: u32,
    most_bytes: usize,
    bytes: usize,
    /// For reuse.
    spare_seals: Vec<Vec<Sealed>>,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> FrameStore<B> {
    /// For packets of `payload` bytes from this symbol on, keeping at most `most_bytes`.
    pub fn new(payload: u32, most_bytes: usize, first_symbol: u64) -> Self {
        FrameStore {
            kept: VecDeque::new(),
            first: 0,
            next_symbol: first_symbol,
            payload,
            most_bytes,
            bytes: 0,
            spare_seals: Vec::new(),
        }
    }

    /// The symbol of the next packet.
    pub fn next_symbol(&self) -> u64 {
        self.next_symbol
    }

    /// Whether there is room for `bytes` more.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= self.most_bytes || self.kept.is_empty()
    }

    /// Keeps `bytes` with their `framing` (offset ignored); returns the buffer's number and its count of packets.
    pub fn keep(&mut self, framing: MediaFraming, bytes: B) -> (u64, u32) {
        let length = bytes.as_ref().len();
        let packets = (length as u32).div_ceil(self.payload).max(1);
        self.bytes += length;
        let mut seals = self.spare_seals.pop().unwrap_or_default();
        seals.reserve(packets as usize);
        self.kept.push_back(Stored {
            framing,
            bytes,
            first_symbol: self.next_symbol,
            packets,
            seals,
            expires_ns: None,
        });
        self.next_symbol += u64::from(packets);
        (self.first + self.kept.len() as u64 - 1, packets)
    }

    /// A packet by buffer and index.
    pub fn piece(&self, buffer: u64, index: u32) -> Option<Piece> {
        let stored = self
            .kept
            .get(usize::try_from(buffer.checked_sub(self.first)?).ok()?)?;
        if index >= stored.packets {
            return None;
        }
        let start = index * self.payload;
        let length = (stored.bytes.as_ref().len() as u32 - start).min(self.payload);
        Some(Piece {
            symbol: stored.first_symbol + u64::from(index),
            framing: MediaFraming {
                offset: start,
                ..stored.framing
            },
            buffer,
            start,
            length,
        })
    }

    /// A packet by its symbol, if it is still kept.
    pub fn by_symbol(&self, symbol: u64) -> Option<Piece> {
        let after = self.kept.partition_point(|stored| stored.first_symbol <= symbol);
        let place = after.checked_sub(1)?;
        let index = symbol - self.kept[place].first_symbol;
        self.piece(self.first + place as u64, u32::try_from(index).ok()?)
    }

    fn place(&self, piece: &Piece) -> usize {
        usize::try_from(piece.buffer.wrapping_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// The payload of a packet, sealed once it was sent; empty if it is no longer kept.
    pub fn payload(&self, piece: &Piece) -> &[u8] {
        let stored = self.kept.get(self.place(piece));
        let bytes = stored.map_or(&[][..], |stored| stored.bytes.as_ref());
        bytes.get(piece.range()).unwrap_or(&[])
    }

    /// Seals a packet with `seal`, once; later calls return the same. None if it is no longer kept, or packets of its frame
    /// before it are not sealed.
    pub fn seal(
        &mut self,
        piece: &Piece,
        seal: impl FnOnce(&mut [u8]) -> Result<Sealed, SealError>,
    ) -> Option<Sealed> {
        let place = self.place(piece);
        let stored = self.kept.get_mut(place)?;
        let index = usize::try_from(piece.symbol.checked_sub(stored.first_symbol)?).ok()?;
        if index == stored.seals.len() {
            let payload = stored.bytes.as_mut().get_mut(piece.range())?;
            stored.seals.push(seal(payload).ok()?);
        }
        stored.seals.get(index).copied()
    }

    /// The seal of a packet that was sent.
    pub fn sealed(&self, piece: &Piece) -> Option<Sealed> {
        let stored = self.kept.get(self.place(piece))?;
        let index = usize::try_from(piece.symbol.checked_sub(stored.first_symbol)?).ok()?;
        stored.seals.get(index).copied()
    }

    /// The expiry of a packet's frame; none while it is being sent.
    pub fn expiry(&self, piece: &Piece) -> Option<u64> {
        let place = usize::try_from(piece.buffer.checked_sub(self.first)?).ok()?;
        self.kept.get(place)?.expires_ns
    }

    /// Notes that a frame has been sent completely, and sets its expiry.
    pub fn sent(&mut self, buffer: u64, expires_ns: u64) {
        let place = usize::try_from(buffer.wrapping_sub(self.first)).unwrap_or(usize::MAX);
        if let Some(stored) = self.kept.get_mut(place) {
            stored.expires_ns = Some(expires_ns);
        }
    }

    /// Removes a buffer that has expired, or whose packets are all settled at the receiver.
    /// Returns its framing and its buffer.
    pub fn take_unwanted(&mut self, now_ns: u64, settled: u64) -> Option<(MediaFraming, B)> {
        let oldest = self.kept.front()?;
        let over = oldest.expires_ns? <= now_ns;
        if !over && oldest.first_symbol + u64::from(oldest.packets) > settled {
            return None;
        }
        let mut oldest = self.kept.pop_front()?;
        oldest.seals.clear();
        self.spare_seals.push(oldest.seals);
        self.first += 1;
        self.bytes -= oldest.bytes.as_ref().len();
        Some((oldest.framing, oldest.bytes))
    }

    /// The expiry of the oldest frame.
    pub fn next_expiry(&self) -> Option<u64> {
        self.kept.front()?.expires_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> FrameStore<Vec<u8>> {
        let mut store = FrameStore::new(100, 1_000, 0);
        let framing = |frame| MediaFraming {
            frame,
            frame_length: 250,
            ..MediaFraming::default()
        };
        assert_eq!(
            store.keep(framing(7), (0..250).map(|byte| byte as u8).collect()),
            (0, 3)
        );
        assert_eq!(store.keep(framing(8), vec![8; 250]), (1, 3));
        assert_eq!(store.keep(framing(9), Vec::new()), (2, 1));
        store
    }

    #[test]
    fn pieces_are_found_by_place_and_by_symbol() {
        let store = store();
        for symbol in 0..7 {
            let piece = store.by_symbol(symbol).unwrap();
            assert_eq!(piece.symbol, symbol);
            assert_eq!(store.piece(piece.buffer, piece.start / 100), Some(piece));
        }
        let last = store.by_symbol(2).unwrap();
        assert_eq!((last.framing.frame, last.framing.offset), (7, 200));
        assert_eq!(
            store.payload(&last),
            (200..250).map(|byte| byte as u8).collect::<Vec<_>>()
        );
        assert_eq!(store.payload(&store.by_symbol(6).unwrap()), b"");
        assert_eq!(
            (store.by_symbol(7), store.piece(0, 3), store.piece(3, 0)),
            (None, None, None)
        );
    }

    #[test]
    fn a_packet_is_sealed_once_in_order_and_where_it_lies() {
        let mut store = store();
        let seal = |mark: u8| {
            move |payload: &mut [u8]| {
                payload.fill(mark);
                Ok(Sealed {
                    epoch: mark,
                    ..Sealed::default()
                })
            }
        };
        let [first, second, third] = [0, 1, 2].map(|symbol| store.by_symbol(symbol).unwrap());
        assert_eq!(store.seal(&second, seal(9)), None, "the first is not sealed");
        assert_eq!((store.sealed(&first), store.payload(&second)[0]), (None, 100));
        assert_eq!(store.seal(&first, seal(1)).unwrap().epoch, 1);
        assert_eq!(
            store.seal(&first, seal(2)).unwrap().epoch,
            1,
            "it was sealed before"
        );
        assert_eq!(store.payload(&first), [1; 100]);
        assert_eq!(store.seal(&second, seal(3)).unwrap().epoch, 3);
        assert_eq!(store.sealed(&second).unwrap().epoch, 3);
        let refused = |_: &mut [u8]| Err(SealError::NumberReused(2));
        assert_eq!((store.seal(&third, refused), store.sealed(&third)), (None, None));
        assert_eq!(store.payload(&third)[0], 200, "as it was");
        store.sent(0, 1_000);
        store.take_unwanted(1_000, 0).unwrap();
        assert_eq!((store.seal(&first, seal(4)), store.sealed(&first)), (None, None));
    }

    #[test]
    fn a_frame_goes_when_its_time_is_over_or_all_of_it_is_settled() {
        let mut store = store();
        assert_eq!(store.take_unwanted(u64::MAX, u64::MAX), None, "not yet sent");
        store.sent(0, 1_000);
        store.sent(1, 2_000);
        assert_eq!(store.take_unwanted(999, 2), None);
        let (framing, bytes) = store.take_unwanted(999, 3).unwrap();
        assert_eq!((framing.frame, bytes.len()), (7, 250));
        assert_eq!(
            (store.by_symbol(0), store.by_symbol(3).unwrap().framing.frame),
            (None, 8)
        );
        assert!(store.has_room(750) && !store.has_room(751));
        assert_eq!(store.take_unwanted(1_999, 3), None);
        let (framing, bytes) = store.take_unwanted(2_000, 3).unwrap();
        assert_eq!((framing.frame, bytes), (8, vec![8; 250]));
        assert_eq!(store.take_unwanted(2_000, 99), None, "the end is not sent");
    }
}
