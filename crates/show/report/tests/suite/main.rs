//! The document of a report against SQL written by hand on the same database, its limits, and bad input.

// Clippy allows unwrap in test functions only; here the functions that they call are tests as well.
#![allow(clippy::unwrap_used)]

mod exact;
mod file;
mod form;
mod limits;
mod load;
mod media;
mod mesh;
mod odd;
mod sample;
