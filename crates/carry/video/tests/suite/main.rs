//! Formats and packings of frames against ffmpeg, and readers on damaged input.

#![allow(clippy::unwrap_used)]

mod against_ffmpeg;
mod allocations;
mod formats;
mod streams;
