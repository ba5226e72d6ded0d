//! What measurements find, as records: each declared once, from which follow its struct, the columns of its table, its keys
//! in JSON, and how two rows become one. It must not know how a record was measured, nor how it is stored.

mod cells;
mod cloud;
mod load;
mod media;
mod mesh;
mod population;
mod record;
mod rows;
mod run_id;
mod sides;
mod table;
mod testbed;
mod watch;

pub use cells::{Cell, CellError, Cells, Value, ValueRef};
pub use cloud::CloudFacts;
pub use load::{LoadFailure, LoadHistogram, LoadMetric, LoadSecond, ViewerSecond};
pub use media::{FlowChange, FrameSecond, MediaEvent, RecvSecond, SendSecond};
pub use mesh::{MeshEnd, MeshTest};
pub use population::{HouseholdNeighbour, HouseholdSession};
pub use record::*;
pub use run_id::RunId;
pub use sides::{Direction, Side};
pub use table::{Record, Table, UnknownTable};
pub use testbed::TaskSecond;
pub use watch::{WatchCell, WatchChange, WatchCount, WatchEvent, WatchExcluded};
