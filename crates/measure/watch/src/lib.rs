//! Paths measured for months: what is watched and what that costs, which measurement starts when, and what the results say
//! about changes. It must not know how a measurement works inside, or how results are stored.
//!
//! Everything here is pure: text, records and times come in; plans, tasks and changes go out.

pub mod change;
pub mod config;
pub mod plan;
pub mod schedule;
