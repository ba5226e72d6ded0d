//! The origin as its clients and its storage meet it.

#![allow(clippy::unwrap_used)]

mod arrivals;
mod failing_storage;
mod frames;
mod hedged;
mod http2;
mod indexes_ahead;
mod keys;
mod misbehaving;
mod pacing;
mod protected;
mod protected_single_files;
mod reencrypted;
mod served;
mod server;
mod short_segments;
mod slow_clients;
mod storage;
mod storage_tls;
mod subtitles_of_parts;
mod titles;
mod tls;
