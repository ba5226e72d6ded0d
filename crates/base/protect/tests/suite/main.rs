//! The crate as its users see it: published vectors, and attacks on sealed packets.

#![allow(clippy::unwrap_used)]

mod attacks;
mod vectors;
