//! Files as far as the kernel has them in memory: opened and read without ever waiting for a disk, so that it may be done
//! where requests are served. What would have to wait is not done at all, and its caller does it elsewhere. It must not know
//! what is read.

use std::fs::File;
use std::io::IoSliceMut;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{ReadWriteFlags, preadv2};

use crate::path::ObjectPath;

/// Opens a file below a folder whose way there the kernel has in memory. Symbolic links that lead out of the folder, or are
/// absolute, are left to the caller; so is all that fails.
pub fn open(root: &File, path: &ObjectPath) -> Option<File> {
    // A FIFO would wait for its writer without NONBLOCK, which means nothing for files.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::CACHED;
    let file = openat2(root, path.as_str(), flags, Mode::empty(), resolve).ok()?;
    Some(File::from(file))
}

/// Reads bytes at a place as far as they are in memory: at least one, or none at all.
pub fn read(file: &File, room: &mut [u8], at: u64) -> Option<usize> {
    let mut into = [IoSliceMut::new(room)];
    let read = preadv2(file, &mut into, at, ReadWriteFlags::NOWAIT).ok()?;
    (read > 0).then_some(read)
}
