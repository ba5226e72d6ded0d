//! The pacing lab: what paced and unpaced streaming do to what else uses the line. Here are its scenarios, the title that it
//! plays, the figures of a trial and how they are compared. It must not know how programs are started, or how results are
//! drawn.

mod beside;
mod comparison;
mod figures;
mod media;
mod named;
mod scenario;
mod written;

pub use beside::add_beside_media;
pub use comparison::{CaseResult, Change, Comparison, FigureRow, Spread, VariantSpread, compare};
pub use figures::{
    Figures, MEDIA_FIGURES, SegmentLine, TcpReading, Unit, add_neighbour, media_figures, unit_of,
};
pub use media::{MANIFEST, MediaError, write_title};
pub use named::{headline, named, scenarios};
pub use scenario::{
    Case, FigureWanted, Media, Neighbour, NeighbourKind, Player, Scenario, Server, Variant, Way,
};
