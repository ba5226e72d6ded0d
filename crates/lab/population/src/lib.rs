//! What a pace does over a population: households drawn from distributions, each with a line, a viewer and neighbours, played
//! in virtual time over TCP once for each pace, with the same random numbers. It must not know where results are kept or how
//! they are drawn.

mod checked;
mod compared;
mod downloads;
mod draw;
mod effects;
mod file;
mod grid;
mod gridded;
mod home;
mod household;
mod many;
mod measured;
mod measured_path;
mod named;
mod packets;
mod servers;
mod session;
mod spread_text;
mod tune;
mod tuned;
mod viewer;
mod wish;
mod written;

use thiserror::Error;
use weir_player::ManifestError;

pub use checked::{Check, CheckedFigure};
pub use compared::{Change, Collected, FigureRow, Spread as FigureSpread, Summary, VariantFigure};
pub use draw::{BadShares, Choice, Spread};
pub use file::{
    CONGESTION, Congestion, Device, Grants, Line, LineRates, Lines, MOST_HOUSEHOLDS, Media, Neighbour,
    NeighbourKind, Population, Published, Variant,
};
pub use grid::{Grid, pace_list};
pub use gridded::{Best, Gain, GridCell, GridFigure, GridSummary};
pub use household::Household;
pub use many::{Plan, Shard, ShardError, play_all, play_some};
pub use measured::{Measured, MeasuredFilm, paths_of_mesh};
pub use measured_path::MeasuredPath;
pub use named::{named, populations};
pub use session::{Played, play};
pub use tune::{Round, Tuner, Tuning};
pub use tuned::{Estimate, Recommended, Trial, TuneSummary};

/// Why a household cannot be played.
#[derive(Debug, Error)]
pub enum PopulationError {
    /// The link language refuses its line.
    #[error("the line of household {household} is no link: {problem}")]
    Line {
        /// Its number.
        household: u64,
        /// What is wrong.
        problem: String,
    },
    /// Its title cannot be played.
    #[error("the title cannot be played: {0}")]
    Title(#[from] ManifestError),
}
