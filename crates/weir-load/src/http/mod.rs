//! HTTP as a viewer speaks it: a connection to each host that is kept, one request after the other, bodies that are
//! looked at and dropped. It knows neither manifests nor viewers.

mod client;
mod connection;
mod dial;
pub mod response;
mod tls;

pub use client::{Answer, Client, Failed, Request};
pub use dial::{Dialer, Patience};
pub use tls::{TlsError, Trust};
