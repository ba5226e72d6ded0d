//! The erasure code against computations that it does not contain.

#![allow(clippy::unwrap_used)]

mod allocation;
mod oracle;
mod residual;
mod simulation;
mod vectors;
