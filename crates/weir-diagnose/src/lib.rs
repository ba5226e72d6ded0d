//! From stored results to findings in words: what a network does, how sure that is, by which test, and what to do
//! about it. It reads rows and computes; it must not know sockets, clocks or how a number was measured.

mod finding;

pub use finding::{
    Confidence, Diagnosis, Evidence, Finding, FindingName, Recommendation, Recovery, Severity,
};
