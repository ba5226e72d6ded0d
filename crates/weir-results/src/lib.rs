//! The results store: one SQLite file that holds many runs. It knows tables, not how a number was measured.

mod record;

pub use record::*;
