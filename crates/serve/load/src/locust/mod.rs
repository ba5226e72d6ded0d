//! A worker of a Locust master: the protocol, and a session that takes the master's orders and sends it what was counted.
//! It must not know what the users do.

pub mod message;
mod session;
pub mod zmtp;

pub use session::{Fleet, Orders, Settled, WorkerError, work};

/// The file that a master needs to know Weir's classes and options.
pub const LOCUSTFILE: &str = include_str!("locustfile.py");
