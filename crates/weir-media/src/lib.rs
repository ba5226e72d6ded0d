//! What media are made of: for now raw video, its formats, its files and pipes, its packings and a test pattern.
//!
//! This crate works on bytes that it is given, and on `Read` and `Write` at most. It must not know where the bytes come
//! from or go to: it opens no file and no socket, reads no clock and starts no thread. How frames are paced, cut into
//! packets and carried is no business of its either.
//!
//! What comes from outside (format texts, media type parameters, Y4M) is bounded before anything is allocated for it, and
//! refused with an error that says what would have been right.

pub mod raw;
