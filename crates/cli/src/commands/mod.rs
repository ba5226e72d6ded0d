//! The subcommands: from arguments to a plan, a measurement, and a result in the store and on the terminal. Wiring
//! only; measurements are in `weir-measure`.

pub mod agent;
pub mod diagnose;
pub mod doctor;
pub mod evidence;
pub mod flows;
pub mod lab;
pub mod load;
pub mod mesh;
pub mod origin;
mod origin_demo;
mod origin_dref;
mod origin_index;
mod origin_storage;
pub mod recv;
pub mod report;
pub mod rtt;
pub mod runs;
pub mod send;
pub mod survey;
pub mod tcp;
pub mod testbed;
pub mod twin;
pub mod ui;
pub mod watch;

mod browser;
mod connect;
mod demo_title;
mod estimate;
mod failure;
mod film_sizes;
mod listening;
mod long_title;
mod new_file;
mod output;
mod progress;
mod result;
mod run_store;
pub(crate) mod signals;
mod tables;
mod thresholds;
mod watching;

pub use failure::{Failure, Status};
use listening::url_on_this_host;
pub use output::say;
