//! The pacing lab: what paced and unpaced streaming do to what else uses the line. Here are its scenarios, the title that it
//! plays, its trials and the bench that makes them, the figures of a trial and how they are compared. It must not know how
//! results are drawn or stored.

#[cfg(feature = "networks")]
mod bench;
mod beside;
mod comparison;
mod figures;
mod media;
mod named;
#[cfg(feature = "networks")]
mod nginx;
mod scenario;
mod trials;
mod written;

#[cfg(feature = "networks")]
pub use self::{bench::NetworkBench, nginx::nginx};
pub use beside::add_beside_media;
pub use comparison::{CaseResult, Change, Comparison, FigureRow, Spread, VariantSpread, compare};
pub use figures::{
    Figures, MEDIA_FIGURES, TcpReading, Unit, add_neighbour, add_viewer, media_figures, unit_of,
};
pub use media::{MANIFEST, MediaError, write_title};
pub use named::{named, scenarios};
pub use scenario::{
    Case, FigureWanted, Media, Neighbour, NeighbourKind, Player, Scenario, Server, Variant, Way,
};
pub use trials::{
    Bench, Collected, Event, Outcome, Summary, Trial, TrialError, TrialFigures, in_order, takes_ns,
};
