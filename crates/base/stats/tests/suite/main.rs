//! Statistics against independent computations.

#![allow(clippy::unwrap_used)]

mod reference;
mod reorder_model;
mod rtt_model;
mod tests_reference;

fn assert_close(ours: f64, theirs: f64, tolerance: f64, what: &str) {
    assert!(
        (ours - theirs).abs() <= tolerance * theirs.abs(),
        "{what}: {ours} is not {theirs}"
    );
}
