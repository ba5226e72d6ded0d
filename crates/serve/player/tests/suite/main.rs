//! The player against published results and another simulator.

#![allow(clippy::unwrap_used)]

mod against_sabre;
mod determinism;
mod papers;
mod player;
