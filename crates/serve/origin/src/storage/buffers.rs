//! Memory that is read into and used again: while it is sent it belongs to the answer, and comes back when that is done. So
//! the same few pieces stay in the CPU's cache, and none has to be cleared anew. It must not know what is in it.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Pieces that wait to be used again, at most.
const MOST_IDLE: usize = 64;

/// Pieces of memory of one length. Clones share them.
#[derive(Clone, Debug)]
pub struct Buffers {
    length: usize,
    idle: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// A piece that is in use. It goes back when it is dropped.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    filled: usize,
    home: Buffers,
}

impl Buffers {
    /// Pieces of that many bytes.
    pub fn new(length: usize) -> Self {
        Buffers {
            length,
            idle: Arc::default(),
        }
    }

    /// A piece, with anything in it.
    pub fn take(&self) -> Buffer {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Buffer {
            bytes: idle.unwrap_or_else(|| vec![0; self.length]),
            filled: 0,
            home: self.clone(),
        }
    }
}

impl Buffer {
    /// Its memory.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The first bytes of it, to be sent.
    pub fn filled(mut self, bytes: usize) -> Bytes {
        self.filled = bytes.min(self.bytes.len());
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.filled).unwrap_or_default()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut idle = self.home.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_when_nobody_has_any_of_it() {
        let buffers = Buffers::new(100);
        let idle = || buffers.idle.lock().expect("no panic").len();
        let mut buffer = buffers.take();
        buffer.room()[..3].copy_from_slice(b"abc");
        let bytes = buffer.filled(3);
        let part = bytes.slice(1..2);
        assert_eq!((&bytes[..], &part[..], idle()), (&b"abc"[..], &b"b"[..], 0));
        drop(bytes);
        assert_eq!(idle(), 0);
        drop(part);
        assert_eq!(idle(), 1);
        assert_eq!(buffers.take().filled(1000).len(), 100);
        let many: Vec<_> = (0..100).map(|_| buffers.take()).collect();
        drop(many);
        assert_eq!(idle(), MOST_IDLE);
    }
}
