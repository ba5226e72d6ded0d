//! The local page over a results store: a small HTTP server that lists runs, gives their data and that of watched paths, follows
//! a run that is being recorded, and keeps the user's notes. It knows stored runs, their diagnosis and the documents that a page
//! draws; it must not know how a test is made, nor how the page draws.
//!
//! [`Server::bind`] opens the database and the port, [`Server::run`] serves until it is stopped. The page and the
//! API are those of `docs/commands/ui.md` and `docs/schemas/openapi.json`.
//!
//! It waits for others with an asynchronous runtime, the only part of Weir that does: many connections that mostly sleep
//! are what that is for, and no test packet passes here. All work on the database happens on threads beside it.

mod app;
mod bodies;
mod changes;
mod error;
mod events;
mod headers;
mod list;
mod problem;
mod readers;
mod routes;
mod runs;
mod server;
mod verdicts;
mod watched;

pub use app::Limits;
pub use error::UiError;
pub use routes::{OPENAPI, routes};
pub use server::{Config, Server};
