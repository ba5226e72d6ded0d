//! Measurements in virtual time: a survey, or one test, between two modelled hosts over an emulated link, without a
//! socket, a clock or a wait. Sending and accounting use the code of the real measurements; only hosts
//! and wires are models. It serves to judge a diagnosis on networks with known properties, and to try
//! a plan before a real measurement; and streams of the transport over such a link ([`VirtualTransport`]), to try what a
//! diagnosis recommends ([`diagnose_by_trial`]). Only what judges a diagnosis ([`judgement`], [`judge`]) knows findings.
//!
//! TCP steps of a survey are connections of `weir-tcp`; networks that judge a diagnosis leave them out.

mod carried;
mod clock;
mod datagram;
mod diagnosed;
mod flows;
mod host;
mod judged;
pub mod judgement;
mod middlebox;
mod mtu;
pub mod networks;
mod observed;
mod path;
mod random;
mod record;
mod rtt;
mod settings;
mod tally;
mod tcp;
mod twin;
mod wire;

pub use carried::VirtualTransport;
pub use diagnosed::{BY_TRIAL, diagnose_by_trial};
pub use flows::RouteUse;
pub use host::{HostModel, ReceiveDropper};
pub use judged::{Answers, Judged, Plan as JudgingPlan, Settings, Twins, Values, judge, try_twin};
pub use middlebox::{Bucket, Middlebox};
pub use observed::{ObserveError, Observed, observe};
pub use path::{Path, StepTruth, Surveyed};
pub use random::Random;
pub use record::SimulationError;
pub use settings::{Outcome, SETTINGS_TARGET, try_settings};
pub use tally::{Errors, Tally};
pub use twin::repeat;
