//! Connections over emulated links in virtual time.

mod alone;
mod beside;
mod hostile;
mod world;
