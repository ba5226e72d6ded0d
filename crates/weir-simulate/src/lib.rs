//! Measurements in virtual time: a survey, or one test, between two modelled hosts over an emulated link, without a
//! socket, a clock or a wait. What is sent, and how it is counted, is the code of the real measurements; only hosts
//! and wires are models. It is for judging what a diagnosis makes of networks whose truth is known, and for trying
//! a plan before sending it. It must not know what a diagnosis says.
//!
//! TCP steps of a survey are left out: there is no model of a congestion control here.

mod clock;
mod datagram;
mod flows;
mod host;
mod judged;
pub mod judgement;
mod mtu;
pub mod networks;
mod observed;
mod path;
mod random;
mod record;
mod rtt;
mod tally;

pub use flows::RouteUse;
pub use host::HostModel;
pub use judged::{Answers, Judged, Plan as JudgingPlan, Values, judge};
pub use observed::{ObserveError, Observed, observe};
pub use path::{Path, StepTruth, Surveyed};
pub use random::Random;
pub use record::SimulationError;
pub use tally::{Errors, Tally};
