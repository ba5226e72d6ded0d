//! The results store: one SQLite file that holds many runs. It knows tables, not how a number was measured.
//!
//! [`Store`] opens the file, begins and ends runs, reads and exports them, and keeps notes on them; [`Writer`] records
//! a running measurement from its own thread, so that a measurement never waits for a disk. `docs/database.md`
//! describes the file itself.

mod adopt;
mod backlog;
mod cells;
mod delete;
mod error;
mod export;
mod list;
mod mesh;
mod notes;
mod ordered;
mod read;
mod record;
mod rows;
mod run_id;
mod schema;
mod sides;
mod so_far;
mod store;
mod table;
mod verdicts;
mod writer;

pub use error::StoreError;
pub use list::{RunLine, RunQuery};
pub use mesh::{MeshEnd, MeshFilter, MeshTest};
pub use notes::{MOST_NOTE_CHARACTERS, MOST_TAG_CHARACTERS, MOST_TAGS};
pub use ordered::{ClockStep, RttGroup, RttGroups, Snapshot, Subjects};
pub use read::{Run, RunFilter};
pub use record::*;
pub use run_id::RunId;
pub use schema::SCHEMA_VERSION;
pub use sides::{Direction, Side};
pub use so_far::SoFar;
pub use store::{HEARTBEAT_LIMIT_NS, NewRun, Outcome, Store};
pub use table::{Record, Table};
pub use verdicts::RunVerdict;
pub use writer::{Recorder, Writer, WriterHandle, WriterReport};
