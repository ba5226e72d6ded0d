//! The flowlet transport in virtual time.

#![allow(clippy::unwrap_used)]

mod allocation;
mod stream;
