//! The findings, each in a module of its own. A finding takes what was measured and gives itself or nothing.

pub(crate) mod outage;
pub(crate) mod rtt_level;
