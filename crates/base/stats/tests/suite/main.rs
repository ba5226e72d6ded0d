//! Statistics against independent computations.

#![allow(clippy::unwrap_used)]

mod reference;
mod reorder_model;
mod rtt_model;
mod tests_reference;
