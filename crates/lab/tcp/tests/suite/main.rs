//! Connections over emulated links in virtual time.

mod alone;
mod beside;
mod beside_kernel;
mod hostile;
mod world;
