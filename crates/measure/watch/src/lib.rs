//! Paths measured for months: what is watched and what that costs, which measurement starts when, and what the results say
//! about changes. It must not know how a measurement works inside, or how results are drawn.
//!
//! Everything but `run` is pure: text, records and times come in; plans, tasks and changes go out. `run` has the threads, the
//! sockets and the store, and is built with the feature `watcher`, which is on by default.

pub mod change;
pub mod config;
pub mod event;
pub mod flows;
pub mod gather;
pub mod history;
pub mod own;
pub mod plan;
pub mod rare;
#[cfg(feature = "watcher")]
pub mod run;
pub mod schedule;
pub mod searches;
