//! The results store: one SQLite file that holds many runs. It knows tables, not how a number was measured.
//!
//! [`Store`] opens the file, begins and ends runs, reads and exports them, and keeps notes on them; [`Writer`] records
//! a running measurement from its own thread, so that a measurement never waits for a disk. `docs/database.md`
//! describes the file itself.

mod adopt;
mod backlog;
mod columns;
mod delete;
mod error;
mod export;
mod list;
mod mesh;
mod notes;
mod ordered;
mod read;
mod schema;
mod so_far;
mod statements;
mod store;
mod verdicts;
mod watch;
mod watch_excluded;
mod watch_merge;
mod writer;

pub use error::StoreError;
pub use list::{RunLine, RunQuery};
pub use mesh::MeshFilter;
pub use notes::{MOST_NOTE_CHARACTERS, MOST_TAG_CHARACTERS, MOST_TAGS};
pub use ordered::{ClockStep, RttGroup, RttGroups, Snapshot, Subjects};
pub use read::{Run, RunFilter};
pub use schema::SCHEMA_VERSION;
pub use so_far::SoFar;
pub use store::{HEARTBEAT_LIMIT_NS, NewRun, Outcome, Store};
pub use verdicts::RunVerdict;
pub use watch::{PathId, Span};
pub use watch_merge::AddedWatch;
pub use weir_record::*;
pub use writer::{Recorder, Writer, WriterHandle, WriterReport};
