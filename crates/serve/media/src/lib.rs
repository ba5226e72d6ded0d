//! Streaming formats: MP4 files with the index of their samples; segments, their encryption, subtitles, and the manifests of
//! DASH and HLS that describe them; what players tell servers when they ask for one.
//!
//! This crate works on bytes that it is given, and on `Read` and `Write` at most. It must not know where the bytes come
//! from or go to: it opens no file and no socket, knows no storage, and of HTTP no more than names and values of some
//! fields, reads no clock and starts no thread.
//!
//! What comes from outside (boxes, indexes, manifests of titles, subtitles, CMCD) is bounded before anything is allocated for
//! it, and refused with an error that says what is wrong or what would have been right.

pub mod bmff;
pub mod cmcd;
pub mod dash;
pub mod encryption;
pub mod hls;
pub mod index;
mod manifest_text;
pub mod package;
pub mod presentation;
pub mod segments;
pub mod title;
pub mod webvtt;
