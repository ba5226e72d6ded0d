//! What is granted, against tables worked out by hand.

#![allow(clippy::unwrap_used)]

mod bounds;
