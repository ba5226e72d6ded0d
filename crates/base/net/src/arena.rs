//! Memory of which the kernel sends pieces without copying them: slots in a file that is nowhere but in memory
//! (`memfd_create(2)`), mapped for who reads them here. It must not know what is in them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// Slots of equal length, each for some bytes.
#[derive(Debug)]
pub struct Arena {
    file: File,
    /// Where it is mapped, for reading.
    base: NonNull<u8>,
    length: usize,
    slot: usize,
    /// Where free slots begin.
    free: Mutex<Vec<usize>>,
}

// SAFETY: the mapping is read by all and written by none: a slot is written through the file, before anybody has its bytes.
unsafe impl Send for Arena {}
// SAFETY: as above; the list of free slots has a lock.
unsafe impl Sync for Arena {}

/// Bytes in a slot, which is free again when they are dropped.
#[derive(Debug)]
pub struct Slot {
    arena: Arc<Arena>,
    begin: usize,
    length: usize,
}

impl Arena {
    /// A number of slots of `slot` bytes each, a multiple of the length of a page. Memory is taken only for what is kept.
    ///
    /// # Errors
    /// When the system gives no such file or no room for its mapping, or `slot` is no multiple of a page.
    pub fn new(slots: usize, slot: usize) -> io::Result<Arc<Self>> {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let is_whole = usize::try_from(page).is_ok_and(|page| slot > 0 && slot.is_multiple_of(page));
        let length = slots.checked_mul(slot).filter(|length| is_whole && *length > 0);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: the name is a string that ends with a zero byte.
        let descriptor = unsafe { libc::memfd_create(c"weir".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it has just been opened, and nobody else has it.
        let file = unsafe { File::from_raw_fd(descriptor) };
        file.set_len(length as u64)?;
        // SAFETY: a new mapping, at a place that the kernel chooses, of a file that is never shortened.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                descriptor,
                0,
            )
        };
        let base = NonNull::new(base.cast::<u8>()).filter(|_| base != libc::MAP_FAILED);
        Ok(Arc::new(Arena {
            file,
            base: base.ok_or_else(io::Error::last_os_error)?,
            length,
            slot,
            free: Mutex::new((0..slots).rev().map(|number| number * slot).collect()),
        }))
    }

    /// Keeps bytes in a slot; none if no slot is free or long enough, or there is no memory.
    pub fn keep(self: &Arc<Self>, bytes: &[u8]) -> Option<Slot> {
        if bytes.len() > self.slot {
            return None;
        }
        let begin = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        // From here on, dropping it frees the slot.
        let slot = Slot {
            arena: self.clone(),
            begin,
            length: bytes.len(),
        };
        self.file.write_all_at(bytes, begin as u64).ok()?;
        Some(slot)
    }

    /// Where in the arena these bytes are; none for bytes that are elsewhere.
    fn place(&self, bytes: &[u8]) -> Option<usize> {
        let at = (bytes.as_ptr() as usize).checked_sub(self.base.as_ptr() as usize)?;
        (at < self.length && !bytes.is_empty()).then_some(at)
    }

    /// Whether these bytes are in the arena.
    pub fn holds(&self, bytes: &[u8]) -> bool {
        self.place(bytes).is_some()
    }

    /// Sends bytes that are in the arena to a socket, without copying them (`sendfile(2)`). Returns how many it took.
    ///
    /// # Errors
    /// As `sendfile(2)`; and for bytes that are elsewhere.
    pub fn send(&self, socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        let place = self.place(bytes).ok_or(io::ErrorKind::InvalidInput)?;
        let mut offset = libc::off_t::try_from(place).map_err(io::Error::other)?;
        // SAFETY: both descriptors are open, and the offset is ours.
        let sent = unsafe {
            libc::sendfile(
                socket.as_fd().as_raw_fd(),
                self.file.as_raw_fd(),
                &raw mut offset,
                bytes.len(),
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made for it, of which nobody has bytes any more: slots hold the arena.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

impl AsRef<[u8]> for Slot {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: inside the mapping, which lives as long as the arena; nobody writes to a slot that somebody has.
        unsafe { std::slice::from_raw_parts(self.arena.base.as_ptr().add(self.begin), self.length) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let arena = &self.arena;
        // Sockets may still have to send its pages, or to send them again. They keep them; the slot gets others.
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (begin, length) = (self.begin as libc::off_t, arena.slot as libc::off_t);
        // SAFETY: the descriptor is open.
        let is_empty = unsafe { libc::fallocate(arena.file.as_raw_fd(), mode, begin, length) } == 0;
        // One that still has its pages is not used again.
        if is_empty {
            arena
                .free
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(self.begin);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;

    const SLOT: usize = 64 << 10;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (writer, listener.accept().unwrap().0)
    }

    #[test]
    fn bytes_are_there_to_read_and_to_send() {
        let arena = Arena::new(2, SLOT).unwrap();
        let bytes: Vec<u8> = (0..40_000).map(|number| number as u8).collect();
        let kept = arena.keep(&bytes).unwrap();
        assert_eq!(kept.as_ref(), bytes);
        assert!(arena.holds(&kept.as_ref()[39_999..]) && !arena.holds(&bytes));
        let (writer, mut reader) = pair();
        let sent = arena.send(&writer, &kept.as_ref()[7..30_007]).unwrap();
        drop(writer);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, bytes[7..7 + sent]);
        assert!(arena.send(&reader, &bytes).is_err());
    }

    /// A slow reader gets what was kept when it was sent, though the slot has other bytes by then.
    #[test]
    fn what_is_on_its_way_stays_as_it_was_when_its_slot_is_used_again() {
        let arena = Arena::new(1, SLOT).unwrap();
        let (writer, mut reader) = pair();
        let kept = arena.keep(&[1; SLOT]).unwrap();
        let sent = arena.send(&writer, kept.as_ref()).unwrap();
        assert!(arena.keep(&[2; SLOT]).is_none(), "it has one slot");
        drop(kept);
        let other = arena.keep(&[2; SLOT]).unwrap();
        assert_eq!(other.as_ref(), [2; SLOT]);
        drop(writer);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert!(sent > 0 && read == vec![1; sent], "{sent}");
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let arena = Arena::new(1, SLOT).unwrap();
        assert!(arena.keep(&[0; SLOT + 1]).is_none());
        assert!(!arena.holds(&[]));
        for (slots, slot) in [(0, SLOT), (1, 0), (1, 100), (usize::MAX, SLOT)] {
            assert!(Arena::new(slots, slot).is_err(), "{slots} {slot}");
        }
    }
}
