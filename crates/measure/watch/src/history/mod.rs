//! What the past of watched paths says: trends, patterns by the time of day, changes of placement, and which events are whose fault. `read` takes them
//! from the store; the rest is pure. It must not know how results are drawn.

mod hours;
mod placement;
#[cfg(feature = "history")]
mod read;
mod scope;
mod trend;

pub use hours::{HourOfDay, TimeOfDay, time_of_day};
pub use placement::{PlacedEnd, Placement, Seen, placements};
#[cfg(feature = "history")]
pub use read::{Asked, Cells, History, PathHistory, PathRates, Rates, cells, mesh, over_time, read};
pub use scope::{Fault, Happened, Kind, Mesh, Scope, faults};
pub use trend::{PathTrend, trends};

/// An hour, seconds.
pub(crate) const HOUR_S: u64 = 3_600;
/// A day, seconds.
pub(crate) const DAY_S: u64 = 86_400;
