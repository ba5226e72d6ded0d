//! HTTP/1.1 and HTTP/2 as a viewer speaks them: given bytes and times, without sockets. It knows neither manifests nor
//! viewers.

pub mod h2;
pub mod response;
