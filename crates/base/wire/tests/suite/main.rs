//! Packet formats against vectors of another implementation.

#![allow(clippy::unwrap_used)]

mod handshake;
mod stamp;
mod udp;
mod vectors;
