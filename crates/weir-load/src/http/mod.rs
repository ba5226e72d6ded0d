//! HTTP/1.1 and HTTP/2 as a viewer speaks them: connections to each host that are kept, bodies that are looked at and
//! dropped. It knows neither manifests nor viewers.

mod client;
mod connection;
mod dial;
pub mod h2;
pub mod response;
mod tls;
mod tls_stream;

pub use client::{Answer, Client, Failed, Request};
pub use dial::{Dialer, HttpVersion, Patience};
pub use tls::{TlsError, Trust};
