//! What is kept between requests: in memory and in a folder, each within a number of bytes, and made once for many who ask
//! at the same time. It must not know what is kept.

mod disk;
mod flights;
mod memory;

pub use disk::{CacheError, DiskCache};
pub use flights::Flights;
pub use memory::MemoryCache;
