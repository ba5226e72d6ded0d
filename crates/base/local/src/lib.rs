//! HTTP for the users of this host: who may ask on loopback and beyond it, how many connections there are at once, and how long
//! a client may take. It must not know what is asked.

mod body;
mod connections;
mod guard;
mod patient;

pub use body::read_body;
pub use connections::{Bounds, ended, serve};
pub use guard::{Guard, HEADER, Refusal, Rules, Secret, is_loopback};
