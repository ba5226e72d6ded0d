//! HTTP/2 (RFC 9113) as a viewer speaks it. It is given bytes and times and knows no sockets; `client` puts it on one.
//!
//! The crate h2 is not used: it keeps at least 24 KiB of buffers for each connection, where thousands of viewers that wait
//! need none, and does not tell how many bytes of frames an answer took, which servers write into their logs.

pub mod frames;
pub mod hpack;
mod huffman;
pub mod session;
