//! Tests between many places: where regions lie, which pairs to test and in which order, what that costs, on which hosts it
//! runs, and what the results say about distance. It must not know how a test works inside: it plans pairs, hands them to
//! [`Hosts`](run::whole::Hosts), and takes rows of [`MeshTest`](weir_record::MeshTest).
//!
//! Everything but `ssh`, `run::threads`, `programs`, `engine`, `launch`, `held`, `state` and `tagged`, which call programs and
//! keep files, is pure: text, tables and times come in as arguments, plans and results go out. Those need the feature
//! `programs`, which is on by default. `run::whole` stores results, and knows hosts and the time by a trait.

pub mod access;
pub mod best;
pub mod cloud;
pub mod clouds_page;
pub mod distance;
#[cfg(feature = "programs")]
pub mod engine;
pub mod estimate;
mod fault;
pub mod filter;
pub mod fit;
#[cfg(feature = "programs")]
pub mod held;
pub mod hosts;
pub mod import;
pub mod instances;
#[cfg(feature = "programs")]
pub mod launch;
pub mod made;
pub mod path_mtu;
pub mod place;
pub mod placement;
pub mod preset;
pub mod price;
#[cfg(feature = "programs")]
mod process;
#[cfg(feature = "programs")]
pub mod programs;
pub mod regions;
pub mod report;
pub mod rounds;
pub mod run;
pub mod select;
#[cfg(feature = "programs")]
pub mod ssh;
#[cfg(feature = "programs")]
pub mod state;
mod suggest;
#[cfg(feature = "programs")]
pub mod tagged;
pub mod wanted;

pub use fault::MeshError;
