//! Tests between many places: where regions lie, which pairs to test and in which order, what that costs, on which hosts it
//! runs, and what the results say about distance. It must not know how a test works inside: it plans pairs, hands them to
//! an [`Executor`](run::Executor), and takes rows of [`MeshTest`](weir_results::MeshTest).
//!
//! Everything but [`ssh`] is pure: text, tables and times come in as arguments, plans and results go out.

pub mod best;
pub mod distance;
pub mod estimate;
mod fault;
pub mod filter;
pub mod fit;
pub mod hosts;
pub mod import;
pub mod place;
pub mod price;
pub mod report;
pub mod rounds;
pub mod run;
pub mod select;
pub mod ssh;
mod suggest;

pub use fault::MeshError;
