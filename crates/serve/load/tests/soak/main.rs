//! The workload generator by the clock, on a machine that does nothing else.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the suite has servers that behave worse")]
#[path = "../suite/acting/mod.rs"]
mod acting;
mod open_loop;
#[allow(dead_code, reason = "the suite has runs that fail")]
#[path = "../suite/playing/mod.rs"]
mod playing;
