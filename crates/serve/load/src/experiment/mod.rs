//! Experiments: a matrix of runs against origins that differ in one thing at a time, in which order they are made, which of
//! them are left after an interruption, and what they say together. It must not know how an origin is started, where
//! results are kept, or what time it is.

mod checks;
mod file;
mod markdown;
mod matrix;
mod model;
mod outcome;
mod reading;
mod result;
mod run;

pub use file::{
    Cache, Experiment, ExperimentError, GivenTitle, MOST_FILE_BYTES, Part, Placed, Published, PublishedRow,
    Storage, Titles, read,
};
pub use markdown::{Machine, markdown};
pub use matrix::Cell;
pub use model::{Model, ModelPoint};
pub use outcome::{Compared, Done, Group, OriginChange, Outcome, Spread};
pub use result::ExperimentResult;
pub use run::{Bench, left, make};
