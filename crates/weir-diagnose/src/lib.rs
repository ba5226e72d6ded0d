//! From stored results to findings in words: what a network does, how sure that is, by which test, and what to do
//! about it. It reads rows and computes; it must not know sockets, clocks or how a number was measured.
//!
//! [`load`] reads a run into [`Measured`], plain data of bounded size; [`diagnose`] is pure.

mod analysis;
mod diagnose;
mod error;
mod finding;
mod findings;
mod load;
pub mod measured;
mod recommend;
mod words;

pub use diagnose::{Options, diagnose, diagnose_with};
pub use error::DiagnoseError;
pub use finding::{
    Confidence, Diagnosis, Evidence, Finding, FindingName, ForecastCheck, Recommendation, Recovery, Severity,
};
pub use load::{MOST_WINDOWS, load};
pub use measured::Measured;
