//! From stored results to an answer and findings in words: what a network does, how sure that is, by which test, and what
//! to do about it. It reads rows and computes; it must not know sockets, clocks or how a number was measured.
//!
//! [`load`] reads a run into [`Measured`], plain data of bounded size; [`diagnose`] is pure.

mod analysis;
mod answer;
mod causes;
mod diagnose;
mod diagnosis;
mod error;
mod explained;
mod finding;
mod findings;
mod load;
pub mod measured;
mod options;
mod recommend;
mod sold;
mod transport;
mod twin;
mod verdicts;
mod words;

pub use answer::{Answer, AnswerSettings, Basis, Verdict, Worst};
pub use diagnose::{diagnose, diagnose_with};
pub use diagnosis::Diagnosis;
pub use error::DiagnoseError;
pub use explained::{Explained, ExplainedBy};
pub use finding::{
    Cause, Compared, Confidence, Evidence, Finding, FindingName, ForecastCheck, Recommendation, Recovery,
    Severity, Survival, Survive,
};
pub use load::{MOST_EARLIER, MOST_WINDOWS, load};
pub use measured::Measured;
pub use options::Options;
pub use transport::{Carried, Stream, Transport};
pub use twin::{ComparedDelay, ComparedTest, Comparison, Interval, Twin, compare, twin};
pub use verdicts::{record_diagnosis, record_verdict, verdict};
