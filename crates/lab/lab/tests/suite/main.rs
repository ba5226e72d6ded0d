//! Traps with results known beforehand.

#![allow(clippy::unwrap_used)]

mod traps;
mod trials;
