//! Findings on rows made by hand.

#![allow(clippy::unwrap_used)]

mod findings;
